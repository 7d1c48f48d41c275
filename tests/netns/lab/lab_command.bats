#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# netns-lab/lab: the commands that users type, and that nothing is left, however they end.
bats_require_minimum_version 1.5.0
. netns-lab/lib/jq.sh
# shellcheck source=tests/lib/interrupt.bash disable=SC1091
. tests/lib/interrupt.bash

setup_file() {
	LAB_ROOT=$(mktemp -d) # so that `down --all` ends no lab but ours
	export LAB_ROOT
}

teardown_file() {
	lab down --all
	rmdir "$LAB_ROOT"
}

lab() { netns-lab/lab "$@"; }

processes() { grep -lzF "SLUICE_LAB=$LAB_ROOT/" /proc/[0-9]*/environ 2>/dev/null | wc -l; }

assert_nothing_left() {
	[ "$(processes)" = 0 ]
	[ -z "$(ls "$LAB_ROOT")" ]
}

@test "up makes a router that forwards both families, list names it, down removes it" {
	run lab up one-node --name "t$$" --engine none --ports 2
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "lab t$$ is up: n1 and h1 h2; engine none" ]
	run lab list
	[ "$output" = "t$$: one-node: n1; h1 h2" ]
	[ "$(lab list -j | jq -c '.[0].hosts')" = '["h1","h2"]' ]
	lab exec h1 ping -c 1 -W 60 10.0.2.2
	lab exec "t$$:h2" ping -c 1 -W 60 fd00:0:0:1::2
	run lab down
	[ "$output" = "lab t$$ is down" ]
	assert_nothing_left
}

@test "the bare engine is attached to every port" {
	lab up one-node --engine bare --ports 2
	lab exec n1 ip link show dev eth1 | grep -q sl_edge
	lab exec n1 ip link show dev eth2 | grep -q sl_edge
	lab exec h1 ping -c 1 -W 60 10.0.2.2
	lab down
	assert_nothing_left
}

@test "help describes each topology" {
	run lab --help
	[[ $output = *"  cluster      routers n1, n2, "*"  vms          a cluster in virtual machines"*"--fabric verbs-ud"* ]]
}

@test "exp lists its experiments in a tree that is not built, and says that it cannot run them" {
	local tree=$BATS_TEST_TMPDIR names
	names=$(build/sluice --json cc list | jq -r 'map(.controller) - ["fixed"] | join(",")')
	run lab exp --help
	[ "$status" -eq 0 ]
	[[ $output = *"--controller {$names}"* ]]
	cp -r netns-lab "$tree/"
	run "$tree/netns-lab/lab" exp --list
	[ "$status" -eq 0 ]
	[[ ${lines[0]} = "collapse "* ]]
	run "$tree/netns-lab/lab" exp table71
	[ "$status" -eq 1 ]
	[ "$output" = "exp: $tree/build/sluice does not run: build sluice first" ]
}

@test "of two labs one must be named, and ending one leaves the other" {
	lab up one-node --name a --engine none --ports 1
	lab up one-node --name b --engine none --ports 1
	run lab exec h1 true
	[ "$status" -eq 1 ]
	[ "$output" = "lab: several labs are up, name one of: a b" ]
	lab down a
	lab exec h1 ping -c 1 -W 60 10.0.1.1
	run lab up one-node --name b --engine none
	[ "$status" -eq 1 ]
	[ "$output" = "lab: a lab named \"b\" exists: end it with 'lab down b'" ]
	lab down
	assert_nothing_left
}

@test "wrong use is one line and status 2, a failed up leaves nothing" {
	run lab up
	[ "$status" -eq 2 ]
	[ "$output" = "lab: up: name a topology; see lab --help" ]
	run lab up nosuch
	[ "$status" -eq 2 ]
	[ "$output" = 'lab: "nosuch" is no topology; see lab --help' ]
	run lab dwon
	[ "$status" -eq 2 ]
	[ "$output" = 'lab: "dwon" is no command; see lab --help' ]
	run lab up one-node --ports many
	[ "$status" -eq 1 ]
	[ "$output" = 'lab: --ports: "many" is not a number from 1 to 250' ]
	run lab up one-node --engine turbo --ports 1
	[ "$status" -eq 1 ]
	[ "$output" = 'lab: "turbo" is no engine: none, bare, kernel, lpm or fast' ]
	run lab exec h1 true
	[ "$status" -eq 1 ]
	[ "$output" = "lab: no lab is up: lab up one-node" ]
	run lab down nosuch
	[ "$status" -eq 1 ]
	[ "$output" = 'lab: no lab "nosuch"; there are: none' ]
	assert_nothing_left
}

# up_in_background: start `up` in a session of its own and with SIGINT enabled, as from a terminal;
# return when its first namespaces are up and it has far to go
some_are_up() { [ "$(processes)" -ge "$1" ]; }

up_in_background() {
	setsid env --default-signal=INT netns-lab/lab up one-node --engine none --ports 250 >/dev/null 2>&1 3>&- &
	UP=$!
	wait_until some_are_up 8
}

wait_until() {
	local deadline=$((SECONDS + 10 * ${LAB_PATIENCE:-1}))
	until "$@"; do [ $SECONDS -lt $deadline ]; sleep 0.05; done
}

@test "Ctrl-C in the middle of up leaves nothing" {
	up_in_background
	press_ctrl_c "$UP"
	wait "$UP" || true
	assert_nothing_left
}

@test "down --all ends the lab that a killed up has left" {
	up_in_background
	kill -KILL -- "-$UP"
	wait "$UP" || true
	[ "$(processes)" -ge 1 ]
	run lab list
	[[ "$output" = *": incomplete: n1; "* ]]
	lab down --all
	assert_nothing_left
}

@test "a process left in a namespace ends with its lab" {
	lab up one-node --engine none --ports 1
	lab exec h1 sleep 1000 >/dev/null 2>&1 3>&- &
	wait_until some_are_up 3
	lab down
	assert_nothing_left
}
