#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
# Elements are installed, replaced and removed while packets go through chains; wrong ones are refused or contained.
# The element is that of dist/element/, with faults put in. One lab for all; 40 seconds of processor time.
# ELEMENT_ROUNDS=1000 makes the test under load as long as docs/ELEMENTS.md has it.
bats_require_minimum_version 1.5.0
load chain_lab

setup_file() {
	router_up
	CHAINS=$LAB_DIR/chains STORE=$LAB_DIR/store
	mkdir "$LAB_DIR/keys" "$LAB_DIR/other"
	printf 'chain whole { input -> Counter -> output; }\n' >"$CHAINS"
	printf '%s\n' "heartbeat_s: 600" "filters:" "- name: in" "  ports: [{name: eth1}]" "  default: permit" "  rules:" \
		"  - {action: permit, name: whole, protocol: udp, destination_port: 7000, chain: whole}" \
		"  - {action: permit, name: limit, protocol: udp, destination_port: 7001, chain: limit}" \
		"ports:" "  - name: eth1" "  - name: eth2" "  - {name: slchain0, optional: true}" >"$CONFIG"
	for key in operator stranger; do
		openssl genpkey -algorithm ed25519 -out "$LAB_DIR/$key.pem"
	done
	openssl pkey -in "$LAB_DIR/operator.pem" -pubout -out "$LAB_DIR/keys/operator.pub"
	variant good ''
	variant second 's/version = 1/version = 2/'
	daemon
	elements --keys "$LAB_DIR/keys" --store "$STORE"
	export LAB_ID LAB_DIR CONFIG DAEMON ELEMENTS CHAINS STORE
}

# variant NAME SED [KEY [SED]]: the element, changed and signed, as $LAB_DIR/NAME.so; the latter changes its program
variant() {
	mkdir -p "$LAB_DIR/$1.d"
	sed "$2" dist/element/hop_limit.c >"$LAB_DIR/$1.d/hop_limit.c"
	sed "${4:-}" dist/element/hop_limit.bpf.c >"$LAB_DIR/$1.d/hop_limit.bpf.c"
	make -s -f "$PWD/dist/element/element.mk" -C "$LAB_DIR/$1.d" SLUICE="$PWD" CFLAGS="-O1 -w" hop_limit.so
	cp "$LAB_DIR/$1.d/hop_limit.so" "$LAB_DIR/$1.so"
	sign "$1" "${3:-operator}"
}
sign() { openssl pkeyutl -sign -rawin -inkey "$LAB_DIR/$2.pem" -in "$LAB_DIR/$1.so" -out "$LAB_DIR/$1.so.sig"; }
# fault NAME CODE: CODE in its own test; process_fault NAME CODE: where it has a packet
fault() { variant "$1" "s|struct el_context ctx = { 0 };|& $2|"; }
process_fault() { variant "$1" "s|return packet->data|$2 &|; s|, self_test)|, NULL)|"; }

# The process closes a connection after its client has gone.
no_client() { [ "$(grep -c sluice-elements.sock "/proc/$ELEMENTS/net/unix")" = 1 ]; }
held() { wait_for 10 no_client && find "/proc/$ELEMENTS/fd" -mindepth 1 | wc -l; }
mapped() { grep -c . "/proc/$ELEMENTS/maps"; }
bpf_maps() { find "/proc/$ELEMENTS/fd" -lname 'anon_inode:bpf-map' | wc -l; }
# pages: that the process has for itself
pages() { awk '/^Anonymous:/ { print $2 / 4 }' "/proc/$ELEMENTS/smaps_rollup"; }
installed() { sluice -j element list | jq -r '[.[] | select(.key != null) | "\(.class) \(.version) \(.key)"] | join(",")'; }

# refuses NAME REASON: and leaves no trace
refuses() {
	local fds
	fds=$(held)
	run sluice element install "$LAB_DIR/$1.so"
	echo "$1: $output"
	[ "$status" = 1 ]
	[[ $output == *"refused: "*"$2"* ]]
	[ "$(held)" = "$fds" ]
	[ -z "$(installed)" ]
	[ -z "$(find "$STORE" -type f 2>/dev/null)" ]
}

# packets_to PORT N TTL [TEXT]: UDP packets of h1
packets_to() {
	on h1 /usr/bin/python3 - "$@" <<-'END'
		import socket, sys, time
		port, n, ttl = map(int, sys.argv[1:4])
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
		text = sys.argv[4] if len(sys.argv) > 4 else "numbered"
		for i in range(n): s.sendto(text.encode(), ("10.0.2.2", port)), time.sleep(0.0005)
	END
}
entered() { sluice -j flow | jq ".[] | select(.flow == \"$1\").entered"; }
dropped_as() { sluice -j element show | jq "[.[] | select(.chain == \"$1\" and .drop == \"$2\").dropped] | add"; }
chains_are() { [ "$(sluice -j flow | jq '[.[] | select(.global | not).flow] | join(" ")')" = "\"$1\"" ]; }
use_element() {
	printf '%s\n' 'chain whole { input -> Counter -> output; }' 'chain limit { input -> HopLimit(least=9) -> output; }' >"$CHAINS"
	kill -HUP "$ELEMENTS"
	wait_for 10 chains_are "whole limit"
}
# closed: packets that ended because their chain was replaced
closed() {
	on n1 /usr/bin/python3 - <<-'END'
		import json, socket
		s = socket.socket(socket.AF_UNIX)
		s.connect("/run/sluice/sluice-elements.sock")
		s.sendall(b'{"command": "status"}\n')
		print([json.loads(line) for line in s.makefile()][1]["drop_closed"])
	END
}
use_none() {
	printf 'chain whole { input -> Counter -> output; }\n' >"$CHAINS"
	kill -HUP "$ELEMENTS"
	wait_for 10 chains_are whole
}

@test "signatures: of another key, of other bytes, of no length of ed25519, none: refused" {
	variant foreign '' stranger
	refuses foreign "none of the 1 keys"
	cp "$LAB_DIR/good.so" "$LAB_DIR/altered.so"
	cp "$LAB_DIR/good.so.sig" "$LAB_DIR/altered.so.sig"
	printf x >>"$LAB_DIR/altered.so"
	refuses altered "none of the 1 keys"
	head -c 63 "$LAB_DIR/good.so.sig" >"$LAB_DIR/altered.so.sig"
	refuses altered "63 bytes"
	rm "$LAB_DIR/altered.so.sig"
	run sluice element install "$LAB_DIR/altered.so"
	[ "$status" = 1 ]
	[[ $output == *"altered.so.sig"*"No such file"* ]]
}

@test "objects cut or altered anywhere, though signed: right or refused with a reason, each contained" {
	/usr/bin/python3 - "$LAB_DIR/good.so" build/sluice-elements <<-'END'
		import pathlib, random, subprocess, sys, tempfile
		good, draw, refused = pathlib.Path(sys.argv[1]).read_bytes(), random.Random(1), {}
		def judge(data, must_refuse):
		    with tempfile.NamedTemporaryFile(suffix=".so") as f:
		        f.write(data), f.flush()
		        p = subprocess.run([sys.argv[2], "--try", f.name], capture_output=True, text=True, timeout=120)
		    lines = p.stderr.splitlines()
		    assert p.returncode in (1, 2) and len(lines) == 1 and len(lines[0].split(f"{f.name}: ", 1)[1]) > 5 \
		        or p.returncode == 0 and not must_refuse and p.stdout == f"{f.name}: right\n", p
		    if p.returncode:
		        why = lines[0].split(f"{f.name}: ", 1)[1].split(":")[0]
		        refused[why] = refused.get(why, 0) + 1
		for n in range(0, len(good), len(good) // 40):
		    judge(good[:n], True)
		for _ in range(120):
		    data = bytearray(good)
		    for _ in range(draw.choice((1, 4, 64))):
		        data[draw.choice((draw.randrange(64), draw.randrange(0x400), draw.randrange(len(data))))] = draw.randrange(256)
		    judge(bytes(data), False)
		print(refused)
		assert refused["it is cut short"] >= 39 and len(refused) >= 4
	END
}

@test "objects: truncated, no object, of another interface, of another class, without a function: refused" {
	head -c 5000 "$LAB_DIR/good.so" >"$LAB_DIR/short.so"
	sign short operator
	refuses short "it is cut short: its"
	head -c 300 /dev/urandom >"$LAB_DIR/noise.so"
	sign noise operator
	refuses noise "its first bytes are not those of ELF"
	variant abi 's|^EL_PACKAGE(.*|#undef EL_PACKAGE_ABI\n#define EL_PACKAGE_ABI 9\n&|'
	refuses abi "another version of the interface"
	variant builtin 's|"HopLimit"|"Counter"|'
	refuses builtin "Counter is the name of a class that is built in"
	variant nothing 's|\.process = hop_limit_process,||; s|^static int hop_limit_process|static int __attribute__((unused)) hop_limit_process|'
	refuses nothing "no function"
	fault undefined 'extern void no_such_function(void); no_such_function();'
	refuses undefined "undefined symbol: no_such_function"
}

@test "crashes, an endless loop, a system call, a wrong test of its own: contained and named" {
	fault crash '*(volatile int *)8 = 1;'
	refuses crash "crashed in its own test: Segmentation fault"
	process_fault packets '*(volatile int *)8 = 1;'
	refuses packets "crashed with packets: Segmentation fault"
	variant constructor 's|^EL_PACKAGE(.*|__attribute__((constructor)) static void begin(void) { __builtin_trap(); }\n&|'
	refuses constructor "crashed while it was loaded: Illegal instruction"
	process_fault endless 'for (;;) __asm__ volatile("");'
	refuses endless "did not end within 1 s of processor time with packets"
	fault files 'extern int unlink(const char *); unlink("/none");'
	refuses files "system call that elements may not make in its own test"
	fault wrong 'return "it is wrong";'
	refuses wrong "its own test: it is wrong"
}

@test "what a class does not say that it may do: refused by name" {
	process_fault writes 'packet->data[0] ^= 1;'
	refuses writes "changed the bytes of a packet"
	process_fault resizes 'packet->len_bytes--;'
	refuses resizes "changed the length of a packet"
	process_fault beyond 'return 7;'
	refuses beyond "gave 7, which is no output"
	process_fault holds 'return EL_HELD;'
	refuses holds "held a packet, which it may not"
	process_fault leaks 'el_pool_take(ctx->pool);'
	refuses leaks "lost the memory of a packet"
}

@test "installed, used, replaced by a later version in one step, not by an older, not removed while in use, removed" {
	run sluice element install "$LAB_DIR/good.so"
	[ "$output" = "HopLimit, version 1: installed" ]
	[ "$(installed)" = "HopLimit 1 operator" ]
	use_element
	packets_to 7001 5 9
	packets_to 7001 7 8
	limited() { [ "$(dropped_as limit hop-limit)" = 7 ] && [ "$(entered limit)" = 12 ]; }
	wait_for 10 limited
	sluice element install "$LAB_DIR/second.so"
	[ "$(installed)" = "HopLimit 2 operator" ]
	packets_to 7001 3 8
	replaced() { [ "$(dropped_as limit hop-limit)" = 3 ]; }
	wait_for 10 replaced
	run sluice element install "$LAB_DIR/good.so"
	[ "$status" = 1 ]
	[[ $output == *"version 1 of HopLimit is older than 2"* ]]
	run sluice element remove HopLimit
	[ "$status" = 1 ]
	[[ $output == *'chains:2: "HopLimit" is not a class of elements'* ]]
	[ "$(installed)" = "HopLimit 2 operator" ]
	use_none
	run sluice element remove HopLimit
	[ "$output" = "HopLimit: removed" ]
	[ -z "$(installed)" ]
	[ -z "$(find "$STORE" -type f)" ]
	run sluice element remove HopLimit
	[ "$status" = 1 ]
}

@test "an HTTP server is a repository; what it does not have is an error" {
	spawn n1 http /usr/bin/python3 -m http.server --bind 127.0.0.1 --directory "$LAB_DIR" 8000
	serves() { on n1 curl -sf -o /dev/null http://127.0.0.1:8000/good.so; }
	wait_for 10 serves
	run sluice element install http://127.0.0.1:8000/none.so
	[ "$status" = 1 ]
	[[ $output == *"404"* ]]
	sluice element install http://127.0.0.1:8000/good.so
	[ "$(installed)" = "HopLimit 1 operator" ]
	sluice element remove HopLimit
	kill "$(cat "$LAB_DIR/http.pid")"
}

@test "install, upgrade and remove again and again under load: no packet of other flows is lost, nothing is left over" {
	local rounds=${ELEMENT_ROUNDS:-10} fds maps before pages bpf i
	sluice element install "$LAB_DIR/good.so"
	sluice element remove HopLimit
	fds=$(held) maps=$(mapped) before=$(entered whole) pages=$(pages) bpf=$(bpf_maps)
	counted_stream 7000
	for ((i = 0; i < rounds; i++)); do
		sluice element install "$LAB_DIR/good.so"
		sluice element install "$LAB_DIR/second.so"
		sluice element remove HopLimit
	done
	counted_stream_arrived 100
	[ $(($(entered whole) - before)) = $(($(cat "$LAB_DIR/sender.out") + 1)) ]
	echo "$rounds rounds: $fds to $(held) descriptors, $bpf to $(bpf_maps) BPF maps, $maps to $(mapped) mappings, $pages to $(pages) pages"
	[ "$(held)" = "$fds" ]
	[ "$(bpf_maps)" = "$bpf" ]
	[ "$bpf" -ge 2 ] # those of fast chains, so that the name is right
	[ "$(mapped)" -le $((maps + 2)) ] # the allocator may divide what it has
	[ "$(pages)" -le $((pages + 64)) ]
}

@test "an element is used when file and directory are on the disk, and packets do not wait for it" {
	local served
	spawn n1 strace strace -f -qq -p "$ELEMENTS" -e trace=fsync,rename,openat -e inject=fsync:delay_enter=120s:when=1 -o "$LAB_DIR/trace"
	attached() { grep -q '^TracerPid:	[1-9]' "/proc/$ELEMENTS/status"; }
	wait_for 10 attached
	spawn n1 install build/sluice element install "$LAB_DIR/good.so"
	writes() { [ -e "$STORE/HopLimit.new" ]; }
	wait_for 20 writes
	served=$(entered whole)
	packets_to 7000 5 64
	goes_on() { [ "$(entered whole)" = $((served + 5)) ]; }
	wait_for 20 goes_on
	[ -z "$(installed)" ]
	run sluice element remove HopLimit
	[ "$status" = 1 ]
	kill "$(cat "$LAB_DIR/strace.pid")"
	await_end install
	[ "$(cat "$LAB_DIR/install.out")" = "HopLimit, version 1: installed" ]
	# Now without delay: the file, then its name, then the directory.
	spawn n1 order strace -f -qq -y -p "$ELEMENTS" -e trace=fsync,rename -o "$LAB_DIR/order"
	wait_for 10 attached
	sluice element install "$LAB_DIR/second.so"
	kill "$(cat "$LAB_DIR/order.pid")"
	[ "$(sed -nE 's|^[0-9 ]*([a-z]+)\(.*/([A-Za-z.]+)["><].*= 0$|\1 \2|p' "$LAB_DIR/order" | paste -sd ,)" = \
		"fsync HopLimit.new,rename HopLimit.element,fsync store" ]
	sluice element remove HopLimit
}

@test "what waits at the input of a chain stays when an element of it is replaced" {
	local before
	sluice element install "$LAB_DIR/good.so"
	printf '%s\n' 'chain whole { input -> Counter -> output; }' \
		'chain limit limit 200 { input -> Delay(time=1ms) -> HopLimit(least=9) -> output; }' >"$CHAINS"
	kill -HUP "$ELEMENTS"
	wait_for 10 chains_are "whole limit"
	spawn h1 sender /usr/bin/python3 -c '
import pathlib, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while not pathlib.Path(sys.argv[1]).exists():
    s.sendto(b"x", ("10.0.2.2", 7001))
    time.sleep(0.0002)' "$LAB_DIR/replaced"
	of_limit() { sluice -j flow | jq ".[] | select(.flow == \"limit\").$1"; }
	full() { [ "$(of_limit refused)" -gt 0 ]; }
	wait_for 20 full
	before=$(closed)
	sluice element install "$LAB_DIR/second.so"
	touch "$LAB_DIR/replaced"
	await_end sender
	# at most the one that was inside an element
	[ $(($(closed) - before)) -le 1 ]
	left() { [ "$(of_limit waiting)" = 0 ] && [ "$(of_limit entered)" = "$(of_limit left)" ]; }
	wait_for 20 left
	[ "$(of_limit entered)" -ge 199 ]
	use_none
	sluice element remove HopLimit
}

# quarantined NAME REASON: the element crashes at a packet, the next process does not run it, and others are served
quarantined() {
	local ended=$ELEMENTS
	sluice element install "$LAB_DIR/$1.so"
	use_element
	packets_to 7001 1 64 wrong
	wait_for 20 no_processes "$ended"
	grep "sluice-elements: class HopLimit: $2 in element HopLimit@1 of chain limit" "$LAB_DIR/elements.err"
	on h1 ping -c 3 -i 0.01 -W 5 10.0.2.2
	elements --keys "$LAB_DIR/keys" --store "$STORE"
	[ "$(sluice -j element list | jq -r '.[] | select(.class == "HopLimit").fault')" = "$2 in element HopLimit@1 of chain limit" ]
	packets_to 7001 4 64 wrong
	stopped() { [ "$(dropped_as limit quarantined)" = 4 ]; }
	wait_for 10 stopped
	before=$(entered whole)
	packets_to 7000 5 64
	others() { [ "$(entered whole)" = $((before + 5)) ]; }
	wait_for 10 others
	sluice element install "$LAB_DIR/second.so"
	[ "$(sluice -j element list | jq -r '.[] | select(.class == "HopLimit").fault')" = null ]
	packets_to 7001 3 64 wrong
	healed() { [ "$(sluice -j flow | jq '.[] | select(.flow == "limit").left')" = 3 ]; }
	wait_for 10 healed
	use_none
	sluice element remove HopLimit
}

@test "an element that crashes in service costs its process, is named, and stays out until it is replaced" {
	variant late 's|return packet->data|if (!__builtin_memcmp(packet->data + 42, "wrong", 5)) *(volatile int *)8 = 1; &|'
	quarantined late "segmentation fault"
}

@test "an element that does not end in service, likewise" {
	variant hang 's|return packet->data|if (!__builtin_memcmp(packet->data + 42, "wrong", 5)) for (;;) __asm__ volatile(""); &|'
	ELEMENTS=$(pgrep -f "sluice-elements --chains $CHAINS" | tail -1)
	quarantined hang "it did not end within 750 ms of processor time"
}
