#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Ports of a cluster that are no plain netdevs: a VLAN and a bond. They carry between nodes what scapy expects, byte for
# byte, and a bond's members come and go. In a virtual machine, whose kernel has both.
bats_require_minimum_version 1.5.0

. tests/rdma/vm_cluster.bash

RATE=50 LIVENESS_MS=5000 HELLOS_PER_LIFE=5

setup_file() {
	local name
	[ -n "${LAB_DIR:-}" ] || return 0
	mkdir -p "$LAB_DIR/vm/m1/lab" "$LAB_DIR/inside"
	VM_SECONDS=600 vm_on m1 tests/vm/uncommon_ports up $LIVENESS_MS
	for name in n1 n2 h1p1 h2p1; do echo m1 >"$LAB_DIR/inside/$name"; done
	cluster_of 2
	export NODES
	hosts_meet
	for name in 1 2; do mac_of n$name eth1; done >"$LAB_DIR/macs.routers"
	for name in 1 2; do mac_of h${name}p1 eth0; done >"$LAB_DIR/macs.hosts"
}

teardown_file() {
	local name
	[ -n "${LAB_DIR:-}" ] || return 0
	VM_SECONDS=600 vm_on m1 tests/vm/uncommon_ports down
	rm -f "$LAB_DIR"/inside/*
}

setup() { [ -n "${LAB_DIR:-}" ] || skip "no QEMU, or no kernel for it"; }

@test "the fast path is on a VLAN netdev and on a bond, in generic mode, and each node knows the other's" {
	for n in 1 2; do
		on n$n build/sluice -j show ports | tee /dev/stderr | jq -e '[.[0] | .port, .state, .mode] == ["eth1", "on", "generic"]'
		on n$n build/sluice -j show routes >"$LAB_DIR/routes"
		jq -se "any(.[][]; .prefix == \"10.$((3 - n)).1.0/24\")" "$LAB_DIR/routes"
	done
}

# by_xdp: did the fast path take all that crossed, by the ledger? The kernel's frames for a remote port are "remote".
by_xdp() { cat "$LAB_DIR/ledger" && tail -n 1 "$LAB_DIR/ledger" | jq -e '[.nodes[].remote] | add == 0'; }

@test "frames of all sizes cross both ways as scapy expects, by the fast path" {
	frames_arrive_unchanged >"$LAB_DIR/ledger" || { cat "$LAB_DIR/ledger" && false; }
	by_xdp
}

# busy_member M0 M1: print the member by which n2 sends; they had sent so many packets before
busy_member() {
	if [ "$(carries m0)" -gt $(($1 + 20)) ]; then echo m0; elif [ "$(carries m1)" -gt $(($2 + 20)) ]; then echo m1; else false; fi
}
member() { on n2 cat /sys/class/net/"$1"/bonding_slave/mii_status; }
member_is() { [ "$(member "$1")" = "$2" ]; }
carries() { on n2 cat /sys/class/net/"$1"/statistics/tx_packets; }
port_at_n1() { [ "$(on n1 cat /sys/class/net/n2p1/operstate)" = "$1" ]; }
both_collect() { [ "$(on n2 grep -c '^MII Status: up' /proc/net/bonding/eth1)" = 3 ] && [ "$(on n2 cat /sys/class/net/eth1/bonding/ad_num_ports)" = 2 ]; }

@test "a member unplugged under traffic costs the frames of one hello, and none once it is back" {
	local before busy sent received
	cluster_counts
	before=("$(carries m0)" "$(carries m1)")
	vm_enter h1p1
	vm_spawn "$VM_MACHINE" pinging "${VM_ENTER[@]}" ping -q -i 0.02 10.2.1.2
	wait_for 60 busy_member "${before[@]}"
	busy=$(busy_member "${before[@]}")
	on h2p1 ip link set "$busy" down
	wait_for 60 member_is "$busy" down
	[ "$(on n2 cat /sys/class/net/eth1/operstate)" = up ]
	on h1p1 ping -q -c 10 -i 0.02 -W 5 10.2.1.2
	on h2p1 ip link set "$busy" up
	wait_for 60 both_collect
	on h1p1 ping -q -c 10 -i 0.02 -W 5 10.2.1.2
	vm_signal pinging INT
	vm_output pinging || true # its status says that packets were lost
	read -r sent received < <(sed -nE 's/^([0-9]+) packets transmitted, ([0-9]+) received.*/\1 \2/p' "$LAB_DIR/pinging.out")
	echo "by $busy: sent $sent, answered $received"
	[ $((sent - received)) -le $((RATE * LIVENESS_MS / HELLOS_PER_LIFE / 1000)) ]
	# Both nodes account for each of them: what was lost, a bond had.
	cluster_conserves >"$LAB_DIR/ledger"
	by_xdp
}

@test "without members the port is down at the other node, and up with one" {
	for member in m0 m1; do on h2p1 ip link set $member down; done
	wait_for 60 port_at_n1 down
	on h2p1 ip link set m1 up
	wait_for 60 port_at_n1 up
	hosts_meet
}
