#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Ports that are more than a router's port: a member of a bridge, one with a macvlan or VRRP on it, one
# whose driver takes only whole frames. The kernel gets there what it would get without sluice.
# The daemon runs under ASan and UBSan.

bats_require_minimum_version 1.5.0

load router

setup() {
	export DAEMON_PROGRAM=build/sluiced-asan
	router_up
}

# A memory error ends the daemon at once, a leak when it ends.
teardown() {
	daemon_end TERM
	cat "$LAB_DIR/sluiced.err"
	lab_end
	[ "$ENDED" = 0 ]
}

pass() { on h1 ping -q -c 5 -i 0.05 -W 1 "$@" | awk '/received/ { print $4 }'; }

@test "a bridge goes on bridging when its members are ports" {
	on n1 ip addr flush dev eth1
	on n1 ip addr flush dev eth2
	on n1 ip link add br0 type bridge
	on n1 ip link set dev br0 up
	on n1 ip link set dev eth1 master br0
	on n1 ip link set dev eth2 master br0
	on n1 ip addr add 10.0.7.1/24 dev br0
	on h1 ip addr add 10.0.7.2/24 dev eth0
	on h2 ip addr add 10.0.7.3/24 dev eth0
	daemon
	wait_for 5 reaches 10.0.7.3
	[ "$(pass 10.0.7.3)" = 5 ]
	[ "$(pass 10.0.7.1)" = 5 ]
	[ "$(reason punt eth-not-ours)" -ge 10 ] # there and back
	[[ $(xdp_program eth1) = sl_edge* ]]
}

@test "packets for the address of VRRP, which has a MAC address of its own, are routed" {
	on n1 ip link add vrrp4-1 link eth1 address 00:00:5e:00:01:01 type macvlan mode bridge
	on n1 ip addr add 10.0.1.254/32 dev vrrp4-1
	on n1 ip link set dev vrrp4-1 up
	daemon
	warm_up
	on h1 ip route replace default via 10.0.1.254
	on h1 ip neigh replace 10.0.1.254 lladdr 00:00:5e:00:01:01 dev eth0
	[ "$(pass 10.0.2.2)" = 5 ]
	[ "$(pass 10.0.1.254)" = 5 ]
	[ "$(reason punt eth-not-ours)" -ge 10 ]
}

@test "a host on a macvlan of a port is reached as without sluice" {
	host_up guest
	on n1 ip link add child link eth1 type macvlan mode bridge
	find_holder guest
	on n1 ip link set dev child netns "$HOLDER"
	on guest ip addr add 10.0.1.7/24 dev child
	on guest ip link set dev child up
	daemon
	wait_for 5 reaches 10.0.1.7
	[ "$(pass 10.0.1.7)" = 5 ]
}

@test "frames for other stations are left alone: the kernel forwards none of them" {
	daemon
	warm_up
	on n1 ip link set dev eth1 promisc on
	on h1 ip neigh replace 10.0.1.1 lladdr 02:00:00:00:00:77 dev eth0
	[ "$(pass 10.0.2.2)" = 0 ]
	[ "$(reason punt eth-not-ours)" -ge 5 ]
}

# sends_a_file HOST: h1 sends a megabyte to h2 by TCP
sends_a_file() {
	spawn h2 taken socat -u TCP6-LISTEN:9,ipv6only=0,reuseaddr "CREATE:$LAB_DIR/taken"
	on h1 timeout 20 socat -u "OPEN:$LAB_DIR/file" "TCP:$1:9,retry=50,interval=0.1" && await_end taken &&
		cmp "$LAB_DIR/file" "$LAB_DIR/taken"
}

# sends_datagrams HOST: h1 sends a hundred kilobytes to h2 by UDP
sends_datagrams() {
	spawn h2 iperf3 iperf3 --server --one-off --forceflush
	wait_for 5 grep -q listening "$LAB_DIR/iperf3.out"
	on h1 timeout 20 iperf3 --client "$1" --udp --bitrate 10M --bytes 100K --json >"$LAB_DIR/datagrams.json" || return
	await_end iperf3
	jq -e '.end.sum.packets > 10 and .end.sum.lost_packets == 0' "$LAB_DIR/datagrams.json" >/dev/null
}

@test "senders that leave checksums to their device reach through the fast path: TCP and UDP, IPv4, IPv6, jumbo" {
	local mtu host port
	head -c 1000000 /dev/urandom >"$LAB_DIR/file"
	for port in 1 2; do on "h$port" ethtool -K eth0 tx on >/dev/null; done
	daemon
	for mtu in 1500 9000; do
		for port in 1 2; do
			on n1 ip link set dev "eth$port" mtu $mtu
			on "h$port" ip link set dev eth0 mtu $mtu
		done
		warm_up
		for host in 10.0.2.2 fd00:2::2; do
			sends_a_file "${host/#*:*/[$host]}"
			sends_datagrams "$host"
		done
	done
	[ "$(counter forward)" -gt 700 ]
	# The kernel of h2 judges each checksum.
	[ "$(on h2 nstat -asz TcpInCsumErrors UdpInCsumErrors Udp6InCsumErrors --json | jq '.kernel | add')" = 0 ]
}

@test "in generic mode the kernel completes these checksums, once, also after a second router" {
	head -c 1000000 /dev/urandom >"$LAB_DIR/file"
	host_up h3
	link h2:eth1 h3:eth0
	on h2 ip addr add 10.0.3.1/24 dev eth1
	on h2 sysctl -qw net.ipv4.ip_forward=1
	on h3 ip addr add 10.0.3.2/24 dev eth0
	on h3 ip route add default via 10.0.3.1
	on n1 ip route add 10.0.3.0/24 via 10.0.2.2
	on h1 ethtool -K eth0 tx on tso off gso off >/dev/null
	printf '%s\n' "ports:" "  - {name: eth1, mode: generic, hidden_tags: ignore}" \
		"  - {name: eth2, mode: generic, hidden_tags: ignore}" >"$CONFIG"
	daemon
	warm_up
	spawn h3 taken socat -u TCP-LISTEN:9,reuseaddr "CREATE:$LAB_DIR/taken"
	on h1 timeout 20 socat -u "OPEN:$LAB_DIR/file" TCP:10.0.3.2:9,retry=50,interval=0.1
	await_end taken
	cmp "$LAB_DIR/file" "$LAB_DIR/taken"
	[ "$(counter forward)" -gt 300 ]
	[ "$(on h3 nstat -asz TcpInCsumErrors --json | jq '.kernel | add')" = 0 ]
}

# sends_sctp CRC: h1 sends five packets of each family whose checksum has this value
sends_sctp() {
	on h1 python3 -c '
import socket, struct, sys
for family, host in (socket.AF_INET, "10.0.2.2"), (socket.AF_INET6, "fd00:2::2"):
    s = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_SCTP)
    for _ in range(5):
        s.sendto(struct.pack("!HHII", 9, 9, 1, int(sys.argv[1])), (host, 0))' "$1"
}

@test "SCTP whose sender leaves the checksum to its device goes by the kernel, which can compute it" {
	local before
	daemon
	warm_up
	before=$(reason punt other)
	sends_sctp 1
	sends_sctp 0
	wait_for 5 eval '[ $(($(reason punt other) - before)) = 10 ]'
}

# large_frames N: have N frames of more than 8,000 bytes come out of the TAP?
large_frames() { [ "$(grep -c large "$LAB_DIR/tap.out")" = "$1" ]; }

@test "a frame of several buffers for a driver that takes only whole ones goes by the kernel" {
	local before
	on n1 ip link set dev eth1 mtu 9000
	on h1 ip link set dev eth0 mtu 9000
	spawn n1 tap /usr/bin/python3 -u -c '
import fcntl, os, struct
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH", b"tap0", 0x1002))
print("ready")
while True:
    print("large" if len(os.read(tap, 10000)) > 8000 else "small")'
	wait_for 10 grep -q ready "$LAB_DIR/tap.out"
	on n1 ip link set dev tap0 mtu 9000 up
	on n1 ip addr add 10.0.9.1/24 dev tap0
	on n1 ip neigh add 10.0.9.2 lladdr 02:00:00:00:09:02 dev tap0
	printf '%s\n' "ports:" "  - name: eth1" "  - name: eth2" "  - name: tap0" >"$CONFIG"
	daemon
	wait_for 5 reaches 10.0.1.1
	wait_for 5 fast_path_to 10.0.9.2
	before=$(reason punt buffers)
	pass -s 8500 10.0.9.2
	[ $(($(reason punt buffers) - before)) = 5 ]
	wait_for 5 large_frames 5
	[ "$(reason drop tx-error)" = 0 ]
}
