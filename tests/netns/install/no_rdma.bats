#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A host without RDMA: our programs link, load or ask for nothing of RDMA unless the configuration
# says so.
bats_require_minimum_version 1.5.0

. netns-lab/lib/lab.sh
. netns-lab/topo/cluster.sh

setup_file() {
	# shellcheck disable=SC2119
	lab_begin
	cluster_fabric
	cluster_node 1 1
}

teardown_file() { lab_end; }

# start TRANSPORT: run node 1's bridge with this transport; sets its output and status
start() {
	CLUSTER_TRANSPORT=$1 cluster_config 1 2 1 fast >"$LAB_DIR/n1.yaml"
	run on n1 timeout $((10 * ${LAB_PATIENCE:-1})) "$LAB_SOURCE/build/sluice-bridge" --config "$LAB_DIR/n1.yaml"
}

@test "no program needs libibverbs to start" {
	for program in sluice sluiced sluice-bridge; do
		run -0 ldd "$LAB_SOURCE/build/$program"
		[[ $output != *ibverbs* ]]
	done
}

@test "without an RDMA device, a bridge on verbs-ud or verbs-rc ends with a line that says so" {
	for transport in verbs-ud verbs-rc; do
		start $transport
		echo "$output"
		[ "$status" -ne 0 ]
		[ "$status" -ne 124 ]
		grep -Eq "fabric: cannot use $transport at 10\.9\.0\.1: (no RDMA device has this address|libibverbs is not installed).*roce-xdp needs no RDMA device" <<<"$output"
	done
}

@test "roce-xdp loads nothing of RDMA" {
	CLUSTER_TRANSPORT=roce-xdp cluster_config 1 2 1 fast >"$LAB_DIR/n1.yaml"
	bridge_start 1
	wait_for 10 grep -q "fabric: roce-xdp on fab0" "$LAB_DIR/bridge-n1.err"
	run -1 grep -i ibverbs "/proc/$SPAWNED/maps"
	run -1 grep -ri infiniband <(ls -l "/proc/$SPAWNED/fd")
	kill "$SPAWNED"
	wait "$SPAWNED" || true
}
