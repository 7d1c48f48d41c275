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

# cross FROM NODE TO GEN-OPTIONS...: send in bursts, so that many frames wait to be transmitted at
# once
cross() {
	local from=$1 node=$2 to=$3 pid
	shift 3
	cluster_counts
	spawn "$to" received build/lab/sink eth0 --json --verify
	wait_for 5 grep -q ready "$LAB_DIR/received.err"
	pid=$SPAWNED
	on "$from" build/lab/gen eth0 --json --dst-mac "$(mac_of "$node" eth1)" "$@" >"$LAB_DIR/gen.json"
	sent=$(jq .sent "$LAB_DIR/gen.json")
	cluster_conserves >/dev/null
	kill -INT "$pid"
	wait "$pid"
	received=$(jq .packets "$LAB_DIR/received.out")
	echo "sent $sent, received $received"
}

# Each frame that arrived is whole, in order and came once; every other one was dropped by name.
assert_crossed() {
	[ "$(jq -c '[.reordered, .duplicates, .bad_checksum, .bad_payload, .wrong_mac, .ttl_min, .ttl_max]' \
		"$LAB_DIR/received.out")" = "[0,0,0,0,0,63,63]" ]
	[ "$received" -gt 0 ]
	cluster_conserves "$sent" "$received"
}

@test "both ports transmit by injection" {
	for n in 1 2; do
		grep -q "transmits by inject" "$LAB_DIR/bridge-n$n.err"
		on "n$n" ip link show slinject0
	done
}

@test "IPv4 in bursts: injected frames are whole and in order, all others are counted" {
	cross h1p1 n1 h2p1 --dst 10.2.1.2 --flows 100 --count 20000 --rate 250000
	assert_crossed
}

@test "IPv6 of three sizes in bursts: injected frames are whole and in order, all others are counted" {
	cross h2p1 n2 h1p1 --dst fd00:0:1:1::2 --imix --flows 100 --count 10000 --rate 100000
	assert_crossed
}

@test "for a receiver that takes no redirected frames, each frame is drop-transmit or goes by AF_XDP" {
	on h2p1 ethtool -K eth0 gro off
	cluster_counts
	# A few frames at a time go by AF_XDP. So these wait for a stopped bridge, which then
	# injects them all at once.
	burst_is_refused() {
		local bridge
		bridge=$(cat "$LAB_DIR/bridge-n2.pid")
		kill -STOP "$bridge"
		on h1p1 build/lab/gen eth0 --json --dst-mac "$(mac_of n1 eth1)" --dst 10.2.1.2 --count 1000 \
			--rate 100000 >"$LAB_DIR/gen.json" || return
		kill -CONT "$bridge"
		[ "$(bridge_ask 2 status | jq '.frames["drop-transmit"].packets')" -gt 0 ]
	}
	wait_for 60 burst_is_refused
	cluster_conserves
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
