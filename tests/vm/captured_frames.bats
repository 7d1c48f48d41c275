#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# `sluice capture` on a kernel that lets XDP programs be traced: every frame that enters or leaves
# is in the capture once, or was counted as not captured, with its bytes and with what became of it.
# A virtual machine has such a kernel; verbs_cluster.bats captures in a cluster of them.
bats_require_minimum_version 1.5.0

. netns-lab/lib/lab.sh
. netns-lab/vm/vm.sh

setup_file() {
	[ -n "${LAB_DIR:-}" ] || return 0
	mkdir "$LAB_DIR/flood"
	VM_SECONDS=900 vm_on m1 tests/vm/capture_flood "$LAB_DIR/flood"
}

setup() { [ -n "${LAB_DIR:-}" ] || skip "no QEMU, or no kernel for it"; }

# sums FLOOD: compare the capture of a flood with what went through, and print the sums
sums() {
	/usr/bin/python3 -B tests/vm/read_capture.py flood "$LAB_DIR/flood/$1" >"$LAB_DIR/sums" || return
	cat "$LAB_DIR/sums"
}

@test "a router's capture has every frame once, as it entered and as it left, with its outcome" {
	sums whole
	jq -e '.lost == 0 and .left >= .sent and .arrived == .sent' "$LAB_DIR/sums"
}

@test "frames that do not fit the ring are counted to the last one, and forwarding does not wait for it" {
	sums small
	jq -e '.lost > 0' "$LAB_DIR/sums"
}

@test "a filter leaves frames out before they take room in a ring" {
	/usr/bin/python3 -B tests/vm/read_capture.py chosen "$LAB_DIR/flood/chosen" | tee "$LAB_DIR/sums"
	jq -e '. == {by: {"eth1 in: drop: ip4-martian-source: source address that no host may use": 50}, lost: 0, bytes: .bytes}' \
		"$LAB_DIR/sums"
}

@test "a filter sees a frame as it leaves, and more of it than is copied" {
	/usr/bin/python3 -B tests/vm/read_capture.py chosen "$LAB_DIR/flood/leaving" | tee "$LAB_DIR/sums"
	jq -e '. == {by: {"eth2 out: forward: entered by eth1": 500}, lost: 0, bytes: 20}' "$LAB_DIR/sums"
}

@test "a filter that is too long for the kernel chooses the same frames" {
	/usr/bin/python3 -B tests/vm/read_capture.py chosen "$LAB_DIR/flood/long" | tee "$LAB_DIR/sums"
	jq -e '. == {by: {"eth2 out: forward: entered by eth1": 500}, lost: 0, bytes: .bytes}' "$LAB_DIR/sums"
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
