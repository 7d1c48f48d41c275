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
	if [ "$3" = mixed ]; then
		vms_boot 1 "$2" $VMS_MIXED_MTU
	else
		vms_boot "$1" "$2" $VMS_MTU
	fi && vms_form "$@"
}

VMS_MTU=9000
VMS_MIXED_MTU=3500 # single-buffer XDP on veth takes no larger frames

# vms_boot MACHINES PORTS MTU: start the machines of nodes n1, n2, ..., each with an RDMA device on
# the fabric, and a host behind each port. Netdev mN of namespace `fabric` leads to machine nN.
vms_boot() {
	local n VM_PROCESSORS=1 # two would wait for each other
	vm_image || return
	CLUSTER_FABRIC_MTU=$3
	cluster_fabric || return
	for ((n = 1; n <= $1; n++)); do
		vm_up "n$n" "fabric:m$n:$3" && on fabric ip link set "m$n" master br0 || return
	done
	for ((n = 1; n <= $1; n++)); do
		vm_wait "n$n" || return
	done
	vms_each "$1" up "$2" "$3" && mkdir "$LAB_DIR/inside"
}

# vms_form NODES PORTS FABRIC: form a cluster of the first NODES machines, or with fabric mixed, of
# the first one and of nodes in namespaces; the other machines do nothing. A cluster before this one
# ends. If its nodes were the same machines, only their bridges start again.
vms_form() {
	local nodes=$1 ports=$2 machines=$1 mtu=$VMS_MTU n p
	VMS_TRANSPORT=$3
	# An emulated processor may not run for a while, because others use the machine too.
	: "${CLUSTER_LIVENESS_MS:=3000}"
	if [ "$3" = mixed ]; then
		machines=1 mtu=$VMS_MIXED_MTU VMS_TRANSPORT=verbs-ud
	elif [ "$(cat "$LAB_DIR/formed" 2>/dev/null)" = "$nodes machines" ]; then
		vms_each "$nodes" again "$nodes" "$ports"
		return
	fi
	vms_part && vms_each "$machines" plug "$mtu" || return
	for ((n = 1; n <= machines; n++)); do
		on fabric ip link set "m$n" up && echo "n$n" >"$LAB_DIR/inside/n$n" || return
		for ((p = 1; p <= ports; p++)); do echo "n$n" >"$LAB_DIR/inside/h${n}p$p"; done
	done
	CLUSTER_FABRIC_MTU=$mtu
	for ((n = machines + 1; n <= nodes; n++)); do
		cluster_node "$n" "$ports" &&
			cluster_config "$n" "$nodes" "$ports" "${TOPO_ENGINE:-fast}" >"$LAB_DIR/n$n.yaml" || return
	done
	vms_each "$machines" start "$nodes" "$ports" || return
	for ((n = machines + 1; n <= nodes; n++)); do
		cluster_start "$n" || return
	done
	vms_each "$machines" wait $((nodes - 1)) || return
	for ((n = machines + 1; n <= nodes; n++)); do
		wait_for 120 cluster_is_up "$n" $((nodes - 1)) || return
	done
	[ "$machines" -ne "$nodes" ] || echo "$nodes machines" >"$LAB_DIR/formed"
}

# vms_part: end the cluster, if there is one. The machines stay, out of reach of the fabric, with
# their RDMA devices.
vms_part() {
	local all=("$LAB_DIR"/vm/n*) file n
	[ ! -e "$LAB_DIR/inside/n1" ] || vms_each ${#all[@]} stop || return
	rm -f "$LAB_DIR/formed" "$LAB_DIR"/inside/*
	for file in "$LAB_DIR"/{node,host}/*; do
		[ ! -e "$file" ] || [ "${file##*/}" = fabric ] || namespaces_down "${file##*/}" || return
	done
	for ((n = 1; n <= ${#all[@]}; n++)); do on fabric ip link set "m$n" down || return; done
}

# vms_each MACHINES COMMAND ARGUMENT...: run guest-node COMMAND N ARGUMENT... in the machine of each
# node N, at once
vms_each() {
	local n jobs=()
	for ((n = 1; n <= $1; n++)); do
		vm_start "n$n" env "CLUSTER_TRANSPORT=${VMS_TRANSPORT:-}" "CLUSTER_LIVENESS_MS=${CLUSTER_LIVENESS_MS:-}" \
			"CLUSTER_BRIDGE=${CLUSTER_BRIDGE:-}" "$LAB_SOURCE/netns-lab/vm/guest-node" "$2" "$n" "${@:3}" || return
		jobs+=("n$n:$VM_JOB")
	done
	vm_finish_all "$VM_BOOT_SECONDS" "${jobs[@]}"
}
