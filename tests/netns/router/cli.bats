#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The command sluice shows what the kernel has and the packets did, in words and in JSON.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

setup_file() {
	load router
	router_up
	on n1 ip route add 10.9.0.0/16 via 10.0.2.2 metric 7 proto bird
	on n1 ip route add 10.9.0.0/16 via 10.0.1.2 metric 9
	on n1 ip route add 10.8.0.0/16 nexthop via 10.0.2.2 weight 1 nexthop via 10.0.1.2 weight 3
	on n1 ip route add blackhole 10.7.0.0/16
	on n1 ip route add unreachable 10.6.0.0/16
	on n1 ip route add 10.0.0.0/9 via 10.0.1.2
	on n1 ip route add fd09::/32 via fd00:2::2 proto static
	daemon
	warm_up
	on n1 ping -c 1 -W 60 10.0.1.2
	export CONFIG DAEMON
}

teardown_file() {
	load router
	lab_end
}

setup() { load router; }

# The counters that the daemon shows add up.
conserved() { sluice -j status | jq -e '.packets | .rx == .forward + .drops + .punts'; }

@test "show routes: prefix, gateway, device, protocol and metric are those of ip route" {
	run --separate-stderr sluice show routes 10.9.0.0/16
	[ "$output" = "10.9.0.0/16 via 10.0.2.2 dev eth2 proto bird metric 7
10.9.0.0/16 via 10.0.1.2 dev eth1 proto boot metric 9 (not installed)" ]
	run --separate-stderr sluice show routes 10.8.0.0/16
	[ "${lines[0]}" = "10.8.0.0/16 proto boot" ]
	[ "$(printf '%s\n' "${lines[@]:1}" | sort)" = "	nexthop via 10.0.1.2 dev eth1 weight 3
	nexthop via 10.0.2.2 dev eth2 weight 1" ]
	[ "$(sluice show routes 10.7.0.0/16)" = "blackhole 10.7.0.0/16 proto boot" ]
	[ "$(sluice show routes 10.6.0.0/16)" = "unreachable 10.6.0.0/16 proto boot" ]
	[ "$(sluice show routes fd09::/32)" = "fd09::/32 via fd00:2::2 dev eth2 proto static metric 1024" ]
	[ "$(sluice show routes 10.0.1.1)" = "local 10.0.1.1/32 table local proto kernel" ]
}

@test "show routes: every prefix of the kernel's main table is there, and no other" {
	ours() { sluice -j show routes | jq -r --arg f "$1" '.[] | select(.table == "main" and (.prefix | contains($f))) | .prefix'; }
	theirs() { on n1 ip -j "$1" route show table main | jq -r --arg host "$2" '.[].dst | if contains("/") then . else . + $host end'; }
	[ "$(ours . | sort)" = "$(theirs -4 /32 | sort)" ]
	[ "$(ours : | sort)" = "$(theirs -6 /128 | sort)" ]
}

@test "show routes PREFIX lists the routes within it, and no other" {
	[ "$(sluice -j show routes 10.0.0.0/13 | jq -r '[.[].prefix] | unique | join(" ")')" = \
		"10.0.1.0/24 10.0.1.1/32 10.0.1.255/32 10.0.2.0/24 10.0.2.1/32 10.0.2.255/32 10.6.0.0/16 10.7.0.0/16" ]
	[ "$(sluice -j show routes 192.0.2.0/24)" = "[]" ]
}

# explains ADDRESS FILTER EXPECTED
explains() {
	local got
	got=$(sluice -j explain "$1" | jq -rc "$2")
	echo "$1: $got"
	[ "$got" = "$3" ]
}

@test "explain: verdict, route and next hop of each kind" {
	local h1 h2
	h1=$(mac_of h1 eth0)
	h2=$(mac_of h2 eth0)
	filter='[.verdict, .route.prefix, .nexthop.kind, .nexthop.port, .nexthop.mac, .nexthop.reason]'
	explains 10.9.1.1 "$filter" "[\"forward\",\"10.9.0.0/16\",\"forward\",\"eth2\",\"$h2\",null]"
	explains 10.0.1.2 '.entry' 10.0.1.2/32
	explains 10.0.1.2 "$filter" "[\"forward\",\"10.0.1.0/24\",\"forward\",\"eth1\",\"$h1\",null]"
	explains fd09::1 "$filter" "[\"forward\",\"fd09::/32\",\"forward\",\"eth2\",\"$h2\",null]"
	explains 10.8.1.1 "$filter" '["forward","10.8.0.0/16","group",null,null,null]'
	explains 10.8.1.1 '[.nexthop.members[] | [.port, .weight, .buckets]] | sort' '[["eth1",3,96],["eth2",1,32]]'
	explains 10.7.1.1 "$filter" '["drop","10.7.0.0/16","drop",null,null,"blackhole"]'
	explains 10.6.1.1 "$filter" '["kernel","10.6.0.0/16","punt",null,null,"unreachable"]'
	explains 10.0.1.1 "$filter" '["kernel","10.0.1.1/32","punt",null,null,"local"]'
	explains 10.0.2.255 '[.verdict, .nexthop.reason]' '["kernel","multicast"]'
	explains 10.0.2.77 '[.verdict, .nexthop.reason]' '["kernel","neighbour"]'
	explains 192.0.2.1 "$filter" '["kernel",null,"none",null,null,"no-route"]'
}

@test "explain prints words" {
	run --separate-stderr sluice explain 10.9.1.1
	[ "${lines[0]}" = "address    10.9.1.1" ]
	[ "${lines[2]}" = "route      10.9.0.0/16 via 10.0.2.2 dev eth2 proto bird metric 7" ]
	[[ ${lines[3]} = "next hop   "*": 10.0.2.2, port eth2, $(mac_of n1 eth2) -> $(mac_of h2 eth0), MTU 1500" ]]
	[[ ${lines[4]} = "verdict    forward: "* ]]
}

@test "show neighbours lists those of ip neigh, and those that routes need" {
	on n1 ip -6 neigh show nud noarp | grep -q ff02:
	ours() { sluice -j show neighbours | jq -r '.[] | select(.state != "NONE") | "\(.dev) \(.address)"' | sort; }
	theirs() { on n1 ip -j neigh show | jq -r '.[] | "\(.dev) \(.dst)"' | sort; }
	same() { [ "$(ours)" = "$(theirs)" ]; }
	wait_for 5 same
	# A neighbour that does not answer has no MAC address.
	on n1 ip route add 10.5.0.0/16 via 10.0.1.77
	wanted() { sluice -j show neighbours | jq -e 'any(.[]; .address == "10.0.1.77" and .mac == null)'; }
	wait_for 5 wanted
	on n1 ip route del 10.5.0.0/16
}

@test "show neighbours and nexthops print tables" {
	[ "$(sluice -j show neighbours | jq -r '.[] | select(.address == "10.0.2.2") | .dev + " " + .mac')" = \
		"eth2 $(mac_of h2 eth0)" ]
	[ "$(sluice -j show nexthops | jq -r '[.[] | select(.via == "10.0.2.2" and .kind == "forward")][0].mac')" = "$(mac_of h2 eth0)" ]
}

@test "show ports: the link of a port that is unplugged is down, until it is plugged in again" {
	link_is() { [ "$(sluice -j show ports | jq -r '.[] | select(.port == "eth3").up')" = "$1" ] && sluice show ports | grep -qE "^eth3 +on +[a-z]+ +$2 "; }
	link n1:eth3 h1:eth3
	sluice attach eth3
	wait_for 10 link_is true up
	on h1 ip link set eth3 down
	wait_for 10 link_is false down
	on h1 ip link set eth3 up
	wait_for 10 link_is true up
	on n1 ip link set eth3 down
	wait_for 10 link_is false down
	sluice detach eth3
	on n1 ip link del eth3
}

@test "show ports has the netdev's own MAC, MTU and index" {
	run --separate-stderr sluice show ports
	[ "${lines[0]}" = "port  state  mode    link  sends  ifindex   mtu  mac                drops  by" ]
	[ "$(sluice -j show ports | jq -r '.[0] | "\(.port) \(.mac) \(.mtu_bytes) \(.ifindex)"')" = \
		"eth1 $(mac_of n1 eth1) 1500 $(on n1 cat /sys/class/net/eth1/ifindex)" ]
}

@test "counters: a reason counts the packets given to the kernel for it, and show drops hides reasons that never occurred" {
	local before
	before=$(reason punt no-route)
	on h1 ping -c 3 -i 0.01 -W 1 192.0.2.1 || :
	[ "$(reason punt no-route)" = $((before + 3)) ]
	run --separate-stderr sluice show drops
	[[ $output = *"punt no-route "* ]]
	[[ $output != *"punt encap "* ]]
	run --separate-stderr sluice show drops --all
	[[ $output = *"punt encap "* ]]
	# each reason in the header has a row
	[ "$(sluice -j show drops | jq length)" = \
		"$(sed -n '/^#define SL_DROP_REASONS/,/^#define SL_ENUM/p' bpf/abi/reasons.h | grep -cE '^	X\(')" ]
	wait_for 5 conserved
}

@test "a source that is an address of the router: with rp_filter 2 it goes to the kernel, which drops it" {
	local sent=10
	pretend() {
		gen pretended h1 n1:eth1 --src "$1" --dst 10.0.2.2 --count $sent --rate 1000
		wait_for 10 conserved
	}
	# How many datagrams reached h2, where no port is open for them.
	arrived() { on h2 awk '$1 == "Udp:" && $2 ~ /^[0-9]/ { print $3 }' /proc/net/snmp; }
	all_arrived() { [ "$(arrived)" = "$1" ]; }
	rp_filter_is() { on n1 sysctl -qw "net.ipv4.conf.eth1.rp_filter=$1"; }
	filtered=$(reason punt rp-filter) forwarded=$(counter forward)
	# More packets are forwarded if h2 answers that the port is closed.
	counted() { [ "$(reason punt rp-filter)" = "$((filtered + $1))" ] && [ "$(counter forward)" -ge "$((forwarded + $2))" ]; }
	pretend 10.0.2.1
	wait_for 10 counted 0 $sent
	rp_filter_is 2
	# Packets are forwarded until the daemon has seen the change.
	followed() { pretend 10.0.2.1 && [ "$(reason punt rp-filter)" -gt "$filtered" ]; }
	wait_for 10 followed
	filtered=$(reason punt rp-filter) forwarded=$(counter forward) before=$(arrived)
	pretend 10.0.1.2
	wait_for 10 counted 0 $sent
	wait_for 10 all_arrived $((before + sent))
	pretend 10.0.2.1
	wait_for 10 counted $sent $sent
	pretend 10.0.1.2
	wait_for 10 all_arrived $((before + 2 * sent))
	rp_filter_is 0
}

@test "attach and detach change a port at once, and refuse a name that is no netdev or no port" {
	[ "$(sluice detach eth2)" = "eth2: detached" ]
	[ "$(xdp_program eth2)" = none ]
	[ "$(sluice attach eth2)" = "eth2: attached" ]
	[ "$(xdp_program eth2)" = sl_edge_bound ]
	run --separate-stderr sluice attach eth7
	[ "$status" -eq 1 ]
	[ "$stderr" = 'sluice: "eth7" is not a netdev here: write one that `ip link` shows' ]
	run --separate-stderr sluice detach lo
	[ "$status" -eq 1 ]
	[ "$stderr" = 'sluice: "lo" is not a port of the fast path: write one that `sluice show ports` shows' ]
	wait_for 5 fast_path_to 10.0.2.2
}

@test "bad arguments end with status 2 and a line that says what would be right" {
	while IFS='|' read -r arguments expected; do
		# shellcheck disable=SC2086
		run --separate-stderr sluice $arguments
		echo "$arguments: $status $stderr"
		[ "$status" -eq 2 ]
		[ "${stderr%%$'\n'*}" = "sluice: $expected" ]
	done <<-'LIST'
		explain|explain: write one IPv4 or IPv6 address
		explain 10.0.0.300|"10.0.0.300" is not an IPv4 or IPv6 address
		show|show what?: write ports, routes [PREFIX], nexthops, neighbours, filters, counters, drops, system-ports, peers, voqs, express, egress-queues, delay, busy, fabric or cc
		show colours|show colours: write ports, routes [PREFIX], nexthops, neighbours, filters, counters, drops, system-ports, peers, voqs, express, egress-queues, delay, busy, fabric or cc
		show routes 10.0.0.1/8|"10.0.0.1/8" is not a prefix: write an address, or one with /LENGTH and no bits set beyond it
		attach|attach: write one port, such as eth1
		status now|status: unexpected argument "now"
		-w 0 status|-w: "0" is not a time: write seconds, 0.1 to 3600
		-w 1s status|-w: "1s" is not a time: write seconds, 0.1 to 3600
		reboot|"reboot" is not a command
	LIST
}

@test "every command has its help, and every list is valid JSON" {
	local command what
	for command in status show top capture trace explain filter reserve element flow attach detach cc web cluster check; do
		run --separate-stderr sluice $command --help
		[ "$status" -eq 0 ]
		[[ ${lines[0]} = "Usage: sluice [OPTION]... $command"* ]]
	done
	for what in ports routes nexthops neighbours filters counters drops; do
		[ "$(sluice --json show $what | jq -r type)" = array ]
	done
	[ "$(sluice --json status | jq -r .running)" = true ]
	[ "$(sluice --version)" = "sluice $(cat VERSION)" ]
}

@test "output that does not fit the disk ends with status 1" {
	local arguments
	while read -r arguments; do
		# shellcheck disable=SC2086
		run sluice $arguments >/dev/null
		echo "$arguments: $status"
		[ "$status" -eq 0 ]
		# shellcheck disable=SC2016,SC2086
		run on n1 sh -c 'exec build/sluice "$@" >/dev/full' sh $arguments
		[ "$status" -eq 1 ]
		[ "$output" = "sluice: standard output did not take the whole answer: is its disk full?" ]
	done <<-'LIST'
		status
		show routes
		-j show routes
		show drops
		explain 10.9.1.1
		cc list
		-b -n 1 -d 0.1 top
		--help
		--version
	LIST
	for arguments in "sluiced --help" "sluiced --version" "sluice-bridge --help" "sluice-bridge --version" "sluiced --check --config $CONFIG" "cc-sim --help" "cc-sim --list"; do
		on n1 sh -c "exec build/$arguments" >/dev/null
		run on n1 sh -c "exec build/$arguments >/dev/full"
		echo "$arguments: $status: $output"
		[ "$status" -eq 1 ]
		[[ "$output" == "${arguments%% *}: standard output did not take "* ]]
	done
}

@test "check says ok, or the one line that is wrong" {
	[ "$(sluice check "$CONFIG")" = "$CONFIG: ok" ]
	echo "ports: 1" >"$LAB_DIR/bad.yaml"
	run --separate-stderr sluice check "$LAB_DIR/bad.yaml"
	[ "$status" -eq 2 ]
	[ "$stderr" = "sluice: $LAB_DIR/bad.yaml:1: ports: \"1\" is not a list: write one item a line, each after \"- \"" ]
	[ "$(sluice -j check "$LAB_DIR/bad.yaml" | jq .ok)" = false ]
}

@test "a user who may not connect gets a line that says so" {
	run --separate-stderr on n1 setpriv --reuid 65534 --regid 65534 --clear-groups build/sluice status
	[ "$status" -eq 1 ]
	[ "$stderr" = 'sluice: you may not use "/run/sluice/sluiced.sock": be root, or of its group' ]
}

@test "a daemon that is stopped: every command says so, and none waits for it for ever" {
	local arguments
	kill -STOP "$DAEMON"
	while read -r arguments; do
		# shellcheck disable=SC2086
		run --separate-stderr timeout 60 nsenter --target "$(holder_of n1)" --net --mount --wdns="$PWD" -- \
			build/sluice --wait 0.2 $arguments
		echo "$arguments: $status $output $stderr"
		[ "$status" -eq 1 ]
		[ -z "$output" ] || [ "$output" = '{"ok": false}' ]
		[ "$stderr" = 'sluice: sluiced does not answer at "/run/sluice/sluiced.sock" within 0.2 s: it is starting, stopped or'\
' hung; see its log and `ps`, or wait longer with -w' ]
	done <<-'LIST'
		status
		-j status
		show routes
		-j show routes
		show drops
		-j show counters
		show peers
		explain 10.9.1.1
		attach eth2
		-j detach eth2
	LIST
	# So many clients wait before that the request is not even sent.
	for _ in {1..40}; do
		run --separate-stderr sluice -w 0.1 status
		[ "$status" -eq 1 ]
	done
	run sluice -w 0.2 -b -n 1 -d 0.1 top
	[ "$status" -eq 3 ]
	[[ $output = *"sluiced does not answer"* ]]
	kill -CONT "$DAEMON"
	wait_for 10 conserved
	port_is eth2 on # the daemon drops the requests of clients that have gone
}

# Last, since it ends the daemon.
@test "without a daemon status says what still runs, counters come from the pins, other commands exit with 3" {
	local before
	before=$(counter rx)
	kill -KILL "$DAEMON"
	wait_for 5 daemon_gone
	run --separate-stderr sluice status
	[ "$status" -eq 3 ]
	[[ ${lines[0]} =~ ^"sluiced    is not running; the fast path goes on with the routes it had for "[0-9]+" s"$ ]]
	[ "${lines[1]}" = "ports      eth1 native, eth2 native" ]
	[ "$(counter rx)" -ge "$before" ]
	# Only root may know whose programs are on the ports. A daemon that ends in order leaves no socket.
	on n1 rm /run/sluice/sluiced.sock
	nobody() { on n1 setpriv --reuid 65534 --regid 65534 --clear-groups build/sluice "$@"; }
	run -3 nobody status
	[ "${lines[0]}" = "sluiced    is not running; only root may know whose XDP programs are on the ports" ]
	[ ${#lines[@]} = 1 ]
	[ "$(nobody -j status | jq -c '[.running, .ports]')" = "[false,null]" ]
	run --separate-stderr sluice show routes
	[ "$status" -eq 3 ]
	[ "$stderr" = 'sluice: sluiced is not running: nothing listens at "/run/sluice/sluiced.sock"' ]
}
