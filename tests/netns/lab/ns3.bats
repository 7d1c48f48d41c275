#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# cc-ns3, the controllers packet by packet: simulated time, so that every figure is exact. It needs
# no namespace.
bats_require_minimum_version 1.5.0

setup() { [ -x build/cc-ns3 ] || skip "no ns-3"; }

# refused MESSAGE OPTION...: as wrong use, in one line
refused() {
	local message=$1
	shift
	run -2 build/cc-ns3 --seconds=0.001 "$@"
	echo "$output"
	[ "$output" = "cc-ns3: $message is wanted" ]
}

@test "cc-ns3 refuses what is wrong in one line that says what is wanted" {
	refused '--experiment fat-tree: thesis or asm' --experiment=fat-tree
	refused '--sources 0: 1..256' --sources=0
	refused '--sources 257: 1..256' --sources=257
	refused '--offered x: a number' --offered=1,x
	refused '--params foo=1: NAME=VALUE in the range that cc-sim --list shows' --params=foo=1
	refused '--controller turbo: a controller of cc-sim --list, and options that it can work with,' --controller=turbo
	refused '--seconds, --discard 0.001000, 1.000000: a time, and a share of it below 1,' --discard=1
	refused '--trace /nosuch/x: a file that can be written (No such file or directory)' --trace=/nosuch/x
}

@test "three sources of price share the port evenly, use all of it and lose nothing" {
	local line trace=$BATS_TEST_TMPDIR/price.csv
	line=$(build/cc-ns3 --controller=price --seconds=0.1 --trace="$trace")
	echo "$line"
	# use, share dropped, Jain's index, and a rate for each source
	awk -F, 'NF != 17 || $1 != "thesis" || $2 != "price" || $12 < 0.99 || $12 > 1.001 || $13 != 0 || $14 < 0.999 { exit 1 }' <<<"$line"
	# A row for each interval of a millisecond, with a limit for each source
	[ "$(sed -n 2p "$trace")" = time_s,queue_units,limit_0,limit_1,limit_2 ]
	awk -F, 'NR > 2 { bad += NF != 5 || $1 <= last; last = $1 } END { exit bad || NR < 95 || NR > 105 }' "$trace"
	# The same seed gives the same run.
	[ "$(build/cc-ns3 --controller=price --seconds=0.1)" = "$line" ]
}

@test "a source that offers little gets all of it, and the others share what it leaves" {
	local line
	line=$(build/cc-ns3 --controller=price --seconds=0.1 --offered=50000,600000,600000)
	echo "$line"
	awk -F, '$15 < 49000 || $15 > 51000 || $16 < 340000 || $17 < 340000 || $16 / $17 > 1.02 || $17 / $16 > 1.02 { exit 1 }' <<<"$line"
}

@test "without control twice the port's rate loses half, in both topologies" {
	local experiment line
	for experiment in thesis asm; do
		line=$(build/cc-ns3 --experiment=$experiment --controller=fixed --start=2 --rate=1 --buffer=100 --seconds=0.05)
		echo "$line"
		awk -F, -v experiment=$experiment '$1 != experiment || $12 < 0.99 || $13 < 0.49 || $13 > 0.51 { exit 1 }' <<<"$line"
	done
}
