#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Two nodes of a large cluster: the configuration has 66 nodes and 258 ports, of which two nodes are
# there. What a node opens grows with its own ports, not with those of the cluster.
bats_require_minimum_version 1.5.0

load cluster

NODES=66
PORTS=4

# other_nodes: those that are configured and absent
other_nodes() {
	local i p
	for ((i = 3; i <= NODES; i++)); do
		printf '    - id: %d\n      address: 10.9.0.%d\n      ports:\n' "$i" "$i"
		for ((p = 1; p <= PORTS; p++)); do
			printf '        - {number: %d, name: eth%d}\n' "$p" "$p"
		done
	done
}

setup_file() {
	cluster_lab
	cluster_fabric
	for n in 1 2; do
		cluster_node $n 1
		{ cluster_config $n 2 1 "$TOPO_ENGINE" && other_nodes; } >"$LAB_DIR/n$n.yaml"
	done
	for n in 1 2; do cluster_start $n; done
	for n in 1 2; do wait_for 60 cluster_is_up $n 1; done
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.1.2
	wait_for 10 on h2p1 ping -c 1 -W 1 10.1.1.2
}

remote_ports() { on "n$1" sh -c 'ls -d /sys/class/net/n[0-9]*p[0-9]*' | wc -l; }
all_remote_ports() { [ "$(remote_ports "$1")" -eq $((1 + (NODES - 2) * PORTS)) ]; }

@test "the check accepts a cluster of more than 256 remote ports" {
	run -0 on n1 build/sluice check "$LAB_DIR/n1.yaml"
}

@test "a node has a netdev for each of 257 remote ports" {
	for n in 1 2; do wait_for 60 all_remote_ports $n; done
}

@test "a port has one ring for each receive queue, whatever the cluster's size" {
	[ "$(on n1 bpftool -j map show pinned /sys/fs/bpf/sluice/sl_xsk | jq .max_entries)" = 1 ]
	grep -q "port eth1: n1p1, 1 queues" "$LAB_DIR/bridge-n1.err"
}

@test "frames cross whole and in order, to the packet" {
	send_all h1p1 n1:eth1 h2p1 2500 --dst 10.2.1.2 --imix --flows 100
	send_all h2p1 n2:eth1 h1p1 2500 --dst 10.1.1.2 --imix --flows 100
}
