#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# `sluice sflow` on a kernel that lets XDP programs be traced, which a virtual machine has: what a collector gets, as
# tshark reads it, is what was sent and counted.
bats_require_minimum_version 1.5.0

. netns-lab/lib/lab.sh
. netns-lab/vm/vm.sh

setup_file() {
	[ -n "${LAB_DIR:-}" ] || return 0
	mkdir "$LAB_DIR/sflow"
	VM_SECONDS=900 vm_on m1 tests/vm/sflow_flood "$LAB_DIR/sflow"
}

setup() { [ -n "${LAB_DIR:-}" ] || skip "no QEMU, or no kernel for it"; }

sums() { /usr/bin/python3 -B tests/vm/read_sflow.py "$1" "$LAB_DIR/sflow/$1"; }

@test "with 1 of 1 each frame that enters is a sample with its bytes, its length and what became of it" { sums each; }

@test "1 of 20 is a twentieth at random, and pools add up to the frames that entered" { sums some; }

@test "samples that do not fit the rings are counted to the last one" { sums fast; }
