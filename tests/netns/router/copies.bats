#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # `run` sets stderr
# Rules that make packets beside the one that they decide: answers to its sender, and copies on another netdev. And
# auxiliary rules, which count and copy, and decide nothing. The oracle is nftables on a twin of the router.
bats_require_minimum_version 1.5.0

setup_file() {
	load router
	lab_begin
	host_up ends
	host_up watch
	local node
	for node in n1 n2; do
		node_up "$node"
		link "$node:eth1" "ends:$node"
		link "$node:eth2" "ends:${node}b"
		on "$node" ip link set dev eth1 address 02:00:00:00:00:01
		on "$node" ip addr add 10.0.1.1/24 dev eth1
		on "$node" ip addr add fd00:1::1/64 dev eth1 nodad
		on "$node" ip neigh add 10.0.1.9 lladdr 02:00:00:00:00:99 dev eth1 nud permanent
		on "$node" ip neigh add fd00:1::9 lladdr 02:00:00:00:00:99 dev eth1 nud permanent
		# answers with whole checksums, and no limit on them
		on "$node" ethtool -K eth1 tx off >/dev/null
		on "$node" sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0 net.ipv4.icmp_msgs_per_sec=0x7fffffff
	done
	link n1:tap1 watch:w1
	link n1:tap2 watch:w2
	CONFIG=$LAB_DIR/sluice.yaml
	configure "punt_limits: {no_route: 0}" "exact_flows: 1024"
	daemon
	export LAB_ID LAB_DIR CONFIG DAEMON
}

teardown_file() {
	load router
	lab_end
}

setup() {
	load router
	set -o pipefail
}

twins() { on ends tests/netns/router/copies_twins.py "$@"; }
copies() { sluice -j status | jq ".filter_copies.$1"; }

# filters LIST: in force at n1, alone
filters() {
	sluice filter replace - <<<"$1"
	[ "$(sluice filter list | wc -l)" = 1 ]
}

# nft_rules RULE...: n2 has these in a chain at prerouting
nft_rules() {
	on n2 nft flush ruleset
	{
		printf 'table inet t {\n chain c {\n  type filter hook prerouting priority 0; policy accept\n'
		printf '  %s\n' 'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept' "$@"
		printf ' }\n}\n'
	} >"$LAB_DIR/rules.nft"
	on n2 nft -f "$LAB_DIR/rules.nft"
}

@test "the sender of a rejected packet gets the ICMP error that nftables' reject gives" {
	filters '{"filters": [{"name": "in", "ports": [{"name": "eth1"}], "default": "reject", "rules": []}]}'
	nft_rules reject
	twins answers n1 n2
}

@test "the sender of a reset connection gets the TCP reset that nftables' reject gives" {
	filters '{"filters": [{"name": "in", "ports": [{"name": "eth1"}], "default": "deny", "rules": [
		{"action": "reset", "protocol": "tcp"}, {"action": "reject", "protocol": "udp"}]}]}'
	nft_rules 'meta l4proto tcp reject with tcp reset' 'meta l4proto udp reject' drop
	twins answers n1 n2
	# nothing of it went on
	[ "$(sluice -j show drops | jq '[.[] | select(.kind == "drop" and .name == "filter")][0].packets')" -gt 0 ]
}

@test "exact flows that reject and reset answer as nftables does, at a port whose list denies the rest" {
	filters '{"filters": [{"name": "in", "ports": [{"name": "eth1"}], "default": "deny", "rules": []}]}'
	nft_rules 'meta l4proto tcp reject with tcp reset' 'meta l4proto udp reject' drop
	twins flows action=reject action=reset | sluice filter flow load -
	twins answers n1 n2
	# the same by rules that flows name
	filters '{"filters": [{"name": "in", "ports": [{"name": "eth1"}], "default": "deny", "rules": [
		{"action": "deny"}, {"action": "reject", "name": "tell"}, {"action": "reset", "name": "end", "protocol": "tcp"}]}]}'
	twins flows as=in/tell as=in/end | sluice filter flow load -
	twins answers n1 n2
	[ "$(sluice -j filter flow list | jq '[.[].packets] | add > 100')" = true ]
	sluice filter flow flush
}

@test "a mirror of a rule that flows name gets their packets, and no others, byte for byte" {
	filters '{"filters": [{"name": "in", "flows": true, "rules": [{"action": "deny", "name": "here", "mirror": "tap2"}]}]}'
	twins flows as=in/here as=in/here | sluice filter flow load -
	local before
	before=$(copies mirrored)
	on watch tests/netns/router/copies_twins.py watch-flows w2 >"$LAB_DIR/watched" &
	local watcher=$!
	wait_for 30 grep -q ready "$LAB_DIR/watched"
	twins send n1
	wait "$watcher"
	cat "$LAB_DIR/watched"
	[ $(($(copies mirrored) - before)) = "$(sluice -j filter flow list | jq '[.[].packets] | add')" ]
	sluice filter flow flush
}

@test "mirrors get what entered byte for byte, whatever becomes of the packet" {
	filters '{"filters": [{"name": "in", "ports": [{"name": "eth1"}], "default": "deny", "rules": [
		{"action": "count", "mirror": "tap1"}, {"action": "deny", "protocol": "tcp", "mirror": "tap2"},
		{"action": "permit", "mirror": "tap2", "set_dscp": "ef"}]}]}'
	local before after
	before=$(copies mirrored)
	on watch tests/netns/router/copies_twins.py watch w1 w2 >"$LAB_DIR/watched" &
	local watcher=$!
	wait_for 30 grep -q ready "$LAB_DIR/watched"
	twins send n1
	wait "$watcher"
	cat "$LAB_DIR/watched"
	after=$(copies mirrored)
	[ $((after - before)) = $((2 * $(twins count))) ]
}

@test "a mirror that is not there costs the packet nothing, and is found when it comes" {
	filters '{"filters": [{"name": "in", "ports": [{"name": "eth1"}], "rules": [{"action": "count", "mirror": "later"}]}]}'
	local before
	before=$(copies failed)
	twins send n1
	failed() { [ "$(copies failed)" -ge $((before + $(twins count))) ]; }
	wait_for 10 failed
	on n1 ip link set tap1 name later
	before=$(copies mirrored)
	found() {
		twins send n1
		[ "$(copies mirrored)" -gt "$before" ]
	}
	wait_for 10 found
	on n1 ip link set later name tap1
}

@test "one in so many packets is sampled" {
	filters '{"filters": [{"name": "in", "ports": [{"name": "eth1"}], "rules": [
		{"action": "count", "name": "all"}, {"action": "count", "mirror": "tap1", "sample": 10}]}]}'
	local before mirrored all
	before=$(copies mirrored)
	for _ in {1..20}; do twins send n1; done
	all=$(sluice -j filter counters in | jq '.[] | select(.name == "all").packets')
	[ "$all" = $((20 * $(twins count))) ]
	mirrored=$(($(copies mirrored) - before))
	echo "$mirrored of $all"
	# of 1,500 and more packets a tenth, within six standard deviations
	jq -ne "($mirrored - $all / 10) | . * . < 36 * $all * 0.09"
}

@test "auxiliary rules count what nftables' counters count, wherever they stand, and decide nothing" {
	filters '{"filters": [{"name": "in", "ports": [{"name": "eth1"}], "default": "kernel", "rules": [
		{"action": "count", "name": "tcp", "protocol": "tcp"}, {"action": "deny", "protocol": "tcp", "tcp_flags": "syn"},
		{"action": "count", "name": "icmp", "protocol": "icmp"}, {"action": "deny", "protocol": "udp"},
		{"action": "count", "name": "long", "length": "500-65535"}, {"action": "count", "name": "syn", "tcp_flags": "syn", "protocol": "tcp"},
		{"action": "count", "name": "web", "protocol": "tcp", "destination_port": 80, "family": "ipv6"}]}]}'
	nft_rules 'meta l4proto tcp counter' 'meta l4proto icmp counter' 'meta length 500-65535 counter' \
		'tcp flags & syn == syn counter' 'ip6 version 6 tcp dport 80 counter' 'drop'
	twins send n1
	twins send n2
	local ours theirs
	ours=$(sluice -j filter counters in | jq -c '[.[] | select(.action == "count").packets]')
	theirs=$(on n2 nft -j list ruleset | jq -c '[.. | objects | select(.counter).counter.packets]')
	echo "$ours" "$theirs"
	[ "$ours" = "$theirs" ]
	jq -e 'all(. > 5)' <<<"$ours"
	# decided: all but what auxiliary rules counted
	[ "$(sluice -j filter counters in | jq '[.[] | select(.action != "count").packets] | add')" = "$(twins count)" ]
}

@test "rules that copy are refused where they make no sense" {
	local before rule expected
	before=$(sluice -j filter list)
	while IFS='|' read -r rule expected; do
		# shellcheck disable=SC2086
		run --separate-stderr sluice filter add in $rule
		echo "$stderr"
		[ "$status" -eq 1 ]
		[[ $stderr == *"$expected" ]]
	done <<-'END'
		action=reset|"reset" ends TCP connections: write protocol: tcp, or action: reject
		action=count sample=5|"5" is a sample without a netdev for it: write mirror, too
		action=count mirror=tap1 sample=0|"0" is not a number of packets, of which one is mirrored: write 1 to 9999999
		action=count class=1|"1" changes a packet that the fast path does not forward: write action: permit
		action=count police_rate=1mbit|"1mbit" polices packets that the fast path does not forward: write action: permit
	END
	[ "$(sluice -j filter list)" = "$before" ]
}
