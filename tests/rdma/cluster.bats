#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A cluster of two virtual machines on the kernel's own RoCE, one frame in a message: every byte that crosses, and what comes back
# after each fault.
bats_require_minimum_version 1.5.0

setup_file() {
	. tests/rdma/cluster.bash
	vm_image || return 0
	# shellcheck disable=SC2119
	lab_begin
	cluster_of 2
	CLUSTER_BRIDGE="packing: 1" vms_up 2 1 verbs-ud
	remember_macs
}

teardown_file() {
	. netns-lab/lib.sh
	lab_end
}

setup() {
	. tests/rdma/cluster.bash
	[ -n "${LAB_DIR:-}" ] || skip "no QEMU, or no kernel for it"
}

# carries TRANSPORT: are all nodes on it, with packet memory as the one memory region?
carries() {
	local n
	for n in $NODES; do
		bridge_ask "$n" fabric | jq -e --arg transport "$1" '.transport == $transport and .region_address == .memory_address and
			.region_bytes == .memory_bytes and .rdma_device == "rxe0"' || return
	done
}

# frames_per_message N: on average, of what the bridge of node N has sent
frames_per_message() { bridge_ask "$1" fabric | jq '.frames_sent / .data_messages_sent'; }

# faults: each one at node 2. After it, all frames cross again, node 1 never began anew, and both have as many RDMA objects as before.
faults() {
	local fault before bridge
	before=$(each_machine rdma -j resource show)
	bridge=$(bridge_ask 1 status | jq .epoch)
	for fault in netdev hung device killed mtu; do
		echo "fault: $fault"
		vm_on n2 tests/rdma/fault $fault
		hosts_meet
	done
	whole_frames
	[ "$(bridge_ask 1 status | jq .epoch)" = "$bridge" ]
	objects() { jq -c 'map(del(.ifindex))'; }
	[ "$(each_machine rdma -j resource show | objects)" = "$(objects <<<"$before")" ]
}

@test "two nodes on verbs-ud, one frame in a message: every byte, order, TTL, and conservation to the packet" {
	cluster_of 2
	carries verbs-ud
	hosts_meet
	whole_frames
	frames_per_message 1 | jq -e '. == 1'
}

@test "verbs-ud recovers from each fault, without a restart of the other side and with nothing left behind" {
	cluster_of 2
	faults
}
