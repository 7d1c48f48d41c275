#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Bridges and daemons of whole clusters in one process (tests/rehearsal): they converge, and with no
# more messages than there are pairs of nodes. Time is made up; TCP over loopback is not, so what
# depends on it has some room. About 5 s.
bats_require_minimum_version 1.5.0
. netns-lab/lib/jq.sh

PORTS=4 ENTRIES=5 # of a node, and of a port: three routes and two neighbours
LIFE_MS=50 HELLOS_PER_S=100 # five in a life

# rehearse NODES [OPTION...]: its rows in $rows
rehearse() {
	nodes=$1 pairs=$(($1 * ($1 - 1)))
	rows=$(timeout 300 build/tests/rehearsal/rehearse --nodes "$1" "${@:2}")
	echo "$rows"
}

# is PHASE FIELD OPERATOR VALUE: does this hold for that field of the phase?
is() {
	jq -se "map(select(.phase == \"$1\"))[0].$2 $3 $4" <<<"$rows" >/dev/null ||
		{ echo "$1: $2 should be $3 $4" && false; }
}

# Every pair meets, tells and hears once, from cold; each port of each other node is looked at once. The lower id of a
# pair calls the other, which calls only if it has its turn before that.
cold_costs_pairs() {
	is cold ms "<=" 2000
	is cold introduced ">=" $pairs
	is cold calls ">=" $((pairs / 2))
	is cold calls "<=" $((pairs + pairs / 8))
	is cold overflow == 0
	is cold changes == $((pairs * PORTS * ENTRIES))
	is cold syncs == $((pairs * PORTS))
}

@test "16 nodes: cold, a change, half of them gone and back: all know it, with as many messages as pairs" {
	rehearse 16
	cold_costs_pairs
	is cold introduced "<=" $((pairs + pairs / 4))
	is cold announcements ">=" $pairs
	is cold announcements "<=" $((2 * pairs))
	# Two seconds in which nothing happens: hellos, and each node's state every second.
	is steady ms == 2000
	is steady hellos ">=" $((pairs * 2 * HELLOS_PER_S * 99 / 100))
	is steady hellos "<=" $((pairs * 2 * HELLOS_PER_S * 101 / 100))
	is steady announcements == $((2 * pairs))
	is steady calls == 0
	is steady changes == 0
	# A port loses its carrier, and a neighbour is found: one message and one change at each other node.
	is change ms "<=" 50 # 5 of them until the daemon reads, and no repetition
	is change announcements == $((nodes - 1))
	is change changes == $((nodes - 1))
	is change syncs == 0
	# Eight nodes are gone within a life, and their ports are looked at once.
	is half run == 8
	is half ms ">=" $LIFE_MS
	is half ms "<=" $((LIFE_MS + 20))
	is half changes == 0
	is half syncs == $((8 * 8 * PORTS))
	# Each node calls fifty times a second those that are away, and none of them answers.
	is without-half introduced == 0
	is without-half calls "<=" $((8 * 110))
	is without-half announcements == $((2 * 8 * 7))
	is back run == 16
	is back ms "<=" 6000
}

@test "64 nodes: all meet at once, none is turned away, and few knock at whom they have met" {
	rehearse 64
	cold_costs_pairs
	is cold calls "<=" $((pairs * 9 / 10))
	is back overflow == 0
	is half syncs == $((32 * 32 * PORTS))
}

@test "two threads rehearse the same" {
	rehearse 32 --cold --threads 2
	cold_costs_pairs
	jq -se 'length == 1' <<<"$rows"
}

@test "what is wrong is said" {
	run -2 --separate-stderr build/tests/rehearsal/rehearse --nodes 256
	# shellcheck disable=SC2154 # set by `run`
	[ "$stderr" = 'rehearse: --nodes: "256" is not a number from 1 to 255' ]
}
