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

# seen_from: the source of a datagram of one UDP connection from h1 to h2, as h2 sees it and answers
seen_from() {
	spawn h2 seen timeout 10 python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.0.2.2", 4000))
print("bound", flush=True)
_, source = s.recvfrom(100)
s.sendto(source[0].encode(), source)'
	wait_for 5 grep -q bound "$LAB_DIR/seen.out" || return
	on h1 python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.0.1.2", 4001))
s.settimeout(5)
s.sendto(b"x", ("10.0.2.2", 4000))
print(s.recv(100).decode())'
}

# The rule of table own keeps conntrack at work, which else ends with the last rule that translates.
@test "a connection that was translated lives on when the rule is gone, as in the kernel alone" {
	on n1 nft -f - <<-END
		table ip own {
			chain input { type filter hook input priority filter; ct state invalid drop; }
		}
		table ip nat {
			chain source { type nat hook postrouting priority srcnat; ip daddr 10.0.2.2 masquerade; }
		}
	END
	wait_for 5 left netfilter 4
	[ "$(seen_from)" = 10.0.2.1 ]
	on n1 nft flush chain ip nat source
	sluice status | grep "netfilter rules: the kernel forwards IPv4 (table ip nat, chain source)"
	[ "$(seen_from)" = 10.0.2.1 ]
	for port in eth1 eth2; do sluice detach $port; done
	[ "$(seen_from)" = 10.0.2.1 ]
	for port in eth1 eth2; do sluice attach $port; done
	on n1 nft delete table ip nat
	wait_for 5 fast_path_to 10.0.2.2
	[ "$(seen_from)" = 10.0.1.2 ]
}

@test "a BPF program at a hook of netfilter is not bypassed, and the fast path comes back when it goes" {
	local hook
	for hook in forward postrouting; do
		spawn n1 program python3 tests/tools/netfilter_program.py 4 $hook
		wait_for 5 left netfilter 4
		as_the_kernel 4 netfilter 0
		sluice status | grep "netfilter rules: the kernel forwards IPv4 (function nf_hook_run_bpf at hook $hook)"
		kill "$SPAWNED"
		wait_for 5 fast_path_to 10.0.2.2
		[ "$(pass 10.0.2.2)" = 5 ]
	done
	daemon_end TERM
	spawn n1 program python3 tests/tools/netfilter_program.py 6 forward
	wait_for 5 grep -q attached "$LAB_DIR/program.out"
	daemon
	left netfilter 6
	not_left netfilter 4
	[ "$(pass fd00:2::2)" = 0 ]
	[ "$(pass 10.0.2.2)" = 5 ]
}

# Connection tracking stands at three hooks, and changes no packet.
@test "what only tracks connections costs nothing" {
	on n1 nft -f - <<-END
		table inet own {
			chain input { type filter hook input priority filter; ct state invalid drop; }
		}
	END
	on n1 nft add table ip6 later
	on n1 nft add chain ip6 later c '{ type filter hook forward priority filter; policy drop; }'
	wait_for 5 left netfilter 6
	not_left netfilter 4
	[ "$(pass 10.0.2.2)" = 5 ]
}

@test "the fast path comes back when an IPsec policy's lifetime is over" {
	on n1 ip xfrm policy add dir fwd src 10.0.1.0/24 dst 10.0.2.0/24 action block limit time-hard 2
	wait_for 5 left xfrm 4
	[ "$(pass 10.0.2.2)" = 0 ]
	wait_for 10 not_left xfrm 4
	wait_for 5 fast_path_to 10.0.2.2
	[ "$(pass 10.0.2.2)" = 5 ]
}

@test "the fast path comes back when the owner of a table of nftables dies" {
	mkfifo "$LAB_DIR/rules"
	spawn n1 owner sh -c "exec nft -i <'$LAB_DIR/rules'"
	exec 7>"$LAB_DIR/rules"
	echo 'add table ip owned { flags owner; }' >&7
	echo 'add chain ip owned c { type filter hook forward priority 0; policy drop; }' >&7
	wait_for 5 left netfilter 4
	[ "$(pass 10.0.2.2)" = 0 ]
	exec 7>&-
	wait_for 5 not_left netfilter 4
	wait_for 5 fast_path_to 10.0.2.2
	[ "$(pass 10.0.2.2)" = 5 ]
}
