# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Topology one-node: router n1; behind each of its ports eth1, eth2, ... a host h1, h2, ... with
# both families.

# shellcheck disable=SC2034
TOPO_TEXT="one router n1, a host behind each port"
# shellcheck disable=SC2034
TOPO_OPTIONS="--ports N (3)"

topo_up() {
	local ports=3 i routed=()
	while [ $# -gt 0 ]; do
		case $1 in
		--ports) ports=${2:-} ;;
		*) lab_error "one-node: unknown option $1" || return ;;
		esac
		shift 2
	done
	[[ $ports =~ ^[0-9]+$ ]] && [ "$ports" -ge 1 ] && [ "$ports" -le 250 ] ||
		lab_error "--ports: \"$ports\" is not a number from 1 to 250" || return

	node_up n1 || return
	for ((i = 1; i <= ports; i++)); do
		host_up "h$i" &&
			link "n1:eth$i" "h$i:eth0" &&
			on n1 ip addr add "10.0.$i.1/24" dev "eth$i" &&
			on n1 ip addr add "fd00:0:0:$i::1/64" dev "eth$i" &&
			on "h$i" ip addr add "10.0.$i.2/24" dev eth0 &&
			on "h$i" ip addr add "fd00:0:0:$i::2/64" dev eth0 &&
			on "h$i" ip route add default via "10.0.$i.1" &&
			on "h$i" ip route add default via "fd00:0:0:$i::1" || return
		routed+=("eth$i")
	done
	router_up n1 "$TOPO_ENGINE" "${routed[@]}"
}
