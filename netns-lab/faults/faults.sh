# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Faults of a node of a lab cluster, and traffic that shows their effect. For the tests of recovery
# and for `soak`. Source it after lab.sh and topo/cluster.sh.
#
# For each KIND, break_KIND N does it to node N, and mend_KIND N does what an operator or a service
# manager would: start again what died, plug in what was pulled. The cluster must do the rest
# itself.

# shellcheck disable=SC2034
FAULT_KINDS="bridge daemon both node link fabric_down fabric_netdev edge_netdev key pause"

# pid_of N bridge|sluiced: the process id on node N
pid_of() { cat "$LAB_DIR/$2-n$1.pid"; }

break_bridge() { kill -KILL "$(pid_of "$1" bridge)"; }
mend_bridge() { bridge_start "$1"; }

break_daemon() { kill -KILL "$(pid_of "$1" sluiced)"; }
mend_daemon() { router_start "n$1"; }

break_both() { kill -KILL "$(pid_of "$1" bridge)" "$(pid_of "$1" sluiced)"; }
mend_both() { bridge_start "$1" && router_start "n$1"; }

# The whole node, as in a power failure: its netdevs, routes, pins and processes are gone.
break_node() {
	local p
	namespaces_down "n$1"
	wait_for 10 no_netdev fabric "n$1" || return
	for ((p = 1; p <= $(ports_of "$1"); p++)); do
		wait_for 10 no_netdev "h$1p$p" eth0 || return
	done
}
mend_node() {
	local p
	node_up "n$1" && cluster_wire_fabric "$1" || return
	for ((p = 1; p <= $(ports_of "$1"); p++)); do
		cluster_wire_port "$1" "$p" || return
	done
	cluster_start "$1"
}
ports_of() { find "$LAB_DIR/host" -name "h$1p*" | wc -l; }
no_netdev() { ! on "$1" test -e "/sys/class/net/$2"; }

# The cable: the node's netdev loses its carrier.
break_link() { on fabric ip link set dev "n$1" down; }
mend_link() { on fabric ip link set dev "n$1" up; }

break_fabric_down() { on "n$1" ip link set dev fab0 down; }
mend_fabric_down() { on "n$1" ip link set dev fab0 up; }

break_fabric_netdev() { on "n$1" ip link del dev fab0; }
mend_fabric_netdev() { cluster_wire_fabric "$1"; }

break_edge_netdev() { on "n$1" ip link del dev eth2; }
mend_edge_netdev() { cluster_wire_port "$1" 2; }

# The bridge starts with a wrong key; then with the right one.
break_key() {
	(umask 077 && head -c 32 /dev/urandom >"$LAB_DIR/other.key")
	sed "s|key_file: .*|key_file: $LAB_DIR/other.key|" "$LAB_DIR/n$1.yaml" >"$LAB_DIR/n$1-other.yaml"
	break_bridge "$1" && bridge_start "$1" "$LAB_DIR/n$1-other.yaml"
}
mend_key() { break_bridge "$1" && bridge_start "$1"; }

# The bridge gets no processor for a while.
break_pause() { kill -STOP "$(pid_of "$1" bridge)"; }
mend_pause() { kill -CONT "$(pid_of "$1" bridge)"; }

# --- Traffic ---

# flow_start LABEL FROM NODE:DEV DST RATE TO...: host FROM sends through that port to DST (an
# address or a file of prefixes) until flow_stop or flow_end; the hosts TO count what comes to them.
# FLOW_OPTIONS: more options of gen
flow_start() {
	local label=$1 from=$2 mac dst=(--dst "$4") rate=$5 to
	[ ! -f "$4" ] || dst=(--dst-file "$4")
	mac=$(mac_of "${3%%:*}" "${3#*:}") || return
	shift 5
	for to in "$@"; do
		spawn "$to" "$label-$to" "$LAB_SOURCE/build/lab/sink" eth0 --json --verify || return
	done
	for to in "$@"; do
		wait_for 10 grep -q ready "$LAB_DIR/$label-$to.err" || return
	done
	# shellcheck disable=SC2086
	spawn "$from" "$label-gen" "$LAB_SOURCE/build/lab/gen" eth0 --json --dst-mac "$mac" "${dst[@]}" --rate "$rate" --duration 3600 ${FLOW_OPTIONS:-}
}

# flow_stop LABEL: end the sender; sets FLOW_SENT. flow_end LABEL TO...: end the sinks, too; sets
# FLOW_RECEIVED, and FLOW_WRONG to the packets that came twice, damaged, or for another MAC address
flow_stop() {
	interrupt "$1-gen"
	FLOW_SENT=$(jq .sent "$LAB_DIR/$1-gen.out")
}
flow_end() {
	local label=$1 to
	flow_stop "$label" || return
	shift
	FLOW_RECEIVED=0 FLOW_WRONG=0
	for to in "$@"; do
		interrupt "$label-$to"
		FLOW_RECEIVED=$((FLOW_RECEIVED + $(jq .packets "$LAB_DIR/$label-$to.out")))
		FLOW_WRONG=$((FLOW_WRONG + $(jq '.duplicates + .bad_checksum + .bad_payload + .wrong_mac' "$LAB_DIR/$label-$to.out")))
	done
}

# flows_bear FLOW... -- COMMAND...: run it under these flows, each the words of flow_start in one argument. Once
# nothing is under way, sets FLOWS_SENT, FLOWS_RECEIVED and FLOWS_WRONG to sums over them. Fails if the command
# does, or if not all of each flow has arrived, each packet once and whole.
flows_bear() {
	local flows=() flow words status=0
	while [ "$1" != -- ]; do
		flows+=("$1")
		shift
	done
	shift
	for flow in "${flows[@]}"; do
		# shellcheck disable=SC2086
		flow_start $flow || return
	done
	"$@" || status=1
	for flow in "${flows[@]}"; do flow_stop "${flow%% *}" || status=1; done
	cluster_settles || status=1
	FLOWS_SENT=0 FLOWS_RECEIVED=0 FLOWS_WRONG=0
	for flow in "${flows[@]}"; do
		read -ra words <<<"$flow"
		flow_end "${words[0]}" "${words[@]:5}" || status=1
		echo "${words[0]}: sent $FLOW_SENT, received $FLOW_RECEIVED, wrong $FLOW_WRONG"
		[ "$FLOW_SENT $FLOW_WRONG" = "$FLOW_RECEIVED 0" ] || status=1
		FLOWS_SENT=$((FLOWS_SENT + FLOW_SENT)) FLOWS_RECEIVED=$((FLOWS_RECEIVED + FLOW_RECEIVED)) FLOWS_WRONG=$((FLOWS_WRONG + FLOW_WRONG))
	done
	return $status
}

interrupt() {
	local pid
	pid=$(cat "$LAB_DIR/$1.pid")
	kill -INT "$pid" 2>/dev/null || return 0
	wait_for 10 no_processes "$pid"
}

flows_kill() {
	local label pid
	for label in "$LAB_DIR"/*-gen.pid "$LAB_DIR"/gen*.pid "$LAB_DIR"/*-h[0-9]*.pid; do
		[ -e "$label" ] && pid=$(cat "$label") && kill -KILL "$pid" 2>/dev/null && wait_for 5 no_processes "$pid"
	done
	return 0
}
