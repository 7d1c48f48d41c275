#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Our RoCE and the kernel's work together: node n1 is a virtual machine on verbs-ud over the
# kernel's own RoCE, node n2 is on roce-xdp, which makes the same bytes in user space.
bats_require_minimum_version 1.5.0

. tests/rdma/vm_cluster.bash

setup_file() {
	[ -n "${LAB_DIR:-}" ] || return 0
	vms_form 2 1 mixed
	wait_for 60 on h2p1 ping -c 1 -W 2 10.1.1.2
	wait_for 60 on h2p1 ping -c 1 -W 2 fd00:0:1:1::2
	rdma_macs 2
}

setup() { [ -n "${LAB_DIR:-}" ] || skip "no QEMU, or no kernel for it"; }

again() { bridge_ask "$1" peers | jq '.duplicate + .late'; }
# again_is N COUNT: has node N received so many messages for the second time?
again_is() { [ "$(again "$1")" -ge "$2" ]; }

# replay TO FROM HOW: send the last message of node FROM to node TO five more times, damaged in this
# way
replay() { on fabric /usr/bin/python3 -B tests/rdma/replay.py "$LAB_DIR/fabric.pcap" "10.9.0.$2" br0 5 "$3"; }

PORT=([1]=m1 [2]=n2) # the fabric's netdevs to the nodes
# only_the_good_counts TO FROM: node TO takes, of all replays, only those that are not damaged
only_the_good_counts() {
	local before how
	# Both nodes keep sending messages, even without traffic.
	on fabric timeout $((20 * LAB_PATIENCE)) tcpdump -i "${PORT[$1]}" -w "$LAB_DIR/fabric.pcap" -s 0 -U -c 1 "udp port 4791 and src 10.9.0.$2"
	before=$(again "$1")
	for how in icrc qkey qpn good; do
		replay "$1" "$2" $how
	done
	# Replays arrive in the order in which they were sent, so all have arrived now.
	wait_for 20 again_is "$1" $((before + 5))
	[ "$(again "$1")" = $((before + 5)) ]
}

@test "one node uses the kernel's RoCE, the other one ours" {
	[ "$(bridge_ask 1 fabric | jq -r '[.transport, .rdma_device, .path_mtu_bytes] | @csv')" = '"verbs-ud","rxe0",2048' ]
	[ "$(bridge_ask 2 fabric | jq -r .transport)" = roce-xdp ]
	# The packet memory of the AF_XDP sockets and the memory region are the same pages.
	bridge_ask 1 fabric | jq -e '.region_address == .memory_address and .region_bytes == .memory_bytes'
}

@test "IPv4 crosses from our RoCE to the kernel's whole and in order, to the packet" {
	cross 2 1 --dst 10.1.1.2 --imix --flows 20
	cross 2 1 --dst 10.1.1.2 --size 1990
}

@test "IPv4 crosses from the kernel's RoCE to ours whole and in order, to the packet" {
	cross 1 2 --dst 10.2.1.2 --imix --flows 20
	cross 1 2 --dst 10.2.1.2 --size 1990
}

@test "IPv6 crosses both ways whole and in order, to the packet" {
	cross 2 1 --dst fd00:0:1:1::2 --size 1514 --flows 20
	cross 1 2 --dst fd00:0:2:1::2 --size 90 --flows 20
}

@test "the other bridge has transmitted every frame that a bridge sent" {
	wait_for 20 bridges_conserve 2
}

@test "the kernel refuses our frames with a wrong ICRC, queue key or queue pair, and takes the good one" {
	only_the_good_counts 1 2
}

@test "our bridge refuses the kernel's frames with a wrong ICRC, queue key or queue pair by name, and takes the good one" {
	local before after
	before=$(bridge_ask 2 fabric | jq -c .frames)
	only_the_good_counts 2 1
	after=$(bridge_ask 2 fabric | jq -c .frames)
	jq -ne --argjson a "$after" --argjson b "$before" '[$a.icrc - $b.icrc, $a.qkey - $b.qkey, $a.qpn - $b.qpn] == [5, 5, 5]'
}

# express TEXT CHECK SEQUENCE: as n2's XDP program would, send an express message to n1 with a packet for h1p1
express() {
	on fabric /usr/bin/python3 -B tests/rdma/express_message.py "$LAB_DIR/fabric.pcap" 10.9.0.2 br0 "$(cat "$LAB_DIR/mac.n1")" \
		"$(mac_of h1p1 eth0)" 10.1.1.2 "$@"
}
heard() { grep -q "$1" "$LAB_DIR/heard.out"; }

@test "the kernel takes an express message that has an ICRC, and none that has another check or none" {
	vm_enter h1p1
	vm_spawn "$VM_MACHINE" heard "${VM_ENTER[@]}" socat -u UDP-RECVFROM:9000,fork STDOUT
	listens() { on h1p1 ss -Hlun | grep -q :9000; }
	wait_for 60 listens
	on fabric timeout $((20 * LAB_PATIENCE)) tcpdump -i "${PORT[1]}" -w "$LAB_DIR/fabric.pcap" -s 0 -U -c 1 "udp port 4791 and src 10.9.0.2"
	express "checked-by-udp " udp 0
	express "not-checked " none 1
	express "checked-by-icrc " icrc 2
	wait_for 60 heard checked-by-icrc
	vm_signal heard TERM
	[ "$(cat "$LAB_DIR/heard.out")" = "checked-by-icrc " ]
}

@test "our bridge has refused no other frame of the kernel's RoCE" {
	bridge_ask 2 fabric | jq -e '.frames | to_entries | map(select(.value > 0).key) - ["send", "icrc", "qkey", "qpn"] == []'
	bridge_ask 1 fabric | jq -e '.completions | to_entries | map(select(.value > 0).key) == ["success"]'
	[ "$(bridge_ask 1 peers | jq .downs)" = 0 ]
}

# n2_express: start the daemons of n2 again, with express
n2_express() {
	kill "$(cat "$LAB_DIR/bridge-n2.pid")" "$(cat "$LAB_DIR/sluiced-n2.pid")"
	CLUSTER_TRANSPORT=roce-xdp CLUSTER_FABRIC="express: auto" cluster_config 2 2 1 fast >"$LAB_DIR/n2.yaml" && cluster_start 2 &&
		wait_for 120 cluster_is_up 2 1 && wait_for 60 past_the_bridge 0
}
# past_the_bridge N: does a ping from h2p1 bring the frames that went past the bridge of n2 above N?
past_the_bridge() {
	on h2p1 ping -c 1 -W 2 10.1.1.2 && [ "$(express_frames)" -gt "$1" ]
}
express_frames() { bridge_ask 2 voqs | jq -s '[.[] | select(.port == "n1p1").express_frames] | add'; }

@test "express messages cross from our XDP to the kernel's RoCE whole and in order, to the packet" {
	local before
	n2_express
	before=$(express_frames)
	cross 2 1 --dst 10.1.1.2 --imix --flows 20
	echo "past the bridge: $(($(express_frames) - before))"
	[ $(($(express_frames) - before)) -ge $((RDMA_PACKETS / 2)) ]
	cross 1 2 --dst 10.2.1.2 --imix --flows 20
}
