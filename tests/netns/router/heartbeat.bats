#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A daemon that gives no sign of life for `heartbeat_s`: the fast path leaves every packet to the kernel, which
# knows what has changed meanwhile.

bats_require_minimum_version 1.5.0

load router

setup() { router_up; }
teardown() { lab_end; }

pass() { on h1 ping -q -c 5 -i 0.05 -W 1 "$@" | awk '/received/ { print $4 }'; }
unreached() { ! reaches "$1"; }
# The daemon is not asked: it may be away.
punted_away() { [ "$(change punts away)" -gt 0 ]; }

@test "after kill -9 the kernel decides: its later filter and blackhole route hold" {
	configure "heartbeat_s: 2"
	daemon
	warm_up
	daemon_end KILL
	on n1 nft -f - <<-'RULES'
		table ip later { chain f { type filter hook forward priority 0; ip daddr 10.0.2.2 drop; }; }
	RULES
	wait_for 10 unreached 10.0.2.2
	[ "$(pass 10.0.2.2)" = 0 ]
	on n1 ip -6 route add blackhole fd00:2::2/128
	[ "$(pass fd00:2::2)" = 0 ]
	run sluice status
	[[ $output = "sluiced    is not running; the kernel forwards"* ]]
	[ "$(sluice -j status | jq .goes_on_s)" = 0 ]
	on n1 nft delete table ip later
	on n1 ip -6 route del blackhole fd00:2::2/128

	daemon
	log_says "after 2 s the fast path left every packet to the kernel"
	warm_up
	accounts_open
	[ "$(pass 10.0.2.2)" = 5 ]
	[ "$(change stats forward)" -ge 10 ]
	[ "$(change punts away)" = 0 ]
}

@test "until then the fast path goes on, and status says for how long" {
	configure "heartbeat_s: 30"
	daemon
	warm_up
	run sluice status
	[[ $output = *"without it the kernel forwards after 30 s"* ]]
	daemon_end TERM
	log_says "the fast path stays as it is for 30 s; then the kernel forwards"
	accounts_open
	run sluice status
	[[ $output =~ "the fast path goes on with the routes it had for "[0-9]+" s" ]] || [[ $output = *"the kernel forwards"* ]]
	wait_for 60 leaves_it_to_the_kernel
	[ "$(pass 10.0.2.2)" = 5 ]
	[ "$(change stats forward)" -ge 0 ]
}
leaves_it_to_the_kernel() { reaches 10.0.2.2 && punted_away; }

@test "a daemon that hangs is away, too, and takes the fast path up again when it goes on" {
	configure "heartbeat_s: 1"
	daemon
	warm_up
	kill -STOP "$DAEMON"
	accounts_open
	wait_for 10 leaves_it_to_the_kernel
	kill -CONT "$DAEMON"
	accounts_open
	wait_for 10 reaches_by_the_fast_path
}
reaches_by_the_fast_path() { reaches 10.0.2.2 && [ "$(change stats forward)" -ge 2 ]; }

@test "a port that goes to another network namespace without a daemon stops forwarding there" {
	configure "heartbeat_s: 2"
	daemon
	warm_up
	daemon_end KILL
	on n1 ip netns add other
	on n1 ip link set dev eth1 netns other
	on n1 ip netns exec other ip link set dev eth1 up
	on h1 ip neigh replace 10.0.1.1 lladdr "$(on n1 ip netns exec other ip -j link show dev eth1 | jq -r '.[0].address')" dev eth0
	wait_for 10 unreached 10.0.2.2
	[ "$(pass 10.0.2.2)" = 0 ]
	on n1 ip netns del other
}

@test "with heartbeat_s 0 there is no deadline" {
	configure "heartbeat_s: 0"
	daemon
	[ "$(on n1 bpftool -j map dump pinned $PINS/sl_heartbeat | jq '.[0].formatted.value.deadline')" = 0 ]
	configure "heartbeat_s: 5"
	kill -HUP "$DAEMON"
	wait_for 10 has_deadline
	daemon_end TERM
}
has_deadline() { [ "$(on n1 bpftool -j map dump pinned $PINS/sl_heartbeat | jq '.[0].formatted.value.deadline')" != 0 ]; }
