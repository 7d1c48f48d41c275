# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# BIRD on the nodes of a cluster (topo/cluster.sh) and on hosts beside it. Source it after both.
#
#   bird_node 1 3 2 1:65001          # n1 of 3 nodes with 2 ports; behind port 1 a neighbour of AS 65001
#   bird_host h1p1 65001 feed4 feed6 # its neighbour, which announces the prefixes in these files
#
# The nodes are one AS with a mesh of iBGP sessions between their fabric addresses. A route keeps
# the next hop that the neighbour outside announced. BIRD finds that next hop among the ports of the
# cluster, so it lies behind a remote port and packets take one hop. The prefixes of the ports are
# static routes with `check link`: when a remote port loses carrier, BIRD drops the next hops behind
# it. Packets that a node itself sends have the address of its first port, since remote ports have
# none.
#
# When all routes change at once, the kernel's messages overrun the default buffer of BIRD's netlink
# sockets. BIRD finds what it missed only at its next scan of links or routes. So the buffer is
# larger, and BIRD scans the links often.

BIRD_AS=65000

# bird_node N NODES PORTS [PORT:AS...]: start BIRD on node N, with eBGP neighbours behind those
# ports
bird_node() {
	local n=$1
	bird_node_config "$@" >"$LAB_DIR/bird-n$n.conf"
	spawn "n$n" "bird-n$n" bird -f -c "$LAB_DIR/bird-n$n.conf"
}

bird_node_config() {
	local n=$1 nodes=$2 ports=$3 i outside
	shift 3
	cat <<-END
		log stderr { warning, error, fatal, bug };
		router id 10.9.0.$n;
		protocol device { scan time 2; }
		filter outside4 { if source != RTS_BGP then reject; krt_prefsrc = 10.$n.1.1; accept; }
		filter outside6 { if source != RTS_BGP then reject; krt_prefsrc = fd00:0:$n:1::1; accept; }
		protocol kernel { persist; netlink rx buffer 67108864; ipv4 { export filter outside4; }; }
		protocol kernel { persist; netlink rx buffer 67108864; ipv6 { export filter outside6; }; }
		protocol static ports4 {
			ipv4;
			check link;
		$(bird_ports "$n" "$nodes" "$ports" 10.%d.%d.0/24)
		}
		protocol static ports6 {
			ipv6;
			check link;
		$(bird_ports "$n" "$nodes" "$ports" fd00:0:%d:%d::/64)
		}
		template bgp inside {
			local 10.9.0.$n as $BIRD_AS;
			connect delay time 1; connect retry time 1;
			ipv4 { import all; export where source = RTS_BGP; };
			ipv6 { import all; export where source = RTS_BGP; };
		}
	END
	for ((i = 1; i <= nodes; i++)); do
		[ "$i" -eq "$n" ] || echo "protocol bgp n$i from inside { neighbor 10.9.0.$i as $BIRD_AS; }"
	done
	for outside in "$@"; do
		cat <<-END
			protocol bgp port${outside%:*} {
				local 10.$n.${outside%:*}.1 as $BIRD_AS; neighbor 10.$n.${outside%:*}.2 as ${outside#*:};
				connect delay time 1; connect retry time 1;
				ipv4 { import all; export none; };
				ipv6 { import all; export none; };
			}
		END
	done
}

# bird_ports N NODES PORTS FORMAT: the prefix of every port of the cluster, and the netdev by which
# node N reaches it
bird_ports() {
	local n=$1 nodes=$2 ports=$3 m p dev
	for ((m = 1; m <= nodes; m++)); do
		for ((p = 1; p <= ports; p++)); do
			dev=n${m}p$p
			[ "$m" -ne "$n" ] || dev=eth$p
			# shellcheck disable=SC2059
			printf "	route $4 via \"%s\";\n" "$m" "$p" "$dev"
		done
	done
}

# bird_host hNpP AS FILE4 FILE6: a host that announces the prefixes in these files, one a line, and
# routes nothing itself
bird_host() {
	local host=$1 as=$2 n=${1:1:1} p=${1:3}
	bird_feed "$3" >"$LAB_DIR/feed4-$host.conf" && bird_feed "$4" >"$LAB_DIR/feed6-$host.conf" || return
	cat >"$LAB_DIR/bird-$host.conf" <<-END
		router id 10.$n.$p.2;
		protocol device {}
		protocol static {
			ipv4;
			include "$LAB_DIR/feed4-$host.conf";
		}
		protocol static {
			ipv6;
			include "$LAB_DIR/feed6-$host.conf";
		}
		protocol bgp {
			local 10.$n.$p.2 as $as; neighbor 10.$n.$p.1 as $BIRD_AS;
			connect delay time 1; connect retry time 1;
			ipv4 { import none; export all; next hop self; };
			ipv6 { import none; export all; next hop address fd00:0:$n:$p::2; };
		}
	END
	spawn "$host" "bird-$host" bird -f -c "$LAB_DIR/bird-$host.conf"
}

bird_feed() { awk '{ print "route " $1 " blackhole;" }' "$1"; }
