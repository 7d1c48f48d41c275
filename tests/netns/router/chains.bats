#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
# Rules that name a chain of elements: packets go through sluice-elements and are routed anew. The
# hosts' tcpdump is the oracle of the bytes, sums of counters that of conservation. One lab for all; 15
# seconds of processor time.
bats_require_minimum_version 1.5.0
load chain_lab

setup_file() {
	router_up
	CHAINS=$LAB_DIR/chains
	cat >"$CHAINS" <<-'END'
		chain mark { input -> Dscp(dscp=ef) -> output; }
		chain nat { input -> Nat44(side=destination, from=10.9.0.0/24, to=10.0.2.0/24) -> output; }
		chain mix share 3 {
			m :: Mirror; s :: Sample(one_in=3); p :: Police(rate=8kbit, burst=2k);
			input -> m -> s -> output;
			m[1] -> p -> Queue(limit=4) -> Delay(time=20us) -> output;
		}
		chain whole { input -> Counter -> output; }
		chain swift fast { s :: Sample(one_in=2); input -> s -> Dscp(dscp=ef) -> output; }
		chain steady fast { input -> Counter -> output; }
		chain tight fast ceiling 1% {
			input -> Dscp(dscp=1) -> Dscp(dscp=2) -> Dscp(dscp=3) -> Dscp(dscp=4) -> Dscp(dscp=5) -> Dscp(dscp=6)
				-> Dscp(dscp=7) -> Dscp(dscp=8) -> Dscp(dscp=9) -> Dscp(dscp=10) -> Dscp(dscp=11) -> Dscp(dscp=12)
				-> Dscp(dscp=13) -> output;
		}
	END
	printf '%s\n' "heartbeat_s: 600" "metrics: 9101" "exact_flows: 64" \
		"filters:" "- name: in" "  ports: [{name: eth1}]" "  default: permit" "  rules:" \
		"  - {action: permit, name: mark, protocol: udp, destination_port: 7000, chain: mark}" \
		"  - {action: permit, name: nat, destination: 10.9.0.0/24, chain: nat}" \
		"  - {action: permit, name: mix, protocol: udp, destination_port: 7001, chain: mix}" \
		"  - {action: permit, name: none, protocol: udp, destination_port: 7002, chain: nowhere}" \
		"  - {action: permit, name: whole, protocol: tcp, destination_port: 7003, chain: whole}" \
		"  - {action: permit, name: swift, protocol: udp, destination_port: 7004, chain: swift}" \
		"  - {action: permit, name: steady, protocol: udp, dscp: af11, chain: steady}" \
		"  - {action: permit, name: tight, protocol: udp, destination_port: 7005, chain: tight}" \
		"ports:" "  - name: eth1" "  - name: eth2" "  - {name: slchain0, optional: true}" >"$CONFIG"
	daemon
	elements
	export LAB_ID LAB_DIR CONFIG DAEMON ELEMENTS CHAINS
}

# ask COMMAND: what sluice-elements answers, its rows
ask() {
	on n1 /usr/bin/python3 - "$1" <<-'END'
		import json, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect("/run/sluice/sluice-elements.sock")
		s.sendall(json.dumps({"command": sys.argv[1]}).encode() + b"\n")
		rows = [json.loads(line) for line in s.makefile()]
		print(json.dumps(rows[1:-1]))
	END
}

# udp FAMILY PORT N [DESTINATION]: UDP packets of h1, by scapy, with numbers and sizes
udp() {
	on h1 /usr/bin/python3 - "$(mac_of n1 eth1)" "$@" <<-'END'
		import sys
		from scapy.all import Ether, IP, IPv6, UDP, Raw, sendp
		mac, family, port, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
		to = sys.argv[5] if len(sys.argv) > 5 else {"4": "10.0.2.2", "6": "fd00:2::2"}[family]
		head = (lambda i: IP(dst=to, id=i, ttl=64)) if family == "4" else (lambda i: IPv6(dst=to, hlim=64))
		frames = [Ether(dst=mac) / head(i) / UDP(sport=20000 + i, dport=port) / Raw(bytes(i * 7 % 1200))
		          for i in range(n)]
		sendp(frames, iface="eth0", verbose=False)
	END
}

# watch FILTER: what comes to h2, in $LAB_DIR/watch.out
watch() {
	spawn h2 watch tcpdump -i eth0 -Q in -U -w - "$1"
	watching() { grep -q "listening on" "$LAB_DIR/watch.err"; }
	wait_for 10 watching
}
seen() { tcpdump -r "$LAB_DIR/watch.out" -n -vv -c 100000 2>/dev/null | grep -c "$1"; }
sees() { [ "$(tcpdump -r "$LAB_DIR/watch.out" -n 2>/dev/null | wc -l)" -ge "$1" ]; }
watched() {
	kill "$(cat "$LAB_DIR/watch.pid")"
	wait_for 10 no_processes "$(cat "$LAB_DIR/watch.pid")"
}

hits() { sluice -j show filters | jq ".[] | select(.name == \"$1\").packets"; }

@test "packets of both families come out changed and routed: DSCP ef, one hop older, checksums right" {
	watch 'udp port 7000'
	udp 4 7000 30
	udp 6 7000 30
	wait_for 10 sees 60
	watched
	[ "$(seen 'tos 0xb8, ttl 63')" = 30 ]
	[ "$(seen 'class 0xb8.*hlim 63')" = 30 ]
	[ "$(seen 'bad')" = 0 ]
	[ "$(seen 'udp sum ok')" = 60 ]
}

@test "packets of exact flows that name a rule go through its chain, once" {
	local i before
	before=$(hits mark)
	for i in {20000..20029}; do
		echo "source=10.0.1.2 destination=10.0.2.2 protocol=udp source_port=$i destination_port=7010 as=in/mark"
		echo "source=fd00:1::2 destination=fd00:2::2 protocol=udp source_port=$i destination_port=7010 as=in/mark"
	done | sluice filter flow load -
	watch 'udp port 7010'
	udp 4 7010 30
	udp 6 7010 30
	wait_for 10 sees 60
	watched
	[ "$(seen 'tos 0xb8, ttl 63')" = 30 ]
	[ "$(seen 'class 0xb8.*hlim 63')" = 30 ]
	[ "$(seen 'udp sum ok')" = 60 ]
	[ $(($(hits mark) - before)) = 60 ]
	[ "$(sluice -j filter flow list | jq -c '[.[].packets] | [min, max]')" = '[1,1]' ]
	sluice filter flow flush
}

@test "a packet whose destination a chain changed goes to the new one" {
	watch 'dst 10.0.2.2 and udp port 7009'
	udp 4 7009 20 10.9.0.2
	wait_for 10 sees 20
	watched
	[ "$(seen 'bad')" = 0 ]
}

# swift KEY: of the chain; is_fast: its packet stays in the fast path
swift() { sluice -j flow | jq ".[] | select(.flow == \"swift\").$1"; }
is_fast() {
	local before
	before=$(swift fast_packets)
	udp 4 7004 1
	[ "$(swift fast_packets)" = $((before + 1)) ]
}

@test "a fast chain runs in the fast path: half of its packets come out marked, the others are dropped by name" {
	local before arrived
	wait_for 10 is_fast
	is_fast || is_fast # by twos: each processor samples its own
	before="$(swift fast_packets) $(swift entered) $(swift left) $(swift dropped)"
	before+=" $(reason drop element) $(ask status | jq '.[0].received')"
	watch 'udp port 7004'
	udp 4 7004 60
	udp 6 7004 60
	grown() { [ "$(swift fast_packets)" = $((${before%% *} + 120)) ]; }
	wait_for 10 grown
	set -- $before
	[ $(($(swift entered) - $2)) = 120 ]
	arrived=$(($(swift left) - $3))
	wait_for 10 sees $arrived
	watched
	# one more or less for each processor and family
	[ $arrived -ge 56 ]
	[ $arrived -le 64 ]
	[ $(($(swift dropped) - $4)) = $((120 - arrived)) ]
	[ $(($(reason drop element) - $5)) = $((120 - arrived)) ]
	[ "$(ask status | jq '.[0].received')" = "$6" ]
	[ $(($(seen 'tos 0xb8, ttl 63') + $(seen 'class 0xb8.*hlim 63'))) = $arrived ]
	[ "$(seen 'udp sum ok')" = $arrived ]
	[ "$(sluice -j element show swift | jq '[.[] | select(.class == "Sample").dropped] | add')" -ge 56 ]
}

# of_fast CHAIN KEY: of its row
of_fast() { sluice -j flow | jq ".[] | select(.flow == \"$1\").$2"; }

@test "a fast chain beyond its ceiling of processor time drops by name, other chains go on, each packet is counted" {
	local before from_ns took_ns used_ns swift sent=0
	tight_is_fast() { udp 4 7005 1 && [ "$(of_fast tight fast_packets)" -gt 0 ]; }
	wait_for 10 tight_is_fast
	[ "$(of_fast tight ceiling_percent)" = 1 ]
	# arrived: UDP packets for no socket, as h2's kernel counts them
	arrived() { on h2 nstat -azj UdpNoPorts | jq .kernel.UdpNoPorts; }
	before="$(hits tight) $(of_fast tight entered) $(of_fast tight refused) $(of_fast tight left) $(of_fast tight cpu_ns)"
	before+=" $(reason drop chain-time) $(arrived) $(of_fast swift entered)"
	from_ns=$(date +%s%N)
	set -- $before
	all_hit() { [ $(($(hits tight) - $1)) = $sent ]; }
	# Before all others, and again: a sender that waits for the processor sends less than the ceiling lets through.
	while [ "$(of_fast tight refused)" = "$3" ] && [ $sent -lt 600000 ]; do
		on h1 nice -n -20 /usr/bin/python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(60000): s.sendto(b"x", ("10.0.2.2", 7005))'
		sent=$((sent + 60000))
		wait_for 10 all_hit "$1"
	done
	used_ns=$(($(of_fast tight cpu_ns) - $5))
	took_ns=$(($(date +%s%N) - from_ns))
	echo "entered $(($(of_fast tight entered) - $2)), refused $(($(of_fast tight refused) - $3)), used $used_ns ns in $took_ns"
	[ $(($(of_fast tight entered) - $2 + $(of_fast tight refused) - $3)) = $sent ]
	[ $(($(of_fast tight refused) - $3)) -gt 0 ]
	[ $(($(of_fast tight refused) - $3)) = $(($(reason drop chain-time) - $6)) ]
	[ $(($(of_fast tight left) - $4)) = $(($(of_fast tight entered) - $2)) ]
	[ "$(of_fast tight dropped)" = 0 ]
	[ $(($(arrived) - $7)) = $(($(of_fast tight left) - $4)) ]
	# What each processor may save, the ceiling, and the packets that were timed last.
	[ "$used_ns" -gt 0 ]
	[ "$used_ns" -le $(($(nproc) * (1000000 + 61 * 5000 + took_ns / 100))) ]
	[ "$(sluice flow | awk '$1 == "tight" { print $2, $3 }')" = "fast 1%" ]
	swift=$(of_fast swift refused)
	udp 4 7004 20
	went_on() { [ $(($(of_fast swift entered) - $1)) = 20 ]; }
	wait_for 10 went_on "$8"
	[ "$swift" = 0 ]
	[ "$(of_fast swift refused)" = 0 ]
}

@test "TCP through a chain arrives whole, though its sender leaves checksums to its device" {
	head -c 2000000 /dev/urandom >"$LAB_DIR/sent"
	spawn h2 sink socat -u TCP-LISTEN:7003,reuseaddr OPEN:"$LAB_DIR/received",creat,trunc
	listens() { on h2 ss -Hltn sport = :7003 | grep -q .; }
	wait_for 10 listens
	on h1 timeout $((30 * ${LAB_PATIENCE:-1})) socat -u OPEN:"$LAB_DIR/sent" TCP:10.0.2.2:7003
	await_end sink
	cmp "$LAB_DIR/sent" "$LAB_DIR/received"
	[ "$(hits whole)" -gt 100 ]
}

@test "each packet of a chain is accounted for: in + copies = out + drops by name" {
	local before after
	before=$(ask status)
	watch 'udp port 7001'
	udp 4 7001 500
	flow_of_mix() { sluice -j flow | jq '.[] | select(.flow == "mix")'; }
	idle() {
		sluice -j flow | jq -e '[.[].waiting // 0] | add == 0' &&
			[ "$(flow_of_mix | jq '.entered + .refused')" -ge $((500 - $(lost))) ]
	}
	lost() {
		echo $(($(reason drop tx-ring) + $(reason drop tx-error) + $(ask status | jq '.[0].drop_ring')))
	}
	# dropped [ELEMENT]: by the elements of the chain, or by one
	dropped() {
		sluice -j element show |
			jq --arg e "${1:-}" '[.[] | select(.chain == "mix" and ($e == "" or .element == $e)).dropped] | add'
	}
	wait_for 10 idle
	after=$(flow_of_mix)
	arrived() { sees "$(jq .left <<<"$after")"; }
	wait_for 10 arrived
	watched
	[ "$(hits mix)" = 500 ]
	[ "$(jq '.entered + .refused' <<<"$after")" = $((500 - $(lost))) ]
	[ "$(jq '.entered + .copied' <<<"$after")" = "$(jq '.left + .dropped' <<<"$after")" ]
	[ "$(jq .dropped <<<"$after")" = "$(dropped)" ]
	[ "$(dropped s)" -gt 100 ]
	[ "$(dropped p)" -gt 100 ]
	[ "$(seen 'length')" -ge "$(jq .left <<<"$after")" ]
	[ "$(jq '.[0].received' <<<"$before")" -gt 0 ]
}

@test "metrics of chains and elements are what promtool wants, and equal sluice flow and sluice element" {
	local name at=http://127.0.0.1:9101/metrics
	udp 4 7001 200
	on n1 curl -sS -m 60 $at >"$LAB_DIR/metrics"
	promtool check metrics <"$LAB_DIR/metrics"
	# samples REGEX: the samples of elements with names that begin so
	samples() { jq --arg re "^sluice_element_$1" 'with_entries(select(.key | test($re)))' "$LAB_DIR/samples"; }
	same() {
		on n1 curl -sS -m 60 $at | tests/tools/prometheus_samples.py >"$LAB_DIR/samples"
		sluice -j flow >"$LAB_DIR/flows"
		sluice -j element show >"$LAB_DIR/elements"
		[ "$(samples "flow_(share|weight|preemptions_total|(entered|refused|copied|left|dropped)_packets)")" = \
			"$(jq '[.[] | "{flow=\(.flow)}" as $by | to_entries[] |
				({share: "share", weight: "weight", preemptions: "preemptions_total",
					entered: "entered_packets_total", refused: "refused_packets_total",
					copied: "copied_packets_total", left: "left_packets_total",
					dropped: "dropped_packets_total"}[.key]) as $name | select($name) |
				{"sluice_element_flow_\($name)\($by)": .value}] | add' "$LAB_DIR/flows")" ] &&
			[ "$(samples packets_total)" = "$(jq 'map("{chain=\(.chain)}{class=\(.class)}{element=\(.element)}" as $by |
				{"sluice_element_packets_total\($by)": .packets}) | add' "$LAB_DIR/elements")" ]
	}
	wait_for 10 same
	[ "$(jq '."sluice_element_flow_entered_packets_total{flow=mix}"' "$LAB_DIR/samples")" -gt 50 ]
	name='sluice_element_dropped_packets_total{chain=mix}{class=Sample}{element=s}{reason=not-sampled}'
	[ "$(jq --arg name "$name" '.[$name]' "$LAB_DIR/samples")" -gt 30 ]
	[ "$(jq '.sluice_elements_up' "$LAB_DIR/samples")" = 1 ]
}

@test "jumbo frames go through a chain up to its limit, byte for byte; larger ones end by name" {
	local before port limit
	limit=$(sed -n 's/^#define SL_CHAIN_FRAME_MAX_BYTES *\([0-9]*\).*/\1/p' bpf/abi/chain_header.h)
	for port in 1 2; do
		on n1 ip link set dev "eth$port" mtu 9000
		on "h$port" ip link set dev eth0 mtu 9000
	done
	large() { [ "$(sluice -j show ports | jq '[.[] | select(.port != "slchain0").mtu_bytes] | min')" = 9000 ] && warm_up; }
	wait_for 10 large
	before=$(reason drop chain)
	watch 'udp port 7000'
	on h1 /usr/bin/python3 - "$(mac_of n1 eth1)" "$limit" >"$LAB_DIR/payloads" <<-'END'
		import sys
		from scapy.all import Ether, IP, IPv6, UDP, Raw, sendp
		mac, limit, frames = sys.argv[1], int(sys.argv[2]), []
		for size in (1515, 2049, limit - 1, limit, limit + 1, 6000, 9014):
		    for head in (IP(dst="10.0.2.2"), IPv6(dst="fd00:2::2")):
		        frame = Ether(dst=mac) / head / UDP(sport=size, dport=7000)
		        payload = bytes(i * 31 % 251 for i in range(size - len(frame)))
		        frames.append(frame / Raw(payload))
		        if size <= limit: print(size, payload.hex())
		sendp(frames, iface="eth0", verbose=False)
	END
	wait_for 10 sees 8
	ended() { [ $(($(reason drop chain) - before)) = 6 ]; }
	wait_for 10 ended
	watched
	[ "$(/usr/bin/python3 -c '
import sys
from scapy.all import PcapReader, UDP
for p in PcapReader(sys.argv[1]): print(p[UDP].sport, bytes(p[UDP].payload).hex())' "$LAB_DIR/watch.out")" = "$(cat "$LAB_DIR/payloads")" ]
	[ "$(seen 'udp sum ok')" = 8 ]
	[ "$(seen '0xb8')" = 8 ]
	for port in 1 2; do
		on n1 ip link set dev "eth$port" mtu 1500
		on "h$port" ip link set dev eth0 mtu 1500
	done
}

@test "packets of a chain that the file does not have end by name" {
	local before
	before=$(ask status | jq '.[0].drop_no_chain')
	udp 4 7002 5
	dropped() { [ "$(ask status | jq '.[0].drop_no_chain')" = $((before + 5)) ]; }
	wait_for 10 dropped
}

@test "sluiced killed, ended, replaced and with another engine, under traffic: a fast chain goes on, no packet is lost or counted twice" {
	local before
	steady_is_fast() {
		before=$(of_fast steady fast_packets)
		send h1 n1:eth1 h2 --dst 10.0.2.2 --dscp 10 --count 1 && [ "$(of_fast steady fast_packets)" = $((before + 1)) ]
	}
	wait_for 10 steady_is_fast
	before="$(of_fast steady fast_packets) $(of_fast steady entered) $(of_fast steady left)"
	before+=" $(ask status | jq '.[0].received')"
	send_start h1 n1:eth1 h2 --dst 10.0.2.2 --flows 16 --rate 2000 --dscp 10
	kill -KILL "$DAEMON"
	wait_for 10 no_processes "$DAEMON"
	daemon
	wait_for 10 port_is slchain0 on
	sed -i '1i engine: lpm' "$CONFIG"
	reload
	daemon_end TERM
	sed -i 1d "$CONFIG"
	daemon
	wait_for 10 port_is slchain0 on
	send_stop
	assert_forwarded "$(sent)"
	set -- $before
	[ $(($(of_fast steady fast_packets) - $1)) = "$(sent)" ]
	[ $(($(of_fast steady entered) - $2)) = "$(sent)" ]
	[ $(($(of_fast steady left) - $3)) = "$(sent)" ]
	[ "$(ask status | jq '.[0].received')" = "$4" ]
}

@test "pinned maps of another version: sluiced says so, makes its own, and the fast chain and the counters of rules go on from 0" {
	local map pid
	steady_is_fast() {
		local before
		before=$(of_fast steady fast_packets)
		send h1 n1:eth1 h2 --dst 10.0.2.2 --dscp 10 --count 1 && [ "$(of_fast steady fast_packets)" = $((before + 1)) ]
	}
	wait_for 10 steady_is_fast
	pid=$(cat "$LAB_DIR/sluiced.pid")
	kill -KILL "$pid"
	wait_for 10 no_processes "$pid"
	for map in sl_stats sl_offload sl_fast_chain sl_fast_count sl_filter_hits; do
		on n1 rm "/sys/fs/bpf/sluice/$map"
		on n1 bpftool map create "/sys/fs/bpf/sluice/$map" type hash key 8 value 24 entries 3 name other
	done
	# Its programs have the former maps: they go on.
	on h1 ping -c 20 -i 0.01 -W 5 10.0.2.2
	daemon
	wait_for 10 port_is slchain0 on
	log_says "the pinned map sl_stats has the layout of another version; its counters start again at 0"
	for map in sl_offload sl_fast_chain sl_fast_count sl_filter_hits; do
		log_says "the pinned map $map has the layout of another version; an empty one takes its place"
	done
	[ "$(hits steady)" = 0 ]
	wait_for 10 steady_is_fast
	[ "$(pins | grep -c '^sluice/sl_fast_chain$')" = 1 ]
	set -- "$(hits steady)" "$(of_fast steady left)"
	send h1 n1:eth1 h2 --dst 10.0.2.2 --dscp 10 --count 500
	[ $(($(hits steady) - $1)) = 500 ]
	[ $(($(of_fast steady left) - $2)) = 500 ]
}

@test "a file that is wrong changes nothing, and names line and reason; a right one is in force at once" {
	cp "$CHAINS" "$LAB_DIR/right"
	printf 'chain mark {\n input -> Nothing -> output;\n}\n' >"$CHAINS"
	kill -HUP "$ELEMENTS"
	refused() { grep -q 'chains:2: "Nothing" is not a class of elements' "$LAB_DIR/elements.err"; }
	wait_for 10 refused
	[ "$(ask status | jq '.[0].chains')" = 7 ]
	run on n1 build/sluice-elements --check --chains "$CHAINS"
	[ "$status" = 2 ]
	printf 'chain mark {\n input -> Dscp(dscp=af41) -> output;\n}\n' >"$CHAINS"
	kill -HUP "$ELEMENTS"
	fewer() { [ "$(ask status | jq '.[0].chains')" = 1 ]; }
	wait_for 10 fewer
	watch 'udp port 7000'
	udp 4 7000 5
	wait_for 10 sees 5
	watched
	[ "$(seen 'tos 0x88')" = 5 ]
	cp "$LAB_DIR/right" "$CHAINS"
	kill -HUP "$ELEMENTS"
	again() { [ "$(ask status | jq '.[0].chains')" = 7 ]; }
	wait_for 10 again
}

@test "a crash costs the chains' packets by name; plain forwarding goes on, and a new start serves again" {
	local before
	kill -KILL "$ELEMENTS"
	wait_for 10 no_processes "$ELEMENTS"
	ended() { echo $(($(reason drop chain) + $(reason drop tx-error) + $(reason drop tx-ring))); }
	before=$(ended)
	udp 4 7000 10
	all_ended() { [ $(($(ended) - before)) = 10 ]; }
	wait_for 10 all_ended
	on h1 ping -c 3 -i 0.01 -W 5 10.0.2.2
	# A fast chain needs no worker.
	watch 'udp port 7004'
	udp 4 7004 20
	wait_for 10 sees 8
	watched
	on n1 curl -sS -m 60 http://127.0.0.1:9101/metrics | grep -qx 'sluice_elements_up 0'
	elements
	watch 'udp port 7000'
	served() { udp 4 7000 5 && sees 5; }
	wait_for 10 served
	watched
	kill "$ELEMENTS"
	wait_for 10 no_processes "$ELEMENTS"
	[ ! -e /sys/class/net/slchain0 ]
	before=$(reason drop chain)
	udp 4 7004 10
	withdrawn() { [ $(($(reason drop chain) - before)) = 10 ]; }
	wait_for 10 withdrawn
	run on n1 ip link show slchain0
	[ "$status" != 0 ]
	before=$(reason drop chain)
	udp 4 7000 10
	no_netdev() { [ $(($(reason drop chain) - before)) = 10 ]; }
	wait_for 10 no_netdev
}
