#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A part of a cluster that dies: the others notice within the bound and suffer no harm, it comes
# back by itself, and leaves nothing stale.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/cluster_health.sh
. netns-lab/faults/faults.sh

# A node counts as dead after this silence: longer than a busy machine lets a living bridge wait for
# a processor.
LIVENESS_MS=800

setup_file() {
	export CLUSTER_LIVENESS_MS=$LIVENESS_MS
	cluster_begin 3 2
	wait_for 20 hosts_reach_each_other
	settled_inventory "$LAB_DIR/whole"
}

# End what a failed test has left running.
teardown() { flows_kill; }

# Is nothing under way?
all_quiet() { cluster_counts; }

fabric_number() { bridge_ask "$1" fabric | jq ".$2"; }

@test "all peers take back a bridge that restarts, whether their id is lower or higher" {
	for n in 1 3; do
		before=$(bridge_ask "$n" status | jq .epoch)
		killed_now "$n"
		bridge_start "$n"
		wait_for 30 all_peers_are_up
		[ "$(bridge_ask "$n" status | jq .epoch)" != "$before" ]
	done
	[ "$(fabric_number 1 knocks)" -ge 1 ] # of node 3
}

@test "a bridge takes back a fabric netdev that is deleted and made again with another MAC address" {
	mac=$(mac_of n1 fab0)
	for n in 1 3; do
		on "n$n" ip link del fab0
		wait_for 10 grep -q "the netdev fab0 is gone" "$LAB_DIR/bridge-n$n.err"
		wait_for 10 no_carrier 2 "$n" 1
		wait_for 10 no_carrier "$n" 2 1
	done
	for n in 1 3; do cluster_wire_fabric "$n"; done
	[ "$(mac_of n1 fab0)" != "$mac" ]
	wait_for 30 cluster_is_healthy "$LAB_DIR/whole"
	kill -0 "$(cat "$LAB_DIR/bridge-n1.pid")"
	kill -0 "$(cat "$LAB_DIR/bridge-n3.pid")"
}

@test "all peers learn the new MAC address of a fabric netdev" {
	on n2 ip link set dev fab0 address 02:00:00:00:09:02
	wait_for 10 grep -q "starting over" "$LAB_DIR/bridge-n2.err"
	wait_for 30 all_peers_are_up
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.1.2
	send_all h1p1 n1:eth1 h2p1 1000 --dst 10.2.1.2
}

# --- Traffic that has another way ---

# 192.0.2.1 is behind node 2 and, should that fail, behind node 3.
anycast() {
	for n in 2 3; do
		on "h${n}p1" ip addr replace 192.0.2.1/32 dev lo
		on n1 ip route replace 192.0.2.0/24 via "10.$n.1.2" dev "n${n}p1" metric "$n"
	done
}

# more_frames N BEFORE: has node N transmitted 500 more?
more_frames() { [ "$(frames "$1" transmitted)" -ge $(($2 + 500)) ]; }

# moves_over KIND: with this fault of node 2, traffic must move to node 3, and back when node 2 has
# returned
moves_over() {
	local rate=2000 before lost_ms
	anycast
	cluster_counts
	flow_start moving h1p1 n1:eth1 192.0.2.1 $rate h2p1 h3p1
	before=$(frames 2 transmitted)
	wait_for 10 more_frames 2 "$before"
	before=$(frames 3 transmitted)
	"break_$1" 2
	wait_for 10 more_frames 3 "$before"
	"mend_$1" 2
	wait_for 30 all_peers_are_up
	before=$(frames 2 transmitted)
	wait_for 10 more_frames 2 "$before"
	flow_arrives moving h2p1 h3p1
	lost_ms=$(((FLOW_SENT - FLOW_RECEIVED) * 1000 / rate))
	echo "sent $FLOW_SENT, received $FLOW_RECEIVED: $lost_ms ms lost, of which $LIVENESS_MS to notice"
	[ "$FLOW_WRONG" = 0 ]
	# The bound, and three seconds (more on a slow machine) for the kernel, the daemon and other
	# load of this machine.
	[ "$lost_ms" -le $((LIVENESS_MS + 3000 * ${LAB_PATIENCE:-1})) ]
}

@test "traffic of a bridge that is killed moves within the bound, and back when it returns" { moves_over bridge; }
@test "traffic of a fabric link that is cut moves within the bound, and back when it is mended" {
	moves_over link
	# All sums hold, except for messages that were on the cable: only the receivers count those,
	# as lost.
	run cluster_ledger "$FLOW_SENT" "$FLOW_RECEIVED"
	echo "$output"
	jq -e '(.wrong | map(startswith("fabric: ") | not) | any | not) and .drops.fabric > 0' <<<"${lines[0]}"
}

@test "traffic of a node that dies moves within the bound; the node that returns is healthy" {
	anycast
	flow_start moving h1p1 n1:eth1 192.0.2.1 2000 h3p1
	break_node 2
	before=$(frames 3 transmitted)
	wait_for 10 more_frames 3 "$before"
	flow_end moving h3p1
	[ "$FLOW_WRONG" = 0 ]
	mend_node 2
	wait_for 30 cluster_is_healthy "$LAB_DIR/whole"
}

# routes_many: route 20,000 anycast prefixes (in $LAB_DIR/many), and one prefix both ways
routes_many() {
	awk 'BEGIN { for (i = 0; i < 20000; i++) printf "100.%d.%d.%d/28\n", 64 + i / 4096, i / 16 % 256, i % 16 * 16 }' >"$LAB_DIR/many"
	sed 's|.*|route add & via 10.2.1.2 dev n2p1 metric 2\nroute add & via 10.3.1.2 dev n3p1 metric 3|' "$LAB_DIR/many" |
		on n1 ip -batch -
	on n1 ip route replace 198.51.100.0/24 nexthop via 10.2.1.2 dev n2p1 nexthop via 10.3.1.2 dev n3p1
}
# many_by N: does the fast path of node 1 send all these prefixes to node N?
many_by() {
	local i
	on n1 build/sluice --json show routes 100.64.0.0/10 >"$LAB_DIR/routes" &&
		[ "$(jq '[.[] | select(.installed and .nexthops[0].dev == "n'"$1"'p1")] | length' "$LAB_DIR/routes")" = 20000 ] || return
	for i in 64.0.1 66.100.1 68.225.241; do
		[ "$(on n1 build/sluice --json explain "100.$i" | jq -r '.verdict + .nexthop.port')" = "forwardn$1p1" ] || return
	done
}

@test "traffic to 20,000 prefixes of a killed bridge moves within the bound, on single and on multipath routes" {
	local rate=2000
	routes_many
	wait_for 30 many_by 2
	wait_for 60 cluster_counts
	FLOW_OPTIONS="--dests 20000" flow_start single h1p1 n1:eth1 "$LAB_DIR/many" $rate h2p1 h3p1
	FLOW_OPTIONS="--flows 500 --first-flow 30000" flow_start group h1p2 n1:eth2 198.51.100.1 $rate
	before=$(frames 2 transmitted)
	wait_for 10 more_frames 2 "$before"
	before=$(frames 3 transmitted)
	break_bridge 2
	wait_for 30 many_by 3
	wait_for 10 more_frames 3 "$before"
	wait_for 10 more_frames 3 "$(frames 3 transmitted)"
	mend_bridge 2
	wait_for 30 all_peers_are_up
	wait_for 30 many_by 2
	before=$(frames 2 transmitted)
	wait_for 10 more_frames 2 "$before"
	flow_stop single
	flow_stop group
	sent=$((FLOW_SENT + $(jq .sent "$LAB_DIR/single-gen.out")))
	flow_arrives single h2p1 h3p1
	lost_ms=$(((sent - FLOW_RECEIVED) * 1000 / (2 * rate)))
	echo "sent $sent, received $FLOW_RECEIVED: $lost_ms ms lost, of which $LIVENESS_MS to notice"
	[ "$FLOW_WRONG" = 0 ]
	[ "$lost_ms" -le $((LIVENESS_MS + 3000 * ${LAB_PATIENCE:-1})) ]
	sed 's|.*|route del & metric 2\nroute del & metric 3|' "$LAB_DIR/many" | on n1 ip -batch -
	on n1 ip route del 198.51.100.0/24
}

# --- Traffic that has no other way ---

@test "frames that meet the rings of a netdev that has gone are dropped by name, and hold no place in a queue" {
	local port
	waiting() { bridge_ask 1 voqs | jq -s 'map(.waiting_frames) | add'; }
	none_waits() { [ "$(waiting)" = 0 ]; }
	port=$(on n1 cat /sys/class/net/eth2/ifindex)
	wait_for 10 none_waits
	cluster_counts
	break_pause 1
	break_edge_netdev 1
	mend_edge_netdev 1
	attached() { [ "$(on n1 ip -j link show dev eth2 | jq '.[0].xdp.prog.id // 0')" != 0 ]; }
	wait_for 30 attached
	[ "$(on n1 cat /sys/class/net/eth2/ifindex)" != "$port" ]
	fast() { [ "$(on n1 build/sluice -j explain 10.2.1.2 | jq -r .verdict)" = forward ]; }
	wait_for 10 fast
	gen gen h1p2 n1:eth2 --dst 10.2.1.2 --count 200 --rate 10000 --flows 10
	mend_pause 1
	wait_for 20 peer_is 2 1 up
	wait_for 20 none_waits
	# The new netdev has counted nothing of what the old one sent.
	run cluster_ledger 200 0
	echo "$output"
	jq -e '(.wrong | map(contains("departure") | not) | any | not) and .drops["drop-voq-ring"] == 200' <<<"${lines[0]}"
	wait_for 30 cluster_is_healthy "$LAB_DIR/whole"
}

@test "a daemon that is killed and started again loses no packet, on the ingress node and on the egress node" {
	cluster_counts
	flow_start through h1p1 n1:eth1 10.2.1.2 2000 h2p1
	for n in 1 2; do
		break_daemon "$n"
		mend_daemon "$n"
	done
	flow_arrives through h2p1
	echo "sent $FLOW_SENT, received $FLOW_RECEIVED"
	cluster_conserves "$FLOW_SENT" "$FLOW_RECEIVED"
	[ "$FLOW_WRONG" = 0 ]
}

@test "a bridge that gets no processor fills its rings, drops by name, and blames nobody else" {
	local downs stalls full_before
	downs() { bridge_ask 1 peers | jq -s 'map(.downs) | add'; }
	stalls_of_others() { echo $(($(fabric_number 2 stalls) + $(fabric_number 3 stalls))); }
	downs=$(downs)
	stalls=$(stalls_of_others)
	cluster_counts
	flow_start through h1p1 n1:eth1 10.2.1.2 5000 h2p1
	break_pause 1
	voq_full() { on n1 build/sluice --json show drops | jq '.[] | select(.name == "voq-full").packets'; }
	full_before=$(voq_full)
	full() { [ "$(voq_full)" -gt $((full_before + 500)) ]; }
	wait_for 20 full
	wait_for 10 peer_is 2 1 down
	mend_pause 1
	wait_for 10 peer_is 2 1 up
	wait_for 10 peer_is 3 1 up
	flow_arrives through h2p1
	cluster_conserves "$FLOW_SENT" "$FLOW_RECEIVED"
	[ "$FLOW_WRONG" = 0 ]
	[ "$(fabric_number 1 stalls)" -ge 1 ]
	echo "gave up $downs to $(downs) peers, stalls of the others $stalls to $(stalls_of_others)"
	# If the machine left another bridge without a processor, too, that one says so and may
	# count as dead.
	[ "$(downs)" = "$downs" ] || [ "$(stalls_of_others)" -gt "$stalls" ]
}

@test "daemon and bridge take back an edge netdev that is deleted and made again" {
	break_edge_netdev 2
	wait_for 10 no_carrier 1 2 2
	mend_edge_netdev 2
	wait_for 30 cluster_is_healthy "$LAB_DIR/whole"
	send_all h1p1 n1:eth1 h2p2 1000 --dst 10.2.2.2
}

@test "a bridge that may open no more files keeps its ports and its fabric, and loses no packet" {
	local bridge epoch log="$LAB_DIR/bridge-n1.err"
	bridge=$(cat "$LAB_DIR/bridge-n1.pid")
	epoch() { bridge_ask 2 peers | jq 'select(.node == 1) | [.epoch, .downs]'; }
	delivered() { on h2p1 cat /sys/class/net/eth0/statistics/rx_packets; }
	looked() { [ "$(grep -c "fabric: cannot look at fab0: Too many open files" "$log")" = 1 ]; }
	epoch=$(epoch)
	gone=$(grep -c "is gone" "$log" || true)
	cluster_counts
	flow_start through h1p1 n1:eth1 10.2.1.2 2000 h2p1
	limits=$(prlimit --pid "$bridge" --nofile --raw --noheadings --output SOFT,HARD | tr -s ' ' :)
	prlimit --pid "$bridge" --nofile="3:${limits#*:}"
	wait_for 10 looked
	# traffic goes on while the bridge looks, some times a second, at its ports
	before=$(delivered)
	goes_on() { [ "$(delivered)" -gt $((before + 2000)) ]; }
	wait_for 20 goes_on
	prlimit --pid "$bridge" --nofile="$limits"
	flow_arrives through h2p1
	[ "$(grep -c "is gone" "$log" || true)" = "$gone" ]
	[ "$(epoch)" = "$epoch" ]
	cluster_conserves "$FLOW_SENT" "$FLOW_RECEIVED"
	echo "sent $FLOW_SENT, received $FLOW_RECEIVED, wrong $FLOW_WRONG"
	[ "$FLOW_SENT" = "$FLOW_RECEIVED" ]
	[ "$FLOW_WRONG" = 0 ]
}

# said TEXT N: has the bridge of node 1 logged this N times?
said() { [ "$(grep -c "$1" "$LAB_DIR/bridge-n1.err")" -ge "$2" ]; }

rename_again_and_again() {
	local gone opened i
	gone=$(grep -c "port eth2: the netdev is gone" "$LAB_DIR/bridge-n1.err" || true)
	opened=$(grep -c "port eth2: n1p2, " "$LAB_DIR/bridge-n1.err")
	for i in 1 2 3 4 5 6; do
		on n1 ip link set eth2 name away
		wait_for 10 said "port eth2: the netdev is gone" $((gone + i))
		on n1 ip link set away name eth2
		wait_for 10 said "port eth2: n1p2, " $((opened + i))
	done
}

@test "an edge netdev that is renamed again and again costs another port no packet, and no peer" {
	untouched rename_again_and_again
	wait_for 30 cluster_is_healthy "$LAB_DIR/whole"
}

# Another program takes a queue of eth2 while the netdev has another name, and keeps it for a second or more.
hold_queue() {
	local busy
	busy=$(grep -c "port eth2: cannot open AF_XDP rings: Device or resource busy" "$LAB_DIR/bridge-n1.err" || true)
	gone=$(grep -c "port eth2: the netdev is gone" "$LAB_DIR/bridge-n1.err")
	on n1 ip link set eth2 name away
	wait_for 10 said "port eth2: the netdev is gone" $((gone + 1))
	mkfifo "$LAB_DIR/hold"
	on n1 build/tests/tools/hold-queue away 0 <"$LAB_DIR/hold" >"$LAB_DIR/held" 3>&- &
	exec 8>"$LAB_DIR/hold"
	wait_for 20 grep -q held "$LAB_DIR/held"
	on n1 ip link set away name eth2
	wait_for 30 said "port eth2: cannot open AF_XDP rings: Device or resource busy" $((busy + 1))
}

@test "a receive queue that another program holds closes its port alone, which opens when the queue is free" {
	untouched hold_queue
	opened=$(grep -c "port eth2: n1p2, " "$LAB_DIR/bridge-n1.err")
	exec 8>&-
	wait_for 30 said "port eth2: n1p2, " $((opened + 1))
	wait_for 30 cluster_is_healthy "$LAB_DIR/whole"
	send_all h1p2 n1:eth2 h2p1 1000 --dst 10.2.1.2
}

# --- Bad input ---

# capture_from FROM N: capture what the fabric brings node N of node FROM while data goes there, in $LAB_DIR/replay.pcap
capture_from() {
	spawn fabric tap tcpdump -i "n$2" -w "$LAB_DIR/replay.pcap" -s 0 -U -Q out \
		"udp port 4791 and src host 10.9.0.$1 and dst host 10.9.0.$2"
	wait_for 10 grep -q listening "$LAB_DIR/tap.err"
	on "h$1p1" build/lab/gen eth0 --json --dst-mac "$(mac_of "n$1" eth1)" --dst "10.$2.1.2" --count 200 --rate 2000 >"$LAB_DIR/gen.json"
	wait_for 10 holds_data
	kill -INT "$(cat "$LAB_DIR/tap.pid")"
	wait "$(cat "$LAB_DIR/tap.pid")"
}
holds_data() { [ "$(stat -c %s "$LAB_DIR/replay.pcap")" -gt 5000 ]; }

# dropped N KIND NAME: messages or frames that the bridge of node N dropped by this name
dropped() { bridge_ask "$1" fabric | jq ".$2[\"$3\"]"; }
has_dropped() { [ "$(dropped "$1" "$2" "$3")" -ge "$4" ]; }

@test "messages that are replayed or changed are dropped whole and counted by name" {
	capture_from 1 2
	wait_for 10 all_quiet
	before=$(frames 2 egress)
	stale=$(($(dropped 2 messages duplicate) + $(dropped 2 messages stale)))
	sent=$(on fabric /usr/bin/python3 -B tests/tools/replay_frames.py n2 "$LAB_DIR/replay.pcap")
	seen_again() { [ $(($(dropped 2 messages duplicate) + $(dropped 2 messages stale))) -ge $((stale + sent)) ]; }
	wait_for 10 seen_again
	bad=$(dropped 2 frames icrc)
	on fabric /usr/bin/python3 -B tests/tools/replay_frames.py n2 "$LAB_DIR/replay.pcap" --spoil -10
	wait_for 10 has_dropped 2 frames icrc $((bad + sent))
	[ "$(frames 2 egress)" = "$before" ]
	peer_is 2 1 up
	# A restarted receiver drops them, too: its queue pair and keys are others.
	break_bridge 2
	mend_bridge 2
	wait_for 30 all_peers_are_up
	on fabric /usr/bin/python3 -B tests/tools/replay_frames.py n2 "$LAB_DIR/replay.pcap"
	strange() { [ "$(bridge_ask 2 fabric | jq '.frames.qpn + .frames.qkey')" -ge "$sent" ]; }
	wait_for 10 strange
	[ "$(frames 2 egress)" = 0 ]
}


# They are good messages of another node, which a host sends into a tunnel of ours: our kernel takes them out and forwards.
@test "messages of the fabric's protocol out of a tunnel are dropped by the node that they reach" {
	capture_from 3 2
	on n1 ip link add vx0 type vxlan id 7 dstport 4789 local 10.1.1.1 dev eth1
	on n1 ip link set vx0 up
	on n1 sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.vx0.rp_filter=0
	mac=$(on n1 cat /sys/class/net/vx0/address)
	wait_for 10 all_quiet
	before=$(dropped 2 frames hop-limit)
	taken=$(frames 2 egress)
	judged=$(bridge_ask 2 fabric | jq '.messages.duplicate + .messages.stale')
	sent=$(on h1p1 /usr/bin/python3 -B tests/tools/replay_frames.py --vxlan 10.1.1.1 "$mac" "$LAB_DIR/replay.pcap")
	[ "$sent" -gt 0 ]
	wait_for 10 has_dropped 2 frames hop-limit $((before + sent))
	[ "$(bridge_ask 2 fabric | jq '.messages.duplicate + .messages.stale')" = "$judged" ]
	[ "$(frames 2 egress)" = "$taken" ]
	on n1 ip link del vx0
	peer_is 2 3 up
}

@test "messages of the fabric's protocol from an edge port are dropped, for its own node and for others" {
	spoofed() { on n1 build/sluice --json --all show drops | jq '.[] | select(.name == "fabric-spoof").packets'; }
	before=$(spoofed)
	for to in 10.9.0.1 10.9.0.2; do
		on h1p1 bash -c "for i in 1 2 3 4 5; do echo payload >/dev/udp/$to/4791; done"
	done
	more_spoofed() { [ "$(spoofed)" = $((before + 10)) ]; }
	wait_for 10 more_spoofed
}

@test "a fabric MTU too small for a full frame is reported, and becomes the MTU of remote ports" {
	on n3 ip link set dev fab0 mtu 1500
	wait_for 10 grep -q "the MTU of fab0, 1500, holds messages of 1448 bytes; a full frame of our ports needs 3434" "$LAB_DIR/bridge-n3.err"
	wait_for 20 grep -q "node 3 takes messages of up to 1448 bytes; a full frame of our ports needs 3434" "$LAB_DIR/bridge-n1.err"
	wait_for 30 all_peers_are_up
	wait_for 10 on h1p1 ping -c 1 -W 1 -s 1300 10.3.1.2
	# 1398, 14 of Ethernet and 36 of the message's headers: 1448
	mtu_is() { [ "$(on n1 cat /sys/class/net/n3p1/mtu)" = "$1" ]; }
	wait_for 10 mtu_is 1398
	# Node 3 has a new life, but the peers that it meets are the same.
	mtu_at_3_is() { [ "$(on n3 cat /sys/class/net/n1p1/mtu)" = "$1" ]; }
	wait_for 10 mtu_at_3_is 1398
	before=$(frames 1 drop-too-big)
	run on h1p1 ping -c 1 -W 1 -M "do" -s 1400 10.3.1.2
	[[ "$output" == *"Frag needed and DF set (mtu = 1398)"* ]]
	on h1p1 ping -c 1 -W 5 -s 1370 -M "do" 10.3.1.2
	[ "$(frames 1 drop-too-big)" = "$before" ]
	on n3 ip link set dev fab0 mtu 1300
	wait_for 20 mtu_is 1198
	wait_for 10 grep -q "n3p1: MTU 1198, .*; below 1280, this node's kernel has no IPv6 there" "$LAB_DIR/sluiced-n1.err"
	on n3 ip link set dev fab0 mtu "$CLUSTER_FABRIC_MTU"
	wait_for 30 all_peers_are_up
	wait_for 10 mtu_is "$(on n3 cat /sys/class/net/eth1/mtu)"
	wait_for 10 mtu_at_3_is "$(on n1 cat /sys/class/net/eth1/mtu)"
	wait_for 10 on h1p1 ping -c 1 -W 1 -s 1400 10.3.1.2
}

@test "sluice check says what is wrong with a cluster's key, netdev and address" {
	check() { on n1 build/sluice check "$LAB_DIR/check.yaml"; }
	changed() { sed "$1" "$LAB_DIR/n1.yaml" >"$LAB_DIR/check.yaml"; }
	changed ""
	check
	changed "s/device: fab0/device: fab7/"
	run -2 check
	# shellcheck disable=SC2016
	[[ $output = *'cluster.fabric.device: "fab7" is not a netdev here: write one that `ip link` shows' ]]
	changed "s/10.9.0.1/10.9.0.11/"
	run -2 check
	[[ $output = *'"10.9.0.11" is not an address of fab0 here, and this is node 1' ]]
	changed "s|key_file: .*|key_file: $LAB_DIR/no.key|"
	run -2 check
	[[ $output = *'is not there: write the same random 32 bytes on all nodes' ]]
	(umask 077 && echo short >"$LAB_DIR/no.key")
	run -2 check
	[[ $output = *'is no key: a key has 16 to 1024 bytes' ]]
	echo "long enough for a key" >"$LAB_DIR/no.key"
	chmod 644 "$LAB_DIR/no.key"
	run -2 check
	[[ $output = *'may be read by others than its owner: chmod 600' ]]
}

@test "sluice check warns of realtime with a liveness shorter than the kernel's own pauses" {
	short() { sed "s/liveness_ms: .*/liveness_ms: $1/; s/bridge: {/bridge: {$2/" "$LAB_DIR/n1.yaml" >"$LAB_DIR/check.yaml"; }
	short 99 "realtime: 1"
	run -0 --separate-stderr on n1 build/sluice check "$LAB_DIR/check.yaml"
	[ "$output" = "$LAB_DIR/check.yaml: ok" ]
	# shellcheck disable=SC2016
	[[ $stderr = *'cluster.liveness_ms: "99" is short beside `realtime`: '*': write 100 or more' ]]
	[ "$(on n1 build/sluice -j check "$LAB_DIR/check.yaml" | jq '.ok and (.warning | test("short beside"))')" = true ]
	silent() {
		run -0 --separate-stderr on n1 build/sluice check "$LAB_DIR/check.yaml"
		[ -z "$stderr" ]
	}
	short 100 "realtime: 1"
	silent
	short 99 ""
	silent
}

@test "the first packets to an unresolved neighbour wait until it is resolved" {
	on h3p1 ip addr add 10.3.1.77/24 dev eth0
	on h3p1 ip addr add fd00:0:3:1::77/64 dev eth0 nodad
	for to in 10.3.1.77 fd00:0:3:1::77; do
		flow_start first h1p1 n1:eth1 "$to" 20 h3p1
		arrived() { [ "$(frames 3 transmitted)" -ge "$1" ]; }
		wait_for 10 arrived $(($(frames 3 transmitted) + 10))
		flow_stop first
		wait_for 10 all_quiet
		flow_end first h3p1
		echo "sent $FLOW_SENT, received $FLOW_RECEIVED"
		[ "$FLOW_SENT" = "$FLOW_RECEIVED" ]
	done
	on h3p1 ip addr del 10.3.1.77/24 dev eth0
	on h3p1 ip addr del fd00:0:3:1::77/64 dev eth0
	on n3 ip neigh flush to 10.3.1.77 dev eth1
	on n3 ip neigh flush to fd00:0:3:1::77 dev eth1
}

@test "after all these faults the cluster is healthy, and holds nothing that it did not hold at first" {
	wait_for 60 cluster_is_healthy "$LAB_DIR/whole"
}
