#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# sluice with its daemon: every engine forwards to the packet, in both modes, and changes under
# traffic.
bats_require_minimum_version 1.5.0

. tests/netns/router/forward.bash

setup_file() {
	lab_begin
	forward_lab
	router_up n1 fast eth1 eth2 eth3
	on n1 ip route add 10.64.0.0/16 via 10.0.2.2
	on n1 ip route add fd64::/16 via fd00:0:0:2::2
	on n1 ip route add blackhole 10.64.0.1/32
	on n1 ip route add blackhole fd64::1/128
	on n1 ip route add unreachable 10.64.0.2/32
	wait_for 5 route_is 10.64.0.2 .nexthop.reason unreachable
}

# route_is ADDRESS FILTER VALUE: does sluiced have such a route, once it has followed the kernel?
route_is() { [ "$(on n1 build/sluice -j explain "$1" | jq -r "$2")" = "$3" ]; }

teardown_file() { lab_end; }

# change_file SED: edit the configuration of sluiced, and make sluiced read it again
change_file() {
	sed -i "$1" "$LAB_DIR/n1.yaml"
	kill -HUP "$(cat "$LAB_DIR/sluiced-n1.pid")"
}

engine_is() { [ "$(on n1 build/sluice -j status | jq -r .engine)" = "$1" ]; }

set_engine() {
	change_file "s/^engine: .*/engine: $1/"
	wait_for 10 engine_is "$1"
}

mode_is() { [ "$(on n1 build/sluice -j show ports | jq -r ".[] | select(.port == \"$1\").mode")" = "$2" ]; }

# Both families, small and jumbo frames, many destinations; then routes that drop.
assert_engine_forwards() {
	send h1 n1:eth1 h2 --dst 10.64.1.0/24 --dests 200 --flows 1000 --count 20000 --rate 50000
	assert_forwarded 20000
	send h1 n1:eth1 h2 --dst fd64:1::/64 --dests 200 --flows 1000 --count 20000 --rate 50000
	assert_forwarded 20000
	send h3 n1:eth3 h1 --dst 10.0.1.2 --size 3398 --count 5000 --rate 20000
	assert_forwarded 5000
	send h1 n1:eth1 h2 --dst fd64:1::1 --imix --flows 5 --count 24000 --rate 50000
	assert_forwarded 24000

	send h1 n1:eth1 h2 --dst 10.64.0.0/30 --dests 4 --count 4000 --rate 20000
	[ "$(received packets)" = 2000 ]
	[ "$(change drops blackhole)" = 1000 ]
	send h1 n1:eth1 h2 --dst fd64::/127 --dests 2 --count 4000 --rate 20000
	[ "$(received packets)" = 2000 ]
	[ "$(change drops blackhole)" = 2000 ]
}

@test "engine fast forwards, drops and counts, to the packet" {
	assert_engine_forwards
	[ "$(change punts unreachable)" = 0 ]
	send h1 n1:eth1 h2 --dst 10.64.0.2 --count 1000 --rate 20000
	[ "$(change punts unreachable)" = 1000 ]
}

@test "engine lpm forwards, drops and counts, to the packet" {
	set_engine lpm
	assert_engine_forwards
}

@test "engine kernel forwards, drops and counts, to the packet" {
	set_engine kernel
	assert_engine_forwards
}

@test "engines change under traffic, with nothing lost, doubled or out of order" {
	set_engine fast
	send_start h1 n1:eth1 h2 --dst 10.64.1.1 --flows 50 --rate 50000
	for engine in lpm kernel fast lpm fast; do
		set_engine $engine
	done
	send_stop
	assert_forwarded "$(sent)"
}

@test "generic mode forwards as native mode does" {
	change_file 's/- name: eth1/- {name: eth1, mode: generic, hidden_tags: ignore}/'
	wait_for 10 mode_is eth1 generic
	on n1 ip link show dev eth1 | grep -q xdpgeneric
	send h1 n1:eth1 h2 --dst 10.64.1.0/24 --dests 100 --count 20000 --rate 50000
	assert_forwarded 20000
	send h1 n1:eth1 h2 --dst fd64:1::1 --count 20000 --rate 50000
	assert_forwarded 20000
	change_file 's/mode: generic, hidden_tags: ignore/mode: native/' # a port without this key would keep the mode it has
	wait_for 10 mode_is eth1 native
}

@test "frames of a VLAN that no port has go to the kernel, and none leaves" {
	send h1 n1:eth1 h2 --dst 10.64.1.1 --vlan 5 --count 1000 --rate 20000
	[ "$(received packets)" = 0 ]
	[ "$(change punts vlan)" = 1000 ]
	send h1 n1:eth1 h2 --dst fd64:1::1 --vlan 5,6 --count 1000 --rate 20000
	[ "$(received packets)" = 0 ]
	[ "$(change punts vlan)" = 1000 ]
}

@test "kill -9 sluiced under traffic loses nothing; the next one adopts, and leaves nothing stale" {
	local pins
	pins=$(on n1 find /sys/fs/bpf/sluice | sort)
	on n1 ip route add 10.65.0.0/16 via 10.0.2.2
	send_start h1 n1:eth1 h2 --dst 10.64.1.1 --flows 50 --rate 50000
	kill -KILL "$(cat "$LAB_DIR/sluiced-n1.pid")"
	wait "$(cat "$LAB_DIR/sluiced-n1.pid")" 2>/dev/null || true
	wait_for 5 forwarded_more $(($(change stats forward) + 20000))
	# changes while no sluiced runs
	on n1 ip route del 10.65.0.0/16
	on n1 ip route add 10.66.0.0/16 via 10.0.2.2
	router_start n1
	wait_for 5 forwarded_more $(($(change stats forward) + 20000))
	send_stop
	assert_forwarded "$(sent)"

	send h1 n1:eth1 h2 --dst 10.66.0.1 --count 1000 --rate 20000
	assert_forwarded 1000
	send h1 n1:eth1 h2 --dst 10.65.0.1 --count 1000 --rate 20000
	[ "$(received packets)" = 0 ]
	[ "$(change punts no-route)" = 1000 ]
	[ "$(on n1 find /sys/fs/bpf/sluice | sort)" = "$pins" ]
}

@test "the whole neighbourhood of a route changes under traffic, at 100,000 changes, with nothing lost" {
	awk 'function base(len) {
		return len < 10 ? "10.0.0.0" : len < 24 ? "10.64.0.0" : len < 32 ? "10.64.1.0" : "10.64.1.1"
	}
	BEGIN {
		for (i = 0; i < 45000; i++) { # unrelated prefixes, and shorter and longer ones of the destination
			print "route add 20." int(i / 250) "." i % 250 ".0/24 via 10.0.3.2"
			if (i % 9 == 0 && (len = 8 + i / 9 % 25) != 16) {
				print "route add " base(len) "/" len " via 10.0.2.2"
				print "route del " base(len) "/" len
			}
		}
		for (i = 0; i < 45000; i++)
			print "route del 20." int(i / 250) "." i % 250 ".0/24"
		for (i = 0; i < 1000; i++)
			print "route replace 10.64.0.0/16 via 10.0.2.2 metric 0"
	}' >"$LAB_DIR/churn"
	local changes
	changes=$(wc -l <"$LAB_DIR/churn")
	[ "$changes" -ge 100000 ]
	prefixes() { on n1 build/sluice -j status | jq '.tables.ipv4_prefixes'; }
	settled() { [ "$(prefixes)" = "$1" ]; }
	local before_churn
	before_churn=$(prefixes)

	send_start h1 n1:eth1 h2 --dst 10.64.1.1 --flows 50 --rate 50000
	local start=${EPOCHREALTIME/./}
	on n1 ip -batch "$LAB_DIR/churn"
	local kernel_done=${EPOCHREALTIME/./}
	wait_for 20 settled "$before_churn"
	local end=${EPOCHREALTIME/./}
	send_stop
	echo "# $changes changes: kernel $(((kernel_done - start) / 1000)) ms, in step $(((end - kernel_done) / 1000)) ms later" >&3
	assert_forwarded "$(sent)"
	[ "$(on n1 build/sluice -j status | jq '.mirror.parse_errors')" = 0 ]
}

@test "a neighbour that only the fast path uses is verified in time, and its new MAC address is found" {
	# These times are minutes by default; here they are seconds.
	for family in ipv4 ipv6; do
		on n1 sh -c "cd /proc/sys/net/$family/neigh/eth2 && echo 500 >base_reachable_time_ms &&
			echo 1 >delay_first_probe_time && echo 200 >retrans_time_ms"
	done
	# What was resolved before keeps its time, and sluiced reads the times again every few seconds.
	on n1 ip neigh change 10.0.2.2 dev eth2 nud stale
	kill "$(cat "$LAB_DIR/sluiced-n1.pid")"
	router_start n1
	asked() { [ "$(grep -c 'who-has 10.0.2.2' "$LAB_DIR/arp.out")" -ge 2 ]; }

	spawn h2 arp tcpdump -n -l -i eth0 arp
	wait_for 5 grep -q listening "$LAB_DIR/arp.err"
	send_start h1 n1:eth1 h2 --dst 10.64.1.1 --rate 5000
	wait_for 30 asked
	send_stop
	assert_forwarded "$(sent)"

	# The host comes back with another MAC address, and does not announce it.
	send_start h1 n1:eth1 h2 --dst 10.64.1.1 --rate 5000
	on h2 sh -c 'ip link set dev eth0 down && ip link set dev eth0 address 02:00:00:00:02:02 && ip link set dev eth0 up'
	on h2 ip route add default via 10.0.2.1
	wait_for 30 route_is 10.64.1.1 .nexthop.mac 02:00:00:00:02:02
	send_stop
	send h1 n1:eth1 h2 --dst 10.64.1.1 --count 1000 --rate 10000
	assert_forwarded 1000

	# One that another program has learnt, as for EVPN, keeps this mark although sluiced asks for it.
	probes() { on n1 build/sluice -j status | jq .mirror.neighbour_probes; }
	asked_again() { [ "$(probes)" -gt "$1" ]; }
	on n1 ip neigh replace 10.0.2.2 dev eth2 lladdr 02:00:00:00:02:02 nud stale extern_learn
	send h1 n1:eth1 h2 --dst 10.64.1.1 --count 1000 --rate 10000
	wait_for 10 asked_again "$(probes)"
	on n1 ip neigh show 10.0.2.2 dev eth2 | grep extern_learn
}
