#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# sluiced as an operator sees it: start, ports that come and go, full tables.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

setup() {
	load router
	router_up
}

teardown() { lab_end; }

@test "start: every port carries the program, one complete set of pins, and the service manager is told" {
	spawn n1 manager socat -u "UNIX-RECV:$LAB_DIR/notify" STDOUT
	wait_for 5 test -S "$LAB_DIR/notify"
	NOTIFY_SOCKET=$LAB_DIR/notify daemon
	[ "$(xdp_program eth1)" = sl_edge_bound ]
	[ "$(xdp_program eth2)" = sl_edge_bound ]
	[ "$(pins)" = "$(published)" ]
	wait_for 5 grep -q READY=1 "$LAB_DIR/manager.out"
}

@test "every packet of both families takes the fast path" {
	daemon
	warm_up
	local address
	for address in 10.0.2.2 fd00:2::2; do
		send h1 n1:eth1 h2 --dst "$address" --flows 16 --count 2000 --rate 20000
		assert_forwarded 2000
	done
}

@test "a second daemon on the node refuses to start, names the first one's process, and changes nothing" {
	daemon
	run_daemon --config "$CONFIG"
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluiced: error: another sluiced runs in this network namespace: process $DAEMON" ]
	daemon_ready
	[ "$(pins)" = "$(published)" ]
	port_is eth1 on
}

@test "each network namespace of a host has its daemon, and none takes the maps of another" {
	local pid
	daemon
	on n1 ip netns add other
	on n1 ip link add x1 netns other type veth peer name x2 netns other
	other() { on n1 nsenter --net=/run/netns/other timeout $((10 * ${LAB_PATIENCE:-1})) build/sluiced --config "$LAB_DIR/other.yaml"; }
	printf '%s\n' "control: {socket: $LAB_DIR/other.sock}" "ports: [{name: x1}]" >"$LAB_DIR/other.yaml"
	run other
	[ "$status" -eq 1 ]
	[ "$output" = "sluiced: error: pin_dir \"/sys/fs/bpf/sluice\" is that of another sluiced, process $DAEMON: give each its own pin_dir and control socket" ]
	echo "pin_dir: /sys/fs/bpf/other" >>"$LAB_DIR/other.yaml"
	spawn n1 other nsenter --net=/run/netns/other build/sluiced --config "$LAB_DIR/other.yaml"
	pid=$SPAWNED
	wait_for 10 grep -q ready "$LAB_DIR/other.err"
	# A reload may not move to maps that are in use either.
	configure "pin_dir: /sys/fs/bpf/other"
	kill -HUP "$DAEMON"
	wait_for 5 log_says 'pin_dir "/sys/fs/bpf/other" is that of another sluiced'
	[ "$(pins | grep ^sluice)" = "$(published)" ]
	kill "$pid"
	await_end other
	kill -HUP "$DAEMON"
	wait_for 10 log_says "reloaded"
	configure
	on n1 ip netns del other
}

@test "the capabilities of the service unit are enough, and it adopts its own earlier life" {
	[ "CapabilityBoundingSet=CAP_BPF CAP_PERFMON CAP_NET_ADMIN CAP_NET_RAW CAP_CHOWN" = "$(grep ^Capab dist/sluiced.service)" ]
	start() {
		spawn n1 sluiced setpriv --bounding-set -all,+bpf,+perfmon,+net_admin,+net_raw,+chown --inh-caps=-all --no-new-privs \
			build/sluiced --config "$CONFIG"
		DAEMON=$SPAWNED
		wait_for 10 daemon_ready
	}
	start
	[ "$(wc -l <"$LAB_DIR/sluiced.err")" = 3 ]
	daemon_end KILL
	start
	port_is eth1 on
	port_is eth2 on
	[ "$(wc -l <"$LAB_DIR/sluiced.err")" = 3 ]
}

@test "without the tracing programs it routes, and says which counter is missing" {
	mkdir "$LAB_DIR/lib"
	cp build/sluice.bpf.o "$LAB_DIR/lib"
	daemon --object "$LAB_DIR/lib/sluice.bpf.o"
	log_says "frames that an egress driver refuses are counted by that driver only"
	warm_up
	on n1 test ! -e /sys/fs/bpf/sluice/sl_tx_batch
}

@test "where programs for frames of several buffers do not load, the plain one runs, and the log says so" {
	mkdir "$LAB_DIR/lib"
	# Such a kernel refuses these programs; here they are missing from the object.
	configure
	sed -i 's/- name: \(.*\)/- {name: \1, hidden_tags: ignore}/' "$CONFIG"
	sed 's/sl_edge_frags/sl_other/; s/sl_edge_bound/sl_third/' bpf/sluice.bpf.c >"$LAB_DIR/plain.bpf.c"
	clang -target bpf -mcpu=v3 -O2 -g -I. "-I/usr/include/$(uname -m)-linux-gnu" -Wno-address-of-packed-member \
		-c "$LAB_DIR/plain.bpf.c" -o "$LAB_DIR/lib/sluice.bpf.o"
	cp build/txdrops.bpf.o "$LAB_DIR/lib"
	daemon --object "$LAB_DIR/lib/sluice.bpf.o"
	[ "$(xdp_program eth1)" = sl_edge ]
	log_says "this kernel does not load XDP programs for frames of several buffers"
	[ "$(sluice -j status | jq .frags)" = false ]
	warm_up
}

# --- Ports ----------------------------------------------------------------------------------------------

@test "a port that vanishes and returns is attached again, and forwards" {
	daemon
	warm_up
	on h2 ip link del dev eth0
	wait_for 5 port_is eth2 absent
	port_is eth1 on
	plug 2
	default_routes 2
	wait_for 5 port_is eth2 on
	warm_up
}

@test "a port that is renamed is no port until it is renamed back" {
	daemon
	on n1 ip link set dev eth2 down
	on n1 ip link set dev eth2 name other
	wait_for 5 port_is eth2 absent
	[ "$(xdp_program other)" = none ]
	on n1 ip link set dev other name eth2
	wait_for 5 port_is eth2 on
	[ "$(xdp_program eth2)" = sl_edge_bound ]
}

@test "an optional port may come later" {
	configure
	printf '%s\n' "  - name: eth3" "    optional: true" >>"$CONFIG"
	daemon
	port_is eth3 absent
	host_up h3
	link n1:eth3 h3:eth0
	wait_for 5 port_is eth3 on
	[ "$(xdp_program eth3)" = sl_edge_bound ]
}

@test "after xdp off by hand the port stays with the kernel, until attach puts the fast path back" {
	daemon
	warm_up
	on n1 ip link set dev eth1 xdp off
	wait_for 5 port_is eth1 off
	wait_for 5 log_says 'eth1: someone took the fast path off; `sluice attach eth1` puts it back'
	wait_for 10 reaches 10.0.2.2
	[ "$(xdp_program eth1)" = none ]
	sluice attach eth1
	port_is eth1 on
	warm_up
}

@test "another's XDP program is not replaced; its port is attached once the program is gone" {
	cat >"$LAB_DIR/other.bpf.c" <<-C
		#include <linux/bpf.h>
		#include <bpf/bpf_helpers.h>
		SEC("xdp") int other(struct xdp_md *ctx) { return XDP_PASS; }
	C
	clang -target bpf -O2 -g "-I/usr/include/$(uname -m)-linux-gnu" -c "$LAB_DIR/other.bpf.c" -o "$LAB_DIR/other.bpf.o"
	on n1 ip link set dev eth1 xdp obj "$LAB_DIR/other.bpf.o" section xdp
	daemon
	port_is eth1 refused
	port_is eth2 on
	[ "$(xdp_program eth1)" = other ]
	log_says 'eth1: another XDP program, "other" (id '
	run --separate-stderr sluice attach eth1
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice: eth1: another XDP program is attached; if it may go: ip link set dev eth1 xdp off" ]
	[ "$(xdp_program eth1)" = other ]
	wait_for 10 reaches 10.0.2.2
	on n1 ip link set dev eth1 xdp off
	wait_for 5 port_is eth1 on
	[ "$(xdp_program eth1)" = sl_edge_bound ]
}

@test "where the driver takes no redirected frames the kernel sends, and the log says so" {
	daemon
	warm_up
	on h2 ethtool -K eth0 gro off
	sends() { [ "$(sluice -j show ports | jq '.[] | select(.port == "eth2").transmits')" = "$1" ]; }
	wait_for 5 sends false
	wait_for 5 log_says "eth2: the driver takes no redirected frames now"
	local before
	before=$(reason punt not-a-port)
	on h1 ping -c 1 -W 30 10.0.2.2
	[ "$(reason punt not-a-port)" = $((before + 1)) ]
	# The log says it once, not every second.
	local uptime
	uptime=$(sluice -j status | jq .uptime_s)
	older() { [ "$(sluice -j status | jq .uptime_s)" -ge $((uptime + 3)) ]; }
	wait_for 10 older
	[ "$(grep -c "takes no redirected frames now" "$LAB_DIR/sluiced.err")" = 1 ]
	on h2 ethtool -K eth0 gro on
	wait_for 5 sends true
}

@test "generic mode, when the configuration asks for it" {
	printf '%s\n' "ports:" "  - {name: eth1, mode: generic, hidden_tags: ignore}" "  - {name: eth2, mode: native}" >"$CONFIG"
	daemon
	[ "$(sluice -j show ports | jq -r 'map(.mode) | join(" ")')" = "generic native" ]
	warm_up
}

# --- Tables -----------------------------------------------------------------------------------------------------

@test "in a table that is too small, routes that fit stay right, the others go to the kernel, and the log says so once" {
	configure "tables: {ipv4_routes: 16}"
	daemon
	warm_up
	local i
	# each takes a record of its own: more of them than the pages of the smallest table have units
	of() { echo "10.$((20 + $1 / 200)).$(($1 % 200))"; }
	awk 'BEGIN { for (i = 1; i <= 2400; i++) printf "route add 10.%d.%d.128/25 via 10.0.2.2\n", 20 + i / 200, i % 200 }' |
		on n1 ip -batch -
	overflow() { sluice -j status | jq .tables.ipv4_overflow; }
	overflows() { [ "$(overflow)" -gt 0 ]; }
	wait_for 5 overflows
	wait_for 5 log_says "IPv4 and 0 IPv6 routes do not fit the tables"
	[ "$(sluice -j explain 10.0.2.2 | jq -r .verdict)" = forward ]
	# the last to come find no room, but for one now and then that gets what another left
	i=2400
	while [ "$(sluice -j explain "$(of "$i").200" | jq -r '.verdict + " " + .nexthop.reason')" != "kernel overflow" ]; do
		[ $((--i)) -gt 1200 ]
	done
	[ "$(sluice -j explain "$(of "$i").200" | jq -r .route.prefix)" = "$(of "$i").128/25" ]
	awk 'BEGIN { for (j = 1; j <= 1200; j++) printf "route del 10.%d.%d.128/25\n", 20 + j / 200, j % 200 }' |
		on n1 ip -batch -
	fits() { [ "$(overflow)" = 0 ]; }
	wait_for 5 fits
	wait_for 5 log_says "every route fits the tables again"
	[ "$(sluice -j explain "$(of "$i").200" | jq -r .verdict)" = forward ]
	[ "$(grep -c 'do not fit' "$LAB_DIR/sluiced.err")" = 1 ]
}

@test "the control socket has the permissions of the configuration" {
	printf '%s\n' "control: {mode: \"0600\", group: daemon}" "ports: [{name: eth1}]" >"$CONFIG"
	daemon
	[ "$(on n1 stat -c '%a %G' /run/sluice/sluiced.sock)" = "600 daemon" ]
	sed -i s/0600/0666/ "$CONFIG"
	kill -HUP "$DAEMON"
	wait_for 5 log_says reloaded
	[ "$(on n1 stat -c '%a %G' /run/sluice/sluiced.sock)" = "666 daemon" ]
}

# --- Log --------------------------------------------------------------------------------------------------------

# journald: systemd's, in n1's mount namespace, with a memory of its own
journald() {
	local program=/lib/systemd/systemd-journald
	[ -x "$program" ] || skip "no systemd-journald"
	on n1 sh -c 'mount -t cgroup2 cgroup /sys/fs/cgroup && mkdir -p /run/systemd/journald.conf.d &&
		printf "%s\n" "[Journal]" Storage=volatile ReadKMsg=no Audit=no ForwardToWall=no >/run/systemd/journald.conf.d/test.conf'
	spawn n1 journald "$program"
	wait_for 10 on n1 test -S /run/systemd/journal/stdout
}

# entries MATCH...: what the journal has of sluiced
entries() {
	on n1 journalctl --sync
	on n1 journalctl --no-pager -o json --directory /run/log/journal SYSLOG_IDENTIFIER=sluiced "$@"
}

@test "the journal gets each line once, with level and place, and the fields of an event" {
	journald
	# As the service manager starts it: systemd-cat opens the stream, JOURNAL_STREAM says which one it is.
	# shellcheck disable=SC2016 # the inner shell's
	spawn n1 sluiced systemd-cat sh -c 'JOURNAL_STREAM=$(stat -L -c %d:%i /dev/stderr) exec build/sluiced "$@"' sh --config "$CONFIG"
	DAEMON=$SPAWNED
	wait_for 10 daemon_ready
	ready() { entries SLUICE_EVENT=ready >"$LAB_DIR/ready" && [ -s "$LAB_DIR/ready" ]; }
	wait_for 10 ready
	jq -es --arg pid "$DAEMON" --arg version "$(cat VERSION)" '.[0], (length == 1 and (.[0] |
		._TRANSPORT == "journal" and ._PID == $pid and .PRIORITY == "6" and .CODE_FILE == "user/sluiced.c" and
		(.CODE_LINE | tonumber) > 0 and .SLUICE_VERSION == $version and
		.MESSAGE == "ready: version \($version), engine \(.SLUICE_ENGINE)"))' "$LAB_DIR/ready"
	entries SLUICE_EVENT=port SLUICE_STATE=attached | jq -es '[.[] | [.SLUICE_PORT, .PRIORITY]] | sort == [["eth1", "6"], ["eth2", "6"]]'
	# Nothing went by the stream of standard error, and a warning has its level.
	configure "tables: {ipv4_routes: 17}" "no_such_key: 1"
	kill -HUP "$DAEMON"
	refused() { entries PRIORITY=3 | jq -es '.[0].MESSAGE | contains("no_such_key")'; }
	wait_for 10 refused
	entries | jq -es 'length > 4 and all(.[]; ._TRANSPORT == "journal")'
	[ ! -s "$LAB_DIR/sluiced.err" ]
}
