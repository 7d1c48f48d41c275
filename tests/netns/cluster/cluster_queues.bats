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
		[ $n = 2 ] || on n1 ethtool -L eth1 rx 2
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

@test "a port with two receive queues has two sets of rings" {
	grep -q "port eth1: n1p1, 2 queues" "$LAB_DIR/bridge-n1.err"
}

@test "flows of either queue cross whole and in order, to the packet" {
	local queue before
	for queue in 0 1; do
		# A veth takes the queue of the processor that sends.
		before=$(redirected $queue)
		GEN_CPU=$queue send_all h1p1 n1:eth1 h2p1 2500 --dst 10.2.1.2 --imix --flows 100
		[ $(($(redirected $queue) - before)) -ge 2500 ]
	done
}

# all_arrive: frames that n2 gets by either of its edge port's queues, and n1 by either of the fabric's
all_arrive() {
	local cpu
	for cpu in 0 1; do
		GEN_CPU=$cpu send_all h2p1 n2:eth1 h1p1 1000 --dst 10.1.1.2 --imix --flows 100
		GEN_CPU=$cpu send_all h1p1 n1:eth1 h2p1 1000 --dst 10.2.1.2 --imix --flows 100
	done
}

@test "a receive queue that is added gets its rings, at an edge port and at the fabric" {
	on n2 ethtool -L eth1 rx 2
	wait_for 20 grep -q "port eth1: n2p1, 2 queues" "$LAB_DIR/bridge-n2.err"
	all_arrive
	on n2 ethtool -L fab0 rx 2
	wait_for 20 grep -q "fabric: fab0 is another netdev now, .* more receive queues" "$LAB_DIR/bridge-n2.err"
	for n in 1 2; do wait_for 30 cluster_is_up $n 1; done
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.1.2
	all_arrive
}
