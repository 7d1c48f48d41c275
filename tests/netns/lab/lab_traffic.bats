#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# gen and sink: every packet is counted, and looks as tshark and scapy say it must.
bats_require_minimum_version 1.5.0

. netns-lab/lib/lab.sh
. tests/lib/traffic.bash
HOPS=0 # the hosts are at the two ends of one cable

setup_file() {
	lab_begin
	host_up h1
	host_up h2
	link h1:eth0 h2:eth0 3400
	on h1 ip addr add 10.0.0.1/24 dev eth0
	on h1 ip addr add fd00::1/64 dev eth0
	on h2 ip addr add 10.0.0.2/24 dev eth0
	on h2 ip addr add fd00::2/64 dev eth0
	MAC=$(mac_of h2 eth0)
	export MAC
}

teardown_file() { lab_end; }

# Nothing is between the hosts. When gen ends, the sink has all that gen calls sent: not those for
# which the sink's ring had no room, which are refused.
accounts_open() { :; }
accounts_settle() { :; }
accounted() { [ "$1" = "$2" ]; }

# h1_sends GEN-OPTION...
h1_sends() { send h1 h2:eth0 h2 "$@"; }

# h1_sends_all COUNT GEN-OPTION...: until none is refused. A busy machine may not run the sink in
# time.
h1_sends_all() {
	local _
	for _ in {1..20}; do
		h1_sends --count "$@"
		[ $(($(sent) + $(report gen refused))) = "$1" ]
		[ "$(sent)" != "$1" ] || break
	done
	assert_arrived "$1"
}

@test "every packet sent is counted: IPv4, 60 bytes, one flow" {
	h1_sends_all 200001 --dst 10.0.0.2 --rate 500000
	[ "$(received bytes)" = $((200001 * 60)) ]
	[ "$(received flows)" = 1 ]
}

@test "every packet sent is counted: IPv6, 1500 flows to 1000 destinations" {
	h1_sends_all 150000 --dst fd00::/64 --dests 1000 --flows 1500 --rate 300000
	[ "$(received flows)" = 1500 ]
	[ "$(report gen destinations)" = 1000 ]
}

@test "the sink lists when packets were sent and came" {
	h1_sends_all 1000 --dst 10.0.0.2 --rate 100000 --flows 10 --stamp-every 5
	[ "$(received latency_samples)" = 200 ]
	spawn h2 times build/lab/sink eth0 --json --times 150
	wait_for 10 grep -q ready "$LAB_DIR/times.err"
	on h1 build/lab/gen eth0 --dst-mac "$MAC" --dst 10.0.0.2 --count 1000 --rate 100000 --flows 10 --stamp-every 5
	kill -INT "$(cat "$LAB_DIR/times.pid")"
	wait "$(cat "$LAB_DIR/times.pid")"
	jq -e '(.times | length == 150 and (map(.[0:2]) | unique | length == 150) and map(.[0]) - [0, 5] == [] and
		all(.[]; .[2] < .[3]) and ([.[] | .[3]] | . == sort)) and .latency_samples == 200' "$LAB_DIR/times.out"
}

@test "frames of the largest size arrive" {
	h1_sends_all 1000 --dst 10.0.0.2 --size 3398 --rate 10000
	[ "$(received bytes)" = 3398000 ]
}

@test "imix is 7:4:1 of 60, 590 and 1514 bytes" {
	h1_sends_all 12000 --dst 10.0.0.2 --imix --rate 100000
	[ "$(received bytes)" = $((1000 * (7 * 60 + 4 * 590 + 1514))) ]
}

@test "packets with one and with two VLAN tags are counted" {
	h1_sends_all 1000 --dst 10.0.0.2 --vlan 5 --rate 10000
	[ "$(received tagged)" = 1000 ]
	h1_sends_all 1000 --dst fd00::2 --vlan 5,6 --rate 10000
	[ "$(received tagged)" = 1000 ]
}

@test "a flood loses nothing that the report does not name" {
	h1_sends --dst 10.0.0.2 --count 1000000
	[ "$(report gen made)" = 1000000 ]
	[ $(($(sent) + $(report gen refused))) = 1000000 ]
	[ "$(received packets)" = "$(sent)" ]
}

@test "a sink that echoes sends every packet back, whole" {
	local dst
	for dst in 10.0.0.2 fd00::2; do
		spawn h2 echo build/lab/sink eth0 --json --verify --echo
		wait_for 10 grep -q ready "$LAB_DIR/echo.err"
		sink_start received h1
		gen gen h1 h2:eth0 --dst "$dst" --count 200 --rate 10000 --imix --flows 7
		finish echo
		finish received
		came_whole echo
		assert_arrived 200
		[ "$(received bytes)" = "$(report echo bytes)" ]
		[ "$(received latency_max_ns)" -gt "$(report echo latency_p50_ns)" ]
	done
}

@test "pacing keeps to the rate" {
	local sent
	h1_sends --dst 10.0.0.2 --rate 50000 --duration 1
	sent=$(sent)
	[ "$sent" -gt 0 ] # on a busy machine gen sends less
	[ "$sent" -le 50500 ]
	h1_sends --dst 10.0.0.2 --rate 50000 --count 20000
	jq -e '.sent == 20000 and .seconds > 0.39' "$LAB_DIR/gen.out"
}

@test "SIGINT ends the generator, which reports what it sent" {
	send_start h1 h2:eth0 h2 --dst 10.0.0.2 --rate 1000
	send_stop
	[ "$(sent)" -gt 0 ]
	[ "$(sent)" = "$(received packets)" ]
	run ! on h1 ip link show dev lo xdp
}

# Print tshark's reading of captured packets; it checks every checksum.
capture() {
	spawn h2 tcpdump tcpdump -n -i eth0 -w "$LAB_DIR/c.pcap" -U -c 5 udp port 9 or vlan
	wait_for 5 grep -q listening "$LAB_DIR/tcpdump.err"
	gen gen h1 h2:eth0 --count 5 --rate 1000 "$@"
	wait_for 5 test ! -e "/proc/$SPAWNED"
	tshark -r "$LAB_DIR/c.pcap" -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -T fields \
		-E separator=' ' "${FIELDS[@]}" 2>/dev/null
}

@test "tshark finds IPv4 packets as asked for, with right checksums" {
	FIELDS=(-e ip.src -e ip.dst -e ip.ttl -e ip.dsfield.dscp -e ip.len -e ip.checksum.status -e udp.length -e udp.dstport -e frame.len)
	run capture --dst 10.0.0.0/24 --dests 5 --ttl 9 --dscp 46 --size 100 --src 10.0.0.77
	[ "${lines[0]}" = "10.0.0.77 10.0.0.0 9 46 86 1 66 9 100" ]
	[ "${lines[4]}" = "10.0.0.77 10.0.0.4 9 46 86 1 66 9 100" ]
	[ "${#lines[@]}" = 5 ]
}

@test "tshark finds IPv6 packets in two tags, with right UDP checksums" {
	FIELDS=(-e vlan.id -e ipv6.dst -e ipv6.hlim -e ipv6.plen -e udp.checksum.status -e frame.len)
	run capture --dst fd00::fffe/112 --dests 5 --ttl 255 --size 101 --vlan 7,4094
	echo "$output"
	# tshark shows the outer tag's id in another field, as 802.1ad
	[[ "${lines[0]}" = *"4094 fd00:: 255 39 1 101" ]]
	[[ "${lines[2]}" = *"4094 fd00::2 255 39 1 101" ]]
}

@test "the sink tells loss, reordering, duplicates and foreign packets apart" {
	local before
	sink_start received h2
	before=$(xdp_in h2)
	on h1 /usr/bin/python3 - "$MAC" <<-'PY'
		import struct, sys
		from scapy.all import Ether, IP, IPv6, UDP, Raw, conf, sendp
		conf.verb = 0
		def packet(flow, seq, ip=None, tail=b"", **udp):
		    stamp = struct.pack("!IHIQ", 0x736c6c62, flow, seq, 0)
		    return (Ether(dst=sys.argv[1]) / (ip or IP(dst="10.0.0.2", ttl=30)) /
		            UDP(sport=1024, dport=9, **udp) / Raw(stamp + tail))
		frames = [packet(3, s) for s in (0, 1, 3, 2, 2, 3, 10, 200, 4)]
		# 5..9 and 11..199 lost but 4 came late, 2 and 3 came twice
		frames += [packet(65535, 0, IPv6(dst="fd00::2", hlim=200))]
		frames += [packet(7, 0, IP(dst="10.0.0.2", chksum=0x1234))]
		frames += [packet(7, 1, IPv6(dst="fd00::2"), chksum=0x1234)]
		frames += [packet(7, 2, tail=bytes(100) + b"x")]
		frames += [Ether(dst=sys.argv[1]) / IP(dst="10.0.0.2") / UDP(dport=9) / Raw(b"y" * 40)]
		other = packet(7, 3); other[Ether].dst = "02:00:00:00:00:77"
		frames += [other]
		# payloads of up to 17 bytes: one spoiled byte at every place, and none
		spoiled = [bytes(i) + b"x" + bytes(n - 1 - i) for n in range(18) for i in range(n)]
		frames += [packet(8, s, tail=tail) for s, tail in enumerate(spoiled + [bytes(n) for n in range(18)])]
		sendp(frames, iface="eth0")
	PY
	counted() { [ "$(xdp_in h2)" -ge $((before + 186)) ]; }
	wait_for 5 counted
	finish received
	run jq -c '[.packets, .flows, .lost, .reordered, .duplicates, .late, .bad_checksum, .bad_payload, .wrong_mac]' "$LAB_DIR/received.out"
	[ "$output" = "[185,4,194,2,2,1,2,154,1]" ]
	[ "$(received foreign)" -ge 1 ]
	[ "$(jq -c '[.ttl_min, .ttl_max]' "$LAB_DIR/received.out")" = "[30,200]" ]
}

@test "destinations are drawn from a file of prefixes, the same for the same seed" {
	xz -dc netns-lab/data/internet-v4.txt.xz | head -n 3000 >"$LAB_DIR/prefixes"
	FIELDS=(-e ip.dst)
	run capture --dst-file "$LAB_DIR/prefixes" --dests 5 --seed 7
	local first=$output
	run capture --dst-file "$LAB_DIR/prefixes" --dests 5 --seed 7
	[ "$output" = "$first" ]
	run capture --dst-file "$LAB_DIR/prefixes" --dests 5 --seed 8
	[ "$output" != "$first" ]
	/usr/bin/python3 - "$LAB_DIR/prefixes" $first <<-'PY'
		import ipaddress, sys
		prefixes = [ipaddress.ip_network(line.split()[0]) for line in open(sys.argv[1])]
		for address in sys.argv[2:]:
		    assert any(ipaddress.ip_address(address) in p for p in prefixes), address
		assert len(sys.argv) == 7
	PY
}

@test "gen fails when its peer has no NAPI" {
	on h2 ethtool -K eth0 gro off
	run gen gen h1 h2:eth0 --dst 10.0.0.2 --count 10
	on h2 ethtool -K eth0 gro on
	[ "$status" -eq 1 ]
	[ "${lines[0]}" = "gen: eth0 passes no redirected frames on: its peer needs XDP or GRO, switched on while the link is up" ]
}

@test "gen refuses a netdev whose driver takes no redirected frames" {
	on h1 ip link add none type bridge
	on h1 ip link set none up
	run on h1 build/lab/gen none --dst-mac "$MAC" --src 10.0.0.1 --dst 10.0.0.2 --count 10
	on h1 ip link del none
	[ "$status" -eq 1 ]
	[ "$output" = "gen: none passes no redirected frames on: its driver takes none, or only while an XDP program is attached" ]
}

refused() {
	run build/lab/gen "$@"
	[ "$status" -eq 2 ]
}

@test "wrong use is refused with one line that quotes it" {
	refused lo --dst-mac 02:00:00:00:00:01 --count 1 --dst 10.0.0.300
	[ "$output" = 'gen: --dst: "10.0.0.300" is not an address or prefix' ]
	refused lo --dst-mac 00:00:00:00:00:00 --count 1 --dst 10.0.0.3
	[ "$output" = 'gen: --dst-mac: "00:00:00:00:00:00" is not the MAC address of a station' ]
	refused nosuch --dst-mac 02:00:00:00:00:01 --count 1 --dst 10.0.0.3
	[ "$output" = 'gen: no device "nosuch" in this network namespace' ]
	refused lo --dst-mac 02:00:00:00:00:01 --dst 10.0.0.3
	[ "$output" = 'gen: one of --count and --duration is needed' ]
	refused lo --dst-mac 02:00:00:00:00:01 --count 1 --dst 10.0.0.3 --rate 1k
	[ "$output" = 'gen: --rate: "1k" is not a number from 1 to 100000000' ]
	refused lo --dst-mac 02:00:00:00:00:01 --count 1 --dst fd00::1 --size 60
	[ "$output" = 'gen: --size: 60 is too small, the stamp needs 80' ]
	printf '10.0.0.0/8\nfd00::/8\n' >"$LAB_DIR/mixed"
	refused lo --dst-mac 02:00:00:00:00:01 --count 1 --dst-file "$LAB_DIR/mixed"
	[ "$output" = "gen: $LAB_DIR/mixed:2: not an address or prefix of the file's family" ]
}

@test "a report that does not fit on the disk gives status 1" {
	run on h1 sh -c "exec build/lab/gen eth0 --dst-mac $MAC --dst 10.0.0.2 --count 1 --json >/dev/full"
	[ "$status" -eq 1 ]
	[ "$output" = "gen: standard output did not take the whole result: is its disk full?" ]
}
