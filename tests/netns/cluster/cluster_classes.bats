#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Classes of traffic in a cluster: ports shaped to their rates, the shares of classes at an
# overloaded port, and the queue of each DSCP, for packets of hosts and of a node's kernel. The sink
# counts at the far end; all sums hold to the packet.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	local queues="burst_us: 100000, controller: fixed, queues: [{class: 0, frames: 8192}, {class: 1, frames: 8192"
	export CLUSTER_PORT_n2p1="rate: 2kpps, scheduler: drr, $queues, weight: 3}]"
	export CLUSTER_PORT_n2p2="rate: 8mbit, $queues}]"
	export CLUSTER_PORT_n2p3="rate: 2kpps, scheduler: strict, $queues}]"
	cluster_begin 2 3
	for p in 1 2 3; do
		wait_for 30 on h1p1 ping -c 1 -W 1 10.2.$p.2
		wait_for 30 on h1p1 ping -c 1 -W 1 fd00:0:2:$p::2
	done
}

# End what a failed test has left running.
teardown() { flows_kill; }

@test "a port shaped in frames a second sends at that rate, whatever the frames' size" {
	wait_for 60 cluster_counts
	flow 0 1 5000 --imix
	paced 1 20000 '(.packets - 1)' 2000
	gens_end 0
}

@test "a port shaped in bits a second sends at that rate" {
	wait_for 60 cluster_counts
	flow 0 2 4000 --imix
	paced 2 24000 .bytes 1e6
	gens_end 0
}

@test "classes of an overloaded port share it by weight" {
	wait_for 60 cluster_counts
	# The frames are so large that a scheduler's turn is a few of them.
	flow 0 1 4000 --size 1500
	flow 1 1 4000 --size 1500
	window 1 2000 0 1
	gens_end 0 1
	within "$(jq -n "$(share 1000) / $(share 0)")" 2.9 3.1
}

@test "a class of higher priority that overloads a port leaves nothing to the others; with less, it loses nothing" {
	wait_for 60 cluster_counts
	flow 0 3 4000
	flow 1 3 4000
	window 3 2000 0 1
	[ "$(share 0)" = 0 ]
	[ "$(share 1000)" -ge 2000 ]
	interrupt gen1
	more_arrived() { [ "$(queue n2p3 1 arrived_frames)" -ge "$1" ]; }
	all_left() { [ "$(queue n2p3 1 waiting_frames)" = 0 ]; }
	wait_for 60 all_left
	lost=$(queue n2p3 1 dropped_frames)
	flow 1 3 500 --flows 10
	wait_for 60 more_arrived $(($(queue n2p3 1 arrived_frames) + 100))
	window 3 6000 0
	gens_end 0 1
	[ "$(queue n2p3 1 dropped_frames)" = "$lost" ]
	[ "$(share 0)" -gt 0 ]
	[ "$(share 1000)" -gt 0 ]
}

@test "packets of a node's kernel take the class of their DSCP, IPv4 and IPv6" {
	local dscp class to before
	wait_for 60 cluster_counts
	for to in 10.2.1.2 fd00:0:2:1::2; do
		for dscp in 0 8 16 34 46 48 56; do
			class=$((dscp / 16))
			before=$(voq n2p1 $class taken_frames)
			# Over an IPv4 fabric, the kernels have no route for the answers to a node's
			# own IPv6 address.
			if [ $to = 10.2.1.2 ]; then
				on n1 ping -q -c 3 -i 0.01 -W 30 -Q $((dscp << 2)) $to
			else
				on n1 ping -q -c 3 -i 0.01 -W 1 -Q $((dscp << 2)) $to || true
			fi
			taken() { [ "$(voq n2p1 "$class" taken_frames)" -ge $((before + 3)) ]; }
			wait_for 30 taken
			none_left() { [ "$(voq n2p1 "$class" enqueued_frames)" = "$(voq n2p1 "$class" dequeued_frames)" ]; }
			wait_for 30 none_left
		done
	done
	cluster_conserves
}

# set_rate BYTES: set the rate of node 1's VOQ for n2p1, class 0, as an operator does; 8 bytes,
# little-endian
set_rate() {
	local key value
	key=$(voq n2p1 0 voq)
	value=$(on n1 bpftool -j map lookup pinned /sys/fs/bpf/sluice/sl_voq key $((key & 255)) $((key >> 8)) 0 0 | jq -r '.value | join(" ")')
	# shellcheck disable=SC2046,SC2086
	on n1 bpftool map update pinned /sys/fs/bpf/sluice/sl_voq key $((key & 255)) $((key >> 8)) 0 0 \
		value $1 $(cut -d' ' -f9- <<<"$value")
}

@test "kernel packets of a class that may not leave are dropped by name beyond a limit, and hold up no other class" {
	kernel_full() { bridge_ask 1 status | jq '.frames["drop-kernel-full"].packets'; }
	more_full() { [ "$(kernel_full)" -ge $(($1 + 20)) ]; }
	local before
	before=$(kernel_full)
	wait_for 60 cluster_counts
	set_rate "0 0 0 0 0 0 0 0"
	spawn n1 many ping -q -c 100000 -i 0.002 -W 1 10.2.1.2
	wait_for 60 more_full "$before"
	on n1 ping -c 1 -W 30 -Q 0xc0 10.2.1.2
	set_rate "0xff 0xff 0xff 0xff 0xff 0xff 0xff 0xff"
	kill -INT "$(cat "$LAB_DIR/many.pid")"
	wait_for 10 no_processes "$(cat "$LAB_DIR/many.pid")"
	run cluster_conserves
	echo "$output"
	[ "$status" = 0 ]
	[ "$(jq '.drops["drop-kernel-full"]' <<<"${lines[0]}")" = $(($(kernel_full) - before)) ]
}

@test "a reload with another map of classes moves a flow to another queue and loses nothing" {
	local class before ledger sent
	send_some() {
		spawn h2p1 received build/lab/sink eth0 --json --verify --expect 500
		wait_for 10 grep -q ready "$LAB_DIR/received.err"
		on h1p1 taskset -c 0 build/lab/gen eth0 --json --dst-mac "$(mac_of n1 eth1)" \
			--dst 10.2.1.2 --count 500 --rate 1000 --dscp 10 >"$LAB_DIR/gen.json"
		wait_for 30 no_processes "$(cat "$LAB_DIR/received.pid")"
		ledger=$(cluster_conserves 500 "$(jq .packets "$LAB_DIR/received.out")") && echo "$ledger"
	}
	enqueued() { voq n2p1 "$1" enqueued_frames; }
	for class in 0 2; do
		wait_for 60 cluster_counts
		before=$(enqueued $class)
		send_some
		# The kernel forwards a frame for which it wants to hear of the neighbour again; other punts are what it hears.
		queued=$(($(enqueued $class) - before))
		[ $queued -le 500 ]
		[ $queued -ge $((500 - $(jq .nodes.n1.punts <<<"$ledger"))) ]
		sed 's/^  bridge:/  classes: [{class: 2, dscp: "8-10"}]\n&/' "$LAB_DIR/n1.yaml" >"$LAB_DIR/other.yaml"
		mv "$LAB_DIR/other.yaml" "$LAB_DIR/n1.yaml"
		sent=$(grep -c reloaded "$LAB_DIR/sluiced-n1.err" || true)
		[ $class = 2 ] || kill -HUP "$(cat "$LAB_DIR/sluiced-n1.pid")"
		reloaded() { [ "$(grep -c reloaded "$LAB_DIR/sluiced-n1.err")" -gt "$sent" ]; }
		[ $class = 2 ] || wait_for 30 reloaded
	done
}
