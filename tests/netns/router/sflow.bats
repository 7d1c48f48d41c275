#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What `sluice sflow` refuses, and how it says so. tests/vm/sflow_samples.bats has collectors: it has a kernel that
# lets XDP programs be traced, whatever the machine's own does.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

setup_file() {
	load router
	router_up
	configure "sflow: {collectors: [{address: 10.0.2.2}]}"
	daemon
	export CONFIG DAEMON
}

teardown_file() {
	load router
	lab_end
}

setup() { load router; }

# with LINE...: a file with these lines; its name is FILE.
with() {
	FILE=$LAB_DIR/with.yaml
	printf '%s\n' "$@" "ports:" "  - name: eth1" >"$FILE"
}

@test "check names the line, the key and what would be right" {
	while IFS='|' read -r sflow expected; do
		with "sflow: $sflow"
		run --separate-stderr sluice check "$FILE"
		echo "$sflow: $status $stderr"
		[ "$status" -eq 2 ]
		[ "$stderr" = "sluice: $FILE:1: $expected" ]
		# The daemon and the command say the same.
		run --separate-stderr sluice sflow --config "$FILE"
		[ "$status" -eq 2 ]
		[ "$stderr" = "sluice: sflow: $FILE:1: $expected" ]
	done <<-'LIST'
		{}|sflow: "collectors" is missing: write "collectors: ..."
		{collectors: []}|sflow: "collectors" is an empty list: write "- address: ..." for each collector
		{collectors: [{address: 10.0.2.2:6343}]}|sflow.collectors[0].address: "10.0.2.2:6343" is not an IPv4 or IPv6 address
		{collectors: [{address: 10.0.2.2, port: 65536}]}|sflow.collectors[0].port: "65536" is not a UDP port: write a number from 1 to 65535
		{collectors: [{address: 10.0.2.2}], agent: n1}|sflow.agent: "n1" is not an IPv4 or IPv6 address
		{collectors: [{address: 10.0.2.2}], sampling: 0}|sflow.sampling: "0" is not a number of frames of which one is sampled: write a number from 1 to 16777216
		{collectors: [{address: 10.0.2.2}], header_bytes: 1500}|sflow.header_bytes: "1500" is not a length in bytes: write a number from 14 to 512
	LIST
}

@test "without collectors, with a word too many or a wrong option it ends with status 2" {
	with "log_level: info"
	run --separate-stderr sluice sflow -c "$FILE"
	[ "$status" -eq 2 ]
	[ "$stderr" = "sluice: sflow: $FILE names no collectors: write \"sflow: {collectors: [{address: ADDRESS}]}\"" ]
	run --separate-stderr sluice sflow -c "$CONFIG" now
	[ "$status" -eq 2 ]
	[ "$stderr" = 'sluice: sflow: "now" is one argument too many' ]
	run --separate-stderr sluice sflow --colour
	[ "$status" -eq 2 ]
	[[ $stderr = *"Try 'sluice sflow --help'."* ]]
	run --separate-stderr sluice sflow --help
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "Usage: sluice [OPTION]... sflow [-c FILE]" ]
}

@test "without a way to the first collector, and without an agent's address, it says what to write" {
	with "sflow: {collectors: [{address: 192.0.2.7}]}"
	run --separate-stderr sluice sflow -c "$FILE"
	[ "$status" -eq 1 ]
	[ "$stderr" = 'sluice: sflow: no address for the agent, since "192.0.2.7" cannot be reached: Network is unreachable: write "agent: ADDRESS" under sflow' ]
}

@test "where no port runs the fast path it ends with status 1 and a line that says so" {
	run --separate-stderr on h2 build/sluice sflow -c "$CONFIG"
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice: sflow: no netdev here runs an XDP program of sluice's: is sluiced running, in this network namespace?" ]
}
