# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# One virtual machine, booted once for all files of this folder. Each file makes a lab of its own inside, and ends it.

setup_suite() {
	. netns-lab/lib/lab.sh
	. netns-lab/vm/vm.sh
	export LAB_PATIENCE=12 # a machine may stand still for seconds
	vm_image || return 0
	# shellcheck disable=SC2119
	lab_begin
	host_up fabric
	VM_PROCESSORS=1 vm_up m1 fabric:m1:1500 # two would wait for each other
	vm_wait m1
}

teardown_suite() {
	. netns-lab/lib/lab.sh
	lab_end
}
