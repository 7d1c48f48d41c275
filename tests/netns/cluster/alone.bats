#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A router without a cluster whose ports have queues: its bridge runs without a fabric, a peer or a
# key. The sink counts at the far end; all sums hold to the packet. It takes 35 s.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
SHAPED_NODE=1
. tests/lib/shaped.bash

# config ETH2-KEYS [ETH1-KEYS [LINE...]]: ports eth1 to eth5
config() {
	local keys=$1 first=${2:-}
	shift $(($# > 1 ? 2 : 1))
	printf '%s\n' "heartbeat_s: 600" "$@" "ports:" "  - {name: eth1$first}" "  - {name: eth2$keys}" \
		"  - name: eth3" "  - name: eth4" "  - name: eth5" >"$LAB_DIR/n1.yaml"
}

setup_file() {
	cluster_lab
	node_up n1
	cluster_edges 1 5
	SHAPED=", rate: 100mbit, scheduler: drr, queues: [{class: 0, frames: 8192, policy: longest}, {class: 1, frames: 8192, weight: 3}]"
	export SHAPED
	config "$SHAPED" "" "metrics: 9101"
	bridge_start 1
	router_start n1
	wait_for 30 running true
	for p in 1 3 4 5; do
		wait_for 30 on "h1p$p" ping -c 1 -W 1 10.1.2.2
	done
}

# End what a failed test has left running.
teardown() { flows_kill; }

sluice() { on n1 build/sluice "$@"; }
running() { [ "$(sluice -j status | jq .bridge.running)" = "$1" ]; }

# at_rate: do the frames of 1,514 bytes of a window come at 100 Mbit/s? In no window more than 1 %
# faster, and in one of five not slower than by 1 % and what the bridge waited for a processor.
at_rate() {
	local before rate least
	for _ in 1 2 3 4 5; do
		before=$(waited)
		window 2 8000 0 || return
		rate=$(jq '(.packets - 1) * 1514 * 8 / (.last_ns - .first_ns) * 1e9 / 1e8' "$LAB_DIR/window.out")
		least=$(jq "0.99 * (1 - $(($(waited) - before)) / (.last_ns - .first_ns))" "$LAB_DIR/window.out")
		within "$rate" 0 1.01 || return
		! within "$rate" "$least" 1.01 || return 0
	done
	return 1
}

@test "no fabric, no peer, no key: status and views say what there is" {
	[ ! -e "$LAB_DIR/cluster.key" ]
	[[ $(sluice status) = *"bridge     runs (/run/sluice/sluice-bridge.sock)"* ]]
	sluice -j status | jq -e '.bridge == {running: true, fabric: false, control: "/run/sluice/sluice-bridge.sock"}'
	[ "$(sluice -j show peers)" = "[]" ]
	[[ $(sluice show fabric) = "transport  none: a router alone"* ]]
	[ "$(sluice -j show system-ports | jq -c '.[:2] | map([.port, .netdev, .local, .state])')" = \
		'[["n1p1","eth1",true,"up"],["n1p2","eth2",true,"up"]]' ]
	[[ $(sluice explain 10.1.2.2) = *"through the queues of the port"* ]]
	[[ $(sluice explain 10.1.1.2) = *"sent straight to the port"* ]]
	run -2 on n1 build/sluice cluster bird -c "$LAB_DIR/n1.yaml"
}

@test "a port has its rate, and each of forty flows of a class its share" {
	wait_for 60 cluster_counts
	flow_from h1p1 0 2 9000 --size 1514 --flows 20
	FLOW_NAME=fast flow_from h1p3 0 2 20000 --size 1514 --first-flow 500 --flows 20
	at_rate
	window 2 20000 0
	gens_end 0 fast
	jq -e '[.flow[].packets] | (add / length) as $mean | map((. - $mean) / $mean) | [min, max, length], (min > -0.02 and max < 0.02 and length == 40)' \
		"$LAB_DIR/window.out"
}

# metrics: those of the router as JSON
metrics() { on n1 curl -sS -m 60 http://127.0.0.1:9101/metrics | tests/tools/prometheus_samples.py; }

@test "metrics are those of the ports and their queues, of a bridge that is up and of no peer" {
	wait_for 60 cluster_counts
	local before
	before=$(netdev_in h1p2)
	metrics >"$LAB_DIR/before"
	send_all h1p1 n1:eth1 h1p2 1000 --dst 10.1.2.2 --size 200
	# The frames that XDP forwarded are 1,000; a few of the kernel's may have left beside them.
	counts_all() {
		metrics >"$LAB_DIR/after"
		jq -ne --slurpfile a "$LAB_DIR/before" --slurpfile b "$LAB_DIR/after" --argjson came $(($(netdev_in h1p2) - before)) '
			def sum($m; $name): [$m | to_entries[] | select(.key | startswith($name) and contains("{port=n1p2}")).value] | add;
			def more($name): sum($b[0]; $name) - sum($a[0]; $name);
			more("sluice_voq_express_frames_total{") as $past |
			(more("sluice_egress_queue_departed_frames_total{") + $past) as $departed |
			$departed >= 1000 and $departed <= $came and more("sluice_voq_enqueued_frames_total{") + $past == 1000'
	}
	wait_for 30 counts_all
	jq -e '.sluice_bridge_up == 1 and ["sluice_system_port_up{node=1}{port=n1p\(range(1; 6))}" as $port | .[$port]] == [1, 1, 1, 1, 1] and
		([keys[] | select(startswith("sluice_peer_") or contains("{node=") and (contains("{node=1}") | not))] == []) and
		.sluice_fabric_sent_messages_total == 0 and .sluice_fabric_received_messages_total == 0 and
		([to_entries[] | select(.key | startswith("sluice_egress_queue_arrived_frames_total{") and (contains("{port=n1p2}") | not)).value] | add) == 0' "$LAB_DIR/after"
	on n1 curl -sS -m 60 http://127.0.0.1:9101/metrics | promtool check metrics
}

@test "classes share the port by weight; a port without queues loses nothing beside it" {
	wait_for 60 cluster_counts
	flow_from h1p1 0 2 12000 --size 1500
	flow_from h1p3 1 2 12000 --size 1500
	window 2 4000 0 1
	within "$(jq -n "$(share 1000) / $(share 0)")" 2.94 3.06
	sink_start beside h1p5
	gen beside-gen h1p4 n1:eth4 --dst 10.1.5.2 --size 200 --rate 1000 --count 1000 --first-flow 9000
	beside_came() { [ "$(netdev_in h1p5)" -ge 1000 ]; }
	wait_for 30 beside_came
	holds n1p2 0 7900
	finish beside
	came_whole beside
	[ "$(report beside packets)" = 1000 ]
	gens_end 0 1
	[ "$(bridge_ask 1 egress-queues | jq -s 'map(select(.port != "n1p2").arrived_frames) | add')" = 0 ]
}

@test "what the router's kernel sends takes the queues, too" {
	local before
	before=$(queue n1p2 0 departed_frames)
	on n1 ping -q -c 10 -i 0.02 -W 1 10.1.2.2
	[ "$(queue n1p2 0 departed_frames)" -ge $((before + 10)) ]
}

@test "while nothing waits, frames go past the bridge; those that wait for the rate keep their order" {
	local before i
	wait_for 60 cluster_counts
	open() { [ "$(voq n1p2 0 express)" = '"yes"' ]; }
	wait_for 30 open
	before="$(voq n1p2 0 express_frames) $(voq n1p2 0 enqueued_frames)"
	# 50 packets of 200 bytes a second need one token bucket of 10,000 bytes in a second.
	send_all h1p1 n1:eth1 h1p2 100 --dst 10.1.2.2 --size 200 --rate 50
	[ "$(voq n1p2 0 express_frames) $(voq n1p2 0 enqueued_frames)" = "$((${before% *} + 100)) ${before#* }" ]
	# Each time, the first frames leave at once, and the others wait: 400 at 100 Mbit/s are 48 ms.
	sink_start flow h1p2
	for i in 1 2 3 4 5 6 7 8 9 10; do
		gen "burst$i" h1p1 n1:eth1 --dst 10.1.2.2 --size 1514 --count 400 --first-flow "$i"
		wait_for 30 open
	done
	finish flow
	came_whole flow
	[ "$(report flow packets)" = 4000 ]
	[ "$(report flow reordered)" = 0 ]
	[ "$(voq n1p2 0 express_frames)" -ge $((${before% *} + 200)) ]
	[ "$(voq n1p2 0 enqueued_frames)" -ge $((${before#* } + 2000)) ]
}

# left PORT CLASS: frames that left by a port of the router, past its bridge or by it
left() { echo $(($(voq "$1" "$2" express_frames) + $(queue "$1" "$2" departed_frames))); }

@test "another port gets queues by a reload, and gives them up" {
	config "$SHAPED" ", rate: 50mbit"
	reload 1
	[[ $(sluice explain 10.1.1.2) = *"through the queues of the port"* ]]
	send_all h1p3 n1:eth3 h1p1 500 --dst 10.1.1.2
	[ "$(left n1p1 0)" -ge 500 ]
	config "$SHAPED"
	reload 1
	[[ $(sluice explain 10.1.1.2) = *"sent straight to the port"* ]]
	send_all h1p3 n1:eth3 h1p1 500 --dst 10.1.1.2
}

@test "while no bridge runs, frames leave at once, status says so, and the next one takes them again" {
	local before
	bridge_stop 1
	wait_for 10 running false
	[[ $(sluice status) = *"bridge     is not running: frames leave ports with queues at once"* ]]
	send_all h1p1 n1:eth1 h1p2 2000 --dst 10.1.2.2 --imix --flows 100
	bridge_start 1
	wait_for 30 running true
	queued() { on h1p1 ping -q -c 3 -i 0.02 -W 1 10.1.2.2 && [ "$(left n1p2 0)" -ge "$1" ]; }
	wait_for 30 queued $(($(left n1p2 0) + 3))
	before=$(left n1p2 0)
	send_all h1p1 n1:eth1 h1p2 2000 --dst 10.1.2.2 --imix --flows 100
	[ "$(left n1p2 0)" -ge $((before + 2000)) ]
}

@test "a restart of the daemon loses no frame of the other ports, and the queues work on" {
	local before
	before=$(cat "$LAB_DIR/sluiced-n1.pid")
	kill -9 "$before"
	wait_for 10 no_processes "$before"
	send_all h1p1 n1:eth1 h1p3 1000 --dst 10.1.3.2 --imix --flows 100
	router_start n1
	wait_for 30 running true
	again() { on h1p1 ping -q -c 3 -i 0.02 -W 1 10.1.2.2 && send_all h1p1 n1:eth1 h1p2 500 --dst 10.1.2.2 --imix --flows 100; }
	wait_for 60 again
}

@test "a flow reserves within the node, up to what the port has" {
	local before
	config ", rate: 100mbit" ", rate: 100mbit" "reserve: 80"
	bridge_stop 1
	bridge_start 1
	kill -HUP "$(cat "$LAB_DIR/sluiced-n1.pid")"
	takes() { sluice reserve add source=10.1.1.2 destination=10.1.2.2 protocol=udp source_port=4024 destination_port=9 rate 60mbit; }
	wait_for 30 takes
	[ "$(sluice reserve list -j | jq -r '.[0].state')" = in-force ]
	run sluice reserve add source=10.1.1.2 destination=10.1.2.2 protocol=udp source_port=4025 destination_port=9 rate 60mbit
	[ "$status" -ne 0 ]
	has_queue() { [ "$(queue n1p2 3 reserved_flows)" = 1 ]; }
	wait_for 10 has_queue
	# Frames for which the daemon has no way yet go by the kernel.
	by_queue() { before=$(left n1p2 3) && gen first h1p1 n1:eth1 --dst 10.1.2.2 --first-flow 3000 --size 1000 --count 1 && [ "$(left n1p2 3)" -gt "$before" ]; }
	wait_for 10 by_queue
	before=$(left n1p2 3)
	sink_start flow h1p2
	gen flow-gen h1p1 n1:eth1 --dst 10.1.2.2 --first-flow 3000 --size 1000 --rate 2000 --count 500
	came() { [ "$(left n1p2 3)" -ge $((before + 500)) ]; }
	wait_for 30 came
	finish flow
	[ "$(report flow packets)" = 500 ]
	sluice reserve delete source=10.1.1.2 destination=10.1.2.2 protocol=udp source_port=4024 destination_port=9
}

@test "a router whose ports ask for nothing takes no bridge: the queues go with the reload" {
	config ""
	kill -HUP "$(cat "$LAB_DIR/sluiced-n1.pid")"
	no_bridge() { [ "$(sluice -j status | jq .bridge)" = null ]; }
	wait_for 30 no_bridge
	bridge_stop 1
	[[ $(sluice explain 10.1.2.2) = *"sent straight to the port"* ]]
	run -1 sluice show peers
	run -2 --separate-stderr on n1 build/sluice-bridge -c "$LAB_DIR/n1.yaml"
	# shellcheck disable=SC2154 # stderr is of run
	[[ $stderr = *"no port has a rate, queues or a controller; such a router needs no bridge" ]]
	on h1p1 ping -q -c 3 -i 0.02 -W 1 10.1.2.2
}
