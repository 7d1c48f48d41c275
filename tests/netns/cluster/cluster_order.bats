#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Mixed traffic and TCP through a cluster of three nodes: nothing is reordered within its flow,
# nothing comes twice, every frame is accounted for. A busy machine may leave a daemon without a
# processor until queues are full, so drops of full queues do not matter here.
bats_require_minimum_version 1.5.0

setup_file() {
	netns-lab/check-order --json --count 10000 --rate 4000 --tcp >"$BATS_FILE_TMPDIR/result" 2>"$BATS_FILE_TMPDIR/faults" || true
}

# holds EXPRESSION: is this true of the result?
holds() {
	jq -c . "$BATS_FILE_TMPDIR/result"
	jq -e "$1" "$BATS_FILE_TMPDIR/result"
}

@test "all hosts send to all others, IPv4 and IPv6: nothing is reordered, duplicated, changed or lost without a name" {
	cat "$BATS_FILE_TMPDIR/faults"
	[ ! -s "$BATS_FILE_TMPDIR/faults" ]
	holds '.sent == 60000 and .flows == 2400'
	# The kernel's own multicast at a remote port (a report of its groups) is no frame of these hosts.
	holds '.drops | keys - ["voq-full", "voq-memory", "drop-voq-ring", "drop-queue-full", "tx-ring", "fabric", "drop-not-unicast"] == []'
	holds '[.reordered, .duplicates, .late, .bad_checksum, .bad_payload, .wrong_mac] == [0, 0, 0, 0, 0, 0] and .wrong == []'
}

@test "every node uses its queues of two classes to the four ports of the others" {
	# The hosts' kernels use that of class 0, too, for TCP.
	holds '.voqs_used | keys == ["n1", "n2", "n3"] and all(. >= 8 and . <= 12)'
}

@test "no segment of TCP overtakes another" {
	holds '.tcp.bytes >= 20000000 and .tcp.streams == 8'
	holds '.tcp.counters | .TcpExtTCPSACKReorder + .TcpExtTCPTSReorder + .TcpExtTCPRenoReorder == 0'
}
