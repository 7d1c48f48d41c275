#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Transports on verbs, over the kernel's own RoCE in a virtual machine.
bats_require_minimum_version 1.5.0

. tests/rdma/vm_cluster.bash

setup_file() {
	[ -n "${LAB_DIR:-}" ] || return 0
	vms_part
	on fabric ip link set m1 up
	vms_each 1 plug "$VMS_MTU"
	vm_on n1 sysctl -qw net.ipv6.conf.fab0.keep_addr_on_down=1 # one of the faults sets fab0 down
	vm_on n1 ip addr add fd09::1/64 dev fab0 nodad
}

teardown_file() { [ -z "${LAB_DIR:-}" ] || vm_on n1 ip addr del fd09::1/64 dev fab0; }

setup() {
	[ -n "${LAB_DIR:-}" ] || skip "no QEMU, or no kernel for it"
	NODES=1
}

# contract KIND: the transport keeps its whole contract, and leaves no RDMA object behind
contract() {
	local before
	before=$(objects)
	[ "$(jq .qp <<<"$before")" -ge 1 ]
	vm_on n1 env CMOCKA_MESSAGE_OUTPUT=TAP "$LAB_SOURCE/build/tests/rdma/verbs_contract" "$1" fab0 10.9.0.1 fd09::1
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
	# What these leave out is part of one of them, or loads in the other tests here.
	run vm_on n1 env CMOCKA_MESSAGE_OUTPUT=TAP "$LAB_SOURCE/build/tests/bpf/test_verifier" \
		bare_sl_edge_frags kernel_sl_edge_frags cluster_lpm_sl_edge_frags express_filters_cluster_fast_sl_edge_frags \
		fabric hooks inject txdrops
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c "^ok" <<<"$output")" = 8 ]
}

@test "the lookups of the fast path name the same next hops on this older kernel" {
	run vm_on n1 env CMOCKA_MESSAGE_OUTPUT=TAP "$LAB_SOURCE/build/tests/bpf/test_lookup" 20
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c "^ok" <<<"$output")" = 4 ]
}

@test "random chains, with an element that is linked with the fast path, give the worker's packets on this older kernel" {
	run vm_on n1 env CMOCKA_MESSAGE_OUTPUT=TAP "$LAB_SOURCE/build/tests/bpf/test_edge_chain" 10
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c "^ok" <<<"$output")" = 7 ]
}

@test "on this older kernel, too, 4,096 rules take the place of others under load: no packet is lost, or judged by parts of two lists" {
	run vm_on n1 env CMOCKA_MESSAGE_OUTPUT=TAP "$LAB_SOURCE/build/tests/bpf/test_lists_replace" 6
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c "^ok" <<<"$output")" = 1 ]
}
