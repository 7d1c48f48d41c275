#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# All that leaves by a port with a rate goes through its queues: what comes from another node, and
# what enters by another port of the same node. Ports without a rate, queues or a controller switch
# frames in XDP as ever. The sink counts at the far end; all sums hold to the packet.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	local queues="burst_us: 100000, queues: [{class: 0, frames: 8192}, {class: 1, frames: 8192, weight: 3}]"
	export CLUSTER_PORT_n2p1="rate: 2kpps, scheduler: drr, controller: fixed, $queues"
	export CLUSTER_PORT_n2p2="rate: 4kpps, scheduler: drr, controller: price, $queues"
	cluster_begin 2 3
	for p in 1 2 3; do
		wait_for 30 on h1p1 ping -c 1 -W 1 10.2.$p.2
	done
	for p in 1 2; do
		wait_for 30 on h2p3 ping -c 1 -W 1 10.2.$p.2
	done
}

# End what a failed test has left running.
teardown() { flows_kill; }

# own PORT CLASS FIELD: a field of node 2's VOQ of a port of its own
own() { bridge_ask 2 voqs | jq "select(.port == \"$1\" and .class == $2).$3"; }
local_frames() { frames 2 local; }

@test "what is switched within a node has the port's rate" {
	wait_for 60 cluster_counts
	flow_from h2p3 0 1 5000 --imix
	paced 1 20000 '(.packets - 1)' 2000
	gens_end 0
	[ "$(local_frames)" -ge 20000 ]
}

@test "classes share the port by weight, wherever they enter" {
	wait_for 60 cluster_counts
	flow 0 1 4000 --size 1500
	flow_from h2p3 1 1 4000 --size 1500
	window 1 2000 0 1
	gens_end 0 1
	within "$(jq -n "$(share 1000) / $(share 0)")" 2.9 3.1
}

@test "under a controller the node is a source of its own ports as others are: both have half" {
	half() { [ "$(own n2p2 0 rate)" -le 3000 ] && [ "$(own n2p2 0 rate)" -ge 1000 ]; }
	wait_for 60 cluster_counts
	flow 0 2 20000
	FLOW_NAME=own flow_from h2p3 0 2 20000 --first-flow 1000
	wait_for 60 half
	spawn h2p2 window build/lab/sink eth0 --json --flows --expect 12000
	wait_for 120 no_processes "$(cat "$LAB_DIR/window.pid")"
	gens_end 0 own
	within "$(jq -n "$(share 1000) / ($(share 0) + $(share 1000))")" 0.4 0.6
}

@test "a port without a rate switches frames of its node in XDP" {
	local before
	before=$(local_frames)
	wait_for 10 on h2p1 ping -c 1 -W 1 10.2.3.2
	send_all h2p1 n2:eth1 h2p3 2500 --dst 10.2.3.2 --imix --flows 100
	[ "$(local_frames)" -le $((before + 20)) ] # answers to pings
}

@test "sluice explain says which way a packet takes" {
	[[ "$(on n2 build/sluice explain 10.2.1.2)" == *"through the queues of the port"* ]]
	[[ "$(on n2 build/sluice explain 10.2.3.2)" == *"sent straight to the port"* ]]
	[[ "$(on n1 build/sluice explain 10.2.1.2)" == *"into the virtual output queue of the remote port"* ]]
}

@test "a table of the kernel that a rule names leads into the queues of another node's port" {
	local before arrived
	on n1 ip route add 10.60.0.0/16 via 10.2.1.2 table 77
	on n1 build/sluice filter replace - <<-END
		filters:
		- name: detour
		  default: permit
		  rules:
		  - {action: permit, protocol: udp, destination_port: 7000, table: 77}
	END
	datagram() { on h1p1 socat -u SYSTEM:'echo 1' UDP:10.60.0.1:7000; }
	# came N: so many more have left by the queue, and come to h2p1
	came() { [ $(($(queue n2p1 0 departed_frames) - before)) -ge "$1" ] && [ $(($(netdev_in h2p1) - arrived)) -ge "$1" ]; }
	reaches() { datagram && came 1; }
	before=$(queue n2p1 0 departed_frames) arrived=$(netdev_in h2p1)
	wait_for 30 reaches
	before=$(queue n2p1 0 departed_frames) arrived=$(netdev_in h2p1)
	for _ in 1 2 3 4 5; do datagram; done
	wait_for 30 came 5
	on n1 ip route flush table 77
	on n1 build/sluice filter delete detour
}

@test "while no bridge runs, frames leave at once" {
	bridge_stop 2
	wait_for 10 on h2p3 ping -c 3 -i 0.05 -W 1 10.2.1.2
	bridge_start 2
	wait_for 60 cluster_is_up 1 1
	wait_for 10 on h2p3 ping -c 3 -i 0.05 -W 1 10.2.1.2
}

@test "a rate that the bridge does not know yet stops no frame" {
	local before
	sed 's/number: 3, name: eth3/&, rate: 2kpps/' "$LAB_DIR/n2.yaml" >"$LAB_DIR/other.yaml"
	cp "$LAB_DIR/n2.yaml" "$LAB_DIR/first.yaml"
	mv "$LAB_DIR/other.yaml" "$LAB_DIR/n2.yaml"
	before=$(local_frames)
	kill -HUP "$(cat "$LAB_DIR/sluiced-n2.pid")"
	queued() { [[ "$(on n2 build/sluice explain 10.2.3.2)" == *"through the queues of the port"* ]]; }
	wait_for 30 queued
	send_all h2p1 n2:eth1 h2p3 500 --dst 10.2.3.2 --imix --flows 100
	[ "$(local_frames)" -le $((before + 20)) ] # answers to pings
	# The bridge learns of it, then forgets it while the daemon does not.
	bridge_stop 2
	bridge_start 2
	wait_for 60 cluster_is_up 1 1
	queued_frames() { on h2p1 ping -q -c 5 -i 0.02 -W 1 10.2.3.2 && [ "$(own n2p3 0 taken_frames)" -ge 5 ]; }
	wait_for 30 queued_frames
	bridge_stop 2
	bridge_start 2 "$LAB_DIR/first.yaml"
	wait_for 60 cluster_is_up 1 1
	send_all h2p1 n2:eth1 h2p3 500 --dst 10.2.3.2 --imix --flows 100
}
