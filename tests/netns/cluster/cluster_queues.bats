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
