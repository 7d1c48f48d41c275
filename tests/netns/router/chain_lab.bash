# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The lab of the tests of chains: one for all tests of a file. setup_file makes it; each test finds
# sluice-elements ready, and both hosts reached by the fast path.
load router

teardown_file() {
	lab_end
}

setup() {
	warm_up
	wait_for 10 port_is slchain0 on
}
