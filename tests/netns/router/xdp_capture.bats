#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What `sluice capture` and `sluice trace` refuse, and how it says so. tests/vm/captured_frames.bats captures: it has a
# kernel that lets XDP programs be traced, whatever the machine's own does.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

setup_file() {
	load router
	router_up
	daemon
	export CONFIG DAEMON
}

teardown_file() {
	load router
	lab_end
}

setup() { load router; }

@test "arguments that make no sense end with status 2 and a line that says what would be right" {
	while IFS='|' read -r arguments expected; do
		# shellcheck disable=SC2086
		run --separate-stderr sluice capture $arguments
		echo "$arguments: $status $stderr"
		[ "$status" -eq 2 ]
		[ "${stderr%%$'\n'*}" = "sluice: capture: $expected" ]
		[ -z "$output" ]
	done <<-'LIST'
		|which port?: write -i PORT, or -i all
		udp|which port?: write -i PORT, or -i all
		-i eth1 -c 0|-c: "0" is not a number of frames: write 1 or more
		-i eth1 -c many|-c: "many" is not a number of frames: write 1 or more
		-i eth1 -s 65001|-s: "65001" is not a length: write bytes, 1 to 65000
		-i eth1 -B 1|-B: "1" is not a size: write KiB, 64 to 1048576
		-i eth1 -j -w -|-w writes pcapng, and -j JSON: write one of them
		-i eth1 ip host and|"ip host and" is not a filter: can't parse filter expression: syntax error: see pcap-filter(7)
	LIST
	run --separate-stderr sluice -j capture -i eth1 -w "$LAB_DIR/x"
	[ "$status" -eq 2 ]
	run --separate-stderr sluice capture --colour
	[ "$status" -eq 2 ]
	[[ $stderr = *"Try 'sluice capture --help'."* ]]
}

@test "trace wants a filter, and says what is wrong with its arguments" {
	while IFS='|' read -r arguments expected; do
		# shellcheck disable=SC2086
		run --separate-stderr sluice trace $arguments
		echo "$arguments: $status $stderr"
		[ "$status" -eq 2 ]
		[ "${stderr%%$'\n'*}" = "sluice: trace: $expected" ]
	done <<-'LIST'
		|which packets?: write a filter, such as "host 10.0.2.2"
		-c 0 udp|-c: "0" is not a number of packets: write 1 or more
		udp port|"udp port" is not a filter: can't parse filter expression: syntax error: see pcap-filter(7)
	LIST
}

@test "options of capture are its own, and those before it are sluice's" {
	run --separate-stderr sluice capture -h
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "Usage: sluice [OPTION]... capture -i PORT|all [OPTION]... [FILTER]" ]
	run --separate-stderr sluice -w 0 capture -i eth1
	[ "$status" -eq 2 ]
	[ "$stderr" = 'sluice: -w: "0" is not a time: write seconds, 0.1 to 3600' ]
	run --separate-stderr sluice -b capture -i eth1
	[ "$status" -eq 2 ]
	[ "$stderr" = 'sluice: capture: -b, -n and -d are for top' ]
}

@test "a port that is none, runs no XDP program, or another's, ends with status 1 and a line that says so" {
	on n1 ip link add other type veth peer name another
	on n1 ip link set other up
	on n1 ip link set other xdp obj build/inject.bpf.o sec xdp
	while IFS='|' read -r port expected; do
		run --separate-stderr sluice capture -i eth1 -i "$port"
		echo "$port: $status $stderr"
		[ "$status" -eq 1 ]
		[ "$stderr" = "sluice: capture: \"$port\" $expected" ]
	done <<-'LIST'
		eth7|is not a netdev here: write one that `ip link` shows, or all
		another|runs no XDP program: what it forwards, tcpdump sees
		other|runs an XDP program that is not sluice's
	LIST
	on n1 ip link del other
	run --separate-stderr on h1 build/sluice capture -i all
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice: capture: no netdev here runs an XDP program of sluice's: is sluiced running, in this network namespace?" ]
}

@test "who is not root gets a line that says so" {
	run --separate-stderr on n1 setpriv --reuid 65534 --regid 65534 --clear-groups build/sluice capture -i eth1
	[ "$status" -eq 1 ]
	[ "$stderr" = 'sluice: capture: you may not look at XDP programs: be root' ]
	run --separate-stderr on n1 setpriv --reuid 65534 --regid 65534 --clear-groups build/sluice capture -i all
	[ "$status" -eq 1 ]
	[ "$stderr" = 'sluice: capture: you may not look at XDP programs: be root' ]
}

@test "without BTF of the kernel the message names what is missing" {
	run --separate-stderr on n1 unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec build/sluice capture -i eth1'
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice: capture: this kernel has no BTF, without which XDP programs cannot be traced: it needs CONFIG_DEBUG_INFO_BTF" ]
}
