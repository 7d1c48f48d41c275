#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# IPsec policies and netfilter's rules: while forwarded packets of a family could meet one, the kernel
# gets all packets of that family, and does with them what it does without sluice.

bats_require_minimum_version 1.5.0

load router

setup() {
	router_up
	configure
	daemon
	warm_up
}
teardown() { lab_end; }

# pass ADDRESS: how many of five packets get there and back
pass() { on h1 ping -q -c 5 -i 0.05 -W 1 "$1" | awk '/received/ { print $4 }'; }

# as_the_kernel 4|6 REASON PASSED: so many packets of a family pass, with and without the fast path, which
# gives them to the kernel for this reason; packets of the other family take the fast path
as_the_kernel() {
	local reason=$2 other=4 before port
	declare -A host=([4]=10.0.2.2 [6]=fd00:2::2)
	[ "$1" = 6 ] || other=6
	wait_for 5 fast_path_to "${host[$other]}"
	before=$(reason punt "$reason")
	[ "$(pass "${host[$1]}")" = "$3" ]
	[ $(($(reason punt "$reason") - before)) -ge 5 ]
	for port in eth1 eth2; do sluice detach $port; done
	[ "$(pass "${host[$1]}")" = "$3" ]
	for port in eth1 eth2; do sluice attach $port; done
}

# status KIND 4|6: do its filters leave this family to the kernel?
left() { [ "$(sluice -j status | jq ".mirror.$1.ipv$2")" = true ]; }
not_left() { ! left "$@"; }

explains() { sluice explain "$1" | grep -q "$2"; }

@test "what an IPsec policy blocks is not forwarded, and goes fast again when the policy has gone" {
	on n1 ip xfrm policy add dir fwd src 10.0.1.0/24 dst 10.0.2.0/24 action block
	wait_for 5 left xfrm 4
	as_the_kernel 4 xfrm 0
	explains 10.0.2.2 "IPsec policies exist"
	sluice status | grep "IPsec policies: the kernel forwards IPv4 (policy "
	on n1 ip xfrm policy delete dir fwd src 10.0.1.0/24 dst 10.0.2.0/24
	wait_for 5 fast_path_to 10.0.2.2
	[ "$(pass 10.0.2.2)" = 5 ]
}

@test "what IPsec must encrypt does not leave in clear" {
	on n1 ip xfrm policy add dir out src fd00:1::/64 dst fd00:2::/64 tmpl src fd00:2::1 dst fd00:2::2 proto esp mode tunnel
	wait_for 5 left xfrm 6
	as_the_kernel 6 xfrm 0
}

@test "an IPsec policy that lets all pass leaves it to the kernel, too; one for what this node receives does not" {
	on n1 ip xfrm policy add dir in src 10.0.1.0/24 dst 10.0.2.0/24 action block
	on n1 ip xfrm policy add dir fwd src 10.0.9.0/24 dst 10.0.8.0/24 action allow
	wait_for 5 left xfrm 4
	as_the_kernel 4 xfrm 5
	on n1 ip xfrm policy delete dir fwd src 10.0.9.0/24 dst 10.0.8.0/24
	wait_for 5 fast_path_to 10.0.2.2
}

@test "a default of IPsec that blocks is followed" {
	on n1 ip xfrm policy setdefault fwd block
	wait_for 5 left xfrm 4
	left xfrm 6
	[ "$(pass 10.0.2.2)" = 0 ]
	[ "$(pass fd00:2::2)" = 0 ]
	on n1 ip xfrm policy setdefault fwd accept
	wait_for 5 fast_path_to 10.0.2.2
}

@test "a rule of nftables is not bypassed; a table without one, or for other packets, costs nothing" {
	on n1 nft -f - <<-END
		table inet filter {
			chain input { type filter hook input priority filter; ip saddr 192.0.2.1 drop; }
			chain forward { type filter hook forward priority filter; }
			chain named { ip saddr 192.0.2.1 drop; }
		}
		table bridge filter {
			chain forward { type filter hook forward priority filter; ip saddr 192.0.2.1 drop; }
		}
	END
	on n1 nft add table ip filter
	on n1 nft add chain ip filter forward '{ type filter hook forward priority filter; }'
	fast_path_to 10.0.2.2
	fast_path_to fd00:2::2
	on n1 nft add rule ip filter forward ip daddr 10.0.2.2 drop
	wait_for 5 left netfilter 4
	as_the_kernel 4 netfilter 0
	explains 10.0.2.2 "netfilter rules for forwarded packets exist"
	sluice status | grep "netfilter rules: the kernel forwards IPv4 (table ip filter, chain forward)"
	on n1 nft flush chain ip filter forward
	wait_for 5 fast_path_to 10.0.2.2
	[ "$(pass 10.0.2.2)" = 5 ]
}

@test "each hook that forwarded packets pass counts, and so does a policy without rules" {
	local hook
	for hook in prerouting postrouting; do
		on n1 nft add table ip6 t
		on n1 nft add chain ip6 t c "{ type filter hook $hook priority filter; policy drop; }"
		wait_for 5 left netfilter 6
		as_the_kernel 6 netfilter 0
		on n1 nft delete table ip6 t
		wait_for 5 fast_path_to fd00:2::2
	done
	on n1 nft add table netdev t
	on n1 nft add chain netdev t c "{ type filter hook ingress device eth1 priority 0; policy drop; }"
	wait_for 5 left netfilter 4
	left netfilter 6
	[ "$(pass 10.0.2.2)" = 0 ]
	on n1 nft delete table netdev t
	wait_for 5 fast_path_to 10.0.2.2
}

@test "rules of iptables and of iptables-legacy are not bypassed" {
	on n1 iptables-nft -A FORWARD -d 10.0.2.2 -j DROP
	wait_for 5 left netfilter 4
	as_the_kernel 4 netfilter 0
	on n1 iptables-nft -F FORWARD
	wait_for 5 fast_path_to 10.0.2.2
	on n1 ip6tables-legacy -A FORWARD -d fd00:2::2 -j DROP
	wait_for 5 left netfilter 6
	as_the_kernel 6 netfilter 0
	sluice status | grep "netfilter rules: the kernel forwards IPv6 (tables of iptables-legacy)"
}

@test "rules that exist when the daemon starts hold from the first packet" {
	daemon_end TERM
	on n1 nft add table ip filter
	on n1 nft add chain ip filter forward '{ type filter hook forward priority filter; policy drop; }'
	daemon
	left netfilter 4
	as_the_kernel 4 netfilter 0
}

@test "netfilter: ignore forwards all the same, from the start or by a reload" {
	on n1 nft add table inet filter
	on n1 nft add chain inet filter forward '{ type filter hook forward priority filter; policy drop; }'
	wait_for 5 left netfilter 4
	configure "netfilter: ignore"
	kill -HUP "$DAEMON"
	wait_for 5 fast_path_to 10.0.2.2
	[ "$(pass 10.0.2.2)" = 5 ]
	daemon_end TERM
	daemon
	not_left netfilter 4
	[ "$(pass fd00:2::2)" = 5 ]
	configure "netfilter: kernel"
	kill -HUP "$DAEMON"
	wait_for 5 left netfilter 6
	[ "$(pass 10.0.2.2)" = 0 ]
	configure "netfilter: off"
	run_daemon --check --config "$CONFIG"
	[ "$status" -eq 2 ]
	# shellcheck disable=SC2154 # run_daemon sets stderr
	[[ $stderr = *'netfilter: "off" is not a way to treat netfilter'"'"'s rules: write kernel or ignore' ]]
}
