#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Packets that only the kernel can answer: it gets so many a second, and more where a session needs them.

bats_require_minimum_version 1.5.0

load router

setup() {
	router_up
	configure "punt_limits: {ttl: 1, no_route: 1, local: 1}"
	daemon
	warm_up
}
teardown() { lab_end; }

# flood KIND 4|6: h1 sends 200 packets, as fast as it can
flood() {
	on h1 python3 -c '
import socket, sys
kind, family = sys.argv[1], {"4": socket.AF_INET, "6": socket.AF_INET6}[sys.argv[2]]
own, far, nowhere = {"4": ("10.0.1.1", "10.0.2.2", "192.0.2.1"), "6": ("fd00:1::1", "fd00:2::2", "2001:db8::1")}[sys.argv[2]]
if kind in ("tcp", "listener"):
    socks = [socket.socket(family, socket.SOCK_STREAM) for _ in range(200)]
    for s in socks:
        s.setblocking(False)
        s.connect_ex((own, 4000 if kind == "listener" else 9))
    sys.exit()
if kind in ("esp", "gre"):
    s = socket.socket(family, socket.SOCK_RAW, {"esp": 50, "gre": 47}[kind])
else:
    s = socket.socket(family, socket.SOCK_DGRAM)
if kind == "ttl":
    s.setsockopt(*((socket.IPPROTO_IP, socket.IP_TTL) if family == socket.AF_INET else (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS)), 1)
port = {"bound": 4000, "esp": 0, "gre": 0}.get(kind, 9)
for _ in range(200):
    s.sendto(bytes(40), ({"ttl": far, "no-route": nowhere}.get(kind, own), port))' "$1" "$2"
}

# bounded KIND 4|6 REASON: of a flood the kernel gets what is due in that time, and XDP drops the rest
bounded() {
	local start=$SECONDS punts drops
	punts=$(reason punt "$3") drops=$(reason drop "$3-limit")
	flood "$1" "$2"
	wait_for 5 accounted "$punts" "$drops" "$3" 200
	punts=$(($(reason punt "$3") - punts))
	echo "$1 over IPv$2: $punts of 200 to the kernel"
	[ $punts -le $((2 * (SECONDS - start) + 6)) ]
}
accounted() { [ $(($(reason punt "$3") - $1 + $(reason drop "$3-limit") - $2)) -ge "$4" ]; }

# Of those that get in, the packets after the first are of a connection: the drops tell.
limits_syns_for_a_listener() {
	local drops
	drops=$(reason drop local-limit)
	flood listener "$1"
	wait_for 5 dropped $((drops + 150))
}
dropped() { [ "$(reason drop local-limit)" -ge "$1" ]; }

# passes KIND 4|6: all of a flood reaches the kernel
passes() {
	local punts
	punts=$(reason punt local)
	flood "$1" "$2"
	wait_for 5 punted $((punts + 200))
}
punted() { [ "$(reason punt local)" -ge "$1" ]; }

@test "the kernel gets as many packets as it shall answer; what is dropped has a name" {
	local family
	sluice status | grep -q "^limits     1 ttl, 1 no-route, 1 local,"
	for family in 4 6; do
		bounded ttl $family ttl
		bounded no-route $family no-route
		bounded udp $family local
		bounded tcp $family local
	done
	configure "punt_limits: {ttl: 0, no_route: 0, local: 0}"
	kill -HUP "$DAEMON"
	wait_for 5 log_says reloaded
	[ "$(sluice status | grep -c ^limits)" = 0 ]
	sluice -j status | jq -e '.punt_limits == {ttl: 0, "no-route": 0, local: 0}'
	passes udp 4
	passes tcp 6
}

@test "sessions do not notice: connections, bound sockets, tunnels" {
	local family
	head -c 300000 /dev/urandom >"$LAB_DIR/file"
	spawn n1 reader python3 -c '
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(("::", 4000))
print("bound", flush=True)
while True:
    s.recv(100)'
	wait_for 5 grep -q bound "$LAB_DIR/reader.out"
	spawn n1 taken socat -u TCP6-LISTEN:4000,ipv6only=0,reuseaddr,fork "OPEN:$LAB_DIR/taken,creat,append"
	for family in 4 6; do
		# The flood has what is due for those without a session; a connection begins with a packet of these.
		bounded tcp $family local
		limits_syns_for_a_listener $family
		passes bound $family
		passes esp $family
		passes gre $family
	done
	on h1 timeout $((60 * ${LAB_PATIENCE:-1})) socat -u "OPEN:$LAB_DIR/file" TCP:10.0.1.1:4000,retry=50,interval=0.1
	on h1 timeout $((60 * ${LAB_PATIENCE:-1})) socat -u "OPEN:$LAB_DIR/file" "TCP:[fd00:1::1]:4000,retry=50,interval=0.1"
	wait_for 5 eval '[ "$(stat -c %s "$LAB_DIR/taken")" = 600000 ]'
	cmp <(cat "$LAB_DIR/file" "$LAB_DIR/file") "$LAB_DIR/taken"
}
