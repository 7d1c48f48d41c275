#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
# Chains that packets set up: IPv4 and IPv6 with Router Alert, sealed with a key of the operator. scapy and Python's hmac build
# the signals and judge the answers (signals.py); tcpdump and tshark see the option. One lab for all; 30 seconds of processor time.
bats_require_minimum_version 1.5.0
load chain_lab

ALICE=00112233445566778899aabbccddeeff BOB=ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100
VIDEO='chain video share 5 { input -> Dscp(dscp=ef) -> output; }'

setup_file() {
	router_up
	CHAINS=$LAB_DIR/chains KEYS=$LAB_DIR/signal.keys
	printf 'chain whole { input -> Counter -> output; }\n' >"$CHAINS"
	write_keys
	printf '%s\n' "heartbeat_s: 600" "metrics: 9101" "filters:" "- name: in" "  ports: [{name: eth1}]" "  default: permit" \
		"  rules:" "  - {action: permit, name: video, protocol: udp, destination_port: 7000, chain: video}" \
		"  - {action: permit, name: whole, protocol: udp, destination_port: 7001, chain: whole}" \
		"ports:" "  - name: eth1" "  - name: eth2" "  - {name: slchain0, optional: true}" >"$CONFIG"
	daemon
	elements
	export LAB_ID LAB_DIR CONFIG DAEMON ELEMENTS CHAINS KEYS
}

# write_keys [LINE...]: the keys of the router, and of alice alone
write_keys() {
	rm -f "$KEYS"
	(
		umask 077
		[ $# -gt 0 ] || set -- "# NAME secret=HEX ..." "alice secret=$ALICE chains=video,audio,whole share=20 rate=5%" \
			"bob secret=$BOB chains=video,small classes=Counter,Police"
		printf '%s\n' "$@" >"$KEYS"
		printf 'alice secret=%s chains=video\n' "$ALICE" >"$LAB_DIR/alice.keys"
	)
}

# signals JSON...: sent from h1, a line for each answer
signals() { printf '%s\n' "$@" | on h1 /usr/bin/python3 "$PWD/tests/netns/router/signals.py" "$(mac_of n1 eth1)"; }
# of KEY COMMAND TEXT [MEMBERS]: JSON of a signal
of() {
	local secret=$ALICE
	[ "$1" != bob ] || secret=$BOB
	jq -nc --arg key "$1" --argjson command "$2" --arg text "$3" --arg secret "$secret" \
		"{to: \"10.0.2.2\", key: \$key, command: \$command, text: \$text, secret: \$secret} + {${4:-}}"
}
# of6: the same, over IPv6
of6() { of "$1" "$2" "$3" "${4:+$4, }to: \"fd00:2::2\""; }
# asks ARGUMENT...: sluice element signal on h1
asks() { on h1 build/sluice element signal "$@" "key=$LAB_DIR/alice.keys"; }
count() { sluice -j element signals | jq "[.[] | select(.key == $1 and .outcome == \"$2\").signals] | add // 0"; }
chains() { sluice -j flow | jq -r '[.[] | select(.global | not) | "\(.flow)=\(.key)"] | join(" ")'; }
tear_down() { signals "$(of "$1" 3 "$2")" >/dev/null; }
elements_pid() { cat "$LAB_DIR/elements.pid"; }
# of_chain CHAIN KEY: a number of its row
of_chain() { sluice -j flow | jq ".[] | select(.flow == \"$1\").$2"; }
# no_chain: packets of chains that are not there
no_chain() {
	on n1 curl -sS -m 60 http://127.0.0.1:9101/metrics | sed -n 's/^sluice_elements_dropped_packets_total{reason="no-chain"} //p'
}
# raw_sockets: how many of protocol 253 over IPv4 and IPv6, and of the alert
raw_sockets() { on n1 awk '$2 ~ /:00(FD|FF)$/' /proc/net/raw /proc/net/raw6 | wc -l; }
# overrun: signals that came faster than sluice-elements took them
overrun() { on n1 awk '$2 ~ /:00FD$/ { print $NF }' /proc/net/raw; }
heard() { [ "$(signals "$(of alice 4 nothing)")" = 'refused the key may not have a chain of that name' ]; }

# watch HOST FILTER: what comes to it
watch() {
	spawn "$1" watch tcpdump -i eth0 -Q in -U -w - "$2"
	watching() { grep -q "listening on" "$LAB_DIR/watch.err"; }
	wait_for 10 watching
}
watched() {
	kill "$(cat "$LAB_DIR/watch.pid")"
	wait_for 10 no_processes "$(cat "$LAB_DIR/watch.pid")"
}
seen() { tcpdump -r "$LAB_DIR/watch.out" -n -vv 2>/dev/null | grep -c -- "$1"; }
sees() { [ "$(tcpdump -r "$LAB_DIR/watch.out" -n 2>/dev/null | wc -l)" -ge "$1" ]; }

# udp PORT N: UDP packets of h1, each a millisecond
udp() {
	on h1 /usr/bin/python3 - "$@" <<-'END'
		import socket, sys, time
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		for i in range(int(sys.argv[2])): s.sendto(b"numbered %d" % i, ("10.0.2.2", int(sys.argv[1]))), time.sleep(0.001)
	END
}

@test "off by default: nobody listens, and a signal goes by like any packet, its Router Alert with it" {
	[ "$(raw_sockets)" = 0 ]
	watch h2 'ip proto 253 or ip6[6] == 0'
	[ "$(signals "$(of alice 1 "$VIDEO" 'patience: 0.1')" "$(of6 alice 1 "$VIDEO" 'patience: 0.1')" | uniq)" = silence ]
	wait_for 10 sees 2
	watched
	[ "$(seen 'ttl 63.*options (RA)')" = 1 ]
	[ "$(seen 'hlim 63.*HBH.*rtalert: 0xffdf')" = 1 ]
	[ "$(chains)" = whole=null ]
	[ "$(sluice -j element signals)" = '[]' ]
	run asks 10.0.1.1 query video
	[ "$status" = 3 ]
	[[ $output == *"no router answers"* ]]
}

@test "off by default: nor does another network namespace that listens take the IPv6 signals of this one" {
	local others
	spawn h1 others build/sluice-elements --chains "$CHAINS" --signals "$KEYS" --control "$LAB_DIR/others.sock" --store "$LAB_DIR/others"
	others=$SPAWNED
	listening() { on h1 awk '$2 ~ /:00FF$/ { n++ } END { exit !n }' /proc/net/raw6; }
	wait_for 10 listening
	watch h2 'ip6[6] == 0'
	[ "$(signals "$(of6 alice 1 "$VIDEO" 'patience: 0.1')")" = silence ]
	wait_for 10 sees 1
	watched
	kill "$others"
	wait_for 10 no_processes "$others"
}

@test "with keys it listens; keys that others may read, or that are wrong, are refused by line and reason" {
	kill "$ELEMENTS"
	wait_for 10 no_processes "$ELEMENTS"
	chmod 640 "$KEYS"
	run on n1 build/sluice-elements --check --chains "$CHAINS" --signals "$KEYS"
	[ "$status" = 2 ]
	[[ $output == *"chmod 600"* ]]
	write_keys "alice secret=$ALICE chains=video" "bob chains=video secret=12"
	run on n1 build/sluice-elements --check --chains "$CHAINS" --signals "$KEYS"
	[ "$status" = 2 ]
	[[ $output == *"signal.keys:2: secret= must be 16 to 64 bytes"* ]]
	write_keys
	elements --signals "$KEYS"
	[ "$(raw_sockets)" = 3 ]
	# What was sent before it came may be of a former life: so it takes what is younger.
	wait_for 10 heard
}

@test "a chain is set up, asked about, configured and torn down by packets to a host behind the router" {
	local before
	printf '%s\n' "$VIDEO" >"$LAB_DIR/video"
	printf 'chain video share 7 { p :: Paint(colour=3); input -> p -> Dscp(dscp=af41) -> output; }\n' >"$LAB_DIR/other"
	watch h1 'ip proto 253'
	run asks 10.0.2.2 setup "$LAB_DIR/video"
	[ "$status/$output" = "0/10.0.1.1: done: chain video" ]
	watched
	[ "$(chains)" = "whole=null video=alice" ]
	[ "$(of_chain video share)" = 5 ]
	watch h2 'udp port 7000'
	udp 7000 20
	wait_for 10 sees 20
	[ "$(asks 10.0.2.2 query video)" = "10.0.1.1: done: chain video: entered 20, refused 0, left 20, dropped 0, copied 0, waiting 0" ]
	[ "$(asks 10.0.2.2 configure "$LAB_DIR/other")" = "10.0.1.1: done: chain video" ]
	[ "$(of_chain video share)" = 7 ]
	udp 7000 10
	wait_for 10 sees 30
	watched
	[ "$(seen 'tos 0xb8')" = 20 ]
	[ "$(seen 'tos 0x88')" = 10 ]
	[ "$(on h1 build/sluice -j element signal 10.0.1.1 teardown video "key=$LAB_DIR/alice.keys" | jq -r .outcome)" = 'done' ]
	[ "$(chains)" = whole=null ]
	before=$(no_chain)
	udp 7000 5
	dropped() { [ $(($(no_chain) - before)) = 5 ]; }
	wait_for 10 dropped
	run asks 10.0.1.1 query video
	[ "$status" = 1 ]
	[[ $output == '10.0.1.1: refused: there is no chain "video"' ]]
	grep -q 'a signal of 10.0.1.2, key alice: setup: done: chain video' "$LAB_DIR/elements.err"
}

@test "the option is Router Alert as tshark reads it, and the router takes the signal: the host behind it gets none" {
	spawn h1 sent tcpdump -i eth0 -U -w - 'ip proto 253'
	sending() { grep -q "listening on" "$LAB_DIR/sent.err"; }
	wait_for 10 sending
	watch h2 'ip proto 253'
	asks 10.0.2.2 setup "$LAB_DIR/video"
	udp 7001 1
	both() { [ "$(tcpdump -r "$LAB_DIR/sent.out" -n 2>/dev/null | wc -l)" = 2 ]; }
	wait_for 10 both
	kill "$(cat "$LAB_DIR/sent.pid")"
	watched
	[ "$(tshark -r "$LAB_DIR/sent.out" -T fields -e ip.src -e ip.opt.ra 2>/dev/null)" = $'10.0.1.2\t0\n10.0.1.1\t' ]
	[ "$(seen .)" = 0 ]
	tear_down alice video
}

@test "signals of scapy and Python's hmac are obeyed, and each answer has the bytes that they make" {
	run signals "$(of alice 1 "$VIDEO")" "$(of alice 4 video)" "$(of alice 2 "$VIDEO")" "$(of alice 3 video)" \
		"$(of bob 1 'chain small { input -> Counter -> output; }')" "$(of bob 3 small)" "$(of alice 4 video 'alert: false, to: "10.0.1.1"')"
	diff <(printf '%s\n' "$output") - <<-'END'
		done chain video
		done chain video: entered 0, refused 0, left 0, dropped 0, copied 0, waiting 0
		done chain video
		done chain video
		done chain small
		done chain small
		refused there is no chain "video"
	END
}

@test "IPv6: a chain is set up, asked about, configured and torn down; tshark sees the alert, and the host behind sees nothing" {
	spawn h1 sent tcpdump -i eth0 -U -w - 'ip6[6] == 0 or ip6 proto 253'
	sending() { grep -q "listening on" "$LAB_DIR/sent.err"; }
	wait_for 10 sending
	watch h2 'ip6[6] == 0 or ip6 proto 253 or udp port 7001'
	[ "$(asks fd00:2::2 setup "$LAB_DIR/video")" = "fd00:1::1: done: chain video" ]
	[ "$(chains)" = "whole=null video=alice" ]
	[ "$(asks fd00:2::2 query video)" = "fd00:1::1: done: chain video: entered 0, refused 0, left 0, dropped 0, copied 0, waiting 0" ]
	[ "$(asks fd00:2::2 configure "$LAB_DIR/other")" = "fd00:1::1: done: chain video" ]
	[ "$(of_chain video share)" = 7 ]
	[ "$(on h1 build/sluice -j element signal fd00:1::1 teardown video "key=$LAB_DIR/alice.keys" | jq -r '"\(.router) \(.outcome)"')" = 'fd00:1::1 done' ]
	[ "$(chains)" = whole=null ]
	grep -q 'a signal of fd00:1::2, key alice: configure: done: chain video' "$LAB_DIR/elements.err"
	udp 7001 1
	all() { [ "$(tcpdump -r "$LAB_DIR/sent.out" -n 2>/dev/null | wc -l)" = 8 ]; }
	wait_for 10 all
	kill "$(cat "$LAB_DIR/sent.pid")"
	wait_for 10 sees 1
	watched
	[ "$(seen 'hlim')" = 0 ]
	[ "$(seen '\.7001')" = 1 ]
	[ "$(tshark -r "$LAB_DIR/sent.out" -T fields -e ipv6.src -e ipv6.opt.router_alert 2>/dev/null | sort | uniq -c)" = \
		$'      4 fd00:1::1\t\n      4 fd00:1::2\t65503' ]
}

@test "IPv6: signals of scapy are obeyed, with the same answers as over IPv4; wrong ones change nothing" {
	local ignored
	run signals "$(of6 alice 1 "$VIDEO")" "$(of6 alice 1 "$VIDEO" 'repeat: true')" "$(of alice 4 video)" \
		"$(of6 alice 2 "$VIDEO" 'corrupt: 40')" "$(of6 alice 2 "$VIDEO" 'corrupt: -1')" "$(of6 carol 2 "$VIDEO")" "$(of6 alice 1 "$VIDEO" 'cut: 63')" \
		"$(of6 alice 1 "$VIDEO" 'ahead: -31')" "$(of6 alice 1 "$VIDEO")" "$(of6 alice 1 'chain whole { input -> output; }')" \
		"$(of6 bob 3 video)" "$(of6 alice 3 video)" "$(of alice 4 video 'alert: false, to: "fd00:1::1"')"
	diff <(printf '%s\n' "$output") - <<-'END'
		done chain video
		done chain video
		done chain video: entered 0, refused 0, left 0, dropped 0, copied 0, waiting 0
		unauthentic no such key, or a wrong MAC
		unauthentic no such key, or a wrong MAC
		unauthentic no such key, or a wrong MAC
		malformed no signal of version 1
		stale it is older than 30 s, by the router's clock
		refused there is a chain "video" already
		refused there is a chain "whole" already
		refused this key has not set up chain "video"
		done chain video
		refused there is no chain "video"
	END
	# A signal is bound to its way: over IPv4 the same bytes are another's.
	run signals "$(of6 alice 4 video)" "$(of alice 4 video 'repeat: true')"
	[ "$output" = $'refused there is no chain "video"\nunauthentic no such key, or a wrong MAC' ]
	# Whatever else has this alert is taken and counted; without it, or with another value, packets go by.
	ignored=$(count null ignored)
	watch h2 'ip6[6] == 0 or ip6 proto 253'
	[ "$(signals "$(of6 alice 1 "$VIDEO" 'patience: 0, next_header: 17')" "$(of6 alice 1 "$VIDEO" 'patience: 0, magic: "slsh"')" \
		"$(of6 alice 1 "$VIDEO" 'patience: 0, alert: false')" "$(of6 alice 1 "$VIDEO" 'patience: 0.1, alert: 0')" \
		"$(of6 alice 1 "$VIDEO" 'patience: 0.1, alert: 65504')" | uniq)" = silence ]
	wait_for 10 sees 3
	watched
	[ "$(seen .)" = 3 ]
	[ "$(seen 'hlim 63.*HBH')" = 2 ]
	[ $(($(count null ignored) - ignored)) = 2 ]
	[ "$(chains)" = whole=null ]
}

@test "IPv6: a signal of the greatest length comes in fragments, of the kernel and of scapy; one without all of them is no signal" {
	local long ignored
	long="$VIDEO #"
	long+=$(head -c $((8192 - ${#long})) /dev/zero | tr '\0' x)
	printf %s "$long" >"$LAB_DIR/long"
	spawn h1 sent tcpdump -i eth0 -Q out -U -w - 'ip6[6] == 0'
	sending() { grep -q "listening on" "$LAB_DIR/sent.err"; }
	wait_for 10 sending
	watch h2 'ip6[6] == 0 or ip6 proto 253 or udp port 7001'
	[ "$(asks fd00:2::2 setup "$LAB_DIR/long")" = "fd00:1::1: done: chain video" ]
	all() { [ "$(tcpdump -r "$LAB_DIR/sent.out" -n 2>/dev/null | wc -l)" = 6 ]; }
	wait_for 10 all
	kill "$(cat "$LAB_DIR/sent.pid")"
	[ "$(tshark -r "$LAB_DIR/sent.out" -o ipv6.defragment:FALSE -T fields -e ipv6.fraghdr.more -e ipv6.opt.router_alert 2>/dev/null | sort | uniq -c)" = \
		$'      1 0\t65503\n      5 1\t65503' ]
	ignored=$(count null ignored)
	run signals "$(of6 alice 2 "$long" 'fragment: 600')" "$(of6 alice 2 "$long" 'fragment: 1280, corrupt: 5000')" \
		"$(of6 alice 3 video 'fragment: 1280')" "$(of6 alice 1 "$long" 'fragment: 1280, lose: 2, patience: 0.1')" "$(of alice 4 video)"
	diff <(printf '%s\n' "$output") - <<-'END'
		done chain video
		unauthentic no such key, or a wrong MAC
		done chain video
		silence
		refused there is no chain "video"
	END
	udp 7001 1
	wait_for 10 sees 1
	watched
	[ "$(seen hlim)" = 0 ]
	[ "$(count null ignored)" = "$ignored" ]
	[ "$(chains)" = whole=null ]
}

@test "each signal that is wrong is answered with the reason, and changes nothing" {
	local before
	before=$(count '"alice"' refused)
	run signals "$(of alice 1 "$VIDEO" 'corrupt: 40')" "$(of alice 1 "$VIDEO" 'corrupt: -1')" "$(of alice 1 "$VIDEO" 'cut: -1')" \
		"$(of alice 1 "$VIDEO" 'cut: 64')" "$(of carol 1 "$VIDEO")" "$(of alice 1 "$VIDEO" 'cut: 63')" "$(of alice 1 "$VIDEO" 'cut: 5')" \
		"$(of alice 1 "$VIDEO" 'version: 2')" "$(of alice 5 "$VIDEO")" "$(of alice 1 "$VIDEO" 'ahead: -31')" \
		"$(of alice 1 "$VIDEO" 'ahead: 3')" "$(of alice 2 "$VIDEO")" "$(of alice 3 audio)" "$(of alice 3 small)" \
		"$(of alice 1 'chain whole { input -> output; }')" "$(of alice 2 'chain whole { input -> output; }')"
	diff <(printf '%s\n' "$output") - <<-'END'
		unauthentic no such key, or a wrong MAC
		unauthentic no such key, or a wrong MAC
		unauthentic no such key, or a wrong MAC
		unauthentic no such key, or a wrong MAC
		unauthentic no such key, or a wrong MAC
		malformed no signal of version 1
		malformed no signal of version 1
		malformed no signal of version 1
		malformed no signal of version 1
		stale it is older than 30 s, by the router's clock
		stale it is of more than 1 s hence, by the router's clock
		refused there is no chain "video"
		refused there is no chain "audio"
		refused the key may not have a chain of that name
		refused there is a chain "whole" already
		refused this key has not set up chain "whole"
	END
	run signals "$(of bob 1 'chain audio { input -> output; }')" "$(of alice 1 'chain video share 21 { input -> output; }')" \
		"$(of alice 1 'chain video rate 6% { input -> output; }')" "$(of bob 1 "${VIDEO/share 5/}")" "$(of bob 1 "$VIDEO")" \
		"$(of alice 1 'chain video fast { input -> output; }')" "$(of alice 1 "$VIDEO chain audio { input -> output; }")" \
		"$(of alice 1 '')" "$(of alice 1 $'chain video {\n input -> Nothing -> output; }')" "$(of bob 1 'chain small { input -> Counter -> output; }')" \
		"$(of alice 1 "$VIDEO")" "$(of bob 1 'chain video { input -> output; }')" "$(of bob 2 'chain video { input -> output; }')" "$(of bob 3 video)"
	diff <(printf '%s\n' "$output") - <<-'END'
		refused the key may not have a chain "audio"
		refused chain video: the key may have a share of 20
		refused chain video: the key may have a rate of 5%
		refused the key may not use class Dscp
		refused chain video: the key may have a share of 1
		refused chain video: a signal sets up no fast chain
		refused write one chain
		refused write one chain
		refused text:2: "Nothing" is not a class of elements
		done chain small
		done chain video
		refused there is a chain "video" already
		refused this key has not set up chain "video"
		refused this key has not set up chain "video"
	END
	[ "$(chains)" = "whole=null small=bob video=alice" ]
	[ $(($(count '"alice"' refused) - before)) = 11 ]
	tear_down bob small
	tear_down alice video
}

@test "a copy of the latest signal gets its answer again and changes nothing; an older one is stale" {
	local stale
	stale=$(count '"alice"' stale)
	run signals "$(of alice 1 "$VIDEO")" "$(of alice 1 "$VIDEO" 'repeat: true')" "$(of alice 1 "$VIDEO" 'repeat: true')" \
		"$(of alice 3 video)" "$(of alice 3 video 'repeat: true')" "$(of alice 1 "$VIDEO" 'ahead: -20')"
	diff <(printf '%s\n' "$output") - <<-'END'
		done chain video
		done chain video
		done chain video
		done chain video
		done chain video
		stale it is not younger than the latest, or the router was started since
	END
	[ "$(chains)" = whole=null ]
	[ $(($(count '"alice"' stale) - stale)) = 4 ]
}

@test "forged signals get ten answers a second and no more, each is counted, and those of a key are still answered" {
	local unauthentic unanswered overrun answers taken
	unauthentic=$(count null unauthentic) unanswered=$(count null unanswered) overrun=$(overrun)
	answers=$(signals "$(of alice 1 "$VIDEO" 'corrupt: 40, count: 300')")
	taken=$((300 - $(overrun) + overrun))
	[ $(($(count null unauthentic) - unauthentic)) = "$taken" ]
	[ $(($(count null unanswered) - unanswered)) = $((taken - answers)) ]
	[ "$answers" -ge 1 ]
	[ "$answers" -lt 100 ]
	heard
	[ "$(sluice element signals | awk '$1 == "-" && $2 == "unanswered" { print $1, $3 }')" = "- $(count null unanswered)" ]
}

@test "copies of a signal get ten answers a second and no more, each is counted, and what the key sends anew is obeyed" {
	local stale unanswered overrun answers taken
	wait_for 10 heard
	stale=$(count '"alice"' stale) unanswered=$(count '"alice"' unanswered) overrun=$(overrun)
	answers=$(signals "$(of alice 4 video 'count: 300')")
	taken=$((300 - $(overrun) + overrun))
	[ $(($(count '"alice"' stale) - stale)) = $((taken - 1)) ]
	[ $(($(count '"alice"' unanswered) - unanswered)) = $((taken - answers)) ]
	[ "$answers" -ge 1 ]
	[ "$answers" -lt 100 ]
	heard
}

@test "packets of others with Router Alert go on to their hosts, as do packets of this protocol that are no signals for it" {
	watch h2 'ip[0] > 0x45'
	on h1 /usr/bin/python3 - "$(mac_of n1 eth1)" <<-'END'
		import sys
		from scapy.all import Ether, IP, UDP, Raw, IPOption_Router_Alert, sendp
		frames = [Ether(dst=sys.argv[1]) / IP(dst="10.0.2.2", proto=p, id=i, options=[IPOption_Router_Alert()]) /
		          (UDP(sport=9, dport=7009) / Raw(bytes(i)) if p == 17 else Raw(bytes(i)))
		          for i in range(20) for p in (17, 46, 254)]
		sendp(frames, iface="eth0", verbose=False)
	END
	wait_for 10 sees 60
	watched
	[ "$(seen 'ttl 63.*options (RA)')" = 60 ]
}

@test "chains come, change and go 200 times while packets go through another and past all: none is lost" {
	local entered hits udp_no_ports
	arrived() { on h2 nstat -azj UdpNoPorts | jq .kernel.UdpNoPorts; }
	entered=$(of_chain whole entered) udp_no_ports=$(arrived)
	(udp 7001 2000 && udp 7002 500) &
	hits=$!
	for _ in {1..50}; do
		of alice 1 "$VIDEO" && of alice 4 video && of alice 2 "$VIDEO" && of alice 3 video
	done >"$LAB_DIR/rounds"
	# A key that sends too many is told to wait.
	on h1 /usr/bin/python3 "$PWD/tests/netns/router/signals.py" "$(mac_of n1 eth1)" <"$LAB_DIR/rounds" >"$LAB_DIR/answers"
	wait "$hits"
	sort "$LAB_DIR/answers" | uniq -c
	[ "$(grep -c . "$LAB_DIR/answers")" = 200 ]
	run grep -Ec 'silence|forged|unauthentic|malformed|stale' "$LAB_DIR/answers"
	[ "$output" = 0 ]
	through() { [ $(($(of_chain whole entered) - entered)) = 2000 ] && [ $(($(arrived) - udp_no_ports)) = 2500 ]; }
	wait_for 10 through
	[ "$(of_chain whole refused)" = 0 ]
	[ "$(of_chain whole entered)" = "$(of_chain whole left)" ]
}

@test "a key that the file has no more loses its chains, and is a stranger; a wrong file changes nothing" {
	audio='chain audio { input -> output; }'
	kill -HUP "$(elements_pid)"
	calm() { [ "$(signals "$(of alice 3 video)" "$(of alice 1 "$audio")" | tail -n 1)" = "done chain audio" ]; }
	wait_for 10 calm
	[ "$(signals "$(of bob 1 'chain small { input -> Counter -> output; }')")" = "done chain small" ]
	write_keys "alice secret=$ALICE"
	kill -HUP "$(elements_pid)"
	refused() { grep -q 'signal.keys:1: key "alice" needs secret= and chains=' "$LAB_DIR/elements.err"; }
	wait_for 10 refused
	[ "$(chains)" = "whole=null audio=alice small=bob" ]
	write_keys "bob secret=$BOB chains=small"
	kill -HUP "$(elements_pid)"
	revoked() { [ "$(chains)" = "whole=null small=bob" ]; }
	wait_for 10 revoked
	[ "$(signals "$(of alice 4 audio)" | cut -d ' ' -f 1)" = unauthentic ]
	# The operator's own chain takes the name.
	printf 'chain small { input -> drop; }\n' >>"$CHAINS"
	kill -HUP "$(elements_pid)"
	taken() { [ "$(chains)" = "whole=null small=null" ]; }
	wait_for 10 taken
	printf 'chain whole { input -> Counter -> output; }\n' >"$CHAINS"
	write_keys
	kill -HUP "$(elements_pid)"
	restored() { [ "$(chains)" = whole=null ]; }
	wait_for 10 restored
}

@test "metrics of signals are what promtool wants, and equal sluice element signals" {
	on n1 curl -sS -m 60 http://127.0.0.1:9101/metrics >"$LAB_DIR/metrics"
	promtool check metrics <"$LAB_DIR/metrics"
	[ "$(tests/tools/prometheus_samples.py <"$LAB_DIR/metrics" | jq 'with_entries(select(.key | test("^sluice_element_signals")))')" = \
		"$(sluice -j element signals | jq 'map({"sluice_element_signals_total{key=\(.key // "")}{outcome=\(.outcome)}": .signals}) | add')" ]
}
