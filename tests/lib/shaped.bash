# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Flows to shaped ports of node 2, or SHAPED_NODE, and what comes out of these ports. A bats file loads
# it after `load cluster`, and sources netns-lab/faults/faults.sh.

SHAPED_NODE=${SHAPED_NODE:-2}

# voq PORT CLASS FIELD: a field of node 1's VOQ. queue PORT CLASS FIELD: one of the shaped node's
# egress queue.
voq() { bridge_ask 1 voqs | jq "select(.port == \"$1\" and .class == $2).$3"; }
queue() { bridge_ask $SHAPED_NODE egress-queues | jq "select(.port == \"$1\" and .class == $2).$3"; }
holds() { [ "$(queue "$1" "$2" waiting_frames)" -ge "$3" ]; }

# flow CLASS PORT RATE [OPTION...]: send from behind port CLASS + 1 of node 1 to a shaped port, with
# flow numbers from 1000 * CLASS, until `gens_end CLASS`
flow() { flow_from "h1p$(($1 + 1))" "$@"; }

# flow_from HOST CLASS PORT RATE [OPTION...]: the same from behind another port; FLOW_NAME, for a second
# flow of a class, stands for CLASS at gens_end
flow_from() {
	local host=$1 class=$2 port=$3 rate=$4
	shift 4
	spawn "$host" "gen${FLOW_NAME:-$class}" build/lab/gen eth0 --json --dst-mac "$(mac_of "n${host:1:1}" "eth${host:3}")" \
		--dst "10.$SHAPED_NODE.$port.2" --dscp $((16 * class)) --first-flow $((1000 * class)) --rate "$rate" --duration 3600 "$@"
}

# window PORT PACKETS CLASS...: wait until the queues of these classes are full, then count what
# comes to the host behind that shaped port: at least PACKETS, in $LAB_DIR/window.out. PACKETS is
# so small that no queue runs empty even if nothing is sent meanwhile, or so large that one would
# run empty only if nothing were sent for seconds.
window() {
	local port=$1 packets=$2 class
	shift 2
	for class in "$@"; do wait_for 60 holds "n${SHAPED_NODE}p$port" "$class" 7900 || return; done
	spawn "h${SHAPED_NODE}p$port" window build/lab/sink eth0 --json --flows --expect "$packets"
	wait_for 120 no_processes "$(cat "$LAB_DIR/window.pid")"
}

# waited: nanoseconds that the bridge of the shaped node has waited for a processor
waited() { cat "/proc/$(cat "$LAB_DIR/bridge-n$SHAPED_NODE.pid")/task/"*/schedstat | awk '{ ns += $2 } END { printf "%d", ns }'; }

# paced PORT PACKETS AMOUNT RATE: is AMOUNT of a window RATE a second? In no window more, and in one
# of five not less: a bridge that waits long for a processor is slower, but never faster.
paced() {
	local before rate least
	for _ in 1 2 3 4 5; do
		before=$(waited)
		window "$1" "$2" 0 || return
		rate=$(jq "$3 / (.last_ns - .first_ns) * 1e9 / $4" "$LAB_DIR/window.out")
		least=$(jq "0.96 * (1 - $(($(waited) - before)) / (.last_ns - .first_ns))" "$LAB_DIR/window.out")
		within "$rate" 0 1.03 || return
		! within "$rate" "$least" 1.03 || return 0
	done
	return 1
}

# gens_end CLASS...: end these flows; when all queues are empty, every frame must be accounted for
gens_end() {
	local class
	for class in "$@"; do interrupt "gen$class"; done
	none_waits() { [ "$(bridge_ask $SHAPED_NODE egress-queues | jq -s 'map(.waiting_frames) | add')" = 0 ]; }
	wait_for 60 none_waits
	cluster_conserves
}

# share FIRST-FLOW: packets of the window with these flow numbers
share() { jq "[.flow[] | select(.flow >= $1 and .flow < $1 + 1000).packets] | add // 0" "$LAB_DIR/window.out"; }

# within VALUE LOW HIGH: is the value in this range?
within() {
	echo "$1, expected $2 to $3"
	/usr/bin/python3 -c 'import sys; v, low, high = map(float, sys.argv[1:]); sys.exit(not low <= v <= high)' "$@"
}
