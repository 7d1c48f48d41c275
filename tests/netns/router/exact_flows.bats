#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Exact flows: put, replaced, deleted, loaded from files that are right and wrong; what they decide beside a list;
# what outlives a restart and a reload; that those without packets end; and those that do as a rule.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

FIRST_PORT=1024 # source port of flow 0 of the generator

setup() {
	load router
	router_up
}

teardown() { lab_end; }

flow() { sluice filter flow "$@"; }
count_is() { [ "$(flow count)" = "$1 of 4096 flows" ]; }

# of N [FAMILY]: the words of flow N of the generator, from h1 to h2
of() {
	local source=10.0.1.2 destination=10.0.2.2
	[ "${2:-4}" = 4 ] || { source=fd00:1::2 destination=fd00:2::2; }
	echo "source=$source destination=$destination protocol=udp source_port=$((FIRST_PORT + $1)) destination_port=9"
}

# packets N: that flow N has decided
packets() {
	sluice -j filter flow list | jq --arg port "$((FIRST_PORT + $1))" '.[] | select(.source_port == $port).packets'
}

# shellcheck disable=SC2046 # the words of a flow
@test "a flow decides at once, wins over the list, is replaced and deleted; packets and drops add up" {
	configure "exact_flows: 4096" "metrics: 9100" "filters:" "- name: in" "  ports: [{name: eth1}]" \
		"  rules: [{action: deny, protocol: udp, source_port: '$((FIRST_PORT + 1))'}]"
	daemon
	warm_up
	[ "$(flow add $(of 0) action=deny)" = "1 flow in force" ]
	flow add $(of 1) action=permit
	[ "$(sluice -j filter flow count | jq -c .)" = '{"flows":2,"limit":4096}' ]
	# flow 0 is dropped, flow 1 passes although the list denies it, and 2 and 3 are nobody's
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 4 --count 400 --rate 20000
	[ "$(received packets)" = 300 ]
	[ "$(change drops filter)" = 100 ]
	[ "$(packets 0) $(packets 1)" = "100 100" ]
	sluice explain 10.0.2.2 port=eth1 source=10.0.1.2 protocol=udp source_port="$FIRST_PORT" destination_port=9 |
		grep -x "filter     an exact flow decides: deny"
	counted() { sluice -j status | jq -e '.exact_flows == {flows: 2, limit: 4096, packets: 200, bytes: 12000}'; }
	wait_for 10 counted
	on n1 curl -s http://127.0.0.1:9100/metrics | grep -x 'sluice_exact_flow_packets_total 200'
	# replaced: its counters begin again
	flow add $(of 0) action=permit
	flow add $(of 2) action=deny
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 4 --count 400 --rate 20000
	[ "$(received packets)" = 300 ]
	[ "$(packets 0) $(packets 1) $(packets 2)" = "100 200 100" ]
	# without its flow the list denies flow 1
	[ "$(flow delete $(of 1))" = "1 flow deleted" ]
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 4 --count 400 --rate 20000
	[ "$(received packets)" = 200 ]
	[ "$(change drops filter)" = 200 ]
	run flow delete $(of 1)
	[ "$status" -eq 1 ]
	[ "$output" = "sluice: filter flow delete: there is no such flow" ]
	[ "$(flow flush)" = "2 flows deleted" ]
	count_is 0
}

# shellcheck disable=SC2046
@test "IPv6, and flows without any list; what list prints, load takes" {
	configure "exact_flows: 4096"
	daemon
	warm_up
	flow add $(of 0 6) action=deny
	flow add $(of 1 6) action=permit set_dscp=ef class=2 idle=60
	send h1 n1:eth1 h2 --dst fd00:2::2 --flows 4 --count 400 --rate 20000
	[ "$(received packets)" = 300 ]
	[ "$(change drops filter)" = 100 ]
	flow list | sort >"$LAB_DIR/saved"
	[ "$(sed -n 2p "$LAB_DIR/saved")" = "$(of 1 6) action=permit class=2 set_dscp=46 idle=60 # packets=100 bytes=8000" ]
	flow flush
	[ "$(flow load - <"$LAB_DIR/saved")" = "2 flows in force" ]
	[ "$(flow list | sed 's/#.*//' | sort)" = "$(sed 's/#.*//' "$LAB_DIR/saved")" ]
}

# shellcheck disable=SC2046
@test "a file with a mistake puts nothing, and says where; one that is too long says how much is in force" {
	local i bad
	configure "exact_flows: 4096"
	daemon
	{
		echo "# flows of a test"
		echo
		echo "$(of 0) action=deny # the first"
	} >"$LAB_DIR/good"
	[ "$(flow load "$LAB_DIR/good")" = "1 flow in force" ]
	while read -r bad; do
		{
			cat "$LAB_DIR/good"
			echo "$(of 1) action=deny"
			echo "${bad%%|*}"
		} >"$LAB_DIR/bad"
		run flow load "$LAB_DIR/bad"
		[ "$status" -eq 1 ]
		[ "$output" = "sluice: $LAB_DIR/bad:5: ${bad#*|}; no flow of the file has been put" ]
		count_is 1
	done <<-END
		$(of 2)|a flow needs an action: write action=permit, deny, kernel, reject or reset, or as=LIST/RULE
		$(of 2) action=drop|action: "drop" is not permit, deny, kernel, reject or reset
		$(of 2) as=in/slow|as: "in/slow" is not a rule in force that decides and has a name: write one that \`sluice show filters\` shows
		$(of 2) action=deny class=1|class and set_dscp are for packets that are permitted: write action=permit, or leave them out
		$(of 2) action=permit class=4|class: "4" is not a traffic class: write 0 to 3
		$(of 2) action=permit idle=0|idle: "0" is not a time in seconds: write 1 to 86400
		$(of 2) action=permit color=red|a flow has source, destination, protocol, source_port and destination_port, and nothing else
		$(of 2) action=permit action=deny|"action" is not KEY=VALUE, or a key that came before
		words|"words" is not KEY=VALUE, or a key that came before
		source=10.0.0.300 destination=10.0.2.2 protocol=udp source_port=1 destination_port=2 action=deny|source: "10.0.0.300" is not an IPv4 or IPv6 address
		source=10.0.0.3 destination=fd00::1 protocol=udp source_port=1 destination_port=2 action=deny|destination: "fd00::1" is not of the source's family
		source=10.0.0.3 destination=10.0.2.2 protocol=icmp source_port=1 destination_port=2 action=deny|protocol: "icmp" is not one that has ports: write tcp, udp, 33, 132 or 136
		source=10.0.0.3 destination=10.0.2.2 protocol=udp source_port=1-2 destination_port=2 action=deny|source_port: "1-2" is not one value
	END
	for ((i = 0; i < 5000; i++)); do echo "$(of "$i") action=deny"; done >"$LAB_DIR/long"
	run flow load "$LAB_DIR/long"
	[ "$status" -eq 1 ]
	[ "$output" = "sluice: filter flow: 4096 of 5000 flows are in force, and the map is full: it has room for 4096; delete some, or write a larger exact_flows" ]
	count_is 4096
}

# shellcheck disable=SC2046
@test "flows outlive a restart and a reload, also into a larger map, and are never cut off by a smaller one" {
	configure "exact_flows: 4096"
	daemon
	warm_up
	flow add $(of 0) action=deny
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 2 --count 100 --rate 20000
	[ "$(received packets)" = 50 ]
	daemon_end KILL
	# nobody runs, and the flow is in force
	[ "$(packets 0)" = 50 ]
	daemon
	wait_for 5 fast_path_to 10.0.2.2
	[ "$(packets 0)" = 50 ]
	configure "exact_flows: 8192"
	reload
	[ "$(flow count)" = "1 of 8192 flows" ]
	[ "$(packets 0)" = 50 ]
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 2 --count 100 --rate 20000
	[ "$(received packets)" = 50 ]
	[ "$(packets 0)" = 100 ]
	for ((i = 0; i < 20; i++)); do echo "$(of "$i") action=permit"; done | flow load -
	configure "exact_flows: 16"
	kill -HUP "$DAEMON"
	wait_for 10 log_says "exact_flows: there are 20 flows, and 16 would fit"
	[ "$(flow count)" = "20 of 8192 flows" ]
	configure
	reload
	run flow count
	[ "$status" -eq 1 ]
	[ "$output" = "sluice: filter flow: this router has no room for exact flows: write exact_flows: N into the configuration, and reload" ]
}

# shellcheck disable=SC2046
@test "a flow that has no packets for its time ends, and one that has goes on" {
	configure "exact_flows: 4096"
	daemon
	warm_up
	flow add $(of 0) action=permit idle=3
	flow add $(of 1) action=permit idle=3
	flow add $(of 2) action=permit
	send_start h1 n1:eth1 h2 --dst 10.0.2.2 --flows 1 --rate 1000
	wait_for 15 count_is 2
	# a packet comes again and again, for longer than the time
	used_for_long() { [ "$(packets 0)" -gt 6000 ]; }
	wait_for 20 used_for_long
	send_stop
	assert_forwarded "$(sent)"
	[ "$(packets 2)" = 0 ]
	wait_for 15 count_is 1
}

# with_rules [RULE...]: a list for flows, with these rules before the others
with_rules() {
	configure "exact_flows: 4096" "filters:" "- name: does" "  flows: true" "  rules:" "${@/#/  - }" \
		"  - {name: slow, action: permit, protocol: tcp, police_rate: 8bit, police_burst: 460}" \
		"  - {name: marked, action: permit, class: 1, set_dscp: ef}" \
		"  - {name: six, action: permit, family: ipv6}" \
		"  - {name: all, action: count}"
}

# rule NAME WHAT: what jq finds in the row of a rule
rule() { sluice -j filter counters does | jq ".[] | select(.name == \"$1\").$2"; }

# shellcheck disable=SC2046
@test "a flow that names a rule is policed, marked and counted as its packets, over a restart, and denied when it is gone" {
	with_rules
	daemon
	warm_up
	flow add $(of 0) as=does/slow
	flow add $(of 1) as=does/marked idle=600
	[ "$(sluice filter list does)" = "does: 4 rules, default permit, ports none, for flows, of file" ]
	# of the 100 of flow 0 ten pass, of 46 bytes each; no port has the list
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 4 --count 400 --rate 20000
	[ "$(rule slow packets) $(rule marked packets) $(packets 0) $(packets 1)" = "100 100 100 100" ]
	[ "$(rule all packets)" = 0 ]
	[ "$(rule slow policer.conformed.packets)" -ge 10 ]
	[ "$(rule slow policer.conformed.packets)" -le 20 ]
	[ "$(rule slow policer.violated.packets)" = "$(change drops policed)" ]
	[ "$(received packets)" = $((400 - $(change drops policed))) ]
	explained() { sluice explain 10.0.2.2 port=eth1 source=10.0.1.2 protocol=udp source_port="$1" destination_port=9; }
	explained "$FIRST_PORT" | grep -x "filter     an exact flow decides, as rule does/slow: permit"
	explained $((FIRST_PORT + 1)) | grep -x "filter     an exact flow decides, as rule does/marked: permit, class 1, DSCP ef"
	# another rule before it, and no record of numbers, so that none has its number of before
	with_rules "{name: new, action: deny}"
	daemon_end TERM
	on n1 rm /sys/fs/bpf/sluice/sl_hits_owner
	daemon
	warm_up
	flow add $(of 2) as=does/new
	[ "$(flow list | sed 's/ # .*//' | sort)" = "$(of 0) as=does/slow
$(of 1) as=does/marked idle=600
$(of 2) as=does/new" ]
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 4 --count 400 --rate 20000
	[ "$(rule slow packets) $(rule marked packets) $(rule new packets)" = "100 100 100" ]
	[ "$(change drops policed)" -ge 80 ]
	[ "$(change drops filter)" = 100 ]
	[ "$(received packets)" = $((300 - $(change drops policed))) ]
	# a rule that goes by a command takes what its flows would pass; list still says what load takes
	sluice filter delete does 1
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 4 --count 400 --rate 20000
	[ "$(change drops filter)" = 200 ]
	[ "$(received packets)" = 200 ]
	flow list >"$LAB_DIR/saved"
	grep -E "^$(of 0) as=0x[0-9a-f]{8} # packets=300 " "$LAB_DIR/saved"
	explained "$FIRST_PORT" | grep -Ex "filter     an exact flow decides, as rule 0x[0-9a-f]{8}: deny"
	flow flush
	flow load "$LAB_DIR/saved"
	# and gives it back when it comes again
	sluice filter add does name=slow action=permit
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 4 --count 400 --rate 20000
	[ "$(received packets)" = 300 ]
	[ "$(sluice -j filter flow list | jq -c '[.[].as] | sort')" = '["does/marked","does/new","does/slow"]' ]
}

# shellcheck disable=SC2046
@test "a rule that is not there, only counts, or is for the other family is refused" {
	local name
	with_rules
	daemon
	for name in does/nothing other/slow does/all; do
		run flow add $(of 0) as=$name
		[ "$status" -eq 1 ]
		[ "$output" = "sluice: filter flow add: as: \"$name\" is not a rule in force that decides and has a name: write one that \`sluice show filters\` shows" ]
	done
	run flow add $(of 0) as=does/six
	[ "$status" -eq 1 ]
	[ "$output" = "sluice: filter flow add: as: \"does/six\" is a rule for IPv6 alone: name another for this flow" ]
	count_is 0
	flow add $(of 0 6) as=does/six
	count_is 1
}

@test "without a daemon, and with wrong words" {
	run flow count
	[ "$status" -eq 3 ]
	run flow add source=10.0.1.2 action=deny
	[ "$status" -eq 2 ]
	[[ $output == *"a flow needs destination"* ]]
	run flow
	[ "$status" -eq 2 ]
	configure "exact_flows: 1048577"
	run build/sluice check "$CONFIG"
	[ "$status" -ne 0 ]
	[[ $output == *exact_flows*"16 to 1048576"* ]]
}
