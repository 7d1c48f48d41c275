#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Filter lists of the configuration: what their rules let pass, what the views say of it, and that a list is
# replaced whole, under traffic.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

setup() {
	load router
	router_up
}

teardown() { lab_end; }

# list NAME PORT DEFAULT RULE...: a list for the configuration, of rules as YAML maps without braces
list() {
	local rule
	printf '%s\n' "- name: $1" "  ports: [{name: $2}]" "  default: $3" "  rules:"
	for rule in "${@:4}"; do printf '  - {%s}\n' "$rule"; done
}

# hits LIST RULE: packets that rule NUMBER, or the default, has decided
hits() {
	sluice -j show filters | jq --arg list "$1" --argjson rule "${2/default/null}" \
		'.[] | select(.list == $list and .rule == $rule).packets'
}

@test "rules decide in their order; views and metrics say how often, and denied packets are drops" {
	configure "metrics: 9100" "filters:" \
		"$(list in eth1 permit "action: permit, name: host, destination: 10.0.2.2, dscp: 1" "action: deny, destination: 10.0.2.0/24, protocol: udp")"
	daemon
	warm_up
	send h1 n1:eth1 h2 --dst 10.0.2.2 --dscp 1 --flows 16 --count 300 --rate 20000
	assert_forwarded 300
	[ "$(hits in 0)" = 300 ]
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 16 --count 200 --rate 20000
	[ "$(received packets)" = 0 ]
	[ "$(change drops filter)" = 200 ]
	[ "$(hits in 0) $(hits in 1)" = "300 200" ]
	send h1 n1:eth1 h2 --dst fd00:2::2 --flows 16 --count 100 --rate 20000
	assert_forwarded 100
	[ "$(hits in default)" -ge 100 ]
	on n1 curl -s http://127.0.0.1:9100/metrics >"$LAB_DIR/metrics"
	grep -x 'sluice_filter_packets_total{list="in",rule="host"} 300' "$LAB_DIR/metrics"
	grep -x 'sluice_filter_packets_total{list="in",rule="unnamed"} 200' "$LAB_DIR/metrics"
	run sluice show filters
	[[ ${lines[1]} =~ ^in\ +0\ +host\ +permit\ +any\ +10\.0\.2\.2\ +dscp\ 1\ +300\  ]]
	[[ ${lines[2]} =~ ^in\ +1\ +deny\ +any\ +10\.0\.2\.0/24\ +udp\ +200\  ]]
	[[ ${lines[3]} =~ ^in\ +default\ +permit\  ]]
}

@test "a list that denies all but echo keeps the links alive, and what this node itself gets is judged, too" {
	configure "filters:" \
		"$(list in eth1 deny "action: permit, protocol: icmp" "action: permit, protocol: icmpv6, icmp_type: '128,129'")"
	daemon
	warm_up
	on h1 ip neigh flush dev eth0
	on n1 ip neigh flush dev eth1
	on h1 ping -c 2 -i 0.1 -W 2 10.0.2.2
	on h1 ping -c 2 -i 0.1 -W 2 fd00:2::2
	spawn n1 server socat -u TCP-LISTEN:7777,fork,reuseaddr STDOUT
	listens() { on n1 ss -Hltn "sport = :7777" | grep -q LISTEN; }
	wait_for 5 listens
	run on h1 socat -u /dev/null TCP:10.0.1.1:7777,connect-timeout=1
	[ "$status" -ne 0 ]
	on h2 socat -u /dev/null TCP:10.0.2.1:7777,connect-timeout=5
}

@test "reloads replace a list of 1,000 rules under traffic: no packet is lost, or judged by half of a list" {
	local i a=() b=()
	# Two lists that let the same packets pass by other rules, and deny all else.
	for i in {1..999}; do
		a+=("action: deny, source: 10.$((i % 200 + 20)).$((i / 4)).0/24, protocol: tcp, destination_port: $i")
		b+=("action: deny, source: 172.16.$((i / 4)).0/24, protocol: udp, source_port: $((30000 + i))")
	done
	list in eth1 deny "action: permit, name: first, source: 10.0.1.0/24" "${a[@]}" >"$LAB_DIR/a"
	list in eth1 deny "${b[@]}" "action: permit, name: last, destination: 10.0.2.0/24" >"$LAB_DIR/b"
	configure "filters:" "$(cat "$LAB_DIR/a")"
	daemon
	wait_for 5 reaches 10.0.2.2
	wait_for 5 fast_path_to 10.0.2.2
	send_start h1 n1:eth1 h2 --dst 10.0.2.2 --flows 16 --rate 2000
	for i in 1 2 3; do
		configure "filters:" "$(cat "$LAB_DIR/b")"
		reload
		configure "filters:" "$(cat "$LAB_DIR/a")"
		reload
	done
	send_stop
	assert_forwarded "$(sent)"
	[ "$(change drops filter)" = 0 ]
	[ "$(hits in 0)" -gt 0 ]
}

@test "a reload keeps the counters of rules that stay, wherever they stand, and starts those of new rules at 0" {
	configure "filters:" "$(list in eth1 permit "action: deny, protocol: tcp" "action: permit, destination: 10.0.2.2")"
	daemon
	warm_up
	send h1 n1:eth1 h2 --dst 10.0.2.2 --count 100 --rate 20000
	local before
	before=$(hits in 1)
	[ "$before" -ge 100 ]
	configure "filters:" "$(list in eth1 permit "action: permit, destination: 10.0.2.2" "action: deny, protocol: udp")"
	reload
	[ "$(hits in 0)" = "$before" ]
	[ "$(hits in 1)" = 0 ]
	# without lists, and with them again
	configure
	reload
	[ "$(sluice -j show filters)" = "[]" ]
	send h1 n1:eth1 h2 --dst 10.0.2.2 --count 100 --rate 20000
	assert_forwarded 100
	configure "filters:" "$(list in eth1 deny "action: permit, destination: 10.0.2.9")"
	reload
	send h1 n1:eth1 h2 --dst 10.0.2.2 --count 100 --rate 20000
	[ "$(received packets)" = 0 ]
	[ "$(hits in default)" = 100 ]
}

# restart SIGNAL [DAEMON-OPTION...]: end the daemon, and start another
restart() {
	daemon_end "$1"
	daemon "${@:2}"
}
# marked DSCP N: UDP packets of h1 to h2, which all arrive
marked() {
	send h1 n1:eth1 h2 --dst 10.0.2.2 --dscp "$1" --count "$2" --rate 20000
	assert_forwarded "$2"
}
# hits_of LIST N: of its first N rules, on one line
hits_of() { for ((i = 0; i < $2; i++)); do hits "$1" "$i"; done | xargs; }

@test "counters of rules outlive the daemon; those of new and changed rules begin at 0" {
	local ten="action: permit, protocol: udp, dscp: 10" twelve="action: permit, protocol: udp, dscp: 12" default
	configure "filters:" "$(list in eth1 permit "$twelve" "$ten" "$ten" "action: deny, protocol: 99")"
	daemon
	warm_up
	marked 10 100
	marked 12 50
	[ "$(hits_of in 4)" = "50 100 0 0" ]
	default=$(hits in default)
	[ "$default" -gt 0 ]
	# Killed: what comes meanwhile counts, and so does what comes while the next one starts.
	daemon_end KILL
	marked 10 30
	send_start h1 n1:eth1 h2 --dst 10.0.2.2 --dscp 10 --rate 2000
	daemon
	send_stop
	assert_forwarded "$(sent)"
	[ "$(hits_of in 4)" = "50 $((130 + $(sent))) 0 0" ]
	[ "$(hits in default)" -ge "$default" ]
	default=$((130 + $(sent)))
	# Rules that move stay; one that is changed is new, and so is one of another list.
	configure "filters:" "$(list in eth1 permit "action: deny, protocol: 98" "$ten" "$ten" "$twelve, name: changed")" \
		"$(list out eth2 permit "$ten")"
	restart TERM
	[ "$(hits_of in 4) $(hits out 0)" = "0 $default 0 0 0" ]
	marked 12 20
	[ "$(hits_of in 4) $(hits out 0)" = "0 $default 0 20 0" ]
	# What a list had before is forgotten, also what a generation has replaced.
	configure "engine: lpm" "filters:" "$(list in eth1 permit "$twelve" "$ten")"
	reload
	[ "$(hits_of in 2)" = "0 $default" ]
	restart KILL
	[ "$(hits_of in 2)" = "0 $default" ]
	marked 12 7
	configure "filters:" "$(list in eth1 permit "$ten" "$twelve" "$twelve, name: changed")"
	restart KILL
	[ "$(hits_of in 3)" = "$default 7 0" ]
	marked 12 5
	restart KILL
	[ "$(hits_of in 3)" = "$default 12 0" ]
	# without lists, and with them again
	configure
	restart TERM
	configure "filters:" "$(list in eth1 permit "$ten" "$twelve")"
	restart TERM
	[ "$(hits_of in 2)" = "0 0" ]
	marked 12 5
	[ "$(hits_of in 2)" = "0 5" ]
}

@test "counters of rules begin at 0 where the counters themselves are gone, or of another version" {
	local name
	configure "filters:" "$(list in eth1 permit "action: permit, protocol: udp")"
	daemon
	warm_up
	marked 10 100
	# The third rule has the counter of the first, and what that held.
	for name in second third; do
		configure "filters:" "$(list in eth1 permit "action: permit, name: $name, protocol: udp")"
		reload
	done
	marked 10 20
	[ "$(hits in 0)" = 20 ]
	daemon_end KILL
	on n1 rm /sys/fs/bpf/sluice/sl_filter_hits
	on n1 bpftool map create /sys/fs/bpf/sluice/sl_filter_hits type hash key 8 value 24 entries 3 name other
	daemon
	[ "$(hits in 0)" = 0 ]
	marked 10 40
	restart KILL
	[ "$(hits in 0)" = 40 ]
	daemon_end KILL
	on n1 rm /sys/fs/bpf/sluice/sl_hits_owner
	daemon
	[ "$(hits in 0)" = 0 ]
	marked 10 30
	[ "$(hits in 0)" = 30 ]
}

@test "a list stays in force while the daemon is dead, and when it is back" {
	configure "filters:" "$(list in eth1 permit "action: deny, protocol: udp")"
	daemon
	warm_up
	daemon_end KILL
	send h1 n1:eth1 h2 --dst 10.0.2.2 --count 100 --rate 20000
	[ "$(received packets)" = 0 ]
	[ "$(change drops filter)" = 100 ]
	# nothing arrives, so send_start would wait in vain
	sink_start received h2
	accounts_open
	gen_start gen h1 n1:eth1 --dst 10.0.2.2 --rate 2000 --duration 3600
	denies() { [ "$(change drops filter)" -gt 0 ]; }
	wait_for 10 denies
	daemon
	send_stop
	[ "$(received packets)" = 0 ]
	[ "$(change drops filter)" = "$(sent)" ]
}

@test "a list follows its netdev to another name, and leaves it with the old one" {
	configure "filters:" "$(list in eth1 permit "action: deny, protocol: icmp")"
	daemon
	[ "$(hits in 0)" = 0 ]
	run reaches 10.0.2.2
	[ "$status" -ne 0 ]
	on n1 ip link set dev eth1 down
	on n1 ip link set dev eth1 name eth9
	on n1 ip link set dev eth9 up
	wait_for 5 reaches 10.0.2.2
}

@test "a wrong rule is refused in one line, by check and by a reload, which changes nothing" {
	configure "filters:" "$(list in eth1 permit "action: deny, protocol: udp")"
	daemon
	local bad
	bad=$(configure "filters:" "$(list in eth1 permit "action: deny, destination_port: 80")" && cat "$CONFIG")
	run -2 --separate-stderr sluice check "$CONFIG"
	[ "$stderr" = "sluice: $CONFIG:6: filters[0].rules[0]: \"80\" is a destination_port, which needs a protocol that has it: write protocol: tcp, udp, sctp, dccp or udplite" ]
	[ -n "$bad" ]
	kill -HUP "$DAEMON"
	wait_for 5 log_says "reload refused; the former configuration stays in force"
	[ "$(sluice -j show filters | jq -r '.[0].protocol')" = udp ]
}
