#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Random configurations by file and by etcd, whole ones and broken ones; CONFIGURATIONS says how many of each
# (100). Takes 15 s.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

. netns-lab/lib/lab.sh
. netns-lab/lib/etcd.sh

setup_file() {
	lab_begin
	etcd_begin 1
}
teardown_file() { lab_end; }

versions() { on e1 build/sluice cluster history --settings "$LAB_DIR/etcd.yaml" -j | jq '.[-1].version // 0'; }

@test "random configurations come to nodes by etcd as by file, byte for byte; broken ones are refused alike and change nothing" {
	local n=${CONFIGURATIONS:-100} applied
	run -0 on e1 /usr/bin/python3 -B tests/netns/cluster/random_configurations.py "$LAB_DIR" "$LAB_DIR/etcd.yaml" "$n" "${SEED:-1}"
	echo "$output"
	# Each that was applied is a version, and none of the others has become one.
	applied=$(grep -oE '[0-9]+ of [0-9]+ applied' <<<"$output" | awk '{ n += $1 } END { print n }')
	[ "$(versions)" = "$applied" ]
}
