#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# sluice-delay on captures of the lab: tcpdump at the hosts' ends of their cables, around a router of
# two nodes. The kernel stamps each packet where it is sent and where it comes, apart from any
# capture; so the delay of each is known.
bats_require_minimum_version 1.5.0

load ../cluster/cluster

TRAFFIC=tests/netns/delay/stamped_traffic.py

setup_file() {
	# Room for a burst of all hosts
	export CLUSTER_PORT_n2p1="rate: 20mbit, controller: fixed, queues: [{class: 0, frames: 8192}]"
	cluster_begin 2 4
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.2.2
	for p in 2 3 4; do
		wait_for 30 on h2p$p ping -c 1 -W 1 10.2.1.2
	done
}

# capture HOST in|out: what this host gets or sends, in $LAB_DIR/HOST.pcap
capture() {
	spawn "$1" "$1" tcpdump -i eth0 -Q "$2" -s 128 -B 16384 --nano -U -w "$LAB_DIR/$1.pcap" udp port 9000
	wait_for 10 grep -q 'listening on' "$LAB_DIR/$1.err"
}

# capture_end HOST PACKETS: end it, once it has seen so many
capture_end() {
	wait_for 30 captured "$1" "$2"
	finish "$1"
	grep -q '^0 packets dropped by kernel' "$LAB_DIR/$1.err"
}
captured() { [ "$(capinfos -T -r -c "$LAB_DIR/$1.pcap" 2>/dev/null | cut -f 2)" -ge "$2" ]; }

# receive HOST PACKETS
receive() {
	spawn "$1" received $TRAFFIC receive "$2"
	wait_for 10 grep -q ready "$LAB_DIR/received.err"
}
received_all() { wait_for 60 no_processes "$(cat "$LAB_DIR/received.pid")"; }

# busy PORT: its row of the view of busy periods. periods_over: is none of them under way?
busy() { bridge_ask 2 busy | jq "select(.port == \"$1\")"; }
periods_over() { [ "$(busy "$1" | jq .open)" = 0 ]; }

delay() { build/tests/sluice-delay -C -j "$@" >"$LAB_DIR/report.json"; }

@test "delays across two nodes are those of the kernel's stamps" {
	capture h1p1 out
	capture h2p2 in
	receive h2p2 3000
	on h1p1 $TRAFFIC send 10.2.2.2 0 52,552,1400 30 100 0 "$LAB_DIR/received.out" 0 100 0 >"$LAB_DIR/sent"
	received_all
	capture_end h1p1 3000
	capture_end h2p2 3000
	delay -i "in=$LAB_DIR/h1p1.pcap" -o "out=$LAB_DIR/h2p2.pcap"
	$TRAFFIC delays "$LAB_DIR/report.json" "$LAB_DIR/sent" "$LAB_DIR/received.out"
}

@test "bursts of three hosts onto one port are episodes: start, A, D, and each host's share" {
	# Each burst fits into the ring of a veth, of 256 places.
	local p start singles=40 burst=200 bursts=5 came=0
	for p in 2 3 4; do capture "h2p$p" out; done
	capture h2p1 in
	receive h2p1 $((3 * (singles + bursts * burst)))
	# Packets that meet nobody, from which the least delay of each size is known
	for p in 2 3 4; do
		on h2p$p $TRAFFIC send 10.2.1.2 1$p $((p - 1))000 $singles 1 0 "$LAB_DIR/received.out" $came 1 0.01 >"$LAB_DIR/single$p"
		came=$((came + singles))
	done
	start=$(($(date +%s%N) + 1000000000))
	for p in 2 3 4; do
		spawn "h2p$p" "sent$p" $TRAFFIC send 10.2.1.2 $p $((p - 1))000 $bursts $burst $start "$LAB_DIR/received.out" $came $((3 * burst)) 0.5
	done
	received_all
	for p in 2 3 4; do capture_end "h2p$p" $((singles + bursts * burst)); done
	capture_end h2p1 $((3 * (singles + bursts * burst)))
	# The port's rate counts frames without preamble, checksum and gap.
	delay -w 5s -g 100ms -e 100ms -i "in2=$LAB_DIR/h2p2.pcap" -i "in3=$LAB_DIR/h2p3.pcap" -i "in4=$LAB_DIR/h2p4.pcap" \
		-o "out=$LAB_DIR/h2p1.pcap,rate=20mbit,overhead=14"
	$TRAFFIC episodes "$LAB_DIR/report.json" "$LAB_DIR/received.out" "$LAB_DIR"/sent[234].out
	# The bridge has found them, too, from its own clock.
	wait_for 10 periods_over n2p1
	busy n2p1 >"$LAB_DIR/busy.json"
	$TRAFFIC busy "$LAB_DIR/busy.json" "$LAB_DIR/received.out" "$LAB_DIR"/sent[234].out
	run -0 on n2 build/sluice show busy
	echo "$output"
	# Each share within a percent, as above
	[[ "$output" =~ "n2p1, measured for ".*"  262 ms ".*" n2p4 "(49|50|51)" %, n2p3 "(32|33|34)" %, n2p2 "(16|17|18)" %" ]]
}
