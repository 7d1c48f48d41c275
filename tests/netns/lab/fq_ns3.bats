#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# fq-ns3, the flow queues under TCP: simulated time, so that every figure is exact. It needs no
# namespace.
bats_require_minimum_version 1.5.0

setup() { [ -x build/fq-ns3 ] || skip "no ns-3"; }

# small OPTION...: a tenth of the paper's sources and link, and 5 % of the bandwidth times the delay as buffer
small() { build/fq-ns3 --sources=10 --rate=50 --buffer=20 --seconds=6 "$@"; }

# refused MESSAGE OPTION...: as wrong use, in one line
refused() {
	local message=$1
	shift
	run -2 build/fq-ns3 --seconds=0.001 "$@"
	echo "$output"
	[ "$output" = "fq-ns3: $message is wanted" ]
}

@test "fq-ns3 refuses what is wrong in one line that says what is wanted" {
	local names="tail, red, blue, longest, tdrr, qsdrr, codel, layers, or ns3:TYPE, and a shape within the limits of fq.h,"
	refused "--policy turbo: $names" --policy=turbo
	refused "--policy tail: $names" --policy=tail --buffer=0
	refused '--policy ns3:pie: ns3:fifo, ns3:red or ns3:fqcodel' --policy=ns3:pie
	refused '--params foo=1: NAME=VALUE of the policy, within its range,' --policy=red --params=foo=1
	refused '--params gentle=x: NAME=VALUE of the policy, within its range,' --policy=red --params=gentle=x
	refused '--params gentle: NAME=VALUE of the policy, within its range,' --policy=red --params=gentle
	refused '--sources 0: 1..1024' --sources=0
	refused '--sources 1025: 1..1024' --sources=1025
}

@test "tail drop on one queue gives each source exactly the goodput of ns-3's own FIFO" {
	local ours theirs
	ours=$(small --policy=tail --queues=1 | cut -d, -f7-10,15-)
	theirs=$(small --policy=ns3:fifo | cut -d, -f7-10,15-)
	echo "$ours"
	echo "$theirs"
	[ "$(tr , '\n' <<<"$ours" | wc -l)" = 14 ]
	[ "$ours" = "$theirs" ]
}

@test "queues of their own give sources equal shares that one queue does not give" {
	local policy line
	line=$(small --policy=tail --queues=1)
	echo "$line"
	awk -F, '$8 < 0.2 { exit 1 }' <<<"$line"
	for policy in longest qsdrr codel; do
		line=$(small --policy=$policy)
		echo "$line"
		awk -F, -v policy=$policy 'NF != 24 || $1 != policy || $8 > 0.1 || $7 < 0.5 { exit 1 }' <<<"$line"
	done
	# The same seed gives the same run.
	[ "$(small --policy=codel)" = "$line" ]
}

@test "senders are marked by the policies that can, if they know ECN" {
	local policy ecn line
	for policy in red codel; do
		for ecn in 0 1; do
			line=$(small --buffer=200 --policy=$policy --ecn=$ecn)
			echo "$line"
			awk -F, -v ecn=$ecn '($14 > 0) != ecn { exit 1 }' <<<"$line"
		done
	done
}
