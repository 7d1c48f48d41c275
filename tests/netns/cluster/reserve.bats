#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Flows with a reserved rate: between two nodes, and within one. The sink counts at the far end; all
# sums hold to the packet.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	export CLUSTER_RESERVE=80
	export CLUSTER_PORT_n1p1="rate: 100mbit, controller: fixed"
	export CLUSTER_PORT_n2p1="rate: 100mbit, controller: fixed"
	export CLUSTER_PORT_n2p2="rate: 100mbit, controller: price"
	cluster_begin 2 3
	for p in 1 2 3; do
		wait_for 30 on h1p1 ping -c 1 -W 1 10.2.$p.2
		wait_for 30 on h2p3 ping -c 1 -W 1 10.2.$p.2
		# The kernel may have forwarded these before the fast path had a way.
		wait_for 30 has_way 1 10.2.$p.2
		wait_for 30 has_way 2 10.2.$p.2
	done
}
has_way() { [[ $(on "n$1" build/sluice -j explain "$2" | jq -r .verdict) = forward ]]; }

# reserve N WORD...: the command on a node
reserve() {
	local n=$1
	shift
	on "n$n" build/sluice reserve "$@"
}

# change N add|delete SOURCE DESTINATION FLOW [WORD...]: for a flow of gen
change() {
	local n=$1 what=$2 flow=(source="$3" destination="$4" protocol=udp source_port=$((1024 + $5)) destination_port=9)
	shift 5
	reserve "$n" "$what" "${flow[@]}" "$@"
}

# reserved N FIELD: a field of the only reserved flow that node N lists
reserved() { reserve "$1" list -j | jq -r ".[0].$2"; }
in_force() { [ "$(reserved "$1" state)" = in-force ]; }

# given_up: nothing is reserved on either node
given_up() { [ "$(reserve 1 list -j)$(reserve 2 list -j)" = "[][]" ]; }

# End what a failed test has left.
teardown() {
	local n flow
	flows_kill
	for n in 1 2; do
		reserve $n list -j | jq -r '.[] | select(.node == null) | "source=\(.source) destination=\(.destination) protocol=udp source_port=\(.source_port) destination_port=\(.destination_port)"' |
			while read -ra flow; do reserve $n delete "${flow[@]}"; done
	done
	wait_for 10 given_up
}

# entries N MAP: how many a map of the fast path has
entries() { on "n$1" bpftool map dump pinned "/sys/fs/bpf/sluice/$2" -j | jq length; }

# has_queues PORT COUNT: so many flows have a queue of their own at a port of node 2
has_queues() { [ "$(queue "$1" 3 reserved_flows)" = "$2" ]; }

# crowded NODE PORT: do more than 400 frames of class 0 wait for this port of node 2, at either end?
crowded() {
	local voq
	voq=$(bridge_ask "$1" voqs | jq "select(.port == \"n2p$2\" and .class == 0).waiting_frames")
	[ $((voq + $(queue "n2p$2" 0 waiting_frames))) -ge 400 ]
}

# beside_a_flood HOST FLOOD-HOST PORT: 5,000 packets of flow 3000 at 20 Mbit/s from HOST to a port of
# node 2, to which FLOOD-HOST sends ten times its rate
beside_a_flood() {
	local host=$1 flood=$2 port=$3 sent
	wait_for 60 cluster_counts
	flow_from "$flood" 0 "$port" 83000 --size 1500 --stamp-every 65000
	wait_for 60 crowded "${flood:1:1}" "$port"
	spawn "h2p$port" window build/lab/sink eth0 --json --flows --duration 3600
	wait_for 30 grep -q ready "$LAB_DIR/window.err"
	sent=$(on "$host" build/lab/gen eth0 --json --dst-mac "$(mac_of "n${host:1:1}" "eth${host:3}")" --dst "10.2.$port.2" \
		--first-flow 3000 --size 1000 --rate 2500 --count 5000 --stamp-every 1 | jq .sent)
	crowded "${flood:1:1}" "$port"
	gens_end 0
	interrupt window
	jq -c 'del(.flow)' "$LAB_DIR/window.out"
	[ "$sent" = 5000 ]
}

# conforms_and_arrives N: what conforms to the rate has arrived, which is all that was not sent in a
# burst that a busy machine makes
conforms_and_arrives() {
	local excess
	excess=$(reserved "$1" excess_packets)
	echo "excess $excess, arrived $(share 3000)"
	[ "$(reserved "$1" packets)" = $((5000 - excess)) ] || return
	[ "$(share 3000)" -ge $((5000 - excess)) ]
}

@test "a reserved flow loses nothing in a flood of ten times the port, between nodes" {
	change 1 add 10.1.2.2 10.2.1.2 3000 rate 40mbit
	[ "$(reserved 2 node)" = 1 ]
	beside_a_flood h1p2 h1p1 1
	conforms_and_arrives 1
}

@test "the same under a controller" {
	change 1 add 10.1.2.2 10.2.2.2 3000 rate 40mbit
	beside_a_flood h1p2 h1p1 2
	conforms_and_arrives 1
}

@test "the same within one node" {
	change 2 add 10.2.2.2 10.2.1.2 3000 rate 40mbit
	beside_a_flood h2p2 h2p3 1
	conforms_and_arrives 2
}

@test "what exceeds the rate goes as other traffic does" {
	change 1 add 10.1.2.2 10.2.1.2 3000 rate 1mbit
	wait_for 60 cluster_counts
	local before reserved_before
	before=$(voq n2p1 0 enqueued_frames)
	reserved_before=$(voq n2p1 3 enqueued_frames)
	spawn h2p1 window build/lab/sink eth0 --json --flows --expect 900
	wait_for 30 grep -q ready "$LAB_DIR/window.err"
	on h1p2 build/lab/gen eth0 --dst-mac "$(mac_of n1 eth2)" --dst 10.2.1.2 --first-flow 3000 --size 1000 --count 900
	wait_for 60 no_processes "$(cat "$LAB_DIR/window.pid")"
	[ "$(reserved 1 packets)" -gt 0 ]
	[ $(($(reserved 1 packets) + $(reserved 1 excess_packets))) = 900 ]
	[ $(($(voq n2p1 3 enqueued_frames) - reserved_before)) = "$(reserved 1 packets)" ]
	[ $(($(voq n2p1 0 enqueued_frames) - before)) -ge "$(reserved 1 excess_packets)" ]
}

@test "no DSCP leads into the class of reserved flows" {
	local before
	wait_for 60 cluster_counts
	before=$(voq n2p1 3 enqueued_frames)
	send_all h1p2 n1:eth2 h2p1 500 --dst 10.2.1.2 --dscp 56
	[ "$(voq n2p1 3 enqueued_frames)" = "$before" ]
}

@test "what does not fit is refused with the numbers, whoever asks" {
	change 1 add 10.1.2.2 10.2.1.2 1 rate 50mbit
	run -1 --separate-stderr change 1 add 10.1.2.2 10.2.1.2 2 rate 31mbit
	# shellcheck disable=SC2154 # of run
	[ "$stderr" = "sluice: 31000000 bit/s do not fit the port n2p1: of 80000000 bit/s, 50000000 are reserved" ]
	run -1 --separate-stderr change 2 add 10.2.3.2 10.2.1.2 2 rate 31mbit
	[ "$stderr" = "sluice: 31000000 bit/s do not fit the port n2p1: of 80000000 bit/s, 50000000 are reserved" ]
	run -1 --separate-stderr change 1 add 10.1.2.2 10.2.3.2 2 rate 1mbit
	[ "$stderr" = "sluice: the port n2p3 offers no reservations: its node needs \`reserve\` and the port a \`rate\` in bits" ]
	run -1 --separate-stderr change 1 add 10.2.3.2 10.2.1.2 2 rate 1mbit
	[[ "$stderr" == "sluice: 10.2.3.2 is behind another node"* ]]
	change 2 add 10.2.3.2 10.2.1.2 2 rate 30mbit
	[ "$(reserve 2 ports -j | jq '.[0].reserved_bps')" = 80000000 ]
	[[ "$(reserve 2 ports)" == *"n2p1  eth1    80.0 Mbit  80.0 Mbit  2"* ]]
}

@test "the port where flows enter has its limit, too" {
	change 2 add 10.2.2.2 10.2.1.2 1 rate 50mbit
	run -1 --separate-stderr change 2 add 10.2.2.2 10.1.1.2 2 rate 31mbit
	[ "$stderr" = "sluice: 31000000 bit/s do not fit the port eth2, where the flow enters: of 80000000 bit/s, 50000000 are reserved" ]
	change 2 add 10.2.2.2 10.1.1.2 2 rate 30mbit
}

@test "a flow that is given up has no queue and no entry in the fast path" {
	change 1 add 10.1.2.2 10.2.1.2 3000 rate 40mbit
	wait_for 10 has_queues n2p1 1
	[ "$(entries 1 sl_reserved)$(entries 1 sl_policer)" = 11 ]
	change 1 delete 10.1.2.2 10.2.1.2 3000
	wait_for 10 given_up
	wait_for 10 has_queues n2p1 0
	[ "$(entries 1 sl_reserved)$(entries 1 sl_policer)" = 00 ]
	run -1 --separate-stderr change 1 delete 10.1.2.2 10.2.1.2 3000
	[ "$stderr" = "sluice: no such flow is reserved here: write one that \`sluice reserve list\` shows" ]
}

@test "the seventh refresh that is missed ends it" {
	local begin
	for _ in 1 2 3; do
		begin=$(date +%s%N)
		change 1 add 10.1.2.2 10.2.1.2 1 rate 10mbit refresh 1
	done
	[ "$(reserved 1 refresh_s)" = 1 ]
	wait_for 60 given_up
	[ $(($(date +%s%N) - begin)) -ge 7000000000 ]
}

@test "the seventh claim that a silent node owes ends what it has reserved" {
	local begin
	change 1 add 10.1.2.2 10.2.1.2 1 rate 10mbit
	wait_for 10 has_queues n2p1 1
	kill -STOP "$(cat "$LAB_DIR/sluiced-n1.pid")"
	begin=$(date +%s%N)
	wait_for 60 has_queues n2p1 0
	kill -CONT "$(cat "$LAB_DIR/sluiced-n1.pid")"
	[ $(($(date +%s%N) - begin)) -ge 5900000000 ] # the last claim was up to a second before
	wait_for 10 has_queues n2p1 1                 # it claims again
}

@test "restarts of the daemon and of the bridge leave what is reserved" {
	change 1 add 10.1.2.2 10.2.1.2 1 rate 10mbit
	kill "$(cat "$LAB_DIR/sluiced-n1.pid")"
	router_start n1
	wait_for 30 in_force 1
	[ "$(reserved 1 rate_bps)" = 10000000 ]
	bridge_stop 2
	bridge_start 2
	wait_for 60 has_queues n2p1 1
	wait_for 30 in_force 1
	change 1 delete 10.1.2.2 10.2.1.2 1
	on n1 test ! -e /run/sluice/reservations.json
}

# way PORT: give node 1 a route to 10.99.0.2 by this port of node 2 alone, and wait for it
way() {
	on n1 ip route replace 10.99.0.0/24 via "10.2.${1: -1}.2" dev "$1"
	goes_there() { [[ "$(on n1 build/sluice explain 10.99.0.2)" == *"port $1"* ]]; }
	wait_for 10 goes_there "$1"
}

@test "a pinned flow stays with its next hop when the route goes elsewhere" {
	local port other
	wait_for 60 cluster_counts
	on n1 ip route replace 10.99.0.0/24 nexthop via 10.2.1.2 dev n2p1 nexthop via 10.2.2.2 dev n2p2
	has_group() { [[ "$(on n1 build/sluice explain 10.99.0.2)" == *"group of 2"* ]]; }
	wait_for 10 has_group
	run -1 --separate-stderr change 1 add 10.1.2.2 10.99.0.2 3000 rate 40mbit
	[[ "$stderr" == *"several next hops: write \`pin\`"* ]]
	change 1 add 10.1.2.2 10.99.0.2 3000 rate 40mbit pin
	port=$(reserved 1 leaves)
	other=$([ "$port" = n2p1 ] && echo n2p2 || echo n2p1)
	way "$other"
	send_all h1p2 n1:eth2 "h2p${port: -1}" 200 --dst 10.99.0.2 --first-flow 3000 --rate 1000
	send_all h1p2 n1:eth2 "h2p${other: -1}" 200 --dst 10.99.0.2 --first-flow 3001 --rate 1000
	[ "$(reserved 1 leaves)" = "$port" ]
	change 1 delete 10.1.2.2 10.99.0.2 3000
	send_all h1p2 n1:eth2 "h2p${other: -1}" 200 --dst 10.99.0.2 --first-flow 3000 --rate 1000
}

@test "a flow that is not pinned claims at the port that its route leads to" {
	way n2p1
	change 1 add 10.1.2.2 10.99.0.2 3000 rate 40mbit
	wait_for 10 has_queues n2p1 1
	way n2p2
	moved() { [ "$(reserved 1 leaves)" = n2p2 ] && in_force 1; }
	wait_for 10 moved
	wait_for 10 has_queues n2p2 1
	wait_for 10 has_queues n2p1 0
}

# set_up N: a counter of the flows for which rules of node 1 reserve
set_up() { on n1 build/sluice -j status | jq ".flow_setups.$1"; }

# packets FIRST-FLOW FLOWS COUNT: from h1p2 to h2p1, which gets them all
packets() { send_all h1p2 n1:eth2 h2p1 "$3" --dst 10.2.1.2 --first-flow "$1" --flows "$2" --rate 1000; }

# calls_idle TIME: a rule that reserves for at most three flows, each while it is not idle for TIME
calls_idle() {
	on n1 build/sluice filter replace - <<-END
		filters:
		- name: calls
		  rules:
		  - {name: voice, action: permit, protocol: udp, destination_port: 9, source_port: 4024-4123,
		     reserve_rate: 1mbit, reserve_idle: $1, reserve_flows: 3}
	END
}

@test "a rule reserves for the flows that match it, as many as it may and while they send" {
	local before
	calls_idle 600s
	wait_for 60 cluster_counts
	packets 3000 1 1
	wait_for 10 in_force 1
	[ "$(reserve 1 list -j | jq -c '.[] | [.source, .destination, .source_port, .rate_bps, .enters, .leaves, .rule]')" = '["10.1.2.2","10.2.1.2","4024",1000000,"eth2","n2p1","calls/voice"]' ]
	[[ "$(reserve 1 list)" == *"calls/voice"* ]]
	wait_for 10 has_queues n2p1 1
	# what comes then is of the class of reserved flows, and a flow that no rule matches is not
	before=$(voq n2p1 3 enqueued_frames)
	packets 3000 1 20
	[ $(($(voq n2p1 3 enqueued_frames) - before)) = 20 ]
	packets 2000 1 20
	[ $(($(voq n2p1 3 enqueued_frames) - before)) = 20 ]
	# no more flows than the rule may have; the others go as if nothing were reserved
	packets 3000 40 40
	three() { [ "$(reserve 1 list -j | jq -c 'map(.state) | unique + [length]')" = '["in-force",3]' ]; }
	wait_for 10 three
	[ "$(set_up set_up)" = 3 ]
	[ "$(set_up refused)" -ge 37 ]
	[ "$(set_up missed)" = 0 ]
	# a flow that sends no more is given up; with the rule that changes, those before it
	calls_idle 2s
	wait_for 30 given_up
	packets 3000 1 1
	four() { [ "$(set_up set_up)" = 4 ]; }
	wait_for 10 four
	wait_for 30 given_up
	wait_for 10 has_queues n2p1 0
	[ "$(set_up ended)" = 4 ]
	[ "$(entries 1 sl_reserved)$(entries 1 sl_policer)" = 00 ]
	told_none() { [ "$(entries 1 sl_setup_told)" = 0 ]; }
	wait_for 10 told_none
}

@test "a command takes a flow from its rule, and with the rule its flows go" {
	calls_idle 600s
	packets 3000 2 2
	two() { [ "$(reserve 1 list -j | jq -c 'map(.state)')" = '["in-force","in-force"]' ]; }
	wait_for 10 two
	change 1 add 10.1.2.2 10.2.1.2 3000 rate 2mbit
	[ "$(reserve 1 list -j | jq -c 'map([.rate_bps, .rule]) | sort')" = '[[1000000,"calls/voice"],[2000000,null]]' ]
	on n1 build/sluice filter delete calls
	one() { [ "$(reserve 1 list -j | jq -c 'map(.rate_bps)')" = '[2000000]' ]; }
	wait_for 10 one
	change 1 delete 10.1.2.2 10.2.1.2 3000
}

# resident N: KiB of the daemon of node N
resident() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$(cat "$LAB_DIR/sluiced-n$1.pid")/status"; }

# rounds COUNT: reserve and give up
rounds() {
	local i
	for ((i = 0; i < $1; i++)); do
		change 1 add 10.1.2.2 10.2.1.2 "$i" rate 1mbit || return
		change 1 delete 10.1.2.2 10.2.1.2 "$i" || return
	done
}

@test "a hundred set-ups and tear-downs leave maps, queues and memory as they were" {
	local one two
	rounds 20 >/dev/null
	one=$(resident 1) two=$(resident 2)
	rounds 100 >/dev/null
	wait_for 10 given_up
	wait_for 10 has_queues n2p1 0
	[ "$(entries 1 sl_reserved)$(entries 1 sl_policer)" = 00 ]
	echo "before $one and $two KiB, now $(resident 1) and $(resident 2)"
	[ "$(resident 1)" -le $((one + 256)) ]
	[ "$(resident 2)" -le $((two + 256)) ]
}
