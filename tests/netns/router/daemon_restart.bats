#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# sluiced reloaded, ended, killed and started again: no packet is lost, nothing stale is left.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

setup() {
	load router
	router_up
}

teardown() { lab_end; }

# object_is_gone prog|link ID
object_is_gone() { ! on n1 bpftool "$1" show id "$2"; }

# --- Signals ----------------------------------------------------------------------------------------------

@test "SIGHUP with another engine, twice, under traffic: nothing is lost, one set of pins, counters go on" {
	daemon
	warm_up
	send_start h1 n1:eth1 h2 --dst 10.0.2.2 --flows 16 --rate 2000
	configure "engine: lpm"
	kill -HUP "$DAEMON"
	engine_is() { [ "$(sluice -j status | jq -r .engine)" = "$1" ]; }
	wait_for 5 engine_is lpm
	configure "engine: kernel"
	kill -HUP "$DAEMON"
	wait_for 5 engine_is kernel
	send_stop
	assert_forwarded "$(sent)"
	[ "$(pins)" = "$(published)" ]
}

@test "SIGHUP adds and removes ports" {
	daemon
	printf '%s\n' "ports:" "  - name: eth1" >"$CONFIG"
	kill -HUP "$DAEMON"
	wait_for 5 log_says reloaded
	[ "$(xdp_program eth2)" = none ]
	[ "$(sluice -j show ports | jq length)" = 1 ]
	configure
	kill -HUP "$DAEMON"
	wait_for 5 port_is eth2 on
}

@test "SIGHUP with a bad file keeps everything, and logs the one line" {
	daemon
	local id
	id=$(xdp_program_id eth1)
	echo "colour: red" >>"$CONFIG"
	kill -HUP "$DAEMON"
	wait_for 5 log_says "reload refused; the former configuration stays in force"
	log_says "$CONFIG:5: \"colour\" is not a key here: write engine, ports, "
	[ "$(xdp_program_id eth1)" = "$id" ]
	daemon_ready
}

@test "SIGTERM leaves the fast path forwarding; with --detach it removes the fast path and the pins" {
	daemon
	warm_up
	daemon_end TERM
	[ "$ENDED" -eq 0 ]
	[ "$(pins)" = "$(published)" ]
	local before
	before=$(counter forward)
	on h1 ping -c 1 -W 30 10.0.2.2
	[ "$(counter forward)" = $((before + 2)) ]
	daemon --detach
	local link
	link=$(on n1 bpftool -j link show pinned /sys/fs/bpf/sluice/sl_tx_batch | jq .id)
	daemon_end TERM
	[ "$ENDED" -eq 0 ]
	nothing_was_changed
	# The kernel takes its time to free a link that nobody uses.
	wait_for 10 object_is_gone link "$link"
	wait_for 10 reaches 10.0.2.2
}

# --- Restarts ------------------------------------------------------------------------------------------------

@test "kill -9 and restart under traffic: nothing is lost, changes are found, counters go on, nothing is stale" {
	daemon
	warm_up
	local id seed
	id=$(xdp_program_id eth1)
	seed=$(on n1 bpftool -j map dump pinned /sys/fs/bpf/sluice/sl_meta | jq '.[0].formatted.value.hash_seed')
	send_start h1 n1:eth1 h2 --dst 10.0.2.2 --flows 16 --rate 2000
	daemon_end KILL
	[ "$(xdp_program_id eth1)" = "$id" ]
	on n1 ip route add 10.9.0.0/16 via 10.0.2.2
	on n1 ip route add blackhole 10.7.0.0/16
	daemon
	[ "$(sluice -j explain 10.9.1.1 | jq -r .verdict)" = forward ]
	[ "$(sluice -j explain 10.7.1.1 | jq -r .verdict)" = drop ]
	send_stop
	assert_forwarded "$(sent)"
	[ "$(xdp_program_id eth1)" != "$id" ]
	[ "$(xdp_program eth2)" = sl_edge_bound ]
	[ "$(pins)" = "$(published)" ]
	[ "$(on n1 bpftool -j map dump pinned /sys/fs/bpf/sluice/sl_meta | jq '.[0].formatted.value.hash_seed')" = "$seed" ]
	wait_for 10 object_is_gone prog "$id"
}

@test "after a kill between attaching and publishing the next daemon knows its predecessor's program" {
	daemon
	local id
	id=$(xdp_program_id eth1)
	daemon_end KILL
	on n1 mv /sys/fs/bpf/sluice /sys/fs/bpf/sluice-new
	spawn n1 sluiced setpriv --bounding-set -all,+bpf,+perfmon,+net_admin --inh-caps=-all \
		build/sluiced --config "$CONFIG"
	DAEMON=$SPAWNED
	wait_for 10 daemon_ready
	port_is eth1 on
	[ "$(xdp_program_id eth1)" != "$id" ]
	[ "$(pins)" = "$(published)" ]
}

@test "a program that iproute2 attached is replaced in one step, its counters go on, its pins are removed" {
	on n1 ip link set dev eth1 xdp obj build/sluice.bpf.o section xdp
	on n1 ip link set dev eth2 xdp obj build/sluice.bpf.o section xdp
	on n1 test -e /sys/fs/bpf/tc/globals/sl_stats
	wait_for 5 reaches 10.0.2.2
	local before
	before=$(on n1 build/sluice -j -p /sys/fs/bpf/tc/globals show counters | jq '.[0].packets')
	[ "$before" -gt 0 ]
	daemon
	[ "$(xdp_program eth1)" = sl_edge_bound ]
	[ "$(counter rx)" -ge "$before" ]
	[ "$(pins)" = "$(published)" ]
	warm_up
}
