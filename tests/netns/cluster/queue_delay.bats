#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Where frames waited, as the bridge measures it, beside the stamps of generator and sink: through a
# port of 10 Mbit/s to which bursts are sent, and past the bridges while nothing waits.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	export CLUSTER_PORT_n2p1="rate: 10mbit, controller: fixed"
	export CLUSTER_FABRIC="express: auto, express_check: header"
	export CLUSTER_BRIDGE="queue_frames: 4096, voq_frames: 4096, delay_sample: 1"
	cluster_begin 2 2
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.1.2
	wait_for 30 on h2p2 ping -c 1 -W 1 10.2.1.2
}

teardown() { flows_kill; }

# delay CLASS STAGE FIELD: of port 1 of node 2. Each test has a class of its own, since the bridge
# measures from its start on.
delay() {
	bridge_ask 2 delay | jq "select(.port == \"n2p1\" and .class == $1 and .stage == \"$2\").$3"
}

# waited_as_sent CLASS QUANTILE FILE NS: does what the bridge measured agree with the sink's report?
# What it does not see, the fabric and the ends, makes the sink's figure the larger one, and small
# beside a tenth of a second of queue. Quantiles of either are those of a histogram, of buckets of
# 2.5 %. The bridge waited NS for a processor meanwhile, and may so have seen late that a frame was
# sent.
waited_as_sent() {
	local total
	total=$(delay "$1" total "$2_ns")
	jq -e --argjson total "$total" ".latency_$2_ns as \$sent | [\$sent, \$total, $4], (\$sent > 50000000 and
		\$total < 1.03 * \$sent + $4 and \$total > 0.5 * \$sent)" "$3"
}


# adds_up CLASS: is every frame that left measured, by whichever way, and are the stages the whole,
# to the nanosecond?
adds_up() {
	local departed
	departed=$(($(queue n2p1 "$1" departed_frames) + $(queue n2p1 "$1" express_frames)))
	bridge_ask 2 delay | jq -es --argjson departed "$departed" --argjson class "$1" '
		map(select(.port == "n2p1" and .class == $class) | {(.stage): .}) | add |
		map_values(.sum_ns), .total.measured_frames,
		((map(.sum_ns) | add) == 2 * .total.sum_ns and length == 5 and
		 all(.[]; .measured_frames == $departed and .buckets[-1].frames == $departed) and
		 all(.[]; .min_ns <= .p50_ns and .p50_ns <= .p99_ns and .p99_ns <= .max_ns))'
}

@test "frames of another node waited in the port's queue as long as generator and sink say" {
	local waited
	waited=$(waited)
	send_all h1p1 n1:eth1 h2p1 2000 --dst 10.2.1.2 --size 1000 --flows 10 --stamp-every 1
	waited=$(($(waited) - waited))
	waited_as_sent 0 p50 "$LAB_DIR/received.out" $waited
	waited_as_sent 0 p99 "$LAB_DIR/received.out" $waited
	adds_up 0
	# It was the queue.
	[ "$(delay 0 queue p50_ns)" -gt 50000000 ]
	run -0 on n2 build/sluice show delay
	echo "$output"
	local stage
	for stage in voq message queue transmit total; do [[ "$output" == *"n2p1/0  $stage "* ]]; done
	# A message takes some time; what it takes is right within half of the round trip.
	[ "$(delay 0 message p50_ns)" -gt 1000 ]
	[ "$(bridge_ask 2 peers | jq .round_trip_ns)" -gt 1000 ]
}

@test "frames of this node, too, which are in no message" {
	local waited
	waited=$(waited)
	send_all h2p2 n2:eth2 h2p1 2000 --dst 10.2.1.2 --size 1000 --flows 10 --stamp-every 1 --dscp 16
	waited=$(($(waited) - waited))
	# The first ones found tokens and left past the bridge, unmeasured: that moves the median.
	waited_as_sent 1 p99 "$LAB_DIR/received.out" $waited
	adds_up 1
	[ "$(delay 1 message sum_ns)" = 0 ]
}

# tapped HOST FILE: capture the host's link, from now on
tapped() {
	spawn "$1" "tap-$1" tcpdump -i eth0 -n -U --time-stamp-precision=nano -w "$2" tcp port 8000
	wait_for 10 grep -q listening "$LAB_DIR/tap-$1.err"
}

@test "a trace follows every frame of a TCP flow from node to node, with stages that add up" {
	local host
	for host in h1p1 h2p1; do
		on $host ethtool -K eth0 tso off gso off gro off
		tapped $host "$LAB_DIR/$host.pcap"
	done
	# A veth whose other end has no NAPI takes no frames from XDP; bridges learn that in a moment.
	bridged() {
		local before
		before=$(queue n2p1 0 express_frames)
		on h1p1 ping -c 1 -W 1 10.2.1.2 && [ "$(queue n2p1 0 express_frames)" = "$before" ]
	}
	wait_for 30 bridged
	# Two connections that are refused: resets that look alike belong to the trace, too.
	run -7 on h2p1 curl -s http://10.1.1.2:8000/
	run -7 on h2p1 curl -s http://10.1.1.2:8000/
	mkdir "$LAB_DIR/www"
	head -c 400000 /dev/urandom >"$LAB_DIR/www/file"
	spawn h1p1 www /usr/bin/python3 -m http.server --directory "$LAB_DIR/www" 8000
	wait_for 30 on h2p1 curl -s -o /dev/null http://10.1.1.2:8000/
	spawn n2 trace build/sluice trace -s -j 'tcp src port 8000'
	[ "$(on h2p1 curl -s http://10.1.1.2:8000/file | cksum)" = "$(cksum <"$LAB_DIR/www/file")" ]
	came() { [ "$(tcpdump -n -r "$LAB_DIR/h2p1.pcap" 'tcp src port 8000' 2>/dev/null | wc -l)" = "$(wc -l <"$LAB_DIR/trace.out")" ]; }
	wait_for 20 came
	[ "$(wc -l <"$LAB_DIR/trace.out")" -gt 100 ]
	tests/tools/follow_flow.py "$LAB_DIR/trace.out" "$LAB_DIR/h1p1.pcap" "$LAB_DIR/h2p1.pcap"
	run -0 on n2 build/sluice trace -s -c 1 'tcp src port 8000 and greater 1000'
	echo "$output"
	[[ ${lines[0]} = "10.1.1.2.8000 > 10.2.1.2."*" TCP, "*" bytes" ]]
	[[ ${lines[1]} = *" enters n1p1" ]]
	[[ ${lines[2]} = *" waited in its VOQ, for n2p1" ]]
	[[ ${lines[3]} = *" in a message between the bridges, within "*" us" ]]
	[[ ${lines[4]} = *" in the egress queue of n2p1" ]]
	[[ ${lines[5]} = *" with the driver of n2p1" ]]
	[[ ${lines[6]} = *" in all; leaves n2p1" ]]
}

@test "frames that went past the bridges are measured and traced, too" {
	local past total error
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.2.2
	spawn n2 past build/sluice trace -s -j 'udp and dst host 10.2.2.2'
	came() { [ "$(wc -l <"$LAB_DIR/past.out")" = 1000 ]; }
	past=$(queue n2p2 2 express_frames)
	send_all h1p1 n1:eth1 h2p2 1000 --dst 10.2.2.2 --size 300 --flows 10 --rate 500 --stamp-every 1 --dscp 34
	wait_for 20 came
	past=$(($(queue n2p2 2 express_frames) - past))
	[ $past -gt 900 ]
	jq -es --argjson express $past '(map(select(.express)) | length == $express) and
		all(.[]; .from == "n1p1" and .port == "n2p2" and .class == 2 and .frame_bytes == 300 and
			.voq_ns + .message_ns + .queue_ns + .transmit_ns == .total_ns) and
		all(.[] | select(.express); .message_ns + .transmit_ns == .total_ns and .transmit_ns > 0)' "$LAB_DIR/past.out"
	bridge_ask 2 fabric | jq -e 'select(.express_delay_until) | .express_delay_until == "driver"'
	# From port to port, they cannot have taken longer than from host to host.
	total=$(jq -s 'map(select(.express).total_ns) | sort | .[length / 2 | floor]' "$LAB_DIR/past.out")
	error=$(jq -s 'map(select(.express).message_error_ns) | sort | .[length / 2 | floor]' "$LAB_DIR/past.out")
	jq -e --argjson total "$total" --argjson error "$error" '[.latency_p50_ns, $total, $error],
		($total < .latency_p50_ns + $error)' "$LAB_DIR/received.out"
	run -0 on n2 build/sluice trace -s -c 1 'udp and dst host 10.2.2.2'
	echo "$output"
	[[ ${lines[1]} = *" enters n1p1" ]]
	[[ ${lines[2]} = *" in a message past the bridges, within "*" us" ]]
	[[ ${lines[3]} = *" with the driver of n2p2" ]]
	[[ ${lines[4]} = *" in all; leaves n2p2" ]]
	run -0 on n2 build/sluice show fabric
	[[ $output = *" which XDP took past the bridge; delay until the driver"* ]]
}

# asked KEY=VALUE...: what explain says on node 1 of a datagram that enters n1p1
asked() { on n1 build/sluice -j explain 10.2.1.2 source=10.1.1.2 protocol=udp port=n1p1 "$@"; }

# socket_of N: sluiced's of node N, as other nodes reach it
socket_of() { printf '/proc/%s/root%s\n' "$(cat "$LAB_DIR/sluiced-n$1.pid")" /run/sluice/sluiced.sock; }

@test "a trace at the node of exit names the rule that decided at the node of entry, as explain does there and counters say" {
	local entry
	entry=$(socket_of 1)
	on n1 build/sluice filter replace - <<-END
		filters:
		- name: guard
		  default: permit
		  ports: [{name: eth1}]
		  rules:
		  - {name: no-telnet, action: deny, protocol: tcp, destination_port: 23}
		  - {name: games, action: permit, protocol: udp, destination_port: 7001, class: 2, set_dscp: 34}
		  - {action: permit, protocol: udp, destination_port: 7002}
		  - {name: opens, action: permit, protocol: tcp, tcp_flags: "syn,!ack"}
		  - {name: pings, action: permit, protocol: icmp, icmp_type: 8, dscp: af11}
		  - {name: raises, action: permit, protocol: udp, destination_port: 7005-7006, dscp: cs0, set_dscp: ef}
		  - {name: forged, action: deny, protocol: udp, destination_port: 7005, dscp: ef}
		  - {name: marked, action: permit, protocol: udp, destination_port: 7006, dscp: ef}
	END
	cluster_settles
	spawn n2 rules build/sluice trace -s -j -n "1=$entry" 'udp and dst portrange 7001-7003'
	for port in 7001 7002 7003; do
		for _ in 1 2 3 4 5; do on h1p1 socat -u SYSTEM:'echo 1' "UDP:10.2.1.2:$port,sourceport=5000"; done
	done
	came() { [ "$(wc -l <"$LAB_DIR/rules.out")" = 15 ]; }
	wait_for 20 came
	cat "$LAB_DIR/rules.out"
	for port in 7001 7002 7003; do
		asked source_port=5000 destination_port=$port >"$LAB_DIR/explained"
		jq -es --slurpfile explained "$LAB_DIR/explained" --arg flow "10.1.1.2.5000 > 10.2.1.2.$port UDP" '
			map(select(.frame == $flow)) | length == 5 and all(.[]; .explain == $explained[0] and .from == "n1p1" and
			.voq_ns + .message_ns + .queue_ns + .transmit_ns == .total_ns)' "$LAB_DIR/rules.out"
	done
	jq -es 'map([.explain.filter.list, .explain.filter.rule, .explain.filter.name, .explain.filter.class, .explain.filter.set_dscp,
		.explain.filter.action, .explain.verdict, .class, .bytes[30:32]]) | unique == [
		["guard", null, null, null, null, "permit", "forward", 0, "00"],
		["guard", 1, "games", "2", "34", "permit", "forward", 2, "88"],
		["guard", 2, null, null, null, "permit", "forward", 0, "00"]]' "$LAB_DIR/rules.out"
	# Rules that ask for other fields of a frame
	decided() { on n2 build/sluice trace -s -j -n "1=$entry" -c 1 "$1" | jq -r .explain.filter.name; }
	run -7 on h1p1 curl -s http://10.2.1.2:7004/
	[ "$(decided 'tcp dst port 7004')" = opens ]
	on h1p1 ping -c 1 -s 77 -Q 0x28 10.2.1.2
	[ "$(decided 'icmp and len = 119')" = pings ]
	on h1p1 ping -c 1 -s 78 10.2.1.2
	[ "$(decided 'icmp and len = 120')" = null ]
	# One that a rule has marked is not one that came so; where it may be either, the trace says so.
	for port in 7005 7006; do on h1p1 socat -u SYSTEM:'echo 1' "UDP:10.2.1.2:$port,sourceport=5000"; done
	[ "$(decided 'udp dst port 7005')" = raises ]
	[ "$(on n2 build/sluice trace -s -j -n "1=$entry" -c 1 'udp dst port 7006' | jq -c '.explain.filter | [.rule, [.one_of[] | [.rule, .name]]]')" = \
		'[null,[[5,"raises"],[7,"marked"]]]' ]
	run -0 on n2 build/sluice trace -s -n "1=$entry" -c 1 'udp dst port 7006'
	[ "$(echo "${lines[2]}" | xargs)" = "list guard: rule 5 raises or rule 7 marked decided, by the DSCP that it entered with" ]
	# The fast path has counted them so.
	[ "$(on n1 build/sluice -j filter counters guard | jq -c '[.[] | .packets][0:8]')" = "[0,5,5,1,1,2,0,0]" ]
	run -0 on n2 build/sluice trace -s -n "1=$entry" -c 1 'udp dst port 7001'
	echo "$output"
	[[ ${lines[1]} = *" enters n1p1" ]]
	[ "$(echo "${lines[2]}" | xargs)" = "list guard: rule 1 games decides: permit, class 2, DSCP 34" ]
	[[ ${lines[3]} = *"route 10.2.1.0/24 "* ]]
	# Without the socket it is a trace as before, and a wrong one is refused.
	run -0 on n2 build/sluice trace -s -c 1 'udp dst port 7001'
	[[ "$output" != *guard* ]]
	run -2 on n2 build/sluice trace -s -n n1 'udp'
	[[ "$output" = *'-n: "n1" is not NODE=SOCKET'* ]]
	run -2 on n2 build/sluice trace -n "1=$entry" 'udp'
	[[ "$output" = *'write -s, too'* ]]
	on n1 build/sluice filter delete guard
}

@test "a sluiced that hangs keeps no trace waiting, which says so and has the rules again when it answers" {
	local entry hung
	entry=$(socket_of 1)
	hung=$(cat "$LAB_DIR"/sluiced-n[12].pid)
	on h1p1 ping -c 1 10.2.1.2
	# shellcheck disable=SC2086
	kill -STOP $hung
	run -0 --separate-stderr on n2 build/sluice trace -s -n "1=$entry" -c 1 'icmp and dst host 10.2.1.2'
	spawn n2 hung build/sluice trace -s -j -n "1=$entry" 'icmp and dst host 10.2.1.2'
	shown() { grep -q '"frame"' "$LAB_DIR/hung.out"; }
	wait_for 30 shown
	# shellcheck disable=SC2086
	kill -CONT $hung
	echo "$output$stderr"
	[[ ${lines[1]} = *" enters n1p1" ]]
	[[ $output != *route* ]]
	[[ ${stderr_lines[0]} = 'sluice: trace: sluiced does not answer at "'*'" within 1 s: what decided is not shown until it does' ]]
	[ "$(jq -s 'map(select(.explain)) | length' "$LAB_DIR/hung.out")" = 0 ]
	explained() {
		on h1p1 ping -c 1 10.2.1.2
		jq -es 'any(.[]; .explain.verdict == "forward")' "$LAB_DIR/hung.out"
	}
	wait_for 30 explained
	[ "$(grep -c 'does not answer' "$LAB_DIR/hung.err")" = 2 ]
	interrupt hung
}

# clocks_said N...: these nodes say that clocks agree within 2 us, the others do not; bridges start again
clocks_said() {
	local n
	sed -i '/clock_error_us/d' "$LAB_DIR"/n[12].yaml
	for n; do sed -i '/liveness_ms:/a\  clock_error_us: 2' "$LAB_DIR/n$n.yaml"; done
	for n in 1 2; do bridge_stop $n && bridge_start $n; done
	grep -q metrics "$LAB_DIR/n1.yaml" || { sed -i '1i metrics: 9101' "$LAB_DIR"/n[12].yaml && reload 1 2; }
	for n in 1 2; do wait_for 30 cluster_is_up $n 1; done
}
fits_80() { ! grep -nE '^.{81}' <<<"$output"; }
metrics_of() { on "n$1" curl -sS -m 60 http://127.0.0.1:9101/metrics; }
# clock_is N CLOCK: what node N's bridge takes the time under way from
clock_is() { [ "$(bridge_ask "$1" peers | jq -r .clock)" = "$2" ]; }

@test "clocks that agree are taken for one, with their bound in views and metrics" {
	local n
	clocks_said 1 2
	for n in 1 2; do
		wait_for 10 clock_is $n synchronized
		on n$n build/sluice -j show peers | jq -e '.[0] | .clock == "synchronized" and .delay_error_ns == 2000'
		metrics_of $n >"$LAB_DIR/metrics"
		grep -qx "sluice_peer_clock_synchronized{node=\"$((3 - n))\"} 1" "$LAB_DIR/metrics"
		grep -qx "sluice_peer_clock_disagrees{node=\"$((3 - n))\"} 0" "$LAB_DIR/metrics"
		grep -qx "sluice_peer_delay_error_seconds{node=\"$((3 - n))\"} 0.000002000" "$LAB_DIR/metrics"
	done
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.2.2
	send_all h1p1 n1:eth1 h2p2 500 --dst 10.2.2.2 --size 300 --flows 10 --rate 500 --stamp-every 1 --dscp 34
	send_all h1p1 n1:eth1 h2p1 200 --dst 10.2.1.2 --size 1000 --flows 10 --stamp-every 1
	adds_up 0
	bridge_ask 2 delay | jq -es 'all(.[]; .error_ns == if .stage == "message" or .stage == "total" then 2000 else 0 end)'
	run -0 on n2 build/sluice show delay
	[[ ${lines[0]} = *" +- us" ]]
	[[ ${lines[1]} = *" voq "*" 0" ]]
	[[ ${lines[2]} = *" message "*" 2" ]]
	fits_80
	# One clock stamps all of it: no frame left before it was sent, and none was in the router longer than from
	# host to host. A bridge reads its clock at the begin of a round, and CLOCK_TAI a little off.
	bridge_ask 2 frames | jq -es '(map(select(.express and .class == 2)) | length > 200) and (map(select(.class == 0)) | length >= 200) and
		all(.[]; .message_error_ns == 2000 and .voq_ns + .message_ns + .queue_ns + .transmit_ns == .total_ns)'
	bridge_ask 2 frames | tests/tools/sent_before.py 2000
	run -0 on n2 build/sluice trace -s -c 1 'udp and dst host 10.2.2.2'
	[[ $output = *" in a message past the bridges, within 2 us"* ]]
}

@test "a clock that cannot agree is found out, said once, and delays are estimated" {
	clocks_said 1
	wait_for 10 clock_is 1 disagrees
	clock_is 2 estimated
	said_once() { [ "$(grep -c 'node 2: its clock and ours do not agree within `clock_error_us: 2`' "$LAB_DIR/bridge-n1.err")" = 1 ]; }
	wait_for 10 said_once # the bridge looks now and then
	metrics_of 1 >"$LAB_DIR/metrics"
	grep -qx 'sluice_peer_clock_synchronized{node="2"} 0' "$LAB_DIR/metrics"
	grep -qx 'sluice_peer_clock_disagrees{node="2"} 1' "$LAB_DIR/metrics"
	metrics_of 2 | grep -qx 'sluice_peer_clock_disagrees{node="1"} 0'
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.2.2
	send_all h1p1 n1:eth1 h2p2 500 --dst 10.2.2.2 --size 300 --flows 10 --rate 500 --stamp-every 1 --dscp 34
	# The estimate stands, which knows nothing of when clocks began: no frame took seconds.
	bridge_ask 2 delay | jq -es 'map(select(.port == "n2p2" and .class == 2 and .stage == "total")) | .[0].measured_frames == 500 and
		.[0].max_ns < 2000000000'
	said_once
}
