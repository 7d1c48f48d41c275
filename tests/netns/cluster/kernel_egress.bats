#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What a node's kernel itself sends or forwards by a port with queues goes through these queues, and
# leaves as the kernel meant it. Hosts' kernels and the queues' counters say what came; all sums
# hold to the packet.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	local queues="queues: [{class: 0, frames: 8192}, {class: 1, frames: 8192, weight: 3}]"
	export CLUSTER_PORT_n2p1="rate: 2kpps, burst_us: 100000, scheduler: drr, controller: fixed, $queues"
	export CLUSTER_PORT_n2p2="rate: 200mbit, burst_us: 100000, controller: fixed"
	cluster_begin 2 3
	for p in 1 2 3; do
		wait_for 30 on h1p1 ping -c 1 -W 1 10.2.$p.2
		wait_for 30 on n2 ping -c 1 -W 1 10.2.$p.2
	done
}

teardown() { flows_kill; }

arrived() { queue "n2p$1" "$2" arrived_frames; }

# datagrams N TOS HOST [BYTES]: send so many from node 2's own kernel
datagrams() {
	on n2 /usr/bin/python3 - "$@" <<-'END'
		import socket, sys, time
		n, tos, host, size = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int((sys.argv + ["100"])[4])
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
		for i in range(n):
		    s.sendto(i.to_bytes(4, "big") * (size // 4), (host, 9999))
		    if i % 32 == 31:
		        time.sleep(0.02)
	END
}

# received HOST NAME: a counter of this host's kernel
received() { on "$1" nstat -asz "$2" | awk -v name="$2" '$1 == name { print $2 }'; }

@test "datagrams of the kernel go through the queue of their class, and arrive whole" {
	local first second came errors
	wait_for 60 cluster_counts
	first=$(arrived 1 0) second=$(arrived 1 1)
	came=$(received h2p1 UdpNoPorts) errors=$(received h2p1 UdpInCsumErrors)
	datagrams 320 0 10.2.1.2
	datagrams 160 $((16 << 2)) 10.2.1.2 1400
	all_came() { [ $(($(received h2p1 UdpNoPorts) - came)) = 480 ]; }
	wait_for 30 all_came
	[ "$(received h2p1 UdpInCsumErrors)" = "$errors" ]
	[ $(($(arrived 1 0) - first)) -ge 320 ]
	[ $(($(arrived 1 1) - second)) -ge 160 ]
	gens_end
}

@test "datagrams by a port without queues do not meet the bridge" {
	local before
	before=$(frames 2 local)
	datagrams 64 0 10.2.3.2
	[ "$(frames 2 local)" -lt $((before + 20)) ]
	[ -z "$(on n2 tc filter show dev eth3 egress)" ]
	[ -n "$(on n2 tc filter show dev eth1 egress)" ]
	[ -z "$(on n2 ip -br link show type tun | grep slkernel3)" ]
}

# departed: frames that have left by port 1 of node 2, by class, all of one moment
departed() { bridge_ask 2 egress-queues | jq -s 'map(select(.port == "n2p1").departed_frames)'; }

@test "the kernel and other nodes share the port by the weights of their classes" {
	wait_for 60 cluster_counts
	flow 0 1 6000 --size 500
	spawn n2 kernel /usr/bin/python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 16 << 2)
while True:
    for i in range(64): s.sendto(bytes(400), ("10.2.1.2", 9999))
    time.sleep(0.004)
'
	wait_for 60 holds n2p1 0 7900
	wait_for 60 holds n2p1 1 7900
	departed >"$LAB_DIR/first"
	gone() { [ $(($(queue n2p1 1 departed_frames) - $(jq '.[1]' "$LAB_DIR/first"))) -ge 6000 ]; }
	wait_for 60 gone
	departed >"$LAB_DIR/second"
	holds n2p1 0 7000
	holds n2p1 1 7000
	kill "$(cat "$LAB_DIR/kernel.pid")"
	wait_for 10 no_processes "$(cat "$LAB_DIR/kernel.pid")"
	gens_end 0
	within "$(jq -s '(.[1][1] - .[0][1]) / (.[1][0] - .[0][0])' "$LAB_DIR/first" "$LAB_DIR/second")" 2.9 3.1
}

@test "TCP of the kernel passes, in frames that fit, and what the kernel forwards" {
	local before
	wait_for 60 cluster_counts
	head -c 20000000 /dev/urandom >"$LAB_DIR/sent"
	spawn h2p2 receiver socat -u TCP-LISTEN:7000 "OPEN:$LAB_DIR/got,creat"
	listens() { [ -n "$(on h2p2 ss -Hltn 'sport = 7000')" ]; }
	wait_for 30 listens
	before=$(arrived 2 0)
	on n2 socat -u "OPEN:$LAB_DIR/sent" TCP:10.2.2.2:7000
	wait_for 60 no_processes "$(cat "$LAB_DIR/receiver.pid")"
	cmp "$LAB_DIR/sent" "$LAB_DIR/got"
	[ $(($(arrived 2 0) - before)) -ge $((20000000 / 3400)) ]
	before=$(arrived 2 0)
	on h2p3 ping -R -c 5 -i 0.05 -W 1 10.2.2.2
	[ $(($(arrived 2 0) - before)) -ge 5 ]
	gens_end
}

@test "the kernel sends by itself while the bridge hangs or is gone" {
	local before
	kill -STOP "$(cat "$LAB_DIR/bridge-n2.pid")"
	wait_for 60 on n2 ping -c 3 -i 0.05 -W 1 10.2.1.2
	kill -CONT "$(cat "$LAB_DIR/bridge-n2.pid")"
	killed_now 2
	wait_for 60 on n2 ping -c 3 -i 0.05 -W 1 10.2.1.2
	bridge_start 2
	wait_for 60 cluster_is_up 1 1
	by_queue() {
		before=$(arrived 1 0)
		on n2 ping -c 3 -i 0.05 -W 1 10.2.1.2 && [ $(($(arrived 1 0) - before)) -ge 3 ]
	}
	wait_for 30 by_queue
	bridge_stop 2
	on n2 ping -c 3 -i 0.05 -W 1 10.2.1.2
	[ -z "$(on n2 tc filter show dev eth1 egress)" ]
	[ -z "$(on n2 ip -br link | grep slkernel)" ]
}
