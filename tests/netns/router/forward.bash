# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The lab of the forwarding tests: n1 has h1 and h3 behind jumbo ports (eth1, eth3), and h2 behind
# eth2.

. netns-lab/lib/lab.sh
. tests/netns/router/counters.bash

forward_lab() {
	local i
	node_up n1
	for i in 1 2 3; do
		host_up "h$i"
		link "n1:eth$i" "h$i:eth0" $((i == 2 ? 1500 : 3384))
		on n1 ip addr add "10.0.$i.1/24" dev "eth$i"
		on n1 ip addr add "fd00:0:0:$i::1/64" dev "eth$i"
		on "h$i" ip addr add "10.0.$i.2/24" dev eth0
		on "h$i" ip addr add "fd00:0:0:$i::2/64" dev eth0
		on "h$i" ip route add default via "10.0.$i.1"
		on "h$i" ip route add default via "fd00:0:0:$i::1"
	done
	for i in 1 2 3; do # so that n1 learns its neighbours
		wait_for 5 on "h$i" ping -c 1 -W 1 "10.0.$i.1"
		wait_for 5 on "h$i" ping -c 1 -W 1 "fd00:0:0:$i::1"
	done
}
