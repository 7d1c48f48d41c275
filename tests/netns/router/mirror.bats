#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The mirror of a node's kernel, through build/tests/tools/mirror-dump: after each step the mirror that followed
# the events must equal one opened at that moment, and agree with `ip`.

bats_require_minimum_version 1.5.0

. netns-lab/lib/lab.sh

setup_file() {
	lab_begin
}

teardown_file() { lab_end; }

setup() {
	node="n$BATS_TEST_NUMBER"
	peer="h$BATS_TEST_NUMBER"
	node_up "$node"
	host_up "$peer"
	link "$node:eth1" "$peer:eth0"
	link "$node:eth2" "$peer:eth1"
	on "$node" ip addr add 10.0.1.1/24 dev eth1
	on "$node" ip addr add fd01::1/64 dev eth1 nodad
	on "$node" ip addr add 10.0.2.1/24 dev eth2
	on "$peer" ip addr add 10.0.1.2/24 dev eth0
	on "$peer" ip addr add fd01::2/64 dev eth0 nodad
	on "$peer" ip addr add 10.0.2.2/24 dev eth1
}

teardown() { [ -z "${MIRROR_PID:-}" ] || close_mirror; }

open_mirror() {
	coproc MIRROR { exec 3>&-; on "$node" build/tests/tools/mirror-dump; }
	read -r -t 60 -u "${MIRROR[0]}" _
}

# ask COMMAND...: its answer in $answer
ask() {
	echo "$*" >&"${MIRROR[1]}"
	read -r -t 60 -u "${MIRROR[0]}" answer
}

close_mirror() {
	local pid=$MIRROR_PID input=${MIRROR[1]}
	exec {input}>&-
	wait "$pid"
}

equal() {
	ask compare
	[ "$(jq -c .differences <<<"$answer")" = '[]' ]
}

equal_soon() { # the kernel reports carriers up to a second later, or when it gets a processor
	local tries
	for tries in {1..200}; do
		equal && return
		ask run 0.1
	done
	echo "differs after $tries tries: $answer"
	return 1
}

# does ADDRESS FILTER: what XDP would do
does() {
	ask lookup "$1"
	jq -e "$2" <<<"$answer"
}

does_soon() {
	local tries
	for tries in {1..400}; do
		ask run 0.05
		does "$1" "$2" && return
	done
	echo "$1, $tries tries: $answer"
	return 1
}

stat() {
	ask stats
	jq ".$1" <<<"$answer"
}

mac() {
	on "$1" cat "/sys/class/net/$2/address"
}

@test "a gateway that a route needs is resolved before any packet" {
	on "$node" ip route add 192.0.2.0/24 via 10.0.1.2
	on "$node" ip -6 route add 2001:db8::/32 via fd01::2
	[ -z "$(on "$node" ip neigh show to 10.0.1.2)" ]
	open_mirror
	does_soon 192.0.2.1 ".do == \"forward\" and .dst == \"$(mac "$peer" eth0)\" and .src == \"$(mac "$node" eth1)\" and .mtu == 1500"
	does_soon 2001:db8::1 ".do == \"forward\" and .dst == \"$(mac "$peer" eth0)\""
	# The gateway's own address, below an on-link route, is a host route; its neighbours are not resolved.
	does 10.0.1.2 '.do == "forward" and .len == 32'
	does 10.0.1.9 '.reason == "neighbour"'
	does 10.0.1.1 '.reason == "local"'
	equal
}

@test "a gateway that does not answer is asked with growing delay" {
	on "$node" ip route add 192.0.2.0/24 via 10.0.1.77
	local start=$SECONDS
	open_mirror
	ask run 4
	# Probes come at 0, 1, 3, 7 seconds and so on, or later: a busy machine runs longer than 4 seconds.
	local due=0 delay=1 most=1 probes tries
	for tries in {1..100}; do
		probes=$(stat probes)
		[ "$probes" -lt 2 ] || break
		ask run 0.1
	done
	while [ $((due += delay)) -le $((SECONDS - start + 1)) ]; do
		delay=$((2 * delay))
		most=$((most + 1))
	done
	echo "$probes probes, at most $most"
	[ "$probes" -ge 2 ]
	[ "$probes" -le "$most" ]
	does 192.0.2.1 '.reason == "neighbour"'
}

@test "a neighbour that only XDP uses is kept and verified without a gap" {
	local setting
	for setting in base_reachable_time_ms=1000 delay_first_probe_time=1; do
		on "$node" sysctl -qw "net.ipv4.neigh.eth1.$setting" "net.ipv6.neigh.eth1.$setting"
	done
	on "$node" ip route add 192.0.2.0/24 via 10.0.1.2
	on "$node" ip -6 route add 2001:db8::/32 via fd01::2
	open_mirror
	does_soon 192.0.2.1 '.do == "forward"'
	does_soon 2001:db8::1 '.do == "forward"'
	ask run 8 192.0.2.1 2001:db8::1
	[ "$(jq .misses <<<"$answer")" = 0 ]
	# The mirror keeps marking the entry used, and the kernel keeps verifying it: it never gets old enough to be forgotten.
	local looks tries since=${EPOCHREALTIME/./}
	looks=$(jq .looks <<<"$answer")
	for tries in {1..200}; do
		[ "$looks" -gt 500 ] && [ "$(stat probes)" -gt 8 ] && alive_since "$since" && break
		ask run 0.5 192.0.2.1 2001:db8::1
		[ "$(jq .misses <<<"$answer")" = 0 ]
		looks=$((looks + $(jq .looks <<<"$answer")))
	done
	echo "$tries tries, $looks looks, $(stat probes) probes"
	[ "$tries" -lt 200 ]
	# After two periods without use, the mirror leaves the entry alone.
	ask sync
	for tries in 1 2; do
		ask run 0.5
		ask sync
	done
	local before
	before=$(stat probes)
	ask run 4
	ask sync
	[ "$(stat probes)" = "$before" ]
}

# alive_since MICROSECONDS: did the kernel see each gateway used, and hear from it, after that moment? The kernel
# counts in whole seconds ago.
alive_since() {
	local now=${EPOCHREALTIME/./} address ago
	for address in 10.0.1.2 fd01::2; do
		ago=$(on "$node" ip -s -j neigh show to $address | jq '.[0] | [.used, .confirmed] | max')
		[ $(((ago + 1) * 1000000)) -le $((now - $1)) ] || return
	done
}

@test "a neighbour that XDP uses stops being used when it is gone" {
	local setting
	for setting in base_reachable_time_ms=1000 delay_first_probe_time=1; do
		on "$node" sysctl -qw "net.ipv4.neigh.eth1.$setting"
	done
	on "$node" ip route add 192.0.2.0/24 via 10.0.1.2
	open_mirror
	does_soon 192.0.2.1 '.do == "forward"'
	on "$peer" ip addr del 10.0.1.2/24 dev eth0
	local tries
	for tries in {1..100}; do
		ask run 0.5 192.0.2.1
		does 192.0.2.1 '.reason == "neighbour"' && break
	done
	does 192.0.2.1 '.reason == "neighbour"'
	on "$peer" ip addr add 10.0.1.2/24 dev eth0
	does_soon 192.0.2.1 '.do == "forward"'
}

@test "lost events are repaired, and only what differs is changed" {
	on "$node" ip neigh add 10.0.1.9 lladdr 02:00:00:00:00:09 dev eth1
	on "$node" bash -c 'for i in {0..4999}; do echo "route add 172.16.$((i / 256)).$((i % 256)) via 10.0.1.9"; done | ip -batch -'
	open_mirror
	ask buffer 4096
	on "$node" bash -c 'for i in {0..4999..5}; do echo "route replace 172.16.$((i / 256)).$((i % 256)) via 10.0.2.2
		route del 172.16.$(((i + 1) / 256)).$(((i + 1) % 256))"; done | ip -batch -'
	ask sync
	[ "$(stat overruns)" -ge 1 ]
	[ "$(stat resyncs)" -ge 1 ]
	# Events told of some of the 2,000 changes, the dump found the others; nothing else changed.
	[ "$(stat resync_changes)" -ge 1 ]
	[ "$(stat resync_changes)" -le 2100 ]
	[ "$(stat 'inserts + .replaces + .deletes')" -le 7200 ]
	does 172.16.0.1 '.reason == "no-route"'
	does 172.16.0.2 '.dst == "02:00:00:00:00:09"'
	equal_soon
}

@test "policy rules leave everything to the kernel while they exist" {
	open_mirror
	on "$node" sysctl -qw net.ipv4.ip_forward=1
	ask sync
	ask port eth1
	jq -e 'contains(["forward4"]) and (contains(["punt4"]) | not)' <<<"$answer"
	on "$node" ip rule add from 10.9.0.0/16 table 100
	ask sync
	ask port eth1
	jq -e 'contains(["punt4"]) and (contains(["punt6"]) | not)' <<<"$answer"
	equal
	on "$node" ip rule del from 10.9.0.0/16 table 100
	on "$node" ip -6 rule add to 2001:db8::/32 blackhole
	ask sync
	ask port eth1
	jq -e '(contains(["punt4"]) | not) and contains(["punt6"])' <<<"$answer"
	on "$node" ip rule del priority 32766 # without this default rule the kernel looks elsewhere
	ask sync
	ask port eth1
	jq -e 'contains(["punt4", "punt6"])' <<<"$answer"
	equal
}

@test "forwarding, reverse path and redirect settings reach the ports" {
	open_mirror
	on "$node" sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv4.conf.eth1.forwarding=1 \
		net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.eth1.rp_filter=1
	ask sync
	ask port eth1
	jq -e 'contains(["forward4", "forward6", "rp-strict"])' <<<"$answer"
	on "$node" sysctl -qw net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.eth1.forwarding=0
	ask sync
	ask port eth1
	jq -e 'contains(["rp-loose"]) and (contains(["forward4"]) | not)' <<<"$answer"
	equal
}

# port_is JQ: what the mirror has told XDP of eth1
port_is() {
	ask sync
	ask port eth1
	jq -e "$1" <<<"$answer"
}

@test "settings that the kernel does not report reach the ports, too" {
	open_mirror
	port_is 'contains(["hash-l3-4", "hash-l3-6"]) and (contains(["localnet4"]) or contains(["punt4"]) | not)'
	on "$node" sysctl -qw net.ipv4.fib_multipath_hash_policy=1
	port_is 'contains(["hash-l3-6"]) and (contains(["hash-l3-4"]) | not)'
	on "$node" sysctl -qw net.ipv6.fib_multipath_hash_policy=1
	port_is 'contains(["hash-l3-6"]) | not'
	on "$node" sysctl -qw net.ipv4.fib_multipath_hash_policy=3
	port_is 'contains(["hash-l3-4"])'
	on "$node" sysctl -qw net.ipv4.fib_multipath_hash_fields=0x30
	port_is 'contains(["hash-l3-4"]) | not'
	on "$node" sysctl -qw net.ipv4.conf.all.route_localnet=1
	port_is 'contains(["localnet4"])'
	on "$node" sysctl -qw net.ipv4.ip_forward_use_pmtu=1
	port_is 'contains(["punt4"]) and (contains(["punt6"]) | not)'
	on "$node" sysctl -qw net.ipv4.ip_forward_use_pmtu=0
	port_is 'contains(["punt4"]) | not'
	equal
}

@test "settings of one interface that the kernel does not report reach the ports with the next look" {
	on "$node" ip neigh add fd01::2 lladdr 02:00:00:00:00:02 dev eth1 nud permanent
	on "$node" ip route add 2001:db8::/32 via fd01::2
	on "$node" sysctl -qw net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.eth1.send_redirects=0
	open_mirror
	port_is 'contains(["redirect4"]) or contains(["localnet4"]) | not'
	on "$node" sysctl -qw net.ipv4.conf.eth1.send_redirects=1
	port_is 'contains(["redirect4"])'
	on "$node" sysctl -qw net.ipv4.conf.eth1.route_localnet=1
	port_is 'contains(["localnet4"])'
	on "$node" sysctl -qw net.ipv6.conf.eth1.mtu=1400
	ask sync
	equal
}

# The kernel takes the request to keep a neighbour fresh as one to make it no longer permanent.
@test "a neighbour stays permanent that became so while the mirror lagged behind" {
	local mac
	on "$node" sysctl -qw net.ipv4.neigh.eth1.base_reachable_time_ms=300
	on "$node" ip route add 192.0.2.0/24 via 10.0.1.2
	open_mirror
	on "$node" ping -q -c 1 10.0.1.2
	does_soon 192.0.2.1 '.do == "forward"'
	ask run 0.5 192.0.2.1
	mac=$(on "$peer" cat /sys/class/net/eth0/address)
	awk 'BEGIN { for (i = 1; i <= 5000; i++) printf "route add blackhole 198.18.%d.%d\n", i / 256, i % 256 }' | on "$node" ip -batch -
	on "$node" ip neigh replace 10.0.1.2 lladdr "$mac" dev eth1 nud permanent
	ask run 0.5 192.0.2.1
	ask sync
	on "$node" ip neigh show 10.0.1.2 | grep PERMANENT
	equal
}

@test "IPv6 that is disabled on a link is noticed at once" {
	open_mirror
	on "$node" sysctl -qw net.ipv6.conf.all.forwarding=1
	port_is 'contains(["forward6"])'
	on "$node" sysctl -qw net.ipv6.conf.eth1.disable_ipv6=1
	port_is 'contains(["forward6"]) | not'
	on "$node" sysctl -qw net.ipv6.conf.eth1.disable_ipv6=0
	port_is 'contains(["forward6"])'
	equal
}

@test "the rule that the kernel makes for VRFs leaves nothing to the kernel" {
	open_mirror
	on "$node" ip rule add l3mdev pref 1000
	on "$node" ip -6 rule add l3mdev pref 1000
	port_is 'contains(["punt4"]) or contains(["punt6"]) | not'
	on "$node" ip rule add l3mdev to 10.0.0.0/8 pref 999 # one with a condition is another matter
	port_is 'contains(["punt4"]) and (contains(["punt6"]) | not)'
	equal
}

@test "an enslaved link punts, and a link that is no port is left to the kernel" {
	on "$node" ip route add 192.0.2.0/24 via 10.0.1.2
	on "$node" ip route add 198.51.100.0/24 via 10.0.2.2
	open_mirror
	does_soon 192.0.2.1 '.do == "forward"'
	does_soon 198.51.100.1 '.do == "forward"'
	ask ports eth2
	does 192.0.2.1 '.reason == "not-a-port"'
	does 198.51.100.1 '.do == "forward"'
	ask port eth1
	[ "$answer" = '[]' ]
	on "$node" ip link add br0 type bridge
	on "$node" ip link set eth2 master br0
	ask sync
	ask port eth2
	jq -e 'contains(["punt4", "punt6"])' <<<"$answer"
}

@test "a link goes down, comes back, is renumbered, gets another MTU and vanishes" {
	on "$node" ip route add 192.0.2.0/24 nexthop via 10.0.1.2 nexthop via 10.0.2.2
	on "$node" ip route add 198.51.0.0/16 via 10.0.2.2
	on "$node" ip route add 198.51.100.0/24 via 10.0.1.2
	open_mirror
	does_soon 198.51.100.1 ".dst == \"$(mac "$peer" eth0)\""
	does_soon 192.0.2.1 '[.members[].do] == ["forward", "forward"]'
	on "$node" ip link set eth1 down
	ask sync
	# The kernel has dropped the longer route without a message.
	does_soon 198.51.100.1 ".len == 16 and .dst == \"$(mac "$peer" eth1)\""
	does 192.0.2.1 '[.members[].buckets] == [128]'
	equal_soon
	on "$node" ip link set eth1 up
	does_soon 192.0.2.1 '[.members[].do] == ["forward", "forward"]'
	equal_soon
	on "$node" ip link set eth2 mtu 1400
	ask sync
	does 198.51.100.1 '.mtu == 1400'
	on "$node" ip link set eth2 address 02:00:00:00:00:22
	ask sync
	does_soon 198.51.100.1 '.src == "02:00:00:00:00:22"'
	equal_soon
	on "$node" ip addr del 10.0.2.1/24 dev eth2
	ask sync
	does 198.51.100.1 '.reason == "no-route"'
	equal_soon
	on "$node" ip link del eth1
	ask sync
	does 192.0.2.1 '.reason == "no-route"'
	equal_soon
}

@test "next-hop objects: single, group, resilient group, blackhole" {
	on "$node" ip nexthop add id 1 via 10.0.1.2 dev eth1
	on "$node" ip nexthop add id 2 via 10.0.2.2 dev eth2
	on "$node" ip nexthop add id 10 group 1,3/2
	on "$node" ip nexthop add id 11 group 1/2 type resilient buckets 32
	on "$node" ip route add 192.0.2.0/24 nhid 10
	on "$node" ip route add 198.51.100.0/24 nhid 11
	open_mirror
	does_soon 192.0.2.1 '[.members[] | select(.do == "forward").buckets] | sort == [32, 96]'
	does 198.51.100.1 '[.members[].buckets] == [64, 64]'
	# An object with an IPv6 gateway serves both IPv4 and IPv6.
	on "$node" ip nexthop add id 3 via fd01::2 dev eth1
	on "$node" ip route add 203.0.113.0/24 nhid 3
	on "$node" ip -6 route add 2001:db8::/32 nhid 3
	does_soon 203.0.113.1 '.do == "forward"'
	does 2001:db8::1 '.do == "forward"'
	on "$node" ip nexthop replace id 10 group 2
	ask sync
	does 192.0.2.1 ".members | length == 1 and .[0].dst == \"$(mac "$peer" eth1)\""
	on "$node" ip nexthop add id 4 blackhole
	on "$node" ip route add 203.0.112.0/24 nhid 4
	ask sync
	does 203.0.112.1 '.do == "drop"'
	equal_soon
	on "$node" ip nexthop del id 2
	ask sync
	does 192.0.2.1 '.reason == "no-route"'
	equal_soon
}

@test "it understands every message" {
	open_mirror
	on "$node" ip route add 192.0.2.0/24 encap ip id 1 dst 10.0.1.2 dev eth1
	on "$node" ip route add 198.51.100.0/24 via inet6 fd01::2 dev eth1
	on "$node" ip -6 route add 2001:db8:1::/48 via fd01::2 expires 300
	ask sync
	does 192.0.2.1 '.reason == "encap"'
	does_soon 198.51.100.1 '.do == "forward"'
	does 2001:db8:1::1 '.reason == "policy"'
	[ "$(stat parse_errors)" = 0 ]
	equal
}
