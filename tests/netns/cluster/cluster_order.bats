#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Mixed traffic and TCP through a cluster of three nodes, by the bridges, and by the bridges and past
# them in turns: nothing is reordered within its flow, nothing comes twice, every frame is accounted
# for. A busy machine may leave a daemon without a processor until queues are full, so drops of full
# queues do not matter here.
bats_require_minimum_version 1.5.0
. netns-lab/lib/jq.sh

# run_of NAME OPTION...: the result and what was wrong with it
run_of() {
	netns-lab/check-order --json --count 10000 --rate 4000 "${@:2}" >"$BATS_FILE_TMPDIR/$1" 2>"$BATS_FILE_TMPDIR/$1.faults" || true
}

setup_file() {
	run_of bridges --tcp
	run_of switching --express auto --switch 4
	run_of injecting --express auto --switch 4 --transmit inject --tcp
}

# holds NAME EXPRESSION: is this true of the result?
holds() {
	jq -c . "$BATS_FILE_TMPDIR/$1"
	jq -e "$2" "$BATS_FILE_TMPDIR/$1"
}

# all_in_order NAME: nothing was reordered, duplicated, changed or lost without a name
all_in_order() {
	cat "$BATS_FILE_TMPDIR/$1.faults"
	[ ! -s "$BATS_FILE_TMPDIR/$1.faults" ]
	holds "$1" '.sent == 60000 and .flows == 2400'
	# The kernel's own multicast at a remote port (a report of its groups) is no frame of these hosts.
	holds "$1" '.drops | keys - ["voq-full", "voq-memory", "drop-voq-ring", "drop-queue-full", "tx-ring", "fabric", "drop-not-unicast"] == []'
	holds "$1" '[.reordered, .duplicates, .late, .bad_checksum, .bad_payload, .wrong_mac] == [0, 0, 0, 0, 0, 0] and .wrong == []'
}

# tcp_ran NAME: if nothing was lost, no segment of TCP overtook another, or that is among the faults
tcp_ran() { holds "$1" '.tcp.bytes >= 20000000 and .tcp.streams == 8'; }

@test "all hosts send to all others, IPv4 and IPv6: nothing is reordered, duplicated, changed or lost without a name" {
	all_in_order bridges
	holds bridges '.ways.express == 0'
}

@test "every node uses its queues of two classes to the four ports of the others" {
	# The hosts' kernels use that of class 0, too, for TCP.
	holds bridges '.voqs_used | keys == ["n1", "n2", "n3"] and all(. >= 8 and . <= 12)'
}

@test "no segment of TCP overtakes another" {
	tcp_ran bridges
	holds bridges '.tcp.counters | .TcpExtTCPSACKReorder + .TcpExtTCPTSReorder + .TcpExtTCPRenoReorder == 0'
}

@test "nothing of that happens either while all queues change ways several times a second" {
	all_in_order switching
	holds switching '.ways.express > 0 and .ways.bridge > 0 and .switched.returns > 0'
}

@test "nor does a segment of TCP overtake another then, where the bridges' frames leave as those of XDP do" {
	all_in_order injecting
	tcp_ran injecting
	holds injecting '.ways.express > 0 and .ways.bridge > 0 and .switched.returns > 0'
}
