#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Three nodes whose XDP programs carry frames past the bridges while nothing waits, one with each
# check: what goes which way, order across both, and what happens when a bridge dies.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	cluster_lab
	cluster_fabric
	local checks=(- auto header icrc)
	for n in 1 2 3; do
		cluster_node $n 2
		# Controlled and shaped ports, and nodes that send with another check, are among them.
		CLUSTER_FABRIC="express: auto, express_check: ${checks[n]}" CLUSTER_PORT_n2p1="express: always" \
			CLUSTER_PORT_n1p2="express: never" CLUSTER_PORT_n2p2="rate: 100mbit" \
			cluster_config $n 3 2 "$TOPO_ENGINE" >"$LAB_DIR/n$n.yaml"
	done
	for n in 1 2 3; do cluster_start $n; done
	for n in 1 2 3; do wait_for 20 cluster_is_up $n 2; done
	for p in 1 2; do
		wait_for 10 on h1p1 ping -c 1 -W 1 "10.2.$p.2"
		wait_for 10 on h1p1 ping -c 1 -W 1 "fd00:0:2:$p::2"
		wait_for 10 on h2p1 ping -c 1 -W 1 "10.1.$p.2"
	done
	wait_for 10 goes_by_express 1 h1p1 10.2.1.2 n2p1
	wait_for 10 goes_by_express 2 h2p1 10.1.1.2 n1p1
	wait_for 10 goes_by_express 3 h3p1 10.2.1.2 n2p1
}

# express N PORT: frames that took the express way from node N to a remote port, of all classes
express() { bridge_ask "$1" voqs | jq -s --arg port "$2" '[.[] | select(.port == $port) | .express_frames] | add'; }
# queued N PORT: frames that entered the bridge's queues
queued() { bridge_ask "$1" voqs | jq -s --arg port "$2" '[.[] | select(.port == $port) | .enqueued_frames] | add'; }

# way N PORT: why frames of class 0 from node N to a remote port go by the bridge now
way() { bridge_ask "$1" voqs | jq -r --arg port "$2" 'select(.port == $port and .class == 0).express'; }
way_is() { [ "$(way "$1" "$2")" = "$3" ]; }

# goes_by_express N HOST ADDRESS PORT: does a ping go past the bridge of node N?
goes_by_express() {
	local before
	before=$(express "$1" "$4")
	on "$2" ping -c 1 -W 1 "$3" && [ "$(express "$1" "$4")" -gt "$before" ]
}

# End what a failed test has left running.
teardown() { flows_kill; }

@test "frames of either check, size and family cross, each accounted for, and none goes by a bridge" {
	local at
	accounts_open
	at=$(queued 1 n2p1)
	send_all h1p1 n1:eth1 h2p1 3000 --dst 10.2.1.2 --imix --flows 100 --rate 3000
	send_all h1p1 n1:eth1 h2p1 3000 --dst fd00:0:2:1::2 --flows 100 --rate 3000
	[ "$(queued 1 n2p1)" = "$at" ]
	at=$(queued 2 n1p1)
	send_all h2p1 n2:eth1 h1p1 3000 --dst 10.1.1.2 --imix --flows 100 --rate 3000
	[ "$(queued 2 n1p1)" = "$at" ]
	at=$(queued 3 n2p1)
	send_all h3p1 n3:eth1 h2p1 3000 --dst 10.2.1.2 --imix --flows 100 --rate 3000
	[ "$(queued 3 n2p1)" = "$at" ]
	[ "$(bridge_ask 2 fabric | jq .express_frames_received)" -ge 9000 ]
}

@test "frames that the driver of their port does not take from XDP are counted as dropped at the node of exit" {
	local at past mtu
	refused() { on n2 build/sluice -j show drops -a | jq '.[] | select(.name == "tx-ring").packets'; }
	all_refused() { [ $(($(refused) - at)) = 50 ]; }
	at=$(refused)
	past=$(queue n2p1 0 express_frames)
	mtu=$(on h2p1 cat /sys/class/net/eth0/mtu)
	on h2p1 ip link set eth0 mtu 1300 # a veth takes no frame that its peer could not receive
	on h1p1 build/lab/gen eth0 --dst-mac "$(mac_of n1 eth1)" --dst 10.2.1.2 --size 1400 --count 50 --rate 2000
	wait_for 10 all_refused
	on h2p1 ip link set eth0 mtu "$mtu"
	[ $(($(queue n2p1 0 express_frames) - past)) = 50 ]
}

@test "frames for a port whose file says never go by the bridges" {
	local at
	way_is 2 n1p2 off
	at=$(queued 2 n1p2)
	send_all h2p1 n2:eth1 h1p2 500 --dst 10.1.2.2 --flows 10 --rate 2000
	[ $(($(queued 2 n1p2) - at)) -ge 500 ]
	[ "$(express 2 n1p2)" = 0 ]
}

# A sender that was not on a processor catches up in a burst, for which the bucket has no tokens.
@test "a shaped port with a controller gets its frames at once while it has tokens" {
	local at
	at=$(express 1 n2p2)
	send_all h1p1 n1:eth1 h2p2 1000 --dst 10.2.2.2 --flows 10 --rate 2000
	[ $(($(express 1 n2p2) - at)) -ge 200 ]
}

# The controller, price, counts what goes past the bridges: it lowers the VOQ's rate to what the port
# carries, and both ways together keep to the port's rate. A bridge that waits long for a processor
# is slower than that, but never faster.
@test "a shaped port that is offered more keeps to its rate, and its controller slows the sender" {
	local slow
	slow=$(queued 1 n2p2)
	flow 0 2 20000 --size 1500
	by_the_bridge() { [ $(($(queued 1 n2p2) - slow)) -ge 3000 ]; }
	wait_for 60 by_the_bridge
	slowed() { [ "$(voq n2p2 0 rate)" -le 14000000 ]; }
	wait_for 60 slowed
	spawn h2p2 window build/lab/sink eth0 --json --flows --expect 16000
	wait_for 120 no_processes "$(cat "$LAB_DIR/window.pid")"
	within "$(jq '.bytes / (.last_ns - .first_ns) * 1e9' "$LAB_DIR/window.out")" 1 12875000
	[ "$(jq -c '[.reordered, .duplicates]' "$LAB_DIR/window.out")" = "[0,0]" ]
	gens_end 0
}

# own FIELD: of the VOQs from node 2 to its own port
own() { bridge_ask 2 voqs | jq -s "map(select(.port == \"n2p2\").$1) | add"; }
# rate_kept: what comes to the host behind the shaped port keeps its order, and is no more than its rate
rate_kept() {
	spawn h2p2 window build/lab/sink eth0 --json --flows --expect 16000
	wait_for 120 no_processes "$(cat "$LAB_DIR/window.pid")"
	within "$(jq '.bytes / (.last_ns - .first_ns) * 1e9' "$LAB_DIR/window.out")" 1 12875000 &&
		[ "$(jq -c '[.reordered, .duplicates]' "$LAB_DIR/window.out")" = "[0,0]" ]
}

@test "frames between ports of a node leave a shaped port at once, too, while other nodes send nothing to it" {
	local before
	opens() { on h2p1 ping -c 1 -W 1 10.2.2.2 && way_is 2 n2p2 yes; }
	wait_for 30 opens
	before=$(own enqueued_frames)
	send_all h2p1 n2:eth1 h2p2 100 --dst 10.2.2.2 --size 200 --rate 50
	[ "$(own enqueued_frames)" = "$before" ]
	[ "$(own express_frames)" -ge 100 ]
	# More than the rate carries waits in the bridge, and its controller has counted what did not.
	flow_from h2p1 0 2 20000 --size 1500
	slowed() { [ "$(bridge_ask 2 voqs | jq 'select(.port == "n2p2" and .class == 0).rate')" -le 14000000 ]; }
	wait_for 60 slowed
	rate_kept
	# Frames of another node take the bucket over, and both ways together keep to the rate.
	FLOW_NAME=other flow 0 2 20000 --size 1500 --first-flow 5000
	wait_for 30 way_is 2 n2p2 own-port
	rate_kept
	[ "$(share 0)" -gt 0 ]
	[ "$(share 5000)" -gt 0 ]
	gens_end 0 other
	# Then it is free again.
	wait_for 30 opens
}

@test "each queue says why its frames go by the bridge" {
	local id
	wait_for 10 way_is 1 n2p1 yes
	id=$(bridge_ask 1 voqs | jq 'select(.port == "n2p1" and .class == 0).voq')
	set_voq "$id" 0 0 16 1024 0 0
	way_is 1 n2p1 rate
	run -0 on n1 build/sluice show express
	echo "$output"
	[[ "$output" == *"n2p1/0 "*" rate "*"its rate leaves no token now"* ]]
	set_voq "$id" 18446744073709551615 0 16 1024 0 0
	wait_for 10 way_is 1 n2p1 yes
}

@test "flows keep their order while they change between the two ways" {
	local fast slow
	fast=$(express 1 n2p1)
	slow=$(queued 1 n2p1)
	send_start h1p1 n1:eth1 h2p1 --dst 10.2.1.2 --imix --flows 50 --rate 5000
	# The node's own kernel sends by the bridge, and what comes meanwhile for that node waits for it.
	spawn n1 pings ping -q -i 0.002 10.2.1.2
	both_ways() { [ $(($(queued 1 n2p1) - slow)) -ge 200 ] && [ $(($(express 1 n2p1) - fast)) -ge 1000 ]; }
	wait_for 60 both_ways
	finish gen
	finish pings
	sends_end
	came_whole
	echo "by express $(($(express 1 n2p1) - fast)), by the bridge $(($(queued 1 n2p1) - slow))"
}

@test "a bridge that was killed takes no express frames, and its successor does" {
	killed_now 2
	wait_for 30 peer_is 1 2 down
	at=$(express 1 n2p1)
	on h1p1 ping -c 1 -W 1 10.2.1.2 && false
	[ "$(express 1 n2p1)" = "$at" ]
	way_is 1 n2p1 peer-down
	bridge_start 2
	wait_for 30 peer_is 1 2 up
	wait_for 30 goes_by_express 1 h1p1 10.2.1.2 n2p1
}

@test "a port that comes later, with a number above all others, gets its frames at once, too" {
	local n
	for n in 1 2 3; do
		sed -i "/id: 2\b/,/id: 3\b/ s/- {number: 2, [^}]*}/- {number: 9, name: eth2}/" "$LAB_DIR/n$n.yaml"
	done
	reload 1 2 3
	wait_for 30 goes_by_express 1 h1p1 10.2.2.2 n2p9
	[ "$(queue n2p9 0 express_frames)" -gt 0 ]
	send_all h1p1 n1:eth1 h2p2 500 --dst 10.2.2.2 --flows 10 --rate 2000
}
