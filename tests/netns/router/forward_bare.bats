#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# sluice without its daemon, attached by iproute2: `ip link set dev X xdp obj build/sluice.bpf.o
# section xdp`.
bats_require_minimum_version 1.5.0

. tests/netns/router/forward.bash
PINS=/sys/fs/bpf/tc/globals

setup_file() {
	lab_begin
	forward_lab
	router_up n1 bare eth1 eth2 eth3
}

teardown_file() { lab_end; }

setup() {
	knows_xdp_features || skip "Linux before 6.3: the kernel forwards every packet"
}

# Does the kernel's type information have this name? Bare mode reads such fields of a netdev.
knows_xdp_features() { grep -qaw xdp_features /sys/kernel/btf/vmlinux; }

@test "ip link shows the program on every port, in native mode" {
	for port in eth1 eth2 eth3; do
		on n1 ip -details link show dev $port >"$LAB_DIR/link"
		grep -q ' xdp ' "$LAB_DIR/link"
		grep -q 'name sl_edge' "$LAB_DIR/link"
	done
}

@test "IPv4 is forwarded, each packet once, in order, TTL down by one" {
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 100 --count 50000 --rate 100000
	assert_forwarded 50000
}

@test "IPv6 is forwarded, each packet once, in order, hop limit down by one" {
	send h1 n1:eth1 h2 --dst fd00:0:0:2::2 --flows 100 --count 50000 --rate 100000
	assert_forwarded 50000
}

@test "frames of 3398 bytes are forwarded between jumbo ports" {
	send h1 n1:eth1 h3 --dst 10.0.3.2 --size 3398 --count 10000 --rate 50000
	assert_forwarded 10000
	send h3 n1:eth3 h1 --dst fd00:0:0:1::2 --size 3398 --count 10000 --rate 50000
	assert_forwarded 10000
}

@test "a mix of sizes is forwarded" {
	send h1 n1:eth1 h2 --dst 10.0.2.2 --imix --flows 10 --count 60000 --rate 100000
	assert_forwarded 60000
}

@test "packets whose TTL ends here go to the kernel, and none leaves" {
	send h1 n1:eth1 h2 --dst 10.0.2.2 --ttl 1 --count 1000 --rate 10000
	[ "$(received packets)" = 0 ]
	[ "$(change punts ttl)" = 1000 ]
}

@test "packets that a blackhole route matches are dropped under that name, the others go on" {
	on n1 ip route add blackhole 10.64.0.1/32
	on n1 ip route add 10.64.0.0/16 via 10.0.2.2
	send h1 n1:eth1 h2 --dst 10.64.0.0/16 --dests 2 --count 20000 --rate 100000
	on n1 ip route del blackhole 10.64.0.1/32
	on n1 ip route del 10.64.0.0/16
	[ "$(received packets)" = 10000 ]
	[ "$(change drops blackhole)" = 10000 ]
}

@test "packets too big for the egress port go to the kernel, which answers" {
	spawn h1 answers tcpdump -n -l -i eth0 -c 1 icmp
	wait_for 5 grep -q listening "$LAB_DIR/answers.err"
	send h1 n1:eth1 h2 --dst 10.0.2.2 --size 3000 --count 100 --rate 1000
	[ "$(received packets)" = 0 ]
	[ "$(change punts too-big)" = 100 ]
	wait_for 5 grep -q 'need to frag (mtu 1500)' "$LAB_DIR/answers.out"
}

@test "both directions at once lose nothing" {
	sink_start back h1
	sink_start received h2
	accounts_open
	gen_start gen2 h2 n1:eth2 --dst 10.0.1.2 --count 50000 --rate 50000
	gen gen h1 n1:eth1 --dst 10.0.2.2 --count 50000 --rate 50000
	accounts_settle 100000
	finish received
	finish back
	accounted 100000 100000
	assert_arrived 50000
	came_whole back
	[ "$(report back packets)" = 50000 ]
}

@test "bpftool shows the maps with named fields" {
	run on n1 bpftool map dump name sl_stats
	[ "$status" -eq 0 ]
	[[ "$output" == *'"packets": '* ]]
	[[ "$output" == *'"bytes": '* ]]
}

@test "generic mode forwards as native mode does" {
	on n1 ip link set dev eth1 xdp off
	on n1 ip link set dev eth1 xdpgeneric obj build/sluice.bpf.o section xdp
	on n1 ip link show dev eth1 | grep -q xdpgeneric
	send h1 n1:eth1 h2 --dst 10.0.2.2 --flows 10 --count 20000 --rate 50000
	assert_forwarded 20000
	send h1 n1:eth1 h2 --dst fd00:0:0:2::2 --flows 10 --count 20000 --rate 50000
	assert_forwarded 20000
	on n1 ip link set dev eth1 xdpgeneric off
	on n1 ip link set dev eth1 xdp obj build/sluice.bpf.o section xdp
}

@test "xdp off under traffic: the kernel forwards, and nothing is lost" {
	send_start h1 n1:eth1 h2 --dst 10.0.2.2 --rate 20000
	on n1 ip link set dev eth1 xdp off
	# The generator has sent more since then.
	wait_for 5 xdp_out_since h1 "$(xdp_out h1)"
	finish gen
	finish received
	assert_arrived "$(sent)"
	[ "$(change stats forward)" -lt "$(sent)" ]
	on n1 ip link set dev eth1 xdp obj build/sluice.bpf.o section xdp
}

@test "xdp off on every port leaves the kernel's forwarding" {
	for port in eth1 eth2 eth3; do
		on n1 ip link set dev $port xdp off
	done
	run on n1 ip link show type veth
	[[ "$output" != *xdp* ]]
	sink_start received h2
	gen gen h1 n1:eth1 --dst 10.0.2.2 --count 10000 --rate 50000
	finish received
	assert_arrived 10000
}
