#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# BGP flow specifications: BIRD on h1 announces them to BIRD on n1, and `sluice filter flowspec` keeps a
# filter list in step with n1's tables. Some 20 seconds.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

setup() {
	load router
	router_up
	sessions
	daemon
	warm_up
}

teardown() { lab_end; }

# bird NODE: on $LAB_DIR/bird-NODE.conf
bird() { spawn "$1" "bird-$1" /usr/sbin/bird -f -c "$LAB_DIR/bird-$1.conf" -s "$LAB_DIR/bird-$1.ctl"; }
birdc() { on "$1" /usr/sbin/birdc -s "$LAB_DIR/bird-$1.ctl" "${@:2}"; }

# sessions: BGP between h1 and n1 for flow4 and flow6, up; what h1 announces comes by `announce`
sessions() {
	: >"$LAB_DIR/flows4"
	: >"$LAB_DIR/flows6"
	cat >"$LAB_DIR/bird-n1.conf" <<-END
		log stderr { warning, error, fatal, bug };
		router id 10.0.1.1;
		flow4 table flow4tab;
		flow6 table flow6tab;
		protocol device {}
		protocol bgp outside {
			local 10.0.1.1 as 65000; neighbor 10.0.1.2 as 65001;
			connect delay time 1; connect retry time 1; error wait time 1, 2;
			flow4 { table flow4tab; import all; export none; validate off; };
			flow6 { table flow6tab; import all; export none; validate off; };
		}
	END
	cat >"$LAB_DIR/bird-h1.conf" <<-END
		log stderr { warning, error, fatal, bug };
		router id 10.0.1.2;
		flow4 table flow4tab;
		flow6 table flow6tab;
		protocol device {}
		protocol static flows4 {
			flow4 { table flow4tab; };
			include "$LAB_DIR/flows4";
		}
		protocol static flows6 {
			flow6 { table flow6tab; };
			include "$LAB_DIR/flows6";
		}
		protocol bgp inside {
			local 10.0.1.2 as 65001; neighbor 10.0.1.1 as 65000;
			connect delay time 1; connect retry time 1; error wait time 1, 2;
			flow4 { table flow4tab; import none; export all; };
			flow6 { table flow6tab; import none; export all; };
		}
	END
	bird n1
	bird h1
	established() { birdc n1 show protocols outside | grep -q Established; }
	wait_for 30 established
}

DISCARD='{ bgp_ext_community.add((generic, 0x80060000, 0x0)); }'
MARK='{ bgp_ext_community.add((generic, 0x80090000, 0x2e)); }'

# announce FLOW4 FLOW6: h1 has these routes from now on, and no others
announce() {
	echo "$1" >"$LAB_DIR/flows4"
	echo "$2" >"$LAB_DIR/flows6"
	birdc h1 configure | grep -q Reconfigured
}

# follow: keep the list `dos` of eth1 in step
follow() {
	spawn n1 flowspec build/sluice filter flowspec dos flow4tab flow6tab "socket=$LAB_DIR/bird-n1.ctl" ports=eth1 every=200ms
}

# in_force N: the list has so many rules
in_force() { [ "$(sluice -j filter list dos 2>/dev/null | jq '.filters[0].rules | length')" = "$1" ]; }

# catch: what comes to h2 of UDP from now on; caught PORT: its DSCPs, for that destination port
catch() {
	spawn h2 caught tcpdump -i eth0 -Q in -U -w - udp
	listening() { grep -q "listening on" "$LAB_DIR/caught.err"; }
	wait_for 10 listening
}
caught() {
	tcpdump -r "$LAB_DIR/caught.out" -n -v "udp dst port $1" 2>/dev/null |
		sed -n 's/.*tos 0x\([0-9a-f]*\),.*/\1/p; s/.*class 0x\([0-9a-f]*\),.*/\1/p; s/.*IP6 (flowlabel.*/0/p; s/.*IP6 (hlim.*/0/p'
}
# datagrams PORT: one of each family to h2
datagrams() {
	on h1 socat -u SYSTEM:'echo 1' "UDP4:10.0.2.2:$1"
	on h1 socat -u SYSTEM:'echo 1' "UDP6:[fd00:2::2]:$1"
}

@test "what a neighbour announces is in force, the rest passes, and what it withdraws is forwarded again" {
	follow
	wait_for 20 in_force 0
	catch
	datagrams 53
	announce "route flow4 { dst 10.0.2.0/24; proto = 17; dport = 53 || 123..124; } $DISCARD;" \
		"route flow6 { dst fd00:2::/64; next header = 17; dport = 53; } $DISCARD;"
	wait_for 20 in_force 2
	accounts_open
	datagrams 53
	datagrams 7000
	dropped() { [ "$(change drops filter)" = 2 ]; }
	wait_for 10 dropped
	[ "$(sluice -j show filters | jq -c '[.[] | select(.list == "dos" and .rule != null).packets]')" = "[1,1]" ]
	announce "" ""
	wait_for 20 in_force 0
	datagrams 53
	datagrams 7001
	both() { [ "$(caught "$1" | wc -l)" = 2 ]; }
	wait_for 10 both 7001
	both 7000
	[ "$(caught 53 | wc -l)" = 4 ]
}

@test "the more special one counts, whatever the order of arrival, and what rules cannot say is named" {
	follow
	announce "route flow4 { dst 10.0.2.0/24; proto = 17; } $DISCARD;
		route flow4 { dst 10.0.2.2/32; proto = 17; dport = 7000; } $MARK;
		route flow4 { dst 10.0.2.2/32; fragment dont_fragment; } $DISCARD;" \
		"route flow6 { dst fd00:2::/64; next header = 17; } $DISCARD;
		route flow6 { dst fd00:2::2/128; next header = 17; dport = 7000; } $MARK;"
	wait_for 20 in_force 4
	named() { grep -qF "not installed: flow4 { dst 10.0.2.2/32; fragment dont_fragment; }: it asks for the flag DF" "$LAB_DIR/flowspec.err"; }
	wait_for 10 named
	catch
	accounts_open
	datagrams 7001
	datagrams 7000
	dropped() { [ "$(change drops filter)" = 2 ]; }
	wait_for 10 dropped
	both() { [ "$(caught 7000 | wc -l)" = 2 ]; }
	wait_for 10 both
	[ "$(caught 7000 | sort -u)" = b8 ]
	[ "$(caught 7001 | wc -l)" = 0 ]
}

@test "a list stays in force while BIRD is away, and follows it when it is back" {
	follow
	announce "route flow4 { dst 10.0.2.0/24; proto = 17; dport = 53; } $DISCARD;" ""
	wait_for 20 in_force 1
	kill "$(cat "$LAB_DIR/bird-n1.pid")"
	away() { grep -q "cannot ask BIRD" "$LAB_DIR/flowspec.err"; }
	wait_for 20 away
	in_force 1
	[ "$(grep -c "cannot ask BIRD" "$LAB_DIR/flowspec.err")" -le 2 ]
	bird n1
	# Before its session is up again it has no routes, and neither has the list.
	wait_for 20 in_force 0
	wait_for 30 in_force 1
	# Without `every` the lists are printed, and nothing changes.
	[ "$(sluice filter flowspec once flow4tab "socket=$LAB_DIR/bird-n1.ctl" | jq -c '[.filters[] | [.name, (.rules | length)]]')" = '[["once",1]]' ]
	run ! sluice filter list once
	run -1 sluice filter flowspec once nosuchtable "socket=$LAB_DIR/bird-n1.ctl"
	[[ $output == *"table nosuchtable: "* ]]
}
