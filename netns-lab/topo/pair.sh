# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Topology pair: h1 - n1 - h2 for measurements. Neighbours never expire; h2 is 16 next hops; the
# table has one route or a default route of each family, or real prefixes, or those of a file with one
# a line, spread over the next hops. Engine fib-lookup is benchmarks/fib_forward.bpf.c.

# shellcheck disable=SC2034
TOPO_TEXT="h1 - n1 - h2 for measurements"
# shellcheck disable=SC2034
TOPO_OPTIONS="--routes one|default|ipv4|ipv6|FILE (one), --mtu N (3384)"

topo_up() {
	local routes=one mtu=3384 i mac
	while [ $# -gt 0 ]; do
		case $1 in
		--routes) routes=${2:-} ;;
		--mtu) mtu=${2:-} ;;
		*) lab_error "pair: unknown option $1" || return ;;
		esac
		shift 2
	done
	node_up n1 && host_up h1 && host_up h2 || return
	for i in 1 2; do
		link "n1:eth$i" "h$i:eth0" "$mtu" &&
			on n1 ip addr add "10.0.$i.1/24" dev "eth$i" &&
			on n1 ip addr add "fd00:0:0:$i::1/64" dev "eth$i" &&
			on "h$i" ip addr add "10.0.$i.2/24" dev eth0 &&
			on "h$i" ip addr add "fd00:0:0:$i::2/64" dev eth0 || return
	done
	mac=$(mac_of h2 eth0)
	for i in {2..17}; do
		echo "neigh add 10.0.2.$i lladdr $mac dev eth2 nud permanent"
		echo "neigh add fd00:0:0:2::$i lladdr $mac dev eth2 nud permanent"
	done | on n1 ip -batch - || return
	mac=$(mac_of h1 eth0)
	on n1 ip neigh add 10.0.1.2 lladdr "$mac" dev eth1 nud permanent
	on n1 ip neigh add fd00:0:0:1::2 lladdr "$mac" dev eth1 nud permanent
	pair_routes "$routes" || return
	if [ "$TOPO_ENGINE" = fib-lookup ]; then
		on n1 ip link set dev eth1 xdp obj "$LAB_SOURCE/build/lab/fib_forward.bpf.o" section xdp
	else
		router_up n1 "$TOPO_ENGINE" eth1 eth2
	fi
}

pair_routes() {
	local data=$LAB_SOURCE/netns-lab/data
	case $1 in
	one)
		on n1 ip route add 10.64.0.0/16 via 10.0.2.2 &&
			on n1 ip route add fd64::/16 via fd00:0:0:2::2
		;;
	default)
		on n1 ip route add default via 10.0.2.2 &&
			on n1 ip route add default via fd00:0:0:2::2
		;;
	ipv4) xz -dc "$data/internet-v4.txt.xz" | batch_routes 10.0.2. | on n1 ip -batch - ;;
	ipv6) xz -dc "$data/internet-v6.txt.xz" | batch_routes fd00:0:0:2:: | on n1 ip -6 -batch - ;;
	*/*) pair_routes_of "$1" ;;
	*) lab_error "--routes: \"$1\" is not one, default, ipv4, ipv6 or the path of a file" ;;
	esac
}

pair_routes_of() {
	if grep -q : "$1"; then
		batch_routes fd00:0:0:2:: <"$1" | on n1 ip -6 -batch -
	else
		batch_routes 10.0.2. <"$1" | on n1 ip -batch -
	fi
}

# The data are sorted and contain one prefix twice (two ASes originate it).
batch_routes() { awk -v via="$1" '$1 == last { next } { last = $1; print "route add " $1 " via " via 2 + NR % 16 " dev eth2" }'; }
