#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Ports whose classes have flow queues and a discard policy. The sink and the kernels of the hosts
# count at the far end: who got how much, who lost frames, what was marked. All sums hold to the
# packet.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	export CLUSTER_PORT_n2p1="rate: 100mbit, burst_us: 100000, controller: fixed, queues: [{class: 0, frames: 8192, policy: longest}]"
	export CLUSTER_PORT_n2p2="rate: 100mbit, burst_us: 100000, controller: fixed, queues: [{class: 0, frames: 2000, policy: codel}]"
	cluster_begin 2 2
	for p in 1 2; do
		wait_for 30 on h1p1 ping -c 1 -W 1 10.2.$p.2
		wait_for 30 on h1p2 ping -c 1 -W 1 10.2.$p.2
	done
}

# End what a failed test has left running.
teardown() { flows_kill; }

# equal: do all 40 flows of the window have the same bytes, within 2 % of their mean?
equal() {
	jq -e '[.flow[] | select(.flow < 2000) | .packets * (if .flow < 1000 then 1500 else 700 end)] |
		(add / length) as $mean | (map((. - $mean) / $mean) | [min, max]) as $off |
		[length, $mean, $off], (if length == 40 and $off[0] > -0.02 and $off[1] < 0.02 then true else false end)' "$LAB_DIR/window.out"
}

@test "forty flows that send more than the port carries get equal bytes, whatever they send" {
	wait_for 60 cluster_counts
	flow 0 1 8000 --size 1500 --flows 20
	FLOW_NAME=fast flow_from h1p2 0 1 30000 --first-flow 1000 --size 700 --flows 20
	window 1 30000 0
	[ "$(queue n2p1 0 flow_queues_in_use)" -ge 40 ]
	run -0 on n2 build/sluice show egress-queues
	echo "$output"
	grep -qE '^n2p1/0 .* longest 4[0-9] ' <<<"$output"
	[ "$(wc -L <<<"$output")" -le 80 ]
	gens_end 0 fast
	equal
}

@test "a flow of less than its share loses nothing beside flows that fill the buffer" {
	wait_for 60 cluster_counts
	flow 0 1 20000 --size 1500 --flows 5
	wait_for 60 holds n2p1 0 7900
	spawn h2p1 window build/lab/sink eth0 --json --flows --duration 3600
	wait_for 30 grep -q ready "$LAB_DIR/window.err"
	GEN=$(on h1p2 build/lab/gen eth0 --json --dst-mac "$(mac_of n1 eth2)" --dst 10.2.1.2 --first-flow 1000 --size 600 --rate 200 --count 400)
	holds n2p1 0 7900
	gens_end 0
	interrupt window
	[ "$(share 1000)" = 400 ]
	[ "$(jq .sent <<<"$GEN")" = 400 ]
	[ "$(jq '[.flow[] | select(.flow < 1000).lost] | add' "$LAB_DIR/window.out")" -gt 0 ]
}

# ce HOST: packets with Congestion Experienced that this host's kernel has received
ce() { on "$1" nstat -asz IpExtInCEPkts | awk '$1 == "IpExtInCEPkts" { print $2 }'; }

# tcp OPTION...: ten TCP connections to the host behind port 2; bytes of each in $LAB_DIR/tcp.json
tcp() {
	spawn h2p2 iperf iperf3 -s -1
	listens() { [ -n "$(on h2p2 ss -Hltn 'sport = 5201')" ]; }
	wait_for 30 listens
	on h1p1 iperf3 -c 10.2.2.2 -J "$@" >"$LAB_DIR/tcp.json"
	wait_for 30 no_processes "$(cat "$LAB_DIR/iperf.pid")"
}

# A kernel that waits long for an answer sends data again, and what it sends again is never
# capable of ECN (RFC 3168, 6.1.5), like SYN and bare ACK: such frames may be dropped, no others.
@test "TCP that knows ECN is marked where it would lose frames, as the receiver counts" {
	local before marked late
	wait_for 60 cluster_counts
	on h1p1 sysctl -qw net.ipv4.tcp_ecn=1
	before=$(ce h2p2)
	marked=$(queue n2p2 0 marked_frames)
	spawn h1p1 not_ect tcpdump -i eth0 -Q out -s 64 -U -w - 'dst host 10.2.2.2 and ip[1] & 3 = 0'
	wait_for 30 grep -q listening "$LAB_DIR/not_ect.err"
	tcp -P 10 -t 8
	marked=$(($(queue n2p2 0 marked_frames) - marked))
	[ "$marked" -gt 0 ]
	[ "$(($(ce h2p2) - before))" = "$marked" ]
	gens_end
	interrupt not_ect
	grep -q '^0 packets dropped by kernel' "$LAB_DIR/not_ect.err"
	late=$(queue n2p2 0 policy_dropped.late)
	within "$late" 0 "$(tcpdump -r "$LAB_DIR/not_ect.out" -n 2>/dev/null | wc -l)"
}

# What the receivers read in ten seconds also has the dynamics of ten congestion windows in it.
@test "TCP connections share the port within 5 %" {
	wait_for 60 cluster_counts
	on h1p1 sysctl -qw net.ipv4.tcp_ecn=0
	tcp -P 10 -t 10 -O 3
	jq -c '[.end.streams[].receiver.bytes] | (add / length) as $mean | [length, $mean, (map((. - $mean) / $mean) | [min, max])]' "$LAB_DIR/tcp.json"
	jq -e '[.end.streams[].receiver.bytes] | (add / length) as $mean | length == 10 and (map((. - $mean) / $mean) | min > -0.05 and max < 0.05)' "$LAB_DIR/tcp.json"
	[ "$(queue n2p2 0 policy_dropped.late)" -gt 0 ]
	gens_end
}
