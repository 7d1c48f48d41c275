#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Bridges with two workers: order, conservation, the share of each worker, bridges that die, ports
# that go and come, controllers, and configurations that are refused. cluster_threads.bats looks for
# races.
bats_require_minimum_version 1.5.0

load cluster

setup_file() {
	export CLUSTER_WORKERS=2 CLUSTER_PORT_n2p2="transmit: inject"
	cluster_begin 2 2
	wait_for 20 on h1p1 ping -c 1 -W 1 10.2.1.2
	wait_for 20 on h1p2 ping -c 1 -W 1 10.2.2.2
}

# worker NODE WORKER KEY: a value of this worker in the bridge's status
worker() { bridge_ask "$1" status | jq ".workers[$2].$3"; }

@test "each worker carries the frames to its ports, wherever they enter" {
	local before after
	before=$(worker 2 0 transmitted),$(worker 2 1 transmitted)
	send_all h1p1 n1:eth1 h2p1 1000 --dst 10.2.1.2 --imix --flows 100
	send_all h1p2 n1:eth2 h2p1 1000 --dst 10.2.1.2 --imix --flows 100
	[ "${before#*,}" = "$(worker 2 1 transmitted)" ]
	after=$(worker 2 0 transmitted)
	[ "${before%,*}" -lt "$after" ]
	send_all h1p1 n1:eth1 h2p2 1000 --dst 10.2.2.2 --imix --flows 100
	send_all h1p2 n1:eth2 h2p2 1000 --dst 10.2.2.2 --imix --flows 100
	[ "$after" = "$(worker 2 0 transmitted)" ]
	[ "${before#*,}" -lt "$(worker 2 1 transmitted)" ]
	[ "$(bridge_ask 2 status | jq '.violations')" = 0 ]
	[ "$(bridge_ask 2 status | jq '.frames.transmitted.packets == ([.workers[].transmitted] | add)')" = true ]
}

@test "all hosts of three nodes at once, and TCP: nothing is reordered, duplicated or lost without a name" {
	CLUSTER_PORT_n2p2='' netns-lab/check-order --json --count 10000 --rate 4000 --tcp >"$BATS_TEST_TMPDIR/result"
	jq -c . "$BATS_TEST_TMPDIR/result"
	jq -e '.sent == 60000 and .wrong == []' "$BATS_TEST_TMPDIR/result"
	jq -e '[.reordered, .duplicates, .late, .bad_checksum, .bad_payload, .wrong_mac] == [0, 0, 0, 0, 0, 0]' "$BATS_TEST_TMPDIR/result"
	jq -e '.tcp.counters | .TcpExtTCPSACKReorder + .TcpExtTCPTSReorder + .TcpExtTCPRenoReorder == 0' "$BATS_TEST_TMPDIR/result"
}

@test "a controller is switched on a port of either worker, and its policy reaches the other node" {
	local port
	# policy PORT: the policy that node 1 has for it
	policy() { [ "$(bridge_ask 1 cc | jq -r "select(.side == \"ingress\" and .port == \"$1\" and .class == 0).controller")" = price ]; }
	for port in 1 2; do
		on n2 build/sluice cc set "eth$port" price
		wait_for 30 policy "n2p$port"
		on n2 build/sluice cc set "eth$port" fixed
	done
}

@test "an edge port of the second worker that is deleted and made again works, and the others never stop" {
	opened() { [ "$(grep -c "port eth2: n1p2," "$LAB_DIR/bridge-n1.err")" -ge 2 ]; }
	on n1 ip link del eth2
	wait_for 30 grep -q "port eth2: the netdev is gone" "$LAB_DIR/bridge-n1.err"
	send_all h1p1 n1:eth1 h2p2 1000 --dst 10.2.2.2 --imix --flows 100
	cluster_wire_port 1 2
	wait_for 30 opened
	wait_for 30 on h1p2 ping -c 1 -W 1 10.2.2.2
	send_all h1p2 n1:eth2 h2p1 1000 --dst 10.2.1.2 --imix --flows 100
}

@test "a bridge that is killed comes back" {
	kill -KILL "$(cat "$LAB_DIR/bridge-n2.pid")"
	bridge_start 2
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.1.2
	wait_for 30 on h1p2 ping -c 1 -W 1 10.2.2.2
	send_all h1p1 n1:eth1 h2p2 1000 --dst 10.2.2.2 --imix --flows 100
}

# classes NODE: how the kernel schedules each thread of a bridge
classes() { ps -L -o cls=,rtprio= -p "$(cat "$LAB_DIR/bridge-n$1.pid")" | tr -s ' ' | sort -u; }

# on_core NODE WORKER: the processors on which the kernel may run that thread of a bridge; the first
# thread is worker 0, the others have their names
on_core() {
	local pid name task
	pid=$(cat "$LAB_DIR/bridge-n$1.pid")
	for task in "/proc/$pid/task/"*; do
		name=$(cat "$task/comm")
		[ "$2" = 0 ] && [ "${task##*/}" = "$pid" ] || [ "$name" = "worker $2" ] || continue
		awk '/^Cpus_allowed_list:/ { print $2 }' "$task/status"
	done
}

@test "all workers run on the configured cores at the configured realtime priority, or say why not" {
	stop_bridge 2
	CLUSTER_BRIDGE="realtime: 7, cores: '$(($(nproc) - 1)),0'" cluster_config 2 2 2 fast >"$LAB_DIR/realtime.yaml"
	bridge_start 2 "$LAB_DIR/realtime.yaml"
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.1.2
	[ "$(classes 2)" = " RR 7" ]
	[ "$(on_core 2 0)" = $(($(nproc) - 1)) ]
	[ "$(on_core 2 1)" = 0 ]
	[ "$(bridge_ask 2 status | jq -c '[.workers[].core]')" = "[$(($(nproc) - 1)),0]" ]
	send_all h1p2 n1:eth2 h2p2 1000 --dst 10.2.2.2 --imix --flows 100
	stop_bridge 2
	spawn n2 bridge-n2 setpriv --bounding-set=-sys_nice build/sluice-bridge --config "$LAB_DIR/realtime.yaml"
	wait_for 30 grep -q "cannot run at realtime priority 7: Operation not permitted" "$LAB_DIR/bridge-n2.err"
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.1.2
	[ "$(classes 2)" = " TS -" ]
}

@test "nodes with another number of workers refuse each other, with both numbers" {
	stop_bridge 2
	CLUSTER_WORKERS=1 cluster_config 2 2 2 fast >"$LAB_DIR/n2.yaml"
	kill -HUP "$(cat "$LAB_DIR/sluiced-n2.pid")"
	bridge_start 2
	wait_for 30 grep -q "node 1 at 10.9.0.1 has 2 workers, we have 1" "$LAB_DIR/bridge-n2.err"
	wait_for 30 grep -q "node 2 at 10.9.0.2 has 1 workers, we have 2" "$LAB_DIR/bridge-n1.err"
}

@test "more workers than the fabric's netdev has queues are refused" {
	stop_bridge 2
	CLUSTER_WORKERS=3 cluster_config 2 2 2 fast >"$LAB_DIR/other.yaml"
	run on n2 build/sluice-bridge --config "$LAB_DIR/other.yaml"
	[ "$status" -eq 1 ]
	[[ "$output" == *"fabric: 3 workers need as many queues of fab0, which has 2"* ]]
}

# stop_bridge NODE
stop_bridge() {
	local pid
	pid=$(cat "$LAB_DIR/bridge-n$1.pid")
	kill -TERM "$pid"
	wait_for 30 test ! -e "/proc/$pid/ns/net" # a zombie has none
}
