#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What dies in a cluster is noticed within the bound, harms nobody else, comes back by itself and leaves nothing stale.
bats_require_minimum_version 1.5.0

# Silence that means death: more than a busy machine lets a living bridge wait for a processor.
LIVENESS_MS=400

setup_file() {
	. netns-lab/lib.sh
	. netns-lab/topo/cluster.sh
	# shellcheck disable=SC2119
	lab_begin
	TOPO_ENGINE=fast
	CLUSTER_LIVENESS_MS=$LIVENESS_MS
	topo_up --nodes 3 --ports 2
	. netns-lab/whole.sh
	. netns-lab/kills.sh
	. tests/netns/cluster.bash
	wait_for 20 all_reach_all
	inventory >"$LAB_DIR/whole"
}

teardown_file() {
	. netns-lab/lib.sh
	lab_end
}

setup() {
	. netns-lab/lib.sh
	. netns-lab/topo/cluster.sh
	. netns-lab/whole.sh
	. netns-lab/kills.sh
	. tests/netns/cluster.bash
}

# Whatever a test that failed has left running.
teardown() { flows_kill; }

fabric_number() { bridge_ask "$1" fabric | jq ".$2"; }

@test "a bridge that restarts is met by all, whoever has the lower id" {
	for n in 1 3; do
		before=$(bridge_ask "$n" status | jq .epoch)
		killed_now "$n"
		bridge_start "$n"
		wait_for 30 peers_are_up
		[ "$(bridge_ask "$n" status | jq .epoch)" != "$before" ]
	done
	[ "$(fabric_number 1 knocks)" -ge 1 ] # of node 3
}

@test "a fabric netdev that is deleted and made again, with another MAC address, is taken back" {
	mac=$(mac_of n1 fab0)
	for n in 1 3; do
		on "n$n" ip link del fab0
		wait_for 10 grep -q "the netdev fab0 is gone" "$LAB_DIR/bridge-n$n.err"
		wait_for 10 no_carrier 2 "$n" 1
		wait_for 10 no_carrier "$n" 2 1
	done
	for n in 1 3; do cluster_wire_fabric "$n"; done
	[ "$(mac_of n1 fab0)" != "$mac" ]
	wait_for 30 is_whole "$LAB_DIR/whole"
	kill -0 "$(cat "$LAB_DIR/bridge-n1.pid")"
	kill -0 "$(cat "$LAB_DIR/bridge-n3.pid")"
}

@test "a fabric netdev that gets another MAC address is learnt anew by all" {
	on n2 ip link set dev fab0 address 02:00:00:00:09:02
	wait_for 10 grep -q "beginning anew" "$LAB_DIR/bridge-n2.err"
	wait_for 30 peers_are_up
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.1.2
	send h1p1 n1:eth1 h2p1 --dst 10.2.1.2 --count 2000 --rate 10000
	assert_received 2000
}

# --- Traffic that has another way ---------------------------------------------------------------------------

# 192.0.2.1 is behind node 2 and, should that fail, behind node 3.
anycast() {
	for n in 2 3; do
		on "h${n}p1" ip addr replace 192.0.2.1/32 dev lo
		on n1 ip route replace 192.0.2.0/24 via "10.$n.1.2" dev "n${n}p1" metric "$n"
	done
}

# more_frames N BEFORE: has node N transmitted 500 more?
more_frames() { [ "$(frames "$1" transmitted)" -ge $(($2 + 500)) ]; }

# moves_over KIND: traffic moves to node 3 when it happens to node 2, and back when that has returned
moves_over() {
	local rate=2000 before lost_ms
	anycast
	cluster_counts
	flow_start moving h1p1 n1:eth1 192.0.2.1 $rate h2p1 h3p1
	before=$(frames 2 transmitted)
	wait_for 10 more_frames 2 "$before"
	before=$(frames 3 transmitted)
	"kill_$1" 2
	wait_for 10 more_frames 3 "$before"
	"revive_$1" 2
	wait_for 30 peers_are_up
	before=$(frames 2 transmitted)
	wait_for 10 more_frames 2 "$before"
	flow_end moving h2p1 h3p1
	lost_ms=$(((FLOW_SENT - FLOW_RECEIVED) * 1000 / rate))
	echo "sent $FLOW_SENT, received $FLOW_RECEIVED: $lost_ms ms lost, of which $LIVENESS_MS to notice"
	[ "$FLOW_WRONG" = 0 ]
	# The bound, and for the kernel, the daemon and this machine a second.
	[ "$lost_ms" -le $((LIVENESS_MS + 1000)) ]
}

@test "traffic of a bridge that is killed moves within the bound, and back when it returns" { moves_over bridge; }
@test "traffic of a fabric link that is cut moves within the bound, and back when it is mended" {
	moves_over link
	# All sums hold, but for the messages that were on the cable: nobody counts those but the receivers, as lost.
	run cluster_conserves "$FLOW_SENT" "$FLOW_RECEIVED"
	echo "$output"
	jq -e '(.wrong | map(startswith("fabric: ") | not) | any | not) and .drops.fabric > 0' <<<"${lines[0]}"
}

@test "traffic of a node that dies moves within the bound; the node that returns is whole" {
	anycast
	flow_start moving h1p1 n1:eth1 192.0.2.1 2000 h3p1
	kill_node 2
	before=$(frames 3 transmitted)
	wait_for 10 more_frames 3 "$before"
	flow_end moving h3p1
	[ "$FLOW_WRONG" = 0 ]
	revive_node 2
	wait_for 30 is_whole "$LAB_DIR/whole"
}

# --- Traffic that has none ----------------------------------------------------------------------------------

@test "a daemon that is killed and started again loses no packet, neither where they enter nor where they leave" {
	cluster_counts
	flow_start through h1p1 n1:eth1 10.2.1.2 2000 h2p1
	for n in 1 2; do
		kill_daemon "$n"
		revive_daemon "$n"
	done
	flow_end through h2p1
	echo "sent $FLOW_SENT, received $FLOW_RECEIVED"
	cluster_conserves "$FLOW_SENT" "$FLOW_RECEIVED"
	[ "$FLOW_WRONG" = 0 ]
}

@test "a bridge that gets no processor fills its rings, drops by name, and blames nobody else" {
	downs() { bridge_ask 1 peers | jq -s 'map(.downs) | add'; }
	before=$(downs)
	cluster_counts
	flow_start through h1p1 n1:eth1 10.2.1.2 5000 h2p1
	kill_pause 1
	full() { [ "$(on n1 build/sluice --json show drops | jq '.[] | select(.name == "voq-full").packets')" -gt 500 ]; }
	wait_for 20 full
	wait_for 10 peer_is 2 1 down
	revive_pause 1
	wait_for 10 peer_is 2 1 up
	wait_for 10 peer_is 3 1 up
	flow_end through h2p1
	cluster_conserves "$FLOW_SENT" "$FLOW_RECEIVED"
	[ "$FLOW_WRONG" = 0 ]
	[ "$(downs)" = "$before" ] # it gave up no peer for its own absence
	[ "$(fabric_number 1 stalls)" -ge 1 ]
}

@test "an edge netdev that is deleted and made again is taken back by daemon and bridge" {
	kill_edge_netdev 2
	wait_for 10 no_carrier 1 2 2
	revive_edge_netdev 2
	wait_for 30 is_whole "$LAB_DIR/whole"
	send h1p1 n1:eth1 h2p2 --dst 10.2.2.2 --count 2000 --rate 10000
	assert_received 2000
}
