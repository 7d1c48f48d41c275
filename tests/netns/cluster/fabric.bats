#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A cluster of three nodes: frames that enter at one leave at another, whole, in order and one hop
# older. The others notice a bridge, daemon or link that dies and take it back. Strangers stay
# outside.
# shellcheck disable=SC2154 # variables are set by `run`
bats_require_minimum_version 1.5.0

load cluster

setup_file() {
	cluster_begin 3 2
	hosts_meet
}

# live_with [MS]: restart the bridges with this liveness_ms, or without the key
live_with() {
	local n key=${1:+liveness_ms: $1}
	key=${key:-#liveness_ms:}
	for n in 1 2 3; do
		sed -i "s/^  #*liveness_ms:.*/  $key/" "$LAB_DIR/n$n.yaml"
		bridge_stop $n
		bridge_start $n
	done
	for n in 1 2 3; do wait_for 30 cluster_is_up $n 2; done
}

# silence N M: how long node M was silent until node N took it for dead, in milliseconds, without
# the pauses of N's bridge
silence() { bridge_ask "$1" peers | jq "select(.node == $2) | .heard_ms - .since_ms"; }

@test "every host reaches every other, and the cluster is one hop" {
	for n in 1 2 3; do
		for m in 1 2 3; do
			[ $n != $m ] || continue
			wait_for 10 answers "h${n}p1" "10.$m.2.2"
			wait_for 10 answers "h${n}p1" "fd00:0:$m:2::2"
		done
	done
	wait_for 10 two_hops
}
answers() { on "$1" ping -c 1 -W 2 "$2" | grep -q "ttl=63"; }
two_hops() {
	local hops
	hops=$(on h1p1 traceroute -n -w 2 -q 1 10.2.1.2 | awk '/^ *[0-9]/ { print $1, $2 }')
	echo "$hops"
	[ "$hops" = $'1 10.1.1.1\n2 10.2.1.2' ]
}

@test "IPv4 crosses the fabric whole and in order, to the packet" {
	send_all h1p1 n1:eth1 h2p1 5000 --dst 10.2.1.2 --flows 100
}

@test "IPv6 crosses the fabric whole and in order, to the packet" {
	send_all h3p2 n3:eth2 h1p2 5000 --dst fd00:0:1:2::2 --flows 100
}

@test "frames of 60, 590, 1514 and 3398 bytes cross alike" {
	send_all h2p2 n2:eth2 h3p1 3000 --dst 10.3.1.2 --imix --flows 10
	send_all h2p2 n2:eth2 h3p1 1000 --dst 10.3.1.2 --size 3398
}

@test "small frames share messages" {
	before=$(bridge_ask 1 peers | jq 'select(.node == 2).data_sent')
	sent=$(frames 1 sent)
	send h1p1 n1:eth1 h2p1 --dst 10.2.1.2 --flows 100 --count 20000 --rate 100000
	came_whole
	after=$(bridge_ask 1 peers | jq 'select(.node == 2).data_sent')
	sent=$(($(frames 1 sent) - sent))
	echo "$sent frames in $((after - before)) messages"
	[ $((sent)) -ge $(((after - before) * 2)) ]
}

@test "each class has its own queue" {
	before=$(bridge_ask 2 egress-queues | jq -cs 'map(select(.port == "n2p1").arrived_frames)')
	for class in 0 1 2 3; do
		send_all h1p1 n1:eth1 h2p1 1000 --dst 10.2.1.2 --dscp $((class * 16))
	done
	after=$(bridge_ask 2 egress-queues | jq -cs 'map(select(.port == "n2p1").arrived_frames)')
	jq -ne --argjson a "$after" --argjson b "$before" \
		'[$a, $b] | transpose | map(.[0] - .[1]), (map(.[0] - .[1]) | all(. >= 1000 and . < 1100))'
}

@test "tshark dissects the fabric's frames as RoCEv2, and every ICRC is right" {
	spawn fabric capture tcpdump -i n2 -w "$LAB_DIR/fabric.pcap" -s 0 -U udp port 4791
	wait_for 5 grep -q listening "$LAB_DIR/capture.err"
	send_all h1p1 n1:eth1 h2p1 2000 --dst 10.2.1.2 --imix --flows 10
	# A hundred messages of the largest size
	captured() { [ "$(stat -c %s "$LAB_DIR/fabric.pcap")" -ge 352000 ]; }
	wait_for 10 captured
	kill -INT "$(cat "$LAB_DIR/capture.pid")"
	wait "$(cat "$LAB_DIR/capture.pid")"
	run -0 /usr/bin/python3 tests/oracle/roce_capture.py "$LAB_DIR/fabric.pcap"
	echo "$output"
	[ "$(jq .wrong <<<"$output")" = 0 ]
	[ "$(jq .data <<<"$output")" -ge 100 ]
}

@test "peers notice a killed bridge within the bound, and take it back without help" {
	local n
	wait_for 10 carrier 1 2 1
	killed_now 2
	wait_for 30 no_carrier 1 2 1
	wait_for 30 no_carrier 3 2 2
	for n in 1 3; do
		echo "node $n noticed after $(silence $n 2) ms of silence"
		[ "$(silence $n 2)" -lt $((CLUSTER_LIVENESS_MS * 2)) ]
	done
	wait_for 10 peer_is 1 3 up
	send_all h1p1 n1:eth1 h3p1 1000 --dst 10.3.1.2
	bridge_start 2
	wait_for 10 carrier 1 2 1
	wait_for 10 carrier 2 1 1
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.1.2
	send_all h1p1 n1:eth1 h2p1 1000 --dst 10.2.1.2
}

@test "locally switched traffic does not notice that the bridge is dead" {
	killed_now 3
	send_all h3p1 n3:eth1 h3p2 2000 --dst 10.3.2.2
	bridge_start 3
	wait_for 10 carrier 1 3 1
	wait_for 10 on h1p1 ping -c 1 -W 1 10.3.1.2
}

@test "a daemon that is killed stops no traffic through the fabric" {
	kill -9 "$(cat "$LAB_DIR/sluiced-n1.pid")"
	send_all h1p1 n1:eth1 h2p1 1000 --dst 10.2.1.2
	router_start n1
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.1.2
	send_all h1p1 n1:eth1 h2p1 1000 --dst 10.2.1.2
}

@test "both sides notice a cut fabric link, and traffic returns without help when it is mended" {
	on fabric ip link set n3 down
	wait_for 30 no_carrier 1 3 1
	wait_for 30 no_carrier 3 1 1
	wait_for 10 carrier 1 2 1
	on fabric ip link set n3 up
	wait_for 10 carrier 1 3 1
	wait_for 10 carrier 3 1 1
	wait_for 10 on h1p1 ping -c 1 -W 1 10.3.1.2
}

@test "another cluster's key is refused, counted and logged" {
	bridge_stop 3
	wait_for 30 no_carrier 1 3 1
	(umask 077 && echo "another key, long enough" >"$LAB_DIR/other.key")
	sed "s|key_file: .*|key_file: $LAB_DIR/other.key|" "$LAB_DIR/n3.yaml" >"$LAB_DIR/n3-other.yaml"
	bridge_start 3 "$LAB_DIR/n3-other.yaml"
	refused() { [ "$(bridge_ask 1 fabric | jq .refused.key)" -ge 1 ]; }
	wait_for 5 refused
	grep -q "node 3 at 10.9.0.3 is refused: the cluster keys differ (key)" "$LAB_DIR/bridge-n1.err"
	[ "$(grep -c "cluster keys differ" "$LAB_DIR/bridge-n1.err")" = 1 ]
	wait_for 5 grep -q "node 1 at 10.9.0.1 refuses us: the cluster keys differ" "$LAB_DIR/bridge-n3.err"
	no_carrier 1 3 1
	bridge_stop 3
	bridge_start 3
	wait_for 10 carrier 1 3 1
}

@test "by default a bridge is taken for dead after 50 ms of silence" {
	live_with
	wait_for 10 peer_is 1 2 up
	killed_now 2
	wait_for 10 peer_is 1 2 down
	echo "noticed after $(silence 1 2) ms of silence"
	# At most a quarter of the 50 ms of a pause counts as silence, however long n1's bridge waits
	# for a processor; and a millisecond is from rounding.
	[ "$(silence 1 2)" -le 63 ]
	bridge_start 2
	wait_for 10 carrier 1 2 1
}

# bridge_now: microseconds of the clock, of processor time, and times that the bridge of n1 went to
# sleep by itself
bridge_now() {
	local pid
	pid=$(cat "$LAB_DIR/bridge-n1.pid")
	echo "${EPOCHREALTIME/./} $(cat "/proc/$pid/task/"*/schedstat | awk '{ ns += $1 } END { printf "%d", ns / 1000 }')" \
		"$(awk '/^voluntary_ctxt/ { n += $2 } END { print n }' "/proc/$pid/task/"*/status)"
}
slept_until() { [ "$(bridge_now | cut -d' ' -f3)" -ge "$1" ]; }

@test "an idle bridge with the default liveness sleeps: it wakes at most 500 times a second" {
	local clock cpu sleeps rounds i looks=()
	live_with
	# Per hundred sleeps; the least counts, since other load of the machine only adds to it. The
	# machine decides the cost of a sleep; the bridge decides how often it sleeps and what it does
	# between two sleeps.
	for ((i = 0; i < 11; i++)); do
		read -r clock cpu sleeps <<<"$(bridge_now)"
		rounds=$(bridge_ask 1 status | jq .rounds)
		wait_for 10 slept_until $((sleeps + 100))
		rounds=$(($(bridge_ask 1 status | jq .rounds) - rounds))
		looks+=("$(bridge_now | awk -v clock="$clock" -v cpu="$cpu" -v sleeps="$sleeps" -v rounds=$rounds '{
			print 100 * ($2 - cpu) / ($1 - clock), ($3 - sleeps) * 1e6 / ($1 - clock), rounds / ($3 - sleeps) }')")
	done
	printf '%s\n' "percent of a processor, sleeps a second, rounds a sleep:" "${looks[@]}"
	least() { printf '%s\n' "${looks[@]}" | cut -d' ' -f"$1" | sort -g | awk -v most="$2" 'NR == 1 { exit !($1 < most) }'; }
	least 2 500
	least 3 3
	live_with "$CLUSTER_LIVENESS_MS"
}

@test "a bridge that waits for its daemon sleeps, although other nodes call" {
	local clock cpu sleeps rounds
	bridge_stop 1
	kill -9 "$(cat "$LAB_DIR/sluiced-n1.pid")"
	await_end sluiced-n1
	on n1 rm -r /sys/fs/bpf/sluice
	bridge_start 1
	called() { on n1 ss -Hltn | awk '{ n += $2 } END { exit !n }'; }
	wait_for 30 called
	# The least busy of five looks, as above: what it does once, at its start, is in the first.
	for _ in 1 2 3 4 5; do
		read -r clock cpu sleeps <<<"$(bridge_now)"
		rounds=$(bridge_ask 1 status | jq .rounds)
		wait_for 30 slept_until $((sleeps + 100))
		rounds=$(($(bridge_ask 1 status | jq .rounds) - rounds))
		sleeps=$(($(bridge_now | cut -d' ' -f3) - sleeps))
		echo "$rounds rounds, $sleeps sleeps"
		[ "$rounds" -gt $((3 * sleeps)) ] || break
	done
	[ "$rounds" -le $((3 * sleeps)) ]
	router_start n1
	for n in 1 2 3; do wait_for 30 cluster_is_up $n 2; done
}

# live_alone N MS: restart the bridge of node N alone with this liveness_ms
live_alone() {
	sed -i "s/^  #*liveness_ms:.*/  liveness_ms: $2/" "$LAB_DIR/n$1.yaml"
	bridge_stop "$1"
	bridge_start "$1"
	for n in 1 2 3; do wait_for 30 cluster_is_up $n 2; done
}
# heard N M COUNT: has node N received so many messages of node M?
heard() { [ "$(of_peer "$1" "$2" received)" -ge "$3" ]; }
of_peer() { bridge_ask "$1" peers | jq "select(.node == $2).$3"; }

@test "nodes with different liveness_ms use the larger one, and none takes the other for dead" {
	local before=$CLUSTER_LIVENESS_MS downs
	live_alone 1 400 # the others speak up every 2 s
	[ "$(of_peer 1 3 liveness_ms)" = "$before" ]
	[ "$(of_peer 3 1 liveness_ms)" = "$before" ]
	[ "$(of_peer 2 3 liveness_ms)" = "$before" ]
	grep -q "node 1 has liveness_ms 400, ours is $before: both use the larger one" "$LAB_DIR/bridge-n3.err"
	downs=$(of_peer 3 1 downs)
	wait_for 30 heard 1 3 $(($(of_peer 1 3 received) + 5))
	[ "$(of_peer 1 3 downs)" = 0 ]
	[ "$(of_peer 3 1 downs)" = "$downs" ]
	live_alone 1 "$before"
}

# allocations: of node 1's bridge, since it started
allocations() { od -A n -t u8 "$LAB_DIR/allocations" | tr -d ' '; }

# cross FROM TO DST: 250 frames of 250 flows from node to node, until all have arrived. Asks no
# bridge for anything.
cross() {
	local before
	before=$(netdev_in "h${2}p1")
	gen gen "h${1}p1" "n$1:eth1" --dst "$3" --count 250 --rate 100000 --imix --flows 250 &&
		wait_for 10 netdev_in_since "h${2}p1" $((before + 250))
}

@test "frames cross without an allocation in a bridge that has warmed up" {
	local before i
	head -c 8 /dev/zero >"$LAB_DIR/allocations"
	cat >"$LAB_DIR/counted" <<-END
		#!/bin/sh
		COUNT_MALLOC=$LAB_DIR/allocations LD_PRELOAD=$PWD/build/tests/tools/count_malloc.so exec $PWD/build/sluice-bridge "\$@"
	END
	chmod +x "$LAB_DIR/counted"
	bridge_stop 1
	CLUSTER_PROGRAM=$LAB_DIR/counted bridge_start 1
	wait_for 30 carrier 1 2 1
	wait_for 30 carrier 2 1 1
	hosts_meet # a kernel that resolves a neighbour holds fewer frames than a burst has
	cross 1 2 10.2.1.2
	cross 2 1 fd00:0:1:1::2
	before=$(allocations)
	[ "$before" -gt 0 ] # it counts
	for i in 1 2 3 4; do
		cross 1 2 10.2.1.2
		cross 2 1 fd00:0:1:1::2
	done
	echo "allocations: $before before, $(allocations) after"
	[ "$(allocations)" = "$before" ]
	bridge_stop 1
	bridge_start 1
	wait_for 30 carrier 1 2 1
	wait_for 30 carrier 2 1 1
}

@test "a bridge under the sanitizers serves remote ports, and makes no memory error until its end" {
	bridge_stop 1
	CLUSTER_PROGRAM=build/tests/sluice-bridge bridge_start 1
	pid=$SPAWNED
	wait_for 30 carrier 1 2 1
	wait_for 30 on n1 ping -c 1 -W 1 10.2.1.2
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.1.2
	kill "$pid"
	status=0
	wait "$pid" || status=$?
	cat "$LAB_DIR/bridge-n1.err"
	[ "$status" -eq 0 ]
	bridge_start 1
	wait_for 30 carrier 2 1 1
	wait_for 30 carrier 1 2 1
}

# The drivers of adapters reset their queues when an XDP program comes or goes.
@test "a bridge that is stopped or killed leaves its program to the next one, and nothing else" {
	local program
	fabric_program() { on n1 ip -j link show fab0 | jq '.[0].xdp.prog.id'; }
	program=$(fabric_program)
	[ "$program" != null ]
	killed_now 1
	[ "$(fabric_program)" = "$program" ]
	bridge_start 1
	wait_for 10 carrier 2 1 1
	[ "$(fabric_program)" != null ]
	[ "$(fabric_program)" != "$program" ]
	program=$(fabric_program)
	bridge_stop 1
	run ! on n1 test -e /run/sluice/bridge.sock
	run ! on n1 test -e /run/sluice/sluice-bridge.sock
	[ "$(fabric_program)" = "$program" ]
	bridge_start 1
	wait_for 10 carrier 2 1 1
}

@test "a second bridge on a node is refused, and takes neither the fabric nor the sockets from the first" {
	local program
	program=$(on n1 ip -j link show fab0 | jq '.[0].xdp.prog.id')
	run -1 --separate-stderr on n1 timeout 20 build/sluice-bridge --config "$LAB_DIR/n1.yaml"
	echo "$stderr"
	[ "$stderr" = 'sluice-bridge: error: another sluice-bridge listens at "/run/sluice/bridge.sock"' ]
	[ "$(on n1 ip -j link show fab0 | jq '.[0].xdp.prog.id')" = "$program" ]
	cluster_is_up 1 2
	cluster_counts
	send_all h2p1 n2:eth1 h1p1 1000 --dst 10.1.1.2
	send_all h1p1 n1:eth1 h2p1 1000 --dst 10.2.1.2
	cluster_conserves 2000 2000
}

has_ended() { ! kill -0 "$1" 2>/dev/null; }

@test "sluiced --detach takes the program of a bridge that has ended off the fabric" {
	bridge_stop 1
	kill -TERM "$(cat "$LAB_DIR/sluiced-n1.pid")"
	wait_for 5 has_ended "$(cat "$LAB_DIR/sluiced-n1.pid")"
	on n1 test -e /sys/fs/bpf/sluice-fabric
	spawn n1 sluiced-n1 build/sluiced --detach --config "$LAB_DIR/n1.yaml"
	wait_for 10 on n1 build/sluice status
	kill -TERM "$SPAWNED"
	wait_for 5 has_ended "$SPAWNED"
	[ "$(on n1 ip -j link show fab0 | jq '.[0] | has("xdp")')" = false ]
	run ! on n1 test -e /sys/fs/bpf/sluice-fabric
}
