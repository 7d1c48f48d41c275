# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# A cluster for a bats file, which has `load cluster` at its top and cluster_begin in setup_file. It
# has functions that ask the bridges, send traffic between hosts, and check the sums that must hold.

. netns-lab/lib/lab.sh
. netns-lab/topo/cluster.sh

# cluster_lab: make a lab for a cluster. A peer counts as down after 10 s (or CLUSTER_LIVENESS_MS):
# then a test has caused it, not a busy machine.
# shellcheck disable=SC2119
cluster_lab() {
	lab_begin
	export TOPO_ENGINE=fast CLUSTER_LIVENESS_MS=${CLUSTER_LIVENESS_MS:-10000}
}

# cluster_begin NODES PORTS: make the lab, and the cluster in it
cluster_begin() {
	cluster_lab
	topo_up --nodes "$1" --ports "$2"
}

teardown_file() { lab_end; }

# hosts_meet: let every node learn its hosts
hosts_meet() {
	local n p
	for n in 1 2 3; do
		for p in 1 2; do
			wait_for 10 on "h${n}p$p" ping -c 1 -W 1 "10.$((n % 3 + 1)).$p.2" || return
			wait_for 10 on "h${n}p$p" ping -c 1 -W 1 "fd00:0:$((n % 3 + 1)):$p::2" || return
		done
	done
}

# bridge_stop N: end a bridge as an operator does, and wait until it has gone
bridge_stop() {
	local pid
	pid=$(cat "$LAB_DIR/bridge-n$1.pid")
	kill "$pid"
	gone() { ! kill -0 "$pid" 2>/dev/null; }
	wait_for 5 gone
}

# killed_now N: kill the bridge of node N
killed_now() { kill -9 "$(cat "$LAB_DIR/bridge-n$1.pid")"; }

# frames N NAME: the frame counter NAME of node N's bridge
frames() { bridge_ask "$1" status | jq ".frames[\"$2\"].packets"; }

peer_state() { bridge_ask "$1" peers | jq -r "select(.node == $2).state"; }
peer_is() { [ "$(peer_state "$1" "$2")" = "$3" ]; }

# carrier N M P: does node N see carrier on port P of node M?
carrier() { [ "$(on "n$1" cat "/sys/class/net/n$2p$3/carrier")" = 1 ]; }
no_carrier() { ! carrier "$@"; }

# send FROM FROM-PORT TO GEN-OPTIONS...: let host FROM (behind port FROM-PORT, as n1:eth1) send and
# host TO count; every frame must be accounted for
send() {
	local from=$1 node=${2%%:*} dev=${2#*:} to=$3 pid
	shift 3
	spawn "$to" received build/lab/sink eth0 --json --verify
	wait_for 5 grep -q ready "$LAB_DIR/received.err"
	pid=$SPAWNED
	cluster_counts
	on "$from" taskset -c 0 build/lab/gen eth0 --json --dst-mac "$(mac_of "$node" "$dev")" "$@" >"$LAB_DIR/gen.json"
	cluster_conserves >/dev/null
	kill -INT "$pid"
	wait "$pid"
	cluster_conserves "$(jq .sent "$LAB_DIR/gen.json")" "$(jq .packets "$LAB_DIR/received.out")"
}

# assert_received N: N packets were sent; those that arrived came once, in order, intact and one hop
# older. A bridge that gets no processor for long drops some; `send` has found those counted by
# name.
assert_received() {
	local got
	got=$(jq -c '[.packets + .lost <= '"$1"', .packets * 2 > '"$1"', .reordered, .duplicates, .late, .bad_checksum,
		.bad_payload, .wrong_mac, .ttl_min, .ttl_max]' "$LAB_DIR/received.out")
	echo "sent $(jq .sent "$LAB_DIR/gen.json"), received $got"
	[ "$(jq .sent "$LAB_DIR/gen.json")" = "$1" ]
	[ "$got" = "[true,true,0,0,0,0,0,0,63,63]" ]
}
