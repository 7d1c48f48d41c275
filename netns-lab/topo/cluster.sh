# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Topology cluster: nodes n1, n2, ... on a fabric; behind port P of node N a host hNpP with both
# families. The fabric has MTU 3500: single-buffer XDP on veth takes no larger frames. It is a Linux
# bridge in the namespace `fabric`, or, of two nodes, a veth between them (CLUSTER_WIRE=veth).

# shellcheck disable=SC2034
TOPO_TEXT="routers n1, n2, ... that act as one, a host behind each port"
# shellcheck disable=SC2034
TOPO_OPTIONS="--nodes N (3), --ports P (2), --fabric roce-xdp, --wire bridge|veth (bridge)"

CLUSTER_FABRIC_MTU=3500
CLUSTER_EDGE_MTU=3384

topo_up() {
	local nodes=3 ports=2 fabric=roce-xdp n
	while [ $# -gt 0 ]; do
		case $1 in
		--nodes) nodes=${2:-} ;;
		--ports) ports=${2:-} ;;
		--fabric) fabric=${2:-} ;;
		--wire) CLUSTER_WIRE=${2:-} ;;
		*) lab_error "cluster: unknown option $1" || return ;;
		esac
		shift 2
	done
	[[ $nodes =~ ^[2-8]$ ]] || lab_error "--nodes: \"$nodes\" is not a number from 2 to 8" || return
	[[ $ports =~ ^[1-8]$ ]] || lab_error "--ports: \"$ports\" is not a number from 1 to 8" || return
	[ "$fabric" = roce-xdp ] || lab_error "--fabric: \"$fabric\" is no fabric of the lab: roce-xdp" || return
	case ${CLUSTER_WIRE:=bridge} in
	bridge) ;;
	veth) [ "$nodes" = 2 ] || lab_error "--wire: a veth has two ends, so --nodes must be 2" || return ;;
	*) lab_error "--wire: \"$CLUSTER_WIRE\" is not bridge or veth" || return ;;
	esac

	cluster_fabric "$CLUSTER_WIRE" || return
	for ((n = 1; n <= nodes; n++)); do
		cluster_node "$n" "$ports" || return
	done
	for ((n = 1; n <= nodes; n++)); do
		cluster_config "$n" "$nodes" "$ports" "$TOPO_ENGINE" >"$LAB_DIR/n$n.yaml" &&
			cluster_start "$n" || return
	done
	for ((n = 1; n <= nodes; n++)); do
		wait_for 60 cluster_is_up "$n" $((nodes - 1)) || return
	done
}

# cluster_fabric [bridge|veth]: what the nodes meet on, and their key
cluster_fabric() {
	(umask 077 && head -c 32 /dev/urandom >"$LAB_DIR/cluster.key") || return
	[ "${1:-bridge}" = bridge ] || return 0
	host_up fabric &&
		on fabric ip link add br0 mtu $CLUSTER_FABRIC_MTU type bridge &&
		on fabric ip link set br0 up
}

# cluster_node N PORTS: node nN on the fabric, with its hosts
cluster_node() {
	node_up "n$1" && cluster_wire_fabric "$1" && cluster_edges "$1" "$2"
}

# cluster_edges N PORTS: the hosts of node nN
cluster_edges() {
	local n=$1 ports=$2 p
	for ((p = 1; p <= ports; p++)); do
		host_up "h${n}p$p" && cluster_wire_port "$n" "$p" || return
	done
}

# cluster_wire_fabric N: make node nN's netdev on the fabric, at first or after a fault. A veth with TSO puts what
# AF_XDP sends into a queue of the processor, which all namespaces share: messages of a bridge that moves to another
# processor could overtake earlier ones. Without, they take a ring of the netdev, as with an adapter. No message needs TSO.
cluster_wire_fabric() {
	if [ "${CLUSTER_WIRE:-bridge}" = veth ]; then
		[ "$1" = 2 ] || return 0 # node 1 waits for the other end
		link n1:fab0 n2:fab0 $CLUSTER_FABRIC_MTU && cluster_set_fabric 1 && cluster_set_fabric 2
		return
	fi
	link "n$1:fab0" "fabric:n$1" $CLUSTER_FABRIC_MTU &&
		on fabric ip link set "n$1" master br0 &&
		cluster_set_fabric "$1"
}

cluster_set_fabric() {
	on "n$1" ethtool -K fab0 tso off >/dev/null &&
		on "n$1" ip addr add "10.9.0.$1/24" dev fab0 &&
		{ [ "${CLUSTER_WORKERS:-1}" = 1 ] || on "n$1" ethtool -L fab0 rx "$CLUSTER_WORKERS" tx "$CLUSTER_WORKERS"; }
}

# cluster_wire_port N P: make port P of node nN and connect the host behind it, at first or after a
# fault. Without TSO, as the fabric, so that what the bridge and what XDP sends take the same ring of the veth.
cluster_wire_port() {
	local n=$1 p=$2
	link "n$n:eth$p" "h${n}p$p:eth0" $CLUSTER_EDGE_MTU &&
		on "n$n" ethtool -K "eth$p" tso off >/dev/null && cluster_address_port "$n" "$p"
}

# cluster_address_port N P: the addresses of port P of node nN and of the host behind it
cluster_address_port() {
	local n=$1 p=$2
	on "n$n" ip addr add "10.$n.$p.1/24" dev "eth$p" &&
		on "n$n" ip addr add "fd00:0:$n:$p::1/64" dev "eth$p" nodad &&
		on "h${n}p$p" ip addr add "10.$n.$p.2/24" dev eth0 &&
		on "h${n}p$p" ip addr add "fd00:0:$n:$p::2/64" dev eth0 nodad &&
		on "h${n}p$p" ip route add default via "10.$n.$p.1" &&
		on "h${n}p$p" ip route add default via "fd00:0:$n:$p::1"
}

# cluster_config N NODES PORTS ENGINE: print the configuration of node N. Variables: CLUSTER_BRIDGE
# has keys of `bridge:`; CLUSTER_LIVENESS_MS is liveness_ms, the silence after which a node counts
# as dead; CLUSTER_CLOCK_ERROR_US is clock_error_us, which one clock for all nodes keeps; CLUSTER_PORT_n2p1 has more keys of that port, CLUSTER_PORTS of all of this node; CLUSTER_TRANSPORT is the transport, CLUSTER_FABRIC has more keys of `fabric:`;
# CLUSTER_WORKERS is the number of a bridge's workers; CLUSTER_RESERVE is `reserve`; CLUSTER_ABSENT nodes of 4 ports are configured
# that do not exist
cluster_config() {
	local i p keys ports=$3
	cat <<-END
		engine: $4
		heartbeat_s: 600
		cluster:
		  node: $1
		  key_file: $LAB_DIR/cluster.key
		  fabric: {device: fab0, transport: ${CLUSTER_TRANSPORT:-roce-xdp}${CLUSTER_FABRIC:+, $CLUSTER_FABRIC}}
		  liveness_ms: ${CLUSTER_LIVENESS_MS:-50}
		  ${CLUSTER_RESERVE:+reserve: $CLUSTER_RESERVE}
		  ${CLUSTER_CLOCK_ERROR_US:+clock_error_us: $CLUSTER_CLOCK_ERROR_US}
		  bridge: {${CLUSTER_WORKERS:+workers: $CLUSTER_WORKERS, }${CLUSTER_BRIDGE:-}}
		  nodes:
	END
	for ((i = 1; i <= $2 + ${CLUSTER_ABSENT:-0}; i++)); do
		printf '    - id: %d\n      address: 10.9.0.%d\n      ports:\n' "$i" "$i"
		[ "$i" -le "$2" ] || ports=4
		for ((p = 1; p <= ports; p++)); do
			keys=CLUSTER_PORT_n${i}p$p
			printf '        - {number: %d, name: eth%d, addresses: %s%s}\n' "$p" "$p" \
				"10.$i.$p.1/24 fd00:0:$i:$p::1/64" "${CLUSTER_PORTS:+, $CLUSTER_PORTS}${!keys:+, ${!keys}}"
		done
	done
}

# cluster_start N: start both daemons of a node
cluster_start() {
	bridge_start "$1" && router_start "n$1"
}

# bridge_start N [CONFIG]: start the bridge, with the priority of its service unit and no more
# rights than the unit gives it (CAP_SYS_NICE instead of LimitRTPRIO=, which needs more here). The
# caller has told the bridge before it to end; this waits for that. CLUSTER_PROGRAM is a program to
# run instead of the bridge
bridge_start() {
	await_end "bridge-n$1" || return
	spawn "n$1" "bridge-n$1" nice -n -10 setpriv --bounding-set=-all,+bpf,+perfmon,+net_admin,+net_raw,+ipc_lock,+chown,+sys_nice \
		"${CLUSTER_PROGRAM:-$LAB_SOURCE/build/sluice-bridge}" --config "${2:-$LAB_DIR/n$1.yaml}" || return
	raise_session "$SPAWNED"
}

# raise_session PID: where the kernel groups processes by session (autogroup), a niceness counts
# only inside its group. So raise the group, once the process has one of its own
raise_session() {
	[ -e /proc/self/autogroup ] || return 0
	wait_for 60 leads_session_or_died "$1" && { echo -10 >"/proc/$1/autogroup" || true; } 2>/dev/null
}

leads_session_or_died() { [ ! -e "/proc/$1/stat" ] || [ "$(cut -d' ' -f6 "/proc/$1/stat")" = "$1" ]; }

# bridge_ask N WHAT: rows of the bridge's control socket, one JSON object a line. A bridge closes
# the connection after its answer; we wait a minute at most. Tests ask often, and jq takes ten times
# the processor time that sed takes to start.
bridge_ask() {
	# shellcheck disable=SC2016
	on "n$1" sh -c 'printf "{\"command\": \"%s\"}\n" "$1" | socat -t 60 - UNIX:/run/sluice/sluice-bridge.sock' sh "$2" |
		sed '1{/^{"hello":/d}; /^{"end":/d'
}

# cluster_is_up N PEERS: does node N see carrier on the first port of so many peers?
cluster_is_up() {
	[ "$(on "n$1" sh -c 'cat /sys/class/net/n[0-9]*p1/operstate' | grep -c '^up$')" -eq "$2" ]
}

# cluster_counts: cluster_conserves counts from now on; waits until nothing is under way
cluster_counts() { /usr/bin/python3 -B "$LAB_SOURCE/netns-lab/lib/conservation.py" begin; }

# cluster_settles: wait until no frame is under way, whether or not the sums hold
cluster_settles() { /usr/bin/python3 -B "$LAB_SOURCE/netns-lab/lib/conservation.py" settle; }

# cluster_conserves [SENT RECEIVED [REASON,...]]: is every frame since cluster_counts accounted for on
# all nodes? With the numbers that generator and sink counted: to the packet, end to end; frames of
# the generator that were punted for these reasons may have ended in the kernel. Waits until nothing
# is under way; prints the ledger.
cluster_conserves() { cluster_check "" "$@"; }

# cluster_ledger [SENT RECEIVED [REASON,...]]: the same after something that some sums do not survive:
# does not wait until they hold
cluster_ledger() { cluster_check --settled "$@"; }

cluster_check() {
	/usr/bin/python3 -B "$LAB_SOURCE/netns-lab/lib/conservation.py" check ${1:+"$1"} ${2:+--sent "$2" --received "$3"} ${4:+--punted "$4"}
}
