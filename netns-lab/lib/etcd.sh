# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# etcd in a lab: Debian's etcd-server, members e1, e2, ... on a management network 10.8.0.0/24 (member
# M is 10.8.0.(100 + M)), by TLS, with certificates of clients. And what nodes of a cluster do with it:
# agents, and commands of other releases. Source it after lab.sh and topo/cluster.sh.
#
#   etcd_begin 3                      the network, keys and members; waits until they have a leader
#   etcd_join n1 1                    node n1 gets mgmt0 with 10.8.0.1
#   etcdctl_at 1 get /sluice/current  etcd's own client: the oracle of what is written
#   member_stop 2, member_start 2     as a crash (kill -9), and again
#
# The settings of a client are in $LAB_DIR/etcd.yaml.

ETCD_URLS=${ETCD_URLS:-} # of all members, with commas between

# etcd_begin MEMBERS
etcd_begin() {
	local m
	host_up mgmt && on mgmt ip link add br0 type bridge && on mgmt ip link set br0 up || return
	etcd_keys "$1" || return
	ETCD_CLUSTER='' ETCD_URLS=''
	for ((m = 1; m <= $1; m++)); do
		host_up "e$m" && etcd_join "e$m" $((100 + m)) || return
		ETCD_CLUSTER+=${ETCD_CLUSTER:+,}e$m=https://10.8.0.$((100 + m)):2380
		ETCD_URLS+=${ETCD_URLS:+,}https://10.8.0.$((100 + m)):2379
	done
	export ETCD_CLUSTER ETCD_URLS
	for ((m = 1; m <= $1; m++)); do member_start $m || return; done
	etcd_settings >"$LAB_DIR/etcd.yaml"
	wait_for 60 members_agree "$1"
}

# etcd_join NAME HOST: mgmt0 with 10.8.0.HOST
etcd_join() {
	link "$1:mgmt0" "mgmt:$1" && on mgmt ip link set "$1" master br0 && on "$1" ip addr add "10.8.0.$2/24" dev mgmt0
}

# own_etc NAME: an /etc of its own, without a configuration of sluice, for a node that joins as on a host of its own
own_etc() {
	on "$1" sh -c 'mkdir /run/etc && cp -a /etc/. /run/etc && rm -rf /run/etc/sluice && mkdir /run/etc/sluice && mount --bind /run/etc /etc'
}

# etcd_keys MEMBERS: a CA, a key of the members, one of clients, and one of a stranger's CA
etcd_keys() {
	local m names=IP:127.0.0.1
	for ((m = 1; m <= $1; m++)); do names+=,IP:10.8.0.$((100 + m)); done
	authority() {
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
			-keyout "$LAB_DIR/$1.key" -out "$LAB_DIR/$1.pem" 2>/dev/null
	}
	signed() { # NAME CA EXTENSION...
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/O=$1" \
			-keyout "$LAB_DIR/$1.key" -out "$LAB_DIR/$1.csr" 2>/dev/null &&
			printf '%s\n' "${@:3}" | openssl x509 -req -in "$LAB_DIR/$1.csr" -CA "$LAB_DIR/$2.pem" -CAkey "$LAB_DIR/$2.key" \
				-CAcreateserial -days 2 -extfile /dev/stdin -out "$LAB_DIR/$1.pem" 2>/dev/null
	}
	authority ca && authority strange-ca && signed member ca "subjectAltName=$names" &&
		signed client ca "extendedKeyUsage=clientAuth" && signed stranger strange-ca "extendedKeyUsage=clientAuth"
}

# etcd_settings: print the settings of a client
etcd_settings() {
	cat <<-END
		endpoints: "$ETCD_URLS"
		ca: $LAB_DIR/ca.pem
		certificate: $LAB_DIR/client.pem
		key: $LAB_DIR/client.key
	END
}

# member_start M [STATE]: start member M, with what it has on disk
member_start() {
	local at=10.8.0.$((100 + $1))
	await_end "etcd$1" || return
	spawn "e$1" "etcd$1" etcd --name "e$1" --data-dir "$LAB_DIR/e$1.etcd" --logger zap --log-level warn \
		--initial-cluster "$ETCD_CLUSTER" --initial-cluster-token "${ETCD_TOKEN:-lab}" --initial-cluster-state "${2:-new}" \
		--listen-peer-urls "https://$at:2380" --initial-advertise-peer-urls "https://$at:2380" \
		--listen-client-urls "https://$at:2379" --advertise-client-urls "https://$at:2379" \
		--heartbeat-interval 100 --election-timeout 1000 \
		--cert-file "$LAB_DIR/member.pem" --key-file "$LAB_DIR/member.key" --client-cert-auth --trusted-ca-file "$LAB_DIR/ca.pem" \
		--peer-cert-file "$LAB_DIR/member.pem" --peer-key-file "$LAB_DIR/member.key" --peer-client-cert-auth --peer-trusted-ca-file "$LAB_DIR/ca.pem"
}

# member_stop M: as in a crash
member_stop() {
	kill -9 "$(cat "$LAB_DIR/etcd$1.pid")" 2>/dev/null
	await_end "etcd$1"
}

# etcdctl_at M COMMAND...: Debian's etcdctl at member M; ETCD_USER is NAME:PASSWORD
etcdctl_at() {
	local m=$1
	shift
	on "e$m" env ETCDCTL_API=3 etcdctl --endpoints "https://10.8.0.$((100 + m)):2379" --cacert "$LAB_DIR/ca.pem" \
		--cert "$LAB_DIR/client.pem" --key "$LAB_DIR/client.key" ${ETCD_USER:+--user "$ETCD_USER"} "$@"
}

# members_agree N: do N members answer, with a leader?
members_agree() {
	local m
	for ((m = 1; m <= $1; m++)); do etcdctl_at $m endpoint health >/dev/null 2>&1 || return; done
}

# agent_start N: the agent of node N, which writes $LAB_DIR/nN.yaml; AGENT_SETTINGS has more keys
agent_start() {
	{ etcd_settings && printf 'node: %d\nconfig: %s\nlease_s: 3\n%s\n' "$1" "$LAB_DIR/n$1.yaml" "${AGENT_SETTINGS:-}"; } \
		>"$LAB_DIR/agent-n$1.yaml"
	await_end "agent-n$1" || return
	spawn "n$1" "agent-n$1" build/sluice-cluster --settings "$LAB_DIR/agent-n$1.yaml"
}

# agent_ask N: what the agent of node N says, a JSON object
agent_ask() {
	on "n$1" sh -c 'echo "{\"command\": \"status\"}" | socat -t 60 - UNIX:/run/sluice/sluice-cluster.sock' |
		jq -c 'select(has("hello") or has("end") | not)'
}

# agents_say FILTER N...: does jq's filter hold for the agent of each of those nodes?
agents_say() {
	local n
	for n in "${@:2}"; do [ "$(agent_ask "$n" | jq "$1")" = true ] || return; done
}

# in_force VERSION N...: do these nodes have that version in force, as they say themselves?
in_force() { agents_say ".version == $1 and .state == \"in-force\"" "${@:2}"; }

# restart_program: print what an operator gives to `sluice cluster upgrade --command`, in a lab: it exchanges the
# programs of node N for those of release V, unless there is a file that says that it fails. `make test-programs`
# makes 0.0.9 and 0.2.0; any other V is this release.
restart_program() {
	cat <<-END
		#!/usr/bin/env bash
		cd "$PWD" || exit
		[ ! -e "$LAB_DIR/fails-\$1" ] || { echo "no such package"; exit 100; }
		. netns-lab/lib/lab.sh
		. netns-lab/topo/cluster.sh
		case \$2 in
		0.0.9) release=-former ;;
		0.2.0) release=-next ;;
		*) release= ;;
		esac
		export CLUSTER_PROGRAM=\$PWD/build/sluice-bridge\$release ROUTER_PROGRAM=\$PWD/build/sluiced\$release
		kill "\$(cat "$LAB_DIR/bridge-n\$1.pid")" "\$(cat "$LAB_DIR/sluiced-n\$1.pid")"
		cluster_start "\$1"
	END
}
