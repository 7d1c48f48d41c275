#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Two nodes of a large cluster: the configuration has 66 nodes and 258 ports, of which two nodes are
# there. What a node opens grows with its own ports, not with those of the cluster.
bats_require_minimum_version 1.5.0

load cluster

NODES=66
PORTS=4

setup_file() {
	cluster_lab
	cluster_fabric
	for n in 1 2; do
		cluster_node $n 1
		CLUSTER_ABSENT=$((NODES - 2)) cluster_config $n 2 1 "$TOPO_ENGINE" >"$LAB_DIR/n$n.yaml"
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

# The map has room for the queues that the netdev may get.
@test "a port has one ring for each receive queue, whatever the cluster's size" {
	most=$(on n1 ethtool -l eth1 | awk '$1 == "RX:" { print $2; exit }')
	# and as many for each of 15 ports that may come later
	[ "$(on n1 bpftool -j map show pinned /sys/fs/bpf/sluice/sl_xsk | jq .max_entries)" = $((16 * most)) ]
	grep -q "port eth1: n1p1, 1 queues" "$LAB_DIR/bridge-n1.err"
}

@test "frames cross whole and in order, to the packet" {
	send_all h1p1 n1:eth1 h2p1 2500 --dst 10.2.1.2 --imix --flows 100
	send_all h2p1 n2:eth1 h1p1 2500 --dst 10.1.1.2 --imix --flows 100
}

# refused_start KEYS COMMAND...: start a bridge for node 2, with sockets of its own, that refuses; $output has its words
refused_start() {
	CLUSTER_BRIDGE="control: $LAB_DIR/other.control${1:+, $1}" CLUSTER_ABSENT=$((NODES - 2)) cluster_config 2 2 1 fast |
		sed "s|^cluster:.*|&\n  socket: $LAB_DIR/other.sock|" >"$LAB_DIR/other.yaml"
	shift
	run -1 on n2 "$@" build/sluice-bridge --config "$LAB_DIR/other.yaml"
}

@test "what the machine does not allow is refused with both numbers, while the bridge that runs goes on" {
	refused_start "" prlimit --nofile=300:300
	[[ "$output" =~ "this cluster of 258 ports needs "[4-6][0-9][0-9]" open files, and 300 are allowed" ]]
	refused_start "memory_mib: 16"
	[[ "$output" =~ "memory_mib: 16 MiB leave nothing for frames, since the rings of this node's ports and fabric take "[0-9]+" MiB" ]]
	send_all h1p1 n1:eth1 h2p1 2500 --dst 10.2.1.2 --imix --flows 100
}
