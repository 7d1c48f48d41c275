#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Clusters of three virtual machines and of two, on the kernel's own RoCE: on verbs-ud and verbs-rc,
# each with as many frames in a message as fit and with one. Every byte is compared; then the bytes that
# the bridge copies, a network that loses packets, and faults of a node.
bats_require_minimum_version 1.5.0

. tests/rdma/vm_cluster.bash

MANY="packing: 255, pack_delay_us: 100000" # a slow machine would have nothing to pack otherwise
ONE="packing: 1"

setup_file() {
	[ -n "${LAB_DIR:-}" ] || return 0
	cluster_again 3 verbs-ud "$MANY"
	remember_macs
}

setup() { [ -n "${LAB_DIR:-}" ] || skip "no QEMU, or no kernel for it"; }

# carries TRANSPORT: do all nodes use it, with the memory of the AF_XDP sockets as the one memory
# region?
carries() {
	each_node build/sluice --json show fabric | jq -es --arg transport "$1" --argjson n "$(wc -w <<<"$NODES")" 'length == $n and
		all(.transport == $transport and .rdma_device == "rxe0" and .region_address == .memory_address and
			.region_bytes == .memory_bytes)'
}

# bytes_of N: bytes that the bridge of node N has copied, and sent in all and as data, until now
bytes_of() {
	{ bridge_ask "$1" fabric && bridge_ask "$1" peers; } |
		jq -s 'add | {copied: .bytes_copied, all: .sent_bytes, data: .data_bytes_sent}'
}

# loses N PERCENT [FILTER...]: from now on, the network loses this share of the packets that node N
# sends into the fabric, or of those that a filter of tc-u32(8) selects
loses() {
	local n=$1 percent=$2
	shift 2
	vm_on "n$n" tc qdisc add dev fab0 root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
	vm_on "n$n" tc qdisc add dev fab0 parent 1:2 handle 30: netem loss "$percent%"
	[ $# -gt 0 ] || set -- match u8 0 0
	vm_on "n$n" tc filter add dev fab0 parent 1: protocol ip u32 "$@" flowid 1:2
}
# lost_by_network N: how many packets of node N the network has lost until now
lost_by_network() { vm_on "n$1" tc -s -j qdisc show dev fab0 | jq '.[] | select(.kind == "netem").drops'; }
loses_no_more() { vm_on "n$1" tc qdisc del dev fab0 root; }

FLOOD=1000 # frames: so few that no queue is full even if none of them leaves
FLOOD_RUN=250 # at once: the ring of a veth has 256 places
# flood: the host of node 1 sends frames of 1,500 bytes, one to a message, to the host of node 2;
# all are accounted for. Prints the sink's report and the ledger.
flood() {
	local before sent
	cluster_counts
	before=$(arrived_or_lost)
	bytes_of 1 >"$LAB_DIR/bytes.before"
	vm_enter h2p1
	vm_spawn "$VM_MACHINE" received "${VM_ENTER[@]}" build/lab/sink eth0 --json --verify
	wait_for 60 grep -q ready "$LAB_DIR/received.err"
	for ((sent = 0; sent < FLOOD; sent += FLOOD_RUN)); do
		vm_in h1p1 build/lab/gen eth0 --json --dst-mac "$(mac_number routers 1)" --dst 10.2.1.2 --flows 10 --first-flow $sent \
			--size 1500 --count $FLOOD_RUN --rate 500 >"$LAB_DIR/gen.json"
		[ "$(jq .sent "$LAB_DIR/gen.json")" = $FLOOD_RUN ]
		wait_for 60 have_arrived $((before + sent + FLOOD_RUN))
	done
	cluster_conserves >"$LAB_DIR/ledger.json"
	vm_signal received INT
	vm_output received >/dev/null
	bytes_of 1 >"$LAB_DIR/bytes.after"
	cluster_conserves $FLOOD "$(jq .packets "$LAB_DIR/received.out")" >"$LAB_DIR/ledger.json"
	jq -c . "$LAB_DIR/received.out" "$LAB_DIR/ledger.json"
}

arrived_or_lost() { bridge_ask 2 fabric | jq '.frames_received + .lost'; }
have_arrived() { [ "$(arrived_or_lost)" -ge "$1" ]; }

# copied_no_data: did the bridge of node 1 copy no more of the flood than a header for each frame,
# beside its other messages?
copied_no_data() {
	jq -es --argjson n $FLOOD '(.[1].copied - .[0].copied) as $copied | (.[1].all - .[0].all) as $all | (.[1].data - .[0].data) as $data |
		{$copied, $all, $data}, ($data > $n * 1500 and $copied < $all - $data + $n * 64)' "$LAB_DIR/bytes.before" "$LAB_DIR/bytes.after"
}

# carries_every_byte TRANSPORT CONDITION: frames of all sizes arrive unchanged, in a number of
# messages that meets the condition
carries_every_byte() {
	local before
	carries "$1"
	before=$(bridge_ask 1 fabric)
	# shellcheck disable=SC2119
	frames_arrive_unchanged
	bridge_ask 1 fabric | jq -e --argjson before "$before" '{frames: (.frames_sent - $before.frames_sent),
		messages: (.data_messages_sent - $before.data_messages_sent)} | ., ('"$2)"
}

@test "three nodes on verbs-ud, many frames in a message: every byte, order, TTL, and conservation to the packet" {
	cluster_of 3
	carries_every_byte verbs-ud '.frames > .messages'
}

@test "three nodes on verbs-rc, one frame in a message: every byte, order, TTL, and conservation to the packet" {
	cluster_again 3 verbs-rc "$ONE"
	carries_every_byte verbs-rc '.frames == .messages'
}

@test "two nodes on verbs-rc, many frames in a message: every byte, order, TTL, and conservation to the packet" {
	cluster_again 2 verbs-rc "$MANY"
	carries_every_byte verbs-rc '.frames > .messages'
}

@test "verbs-rc loses nothing in a network that loses 1 % in both directions, and keeps the order" {
	cluster_of 2
	loses 1 1
	loses 2 1
	flood
	lost=$(($(lost_by_network 1) + $(lost_by_network 2)))
	echo "lost by the network: $lost"
	loses_no_more 1
	loses_no_more 2
	[ $lost -gt 0 ]
	jq -e --argjson n $FLOOD '.packets == $n and .reordered + .duplicates + .late + .bad_payload == 0' "$LAB_DIR/received.out"
	jq -e '.drops == {} and .nodes.n2.lost_messages == 0' "$LAB_DIR/ledger.json"
}

@test "verbs-rc copies no data of the frames it sends" {
	copied_no_data
}

# survives TRANSPORT BRIDGE-KEYS KIND...: the cluster recovers from one fault after the other
survives() {
	local before kind
	cluster_for_faults "$1" "$2"
	before=$(objects)
	echo "objects: $before"
	[ "$(jq -s 'length == 2 and all(.qp >= 2 and .mr >= 1)' <<<"$before")" = true ]
	for kind in "${@:3}"; do fault_is_survived "$kind" "$before"; done
}

@test "verbs-rc recovers when a node's device is removed, its bridge hangs, and its cable is cut; no object is left behind" {
	survives verbs-rc "$MANY" device hung cable
}

@test "two nodes on verbs-ud, one frame in a message: every byte, order, TTL, and conservation to the packet" {
	cluster_again 2 verbs-ud "$ONE"
	carries_every_byte verbs-ud '.frames == .messages'
}

read_capture() { /usr/bin/python3 -B tests/vm/read_capture.py "$@"; }

@test "sluice capture sees the frames that a bridge takes and sends at both nodes, byte for byte, with what became of them" {
	local n
	cluster_of 2
	for n in $NODES; do
		vm_enter "n$n"
		vm_spawn "$VM_MACHINE" "capture.$n" "${VM_ENTER[@]}" build/sluice capture -i eth1 -w -
	done
	for n in $NODES; do wait_for 30 grep -q listening "$LAB_DIR/capture.$n.err"; done
	frames_arrive_unchanged
	for n in $NODES; do
		vm_signal "capture.$n" INT
		vm_output "capture.$n" >"$LAB_DIR/capture.n$n"
		cat "$LAB_DIR/capture.$n.err"
		grep -q " 0 not captured" "$LAB_DIR/capture.$n.err"
		read_capture same "$LAB_DIR/capture.n$n" "eth1 in" "$LAB_DIR/sent.$n"
		read_capture same "$LAB_DIR/capture.n$n" "eth1 out" "$LAB_DIR/got.$n"
		run read_capture outcomes "$LAB_DIR/capture.n$n" "eth1 in"
		echo "$output"
		jq -e 'has("queue: virtual output") and length == 1' <<<"$output"
		run read_capture outcomes "$LAB_DIR/capture.n$n" "eth1 out"
		echo "$output"
		jq -e 'has("bridge: sent by an AF_XDP socket") and length == 1' <<<"$output"
	done
}

@test "verbs-ud counts exactly the messages that the network lost" {
	cluster_of 2
	loses 1 2 match u8 4 4 at 2 # IP packets of 1,024 to 2,047 bytes: messages with a frame, and no others
	flood
	lost=$(lost_by_network 1)
	echo "lost by the network: $lost"
	loses_no_more 1
	[ "$lost" -gt 0 ]
	jq -e --argjson n $FLOOD --argjson lost "$lost" '.packets == $n - $lost and .reordered + .duplicates + .late + .bad_payload == 0' \
		"$LAB_DIR/received.out"
	jq -e --argjson lost "$lost" '.drops == {fabric: $lost} and .nodes.n1.sent - .nodes.n2.egress == $lost and
		.nodes.n2.lost_messages == $lost' "$LAB_DIR/ledger.json"
}

@test "verbs-ud copies no data of the frames it sends" {
	copied_no_data
}

@test "verbs-ud recovers when a node's netdev is down, its bridge is killed, and its MTU is another; no object is left behind" {
	survives verbs-ud "$ONE" netdev killed mtu
}
