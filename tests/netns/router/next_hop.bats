#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Rules that name the next hop. The kernel is the oracle: with ip rule and a table in place of the filter
# list, and no fast path, the same packets must come to the same host as the same bytes.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

# Behind eth3 a host h3, which stands for another router.
setup() {
	load router
	router_up
	host_up h3
	plug 3
	default_routes 3
}

teardown() { lab_end; }

# with_rule HOP4 HOP6: what enters by eth1 for UDP port 7000 goes there
with_rule() {
	printf '%s\n' "filters:" "- name: in" "  ports: [{name: eth1}]" "  default: permit" "  rules:" \
		"  - {action: permit, name: four, family: ipv4, protocol: udp, destination_port: 7000, next_hop: $1}" \
		"  - {action: permit, name: six, family: ipv6, protocol: udp, destination_port: 7000, next_hop: '$2'}" "heartbeat_s: 600" \
		"ports:" "  - name: eth1" "  - name: eth2" "  - name: eth3" >"$CONFIG"
}

# with_flows HOP4 HOP6: no port has a list, and exact flows for port 7000 name rules that go there
with_flows() {
	printf '%s\n' "exact_flows: 64" "filters:" "- name: to" "  flows: true" "  rules:" \
		"  - {action: permit, name: four, next_hop: $1}" "  - {action: permit, name: six, next_hop: '$2'}" "heartbeat_s: 600" \
		"ports:" "  - name: eth1" "  - name: eth2" "  - name: eth3" >"$CONFIG"
}
flows() {
	local port
	for port in {1000..1019}; do
		echo "source=10.0.1.2 destination=10.0.2.2 protocol=udp source_port=$port destination_port=7000 as=to/four"
		echo "source=fd00:1::2 destination=fd00:2::2 protocol=udp source_port=$port destination_port=7000 as=to/six"
	done
}

# packets: UDP packets of both families from h1, to ports 7000 and 7001, by scapy; with the same MAC addresses each time
packets() {
	on h1 /usr/bin/python3 - "$(mac_of n1 eth1)" <<-'END'
		import sys
		from scapy.all import Ether, IP, IPv6, UDP, Raw, sendp
		mac = sys.argv[1]
		for i in range(20):
		    for port in (7000, 7001):
		        ttl = (64, 2)[i % 2]
		        end = UDP(sport=1000 + i, dport=port) / Raw(bytes([i]) * (10 + 60 * i))
		        sendp(Ether(dst=mac) / IP(dst="10.0.2.2", id=i, ttl=ttl, tos=4 * i) / end, iface="eth0", verbose=False)
		        sendp(Ether(dst=mac) / IPv6(dst="fd00:2::2", hlim=ttl, tc=4 * i) / end, iface="eth0", verbose=False)
	END
}

# observe NAME: what comes to h2 and h3 of these packets, in $LAB_DIR/NAME-h2 and -h3 as hexadecimal bytes
observe() {
	local h
	for h in h2 h3; do
		spawn $h "$1-$h" tcpdump -i eth0 -Q in -U -w - 'udp portrange 7000-7001'
		capturing() { grep -q "listening on" "$LAB_DIR/$1-$2.err"; }
		wait_for 10 capturing "$1" $h
	done
	packets
	all_there() { [ "$(count "$1" h2)" -ge 40 ] && [ "$(count "$1" h3)" -ge 40 ]; }
	wait_for 10 all_there "$1"
	for h in h2 h3; do
		kill "$(cat "$LAB_DIR/$1-$h.pid")"
		wait_for 10 no_processes "$(cat "$LAB_DIR/$1-$h.pid")"
		bytes "$1" $h >"$LAB_DIR/$1-$h"
	done
}

# of a capture: how many packets it has; their bytes
count() { tcpdump -r "$LAB_DIR/$1-$2.out" -n 2>/dev/null | wc -l; }
bytes() { tcpdump -r "$LAB_DIR/$1-$2.out" -t -n -xx 2>/dev/null | grep '0x'; }

@test "the same packets come to the same hosts, byte by byte, as with ip rule and a table of the kernel" {
	local before
	on n1 ip route add default via 10.0.3.2 table 77
	on n1 ip -6 route add default via fd00:3::2 table 77
	on n1 ip rule add iif eth1 ipproto udp dport 7000 lookup 77
	on n1 ip -6 rule add iif eth1 ipproto udp dport 7000 lookup 77
	on h1 ping -c 1 -W 5 10.0.2.2
	on h1 ping -c 1 -W 5 fd00:2::2
	on n1 ping -c 1 -W 5 10.0.3.2
	on n1 ping -c 1 -W 5 fd00:3::2
	observe kernel
	on n1 ip rule del iif eth1 ipproto udp dport 7000 lookup 77
	on n1 ip -6 rule del iif eth1 ipproto udp dport 7000 lookup 77
	with_rule 10.0.3.2 fd00:3::2
	daemon
	warm_up
	before=$(counter forward)
	observe sluice
	[ "$(count kernel h3)" = 40 ]
	[ "$(count kernel h2)" = 40 ]
	cmp "$LAB_DIR/kernel-h2" "$LAB_DIR/sluice-h2"
	cmp "$LAB_DIR/kernel-h3" "$LAB_DIR/sluice-h3"
	[ $(($(counter forward) - before)) -ge 80 ]
	[ "$(sluice -j show filters | jq '[.[] | select(.name == "four" or .name == "six").packets] | add')" = 40 ]
	run sluice show filters
	[[ $output == *"=> via 10.0.3.2"* ]]
	[ "$(sluice -j explain 10.0.2.2 port=eth1 protocol=udp destination_port=7000 | jq -r .route.prefix)" = 10.0.3.0/24 ]
	[ "$(sluice -j explain 10.0.2.2 port=eth1 protocol=udp destination_port=7001 | jq -r .route.prefix)" = 10.0.2.0/24 ]
	# the same by exact flows, at ports without a list
	daemon_end TERM
	with_flows 10.0.3.2 fd00:3::2
	daemon
	warm_up
	[ "$(flows | sluice filter flow load -)" = "40 flows in force" ]
	before=$(counter forward)
	observe flows
	cmp "$LAB_DIR/kernel-h2" "$LAB_DIR/flows-h2"
	cmp "$LAB_DIR/kernel-h3" "$LAB_DIR/flows-h3"
	[ $(($(counter forward) - before)) -ge 80 ]
	[ "$(sluice -j filter flow list | jq -c '[.[].packets] | [add, max]')" = '[40,1]' ]
	[ "$(sluice -j explain 10.0.2.2 port=eth1 source=10.0.1.2 protocol=udp source_port=1000 destination_port=7000 | jq -r .route.prefix)" = 10.0.3.0/24 ]
}

@test "the kernel resolves a next hop that no route names, and again when it has forgotten" {
	with_rule 10.0.3.2 fd00:3::2
	on n1 ip neigh flush dev eth3
	daemon
	warm_up
	datagrams() { on h3 nstat -asz IpInReceives | awk '$1 == "IpInReceives" { print $2 }'; }
	# comes BEFORE: h3 has had more than BEFORE packets, once h1 has sent it one more
	comes() {
		on h1 socat -u SYSTEM:'echo 1' UDP:10.0.2.2:7000
		[ "$(datagrams)" -gt "$1" ]
	}
	resolved() { on n1 ip neigh show dev eth3 | grep -q "^$1 lladdr"; }
	wait_for 20 resolved 10.0.3.2
	wait_for 20 resolved fd00:3::2
	wait_for 20 comes "$(datagrams)"
	on n1 ip neigh flush dev eth3
	wait_for 20 resolved 10.0.3.2
	wait_for 20 comes "$(datagrams)"
}

@test "a next hop without a route, or that does not answer, takes the packets from everybody, by name" {
	with_rule 10.0.9.9 fd00:3::9
	daemon
	warm_up
	accounts_open
	packets
	dropped() { [ "$(change drops next-hop)" = 40 ]; }
	wait_for 10 dropped
	[ "$(sluice -j show filters | jq '[.[] | select(.name == "four" or .name == "six").packets] | add')" = 40 ]
}
