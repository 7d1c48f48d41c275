#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Transports on verbs, over the kernel's own RoCE in a virtual machine.
bats_require_minimum_version 1.5.0

setup_file() {
	. netns-lab/lib/lab.sh
	. netns-lab/vm/vm.sh
	vm_image || return 0
	# shellcheck disable=SC2119
	lab_begin
	host_up fabric
	vm_up m1 fabric:m1:9000
	vm_wait m1
	vm_on m1 sysctl -qw net.ipv6.conf.eth0.keep_addr_on_down=1 # one of the faults sets eth0 down
	vm_on m1 ip link set eth0 up
	vm_on m1 ip addr add 10.9.0.1/24 dev eth0
	vm_on m1 ip addr add fd09::1/64 dev eth0 nodad
	vm_on m1 rdma link add rxe0 type rxe netdev eth0
}

teardown_file() {
	. netns-lab/lib/lab.sh
	lab_end
}

setup() {
	. netns-lab/lib/lab.sh
	. netns-lab/vm/vm.sh
	[ -n "${LAB_DIR:-}" ] || skip "no QEMU, or no kernel for it"
}

# objects: print how many RDMA objects of each kind exist
objects() { vm_on m1 rdma -j resource show | jq -c '.[0] | del(.ifindex)'; }

# contract KIND: the transport keeps its whole contract, and leaves no RDMA object behind
contract() {
	local before
	before=$(objects)
	[ "$(jq .qp <<<"$before")" -ge 1 ]
	vm_on m1 env CMOCKA_MESSAGE_OUTPUT=TAP "$LAB_SOURCE/build/tests/rdma/verbs_contract" "$1" eth0 10.9.0.1 fd09::1
	[ "$(objects)" = "$before" ]
}

@test "verbs-ud keeps the contract of transports, over IPv4 and IPv6, and recovers from 50 errors, and 54 faults of six kinds" {
	VM_SECONDS=900
	contract ud
}

@test "verbs-rc keeps the contract of transports, over IPv4 and IPv6, and recovers from 50 errors, and 54 faults of six kinds" {
	VM_SECONDS=900
	contract rc
}

@test "the programs of the fast path also load on this older kernel, with every engine" {
	run vm_on m1 env CMOCKA_MESSAGE_OUTPUT=TAP "$LAB_SOURCE/build/tests/bpf/test_verifier"
	echo "$output"
	[ "$status" -eq 0 ]
}
