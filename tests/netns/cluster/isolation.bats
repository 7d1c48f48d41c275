#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What one queue costs the others: of the 128 VOQs of node 1 that lead to other nodes one is stopped,
# one gets far more than it may send, and the others little. They lose nothing.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh

NODES=5
PORTS=8
STOPPED=n2p1 # of class 0
FLOODED=n2p2 # of class 0, the queue of a port with a rate

setup_file() {
	export CLUSTER_PORT_n2p2="rate: 1kpps, controller: fixed"
	cluster_begin $NODES $PORTS
	for ((n = 2; n <= NODES; n++)); do
		for ((p = 1; p <= PORTS; p++)); do
			wait_for 30 on h1p1 ping -c 1 -W 1 "10.$n.$p.2"
		done
	done
}

# set_rate PORT RATE: the rate of node 1's VOQ of class 0 for that port, frames a second; as an operator
# does
set_rate() {
	local key value bytes
	key=$(bridge_ask 1 voqs | jq "select(.port == \"$1\" and .class == 0).voq")
	bytes=$(/usr/bin/python3 -c 'import sys; print(*int(sys.argv[1]).to_bytes(8, "little"))' "$2")
	value=$(on n1 bpftool -j map lookup pinned /sys/fs/bpf/sluice/sl_voq key $((key & 255)) $((key >> 8)) 0 0 | jq -r '.value | join(" ")')
	# shellcheck disable=SC2046,SC2086
	on n1 bpftool map update pinned /sys/fs/bpf/sluice/sl_voq key $((key & 255)) $((key >> 8)) 0 0 value $bytes $(cut -d' ' -f9- <<<"$value")
}

# all_arrive COUNT: send so many frames into each other VOQ, a few at a time from every port; none is lost
all_arrive() {
	local class p to="$LAB_DIR/destinations"
	for ((n = 2; n <= NODES; n++)); do
		for ((p = 1; p <= PORTS; p++)); do
			echo "10.$n.$p.2"
		done
	done >"$to"
	for class in 0 1 2 3; do
		[ $class -gt 0 ] || sed -i '/^10\.2\.[12]\.2$/d' "$to"
		spawn "h1p$((3 + class))" "light$class" build/lab/gen eth0 --json --dst-mac "$(mac_of n1 "eth$((3 + class))")" \
			--dst-file "$to" --dests "$(wc -l <"$to")" --dscp $((16 * class)) --rate 800 --count $(($1 * $(wc -l <"$to")))
	done
	for class in 0 1 2 3; do await_end "light$class"; done
}

# losses: VOQs and egress queues that dropped frames, by name
losses() {
	bridge_ask 1 voqs | jq -r 'select(.dropped | add > 0) | "voq \(.port) \(.class)"'
	for ((n = 2; n <= NODES; n++)); do
		bridge_ask $n egress-queues | jq -r 'select(.dropped_frames > 0) | "queue \(.port) \(.class)"'
	done
}

@test "one VOQ is stopped, one is flooded, and 126 others lose nothing; memory never runs out" {
	local expected memory
	wait_for 60 cluster_counts
	set_rate $STOPPED 0
	# Frames that were admitted before the rate was 0 wait in it.
	spawn h1p1 stopped build/lab/gen eth0 --json --dst-mac "$(mac_of n1 eth1)" --dst 10.2.1.2 --rate 2000 --duration 3600
	spawn h1p2 flood build/lab/gen eth0 --json --dst-mac "$(mac_of n1 eth2)" --dst 10.2.2.2 --rate 20000 --duration 3600
	flooded() { losses | grep -qx "queue $FLOODED 0"; }
	wait_for 60 flooded
	all_arrive 50
	interrupt stopped
	interrupt flood
	set_rate $STOPPED 18446744073709551615 # without a limit
	none_waits() { [ "$(bridge_ask 2 egress-queues | jq -s "map(.waiting_frames) | add")" = 0 ]; }
	wait_for 60 none_waits
	cluster_conserves
	expected=$(printf '%s\n' "queue $FLOODED 0" "voq $STOPPED 0")
	[ "$(losses | grep -v "voq $FLOODED 0" | sort)" = "$expected" ]
	memory=$(bridge_ask 1 voqs | jq -s 'map(.dropped["voq-memory"] + .dropped["missed"]) | add')
	[ "$memory" = 0 ]
	# 126 VOQs of 50 frames, and those of the two
	[ "$(bridge_ask 1 voqs | jq -s "map(select(.port != \"$FLOODED\" and .port != \"$STOPPED\").enqueued_frames) | add")" -ge $((30 * 4 * 50)) ]
}
