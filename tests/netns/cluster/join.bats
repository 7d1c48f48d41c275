#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A cluster of two begins by `sluice cluster init` and `join`, and a third node joins it by one command under
# traffic, of which nothing is lost. Each node has an /etc of its own. The oracles are etcdctl, sed, and Python's
# cryptography, which opens what etcd has of a token. Takes 60 s.
# shellcheck disable=SC2154,SC2030,SC2031
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. netns-lab/lib/etcd.sh

setup_file() {
	local n
	cluster_lab
	cluster_fabric
	for n in 1 2 3; do
		cluster_node $n 2
		own_etc n$n
		ln -s /etc/sluice/sluice.yaml "$LAB_DIR/n$n.yaml" # where the lab's functions look
	done
	etcd_begin 1
	for n in 1 2 3; do etcd_join n$n $n; done
	cluster_config 1 2 2 fast | sed '/key_file/d' >"$LAB_DIR/two.yaml"
}

# cluster N WORD OPTION...: on node N
cluster() { on "n$1" build/sluice cluster "${@:2}"; }
tls() { printf -- '--etcd %s --ca %s --certificate %s --key %s' "$ETCD_URLS" "$LAB_DIR/ca.pem" "$LAB_DIR/client.pem" "$LAB_DIR/client.key"; }
# shellcheck disable=SC2046
join() { cluster "$1" join "$2" --node "$1" $(tls) "${@:3}"; }
token() { cluster 1 token "$@" 2>/dev/null; }

version() { etcdctl_at 1 get --print-value-only "/sluice/versions/$(printf %010d "$1")" | head -c -1; }
# All that etcd has under the prefix but for what agents say, a line each; what a node has on its disk
in_etcd() { etcdctl_at 1 get --prefix / | LC_ALL=C awk '/^\/sluice\/present\// { getline; next } 1' | sha256sum; }
on_disk() { on "n$1" sh -c 'cd /etc/sluice && ls -l --time-style=+ && cat * 2>/dev/null' | sed /^total/d; }
tokens() { etcdctl_at 1 get --prefix --keys-only /sluice/tokens/ | grep -c . || true; }

# daemons_start N: what `init` and `join` say is to be started
daemons_start() { cluster_start "$1" && spawn "n$1" "agent-n$1" build/sluice-cluster; }

# refused STATUS MESSAGE COMMAND...: refused with it, in one line, and nothing changes in etcd or on node 3
refused() {
	local etcd disk
	etcd=$(in_etcd) disk=$(on_disk 3)
	run "-$1" --separate-stderr "${@:3}"
	echo "$output $stderr"
	[[ $stderr == "sluice: cluster"*"$2"* && -z $output ]]
	[ "$(in_etcd)" = "$etcd" ]
	[ "$(on_disk 3)" = "$disk" ]
}

@test "init makes key, settings, configuration and the first version; the second node joins by a token" {
	# shellcheck disable=SC2046
	run -0 cluster 1 init "$LAB_DIR/two.yaml" $(tls)
	echo "$output"
	[ "${lines[0]}" = "version 1 is written, the first one" ]
	[ "${lines[-2]}" = "next, on this node: sluice check && systemctl enable --now sluice-bridge sluiced sluice-cluster" ]
	version 1 | cmp - "$LAB_DIR/two.yaml"
	on n1 cat /etc/sluice/sluice.yaml | cmp - "$LAB_DIR/two.yaml"
	[ "$(on n1 stat -c '%a %s' /etc/sluice/cluster.key)" = "600 32" ]
	[ "$(on n1 ls /etc/sluice | xargs)" = "cluster.key etcd.yaml sluice.yaml" ]

	token=$(token)
	[[ $token =~ ^[0-9a-f]{16}\.[0-9a-f]{32}$ ]]
	[ "$(tokens)" = 1 ]
	run -0 join 2 "$token"
	echo "$output"
	[ "$(tokens)" = 0 ]
	on n2 cat /etc/sluice/sluice.yaml | cmp - <(sed 's/^  node: 1$/  node: 2/' "$LAB_DIR/two.yaml")
	cmp <(on n2 cat /etc/sluice/cluster.key) <(on n1 cat /etc/sluice/cluster.key)
	[ "$(on n2 stat -c %a /etc/sluice/cluster.key)" = 600 ]
	# Settings with which the other commands and the agent work, too
	on n2 cat /etc/sluice/etcd.yaml | diff - <(on n1 sed 's/^node: 1$/node: 2/' /etc/sluice/etcd.yaml)
	[ "$(cluster 2 history -j | jq -c '[.[].version]')" = '[1]' ]
	on n2 build/sluice check

	daemons_start 1
	daemons_start 2
	wait_for 60 in_force 1 1 2
	wait_for 20 carrier 1 2 1
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.1.2
}

@test "etcd has the key sealed, as another implementation opens it, and neither key nor secret" {
	local token id
	on n1 sh -c 'head -c 20 /dev/urandom >/etc/sluice/cluster.key.also && chmod 600 /etc/sluice/cluster.key.also'
	token=$(token)
	id=${token%.*}
	etcdctl_at 1 get "/sluice/tokens/$id" -w json | jq -r '.kvs[0].value' | base64 -d >"$LAB_DIR/sealed"
	/usr/bin/python3 - "$token" "$LAB_DIR/sealed" >"$LAB_DIR/opened" <<-'END'
		import sys
		from cryptography.hazmat.primitives import hashes
		from cryptography.hazmat.primitives.ciphers.aead import AESGCM
		from cryptography.hazmat.primitives.kdf.hkdf import HKDF
		ident, secret = map(bytes.fromhex, sys.argv[1].split("."))
		d = HKDF(hashes.SHA256(), 44, ident, b"sluice cluster join 1").derive(secret)
		with open(sys.argv[2], "rb") as file:
		    sys.stdout.buffer.write(AESGCM(d[:32]).decrypt(d[32:], file.read(), None))
	END
	{ printf '\1\0\40' && on n1 cat /etc/sluice/cluster.key && printf '\0\24' && on n1 cat /etc/sluice/cluster.key.also; } |
		cmp - "$LAB_DIR/opened"
	etcdctl_at 1 get --prefix / >"$LAB_DIR/all"
	/usr/bin/python3 - "$LAB_DIR/all" "$token" "$LAB_DIR/opened" <<-'END'
		import sys
		with open(sys.argv[1], "rb") as everything, open(sys.argv[3], "rb") as opened:
		    everything, opened = everything.read(), opened.read()
		secret = sys.argv[2].split(".")[1]
		for taboo in secret.encode(), bytes.fromhex(secret), opened[3:35], opened[37:57]:
		    assert taboo not in everything, taboo
	END
	on n1 rm /etc/sluice/cluster.key.also
	etcdctl_at 1 del "/sluice/tokens/$id"
}

@test "what is wrong is refused, and leaves nothing: in etcd, on the node, and of a token that is good" {
	local token other="--address 10.9.0.3 --port eth1 --port eth2"
	token=$(token)
	# shellcheck disable=SC2086
	try() { refused "$1" "$2" join 3 "$3" ${4-$other}; }
	try 2 "that is no token: write what" "${token%?}"
	try 2 "that is no token: write what" "${token/./}"
	try 1 "etcd has no token 0000000000000000 under /sluice/: it is used, or expired, or mistyped" "0000000000000000.${token#*.}"
	try 1 "the token does not open what etcd has as ${token%.*}: what follows the point is mistyped" "${token%.*}.00000000000000000000000000000000"
	try 2 "node 3 is not in version 1: write its --address and --port, or --file" "$token" ""
	try 2 'version 1, changed:' "$token" "--address 10.9.0.300 --port eth1"
	try 2 '"eth1" is named twice' "$token" "--address 10.9.0.3 --port eth1 --port eth1"
	try 2 'write both --address and --port' "$token" "--address 10.9.0.3"
	# shellcheck disable=SC2046
	refused 1 "node 2 is in use: its agent is present in etcd" cluster 3 join "$token" --node 2 $(tls) --address 10.9.0.3 --port eth1
	# shellcheck disable=SC2046
	refused 3 "etcd does not answer: https://10.8.0.99:2379: " cluster 3 join "$token" --node 3 --etcd https://10.8.0.99:2379 --ca "$LAB_DIR/ca.pem" --address 10.9.0.3 --port eth1
	refused 2 "where is etcd?: write --etcd ENDPOINTS, or settings to" cluster 3 join "$token" --node 3
	refused 2 "write the id of this node, --node N" cluster 3 join "$token"
	printf 'id: 4\naddress: 10.9.0.3\n' >"$LAB_DIR/entry.yaml"
	try 2 "is no entry of node 3: write \"id: 3\"" "$token" "--file $LAB_DIR/entry.yaml"
	for name in cluster.key sluice.yaml; do
		on n3 sh -c "echo mine >/etc/sluice/$name"
		try 1 "\"/etc/sluice/$name\" is there already" "$token"
		on n3 rm "/etc/sluice/$name"
	done
	on n3 sh -c 'echo "endpoints: https://10.8.0.101:2379" >/etc/sluice/etcd.yaml'
	try 2 '"/etc/sluice/etcd.yaml" says already how to reach etcd' "$token"
	on n3 rm /etc/sluice/etcd.yaml
	# A folder that nothing can be written to
	on n3 mount -o bind,ro /run/etc/sluice /etc/sluice
	try 1 'cannot write "/etc/sluice/cluster.key": Read-only file system' "$token"
	on n3 umount /etc/sluice
	# Somebody who may write in etcd has altered the bytes.
	etcdctl_at 1 get "/sluice/tokens/${token%.*}" -w json | jq -r '.kvs[0].value' | base64 -d >"$LAB_DIR/sealed"
	/usr/bin/python3 -c 'import sys; b = bytearray(sys.stdin.buffer.read()); b[9] ^= 1; sys.stdout.buffer.write(b)' <"$LAB_DIR/sealed" |
		etcdctl_at 1 put "/sluice/tokens/${token%.*}"
	try 1 "or somebody has altered the bytes in etcd" "$token"
	etcdctl_at 1 del "/sluice/tokens/${token%.*}"
	try 1 "etcd has no token ${token%.*} under /sluice/: it is used, or expired" "$token"
}

@test "a second cluster under the prefix is refused, and says which is there; another prefix is free" {
	# shellcheck disable=SC2046
	refused 1 "there is a cluster already under /sluice/ at https://10.8.0.101:2379, with version 1, written by " \
		cluster 3 init --node 1 --address 10.9.0.3 --fabric fab0 --port eth1 $(tls)
	refused 2 "write a FILE, or --node, --address, --fabric and --port" cluster 3 init --node 1
	# shellcheck disable=SC2046
	run -0 cluster 3 init --node 7 --address 10.9.0.3 --fabric fab0 --transport roce-xdp --port 2=eth1 --port eth2 --prefix /other/ $(tls) -j
	echo "$output"
	[ "$(jq -c '[.version, .from, .node, .files]' <<<"$output")" = \
		'[1,0,7,["/etc/sluice/cluster.key","/etc/sluice/sluice.yaml","/etc/sluice/etcd.yaml"]]' ]
	on n3 cat /etc/sluice/sluice.yaml | diff - <(
		cat <<-END
			# Change it with \`sluice cluster apply\`.
			cluster:
			  node: 7
			  fabric: {device: fab0, transport: "roce-xdp"}
			  nodes:
			    - {id: 7, address: 10.9.0.3, ports: [{number: 2, name: eth1}, {number: 3, name: eth2}]}
		END
	)
	on n3 build/sluice check
	on n3 sh -c 'rm /etc/sluice/*'
}

@test "a token ends by itself" {
	local ends_soon
	ends_soon=$(token --ttl 5s)
	[ "$(tokens)" = 1 ]
	none() { [ "$(tokens)" = 0 ]; }
	wait_for 60 none
	refused 1 "it is used, or expired" join 3 "$ends_soon" --address 10.9.0.3 --port eth1
	refused 2 "--ttl: write a time as 30min or 2h" cluster 1 token --ttl 1s
}

third_joins() {
	join 3 - --file "$LAB_DIR/entry.yaml" --wait 100 <<<"$token" >"$LAB_DIR/join.out" || return
	daemons_start 3 && wait_for 60 in_force 2 1 2 3 && wait_for 20 carrier 1 3 1 && wait_for 20 carrier 3 2 1
}

@test "a third node joins by one command under traffic, of which nothing is lost; its token joins no other" {
	cluster_config 1 3 2 fast | sed -n '/id: 3/,$p' | sed 's/^    - /      /; s/^      //' >"$LAB_DIR/entry.yaml"
	token=$(token)
	cluster_counts
	downs() { for n in 1 2; do bridge_ask $n peers | jq -c 'select(.node != 3) | [.node, .epoch, .downs]'; done; }
	downs=$(downs)
	arrives third_joins
	cat "$LAB_DIR/join.out"
	cluster_conserves "$FLOW_SENT" "$FLOW_RECEIVED"
	diff <(echo "$downs") <(downs)
	grep -q '^version 2 is written; it differs from version 1 in 1 key$' "$LAB_DIR/join.out"
	grep -q '^2 of 3 nodes have version 2 in force$' "$LAB_DIR/join.out"
	version 2 | cmp - <(cluster_config 1 3 2 fast | sed /key_file/d)
	on n3 cat /etc/sluice/sluice.yaml | cmp - <(cluster_config 3 3 2 fast | sed /key_file/d)
	run -0 cluster 3 history
	[[ ${lines[1]} == *"  join of node 3, current" ]]
	wait_for 10 on h1p1 ping -c 1 -W 1 10.3.1.2
	send_all h1p1 n1:eth1 h3p1 500 --dst 10.3.1.2
	refused 1 "it is used, or expired" cluster 3 join "$token" --node 3
}

@test "of three that join at a time with one token one does; with a token each, all do, and options or a file say how" {
	local n pids=() tokens=() won=0
	for n in 4 5 6; do
		node_up n$n && etcd_join n$n $n && own_etc n$n
	done
	# at_once [OPTION...]: nodes 4 to 6 join, each with its token; how each ended is in STATUS
	at_once() {
		pids=() STATUS=()
		for n in 4 5 6; do
			join $n "${tokens[n]}" --address 10.9.0.$n --port eth1 --port 7=eth2 --wait 100 "$@" >"$LAB_DIR/join-n$n.out" 2>"$LAB_DIR/join-n$n.err" 3>&- &
			pids[n]=$!
		done
		for n in 4 5 6; do
			STATUS[n]=0
			wait "${pids[n]}" || STATUS[n]=$?
		done
	}
	token=$(token)
	tokens=([4]=$token [5]=$token [6]=$token)
	at_once
	for n in 4 5 6; do
		if [ "${STATUS[n]}" = 0 ]; then
			won=$((won + n))
			version 3 | tail -1 | diff - <(echo "    - {id: $n, address: 10.9.0.$n, ports: [{number: 1, name: eth1}, {number: 7, name: eth2}]}")
		else
			echo "node $n: ${STATUS[n]}"; cat "$LAB_DIR/join-n$n.out" "$LAB_DIR/join-n$n.err"
			grep -qE "it is used, or expired|has been used, or has expired, just now" "$LAB_DIR/join-n$n.err"
			[ -z "$(on n$n ls /etc/sluice)" ]
		fi
	done
	[[ $won =~ ^[456]$ ]]
	[ "$(version 4)" = "" ]
	run -0 cluster 1 rollback 2 --wait 100
	on n$won sh -c 'rm /etc/sluice/*'
	# Settings that are there hold; they only get the node.
	printf '# Ours\nendpoints: %s\nca: %s\ncertificate: %s\nkey: %s\n' "$ETCD_URLS" "$LAB_DIR/ca.pem" "$LAB_DIR/client.pem" "$LAB_DIR/client.key" >"$LAB_DIR/ours.yaml"
	on n4 install -m 600 "$LAB_DIR/ours.yaml" /etc/sluice/etcd.yaml
	token=$(token)
	run -0 cluster 4 join "$token" --node 4 --address 10.9.0.4 --port eth1 --wait 100
	on n4 cat /etc/sluice/etcd.yaml | diff - <(echo "node: 4" && cat "$LAB_DIR/ours.yaml")
	[ "$(on n4 stat -c %a /etc/sluice/etcd.yaml)" = 600 ]
	run -0 cluster 1 rollback 2 --wait 100
	on n4 sh -c 'rm /etc/sluice/*'
	tokens=([4]="$(token)" [5]="$(token)" [6]="$(token)")
	at_once --json
	[ "${STATUS[*]}" = "0 0 0" ]
	[ "$(jq -s -c '[.[].node]' "$LAB_DIR"/join-n?.out)" = "[4,5,6]" ]
	[ "$(jq -s -c '[.[].version] | sort' "$LAB_DIR"/join-n?.out)" = "[7,8,9]" ]
	[ "$(version 9 | tail -3 | sort)" = "$(for n in 4 5 6; do echo "    - {id: $n, address: 10.9.0.$n, ports: [{number: 1, name: eth1}, {number: 7, name: eth2}]}"; done)" ]
	[ "$(tokens)" = 0 ]
	in_force 9 1 2 3
}
