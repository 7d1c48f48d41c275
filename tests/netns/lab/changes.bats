#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# netns-lab/changes: what it refuses, and that it loses nothing at a low rate, says so, and leaves nothing.
# The suites of join, drain, change and upgrade have the changes one by one. Takes 40 s.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
. netns-lab/lib/jq.sh

STEPS="no change,node joins,port added,rate changed,node drained,node leaves,key rotates,node upgraded"

setup() {
	LAB_ROOT=$BATS_TEST_TMPDIR
	export LAB_ROOT LAB_PATIENCE
}

assert_nothing_left() {
	run ! compgen -G "$LAB_ROOT/sluice-lab.*"
	run ! grep -lzF "SLUICE_LAB=$LAB_ROOT/" /proc/[0-9]*/environ
}

@test "changes refuses what is wrong in one line that says what is right" {
	refused() { # MESSAGE OPTION...
		run -2 timeout 30 netns-lab/changes "${@:2}"
		echo "$output"
		[ "$output" = "lab: changes: $1; see changes --help" ]
		assert_nothing_left
	}
	refused '--rate: "99" is not a number from 100 to 9999999' --rate 99
	refused '--rate: "fast" is not a number from 100 to 9999999' -j --rate fast
	refused '--rate needs a value' --rate
	refused '--seconds: "0" is not a number from 1 to 9999' --seconds 0
	refused '--liveness: "60001" is not a number from 5 to 60000' --liveness 60001
	refused 'unknown option "--rates"' --rates 3
	run -0 netns-lab/changes --help
	[[ $output = "usage: netns-lab/changes "*"--rate PPS "*"(default 50000)"* ]]
	assert_nothing_left
}

@test "each step is a row with its time, and what it sent; nothing is lost or misdelivered, and nothing is left" {
	run -0 --separate-stderr netns-lab/changes --rate 2000 --seconds 1 --liveness 10000 --json
	echo "$output $stderr"
	[ "$(jq -r '[.steps[].step] | join(",")' <<<"$output")" = "$STEPS" ]
	[ "$(jq -c '[.rate_pps, .least_s, .good]' <<<"$output")" = '[2000,1,true]' ]
	[ "$(jq 'all(.steps[]; .done and .accounted and .lost == 0 and .misdelivered == 0 and .sent >= 1500)' <<<"$output")" = true ]
	[ "$(jq '.steps[0].time_s < 0.5 and all(.steps[1:][]; .time_s > 0)' <<<"$output")" = true ]
	assert_nothing_left
}
