# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Traffic in a cluster of which some nodes are virtual machines: the same functions wherever a host is. What runs inside takes its
# time to begin and end, so there is little of it.

. netns-lab/lib/lab.sh
. netns-lab/topo/vms.sh

export LAB_PATIENCE=12
export CLUSTER_LIVENESS_MS=20000 # a machine that does not run for some seconds is not dead
RDMA_PACKETS=200 # at once: no more than the smallest queue on the way holds, since a machine may sleep and wake

inside() { [ -e "$LAB_DIR/inside/$1" ]; }

# rdma_macs NODES: remember where hosts send to
rdma_macs() {
	local n
	for ((n = 1; n <= $1; n++)); do mac_of "n$n" eth1 >"$LAB_DIR/mac.n$n" || return; done
}

# start_sink HOST: count what arrives there, until all has come or the time is over
start_sink() {
	local sink=(build/lab/sink eth0 --json --verify --expect "$RDMA_PACKETS" --duration $((60 * LAB_PATIENCE)))
	if inside "$1"; then
		vm_enter "$1"
		vm_spawn "$VM_MACHINE" received "${VM_ENTER[@]}" "${sink[@]}"
	else
		rm -f "$LAB_DIR/received.out" "$LAB_DIR/received.err" # which may lead into a machine
		spawn "$1" received "${sink[@]}"
	fi
	wait_for 60 grep -q ready "$LAB_DIR/received.err"
}

# cross FROM TO --dst ADDRESS GEN-OPTIONS...: host h<FROM>p1 sends RDMA_PACKETS to h<TO>p1; all of them come, once, in order, whole and one
# hop older
cross() {
	local from=$1 to=$2 got
	shift 2
	wait_for 60 on "h${from}p1" ping -c 1 -W 2 "$2" # a neighbour that was forgotten costs the first frames
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

# --- Clusters of machines alone ---

# cluster_of NODES: whom the functions below speak of
cluster_of() { NODES=$(seq -s ' ' "$1"); }

# cluster_again NODES TRANSPORT BRIDGE-KEYS: begin anew, as a cluster like this
cluster_again() {
	cluster_of "$1"
	CLUSTER_BRIDGE=$3 vms_again "$1" 1 "$2" && hosts_meet
}

# each_machine COMMAND...: in the machine of every node of the list NODES, at the same time; %N is its number
each_machine() {
	local n jobs=()
	for n in $NODES; do
		vm_start "n$n" "${@//%N/$n}" && jobs+=("n$n:$VM_JOB") || return
	done
	vm_finish_all 300 "${jobs[@]}"
}

# each_node COMMAND...: the same, with the node's own files
each_node() {
	local n jobs=()
	for n in $NODES; do
		vm_enter "n$n" && vm_start "$VM_MACHINE" "${VM_ENTER[@]}" "${@//%N/$n}" && jobs+=("n$n:$VM_JOB") || return
	done
	vm_finish_all 300 "${jobs[@]}"
}

# each_host COMMAND...: the same in the host of every node; %T is the number of the next node, the last one's is the first
each_host() {
	local n jobs=() command
	for n in $NODES; do
		command=("${@//%N/$n}")
		vm_enter "h${n}p1" && vm_start "$VM_MACHINE" "${VM_NET[@]}" "${command[@]//%T/$(next_to "$n")}" &&
			jobs+=("n$n:$VM_JOB") || return
	done
	vm_finish_all 300 "${jobs[@]}"
}

next_to() {
	local all
	read -ra all <<<"$NODES"
	echo $(($1 % ${#all[@]} + 1))
}

# Every host has spoken to the next one, so all nodes know them.
hosts_meet() {
	# shellcheck disable=SC2016
	each_host bash -c 'for i in {1..60}; do
		ping -q -c 1 -W 2 10.%T.1.2 && ping -q -c 1 -W 2 fd00:0:%T:1::2 && exit
	done; exit 1' >/dev/null
}

# remember_macs: of the routers' ports and of the hosts, for all that follows
remember_macs() {
	each_machine cat /sys/class/net/eth1/address >"$LAB_DIR/macs.routers" &&
		each_host ip -o link show eth0 | sed -E 's/.*ether ([0-9a-f:]+).*/\1/' >"$LAB_DIR/macs.hosts"
}
mac_number() { sed -n "$2p" "$LAB_DIR/macs.$1"; }

# whole_frames [SIZE]: every host sends to the next one, all at the same time, frames of all sizes, or of one; what arrives is
# what scapy expects, byte for byte, in order, and every frame is accounted for
whole_frames() {
	local n to count total=0 pairs=()
	cluster_counts || return
	rm -f "$LAB_DIR/go"
	for n in $NODES; do
		to=$(next_to "$n")
		count=$(frames make "$LAB_DIR/sent.$n" "$(mac_number routers "$n")" "$n" "$to" "$@") || return
		total=$((total + count))
		rm -f "$LAB_DIR/got.$to"
		pairs+=("$LAB_DIR/sent.$n" "$LAB_DIR/got.$to" "$(mac_number routers "$to")" "$(mac_number hosts "$to")")
	done
	for n in $NODES; do
		vm_enter "h${n}p1" && vm_spawn "$VM_MACHINE" "exchange.$n" "${VM_NET[@]}" /usr/bin/python3 -ISB tests/rdma/frames.py \
			exchange "$LAB_DIR/sent.$n" "$LAB_DIR/got.$n" eth0 "$count" "$LAB_DIR/go" || return
	done
	for n in $NODES; do
		wait_for 60 exchange_ready_or_ended "$n" && grep -q ready "$LAB_DIR/exchange.$n.out" || return
	done
	: >"$LAB_DIR/go"
	for n in $NODES; do
		vm_output "exchange.$n" >/dev/null && cat "$LAB_DIR/exchange.$n.err" || return
	done
	frames check "${pairs[@]}" && cluster_conserves $total $total
}
exchange_ready_or_ended() { grep -q ready "$LAB_DIR/exchange.$1.out" || [ -s "$LAB_DIR/exchange.$1.job/status" ]; }
frames() { /usr/bin/python3 -B tests/rdma/frames.py "$@"; }

# arrived N: frames that have come to node N through the fabric
arrived() { bridge_ask "$1" fabric | jq .frames_received; }
arrived_since() { [ "$(arrived "$1")" -gt "$2" ]; }

# --- Faults ---

# cluster_for_faults TRANSPORT BRIDGE-KEYS: begin anew, as a cluster of two nodes that soon take each other for dead
cluster_for_faults() { CLUSTER_LIVENESS_MS=3000 cluster_again 2 "$@"; }

# shellcheck disable=SC2034
FAULTS="netdev device killed hung mtu cable"

# objects: how many of each kind of RDMA object each node has
objects() { each_machine rdma -j resource show | jq -c '.[0] | del(.ifindex)'; }
objects_are() { [ "$(objects)" = "$1" ]; }

# fault KIND: node n2 has it; it is over when this returns
fault() {
	if [ "$1" != cable ]; then
		vm_on n2 tests/rdma/fault "$1"
		return
	fi
	on fabric ip link set n2 down && wait_for 60 peer_is 1 2 down && on fabric ip link set n2 up
}
peer_is() { [ "$(bridge_ask "$1" peers | jq -r "select(.node == $2).state")" = "$3" ]; }

# fault_is_survived KIND OBJECTS: node n2 has this fault while the host of n1 sends to the one of n2. Afterwards both nodes know each
# other again, the hosts reach each other, nothing has come twice, out of order, or damaged, what was lost has a name where the
# counters live, and there are as many RDMA objects as before. Prints what was lost.
fault_is_survived() {
	local kind=$1 before sent received
	cluster_counts || return
	vm_enter h2p1 && vm_spawn "$VM_MACHINE" received "${VM_ENTER[@]}" build/lab/sink eth0 --json --verify &&
		wait_for 60 grep -q ready "$LAB_DIR/received.err" && before=$(arrived 2) || return
	vm_enter h1p1 && vm_spawn "$VM_MACHINE" sending "${VM_ENTER[@]}" build/lab/gen eth0 --json --dst-mac "$(mac_number routers 1)" \
		--dst 10.2.1.2 --flows 10 --imix --rate 50 --duration 3600 || return
	wait_for 60 arrived_since 2 "$before" || return
	fault "$kind" && wait_for 60 peer_is 1 2 up && wait_for 60 peer_is 2 1 up || return
	# Traffic of both families and directions, while that of the fault still flows, and each answer comes.
	hosts_meet || return
	vm_signal sending INT && vm_output sending >/dev/null || return
	sent=$(jq .sent "$LAB_DIR/sending.out")
	cluster_conserves >/dev/null 2>&1 || true # until nothing is under way
	vm_signal received INT && vm_output received >/dev/null || return
	received=$(jq .packets "$LAB_DIR/received.out")
	echo "$kind: sent $sent, received $received, $(jq -c '{reordered, duplicates, bad_checksum, bad_payload, wrong_mac}' "$LAB_DIR/received.out")"
	jq -e '.reordered + .duplicates + .bad_checksum + .bad_payload + .wrong_mac == 0 and .packets > 0' "$LAB_DIR/received.out" >/dev/null &&
		fault_is_accounted_for "$sent" "$received" && wait_for 5 objects_are "$2"
}

# fault_is_accounted_for SENT RECEIVED: the sums that must hold after it; prints the losses by name
fault_is_accounted_for() {
	local ledger wrong
	ledger=$(cluster_conserves 2>/dev/null)
	# What a bridge held that began anew is in no sum any more, so not all that was sent can be found.
	[ "$(jq '.restarted | length' <<<"$ledger")" != 0 ] || ledger=$(cluster_conserves "$@" 2>/dev/null)
	[ -n "$ledger" ] && jq -c '{drops, restarted}' <<<"$ledger" || return
	# What was on its way when the way ended is known to nobody but the receiver, as lost messages.
	wrong=$(jq -r '.wrong[]' <<<"$ledger" | grep -v '^fabric: ')
	[ -z "$wrong" ] || { echo "$wrong"; return 1; }
}
