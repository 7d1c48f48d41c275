#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The policy `layers` under real traffic: video in 33 layers through a port of 8 Mbit/s, alone and
# beside a flood. Takes 20 s.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh

setup_file() {
	cluster_lab
	node_up n1
	cluster_edges 1 3
	cat >"$LAB_DIR/n1.yaml" <<-END
		heartbeat_s: 600
		ports:
		  - name: eth1
		  - name: eth2
		    rate: 8mbit
		    queues: [{class: 0, frames: 4096, policy: layers, parameters: port=5004}]
		  - name: eth3
	END
	bridge_start 1
	router_start n1
	wait_for 30 running
	for p in 1 3; do wait_for 30 on "h1p$p" ping -c 1 -W 1 10.1.2.2; done
}
teardown() { flows_kill; }

running() { [ "$(on n1 build/sluice -j status | jq .bridge.running)" = true ]; }
video() { spawn "$1" "$2" /usr/bin/python3 -B tests/netns/cluster/layered_video.py "${@:2}"; }
came() { [ "$(on h1p2 cat /sys/class/net/eth0/statistics/rx_packets)" -ge "$1" ]; }
count_of() { bridge_ask 1 egress-queues | jq "select(.port == \"n1p2\" and .class == 0).$1"; }

# The video has 792,000 bytes/s of frames, the port 1,000,000. Beside one flow that always has frames
# its share is 500,000: the 20 lowest layers have 480,000.
@test "low layers lose nothing while high ones go, and all come again" {
	wait_for 60 cluster_counts
	video h1p2 count eth0
	wait_for 10 grep -q ready "$LAB_DIR/count.err"
	before=$(on h1p2 cat /sys/class/net/eth0/statistics/rx_packets)
	video h1p1 send 10.1.2.2 12
	# Three seconds of it alone, then beside the flood to its end.
	wait_for 30 came $((before + 4950))
	gen_start flood-gen h1p3 n1:eth3 --dst 10.1.2.2 --size 1000 --rate 2000 --duration 3600
	wait_for 60 no_processes "$(cat "$LAB_DIR/send.pid")"
	interrupt flood-gen
	none_waits() { [ "$(count_of waiting_frames)" = 0 ]; }
	wait_for 30 none_waits
	interrupt count
	cat "$LAB_DIR/count.out"
	cluster_conserves >/dev/null
	# Each layer was sent 600 times.
	jq -e '[.alone, .beside] | transpose | map(add) as $came | .[0][0] as $alone
		| ($alone > 100) and ([$came[:10][] | . == 600] | all)
		and ([$came[26:][] | . < $alone + 120] | all) and $came[32] < $came[0] / 2' "$LAB_DIR/count.out"
	[ "$(count_of policy_dropped.early)" -gt 1000 ]
}
