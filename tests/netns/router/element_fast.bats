#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
# Installed elements that run in the fast path: as the worker does, byte for byte; wrong programs are refused without a
# trace; installed, replaced and removed under load, and after SIGKILL. One lab for all; 40 seconds of processor time.
bats_require_minimum_version 1.5.0
load chain_lab

setup_file() {
	router_up
	CHAINS=$LAB_DIR/chains STORE=$LAB_DIR/store
	mkdir "$LAB_DIR/keys"
	printf 'chain whole fast { input -> Counter -> output; }\n' >"$CHAINS"
	printf '%s\n' "heartbeat_s: 600" "filters:" "- name: in" "  ports: [{name: eth1}]" "  default: permit" "  rules:" \
		"  - {action: permit, name: whole, protocol: udp, destination_port: 7000, chain: whole}" \
		"  - {action: permit, name: quick, protocol: udp, destination_port: 7001, chain: quick}" \
		"  - {action: permit, name: slow, protocol: udp, destination_port: 7002, chain: slow}" \
		"ports:" "  - name: eth1" "  - name: eth2" "  - {name: slchain0, optional: true}" >"$CONFIG"
	openssl genpkey -algorithm ed25519 -out "$LAB_DIR/operator.pem"
	openssl pkey -in "$LAB_DIR/operator.pem" -pubout -out "$LAB_DIR/keys/operator.pub"
	variant good '' ''
	# another program, which does the same
	variant second 's/version = 1/version = 2/' 's/return ip\[TTL_AT\] >=/return 0 + ip[TTL_AT] + packet->frame_bytes - packet->frame_bytes >=/; s/IP4_BYTES 20/IP4_BYTES 12/'
	daemon
	elements --keys "$LAB_DIR/keys" --store "$STORE"
	export LAB_ID LAB_DIR CONFIG DAEMON ELEMENTS CHAINS STORE
}

# variant NAME SED SED: the element, and its program, changed and signed, as $LAB_DIR/NAME.so
variant() {
	mkdir -p "$LAB_DIR/$1.d"
	sed "$2" dist/element/hop_limit.c >"$LAB_DIR/$1.d/hop_limit.c"
	sed "$3" dist/element/hop_limit.bpf.c >"$LAB_DIR/$1.d/hop_limit.bpf.c"
	build "$1"
}
build() {
	make -s -f "$PWD/dist/element/element.mk" -C "$LAB_DIR/$1.d" SLUICE="$PWD" CFLAGS="-O1 -w" \
		BPF_CFLAGS="-target bpf -mcpu=v3 -O2 -g -w" hop_limit.so
	cp "$LAB_DIR/$1.d/hop_limit.so" "$LAB_DIR/$1.so"
	openssl pkeyutl -sign -rawin -inkey "$LAB_DIR/operator.pem" -in "$LAB_DIR/$1.so" -out "$LAB_DIR/$1.so.sig"
}

no_client() { [ "$(grep -c sluice-elements.sock "/proc/$ELEMENTS/net/unix")" = 1 ]; }
held() { wait_for 10 no_client && find "/proc/$ELEMENTS/fd" -mindepth 1 -printf '%l\n' | sed 's/[0-9]//g' | sort; }
installed() { sluice -j element list | jq -r '[.[] | select(.key != null) | "\(.class) \(.version)"] | join(",")'; }
flow() { sluice -j flow | jq ".[] | select(.flow == \"$1\").$2"; }
chains_are() { [ "$(sluice -j flow | jq '[.[] | select(.global | not).flow] | join(" ")')" = "\"$1\"" ]; }
# The programs that sl_edge has: bytes 36 to 39 of sl_meta
linked() {
	on n1 bpftool -j map lookup pinned /sys/fs/bpf/sluice/sl_meta key 0 0 0 0 |
		jq -r '.value[36:40] | map(ltrimstr("0x")) | reverse | join("")'
}
some_linked() { [ "$(linked)" != 00000000 ]; }
none_linked() { [ "$(linked)" = 00000000 ]; }
in_fast_path() { on n1 bpftool -j map dump pinned /sys/fs/bpf/sluice/sl_fast_chain | jq -e "length == $1" >/dev/null; }

use() {
	printf '%s\n' 'chain whole fast { input -> Counter -> output; }' \
		'chain quick fast { h :: HopLimit(least=9); input -> Counter -> h -> Dscp(dscp=ef) -> output; h[1] -> drop; }' \
		'chain slow { h :: HopLimit(least=9); input -> Counter -> h -> Dscp(dscp=ef) -> output; h[1] -> drop; }' >"$CHAINS"
	kill -HUP "$ELEMENTS"
	wait_for 10 chains_are "whole quick slow"
	wait_for 10 in_fast_path 2
}
use_none() { use_none_of "$ELEMENTS"; }
# use_none_of PROCESS
use_none_of() {
	printf 'chain whole fast { input -> Counter -> output; }\n' >"$CHAINS"
	kill -HUP "$1"
	wait_for 10 chains_are whole
}

# udp PORT N TTL: numbered UDP packets of h1
udp() {
	on h1 /usr/bin/python3 - "$@" <<-'END'
		import socket, sys, time
		port, n, ttl = map(int, sys.argv[1:4])
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
		s.bind(("0.0.0.0", 6999))
		for i in range(n): s.sendto(b"%d" % i, ("10.0.2.2", port)), time.sleep(0.001)
	END
}

# refuses NAME REASON: and nothing stays behind
refuses() {
	local fds program
	fds=$(held) program=$(xdp_program_id eth1)
	run sluice element install "$LAB_DIR/$1.so"
	echo "$1: $output"
	[ "$status" = 1 ]
	[[ $output == *"refused: "*"$2"* ]]
	[ "$(held)" = "$fds" ]
	[ -z "$(installed)" ]
	[ -z "$(find "$STORE" -type f 2>/dev/null)" ]
	none_linked
	[ "$(xdp_program_id eth1)" = "$program" ]
	[ -z "$(on n1 find /run/sluice -name '*.elements*')" ]
}

@test "programs: refused by the verifier, endless, with state, with a foreign call, cut, without a name: no trace" {
	variant unbound '' 's/ || (void \*)(ip + IP4_BYTES).*/)/'
	refuses unbound "the verifier refuses its program: "
	variant endless '' 's|return ip\[TTL_AT\]|for (volatile int i = 0; i < 2; i = 0) ;\n&|'
	refuses endless "the verifier refuses its program: infinite loop detected"
	variant state '' 's|^int sl_own|static int n;\n&|; s|return ip\[TTL_AT\]|n++;\n&|'
	refuses state "has maps or variables"
	variant calls '' 's|return ip\[TTL_AT\]|bpf_xdp_adjust_head(ctx, 4);\nreturn 1;\n&|'
	refuses calls "calls helper 44 of the kernel"
	variant nameless '' 's/sl_own_element_X/other/'
	refuses nameless "has other beside its one function"
	variant global '' 's|^int sl_own|int bpf_xdp_metadata_rx_vlan_tag(void) { return 0; }\n&|'
	refuses global "has bpf_xdp_metadata_rx_vlan_tag beside its one function"
	variant foreign '' 's|^int sl_own|extern int sl_fast_step(int i);\n&|; s|return ip\[TTL_AT\]|if (sl_fast_step(1)) return 1;\n&|'
	refuses foreign "has sl_fast_step beside its one function"
	# alone it has room for this, and in sl_edge not: sluiced refuses it
	variant deep '' 's|return ip\[TTL_AT\]|volatile char deep[400]; deep[ip[TTL_AT]] = 1; if (deep[ip[TTL_AT]] != 1) return 1;\n&|'
	refuses deep "sl_edge cannot be loaded with them"
	mkdir "$LAB_DIR/cut.d"
	cp "$LAB_DIR/good.d/"* "$LAB_DIR/cut.d"
	rm "$LAB_DIR/cut.d/hop_limit.so" "$LAB_DIR/cut.d/hop_limit.bpf.c"
	head -c 900 "$LAB_DIR/good.d/hop_limit.bpf.o" >"$LAB_DIR/cut.d/hop_limit.bpf.o"
	build cut
	refuses cut "is no whole BPF object"
}

@test "programs that do not do what the shared object does, or that take long: refused by the first packet" {
	variant other '' 's/ >= config/ > config/'
	refuses other "of its trial: \`process\` gives 0, and its program 1"
	variant writes '' 's/const __u8 \*ip/__u8 *ip/; s|return ip\[TTL_AT\]|ip[1] ^= 1;\n&|'
	refuses writes "gives it other bytes than its program"
	variant paints '' 's|return ip\[TTL_AT\]|packet->paint ^= 1;\n&|'
	refuses paints "gives it other paint than its program"
	variant tagless '' 's/packet->l3_offset & 0xff/14/'
	refuses tagless "of its trial: \`process\` gives"
	variant slow '' 's|^int sl_own|static long turn(__u32 i, void *n) { *(volatile __u32 *)n += i; return 0; }\n&|; s|return ip\[TTL_AT\]|__u32 n = 0; bpf_loop(100000, turn, \&n, 0);\n&|'
	refuses slow "did not end within 1 s of processor time"
	variant long '' 's|^int sl_own|static long turn(__u32 i, void *n) { *(volatile __u32 *)n += i; return 0; }\n&|; s|return ip\[TTL_AT\]|__u32 n = 0; bpf_loop(2000, turn, \&n, 0);\n&|'
	refuses long "ns for a packet, and may take 5000"
	variant half 's/^EL_FAST_PROGRAM.*//' ''
	refuses half "only one of"
	variant kind 's/SL_FAST_OWN/SL_FAST_PASS/' ''
	refuses kind "another kind than SL_FAST_OWN"
}

@test "a fast chain with an installed element: what leaves has the bytes that the worker's has, and none goes to it" {
	[ "$(sluice element install "$LAB_DIR/good.so")" = "HopLimit, version 1: installed" ]
	wait_for 10 some_linked
	[ "$(sluice -j element list | jq '.[] | select(.class == "HopLimit").fast')" = true ]
	use
	spawn h2 dump timeout 60 tcpdump -i eth0 -U -s 0 -w "$LAB_DIR/seen.pcap" udp and src port 6999
	dumping() { grep -q listening "$LAB_DIR/dump.err"; }
	wait_for 10 dumping
	for port in 7001 7002; do
		udp "$port" 7 8
		udp "$port" 9 9
		udp "$port" 5 200
	done
	both() { [ "$(flow quick entered)" = 21 ] && [ "$(flow slow entered)" = 21 ] && [ "$(flow slow left)" = 14 ]; }
	wait_for 10 both
	[ "$(flow quick fast_packets)" = 21 ]
	[ "$(flow quick left)" = 14 ]
	[ "$(flow quick dropped)" = 7 ]
	[ "$(flow slow fast_packets)" = 0 ]
	/usr/bin/python3 - "$LAB_DIR/seen.pcap" "$LAB_DIR/dump.pid" <<-'END'
		import os, sys, time
		from scapy.all import IP, UDP, rdpcap
		def seen():
		    try: return rdpcap(sys.argv[1])
		    except Exception: return []
		until = time.time() + 20
		while len(seen()) < 28 and time.time() < until: time.sleep(0.1)
		def of(port):
		    out = []
		    for p in seen():
		        if p[UDP].dport == port:
		            p = p[IP].copy()
		            assert p.tos == 46 << 2
		            p.id, p[UDP].dport = 0, 0
		            del p.chksum, p[UDP].chksum
		            out.append(bytes(p))
		    return out
		quick, slow = of(7001), of(7002)
		assert len(quick) == 14 and quick == slow, (len(quick), len(slow))
	END
	kill "$(cat "$LAB_DIR/dump.pid")"
}

# The table of next hops, and the program on a port, by their ids.
table() { on n1 bpftool -j map show pinned /sys/fs/bpf/sluice/sl_nexthop | jq .id; }
program() { on n1 ip -j link show dev eth1 | jq .[0].xdp.prog.id; }
pinned_program() { on n1 find /sys/fs/bpf/sluice -name 'sl_edge*' -exec bpftool -j prog show pinned {} \; | jq -s 'map(.id)'; }

@test "installed, replaced and removed again and again under load: no packet of another chain is lost" {
	local before fds table program
	use_none
	sluice element remove HopLimit
	wait_for 10 none_linked
	fds=$(held) before=$(flow whole entered) table=$(table) program=$(program)
	counted_stream 7000
	for _ in 1 2 3; do
		sluice element install "$LAB_DIR/good.so"
		use
		[ "$(program)" != "$program" ]
		[ "$(pinned_program | jq "any(. == $(program))")" = true ]
		[ "$(table)" = "$table" ] # other programs on the same tables
		udp 7001 3 9
		udp 7001 2 8
		sluice element install "$LAB_DIR/second.so"
		wait_for 10 in_fast_path 2
		[ "$(flow quick fast_packets)" = 0 ] # it is another chain
		udp 7001 4 9
		udp 7001 1 8
		[ "$(flow quick fast_packets)" = 5 ]
		[ "$(flow quick left)" = 4 ]
		use_none
		sluice element remove HopLimit
		wait_for 10 none_linked
	done
	counted_stream_arrived 1000
	[ "$(held)" = "$fds" ]
	[ -z "$(on n1 find /run/sluice -name '*.elements*')" ]
}

@test "SIGKILL of sluice-elements: the fast chain goes on; the next one takes it over" {
	sluice element install "$LAB_DIR/good.so"
	use
	kill -KILL "$ELEMENTS"
	gone() { [ ! -e "/proc/$ELEMENTS" ]; }
	wait_for 10 gone
	in_fast_path 2
	some_linked
	spawn h1 ping ping -i 0.01 -c 100 -q 10.0.2.2
	udp 7001 4 9
	elements --keys "$LAB_DIR/keys" --store "$STORE"
	warm_up
	wait_for 10 in_fast_path 2
	udp 7001 6 9
	udp 7001 2 8
	now() { [ "$(flow quick fast_packets)" = 8 ] && [ "$(flow quick left)" = 6 ]; }
	wait_for 10 now
	pinged() { grep -q "packet loss" "$LAB_DIR/ping.out"; }
	wait_for 20 pinged
	grep -q " 0% packet loss" "$LAB_DIR/ping.out"
}

@test "an element in quarantine: its fast chain drops what comes, by that name, until another version is installed" {
	local first
	first=$(cat "$LAB_DIR/elements.pid")
	kill "$first"
	gone() { [ ! -e "/proc/$first" ]; }
	wait_for 10 gone
	printf 'it crashed\n' >"$STORE/HopLimit.fault"
	elements --keys "$LAB_DIR/keys" --store "$STORE"
	warm_up
	wait_for 10 in_fast_path 2
	wait_for 10 none_linked
	udp 7001 5 9
	[ "$(flow quick fast_packets)" = 5 ]
	[ "$(sluice -j element show quick | jq '.[] | select(.drop == "quarantined").dropped')" = 5 ]
	sluice element install "$LAB_DIR/second.so"
	some_linked
	udp 7001 4 9
	[ "$(flow quick fast_packets)" = 4 ]
	[ "$(flow quick left)" = 4 ]
}

@test "SIGKILL of sluice-elements before an element is on the disk, and sluiced has its program: nothing of it stays" {
	local first
	first=$(cat "$LAB_DIR/elements.pid")
	use_none_of "$first"
	sluice element remove HopLimit
	wait_for 10 none_linked
	spawn n1 strace strace -f -qq -p "$first" -e trace=fsync -e inject=fsync:delay_enter=120s:when=1 -o "$LAB_DIR/trace"
	attached() { grep -q '^TracerPid:	[1-9]' "/proc/$first/status"; }
	wait_for 10 attached
	spawn n1 install build/sluice element install "$LAB_DIR/good.so"
	wait_for 20 some_linked
	kill -KILL "$first"
	kill -KILL "$(cat "$LAB_DIR/strace.pid")"
	gone() { [ ! -e "/proc/$first" ]; }
	wait_for 10 gone
	elements --keys "$LAB_DIR/keys" --store "$STORE"
	wait_for 10 none_linked
	[ -z "$(installed)" ]
	[ -z "$(on n1 find /run/sluice -name '*.elements*')" ]
	warm_up
	sluice element install "$LAB_DIR/good.so"
	ELEMENTS=$(cat "$LAB_DIR/elements.pid")
	use
}

@test "SIGKILL of sluiced: the fast chain goes on, and the next sluiced has its program from the start" {
	local before
	before=$(flow quick fast_packets)
	kill -KILL "$DAEMON"
	wait_for 10 daemon_gone
	udp 7001 3 9
	daemon
	some_linked
	warm_up
	udp 7001 3 9
	[ "$(flow quick fast_packets)" = $((before + 6)) ]
	[ "$(flow quick entered)" = $((before + 6)) ]
}
