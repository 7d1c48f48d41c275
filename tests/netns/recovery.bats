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
	. tests/netns/cluster.bash
}

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
	wait_for 30 is_whole "$LAB_DIR/whole"
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
	wait_for 30 is_whole "$LAB_DIR/whole"
	send h1p1 n1:eth1 h2p1 --dst 10.2.1.2 --count 2000 --rate 10000
	assert_received 2000
}
