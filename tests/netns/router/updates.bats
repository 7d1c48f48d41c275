#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Hundreds of thousands of route changes while packets take those routes: no packet may be lost, and in the end every
# packet goes where the kernel would send it. These tests do not measure speed; netns-lab/bench does.

bats_require_minimum_version 1.5.0

. tests/netns/router/forward.bash

CHANGES=200000

# gateway 4|6 N: the address of hN
gateway() { [ "$1" = 4 ] && echo "10.0.$2.2" || echo "fd00:0:0:$2::2"; }

setup() {
	lab_begin
	forward_lab
	# Unused neighbours would go stale, and the kernel would get their packets: these tests look at routes only.
	local i
	for i in 2 3; do
		on n1 ip neigh replace "10.0.$i.2" lladdr "$(mac_of "h$i" eth0)" dev "eth$i" nud permanent
		on n1 ip neigh replace "fd00:0:0:$i::2" lladdr "$(mac_of "h$i" eth0)" dev "eth$i" nud permanent
	done
}

teardown() { lab_end; }

# internet_routes: the Internet's IPv4 prefixes, alternately through h2 and h3, and a default route
internet_routes() {
	xz -dc netns-lab/data/internet-v4.txt.xz |
		awk -v a="$(gateway 4 2)" -v b="$(gateway 4 3)" '$1 == last { next }
			{ last = $1; print "route add " $1 " via " (NR % 2 ? a : b) }
			END { print "route add default via " a }' | on n1 ip -batch -
}

# routes 4|6: prefixes of several lengths, alternately through h2 and h3. A deleted one falls to the default route.
routes() {
	awk -v family="$1" -v a="$(gateway "$1" 2)" -v b="$(gateway "$1" 3)" 'BEGIN {
		for (i = 0; i < 4096; i++) {
			via = i % 2 ? a : b
			high = int(i / 256); low = i % 256
			if (family == 4) {
				printf "route add 100.%d.%d.0/24 via %s\n", 64 + high, low, via
				printf "route add 101.%d.%d.%d/28 via %s\n", high, low, 16 * (i % 16), via
			} else {
				printf "route add 2001:db8:%x::/48 via %s\n", i, via
				printf "route add 2001:db9:%x:%x::/64 via %s\n", high, low, via
			}
		}
		printf "route add default via %s\n", a
	}' | on n1 ip "-$1" -batch -
}

# Prefix and gateway of each route that has one.
kernel_routes() { on n1 ip "-$1" route show | awk '$2 == "via" { print $1, $3 }' | sort; }
mirrored_routes() {
	on n1 build/sluice show routes | awk -v dot="$([ "$1" = 4 ] && echo . || echo :)" \
		'$2 == "via" && index($3, dot) { sub("^(0.0.0.0|::)/0$", "default", $1); sub("/(32|128)$", "", $1); print $1, $3 }' | sort
}
same_routes() { diff <(kernel_routes "$1") <(mirrored_routes "$1") >"$LAB_DIR/difference"; }

# has_all_routes 4|6: as many as the kernel; comparing all of them takes a while
has_all_routes() { [ "$(mirror "ipv$1_routes")" -ge "$(on n1 ip "-$1" -o route show | wc -l)" ]; }

mirror() { on n1 build/sluice -j status | jq ".mirror.$1"; }

# storm_begin 4|6 ENGINE [COMMAND]: traffic to each of the routes that the command makes (default: routes)
storm_begin() {
	router_up n1 "$2" eth1 eth2 eth3
	"${3:-routes}" "$1"
	wait_for 30 has_all_routes "$1"
	wait_for 30 same_routes "$1"
	kernel_routes "$1" >"$LAB_DIR/before"
	grep -v default "$LAB_DIR/before" | cut -d' ' -f1 >"$LAB_DIR/prefixes"
	sink_start other h3
	send_start h1 n1:eth1 h2 --dst-file "$LAB_DIR/prefixes" --rate 20000
}

# Every packet reached one of the two hosts, and the kernel forwarded none.
storm_end() {
	send_stop
	finish other
	local here there ring reason
	here=$(received packets) there=$(report other packets) ring=$(change drops tx-ring)
	echo "sent $(sent), arrived $here and $there, no room at the next device $ring"
	[ "$here" -gt 0 ]
	[ "$there" -gt 0 ]
	[ "$(sent)" = $((here + there + ring)) ]
	[ "$(all_changes drops)" = "$ring" ]
	# The kernel gets its own neighbour discovery and the like, and no packet of the traffic.
	for reason in neighbour no-route overflow; do
		[ "$(change punts $reason)" = 0 ]
	done
	came_whole received
	came_whole other
}

# each_prefix_leads_there 4|6: one packet to each prefix of a gateway reaches the host that has it, and no other.
each_prefix_leads_there() {
	local i n
	for i in 2 3; do
		kernel_routes "$1" | awk -v via="$(gateway "$1" "$i")" '$1 != "default" && $2 == via { print $1 }' >"$LAB_DIR/there"
		n=$(wc -l <"$LAB_DIR/there")
		[ "$n" -gt 3000 ]
		# Of many prefixes, one in so many.
		awk -v step=$(((n + 9999) / 10000)) 'NR % step == 0' "$LAB_DIR/there" >"$LAB_DIR/some"
		n=$(wc -l <"$LAB_DIR/some")
		send h1 n1:eth1 "h$i" --dst-file "$LAB_DIR/some" --count "$n" --rate 100000
		assert_forwarded "$n"
	done
}

@test "a storm of changes in the Internet's table under traffic loses no packet and ends as the kernel has it: IPv4, fast" {
	storm 4 fast internet_routes
	[ "$(wc -l <"$LAB_DIR/prefixes")" -gt 560000 ]
}

@test "a storm of changes under traffic loses no packet and ends as the kernel has it: IPv4, lpm" {
	storm 4 lpm
}

@test "reroute makes no more changes a second than asked, those that restore routes at the end included" {
	routes 4
	on n1 build/lab/reroute --changes 5000 --rate 10000 -j >"$LAB_DIR/reroute.json"
	cat "$LAB_DIR/reroute.json"
	# reroute does not wait after its last batch, of 20.
	jq -e '.changes > 5000 and .seconds >= (.changes - 20) / 10000' "$LAB_DIR/reroute.json"
}

@test "a storm of changes under traffic loses no packet and ends as the kernel has it: IPv6, fast" {
	storm 6 fast
}

# storm 4|6 ENGINE [COMMAND]: as storm_begin
storm() {
	local events
	storm_begin "$@"
	events=$(mirror events)
	on n1 build/lab/reroute --family "$1" --changes $CHANGES -j >"$LAB_DIR/reroute.json"
	wait_for 30 same_routes "$1"
	storm_end
	[ "$(kernel_routes "$1")" != "$(cat "$LAB_DIR/before")" ]
	[ "$(jq .changes "$LAB_DIR/reroute.json")" -ge $CHANGES ]
	[ "$(mirror overruns)" -gt 0 ] || [ $(($(mirror events) - events)) -ge "$(jq .changes "$LAB_DIR/reroute.json")" ]
	each_prefix_leads_there "$1"
}

# small_buffers PID: let the netlink sockets of a process hold few events. A sender yields its processor
# for each event while a socket is more than half full, which takes for ever on a busy machine.
small_buffers() {
	/usr/bin/python3 - "$1" <<-'END'
		import ctypes, os, socket, sys
		SYS_PIDFD_GETFD, SO_RCVBUFFORCE = 438, 33
		pid, libc, n = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True), 0
		process = os.pidfd_open(pid)
		for fd in os.listdir(f"/proc/{pid}/fd"):
		    if not os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"):
		        continue
		    with socket.socket(fileno=libc.syscall(SYS_PIDFD_GETFD, process, int(fd), 0)) as s:
		        if s.family == socket.AF_NETLINK:
		            s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 18)
		            n += 1
		sys.exit(0 if n else "no netlink socket")
	END
}

@test "a dump makes up for events lost in a storm, and packets flow on" {
	storm_begin 4 fast
	kill -STOP "$(cat "$LAB_DIR/sluiced-n1.pid")"
	small_buffers "$(cat "$LAB_DIR/sluiced-n1.pid")"
	on n1 build/lab/reroute --changes 40000
	kill -CONT "$(cat "$LAB_DIR/sluiced-n1.pid")"
	wait_for 30 same_routes 4
	storm_end
	[ "$(mirror overruns)" -gt 0 ]
	[ "$(mirror resyncs)" -gt 0 ]
	[ "$(mirror resync_changes)" -gt 0 ]
	each_prefix_leads_there 4
}
