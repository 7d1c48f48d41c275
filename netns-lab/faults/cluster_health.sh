# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Is a lab cluster whole, and does it hold nothing but what belongs there? For the tests of recovery and for `soak`. After
# lab.sh and topo/cluster.sh; nodes n1 to nWHOLE_NODES with WHOLE_PORTS ports each.

WHOLE_NODES=${WHOLE_NODES:-3}
WHOLE_PORTS=${WHOLE_PORTS:-2}

# whole_hosts: names of all hosts, as N P
whole_hosts() {
	local n p
	for ((n = 1; n <= WHOLE_NODES; n++)); do
		for ((p = 1; p <= WHOLE_PORTS; p++)); do
			echo "$n $p"
		done
	done
}

# all_reach_all: every host gets an answer from every other, by IPv4 and IPv6; prints who does not.
all_reach_all() {
	local n p m q targets pids=() failed=0 pid
	while read -r n p; do
		targets=
		while read -r m q; do
			[ "$n $p" = "$m $q" ] || targets+=" 10.$m.$q.2 fd00:0:$m:$q::2"
		done < <(whole_hosts)
		# shellcheck disable=SC2016
		on "h${n}p$p" bash -c 'pids=(); bad=0
			for to in '"$targets"'; do
				{ ping -n -c 1 -W 1 $to >/dev/null || { echo "'"h${n}p$p"' does not reach $to"; exit 1; } } & pids+=($!)
			done
			for pid in "${pids[@]}"; do wait $pid || bad=1; done
			exit $bad' &
		pids+=($!)
	done < <(whole_hosts)
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	return $failed
}

# names_of_macs: a sed script that turns each MAC address of the lab's edge ports and hosts into its owner's name
names_of_macs() {
	local n p
	while read -r n p; do
		echo "s/$(mac_of "n$n" "eth$p")/n${n}p$p/g"
		echo "s/$(mac_of "h${n}p$p" eth0)/h${n}p$p/g"
	done < <(whole_hosts)
}

# inventory: all that daemons and bridges of all nodes hold, a line each, comparable with a later one: netdevs and their
# XDP, routes and neighbours of ours, pins, sockets, processes.
inventory() {
	local n macs
	macs=$(names_of_macs) || return
	for ((n = 1; n <= WHOLE_NODES; n++)); do
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
			find /sys/fs/bpf -mindepth 1 | sed "s/^/pin /"
			find /run/sluice -type s | sed "s/^/socket /"
			for ns in /proc/[0-9]*/ns/net; do
				dir=${ns%/ns/net}
				[ $ns -ef /proc/self/ns/net ] && read -r name <$dir/comm && [[ $name = sluice* ]] || continue
				# The fewest of some looks: what is open for a moment is none that it holds.
				for look in 1 2 3 4 5; do find $dir/fd -type l ! -lname "anon_inode:bpf*" | wc -l; done |
					sort -n | sed "s/.*/process $name with & descriptors but for maps/;q"
			done 2>/dev/null' |
			sed "s/^/n$n: /"
	done | sed "$macs" | LC_ALL=C sort
}

# peers_are_up: every bridge has every other as up; prints who has not.
peers_are_up() {
	local n failed=0 got
	for ((n = 1; n <= WHOLE_NODES; n++)); do
		got=$(bridge_ask "$n" peers | jq -r '"\(.node)=\(.state)"' | tr '\n' ' ')
		[ "$(grep -o '=up' <<<"$got" | wc -l)" -eq $((WHOLE_NODES - 1)) ] || {
			echo "peers of n$n: $got"
			failed=1
		}
	done
	return $failed
}

# chunks_are_owned: no bridge has used a chunk of packet memory that was not its own to use
chunks_are_owned() {
	local n
	for ((n = 1; n <= WHOLE_NODES; n++)); do
		[ "$(bridge_ask "$n" status | jq .violations)" = 0 ] || {
			echo "n$n: violations of chunk ownership"
			return 1
		}
	done
}

# is_whole FILE: peers up, hosts reach each other, and the inventory is the one in FILE; prints what is not so.
is_whole() {
	local now
	peers_are_up && all_reach_all && chunks_are_owned || return
	now=$(inventory)
	diff <(cat "$1") <(echo "$now")
}
