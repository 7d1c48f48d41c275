# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Topology vms: like `cluster`, but each node is a virtual machine with an RDMA device (the kernel's
# own RoCE). With --fabric mixed, node n1 is such a machine, on verbs-ud, and the others are
# namespaces on roce-xdp.

# shellcheck source=netns-lab/topo/cluster.sh disable=SC1091
. "$LAB_SOURCE/netns-lab/topo/cluster.sh"
# shellcheck source=netns-lab/vm/vm.sh disable=SC1091
. "$LAB_SOURCE/netns-lab/vm/vm.sh"

# shellcheck disable=SC2034
TOPO_TEXT="a cluster in virtual machines with RDMA devices"
# shellcheck disable=SC2034
TOPO_OPTIONS="--nodes N (2), --ports P (1), --fabric verbs-ud|verbs-rc|mixed (verbs-ud)"

topo_up() {
	local nodes=2 ports=1 fabric=verbs-ud
	while [ $# -gt 0 ]; do
		case $1 in
		--nodes) nodes=${2:-} ;;
		--ports) ports=${2:-} ;;
		--fabric) fabric=${2:-} ;;
		*) lab_error "vms: unknown option $1" || return ;;
		esac
		shift 2
	done
	[[ $nodes =~ ^[23]$ ]] || lab_error "--nodes: \"$nodes\" is not 2 or 3" || return
	[[ $ports =~ ^[1-8]$ ]] || lab_error "--ports: \"$ports\" is not a number from 1 to 8" || return
	case $fabric in
	verbs-ud | verbs-rc | mixed) ;;
	*) lab_error "--fabric: \"$fabric\" is no fabric of machines: verbs-ud, verbs-rc or mixed" || return ;;
	esac
	vms_up "$nodes" "$ports" "$fabric"
}

# vms_up NODES PORTS FABRIC: what topo_up does, without options
vms_up() {
	local nodes=$1 ports=$2 fabric=$3 machines=$1 mtu=9000 n p VM_PROCESSORS=1 # two would wait for each other
	vm_image || return
	if [ "$fabric" = mixed ]; then
		machines=1 mtu=3500 fabric=verbs-ud
	fi
	CLUSTER_FABRIC_MTU=$mtu VMS_TRANSPORT=$fabric
	# An emulated processor may not run for a while, because others use the machine too.
	: "${CLUSTER_LIVENESS_MS:=3000}"
	cluster_fabric || return
	for ((n = 1; n <= machines; n++)); do
		vm_up "n$n" "fabric:n$n:$mtu" && on fabric ip link set "n$n" master br0 || return
	done
	for ((n = machines + 1; n <= nodes; n++)); do
		cluster_node "$n" "$ports" &&
			cluster_config "$n" "$nodes" "$ports" "${TOPO_ENGINE:-fast}" >"$LAB_DIR/n$n.yaml" || return
	done
	for ((n = 1; n <= machines; n++)); do
		vm_wait "n$n" || return
	done
	vms_each "$machines" up "$ports" "$mtu" || return
	mkdir -p "$LAB_DIR/inside"
	for ((n = 1; n <= machines; n++)); do
		echo "n$n" >"$LAB_DIR/inside/n$n"
		for ((p = 1; p <= ports; p++)); do echo "n$n" >"$LAB_DIR/inside/h${n}p$p"; done
	done
	vms_each "$machines" start "$nodes" "$ports" || return
	for ((n = machines + 1; n <= nodes; n++)); do
		cluster_start "$n" || return
	done
	vms_each "$machines" wait $((nodes - 1)) || return
	for ((n = machines + 1; n <= nodes; n++)); do
		wait_for 120 cluster_is_up "$n" $((nodes - 1)) || return
	done
}

# vms_each MACHINES COMMAND ARGUMENT...: run guest-node COMMAND N ARGUMENT... in the machine of each
# node N, at once
vms_each() {
	local n jobs=()
	for ((n = 1; n <= $1; n++)); do
		vm_start "n$n" env "CLUSTER_TRANSPORT=$VMS_TRANSPORT" "CLUSTER_LIVENESS_MS=$CLUSTER_LIVENESS_MS" \
			"CLUSTER_BRIDGE=${CLUSTER_BRIDGE:-}" "$LAB_SOURCE/netns-lab/vm/guest-node" "$2" "$n" "${@:3}" || return
		jobs+=("n$n:$VM_JOB")
	done
	vm_finish_all "$VM_BOOT_SECONDS" "${jobs[@]}"
}

# vms_again NODES PORTS FABRIC: make another cluster of the first NODES machines; the others do
# nothing. If the nodes are the same as before, only their bridges start again.
vms_again() {
	local all=("$LAB_DIR"/vm/n*) now=("$LAB_DIR"/inside/n*) n
	VMS_TRANSPORT=$3
	: "${CLUSTER_LIVENESS_MS:=3000}"
	if [ ${#now[@]} -eq "$1" ]; then
		vms_each "$1" again "$1" "$2"
		return
	fi
	vms_each ${#all[@]} stop || return
	for ((n = 1; n <= ${#all[@]}; n++)); do
		if [ "$n" -le "$1" ]; then echo "n$n" >"$LAB_DIR/inside/n$n"; else rm -f "$LAB_DIR/inside/n$n"; fi
	done
	vms_each "$1" start "$1" "$2" && vms_each "$1" wait $(($1 - 1))
}
