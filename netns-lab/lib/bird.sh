# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# BIRD on the nodes of a cluster (topo/cluster.sh) and on hosts beside it. Source it after both.
#
#   bird_node 1 1:65001              # n1; behind its port 1 a neighbour of AS 65001
#   bird_host h1p1 65001 feed4 feed6 # its neighbour, which announces the prefixes in these files
#
# A node's configuration is what `sluice cluster routing` prints, and its neighbours outside.

BIRD_AS=65000

# bird_node N [PORT:AS...]: start BIRD on node N, with eBGP neighbours behind those ports
bird_node() {
	local n=$1 outside
	shift
	{
		echo "log stderr { warning, error, fatal, bug };"
		"$LAB_SOURCE/build/sluice" cluster routing --bird "$LAB_DIR/n$n.yaml" || return
		for outside in "$@"; do
			bird_outside "$n" "${outside%:*}" "${outside#*:}"
		done
	} >"$LAB_DIR/bird-n$n.conf"
	spawn "n$n" "bird-n$n" bird -f -c "$LAB_DIR/bird-n$n.conf"
}

# bird_outside N PORT AS: print what an operator adds for a neighbour. By default a session waits
# for a minute after its link was down.
bird_outside() {
	echo "protocol bgp port$2 from outside { neighbor 10.$1.$2.2 as $3;" \
		"connect delay time 1; error wait time 1, 2; }"
}

# bird_host hNpP AS FILE4 FILE6: a host that announces the prefixes in these files, one a line, and
# routes nothing itself. BIRD_BFD, if it is set, has options of BFD with the node. By default a
# session waits for a minute after the node has ended it. What the node tells it, birdc shows at
# $LAB_DIR/bird-hNpP.ctl, also of prefixes that come from another host of its AS.
bird_host() {
	local host=$1 as=$2 n=${1:1:1} p=${1:3} bfd=
	[ -z "${BIRD_BFD:-}" ] || bfd="protocol bfd { interface \"eth0\" { $BIRD_BFD }; }"
	bird_feed "$3" >"$LAB_DIR/feed4-$host.conf" && bird_feed "$4" >"$LAB_DIR/feed6-$host.conf" || return
	cat >"$LAB_DIR/bird-$host.conf" <<-END
		router id 10.$n.$p.2;
		protocol device {}
		$bfd
		protocol static {
			ipv4;
			include "$LAB_DIR/feed4-$host.conf";
		}
		protocol static {
			ipv6;
			include "$LAB_DIR/feed6-$host.conf";
		}
		protocol bgp node {
			local 10.$n.$p.2 as $as; neighbor 10.$n.$p.1 as $BIRD_AS;
			connect delay time 1; connect retry time 1; error wait time 1, 2; allow local as;
			${BIRD_BFD:+bfd on;}
			ipv4 { import all; export where source = RTS_STATIC; next hop self; };
			ipv6 { import all; export where source = RTS_STATIC; next hop address fd00:0:$n:$p::2; };
		}
	END
	spawn "$host" "bird-$host" bird -f -c "$LAB_DIR/bird-$host.conf" -s "$LAB_DIR/bird-$host.ctl"
}

bird_feed() { awk '{ print "route " $1 " blackhole;" }' "$1"; }
