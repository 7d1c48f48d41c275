# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Is a lab cluster healthy, and does it hold nothing that does not belong there? For the tests of
# recovery and for `soak`. Source it after lab.sh and topo/cluster.sh. The nodes are n1 to
# nHEALTH_NODES, with HEALTH_PORTS ports each.

HEALTH_NODES=${HEALTH_NODES:-3}
HEALTH_PORTS=${HEALTH_PORTS:-2}

# health_hosts: all hosts, a line "N P" each
health_hosts() {
	local n p
	for ((n = 1; n <= HEALTH_NODES; n++)); do
		for ((p = 1; p <= HEALTH_PORTS; p++)); do
			echo "$n $p"
		done
	done
}

# hosts_reach_each_other: does every host get an answer from every other, by IPv4 and IPv6? Prints
# which do not.
hosts_reach_each_other() {
	local n p m q targets pids=() failed=0 pid
	while read -r n p; do
		targets=
		while read -r m q; do
			[ "$n $p" = "$m $q" ] || targets+=" 10.$m.$q.2 fd00:0:$m:$q::2"
		done < <(health_hosts)
		# shellcheck disable=SC2016
		on "h${n}p$p" bash -c 'pids=(); bad=0
			for to in '"$targets"'; do
				{ ping -n -c 1 -W 1 $to >/dev/null || { echo "'"h${n}p$p"' does not reach $to"; exit 1; } } & pids+=($!)
			done
			for pid in "${pids[@]}"; do wait $pid || bad=1; done
			exit $bad' &
		pids+=($!)
	done < <(health_hosts)
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	return $failed
}

# names_of_macs: a sed script that turns each MAC address of the lab's edge ports and hosts into its
# owner's name
names_of_macs() {
	local n p
	while read -r n p; do
		echo "s/$(mac_of "n$n" "eth$p")/n${n}p$p/g"
		echo "s/$(mac_of "h${n}p$p" eth0)/h${n}p$p/g"
	done < <(health_hosts)
}

# cluster_inventory: print what the daemons and bridges of all nodes hold, a line each, to compare
# with a later one: netdevs and their XDP, our routes and neighbours, pins, sockets, processes.
cluster_inventory() {
	local n macs
	macs=$(names_of_macs) || return
	for ((n = 1; n <= HEALTH_NODES; n++)); do
		# shellcheck disable=SC2016
		on "n$n" bash -c '
			ip -j link | jq -r ".[] | \"link \(.ifname) mtu=\(.mtu) \(.operstate) xdp=\(.xdp.mode // 0)\" +
				if .ifname | test(\"^n[0-9]+p\") then \" mac=\(.address)\" else \"\" end"
			for family in -4 -6; do
				ip $family -j route show table all proto 164 |
					jq -r ".[] | \"route \(.dst) via \(.gateway) dev \(.dev) src \(.prefsrc) \(.flags | join(\",\"))\""
			done
			ip -j neigh show nud permanent | jq -r ".[] | select(.dev | test(\"^n[0-9]+p\")) | select(.dst | test(\"^fe80\") | not) |
				\"neighbour \(.dst) dev \(.dev) mac=\(.lladdr)\""
			find /sys/fs/bpf -mindepth 1 | sed -E "s/^/pin /; s/(sl_edge_)[0-9]+/\1IFINDEX/"
			find /run/sluice -type s | sed "s/^/socket /"
			for ns in /proc/[0-9]*/ns/net; do
				dir=${ns%/ns/net}
				[ $ns -ef /proc/self/ns/net ] && read -r name <$dir/comm && [[ $name = sluice* ]] || continue
				# The fewest of five looks: a descriptor that is open for a moment
				# does not count.
				for look in 1 2 3 4 5; do find $dir/fd -type l ! -lname "anon_inode:bpf*" | wc -l; done |
					sort -n | sed "s/.*/process $name with & descriptors but for maps/;q"
			done 2>/dev/null' |
			sed "s/^/n$n: /"
	done | sed "$macs" | LC_ALL=C sort
}

# settled_inventory FILE: write the inventory of a cluster that has just formed, once two looks agree
settled_inventory() {
	cluster_inventory >"$1"
	until diff "$1" <(cluster_inventory) >/dev/null; do cluster_inventory >"$1"; done
}

# all_peers_are_up: does every bridge have every other as up? Prints the peers of each that has not.
all_peers_are_up() {
	local n failed=0 got
	for ((n = 1; n <= HEALTH_NODES; n++)); do
		got=$(bridge_ask "$n" peers | jq -r '"\(.node)=\(.state)"' | tr '\n' ' ')
		[ "$(grep -o '=up' <<<"$got" | wc -l)" -eq $((HEALTH_NODES - 1)) ] || {
			echo "peers of n$n: $got"
			failed=1
		}
	done
	return $failed
}

# no_chunk_is_misused: has no bridge used a chunk of packet memory that it did not own?
no_chunk_is_misused() {
	local n
	for ((n = 1; n <= HEALTH_NODES; n++)); do
		[ "$(bridge_ask "$n" status | jq .violations)" = 0 ] || {
			echo "n$n: violations of chunk ownership"
			return 1
		}
	done
}

# cluster_is_healthy FILE: are peers up, do hosts reach each other, and is the inventory the one in
# FILE? Prints what is not.
cluster_is_healthy() {
	local now
	all_peers_are_up && hosts_reach_each_other && no_chunk_is_misused || return
	now=$(cluster_inventory)
	diff <(cat "$1") <(echo "$now")
}
