# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A router n1 between hosts h1 and h2, in a lab of its own, and sluiced on it. For the bats files beside it:
# `load router`, router_up in setup, lab_end in teardown.
#
#   h1 10.0.1.2 fd00:1::2 --- eth1 n1 eth2 --- h2 10.0.2.2 fd00:2::2

. netns-lab/lib/lab.sh
. tests/netns/router/counters.bash

router_up() {
	local i
	lab_begin
	node_up n1
	for i in 1 2; do
		host_up "h$i"
		plug "$i"
		default_routes "$i"
	done
	CONFIG=$LAB_DIR/sluice.yaml
	configure
}

default_routes() {
	on "h$1" ip route add default via "10.0.$1.1"
	on "h$1" ip route add default via "fd00:$1::1"
}

# plug N: the cable between n1:ethN and hN, with addresses.
plug() {
	link "n1:eth$1" "h$1:eth0"
	on n1 ip addr add "10.0.$1.1/24" dev "eth$1"
	on n1 ip addr add "fd00:$1::1/64" dev "eth$1" nodad
	on "h$1" ip addr add "10.0.$1.2/24" dev eth0
	on "h$1" ip addr add "fd00:$1::2/64" dev eth0 nodad
}

# configure [LINE...]: eth1 and eth2, and these lines before. The fast path must not end on a busy machine.
# shellcheck disable=SC2120 # its callers are in other files
configure() {
	[[ $* == *heartbeat_s* ]] || set -- "$@" "heartbeat_s: 600"
	printf '%s\n' "$@" "ports:" "  - name: eth1" "  - name: eth2" >"$CONFIG"
}

# The output of `pins` for a complete set: each map of the object, the program, those that are bound to
# eth1 and eth2, and the links that count transmit drops.
published() {
	{
		on n1 ip -j link | jq -r '.[] | select(.ifname | test("^eth[12]$")) | "sl_edge_\(.ifindex)"'
		llvm-objdump -t build/sluice.bpf.o | sed -n 's/.* \.maps	.* //p'
		printf '%s
' sl_edge sl_tx_batch sl_tx_refused sl_txdrops
	} | sed 's|^|sluice/|; $a sluice' | sort
}

sluice() { on n1 build/sluice "$@"; }

# daemon [OPTION...]: sluiced in the background, ready. Its process is DAEMON, its log $LAB_DIR/sluiced.err.
daemon() {
	spawn n1 sluiced "${DAEMON_PROGRAM:-build/sluiced}" --config "$CONFIG" "$@"
	DAEMON=$SPAWNED
	wait_for 10 daemon_ready
}

# reload: the daemon reads its file again, and has put it in force
reload() {
	local before
	before=$(grep -c reloaded "$LAB_DIR/sluiced.err" || true)
	kill -HUP "$DAEMON"
	reloaded_again() { [ "$(grep -c reloaded "$LAB_DIR/sluiced.err")" -gt "$before" ]; }
	wait_for 10 reloaded_again
}

daemon_ready() { [ -d "/proc/$DAEMON" ] && sluice status >/dev/null; }
log_says() { grep -qF -- "$1" "$LAB_DIR/sluiced.err"; }
daemon_gone() { [ ! -e "/proc/$DAEMON" ]; }

# daemon_end SIGNAL: its exit status is ENDED.
# shellcheck disable=SC2034
daemon_end() {
	kill "-$1" "$DAEMON"
	ENDED=0
	wait "$DAEMON" || ENDED=$?
	daemon_gone
}

# run_daemon ARGUMENT...: sluiced in the foreground, for arguments that it must refuse; bats' run keeps
# status and output.
run_daemon() { run --separate-stderr on n1 timeout $((10 * ${LAB_PATIENCE:-1})) build/sluiced "$@"; }

port_is() { [ "$(sluice -j show ports | jq -r ".[] | select(.port == \"$1\").state")" = "$2" ]; }

# elements [OPTION...]: sluice-elements for $CHAINS in the background, ready. Its process is ELEMENTS.
elements() {
	spawn n1 elements build/sluice-elements --chains "$CHAINS" "$@"
	export ELEMENTS=$SPAWNED
	wait_for 10 elements_ready
	wait_for 10 port_is slchain0 on
}
elements_ready() { sluice flow >/dev/null; }
xdp_program() { on n1 ip -j link show dev "$1" | jq -r '.[0].xdp.prog.name // "none"'; }
xdp_program_id() { on n1 ip -j link show dev "$1" | jq -r '.[0].xdp.prog.id // 0'; }
pins() { on n1 find /sys/fs/bpf -mindepth 1 -name 'sl*' -printf '%P\n' | sort; }
counter() { sluice -j show counters | jq ".[] | select(.name == \"$1\").packets"; }
reason() { sluice -j show drops | jq ".[] | select(.kind == \"$1\" and .name == \"$2\").packets"; }
reaches() { on h1 ping -c 1 -W 1 "$1"; }

# Resolve the neighbours on both sides, so that packets after this take the fast path. The packets that are
# lost meanwhile do not count in a test.
warm_up() {
	wait_for 5 reaches 10.0.2.2
	wait_for 5 fast_path_to 10.0.2.2
	wait_for 5 fast_path_to 10.0.1.2
	wait_for 5 reaches fd00:2::2
	wait_for 5 fast_path_to fd00:2::2
}
fast_path_to() { [ "$(sluice -j explain "$1" | jq -r .verdict)" = forward ]; }

nothing_was_changed() {
	[ "$(xdp_program eth1)" = none ]
	[ "$(xdp_program eth2)" = none ]
	[ -z "$(pins)" ]
	on n1 test ! -e /run/sluice/sluiced.sock
}
