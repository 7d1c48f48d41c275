#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# `sluice capture` on a kernel that lets XDP programs be traced: every frame that enters or leaves
# is in the capture once, or was counted as not captured, with its bytes and with what became of it.
# shellcheck disable=SC2154 # variables are set by `run`
bats_require_minimum_version 1.5.0

. tests/rdma/vm_cluster.bash

# A machine of its own, with two processors, for the floods.
setup_file() {
	[ -n "${LAB_DIR:-}" ] || return 0
	VM_PROCESSORS=2 vm_up flood fabric:flood:1500
	vm_wait flood
}

setup() { [ -n "${LAB_DIR:-}" ] || skip "no QEMU, or no kernel for it"; }

read_capture() { /usr/bin/python3 -B tests/rdma/read_capture.py "$@"; }

# flood COUNT RATE [CAPTURE-OPTION...]: see capture_flood
flood() {
	rm -rf "$LAB_DIR/flood"
	mkdir "$LAB_DIR/flood"
	VM_SECONDS=600 vm_on flood tests/rdma/capture_flood "$LAB_DIR/flood" "$@"
	read_capture flood "$LAB_DIR/flood" >"$LAB_DIR/flood/sums"
	cat "$LAB_DIR/flood/sums"
}

@test "a router's capture has every frame once, as it entered and as it left, with its outcome" {
	flood 2000 2000
	jq -e '.lost == 0 and .left >= .sent and .arrived == .sent' "$LAB_DIR/flood/sums"
}

@test "a trace names for each packet where it enters, the verdict that explain gives, and where it leaves" {
	cat "$LAB_DIR/flood/trace"
	[ "$(jq -c '[.frame, .steps[1].outcome, .steps[1].reason, .explain.verdict, .explain.nexthop.reason,
		([.steps[] | select(.step != "decision") | "\(.step) \(.port)"] | join(" "))]' "$LAB_DIR/flood/trace")" = \
		'["10.0.1.2 > 10.0.2.2 ICMP","forward",null,"forward",null,"in eth1 out eth2"]
["10.0.1.2 > 10.0.1.1 ICMP","kernel","local","kernel","local","in eth1"]
["10.0.1.2 > 10.7.7.7 ICMP","kernel","no-route","kernel","no-route","in eth1"]' ]
	jq -e '.steps | map(.time_ns) | . == sort' "$LAB_DIR/flood/trace"
}

@test "frames that do not fit the ring are counted to the last one, and forwarding does not wait for it" {
	flood 20000 100000 -B 64
	jq -e '.lost > 0' "$LAB_DIR/flood/sums"
}

@test "frames that a bridge takes and sends are seen at both nodes, byte for byte" {
	local n
	cluster_again 2 verbs-ud "packing: 255, pack_delay_us: 100000"
	remember_macs
	for n in $NODES; do
		vm_enter "n$n"
		vm_spawn "$VM_MACHINE" "capture.$n" "${VM_ENTER[@]}" build/sluice capture -i eth1 -w -
	done
	for n in $NODES; do wait_for 30 grep -q listening "$LAB_DIR/capture.$n.err"; done
	frames_arrive_unchanged
	for n in $NODES; do
		vm_signal "capture.$n" INT
		vm_output "capture.$n" >"$LAB_DIR/capture.n$n"
		cat "$LAB_DIR/capture.$n.err"
		grep -q " 0 not captured" "$LAB_DIR/capture.$n.err"
		read_capture same "$LAB_DIR/capture.n$n" "eth1 in" "$LAB_DIR/sent.$n"
		read_capture same "$LAB_DIR/capture.n$n" "eth1 out" "$LAB_DIR/got.$n"
		run read_capture outcomes "$LAB_DIR/capture.n$n" "eth1 in"
		echo "$output"
		jq -e 'has("queue: virtual output") and length == 1' <<<"$output"
		run read_capture outcomes "$LAB_DIR/capture.n$n" "eth1 out"
		echo "$output"
		jq -e 'has("bridge: sent by an AF_XDP socket") and length == 1' <<<"$output"
	done
}
