#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Bridges of two workers under TSan, which end with the first report: whatever lets one thread touch
# what another one has. TSan makes them several times slower, so nothing here asks for a rate.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	export CLUSTER_PROGRAM=$PWD/build/tests/tsan/sluice-bridge TSAN_OPTIONS=halt_on_error=1
	export CLUSTER_WORKERS=2 CLUSTER_PORT_n2p2="transmit: inject"
	cluster_begin 2 2
	wait_for 20 on h1p1 ping -c 1 -W 1 10.2.2.2
	wait_for 20 on h1p2 ping -c 1 -W 1 10.2.1.2
}

# End what a failed test has left running.
teardown() { flows_kill; }

# across: frames of many flows cross both ways between ports of either worker, and all arrive
across() {
	send_all h1p1 n1:eth1 h2p2 250 --dst 10.2.2.2 --imix --flows 100
	send_all h1p2 n1:eth2 h2p1 250 --dst 10.2.1.2 --imix --flows 100
	send_all h2p2 n2:eth2 h1p1 250 --dst 10.1.1.2 --imix --flows 100
}

@test "workers that carry frames, take orders, lose ports and peers and open them again do not race" {
	local port
	policy() { [ "$(bridge_ask 1 cc | jq -r "select(.side == \"ingress\" and .port == \"$1\" and .class == 0).controller")" = price ]; }
	opened() { [ "$(grep -c "port eth2: n1p2," "$LAB_DIR/bridge-n1.err")" -ge 2 ]; }
	across
	for port in 1 2; do
		on n2 build/sluice cc set "eth$port" price
		wait_for 30 policy "n2p$port"
		across
		on n2 build/sluice cc set "eth$port" fixed
	done
	on n1 ip link del eth2
	wait_for 30 grep -q "port eth2: the netdev is gone" "$LAB_DIR/bridge-n1.err"
	cluster_wire_port 1 2
	wait_for 30 opened
	wait_for 30 on h1p2 ping -c 1 -W 1 10.2.2.2
	across
	kill -KILL "$(cat "$LAB_DIR/bridge-n2.pid")"
	bridge_start 2
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.1.2
	wait_for 30 on h1p2 ping -c 1 -W 1 10.2.2.2
	for view in status fabric peers voqs cc; do
		bridge_ask 1 $view >/dev/null
		bridge_ask 2 $view >/dev/null
	done
	across
}

# without_second N...: these nodes' configurations know no second port of node 2 any more
without_second() {
	local n
	for n; do
		cp "$LAB_DIR/n$n.yaml" "$LAB_DIR/with-n$n.yaml"
		sed -i '/id: 2\b/,$ { /number: 2, / d }' "$LAB_DIR/n$n.yaml"
		reload "$n"
	done
}
# with_second N...: they know it again
with_second() {
	local n
	for n; do
		cp "$LAB_DIR/with-n$n.yaml" "$LAB_DIR/n$n.yaml"
		reload "$n"
	done
}

@test "a port of the second worker that goes, comes and changes by reloads under load does not race" {
	local ports='map(.port) | unique | join(" ")'
	ports_are() { [ "$(bridge_ask 2 egress-queues | jq -rs "$ports")" = "$1" ]; }
	flow_from h1p1 0 2 500 --size 200
	without_second 2 1
	wait_for 30 ports_are n2p1
	with_second 2 1
	# It comes again while it closes.
	without_second 2
	with_second 2
	ports_are "n2p1 n2p2"
	sed -i '/id: 2\b/,$ s/{number: 2, name: eth2/&, rate: 100mbit/' "$LAB_DIR/n2.yaml"
	reload 2
	[ "$(queue n2p2 0 rate)" != null ]
	interrupt gen0
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.2.2
	wait_for 30 on h1p2 ping -c 1 -W 1 10.2.2.2
	across
}

@test "the bridges ended well, and nothing was reported" {
	local n pid
	for n in 1 2; do
		pid=$(cat "$LAB_DIR/bridge-n$n.pid")
		kill -TERM "$pid"
		wait_for 30 test ! -e "/proc/$pid/ns/net" # a zombie has none
		run ! grep -A20 "ThreadSanitizer" "$LAB_DIR/bridge-n$n.err"
	done
}
