# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Three virtual machines, booted once for all files of this folder. Each file forms its own clusters
# of them (vms_form), or stops all clusters (vms_part).

setup_suite() {
	. tests/rdma/vm_cluster.bash
	vm_image || return 0
	# shellcheck disable=SC2119
	lab_begin
	vms_boot 3 1 "$VMS_MTU"
}

teardown_suite() {
	. netns-lab/lib/lab.sh
	lab_end
}
