#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A node's own ports change by reloads while it forwards: rate, queues, controller, and which ports
# there are. Ports that stay as they are lose nothing. The bridges are built with ASan and UBSan. It
# takes 60 s.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	local n p
	export CLUSTER_PROGRAM=$PWD/build/tests/sluice-bridge CLUSTER_WORKERS=2
	cluster_begin 2 2
	for n in 1 2; do cp "$LAB_DIR/n$n.yaml" "$LAB_DIR/first-n$n.yaml"; done
	for p in 1 2; do
		wait_for 30 on h1p1 ping -c 1 -W 1 10.2.$p.2
		wait_for 30 on h1p2 ping -c 1 -W 1 10.2.$p.2
	done
}

# End what a failed test has left running.
teardown() { flows_kill; }

# port N P KEYS: in the configuration of node N, write its port P with these keys
port() { sed -i "/id: $1\b/,/id: $(($1 + 1))\b/ s/- {number: $2, .*/- {number: $2, name: eth$2$3}/" "$LAB_DIR/n$1.yaml"; }
as_first() { for n; do cp "$LAB_DIR/first-n$n.yaml" "$LAB_DIR/n$n.yaml"; done; }
ports_of() { bridge_ask "$1" egress-queues | jq -r .port | sort -u | xargs; }
controller() { [ "$(voq "$1" 0 controller)" = "\"$2\"" ]; }
drained() { [ "$(bridge_ask 2 egress-queues | jq -s 'map(.waiting_frames) | add')" = 0 ]; }

slower_and_slower() {
	flow_from h1p2 0 2 20000 --size 1514
	port 2 2 ", rate: 100mbit, burst_us: 100000, controller: fixed, queues: [{class: 0, frames: 8192}]"
	reload 2
	paced 2 8000 '(.packets - 1) * 1514 * 8' 1e8
	# Its queue is full now, and becomes flow queues.
	port 2 2 ", rate: 50mbit, burst_us: 100000, controller: fixed, scheduler: drr, queues: [{class: 0, frames: 8192, policy: longest, weight: 3}]"
	reload 2
	[ "$(queue n2p2 0 policy)" = '"longest"' ]
	[ "$(queue n2p2 0 weight)" = 3 ]
	[ "$(queue n2p2 0 waiting_frames)" -gt 4000 ]
	paced 2 4000 '(.packets - 1) * 1514 * 8' 5e7
	as_first 2
	reload 2
	[ "$(queue n2p2 0 rate)" = null ]
	wait_for 10 drained
	interrupt gen0
}

@test "rate, scheduler and queues of a port change under load, and its neighbour loses nothing" {
	wait_for 60 cluster_counts
	arrives slower_and_slower
	wait_for 10 drained
	cluster_conserves
	hosts_of_two_meet
}
hosts_of_two_meet() { for p in 1 2; do send_all h1p$p n1:eth$p h2p$p 500 --dst 10.2.$p.2; done; }

@test "a controller comes, changes and goes with the configuration, and is heard of at the other node" {
	controller n2p2 fixed
	port 2 2 ", rate: 100mbit"
	reload 2
	wait_for 10 controller n2p2 price
	port 2 2 ", rate: 50mbit, controller: aimd, parameters: increase_ppb=9000000"
	reload 2
	wait_for 10 controller n2p2 aimd
	# What `cc set` says stays over a reload.
	on n2 build/sluice cc set n2p2 qcn
	wait_for 10 controller n2p2 qcn
	port 2 2 ", rate: 60mbit, controller: aimd, parameters: increase_ppb=9000000"
	reload 2
	controller n2p2 qcn
	port 2 2 ", rate: 60mbit, controller: weights"
	reload 2
	wait_for 10 controller n2p2 weights
	as_first 2
	reload 2
	wait_for 10 controller n2p2 fixed
	hosts_of_two_meet
}

port_goes_and_comes() {
	for n in 2 1; do
		sed -i "/id: 2\b/,\$ { /number: 2, / d }" "$LAB_DIR/n$n.yaml"
		reload $n
	done
	only_first() { [ "$(ports_of 2)" = n2p1 ]; }
	wait_for 10 only_first
	run ! on n1 ip link show n2p2
	as_first 1 2
	reload 2 1
	[ "$(ports_of 2)" = "n2p1 n2p2" ]
	wait_for 20 carrier 1 2 2
}

@test "a port leaves and comes again by reloads, and its neighbour loses nothing" {
	local held free
	arrives port_goes_and_comes
	wait_for 20 on h1p2 ping -c 1 -W 1 10.2.2.2
	hosts_of_two_meet
	[ "$(bridge_ask 1 status | jq .violations)" = 0 ]
	[ "$(bridge_ask 2 status | jq .violations)" = 0 ]
	held=$(for n in 1 2; do descriptors $n; done) free=$(chunks_free)
	arrives port_goes_and_comes
	wait_for 20 on h1p2 ping -c 1 -W 1 10.2.2.2
	wait_for 10 holds_no_more
}
# Ten times a second a bridge opens a socket for a moment, to ask of netdevs: so no count is exact, and the next look
# may find one less.
descriptors() { ls "/proc/$(cat "$LAB_DIR/bridge-n$1.pid")/fd" | wc -l; }
chunks_free() { for n in 1 2; do bridge_ask $n fabric | jq .chunks_free; done; }
holds_no_more() {
	local n=0 before
	for before in $held; do
		n=$((n + 1))
		[ "$(descriptors $n)" -le "$before" ] || return
	done
	[ "$(chunks_free)" = "$free" ]
}

gone_under_load() {
	reload 2
	interrupt gen0
}

@test "frames that another node still sends to a port that is gone are dropped by name, alone" {
	local before
	before=$(frames 2 drop-port-down)
	wait_for 60 cluster_counts
	sed -i "/id: 2\b/,\$ { /number: 2, / d }" "$LAB_DIR/n2.yaml"
	flow_from h1p2 0 2 5000 --size 200
	still_comes() { [ "$(queue n2p2 0 arrived_frames)" -gt $((arrived + 1000)) ]; }
	arrived=$(queue n2p2 0 arrived_frames)
	wait_for 10 still_comes
	arrives gone_under_load
	as_first 2
	reload 2
	wait_for 20 carrier 1 2 2
	wait_for 20 on h1p2 ping -c 1 -W 1 10.2.2.2
	hosts_of_two_meet
	echo "$before, then $(frames 2 drop-port-down)"
	[ "$(bridge_ask 2 fabric | jq '.verdicts["frame-port"] // 0')" = 0 ]
}

queued_and_plain() {
	port 1 2 ", rate: 100mbit"
	reload 1
	[ "$(voq n1p2 0 netdev)" != "" ]
	local_send 500
	on n1 ping -q -c 3 -i 0.02 -W 1 10.1.2.2
	[ "$(bridge_ask 1 egress-queues | jq 'select(.port == "n1p2" and .class == 0).departed_frames')" -ge 503 ]
	as_first 1
	reload 1
	[ "$(voq n1p2 0 voq)" = "" ]
	local_send 500
	on n1 ping -q -c 3 -i 0.02 -W 1 10.1.2.2
}
local_send() { send_all h1p1 n1:eth1 h1p2 "$1" --dst 10.1.2.2; }

@test "a port gets queues for what enters by its neighbours, and gives them up" {
	queued_and_plain
	queued_and_plain
	run ! on n1 ip link show slkernel2
}

@test "two ports change their netdevs with each other, and back" {
	sed -i "/id: 2\b/,\$ { s/name: eth1/name: eth0/; s/name: eth2/name: eth1/; s/name: eth0/name: eth2/ }" "$LAB_DIR"/n[12].yaml
	reload 2 1
	swapped() { [ "$(bridge_ask 2 egress-queues | jq -s -c 'map(select(.class == 0)) | map([.port, .netdev, .open])')" = '[["n2p1","eth2",true],["n2p2","eth1",true]]' ]; }
	wait_for 20 swapped
	as_first 1 2
	reload 2 1
	back() { [ "$(bridge_ask 2 egress-queues | jq -s -c 'map(select(.class == 0)) | map([.netdev, .open])')" = '[["eth1",true],["eth2",true]]' ]; }
	wait_for 20 back
	wait_for 20 on h1p1 ping -c 1 -W 1 10.2.1.2
	wait_for 20 on h1p2 ping -c 1 -W 1 10.2.2.2
	hosts_of_two_meet
}

@test "a port whose number is beyond the places of the maps makes new ones, and all ports work" {
	local maps
	maps() { on n1 bpftool -j map show pinned /sys/fs/bpf/sluice/sl_xsk | jq .id; }
	maps=$(maps)
	sed -i "/id: 1\b/,/id: 2\b/ s/- {number: 2, .*/&\n        - {number: 9, name: eth9, optional: true}/" "$LAB_DIR/n1.yaml"
	reload 1
	[ "$(maps)" = "$maps" ]
	[ "$(ports_of 1)" = "n1p1 n1p2 n1p9" ]
	sed -i "s/number: 9,/number: 40,/" "$LAB_DIR/n1.yaml"
	reload 1
	[ "$(maps)" != "$maps" ]
	renewed() { [ "$(bridge_ask 1 egress-queues | jq -s -c 'map(select(.class == 0)) | map([.port, .open])')" = '[["n1p1",true],["n1p2",true],["n1p40",false]]' ]; }
	wait_for 20 renewed
	wait_for 20 on h1p2 ping -c 1 -W 1 10.2.2.2
	hosts_of_two_meet
	as_first 1
	reload 1
	both() { [ "$(ports_of 1)" = "n1p1 n1p2" ]; }
	wait_for 10 both
	hosts_of_two_meet
}
