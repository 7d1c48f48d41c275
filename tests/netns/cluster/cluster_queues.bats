#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A cluster whose edge ports have two receive queues: each queue has its rings, flows of both keep
# their order, and every frame is accounted for.
bats_require_minimum_version 1.5.0

load cluster

setup_file() {
	cluster_lab
	cluster_fabric
	for n in 1 2; do
		cluster_node $n 1
		on "n$n" ethtool -L eth1 rx 2
		cluster_config $n 2 1 "$TOPO_ENGINE" >"$LAB_DIR/n$n.yaml"
	done
	for n in 1 2; do cluster_start $n; done
	for n in 1 2; do wait_for 20 cluster_is_up $n 1; done
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.1.2
	wait_for 10 on h2p1 ping -c 1 -W 1 10.1.1.2
}

setup() {
	[ "$(nproc)" -ge 2 ] || skip "one processor: all frames take one queue"
}

# redirected QUEUE: frames that XDP on eth1 of node 1 redirected out of this receive queue
redirected() { on n1 ethtool -S eth1 | awk -v name="rx_queue_$1_xdp_redirect:" '$1 == name { print $2 }'; }

# generate CPU FIRST-FLOW: send from this processor, which chooses the veth's queue
generate() {
	on h1p1 taskset -c "$1" build/lab/gen eth0 --json --dst-mac "$(mac_of n1 eth1)" --dst 10.2.1.2 --imix --flows 100 \
		--first-flow "$2" --count 5000 --rate 5000 >"$LAB_DIR/gen$1.json"
}

@test "a port with two receive queues has two sets of rings" {
	grep -q "port eth1: n1p1, 2 queues of 4 VOQs" "$LAB_DIR/bridge-n1.err"
}

@test "flows of both queues cross whole and in order, to the packet" {
	local sink before=("$(redirected 0)" "$(redirected 1)")
	spawn h2p1 received build/lab/sink eth0 --json --verify
	sink=$SPAWNED
	wait_for 5 grep -q ready "$LAB_DIR/received.err"
	cluster_counts
	generate 0 0
	generate 1 100
	cluster_conserves >/dev/null
	kill -INT "$sink"
	wait "$sink"
	jq -c . "$LAB_DIR/received.out"
	cluster_conserves 10000 "$(jq .packets "$LAB_DIR/received.out")"
	jq -e '[.reordered, .duplicates, .late, .bad_checksum, .bad_payload, .wrong_mac, .flows] == [0, 0, 0, 0, 0, 0, 200]' \
		"$LAB_DIR/received.out"
	jq -e '.packets > 5000' "$LAB_DIR/received.out"
	for queue in 0 1; do
		echo "queue $queue: $(($(redirected $queue) - before[queue])) frames"
		[ $(($(redirected $queue) - before[queue])) -gt 1000 ]
	done
}
