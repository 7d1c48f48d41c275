#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# netns-lab/lib/lab.sh: nodes are separate from each other and from the caller, and all of a lab
# goes away.

bats_require_minimum_version 1.5.0

. netns-lab/lib/lab.sh

setup_file() {
	lab_begin
	node_up n1
	host_up h1
	host_up h2
	link n1:eth1 h1:eth0
	link n1:eth2 h2:eth0 3400
	on n1 ip addr add 10.0.1.1/24 dev eth1
	on n1 ip addr add 10.0.2.1/24 dev eth2
	on h1 ip addr add 10.0.1.2/24 dev eth0
	on h2 ip addr add 10.0.2.2/24 dev eth0
	on h1 ip route add default via 10.0.1.1
	on h2 ip route add default via 10.0.2.1
}

teardown_file() { lab_end; }

@test "a node forwards between its hosts" {
	wait_for 5 on h1 ping -c 1 -W 1 10.0.2.2
}

@test "the ends of a link have the MTU asked for" {
	[ "$(on n1 cat /sys/class/net/eth2/mtu)" = 3400 ]
	[ "$(on h2 cat /sys/class/net/eth0/mtu)" = 3400 ]
	[ "$(on h1 cat /sys/class/net/eth0/mtu)" = 1500 ]
}

@test "a node sees its own devices, not the caller's" {
	[ "$(on n1 sh -c 'echo /sys/class/net/*')" = "/sys/class/net/eth1 /sys/class/net/eth2 /sys/class/net/lo" ]
}

@test "a pin made in one node is in no other" {
	on n1 bpftool map create /sys/fs/bpf/mine type array key 4 value 4 entries 1 name mine
	on n1 test -e /sys/fs/bpf/mine
	run ! on h1 test -e /sys/fs/bpf/mine
	[ ! -e /sys/fs/bpf/mine ]
}

@test "a pin outlives the command that made it" {
	on n1 test -e /sys/fs/bpf/mine
}

@test "/run is the node's own, but the lab's directory is shared" {
	on n1 touch /run/private "$LAB_DIR/shared"
	[ ! -e /run/private ]
	[ -e "$LAB_DIR/shared" ]
	on h1 test -e "$LAB_DIR/shared"
	run ! on h1 test -e /run/private
}

@test "a machine without a netdev starts in a host of its name" {
	. netns-lab/vm/vm.sh
	mkdir "$LAB_DIR/bin"
	printf '#!/bin/sh\nexec sleep 1000\n' >"$LAB_DIR/bin/qemu-system-x86_64"
	chmod +x "$LAB_DIR/bin/qemu-system-x86_64"
	PATH=$LAB_DIR/bin:$PATH vm_up m1
	vm_runs m1
	namespaces_down m1
}

@test "spawn gives the process id of the command itself" {
	spawn h1 sleeper sleep 1000
	wait_for 5 grep -qz '^sleep$' "/proc/$SPAWNED/cmdline"
	kill "$SPAWNED"
	[ "$(cat "$LAB_DIR/sleeper.pid")" = "$SPAWNED" ]
}

@test "wait_for gives up at its deadline and names the command" {
	LAB_PATIENCE=1 run wait_for 1 sh -c 'echo still no; false'
	[ "$status" -eq 1 ]
	[ "$output" = "lab: not within 1 s: sh -c echo still no; false (still no)" ]
}

@test "an unknown node is refused by name" {
	run on n9 true
	[ "$status" -eq 1 ]
	[ "$output" = "lab: no node or host \"n9\" in lab $LAB_ID" ]
}

@test "a second node of the same name is refused" {
	run node_up n1
	[ "$status" -eq 1 ]
	[ "$output" = "lab: n1 exists already" ]
}

@test "lab_end ends every process, even one that ignores SIGTERM and one that entered by hand" {
	local first=$LAB_DIR
	lab_begin
	node_up n1
	spawn n1 stubborn sh -c 'trap "" TERM; while :; do sleep 1000; done'
	nsenter --target "$(holder_of n1)" --net --mount sleep 1000 3>&- &
	local by_hand=$!
	in_lab() { lab_processes | grep -qx "$1"; }
	wait_for 5 in_lab "$SPAWNED"
	wait_for 5 in_lab "$by_hand"
	local pids
	pids=$(lab_processes) || true # a process that may be somebody else's does not matter here
	lab_end
	[ ! -e "$LAB_DIR" ]
	for pid in $pids $by_hand; do
		[ ! -e "/proc/$pid/ns/net" ] || [ "$(cut -d' ' -f3 "/proc/$pid/stat")" = Z ]
	done
	[ -d "$first" ]
}

@test "a process that shows no environment may be one of the lab's" {
	spawn h1 bare env -i sleep 100
	shown() { tr '\0' x <"/proc/$SPAWNED/environ" | wc -c; }
	bare() { [ "$(tr '\0' ' ' <"/proc/$SPAWNED/cmdline")" = "sleep 100 " ] && [ "$(shown)" = 0 ]; }
	wait_for 5 bare
	run lab_processes
	[ "$status" -eq 1 ]
	kill "$SPAWNED"
}

@test "ending one lab leaves another alone" {
	[ -n "$(lab_holders)" ]
	wait_for 5 on h1 ping -c 1 -W 1 10.0.2.2
}
