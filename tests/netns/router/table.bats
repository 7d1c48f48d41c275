#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Rules that send packets by a table of the kernel. The kernel is the oracle: with ip rule in place of the
# filter list, and no fast path, the same packets must come to the same hosts as the same bytes.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

# Behind eth3 a host h3, which stands for another router, with a prefix of its own behind it.
setup() {
	load router
	router_up
	host_up h3
	plug 3
	default_routes 3
}

teardown() { lab_end; }

# the tables of the kernel: 77 sends by a gateway, 6 (IPv6) by its link-local address; a host of its own link;
# a prefix that it refuses, one that it leaves to the next table, and one that it does not have
tables() {
	local link_local
	link_local=$(on h3 ip -6 -o addr show dev eth0 scope link | awk '{ sub("/.*", "", $4); print $4 }')
	on n1 ip route add 10.50.0.0/16 via 10.0.3.2 table 77
	on n1 ip -6 route add fd00:50::/64 via "$link_local" dev eth3 table 77
	on n1 ip route add 10.51.0.0/16 dev eth3 table 77
	on n1 ip route add unreachable 10.52.0.0/16 table 77
	on n1 ip route add throw 10.53.0.0/16 table 77
	on n1 ip route add blackhole 10.54.0.0/16 table 77
	on n1 ip -6 route add prohibit fd00:52::/64 table 77
	on n1 ip route add 10.53.0.0/16 via 10.0.2.2
	on n1 ip route add 10.56.0.0/16 via 10.0.2.2
	on n1 ip route add 10.50.0.0/16 via 10.0.2.2
	on n1 ip route add 10.52.0.0/16 via 10.0.2.2
	on n1 ip route add 10.54.0.0/16 via 10.0.2.2
	on n1 ip -6 route add fd00:50::/64 via fd00:2::2
	on n1 ip -6 route add fd00:52::/64 via fd00:2::2
	on n1 ip -6 route add fd00:56::/64 via fd00:2::2
	on h3 ip addr add 10.51.0.9/32 dev eth0
}

# with_rule: what enters by eth1 for UDP port 7000 goes by table 77
with_rule() {
	printf '%s\n' "filters:" "- name: in" "  ports: [{name: eth1}]" "  default: permit" "  rules:" \
		"  - {action: permit, name: by-table, protocol: udp, destination_port: 7000, table: 77}" "heartbeat_s: 600" \
		"ports:" "  - name: eth1" "  - name: eth2" "  - name: eth3" >"$CONFIG"
}

# with_flows: no port has a list, and exact flows of these packets name a rule with the table
with_flows() {
	printf '%s\n' "exact_flows: 512" "filters:" "- name: to" "  flows: true" "  rules:" \
		"  - {action: permit, name: table, table: 77}" "heartbeat_s: 600" \
		"ports:" "  - name: eth1" "  - name: eth2" "  - name: eth3" >"$CONFIG"
}
flows() {
	local port to
	for port in {1000..1019}; do
		for to in 10.50.0.1 10.51.0.9 10.52.0.1 10.53.0.1 10.54.0.1 10.56.0.1 10.0.1.1 fd00:50::1 fd00:52::1 fd00:56::1 fd00:1::1; do
			[[ $to == *:* ]] && echo "source=fd00:1::2" || echo "source=10.0.1.2"
			echo "destination=$to protocol=udp source_port=$port destination_port=7000 as=to/table"
		done
	done | paste -d ' ' - -
}

# packets N: N times the same UDP packets of both families from h1, to ports 7000 and 7001, by scapy
packets() {
	on h1 /usr/bin/python3 - "$(mac_of n1 eth1)" "$1" <<-'END'
		import sys
		from scapy.all import Ether, IP, IPv6, UDP, Raw, sendp
		mac, n = sys.argv[1], int(sys.argv[2])
		ip4 = ["10.50.0.1", "10.51.0.9", "10.52.0.1", "10.53.0.1", "10.54.0.1", "10.56.0.1", "10.0.1.1"]
		ip6 = ["fd00:50::1", "fd00:52::1", "fd00:56::1", "fd00:1::1"]
		for i in range(n):
		    for port in (7000, 7001):
		        ttl = (64, 2)[i % 2]
		        end = UDP(sport=1000 + i, dport=port) / Raw(bytes([i]) * (10 + 60 * i))
		        all = [IP(dst=a, id=i, ttl=ttl, tos=4 * i) for a in ip4] + [IPv6(dst=a, hlim=ttl, tc=4 * i) for a in ip6]
		        sendp([Ether(dst=mac) / ip / end for ip in all], iface="eth0", verbose=False)
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
	packets 20
	# of 20 packets: to port 7000 by table 77 three prefixes to h3, four by main to h2; to port 7001 eight by main
	all_there() { [ "$(count "$1" h2)" -ge 220 ] && [ "$(count "$1" h3)" -ge 60 ]; }
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

# came: what h3 has had of the packets for port 7000 so far
came() { on h3 nstat -asz IpInReceives Ip6InReceives | awk '/InReceives/ { n += $2 } END { print n }'; }

# every_hop: each packet for port 7000 comes where the table sends it
every_hop() {
	local before
	before=$(came)
	packets 1
	[ $(($(came) - before)) -ge 3 ]
}

@test "the same packets come to the same hosts, byte by byte, as with ip rule and the same table" {
	local before
	tables
	on n1 ip rule add iif eth1 ipproto udp dport 7000 lookup 77
	on n1 ip -6 rule add iif eth1 ipproto udp dport 7000 lookup 77
	on h1 ping -c 1 -W 5 10.0.2.2
	on h1 ping -c 1 -W 5 fd00:2::2
	wait_for 20 every_hop
	observe kernel
	[ "$(count kernel h3)" = 60 ]
	[ "$(count kernel h2)" = 220 ]
	on n1 ip rule del iif eth1 ipproto udp dport 7000 lookup 77
	on n1 ip -6 rule del iif eth1 ipproto udp dport 7000 lookup 77
	with_rule
	daemon
	warm_up
	wait_for 20 every_hop
	before=$(counter forward)
	observe sluice
	cmp "$LAB_DIR/kernel-h2" "$LAB_DIR/sluice-h2"
	cmp "$LAB_DIR/kernel-h3" "$LAB_DIR/sluice-h3"
	[ $(($(counter forward) - before)) -ge 280 ]
	run sluice show filters
	[[ $output == *"=> table 77"* ]]
	[ "$(sluice -j explain 10.50.0.1 port=eth1 protocol=udp destination_port=7000 | jq -r .verdict)" = ask ]
	[ "$(sluice -j explain 10.50.0.1 port=eth1 protocol=udp destination_port=7001 | jq -r .verdict)" = forward ]
	[ "$(sluice -j explain 10.0.1.1 port=eth1 protocol=udp destination_port=7000 | jq -r .verdict)" = kernel ]
	# the same by exact flows, at ports without a list
	daemon_end TERM
	with_flows
	daemon
	warm_up
	[ "$(flows | sluice filter flow load -)" = "220 flows in force" ]
	wait_for 20 every_hop
	before=$(counter forward)
	observe flows
	cmp "$LAB_DIR/kernel-h2" "$LAB_DIR/flows-h2"
	cmp "$LAB_DIR/kernel-h3" "$LAB_DIR/flows-h3"
	[ $(($(counter forward) - before)) -ge 280 ]
}

@test "a table follows the kernel at once, and what it refuses nobody gets, by name" {
	tables
	with_rule
	daemon
	warm_up
	wait_for 20 every_hop
	accounts_open
	packets 10
	# 10.52, 10.54 and fd00:52 of each
	dropped() { [ "$(change drops next-hop)" = 30 ]; }
	wait_for 10 dropped
	datagrams() { on h2 nstat -asz IpInReceives | awk '$1 == "IpInReceives" { print $2 }'; }
	# to_h2: a packet for 10.50.0.1 comes to h2
	to_h2() {
		local before
		before=$(datagrams)
		on h1 socat -u SYSTEM:'echo 1' UDP:10.50.0.1:7000
		[ "$(datagrams)" -gt "$before" ]
	}
	run ! to_h2
	on n1 ip route del 10.50.0.0/16 table 77
	to_h2
	on n1 ip route add 10.50.0.0/16 via 10.0.2.2 table 77
	wait_for 20 to_h2
	on n1 ip route replace unreachable 10.50.0.0/16 table 77
	run ! to_h2
	on n1 ip route flush table 77
	to_h2
	# The rule's end ends the detour too.
	configure
	reload
	to_h2
}
