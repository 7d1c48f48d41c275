#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Congestion controllers on a live cluster: the command `sluice cc`, the policy in sl_voq, and that
# no frame goes missing because of either. tests/unit/rdma-bridge/rate, where time is exact, and
# `lab exp` test how well they share.
# shellcheck disable=SC2154 # bats sets stderr
bats_require_minimum_version 1.5.0

load cluster

setup_file() {
	export CLUSTER_PORT_n3p1="rate: 20kpps, burst_us: 100000, parameters: interval_us=5000 node2.weight=3"
	cluster_begin 3 1
	wait_for 30 on h1p1 ping -c 1 -W 1 10.3.1.2
	wait_for 30 on h2p1 ping -c 1 -W 1 10.3.1.2
}

sluice() { on "n$1" build/sluice "${@:2}"; }

# voq NODE FIELD: a field of NODE's VOQ for n3p1, class 0, as bpftool shows it
voq_id() { bridge_ask "$1" voqs | jq 'select(.port == "n3p1" and .class == 0).voq'; }
voq_key() { printf '%d %d 0 0' $(($(voq_id "$1") & 255)) $(($(voq_id "$1") >> 8)); }
voq() {
	# shellcheck disable=SC2046
	on "n$1" bpftool -j map lookup pinned /sys/fs/bpf/sluice/sl_voq key $(voq_key "$1") |
		jq -r ".formatted.value.$2 | if type == \"array\" then map(select(. != \"\\u0000\" and . != 0)) | join(\"\") else . end"
}
voq_is() { [ "$(voq "$1" "$2")" = "$3" ]; }
voq_is_not() { [ "$(voq "$1" "$2")" != "$3" ]; }

# write_rate NODE RATE: set the rate of this VOQ with bpftool, as an operator does; the other fields
# stay
write_rate() {
	local value
	# shellcheck disable=SC2046
	value=$(on "n$1" bpftool -j map lookup pinned /sys/fs/bpf/sluice/sl_voq key $(voq_key "$1") | jq -r '.value[8:] | join(" ")')
	# shellcheck disable=SC2046,SC2086
	on "n$1" bpftool map update pinned /sys/fs/bpf/sluice/sl_voq key $(voq_key "$1") value \
		$(printf '%d %d %d %d 0 0 0 0' $(($2 & 255)) $(($2 >> 8 & 255)) $(($2 >> 16 & 255)) $(($2 >> 24 & 255))) $value
}

# cc NODE SIDE FIELD: a field of n3p1, class 0, in `show cc`
cc() { sluice "$1" -j show cc | jq -r ".[] | select(.side == \"$2\" and .port == \"n3p1\" and .class == 0).$3"; }

# offer NODE PPS COUNT: send frames from the host of a node to h3p1, in the background
offer() {
	spawn "h${1}p1" "gen$1" build/lab/gen eth0 --json --dst-mac "$(mac_of "n$1" eth1)" --dst 10.3.1.2 --rate "$2" --count "$3"
}
ended() { [ -s "$LAB_DIR/$1.out" ]; }

@test "a shaped port has controller price, any other fixed, and sl_voq has the policy" {
	wait_for 30 voq_is 1 controller price
	[ "$(cc 3 egress controller)" = price ]
	[ "$(cc 3 egress interval_us)" = 5000 ]
	[ "$(cc 1 ingress weight)" = 1 ]
	[ "$(cc 2 ingress weight)" = 3 ]
	[ "$(cc 1 ingress unit)" = frames ]
	[ "$(sluice 3 -j show cc | jq -r '.[] | select(.port == "n1p1" and .side == "ingress").controller')" = fixed ]
	# Admission and pacing use the values that the command shows.
	[ "$(voq 1 unit)" = 0 ]
	voq_is_not 1 rate 18446744073709551615
	sluice 1 show cc | grep -qE '^n3p1 +0 +ingress +price +5000 us +[0-9]+ frames/s'
}

@test "under overload the sources drop, feedback flows, and every frame is accounted for" {
	local before
	cluster_counts
	before=$(bridge_ask 3 cc | jq 'select(.side == "totals").feedback_sent')
	offer 1 30000 60000
	offer 2 30000 60000
	wait_for 60 ended gen1
	wait_for 60 ended gen2
	cluster_conserves >"$LAB_DIR/ledger.json"
	[ "$(bridge_ask 3 cc | jq 'select(.side == "totals").feedback_sent')" -gt "$before" ]
	[ "$(bridge_ask 1 cc | jq 'select(.side == "totals").feedback_received')" -gt 0 ]
	[ "$(sluice 1 -j show drops | jq '[.[] | select(.name == "voq-full")][0].packets')" -gt 0 ]
	[ "$(sluice 2 -j show cc | jq '[.[] | select(.side == "ingress" and .port == "n3p1")][0].price > 0')" = true ]
}

@test "controllers and parameters change under traffic, and nothing is lost" {
	local name sent out1 out2 gens=()
	spawn h3p1 sink build/lab/sink eth0 --json
	wait_for 30 grep -q ready "$LAB_DIR/sink.err"
	local sink=$SPAWNED
	cluster_counts
	out1=$(xdp_out h1p1) out2=$(xdp_out h2p1)
	for name in 1 2; do # so few that all find room in a queue while some bridge waits seconds for a processor
		offer "$name" 200 1000000
		gens+=("$SPAWNED")
	done
	for name in aimd dq credit rcp swift hpcc dcqcn "fixed" weights "price kappa_ppb=100000000" price "dq interval_us=10000" "price interval_us=5000"; do
		# shellcheck disable=SC2086
		sluice 3 cc set n3p1 $name
		wait_for 30 voq_is 1 controller "${name%% *}"
		wait_for 30 voq_is 2 controller "${name%% *}"
	done
	wait_for 30 xdp_out_since h1p1 $((out1 + 150))
	wait_for 30 xdp_out_since h2p1 $((out2 + 150))
	# Traffic has flowed all the while; end it.
	kill -INT "${gens[@]}"
	wait_for 30 ended gen1
	wait_for 30 ended gen2
	cluster_conserves >/dev/null
	kill -INT "$sink"
	wait "$sink"
	sent=$(($(jq .sent "$LAB_DIR/gen1.out") + $(jq .sent "$LAB_DIR/gen2.out")))
	echo "sent $sent, received $(jq .packets "$LAB_DIR/sink.out")"
	[ "$sent" -gt 300 ]
	cluster_conserves "$sent" "$(jq .packets "$LAB_DIR/sink.out")"
	[ "$(jq .packets "$LAB_DIR/sink.out")" = "$sent" ]
	[ "$(cc 3 egress parameters.kappa_ppb)" = 130804447 ]
}

@test "fixed obeys bpftool, and price takes over from there" {
	sluice 3 cc set eth1 fixed
	wait_for 30 voq_is 1 controller fixed
	write_rate 1 0
	voq_is 1 rate 0
	run ! on h1p1 ping -c 1 -W 0.3 10.3.1.2
	[ "$(sluice 1 -j show drops | jq '[.[] | select(.name == "voq-stopped")][0].packets')" -gt 0 ]
	write_rate 1 15000
	wait_for 10 on h1p1 ping -c 1 -W 2 10.3.1.2
	[ "$(cc 1 ingress rate)" = 15000 ]
	sluice 3 cc set n3p1 price
	wait_for 30 voq_is 1 controller price
	sluice 3 cc set n3p1 fixed rate_ups=7000
	wait_for 30 voq_is 2 rate 7000
	sluice 3 cc set n3p1 price
	wait_for 30 voq_is 2 controller price
}

# restart_bridge NODE SIGNAL [CONFIG]
restart_bridge() {
	local pid
	pid=$(cat "$LAB_DIR/bridge-n$1.pid")
	gone() { ! kill -0 "$pid" 2>/dev/null; }
	kill "-$2" "$pid"
	wait_for 30 gone
	bridge_start "$1" "${3:-}"
	answers() { bridge_ask "$1" cc | grep -q totals; }
	wait_for 30 answers "$1"
}

@test "a source's bridge that restarts learns the policy again" {
	restart_bridge 1 TERM
	again() { [ "$(cc 1 ingress controller 2>/dev/null)" = price ]; }
	wait_for 30 again
	wait_for 30 on h1p1 ping -c 1 -W 1 10.3.1.2
}

@test "the settings of cc set survive a bridge that is stopped or killed, until the configuration is edited" {
	local sig
	sluice 3 cc set n3p1 dq interval_us=7000
	for sig in TERM KILL; do
		restart_bridge 3 "$sig"
		[ "$(cc 3 egress controller)" = dq ]
		[ "$(cc 3 egress interval_us)" = 7000 ]
		[ "$(cc 3 egress parameters.floor_ppb)" = 1000000 ]
	done
	wait_for 30 voq_is 1 controller dq
	sed 's/interval_us=5000/interval_us=4000/' "$LAB_DIR/n3.yaml" >"$LAB_DIR/n3-edited.yaml"
	restart_bridge 3 TERM "$LAB_DIR/n3-edited.yaml"
	[ "$(cc 3 egress controller)" = price ]
	[ "$(cc 3 egress interval_us)" = 4000 ]
	wait_for 30 voq_is 1 controller price
	# The setting is gone for good.
	restart_bridge 3 TERM
	[ "$(cc 3 egress controller)" = price ]
	[ "$(cc 3 egress interval_us)" = 5000 ]
	wait_for 30 on h1p1 ping -c 1 -W 1 10.3.1.2
	wait_for 30 on h2p1 ping -c 1 -W 1 10.3.1.2
}

# The controllers of cc/algorithms.h, in its order, parted by the argument.
controller_names() {
	sed -n 's/^\tX([0-9]*, [A-Z0-9]*, \([a-z0-9]*\)).*/\1/p' cc/algorithms.h | paste -sd, | sed "s/,/$1/g"
}

@test "sluice cc refuses wrong arguments and names the right ones" {
	run -2 --separate-stderr sluice 3 cc
	[[ "$stderr" == *"write \`list [CONTROLLER]\`, \`set PORT CONTROLLER [NAME=VALUE]...\`"* ]]
	run -1 --separate-stderr sluice 3 cc set eth9 price
	[[ "$stderr" == *"\"eth9\" is no port of this cluster"* ]]
	run -1 --separate-stderr sluice 1 cc set n3p1 price
	[[ "$stderr" == *"n3p1 is a port of node 3, which alone sets its controller: run this command there"* ]]
	run -1 --separate-stderr sluice 3 cc set n3p1 prize
	[[ "$stderr" == *"\"prize\" is not a controller: write one of $(controller_names ", ")"* ]]
	run -1 --separate-stderr sluice 3 cc set n3p1 price kappa=1
	[[ "$stderr" == *"price has no parameter \"kappa\": write one of floor_ppb, "* ]]
	run -1 --separate-stderr sluice 3 cc set n3p1 price kappa_ppb=0
	[[ "$stderr" == *"kappa_ppb is a whole number from 1 to 16000000000"* ]]
	[ "$(cc 3 egress controller)" = price ]
	run -2 --separate-stderr sluice 3 cc list prize
	[[ "$stderr" == *"\"prize\" is not a controller"* ]]
	run -2 --separate-stderr sluice 3 cc trace n3p1 4
	[[ "$stderr" == *"\"4\" is not a class"* ]]
	run -1 --separate-stderr sluice 3 cc trace n9p1
	[[ "$stderr" == *"there is no controlled queue \"n9p1\", class 0"* ]]
	[ -z "$output" ]
}

@test "cc list has every parameter, and cc trace every interval" {
	[ "$(sluice 3 -j cc list | jq -r '.[].controller' | paste -sd " ")" = "$(controller_names " ")" ]
	[ "$(sluice 3 -j cc list price | jq '.[0].parameters[] | select(.name == "kappa_ppb").default')" = 130804447 ]
	sluice 3 cc list price | grep -qE '^interval_us +1000 +100 +1000000 '
	sluice 3 cc trace n3p1 >/dev/null
	wait_for 10 on h1p1 ping -c 1 -W 2 10.3.1.2
	traced() { [ "$(sluice 3 cc trace n3p1 | wc -l)" -gt 10 ]; }
	wait_for 30 traced
	[ "$(sluice 3 cc trace n3p1 | awk -F, 'NF != 17' | wc -l)" = 0 ]
}
