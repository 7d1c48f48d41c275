# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# A cluster for a bats file, which has `load cluster` at its top and cluster_begin in setup_file. It
# has functions that ask the bridges, send traffic between hosts, and check the sums that must hold.

. netns-lab/lib/lab.sh
. netns-lab/topo/cluster.sh
. tests/lib/traffic.bash

# cluster_lab: make a lab for a cluster. A peer counts as down after 10 s (or CLUSTER_LIVENESS_MS):
# then a test has caused it, not a busy machine.
# shellcheck disable=SC2119
cluster_lab() {
	lab_begin
	export TOPO_ENGINE=fast CLUSTER_LIVENESS_MS=${CLUSTER_LIVENESS_MS:-10000}
}

# cluster_begin NODES PORTS: make the lab, and the cluster in it
cluster_begin() {
	cluster_lab
	topo_up --nodes "$1" --ports "$2"
}

teardown_file() { lab_end; }

# hosts_meet: let every node learn its hosts
hosts_meet() {
	local n p
	for n in 1 2 3; do
		for p in 1 2; do
			wait_for 10 on "h${n}p$p" ping -c 1 -W 1 "10.$((n % 3 + 1)).$p.2" || return
			wait_for 10 on "h${n}p$p" ping -c 1 -W 1 "fd00:0:$((n % 3 + 1)):$p::2" || return
		done
	done
}

# bridge_stop N: end a bridge as an operator does, and wait until it has gone
bridge_stop() {
	local pid
	pid=$(cat "$LAB_DIR/bridge-n$1.pid")
	kill "$pid"
	gone() { ! kill -0 "$pid" 2>/dev/null; }
	wait_for 5 gone
}

# killed_now N: kill the bridge of node N
killed_now() { kill -9 "$(cat "$LAB_DIR/bridge-n$1.pid")"; }

# frames N NAME: the frame counter NAME of node N's bridge
frames() { bridge_ask "$1" status | jq ".frames[\"$2\"].packets"; }

# reload N...: those nodes take their files, each its daemon and its bridge
reload() {
	local n before
	for n; do
		before=$(reloads "$n")
		on "n$n" kill -HUP "$(cat "$LAB_DIR/sluiced-n$n.pid")" "$(cat "$LAB_DIR/bridge-n$n.pid")"
		both_reloaded() { [ "$(reloads "$n")" = $((before + 2)) ]; }
		wait_for 30 both_reloaded || return
	done
}
reloads() {
	cat "$LAB_DIR/sluiced-n$1.err" "$LAB_DIR/bridge-n$1.err" |
		grep -c "configuration .* reloaded" || true
}

peer_state() { bridge_ask "$1" peers | jq -r "select(.node == $2).state"; }
peer_is() { [ "$(peer_state "$1" "$2")" = "$3" ]; }

# carrier N M P: does node N see carrier on port P of node M?
carrier() { [ "$(on "n$1" cat "/sys/class/net/n$2p$3/carrier")" = 1 ]; }
no_carrier() { ! carrier "$@"; }

# The accounts of tests/lib/traffic.bash; the ledger stays in $LAB_DIR/ledger.json
accounts_open() { cluster_counts; }
accounts_settle() { cluster_conserves >/dev/null; }
accounted() {
	cluster_conserves "$@" >"$LAB_DIR/ledger.json"
	local status=$?
	echo "sent $1, received $2: $(cat "$LAB_DIR/ledger.json")"
	return $status
}

# flow_arrives LABEL TO...: flow_end, once nothing is under way
flow_arrives() {
	flow_stop "$1" || return
	cluster_settles || return
	flow_end "$@"
}

# arrives COMMAND...: run it while traffic crosses from h1p1 to h2p1, all of which arrives. For files
# that source netns-lab/faults/faults.sh
arrives() {
	delivered() { on h2p1 cat /sys/class/net/eth0/statistics/rx_packets; }
	flow_start through h1p1 n1:eth1 10.2.1.2 500 h2p1
	"$@"
	before=$(delivered)
	goes_on() { [ "$(delivered)" -gt $((before + 250)) ]; }
	wait_for 20 goes_on
	flow_arrives through h2p1
	echo "sent $FLOW_SENT, received $FLOW_RECEIVED, wrong $FLOW_WRONG"
	[ "$FLOW_SENT" = "$FLOW_RECEIVED" ] || { cluster_conserves "$FLOW_SENT" "$FLOW_RECEIVED" && false; }
	[ "$FLOW_WRONG" = 0 ]
}

# untouched COMMAND...: the same, and no peer goes down, no bridge starts anew
untouched() {
	local downs
	downs() { for n in 1 2 3; do bridge_ask $n peers | jq '[.node, .epoch, .downs]'; done; }
	downs=$(downs)
	cluster_counts
	arrives "$@"
	cluster_conserves "$FLOW_SENT" "$FLOW_RECEIVED"
	[ "$(downs)" = "$downs" ]
}

# set_voq VOQ RATE UNIT BURST LIMIT DELAY ECN: change a VOQ of node 1 as an operator does with bpftool, by the layout of
# bpf/abi/voq.h
set_voq() {
	on n1 /usr/bin/python3 - "$@" <<-'END'
		import struct, subprocess, sys
		voq, rate, unit, burst, limit, delay, ecn = map(int, sys.argv[1:8])
		value = struct.pack("<QIIIIII16s", rate, unit, burst, limit, delay, ecn, 0, b"fixed")
		subprocess.run(["bpftool", "map", "update", "pinned", "/sys/fs/bpf/sluice/sl_voq", "key", "hex",
		    *(f"{b:02x}" for b in struct.pack("<I", voq)), "value", "hex", *(f"{b:02x}" for b in value)], check=True)
	END
}
