#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The demo shows what it promises, and leaves nothing behind, however it ends.
bats_require_minimum_version 1.5.0

setup() {
	LAB_ROOT=$(mktemp -d)
	export LAB_ROOT
	links=$(ip -o link | wc -l)
	pins=$(find /sys/fs/bpf | wc -l)
}

teardown() {
	netns-lab/lab down --all
	rmdir "$LAB_ROOT"
}

assert_nothing_left() {
	[ -z "$(ls "$LAB_ROOT")" ]
	[ "$(grep -lzF "SLUICE_LAB=$LAB_ROOT/" /proc/[0-9]*/environ 2>/dev/null | wc -l)" = 0 ]
	[ "$(ip -o link | wc -l)" = "$links" ]
	[ "$(find /sys/fs/bpf | wc -l)" = "$pins" ]
}

# In a session of its own and heeding SIGINT, as from a terminal.
start_demo() {
	setsid env --default-signal=INT netns-lab/demo --quick >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	DEMO=$!
}

reached() {
	local deadline=$((SECONDS + 60))
	until grep -q "^$1\. " "$BATS_TEST_TMPDIR/out" 2>/dev/null; do
		[ $SECONDS -lt $deadline ] || return
		sleep 0.05
	done
}

interrupt_in_step() {
	start_demo
	reached "$1"
	kill -INT -- "-$DEMO"
	local status=0
	wait "$DEMO" || status=$?
	[ "$status" = 130 ]
	local deadline=$((SECONDS + 5)) # not even a helper of the script itself, zombies aside
	while ps -o stat= -s "$DEMO" | grep -v '^Z'; do
		[ $SECONDS -lt $deadline ]
		sleep 0.05
	done
	assert_nothing_left
}

@test "the demo runs to its end, fits 80 columns, and draws its pictures" {
	rm -f build/demo/forwarding.*
	run netns-lab/demo --quick
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "All removed." ]
	[[ "$output" == *"3 packets transmitted, 3 received"*"3 packets transmitted, 3 received"* ]]
	[[ "$output" == *"Frag needed and DF set (mtu = 1500)"* ]]
	[[ "$output" == *"200, 20000000 bytes"*"200, 20000000 bytes"* ]]
	[[ "$output" == *"bits/sec"* ]]
	[[ "$output" != *"error"* ]]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
	grep -q '</svg>' build/demo/forwarding.svg
	[ "$(head -c 4 build/demo/forwarding.png | tail -c 3)" = PNG ]
	[ "$(jq '.runs.sluice[0].no_drop_pps > 0' build/demo/forwarding.json)" = true ]
	assert_nothing_left
}

@test "Ctrl-C while it builds leaves nothing" { interrupt_in_step 1; }

@test "Ctrl-C while BGP feeds leaves nothing" { interrupt_in_step 3; }

@test "Ctrl-C while hosts talk leaves nothing" { interrupt_in_step 5; }

@test "Ctrl-C while it measures leaves nothing" { interrupt_in_step 7; }

@test "an unknown option is refused" {
	run netns-lab/demo --fast
	[ "$status" -eq 2 ]
	[ "$output" = 'lab: demo: unknown option "--fast"; see demo --help' ]
}
