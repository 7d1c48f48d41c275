#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# sluice filter: lists changed while they are in force, how those changes relate to the configuration file, what
# explain says of a packet, and rules taken over from nftables.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

setup() {
	load router
	router_up
	LIST='{"filters": [{"name": "in", "ports": [{"name": "eth1"}], "default": "permit", "rules": [
		{"action": "deny", "name": "web", "destination": "10.0.2.0/24", "protocol": "tcp", "destination_port": 80}]}]}'
}

teardown() { lab_end; }

put() { sluice filter replace - <<<"$1"; }
rules() { sluice -j filter list "$1" | jq -c '.filters[0].rules'; }
passes() { on h1 ping -c 1 -W 1 10.0.2.2; }

@test "replace, add, delete: each is in force at once, and keeps the counters of rules that stay" {
	configure
	daemon
	warm_up
	[ "$(put "$LIST")" = "in: 1 rules in force" ]
	passes
	[ "$(sluice filter add in action=deny name=ping protocol=icmp)" = "in: 2 rules in force" ]
	run passes
	[ "$status" -ne 0 ]
	local before
	before=$(sluice -j filter counters in | jq '.[] | select(.name == "ping").packets')
	[ "$before" -ge 1 ]
	sluice filter add in at 0 action=permit name=first source=192.0.2.0/24
	[ "$(sluice -j filter counters in | jq -c '[.[] | .name]')" = '["first","web","ping",null]' ]
	[ "$(sluice -j filter counters in | jq '.[] | select(.name == "ping").packets')" = "$before" ]
	sluice filter delete in ping
	sluice filter delete in 0
	rules in | jq -e '. == [{action: "deny", name: "web", destination: "10.0.2.0/24", protocol: "tcp", destination_port: "80"}]'
	passes
	[ "$(sluice filter list)" = "in: 1 rules, default permit, ports eth1, of command" ]
	# what list prints, replace takes
	sluice -j filter list >"$LAB_DIR/saved.json"
	[ "$(sluice filter delete in)" = "in: deleted" ]
	[ "$(sluice -j filter list | jq -c .)" = '{"filters":[]}' ]
	sluice filter replace "$LAB_DIR/saved.json"
	[ "$(sluice -j filter list)" = "$(cat "$LAB_DIR/saved.json")" ]
}

@test "a list of a command outlives reloads and a restart; a list of the file is the file's again after a reload" {
	configure "filters: [{name: file, ports: [{name: eth2}], rules: [{action: deny, protocol: udp}]}]"
	daemon
	warm_up
	put "$LIST"
	sluice filter add in action=deny protocol=icmp
	sluice filter add file action=deny protocol=tcp
	[ "$(sluice filter list)" = "$(printf '%s\n' "file: 2 rules, default permit, ports eth2, of changed" \
		"in: 2 rules, default permit, ports eth1, of command")" ]
	reload
	[ "$(sluice filter list)" = "$(printf '%s\n' "file: 1 rules, default permit, ports eth2, of file" \
		"in: 2 rules, default permit, ports eth1, of command")" ]
	run passes
	[ "$status" -ne 0 ]
	daemon_end KILL
	daemon
	[ "$(sluice -j filter list | jq -c '[.filters[] | [.name, (.rules | length)]]')" = '[["file",1],["in",2]]' ]
	run passes
	[ "$status" -ne 0 ]
	sluice filter delete in
	wait_for 5 passes
	daemon_end TERM
	daemon
	[ "$(sluice filter list)" = "file: 1 rules, default permit, ports eth2, of file" ]
	# the file takes over a name that a command has used
	put "$LIST"
	configure "filters: [{name: in, ports: [{name: eth1}], rules: [{action: deny, protocol: 47}]}]"
	reload
	[ "$(sluice filter list)" = "in: 1 rules, default permit, ports eth1, of file" ]
}

# policer LIST RULE COLOUR: packets
policer() { sluice -j show filters | jq ".[] | select(.list == \"$1\" and .rule == $2).policer.$3.packets"; }

@test "a rule polices: what goes on and what is dropped add up, and a change of other rules keeps its tokens" {
	configure "metrics: 9100"
	daemon
	warm_up
	put "$LIST"
	# 100 packets of 46 bytes, and one more in 46 seconds
	sluice filter add in action=permit protocol=udp police_rate=8bit police_burst=4600
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 16 --count 300 --rate 20000
	[ "$(policer in 1 conformed)" -ge 100 ]
	[ "$(policer in 1 conformed)" -le 110 ]
	[ "$(policer in 1 conformed)" = "$(received packets)" ]
	[ "$(policer in 1 violated)" = $((300 - $(received packets))) ]
	[ "$(policer in 1 violated)" = "$(change drops policed)" ]
	sluice filter add in at 0 action=deny source=192.0.2.1
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 16 --count 100 --rate 20000
	[ "$(received packets)" -le 10 ]
	[ "$(change drops policed)" = $((100 - $(received packets))) ]
	[ $(($(policer in 2 conformed) + $(policer in 2 violated))) = 400 ]
	# another burst is another rule, with full buckets; without rules that police there are no policers
	sluice filter delete in 2
	sluice filter add in action=permit protocol=udp police_rate=8bit police_burst=2300 police_excess_burst=2300 police_exceed_dscp=af12
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 16 --count 200 --rate 20000
	[ "$(policer in 2 conformed)" -ge 50 ]
	[ "$(policer in 2 exceeded)" -ge 50 ]
	[ $(($(policer in 2 conformed) + $(policer in 2 exceeded))) = "$(received packets)" ]
	on n1 curl -s http://127.0.0.1:9100/metrics >"$LAB_DIR/metrics"
	for result in conformed exceeded violated; do
		grep -x "sluice_filter_policed_packets_total{list=\"in\",rule=\"unnamed\",result=\"$result\"} $(policer in 2 $result)" "$LAB_DIR/metrics"
	done
	policers() { on n1 bpftool -j map dump pinned /sys/fs/bpf/sluice/sl_policer | jq length; }
	[ "$(policers)" = 1 ]
	sluice filter delete in 2
	[ "$(policers)" = 0 ]
}

@test "a change replaces the image of its list and family alone" {
	local file=/sys/fs/bpf/sluice before after
	images() {
		for map in sl_filter_small sl_filter_large; do on n1 bpftool -j map dump pinned $file/$map; done |
			jq -sc 'add | map(.value // .formatted.value)'
	}
	configure
	daemon
	put "$LIST"
	put '{"filters": [{"name": "other", "ports": [{"name": "eth2"}], "rules": [{"action": "deny", "protocol": "igmp"}]}]}'
	before=$(images)
	sluice filter add other action=deny family=ipv6 protocol=udp
	after=$(images)
	echo "$before" "$after"
	[ "$(jq -n "$before - $after | length")" = 1 ]
	[ "$(jq -n "$after - $before | length")" = 1 ]
	# also where the image has the size it had
	before=$after
	sluice filter replace - <<<"${LIST/deny/permit}"
	after=$(images)
	[ "$(jq -n "$before - $after | length")" = 1 ]
	warm_up
	# a daemon that starts again puts all of them in
	kill -9 "$DAEMON"
	wait_for 10 daemon_gone
	daemon
	before=$(images)
	[ "$(jq -n "$before - $after | length")" = 4 ]
}

@test "what is wrong is refused in one line, and changes nothing" {
	configure
	daemon
	put "$LIST"
	local before arguments expected
	before=$(sluice -j filter list)
	while IFS='|' read -r arguments expected; do
		# shellcheck disable=SC2086
		run --separate-stderr sluice filter $arguments
		echo "$arguments: $status $stderr"
		[ "$status" -eq 1 ]
		[ "$stderr" = "sluice: $expected" ]
	done <<-'END'
		delete out|"out" is not a filter list: write one that `sluice filter list` shows, or make it by `sluice filter replace`
		delete in 7|"7" is not a rule of list "in": write a number below 1, or the name of one
		add in at 9 action=deny|9 is no place in list "in": write 0 to 1
		add in action=deny destination_port=80|sluice filter:1: filters[0].rules[1]: "80" is a destination_port, which needs a protocol that has it: write protocol: tcp, udp, sctp, dccp or udplite
		add in action=deny name=web|sluice filter:1: filters[0].rules[1]: "web" is the name of rule 0, too: write another
		add in action=sink|sluice filter:1: filters[0].rules[1].action: "sink" is not an action: write permit, deny, kernel, reject, reset or count
		list out|"out" is not a filter list: write one that `sluice filter list` shows
		replace /nonexistent|cannot read "/nonexistent": No such file or directory
	END
	printf '%s\n' 'filters:' '- name: b' '  rules:' '  - {action: deny, source: 10.0.0.1/8}' >"$LAB_DIR/bad.yaml"
	run --separate-stderr sluice filter replace "$LAB_DIR/bad.yaml"
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice: $LAB_DIR/bad.yaml:4: filters[0].rules[0].source: \"10.0.0.1/8\" is not a prefix: write an address, or one with /LENGTH and no bits set beyond it" ]
	run --separate-stderr put '{"filters": [{"name": "other", "ports": [{"name": "eth1"}], "rules": []}]}'
	[ "$status" -eq 1 ]
	[ "$stderr" = 'sluice: standard input:1: filters[1]: "eth1" is a port of list "in", too: write it once' ]
	run --separate-stderr sluice filter add in deny
	[ "$status" -eq 2 ]
	[ "$stderr" = 'sluice: filter add: "deny" is not KEY=VALUE, or a key that came before: write such as destination_port=80' ]
	[ "$(sluice -j filter list)" = "$before" ]
}

@test "explain says which rules match a packet, which decides, and why" {
	configure
	daemon
	warm_up
	put "$LIST"
	sluice filter add in action=permit source=10.0.1.0/24 protocol=tcp,udp
	local packet=(10.0.2.2 port=eth1 source=10.0.1.2 protocol=tcp)
	[ "$(sluice -j explain "${packet[@]}" destination_port=80 | jq -c '.filter | [.list, .rule, .action, [.rules[].rule]]')" = '["in",0,"deny",[0,1]]' ]
	[ "$(sluice -j explain "${packet[@]}" destination_port=81 | jq -c '.filter | [.rule, .action, [.rules[].rule]]')" = '[1,"permit",[1]]' ]
	[ "$(sluice -j -a filter explain "${packet[@]}" destination_port=81 | jq -c '.filter.rules[0] | [.matches, .because]')" = \
		'[false,["destination 10.0.2.0/24","protocol tcp","not destination_port 80"]]' ]
	[ "$(sluice -j explain 10.0.2.2 port=eth1 source=10.9.9.9 protocol=icmp | jq -c '.filter | [.rule, .action]')" = '[null,"permit"]' ]
	[ "$(sluice -j explain 10.0.2.2 port=eth2 | jq -c '.filter | [.list, .action]')" = '[null,"permit"]' ]
	run sluice explain "${packet[@]}" destination_port=80
	[[ $output = *"filter     list in of eth1: rule 0 decides: deny"* ]]
	[[ $output = *"rule 0 web matches: deny (destination 10.0.2.0/24, protocol tcp, destination_port 80)"* ]]
	run --separate-stderr sluice explain 10.0.2.2 protocol=tcp
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice: write the port that the packet enters by: port=NETDEV" ]
	run --separate-stderr sluice explain 10.0.2.2 port=eth1 colour=red
	[ "$status" -eq 2 ]
}

@test "rules of nftables become a list that says the same; what cannot be said is named, rule by rule" {
	configure
	daemon
	warm_up
	host_up fw
	on fw nft -f - <<-'END'
		table inet filter {
			chain forward {
				type filter hook forward priority 0; policy drop;
				ip saddr { 10.0.1.0/24, 192.0.2.7 } ip daddr 10.0.2.0/24 tcp dport { 22, 8000-8080 } counter accept
				icmp type echo-request accept
				icmpv6 type { echo-request, echo-reply } accept
				tcp flags & (syn | ack) == syn drop
				ip dscp ef ip dscp set cs1 accept
				meta l4proto udp th sport 53 meta length 0-512 accept
			}
		}
	END
	on fw nft -j list ruleset >"$LAB_DIR/nft.json"
	sluice filter import "$LAB_DIR/nft.json" >"$LAB_DIR/ours.json"
	[ "$(jq -c '.filters[0] | [.name, .default, (.rules | length)]' "$LAB_DIR/ours.json")" = '["inet-filter-forward","deny",7]' ]
	[ "$(jq -c '.filters[0].rules[]' "$LAB_DIR/ours.json")" = "$(printf '%s\n' \
		'{"protocol":"tcp","destination_port":"22,8000-8080","action":"permit","source":"10.0.1.0/24","destination":"10.0.2.0/24"}' \
		'{"protocol":"tcp","destination_port":"22,8000-8080","action":"permit","source":"192.0.2.7","destination":"10.0.2.0/24"}' \
		'{"protocol":"icmp","icmp_type":"8","action":"permit"}' \
		'{"protocol":"icmpv6","icmp_type":"128,129","action":"permit"}' \
		'{"tcp_flags":"syn,!ack","protocol":"tcp","action":"deny"}' \
		'{"dscp":"ef","set_dscp":"cs1","action":"permit","family":"ipv4"}' \
		'{"protocol":"udp","source_port":"53","length":"0-512","action":"permit"}' | jq -c .)" ]
	[ "$(sluice filter replace "$LAB_DIR/ours.json")" = "inet-filter-forward: 7 rules in force" ]
	on fw nft -f - <<-'END'
		table inet filter {
			chain in {
				type filter hook input priority 0;
				tcp dport 22 accept
			}
			chain web {
				tcp dport 80 accept
			}
			chain forward {
				ct state established accept
				ip saddr != 10.0.0.0/8 drop
				jump web
			}
		}
	END
	on fw nft -j list ruleset >"$LAB_DIR/nft.json"
	run --separate-stderr sluice filter import "$LAB_DIR/nft.json"
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	[[ $stderr = *"of chain in of table inet filter cannot be said: a list judges what enters, as chains at ingress, prerouting and forward do, not input"* ]]
	[[ $stderr = *"of chain web of table inet filter cannot be said: a list judges what enters, as chains at ingress, prerouting and forward do, not chains that others jump to"* ]]
	[[ $stderr = *"of chain forward of table inet filter cannot be said: ct: sluice looks at single packets, and knows no connections"* ]]
	[[ $stderr = *'cannot be said: the comparison "!="'* ]]
	[[ $stderr = *'cannot be said: the statement "jump"'* ]]
	[[ $stderr = *"sluice: 5 rules cannot be said, so nothing is printed" ]]
}
