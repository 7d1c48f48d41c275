#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The same rule lists, or exact flows, and packets for two routers, of which one filters by sluice and its twin by nftables:
# what leaves them must be equal byte for byte. FILTER_PACKETS packets for each list.
bats_require_minimum_version 1.5.0

setup_file() {
	load router
	lab_begin
	host_up ends
	local node
	for node in n1 n2; do twin_up "$node"; done
	CONFIG=$LAB_DIR/sluice.yaml
	configure
	daemon
	export LAB_ID LAB_DIR CONFIG DAEMON
}

teardown_file() {
	load router
	lab_end
}

setup() {
	load router
	set -o pipefail
}

# twin_up NODE: a router with eth1 and eth2, whose other ends are at `ends`; all that enters goes on to 10.0.2.2
twin_up() {
	local i
	node_up "$1"
	for i in 1 2; do
		link "$1:eth$i" "ends:$1p$i"
		on "$1" ip link set dev "eth$i" address "02:00:00:00:00:0$i"
		on "$1" ip addr add "10.0.$i.1/24" dev "eth$i"
		on "$1" ip addr add "fd00:$i::1/64" dev "eth$i" nodad
	done
	on "$1" ip neigh add 10.0.2.2 lladdr 02:00:00:00:00:22 dev eth2 nud permanent
	on "$1" ip neigh add fd00:2::2 lladdr 02:00:00:00:00:22 dev eth2 nud permanent
	on "$1" ip route add default via 10.0.2.2
	on "$1" ip route add default via fd00:2::2
}

twins() { on ends build/lab/filter-twins "$@"; }

# both FAMILY STYLE RULES SEED: the list is in force at both routers; the same packets leave them the same way
both() {
	local list=(-f "$1" -s "$2" -r "$3" -S "$4") result
	configure "filters:" "$(twins sluice "${list[@]}" eth1)"
	reload || tail -n 3 "$LAB_DIR/sluiced.err"
	[ "$(sluice -j show filters | jq length)" = $(($3 + 2)) ]
	twins nft "${list[@]}" >"$LAB_DIR/rules.nft"
	on n2 nft flush ruleset
	on n2 nft -f "$LAB_DIR/rules.nft"
	result=$(twins send "${list[@]}" -n "${FILTER_PACKETS:-1500}" n1p1 n1p2 n2p1 n2p2 | jq -ce .)
	echo "# IPv$1 $2 $3 rules: $result" >&3
	# the packets try both verdicts, and the rules that change a packet
	jq -e '.passed >= .denied / 500 and .denied >= .passed / 500' <<<"$result"
}

# flows FAMILY N SEED: the same with exact flows, beside a map of nftables
flows() {
	local list=(-f "$1" -s exact -r "$2" -S "$3") result
	sluice filter flow flush
	twins flows "${list[@]}" | sluice filter flow load -
	twins nft-map "${list[@]}" >"$LAB_DIR/rules.nft"
	on n2 nft flush ruleset
	on n2 nft -f "$LAB_DIR/rules.nft"
	result=$(twins send "${list[@]}" -n "${FILTER_PACKETS:-1500}" n1p1 n1p2 n2p1 n2p2 | jq -ce .)
	echo "# IPv$1, $2 exact flows: $result" >&3
	jq -e '.denied >= .passed / 100 and .marked >= .passed / 500' <<<"$result"
}

@test "exact flows: 1,000 and 4,000, beside a map of nftables" {
	configure "exact_flows: 8192"
	reload
	flows 4 1000 17
	flows 6 1000 18
	flows 4 4000 19
	flows 6 4000 20
	[ "$(sluice filter flow count)" = "4000 of 8192 flows" ]
	# of the packets, those that are of flows have been counted for one each
	[ "$(sluice -j filter flow list | jq '[.[].packets] | add > 200')" = true ]
}

@test "access lists of 100 and 1,000 rules" {
	both 4 acl 100 1
	both 6 acl 100 2
	both 4 acl 1000 3
	both 6 acl 1000 4
}

@test "firewalls of 100 and 1,000 rules" {
	both 4 fw 100 5
	both 6 fw 100 6
	both 4 fw 1000 7
	both 6 fw 1000 8
}

@test "IP chains of 100 and 1,000 rules" {
	both 4 ipc 100 9
	both 6 ipc 100 10
	both 4 ipc 1000 11
	both 6 ipc 1000 12
}

@test "every field at random, 1,000 rules" {
	both 4 hostile 1000 13
	both 6 hostile 1000 14
}

@test "an access list and a firewall of 4,095 rules" {
	both 4 acl 4095 15
	both 6 fw 4095 16
}
