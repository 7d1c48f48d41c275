# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Traffic and faults in a cluster of which some nodes are virtual machines. The functions are the
# same wherever a host is. A command inside a machine takes long to start and end, so they use few.

. netns-lab/lib/lab.sh
. netns-lab/topo/vms.sh

export LAB_PATIENCE=12
export CLUSTER_LIVENESS_MS=20000 # a machine that does not run for some seconds is not dead
# Packets of a run: no more than the smallest queue on the way holds, since a machine may not run
# for a while.
RDMA_PACKETS=200

inside() { [ -e "$LAB_DIR/inside/$1" ]; }

# rdma_macs NODES: remember the routers' MAC addresses
rdma_macs() {
	local n
	for ((n = 1; n <= $1; n++)); do mac_of "n$n" eth1 >"$LAB_DIR/mac.n$n" || return; done
}

# start_sink HOST: count the packets that arrive there, until all have come or the time is over
start_sink() {
	local sink=(build/lab/sink eth0 --json --verify --expect "$RDMA_PACKETS" --duration $((60 * LAB_PATIENCE)))
	if inside "$1"; then
		vm_enter "$1"
		vm_spawn "$VM_MACHINE" received "${VM_ENTER[@]}" "${sink[@]}"
	else
		rm -f "$LAB_DIR/received.out" "$LAB_DIR/received.err" # links that may lead into a machine
		spawn "$1" received "${sink[@]}"
	fi
	wait_for 60 grep -q ready "$LAB_DIR/received.err"
}

# cross FROM TO --dst ADDRESS GEN-OPTIONS...: host h<FROM>p1 sends RDMA_PACKETS to h<TO>p1; all of
# them arrive once, in order, whole and one hop older
cross() {
	local from=$1 to=$2 got
	shift 2
	wait_for 60 on "h${from}p1" ping -c 1 -W 2 "$2" # a forgotten neighbour would cost the first frames
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

# bridges_conserve NODES: has every frame that a bridge took left another one, with none dropped but
# the kernels' own multicast?
bridges_conserve() {
	local n
	for ((n = 1; n <= $1; n++)); do bridge_ask "$n" status; done >"$LAB_DIR/status"
	jq -se '[.[].frames | map_values(.packets) | to_entries] | add | group_by(.key) | map({(.[0].key): (map(.value) | add)}) | add |
		. as $s | (., ($s.ingress == $s.sent and $s.sent == $s.egress and $s.egress == $s.transmitted and
			([$s | to_entries[] | select((.key | startswith("drop-")) and .key != "drop-not-unicast") | .value] | add) == 0))' "$LAB_DIR/status"
}

# --- Clusters of machines alone ---

# cluster_of NODES: choose the nodes for the functions below
cluster_of() { NODES=$(seq -s ' ' "$1"); }

# cluster_again NODES TRANSPORT BRIDGE-KEYS: make another cluster of the machines
cluster_again() {
	cluster_of "$1"
	CLUSTER_BRIDGE=$3 vms_form "$1" 1 "$2" && hosts_meet
}

# each_machine COMMAND...: run it in the machine of every node of the list NODES, at the same time;
# %N is the node's number
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
		vm_enter "n$n" && vm_start "$VM_MACHINE" "${VM_ENTER[@]}" "${@//%N/$n}" && jobs+=("$VM_MACHINE:$VM_JOB") || return
	done
	vm_finish_all 300 "${jobs[@]}"
}

# each_host COMMAND...: the same in the host of every node; %T is the number of the next node, the
# last one's is the first
each_host() {
	local n jobs=() command
	for n in $NODES; do
		command=("${@//%N/$n}")
		vm_enter "h${n}p1" && vm_start "$VM_MACHINE" "${VM_NET[@]}" "${command[@]//%T/$(next_to "$n")}" &&
			jobs+=("$VM_MACHINE:$VM_JOB") || return
	done
	vm_finish_all 300 "${jobs[@]}"
}

next_to() {
	local all
	read -ra all <<<"$NODES"
	echo $(($1 % ${#all[@]} + 1))
}

# Let every host talk to the next one, so that all nodes learn them.
hosts_meet() {
	# shellcheck disable=SC2016
	each_host bash -c 'for i in {1..60}; do
		ping -q -c 1 -W 2 10.%T.1.2 && ping -q -c 1 -W 2 fd00:0:%T:1::2 && exit
	done; exit 1' >/dev/null
}

# remember_macs: remember the MAC addresses of the routers' ports and of the hosts
remember_macs() {
	each_machine cat /sys/class/net/eth1/address >"$LAB_DIR/macs.routers" &&
		each_host ip -o link show eth0 | sed -E 's/.*ether ([0-9a-f:]+).*/\1/' >"$LAB_DIR/macs.hosts"
}
mac_number() { sed -n "$2p" "$LAB_DIR/macs.$1"; }

# frames_arrive_unchanged [SIZE]: every host sends frames of all sizes, or of one, to the next one,
# all at the same time. Those that arrive must be as scapy expects, byte for byte and in order, and
# every frame must be accounted for
frames_arrive_unchanged() {
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

# cluster_for_faults TRANSPORT BRIDGE-KEYS: make another cluster, of two nodes that soon take each
# other for dead
cluster_for_faults() { CLUSTER_LIVENESS_MS=3000 cluster_again 2 "$@"; }

# shellcheck disable=SC2034
FAULTS="netdev device killed hung mtu cable"

# objects: print how many RDMA objects of each kind each node has
objects() { each_machine rdma -j resource show | jq -c '.[0] | del(.ifindex)'; }
objects_are() { [ "$(objects)" = "$1" ]; }

# fault KIND: make this fault of node n2; its cause has gone when this returns
fault() {
	if [ "$1" != cable ]; then
		vm_on n2 tests/rdma/fault "$1"
		return
	fi
	on fabric ip link set m2 down && wait_for 60 peer_is 1 2 down && on fabric ip link set m2 up
}
peer_is() { [ "$(bridge_ask "$1" peers | jq -r "select(.node == $2).state")" = "$3" ]; }

# fault_is_survived KIND OBJECTS: make this fault of node n2 while the host of n1 sends to the one
# of n2. Afterwards both nodes must have each other as up, the hosts must reach each other, nothing
# may have come twice, out of order or damaged, each loss must have a name (as far as the counters
# have survived), and there must be as many RDMA objects as before. Prints the losses.
fault_is_survived() {
	local kind=$1 before sent received
	cluster_counts || return
	vm_enter h2p1 && vm_spawn "$VM_MACHINE" received "${VM_ENTER[@]}" build/lab/sink eth0 --json --verify &&
		wait_for 60 grep -q ready "$LAB_DIR/received.err" && before=$(arrived 2) || return
	vm_enter h1p1 && vm_spawn "$VM_MACHINE" sending "${VM_ENTER[@]}" build/lab/gen eth0 --json --dst-mac "$(mac_number routers 1)" \
		--dst 10.2.1.2 --flows 10 --imix --rate 50 --duration 3600 || return
	wait_for 60 arrived_since 2 "$before" || return
	fault "$kind" && wait_for 60 peer_is 1 2 up && wait_for 60 peer_is 2 1 up || return
	# While gen still sends, hosts exchange packets of both families in both directions.
	hosts_meet || return
	vm_signal sending INT && vm_output sending >/dev/null || return
	sent=$(jq .sent "$LAB_DIR/sending.out")
	cluster_settles || return
	vm_signal received INT && vm_output received >/dev/null || return
	received=$(jq .packets "$LAB_DIR/received.out")
	echo "$kind: sent $sent, received $received, $(jq -c '{reordered, duplicates, bad_checksum, bad_payload, wrong_mac}' "$LAB_DIR/received.out")"
	jq -e '.duplicates + .bad_checksum + .bad_payload + .wrong_mac == 0 and .packets > 0' "$LAB_DIR/received.out" >/dev/null &&
		fault_is_accounted_for "$sent" "$received" "$(jq .reordered "$LAB_DIR/received.out")" && wait_for 5 objects_are "$2"
}

# fault_is_accounted_for SENT RECEIVED REORDERED: do the sums hold that must hold after a fault?
# Prints the losses by name
fault_is_accounted_for() {
	local ledger wrong
	ledger=$(cluster_ledger 2>/dev/null)
	# No sum includes the frames that a restarted bridge held, so then sent and received cannot
	# be compared. While a path is broken, the kernel gets frames and ends them.
	[ "$(jq '.restarted | length' <<<"$ledger")" != 0 ] ||
		ledger=$(cluster_ledger "$1" "$2" no-route,unreachable,neighbour 2>/dev/null)
	[ -n "$ledger" ] && jq -c '{drops, restarted, punts: .nodes.n1.punts}' <<<"$ledger" || return
	# A frame may be overtaken only if it was still in the kernel of n1 when the fast path took over.
	[ "$3" -le "$(jq .nodes.n1.punts <<<"$ledger")" ] || { echo "$3 frames were overtaken"; return 1; }
	# Only the receiver knows the messages that were under way when the path broke: it counts
	# them as lost.
	wrong=$(jq -r '.wrong[]' <<<"$ledger" | grep -v '^fabric: ')
	[ -z "$wrong" ] || { echo "$wrong"; return 1; }
}
