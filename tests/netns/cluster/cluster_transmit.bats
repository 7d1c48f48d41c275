#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A cluster whose bridges inject what they transmit; and one that never sleeps.
bats_require_minimum_version 1.5.0

load cluster

setup_file() {
	export CLUSTER_PORT_n1p1="transmit: inject" CLUSTER_PORT_n2p1="transmit: inject"
	cluster_begin 2 1
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.1.2
	wait_for 10 on h2p1 ping -c 1 -W 1 fd00:0:1:1::2
}

@test "both ports transmit by injection" {
	for n in 1 2; do
		grep -q "transmits by inject" "$LAB_DIR/bridge-n$n.err"
		on "n$n" ip link show slinject0
	done
}

@test "IPv4: injected frames are whole and in order, to the packet; in a flood, all others are counted" {
	send_all h1p1 n1:eth1 h2p1 2000 --dst 10.2.1.2 --flows 100
	send h1p1 n1:eth1 h2p1 --dst 10.2.1.2 --flows 100 --count 20000 --rate 250000
	came_whole
}

@test "IPv6 of three sizes: injected frames are whole and in order, to the packet; in a flood, all others are counted" {
	send_all h2p1 n2:eth1 h1p1 2000 --dst fd00:0:1:1::2 --imix --flows 100
	send h2p1 n2:eth1 h1p1 --dst fd00:0:1:1::2 --imix --flows 100 --count 10000 --rate 100000
	came_whole
}

@test "for a receiver that takes no redirected frames, each frame is drop-transmit or goes by AF_XDP" {
	local bridge before before_refused through total=0
	bridge=$(cat "$LAB_DIR/bridge-n2.pid")
	on h2p1 ethtool -K eth0 gro off # without it, a veth whose peer has no XDP takes none
	before=$(netdev_in h2p1)
	cluster_counts
	before_refused=$(frames 2 drop-transmit)
	refused() { echo $(($(frames 2 drop-transmit) - before_refused)); }
	all_are_through() { [ $(($(frames 2 transmitted) + $(refused))) -ge "$1" ]; }
	# A few frames at a time go by AF_XDP. So these wait for a stopped bridge, which then
	# injects them all at once: unless the processor was busy and brought them one by one.
	while [ "$(refused)" = 0 ] && [ $total -lt 20000 ]; do
		through=$(($(frames 2 transmitted) + $(refused)))
		kill -STOP "$bridge"
		gen gen h1p1 n1:eth1 --dst 10.2.1.2 --count $BURST_FRAMES --rate 100000 || true
		kill -CONT "$bridge"
		[ "$(sent)" = $BURST_FRAMES ]
		total=$((total + BURST_FRAMES))
		wait_for 60 all_are_through $((through + BURST_FRAMES))
	done
	[ "$(refused)" -gt 0 ]
	cluster_conserves >"$LAB_DIR/ledger.json"
	jq -c . "$LAB_DIR/ledger.json"
	jq -e '.drops | keys == ["drop-transmit"]' "$LAB_DIR/ledger.json"
	[ $(($(netdev_in h2p1) - before + $(jq '.drops["drop-transmit"]' "$LAB_DIR/ledger.json"))) -ge $total ]
	on h2p1 ethtool -K eth0 gro on
}

# sleeps: how often the bridge of n1 has given its processor away by itself; a bridge that sleeps
# does so every few rounds
sleeps() { awk '/^voluntary_ctxt/ { print $2 }' "/proc/$(cat "$LAB_DIR/bridge-n1.pid")/status"; }
rounds() { bridge_ask 1 status | jq .rounds; }
has_made() { [ "$(rounds)" -ge "$1" ]; }

@test "a busy bridge never sleeps for want of work" {
	local before slept
	sed 's/bridge: {}/bridge: {poll: busy}/' "$LAB_DIR/n1.yaml" >"$LAB_DIR/busy.yaml"
	grep -q "poll: busy" "$LAB_DIR/busy.yaml"
	kill "$(cat "$LAB_DIR/bridge-n1.pid")"
	wait_for 5 test ! -e "/proc/$(cat "$LAB_DIR/bridge-n1.pid")/ns/net"
	bridge_start 1 "$LAB_DIR/busy.yaml"
	wait_for 10 has_made 1
	slept=$(sleeps)
	before=$(rounds)
	wait_for 20 has_made $((before + 100000))
	echo "rounds $before to $(rounds), sleeps $slept to $(sleeps)"
	[ $(($(sleeps) - slept)) -lt 100 ]
}
