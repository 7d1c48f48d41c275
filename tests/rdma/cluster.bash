# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Traffic in a cluster of which some nodes are virtual machines: the same functions wherever a host is. What runs inside takes its
# time to begin and end, so there is little of it.

. netns-lab/lib.sh
. netns-lab/topo/vms.sh

export LAB_PATIENCE=12
RDMA_PACKETS=200 # at once: no more than the smallest queue on the way holds, since a machine may sleep and wake

inside() { [ -e "$LAB_DIR/inside/$1" ]; }

# rdma_macs NODES: remember where hosts send to
rdma_macs() {
	local n
	for ((n = 1; n <= $1; n++)); do mac_of "n$n" eth1 >"$LAB_DIR/mac.n$n" || return; done
}

# start_sink HOST: count what arrives there, until all has come or 60 seconds are over
start_sink() {
	local sink=(build/lab/sink eth0 --json --verify --expect "$RDMA_PACKETS" --duration 60)
	if inside "$1"; then
		vm_enter "$1"
		vm_spawn "$VM_MACHINE" received "${VM_ENTER[@]}" "${sink[@]}"
	else
		rm -f "$LAB_DIR/received.out" "$LAB_DIR/received.err" # which may lead into a machine
		spawn "$1" received "${sink[@]}"
	fi
	wait_for 60 grep -q ready "$LAB_DIR/received.err"
}

# cross FROM TO GEN-OPTIONS...: host h<FROM>p1 sends RDMA_PACKETS to h<TO>p1; all of them come, once, in order, whole and one
# hop older
cross() {
	local from=$1 to=$2 got
	shift 2
	start_sink "h${to}p1"
	on "h${from}p1" build/lab/gen eth0 --json --dst-mac "$(cat "$LAB_DIR/mac.n$from")" --count $RDMA_PACKETS --rate 500 "$@" \
		>"$LAB_DIR/gen.json"
	wait_for 90 grep -q packets "$LAB_DIR/received.out" # which is empty until the end
	got=$(jq -c '[.packets, .lost, .reordered, .duplicates, .late, .bad_checksum, .bad_payload, .wrong_mac, .ttl_min, .ttl_max]' \
		"$LAB_DIR/received.out")
	echo "from node $from to $to, $*: sent $(jq .sent "$LAB_DIR/gen.json"), received $got"
	[ "$(jq .sent "$LAB_DIR/gen.json")" = $RDMA_PACKETS ]
	[ "$got" = "[$RDMA_PACKETS,0,0,0,0,0,0,0,63,63]" ]
}

# bridges_conserve NODES: every frame that any bridge took has left another one, and none was dropped, but for what kernels say
# to groups
bridges_conserve() {
	local n
	for ((n = 1; n <= $1; n++)); do bridge_ask "$n" status; done >"$LAB_DIR/status"
	jq -se '[.[].frames | map_values(.packets) | to_entries] | add | group_by(.key) | map({(.[0].key): (map(.value) | add)}) | add |
		. as $s | (., ($s.ingress == $s.sent and $s.sent == $s.egress and $s.egress == $s.transmitted and
			([$s | to_entries[] | select((.key | startswith("drop-")) and .key != "drop-not-unicast") | .value] | add) == 0))' "$LAB_DIR/status"
}
