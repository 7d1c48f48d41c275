#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
# sluiced links own elements with sl_edge: with another set, sl_edge is loaded anew, and no packet is lost; what does not
# load changes nothing. 10 seconds of processor time.
bats_require_minimum_version 1.5.0
load router

setup_file() {
	router_up
	printf '%s\n' "filters:" "- name: in" "  ports: [{name: eth1}]" "  default: permit" "  rules: []" \
		"ports:" "  - name: eth1" "  - name: eth2" >"$CONFIG"
	daemon
	export LAB_ID LAB_DIR CONFIG DAEMON
}
teardown_file() { lab_end; }
setup() { warm_up; }

# take: have sluiced look for own elements; says why it does not take them
take() {
	on n1 /usr/bin/python3 - <<-'END'
		import json, socket
		s = socket.socket(socket.AF_UNIX)
		s.connect("/run/sluice/sluiced.sock")
		s.sendall(b'{"command": "elements"}\n')
		print([json.loads(line) for line in s.makefile()][-1]["end"].get("error", "taken"))
	END
}
# put FILE: it is what sluice-elements would have written
put() { on n1 sh -c "cat >/run/sluice/elements-new && mv /run/sluice/elements-new /run/sluice/sluiced.sock.elements" <"$1"; }
# The set of the generation in force: bytes 36 to 39 of sl_meta
set_in_force() {
	on n1 bpftool -j map lookup pinned /sys/fs/bpf/sluice/sl_meta key 0 0 0 0 |
		jq -r '.value[36:40] | map(ltrimstr("0x")) | reverse | join("")'
}
carries_edge() { [[ $(xdp_program "$1") == sl_edge* ]]; }

@test "own elements: taken on request and by itself, given up, each time without a lost packet" {
	local first
	[ "$(set_in_force)" = 00000000 ]
	sed 's/sl_own_element_X/sl_own_element_0/g' build/own_mark.bpf.o >"$LAB_DIR/first.o"
	sed 's/sl_own_element_X/sl_own_element_5/g' build/own_mark.bpf.o >"$LAB_DIR/second.o"
	spawn h1 ping ping -i 0.002 -c 2000 -q 10.0.2.2
	put "$LAB_DIR/first.o"
	[ "$(take)" = taken ]
	first=$(set_in_force)
	[ "$first" != 00000000 ]
	carries_edge eth1
	put "$LAB_DIR/second.o"
	other() { [ "$(set_in_force)" != "$first" ] && [ "$(set_in_force)" != 00000000 ]; }
	wait_for 10 other
	on n1 rm /run/sluice/sluiced.sock.elements
	none() { [ "$(set_in_force)" = 00000000 ]; }
	wait_for 10 none
	pinged() { grep -q "packet loss" "$LAB_DIR/ping.out"; }
	wait_for 20 pinged
	grep -q " 0% packet loss" "$LAB_DIR/ping.out"
}

@test "own elements: no object, what others may write, and what the verifier refuses change nothing" {
	local before
	put "$LAB_DIR/first.o"
	[ "$(take)" = taken ]
	before=$(set_in_force) program=$(xdp_program_id eth1)
	head -c 3000 /dev/urandom >"$LAB_DIR/noise"
	put "$LAB_DIR/noise"
	[[ $(take) == "sl_edge cannot be loaded with them"* ]]
	[ "$(set_in_force)" = "$before" ]
	[ "$(xdp_program_id eth1)" = "$program" ]
	# the bound of the packet is not asked for
	sed 's/.*data_end.*/\tif (0)/; s/_X/_0/' tests/bpf/own_mark.bpf.c >"$LAB_DIR/wrong.bpf.c"
	clang -target bpf -mcpu=v3 -O2 -g -I. -I"/usr/include/$(uname -m)-linux-gnu" -c "$LAB_DIR/wrong.bpf.c" -o "$LAB_DIR/wrong.o"
	put "$LAB_DIR/wrong.o"
	[[ $(take) == "sl_edge cannot be loaded with them"* ]]
	[ "$(set_in_force)" = "$before" ]
	[ "$(xdp_program_id eth1)" = "$program" ]
	put "$LAB_DIR/second.o"
	on n1 chmod 666 /run/sluice/sluiced.sock.elements
	none() { [ "$(set_in_force)" = 00000000 ]; }
	wait_for 10 none
}

@test "own elements: a sluiced that starts goes on without those that do not load" {
	put "$LAB_DIR/noise"
	kill -KILL "$DAEMON"
	wait_for 10 daemon_gone
	daemon
	[ "$(set_in_force)" = 00000000 ]
	log_says "cannot be loaded"
	carries_edge eth1
	put "$LAB_DIR/first.o"
	[ "$(take)" = taken ]
	[ "$(set_in_force)" != 00000000 ]
	on n1 rm /run/sluice/sluiced.sock.elements
}
