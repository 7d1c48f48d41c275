#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The page of `sluice web` in a browser, of a node of a cluster: at rest, under congestion, and with a node down. axe-core
# judges contrast, names and structure; the pictures stay in the lab's folder until the end, or in PICTURES. 40 s.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	export CLUSTER_PORT_n2p1="rate: 10mbit, controller: price" CLUSTER_BRIDGE="delay_sample: 1"
	cluster_begin 2 2
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.1.2
	wait_for 30 on h2p2 ping -c 1 -W 1 10.2.1.2
	local n
	for n in 1 2; do
		spawn "n$n" "web$n" build/sluice web 9180
		wait_for 10 grep -q listening "$LAB_DIR/web$n.err"
	done
}

teardown() { flows_kill; }

# look N NAME WORD...: the page of node N in a browser, once it shows these words
look() { on "n$1" env HOME="$LAB_DIR" tests/tools/browse_page.py http://127.0.0.1:9180/ "${PICTURES:-$LAB_DIR}/$2" "${@:3}"; }

@test "at rest" {
	look 2 rest Packets Peers "Where frames waited"
}

@test "under congestion, at the port and at the node where the frames enter" {
	flow 0 1 3000 --size 1000
	wait_for 30 holds n2p1 0 20
	look 2 congestion "Frames that wait" "n2p1/0 queue"
	look 1 congestion-entry "Rates of controllers" "Frames that wait in virtual output queues"
	interrupt gen0
}

@test "with a node down" {
	kill -KILL "$(cat "$LAB_DIR/bridge-n1.pid")"
	look 2 down "node 1 is down"
}
