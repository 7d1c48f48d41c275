#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# netns-lab/soak and soak-verbs: what they refuse, and a short soak: its lines, its verdict, and that
# it leaves nothing. recovery.bats has the faults themselves; soak-verbs needs virtual machines.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/lib/interrupt.bash disable=SC1091
. tests/lib/interrupt.bash

. netns-lab/lib/lab.sh # wait_for

setup() {
	LAB_ROOT=$BATS_TEST_TMPDIR
	export LAB_ROOT LAB_PATIENCE
}

assert_nothing_left() {
	run ! compgen -G "$LAB_ROOT/sluice-lab.*"
	run ! grep -lzF "SLUICE_LAB=$LAB_ROOT/" /proc/[0-9]*/environ
}

# refused_in_one_line COMMAND MESSAGE OPTION...: as wrong use, before anything is made
refused_in_one_line() {
	local command=$1 message=$2
	shift 2
	# Should it accept them, it must not start a cluster.
	run -2 timeout 30 "netns-lab/$command" "$@"
	echo "$output"
	[ "$output" = "lab: $command: $message; see $command --help" ]
	assert_nothing_left
}

@test "soak refuses what is wrong in one line that says what is right" {
	local kinds="bridge daemon both node link fabric_down fabric_netdev edge_netdev key pause"
	refused_in_one_line soak '--kills: "0" is not a number from 1 to 999999' --kills 0
	refused_in_one_line soak '--kills: "ten" is not a number from 1 to 999999' --kills ten
	refused_in_one_line soak '--kills needs a value' --seed 1 --kills
	refused_in_one_line soak '--seed: "08" is not a number from 0 to 99999' --seed 08
	refused_in_one_line soak '--liveness: "4" is not a number from 5 to 60000' --liveness 4
	refused_in_one_line soak '--liveness: "60001" is not a number from 5 to 60000' --liveness 60001
	refused_in_one_line soak "--kinds: \"meteor\" is none of: $kinds" --kinds "bridge meteor"
	refused_in_one_line soak "--kinds: \" \" names none of: $kinds" --kinds " "
	refused_in_one_line soak 'unknown option "--kill"' --kill 3
}

@test "soak-verbs refuses what is wrong in one line that says what is right" {
	local kinds="netdev device killed hung mtu cable"
	refused_in_one_line soak-verbs '--faults: "0" is not a number from 1 to 999999' --faults 0
	refused_in_one_line soak-verbs '--faults needs a value' --faults
	refused_in_one_line soak-verbs "--kinds: \"meteor\" is none of: $kinds" --kinds "cable meteor"
	refused_in_one_line soak-verbs "--kinds: \"\" names none of: $kinds" --kinds ""
	refused_in_one_line soak-verbs '--transports: "tcp" is neither verbs-ud nor verbs-rc' --transports "verbs-rc tcp"
	refused_in_one_line soak-verbs '--transports: "" names neither verbs-ud nor verbs-rc' --transports ""
	refused_in_one_line soak-verbs 'unknown option "--fault"' --fault 3
}

@test "help names each kind of fault, and makes nothing" {
	run -0 netns-lab/soak --help
	[[ $output = "usage: netns-lab/soak "*"of: bridge daemon both node link "*"key pause (default: all)"* ]]
	run -0 netns-lab/soak-verbs --help
	[[ $output = "usage: netns-lab/soak-verbs "*"of: netdev device killed hung mtu cable (default: all)"* ]]
	assert_nothing_left
}

@test "a short soak says its seed, a line for each kill and a verdict, and leaves nothing" {
	run -0 netns-lab/soak --kills 1 --seed 7 --kinds daemon --liveness 5000
	echo "$output"
	[ "${#lines[@]}" = 3 ] # so bash told of no process that was killed
	[ "${lines[0]}" = "soak: 1 kills, seed 7, a node is dead after 5000 ms of silence, kinds: daemon" ]
	[[ ${lines[1]} =~ ^\ +1\ \ daemon\ +n[123]\ .*\ ok$ ]]
	[[ ${lines[2]} =~ ^"soak: 1 kills, seed 7, "[0-9]+" s: the cluster was whole after every one"$ ]]
	assert_nothing_left
}

@test "Ctrl-C while soak builds its cluster ends it with status 130 and leaves nothing" {
	setsid env --default-signal=INT netns-lab/soak --kills 1 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	local soak=$! status=0
	wait_for 30 compgen -G "$LAB_ROOT/sluice-lab.*/node/n1"
	press_ctrl_c "$soak"
	wait "$soak" || status=$?
	cat "$BATS_TEST_TMPDIR/out"
	[ "$status" = 130 ]
	assert_nothing_left
}
