#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# VLAN tags that are not in the frame when XDP sees it. No port takes a tagged frame for an untagged one: the
# program asks the driver, or the offload is switched off while the fast path is there, or the port is refused.

bats_require_minimum_version 1.5.0

load router

setup() { router_up; }
teardown() { lab_end; }

pass() { on h1 ping -q -c 5 -i 0.05 -W 1 "$@" | awk '/received/ { print $4 }'; }

# tags_sent VID: from now on all that h1 sends over IPv4 has this tag, which is left to the device
tags_sent() {
	cat >"$LAB_DIR/tag.bpf.c" <<-SOURCE
		#include <linux/bpf.h>
		#include <linux/if_ether.h>
		#include <bpf/bpf_helpers.h>
		SEC("tc")
		int tag(struct __sk_buff *skb)
		{
			if (skb->protocol == __builtin_bswap16(ETH_P_IP))
				bpf_skb_vlan_push(skb, __builtin_bswap16(ETH_P_8021Q), 0xe000 | $1);
			return 0;
		}
		char LICENSE[] SEC("license") = "Dual BSD/GPL";
	SOURCE
	clang -target bpf -O2 -g "-I/usr/include/$(uname -m)-linux-gnu" -c "$LAB_DIR/tag.bpf.c" -o "$LAB_DIR/tag.bpf.o"
	on h1 tc qdisc add dev eth0 clsact
	on h1 tc filter add dev eth0 egress bpf direct-action obj "$LAB_DIR/tag.bpf.o" sec tc
	[ "$(on h1 ethtool -k eth0 | grep -c 'tx-vlan-offload: on')" = 1 ]
}

offload() { on n1 ethtool -k "$1" | sed -n 's/^rx-vlan-offload: //p'; }
offload_is() { [ "$(offload "$1")" = "$2" ]; }
ports() { printf '%s\n' "ports:" "$@" >"$CONFIG"; }
state() { sluice -j show ports | jq -r ".[] | select(.port == \"$1\").state"; }

@test "a frame whose tag its sender left to a veth is not routed as an untagged one" {
	local before
	daemon
	warm_up
	[ "$(pass 10.0.2.2)" = 5 ]
	before=$(reason punt vlan)
	tags_sent 5
	[ "$(pass 10.0.2.2)" = 0 ]
	[ $(($(reason punt vlan) - before)) = 5 ]
}

@test "a tag beside the frame chooses the interface, and the frame leaves without it" {
	local before ifindex
	daemon
	warm_up
	ifindex=$(on n1 ip -j link show dev eth1 | jq '.[0].ifindex')
	tags_sent 6
	# As if eth1 had the VLAN netdev eth1.6, with the settings of eth1: port, TPIDs, ids -> interface.
	on n1 bpftool map update pinned "$PINS/sl_vlan" key \
		$((ifindex & 255)) $((ifindex >> 8)) 0 0 0x81 0 0 0 0 6 0 0 value $((ifindex & 255)) $((ifindex >> 8)) 0 0
	before=$(counter forward)
	on h2 tcpdump -i eth0 -c 5 -w "$LAB_DIR/arrived.pcap" icmp >/dev/null 2>"$LAB_DIR/tcpdump" &
	wait_for 5 grep -q listening "$LAB_DIR/tcpdump"
	[ "$(pass 10.0.2.2)" = 5 ]
	wait $!
	[ $(($(counter forward) - before)) = 10 ] # there and back
	# `vlan` matches also the tag that a capture keeps beside the frame.
	[ "$(tcpdump -r "$LAB_DIR/arrived.pcap" vlan 2>/dev/null | wc -l)" = 0 ]
}

@test "in generic mode, where no program sees such a tag, a veth is refused, with the reason" {
	ports "  - {name: eth1, mode: generic}" "  - name: eth2"
	daemon
	[ "$(state eth1)" = refused ]
	log_says 'eth1: a sender on a veth leaves VLAN tags to its device, and XDP cannot see them in generic mode; use native mode, or, if no tagged frames come, write "hidden_tags: ignore" beside the port'
	[ "$(xdp_program eth1)" = none ]
	wait_for 5 reaches 10.0.2.2 # by the kernel
	tags_sent 5
	[ "$(pass 10.0.2.2)" = 0 ]
}

@test "a program that an earlier configuration put there goes when the port is refused" {
	ports "  - {name: eth1, mode: generic, hidden_tags: ignore}" "  - name: eth2"
	daemon
	[ "$(state eth1)" = on ]
	[ "$(offload eth1)" = on ]
	ports "  - {name: eth1, mode: generic}" "  - name: eth2"
	kill -HUP "$DAEMON"
	wait_for 5 port_is eth1 refused
	[ "$(xdp_program eth1)" = none ]
	ports "  - name: eth1" "  - name: eth2"
	kill -HUP "$DAEMON"
	wait_for 5 port_is eth1 on
	[ "$(xdp_program eth1)" = sl_edge_bound ]
	warm_up
}

@test "a macvlan, below which the kernel has taken the tags off, is refused, with the reason" {
	on n1 ip link add child link eth1 type macvlan mode bridge
	on n1 ip link set dev child up
	ports "  - name: eth1" "  - name: child"
	daemon
	[ "$(state child)" = refused ]
	log_says 'child: the netdev below a macvlan has taken VLAN tags off, so XDP would take tagged frames for untagged ones; if none come, write "hidden_tags: ignore" beside the port'
}

@test "the offload is off while the fast path is on a port, and on again afterwards" {
	[ "$(offload eth1)" = on ]
	on n1 ethtool -K eth2 rxvlan off
	daemon
	[ "$(offload eth1)" = off ]
	sluice detach eth1
	sluice detach eth2
	[ "$(offload eth1)" = on ]
	[ "$(offload eth2)" = off ] # as it was found
	sluice attach eth1
	[ "$(offload eth1)" = off ]
	on n1 ip link set dev eth1 xdp off
	wait_for 5 port_is eth1 off
	[ "$(offload eth1)" = on ]
}

@test "the next daemon switches on again what one that was killed had switched off" {
	daemon
	[ "$(offload eth1)" = off ]
	daemon_end KILL
	[ "$(offload eth1)" = off ]
	daemon --detach
	[ "$(offload eth1)" = off ]
	[ "$(pins)" = "$(published)" ]
	daemon_end TERM
	[ "$(offload eth1)" = on ]
	[ "$(offload eth2)" = on ]
	nothing_was_changed
}

@test "someone switches the offload on: the fast path leaves the port until it is attached again" {
	daemon
	warm_up
	on n1 ethtool -K eth1 rxvlan on
	wait_for 5 port_is eth1 off
	[ "$(xdp_program eth1)" = none ]
	log_says 'eth1: someone switched VLAN offload on, which hides tags from the fast path; `sluice attach eth1` switches it off and puts the fast path back'
	reaches 10.0.2.2
	sluice attach eth1
	[ "$(offload eth1)" = off ]
	warm_up
}
