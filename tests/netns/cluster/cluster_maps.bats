#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The maps that daemon and bridge share: a reload of the daemon that fails halfway, one that makes
# other maps while the bridge runs, and maps of another version of sluice. The bridges run under ASan
# and UBSan.
bats_require_minimum_version 1.5.0

load cluster

setup_file() {
	export CLUSTER_PROGRAM=$PWD/build/tests/sluice-bridge
	cluster_begin 2 1
}

# hosts_answer: does each host reach the other, by both families?
hosts_answer() {
	on h1p1 ping -c 1 -W 1 10.2.1.2 && on h2p1 ping -c 1 -W 1 fd00:0:1:1::2 && on h1p1 ping -c 1 -W 1 fd00:0:2:1::2
} >/dev/null

# cross: traffic in both directions, all of which must arrive
cross() {
	wait_for 30 carrier 1 2 1 && wait_for 30 carrier 2 1 1 && wait_for 30 hosts_answer || return
	send_all h1p1 n1:eth1 h2p1 500 --dst 10.2.1.2 && send_all h2p1 n2:eth1 h1p1 500 --dst fd00:0:1:1::2
}

log_has() { [ "$(grep -cF -- "$2" "$LAB_DIR/$1.err")" -ge "${3:-1}" ]; }

# everything: all that a reload could change on node 1
everything() {
	on n1 ip -j link show | jq -c '.[] | [.ifname, .address, .mtu, .operstate, .xdp.prog.id]'
	on n1 ip route show table all
	on n1 ip -6 route show table all
	on n1 find /sys/fs/bpf /run/sluice -mindepth 1 | sort
	on n1 bash -c 'for pin in /sys/fs/bpf/sluice/sl_*; do bpftool -j map show pinned $pin; done' | jq -c '[.name, .id, .max_entries]'
	on n1 build/sluice -j show system-ports
	on n1 bpftool map dump pinned /sys/fs/bpf/sluice/sl_meta
}

# Node 2 announces a neighbour when its kernel has learned it, at any time: so one may come, but none
# may go.
neighbours() { on n1 ip neigh show nud permanent | sort; }

# with_node_3: the configuration of node 1, with another engine and one more node
with_node_3() {
	sed 's/^engine: .*/engine: lpm/' "$LAB_DIR/former.yaml"
	printf '    - id: 3\n      address: 10.9.0.3\n      ports:\n        - {number: 1, name: eth1}\n'
}

# refused_reload CONFIGURATION: nothing of it stays
refused_reload() {
	local refusals
	refusals=$(grep -c "reload refused" "$LAB_DIR/sluiced-n1.err" || true)
	everything >"$LAB_DIR/before"
	neighbours >"$LAB_DIR/neighbours"
	cp "$1" "$LAB_DIR/n1.yaml"
	kill -HUP "$(cat "$LAB_DIR/sluiced-n1.pid")"
	wait_for 30 log_has sluiced-n1 "reload refused; the former configuration stays in force" $((refusals + 1))
	everything >"$LAB_DIR/after"
	diff "$LAB_DIR/before" "$LAB_DIR/after"
	[ -s "$LAB_DIR/neighbours" ]
	[ -z "$(neighbours | comm -23 "$LAB_DIR/neighbours" -)" ]
}

# without_node_2: the configuration of node 1, with another engine and no other node
without_node_2() { sed -e 's/^engine: .*/engine: lpm/' -e '/^    - id: 2/,$d' "$LAB_DIR/former.yaml"; }

@test "a reload that fails when it has changed the cluster already leaves everything as it was" {
	# Nothing can load programs of the other engine from this object file.
	cp build/sluice.bpf.o "$LAB_DIR/sluice.bpf.o"
	kill "$(cat "$LAB_DIR/sluiced-n1.pid")"
	await_end sluiced-n1
	spawn n1 sluiced-n1 build/sluiced --config "$LAB_DIR/n1.yaml" --object "$LAB_DIR/sluice.bpf.o"
	wait_for 60 router_answers_or_died n1
	cross
	: >"$LAB_DIR/sluice.bpf.o"
	cp "$LAB_DIR/n1.yaml" "$LAB_DIR/former.yaml"
	with_node_3 >"$LAB_DIR/new.yaml"
	refused_reload "$LAB_DIR/new.yaml"
	without_node_2 >"$LAB_DIR/alone.yaml"
	refused_reload "$LAB_DIR/alone.yaml"
	cross
}

map_id() { on n1 bpftool -j map show pinned "/sys/fs/bpf/sluice/$1" | jq .id; }
reloaded() { log_has sluiced-n1 "configuration \"$LAB_DIR/n1.yaml\" reloaded"; }

@test "a reload that adds a node and changes the engine leaves the bridge its maps, and each port its queues" {
	local id
	id=$(map_id sl_voq)
	cp build/sluice.bpf.o "$LAB_DIR/sluice.bpf.o"
	cp "$LAB_DIR/new.yaml" "$LAB_DIR/n1.yaml"
	kill -HUP "$(cat "$LAB_DIR/sluiced-n1.pid")"
	wait_for 30 reloaded
	[ "$(on n1 build/sluice -j status | jq -r .engine)" = lpm ]
	[ "$(map_id sl_voq)" = "$id" ]
	cross
	run ! log_has bridge-n1 "sluiced has made new maps"
}

@test "a reload that makes other maps under a running bridge: the bridge opens them, and traffic goes on" {
	local id
	id=$(map_id sl_xsk)
	# A port with a higher number needs more rings.
	more="        - {number: 40, name: eth9, optional: true}"
	sed -i "0,/number: 1, name: eth1/ s/.*number: 1, name: eth1.*/&\n$more/" "$LAB_DIR/n1.yaml"
	kill -HUP "$(cat "$LAB_DIR/sluiced-n1.pid")"
	wait_for 30 log_has bridge-n1 "sluiced has made new maps; opening the ports again"
	[ "$(map_id sl_xsk)" != "$id" ]
	cross
	[ "$(on n1 cat /sys/class/net/n3p1/operstate)" = down ]
	# A bridge that never noticed would still take frames from the former maps' queues.
	[ "$(bridge_ask 1 status | jq .violations)" = 0 ]
}

@test "maps of another version: the bridge says so and takes none; the daemon makes its own, and traffic goes on" {
	local id seed other
	cp "$LAB_DIR/former.yaml" "$LAB_DIR/n1.yaml"
	kill -KILL "$(cat "$LAB_DIR/sluiced-n1.pid")"
	bridge_stop 1
	id=$(on n1 bpftool -j map show pinned /sys/fs/bpf/sluice/sl_meta | jq .id)
	other=$(on n1 bpftool -j map dump pinned /sys/fs/bpf/sluice/sl_meta | jq '.[0].formatted.value.abi_version + 1')
	seed=$(on n1 bpftool -j map dump pinned /sys/fs/bpf/sluice/sl_meta | jq '.[0].formatted.value.hash_seed')
	# shellcheck disable=SC2046
	on n1 bpftool map update pinned /sys/fs/bpf/sluice/sl_meta key 0 0 0 0 value "$other" 0 0 0 \
		$(on n1 bpftool -j map lookup pinned /sys/fs/bpf/sluice/sl_meta key 0 0 0 0 | jq -r '.value[4:] | join(" ")')
	bridge_start 1
	wait_for 30 log_has bridge-n1 "are of another version of sluice than $((other - 1))"
	run ! log_has bridge-n1 "VOQs"
	await_end sluiced-n1
	router_start n1
	wait_for 30 log_has bridge-n1 "VOQs"
	[ "$(on n1 bpftool -j map show pinned /sys/fs/bpf/sluice/sl_meta | jq .id)" != "$id" ]
	[ "$(on n1 bpftool -j map dump pinned /sys/fs/bpf/sluice/sl_meta | jq '.[0].formatted.value.abi_version')" = $((other - 1)) ]
	# Nobody knows what another version means by its seed.
	[ "$(on n1 bpftool -j map dump pinned /sys/fs/bpf/sluice/sl_meta | jq '.[0].formatted.value.hash_seed')" != "$seed" ]
	cross
}
