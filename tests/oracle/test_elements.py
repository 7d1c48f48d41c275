#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Elements before scapy: each frame that goes through a chain comes out with the bytes that scapy makes
when it is told the change, all checksums computed anew. It costs five seconds.

    tests/oracle/test_elements.py [SEED]
"""
import ipaddress
import logging
import os
import random
import subprocess
import sys
import tempfile

import pcap

logging.getLogger("scapy").setLevel(logging.ERROR)
# pylint: disable=wrong-import-position,wrong-import-order
from scapy.all import GRE, ICMP, IP, TCP, UDP, Dot1Q, Ether, ICMPv6EchoRequest, IPerror, IPv6, Raw, raw  # noqa: E402

FRAMES = 200
DESTINATION_PORTS = [20053, 20080, 25000, 25001, 65535]  # of no protocol that scapy would take apart
SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
RUN_CHAIN = os.path.join(os.path.dirname(__file__), "../../build/tests/oracle/run-chain")


def run(chain, frames):
    """The frames that leave, and for each element its packets, drops and copies."""
    with tempfile.TemporaryDirectory(prefix="sluice-oracle.") as directory:
        paths = [os.path.join(directory, name) for name in ("chain", "in.pcap", "out.pcap")]
        with open(paths[0], "w", encoding="ascii") as text:
            text.write("chain test {\n" + chain + "\n}\n")
        pcap.write(paths[1], frames)
        out = subprocess.run([RUN_CHAIN, *paths], check=True, capture_output=True, text=True).stdout
        counts = {name: tuple(map(int, rest)) for name, *rest in map(str.split, out.splitlines())}
        return pcap.read(paths[2]), counts


def address(rng, prefix):
    network = ipaddress.ip_network(prefix)
    return str(network[rng.randrange(network.num_addresses)])


def transport(rng):
    payload = Raw(rng.randbytes(rng.choice([0, 1, 2, 7, 64, 499, 1200])))
    ports = {"sport": rng.randrange(20000, 60000), "dport": rng.choice(DESTINATION_PORTS)}
    return rng.choice([
        lambda: UDP(**ports) / payload,
        lambda: UDP(chksum=0, **ports) / payload,
        lambda: TCP(seq=rng.randrange(1 << 32), flags="PA", **ports) / payload,
        lambda: ICMP(type=8, id=rng.randrange(65536)) / payload,
        lambda: payload,
    ])()


def ipv4(rng):
    head = IP(src=address(rng, rng.choice(["10.1.0.0/16", "192.0.2.0/24"])),
              dst=address(rng, rng.choice(["10.2.0.0/16", "198.51.100.0/24"])),
              tos=rng.randrange(256), id=rng.randrange(65536), ttl=rng.randrange(1, 256))
    kind = rng.randrange(8)
    if kind == 0:  # a later fragment, whose first bytes look like a header
        head.frag, head.proto = rng.randrange(1, 8192), rng.choice([6, 17])
        return head / Raw(rng.randbytes(64))
    if kind == 1:  # a first fragment
        head.flags = "MF"
        return head / UDP(sport=1, dport=2, len=9000, chksum=rng.randrange(1, 65536)) / Raw(rng.randbytes(48))
    if kind == 2:
        head.flags = "DF"
    if kind == 3:
        head.options = b"\x01\x01\x01\x00"
    return head / transport(rng)


def ipv6(rng):
    head = IPv6(src="2001:db8::1", dst=f"2001:db8:1::{rng.randrange(1, 65536):x}", tc=rng.randrange(256), fl=rng.randrange(1 << 20))
    ports = {"sport": rng.randrange(20000, 60000), "dport": rng.choice(DESTINATION_PORTS)}
    return head / rng.choice([UDP(**ports), TCP(**ports), ICMPv6EchoRequest()]) / Raw(rng.randbytes(rng.randrange(200)))


def frame(rng):
    packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        packet = packet / Dot1Q(vlan=rng.randrange(1, 4095), prio=rng.randrange(8))
    return packet / (ipv6(rng) if rng.random() < 0.3 else ipv4(rng))


def fresh(packet):
    """The packet's bytes with its checksums computed anew; but UDP without one stays so, and fragments keep theirs."""
    packet = packet.copy()
    if IP in packet:
        del packet[IP].chksum
        fragment = packet[IP].frag or packet[IP].flags.MF
        for layer in (TCP, UDP):
            if layer in packet and not fragment and (layer is TCP or packet[UDP].chksum != 0):
                del packet[layer].chksum
    return raw(packet)


def made(rng, n=FRAMES):
    """Packets as scapy reads its own bytes, so that every field has its value."""
    return [Ether(raw(frame(rng))) for _ in range(n)]


def ip_of(packet):
    return packet[IP] if IP in packet else packet[IPv6]


def compare(expected, left):
    if len(expected) != len(left):
        return [f"{len(expected)} expected, {len(left)} left"]
    return [f"frame {n}: expected {a.hex()}, left {b.hex()}" for n, (a, b) in enumerate(zip(expected, left)) if a != b]


def dscp_leaves_ecn_and_follows_checksums(rng):
    packets, expected = made(rng), []
    for packet in packets:
        changed = packet.copy()
        if IP in changed:
            changed[IP].tos = 46 << 2 | packet[IP].tos & 3
        else:
            changed[IPv6].tc = 46 << 2 | packet[IPv6].tc & 3
        expected.append(fresh(changed))
    left, _ = run("input -> Dscp(dscp=ef) -> output;", [raw(p) for p in packets])
    return compare(expected, left)


def mapped(text, old, new):
    a, old, new = ipaddress.ip_address(text), ipaddress.ip_network(old), ipaddress.ip_network(new)
    return str(new[int(a) - int(old[0])]) if a in old else text


def incremental(packet, before, after):
    """The checksum of a first fragment, which nobody can compute anew: RFC 1624 in plain arithmetic."""
    total = ~packet[UDP].chksum & 0xffff
    for a, b in zip(before, after):
        total += (~a & 0xffff) + b
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return (~total & 0xffff) or 0xffff


def words(text):
    packed = ipaddress.ip_address(text).packed
    return [int.from_bytes(packed[:2], "big"), int.from_bytes(packed[2:], "big")]


def nat44(rng, side, old, new):
    packets, expected = made(rng), []
    for packet in packets:
        changed = packet.copy()
        if IP in changed:
            before = getattr(packet[IP], side)
            setattr(changed[IP], side, mapped(before, old, new))
            if packet[IP].flags.MF and UDP in packet and packet[UDP].chksum:
                changed[UDP].chksum = incremental(packet, words(before), words(getattr(changed[IP], side)))
        expected.append(fresh(changed))
    name = "source" if side == "src" else "destination"
    left, _ = run(f"input -> Nat44(side={name}, from={old}, to={new}) -> output;", [raw(p) for p in packets])
    return compare(expected, left)


def nat44_maps_sources(rng):
    return nat44(rng, "src", "10.1.0.0/16", "203.0.0.0/16")


def nat44_maps_destinations(rng):
    return nat44(rng, "dst", "198.51.100.0/24", "10.77.1.0/24")


def nat44_maps_what_icmp_errors_carry(rng):
    packets, expected = [], []
    for _ in range(100):
        inner = IP(src=address(rng, "192.0.2.0/24"), dst=address(rng, "203.0.113.0/24"), id=rng.randrange(65536)) / UDP(
            sport=rng.randrange(20000, 60000), dport=7) / Raw(b"quoted")
        outer = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src=address(rng, "203.0.113.0/24"), dst="192.0.2.1")
        packet = Ether(raw(outer / ICMP(type=rng.choice([3, 11, 12]), code=0) / inner))
        changed = packet.copy()
        changed[IP].src = mapped(packet[IP].src, "203.0.113.0/24", "10.9.8.0/24")
        changed[IPerror].dst = mapped(packet[IPerror].dst, "203.0.113.0/24", "10.9.8.0/24")
        del changed[IPerror].chksum, changed[ICMP].chksum, changed[IP].chksum
        packets.append(packet)
        expected.append(raw(changed))
    left, _ = run("input -> Nat44(side=source, from=203.0.113.0/24, to=10.9.8.0/24) -> output;", [raw(p) for p in packets])
    return compare(expected, left)


def tunnel(rng, mode):
    packets, expected = made(rng), []
    for n, packet in enumerate(packets):
        inner = ip_of(packet)
        head = IP(src="192.0.2.1", dst="192.0.2.9", ttl=33, id=n, tos=inner.tos if IP in packet else inner.tc,
                  flags=(packet[IP].flags.DF and "DF" or 0) if IP in packet else "DF")
        if mode == "gre":
            head = head / GRE(proto=0x0800 if IP in packet else 0x86dd)
        else:
            head.proto = 4 if IP in packet else 41
        bytes_ = raw(inner)
        outer = packet.copy()
        last = outer
        while last.payload.name not in ("IP", "IPv6"):
            last = last.payload
        last.remove_payload()
        last.type = 0x0800
        expected.append(raw(outer) + raw(head / Raw(bytes_)))
    left, _ = run(f"input -> Tunnel(mode={mode}, local=192.0.2.1, remote=192.0.2.9, ttl=33) -> output;", [raw(p) for p in packets])
    return compare(expected, left)


def tunnel_ipip(rng):
    return tunnel(rng, "ipip")


def tunnel_gre(rng):
    return tunnel(rng, "gre")


def tunnel_cuts_padding(rng):
    packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2)
    padded = raw(packet) + bytes(18)
    left, _ = run("input -> Tunnel(mode=ipip, local=192.0.2.1, remote=192.0.2.9) -> output;", [padded])
    inner = Ether(left[0])[IP].payload
    del rng
    return [] if raw(inner) == raw(packet[IP]) else [f"inside lies {raw(inner).hex()}"]


def ports_of(packet):
    if IP in packet and packet[IP].frag:
        return None
    for layer in (UDP, TCP):
        if layer in packet:
            return packet[layer].sport, packet[layer].dport
    return None


def classifier_matches_as_scapy_reads(rng):
    tests = {
        "destination_port=\"20053,25000-25001\"": lambda p: ports_of(p) is not None and ports_of(p)[1] in (20053, 25000, 25001),
        "source_port=0-32767": lambda p: ports_of(p) is not None and ports_of(p)[0] < 32768,
        "protocol=udp": lambda p: (p[IP].proto if IP in p else p[IPv6].nh) == 17,
        "dscp=0-31": lambda p: (p[IP].tos if IP in p else p[IPv6].tc) >> 2 < 32,
        "length=0-100": lambda p: (p[IP].len if IP in p else p[IPv6].plen + 40) <= 100,
        "protocol=tcp, dscp=10-40": lambda p: (p[IP].proto if IP in p else p[IPv6].nh) == 6
        and 10 <= (p[IP].tos if IP in p else p[IPv6].tc) >> 2 <= 40,
    }
    problems = []
    for text, matches in tests.items():
        packets = made(rng)
        chain = f"c :: Classifier({text}); q :: Counter; input -> c -> output; c[1] -> q -> drop;"
        left, counts = run(chain, [raw(p) for p in packets])
        expected = [raw(p) for p in packets if matches(p)]
        problems += [f"{text}: {p}" for p in compare(expected, left)]
        if counts["q"][0] != len(packets) - len(expected) or counts["drop"][1] != counts["q"][0]:
            problems.append(f"{text}: {counts}")
    return problems


def paint_is_seen_behind_other_elements(rng):
    packets = [raw(p) for p in made(rng)]
    chain = """udp :: Classifier(protocol=udp); red :: Paint(colour=3); join :: Counter;
        c :: Classifier(paint=3); input -> udp -> red -> join; udp[1] -> join; join -> c -> output; c[1] -> drop;"""
    left, counts = run(chain, packets)
    expected = [p for p in packets if (Ether(p)[IP].proto if IP in Ether(p) else Ether(p)[IPv6].nh) == 17]
    problems = compare(expected, left)
    if counts["join"][0] != len(packets):
        problems.append(f"{counts}")
    return problems


def mirror_sends_each_packet_twice(rng):
    packets = [raw(p) for p in made(rng)]
    left, counts = run("m :: Mirror; input -> m -> output; m[1] -> Dscp(dscp=0) -> drop;", packets)
    problems = compare(packets, left)
    if counts["m"][2] != len(packets) or counts["drop"][1] != len(packets):
        problems.append(f"{counts}")
    left, counts = run("m :: Mirror; input -> m -> output; m[1] -> output;", packets)
    return problems + compare([p for p in packets for _ in range(2)], left)


def sample_takes_each_seventh(rng):
    packets = [raw(p) for p in made(rng)]
    left, counts = run("s :: Sample(one_in=7); input -> s -> output;", packets)
    problems = compare(packets[6::7], left)
    if counts["s"][1] != len(packets) - len(packets[6::7]):
        problems.append(f"{counts}")
    return problems


def queues_keep_order_and_bytes(rng):
    packets = [raw(p) for p in made(rng)]
    left, _ = run("input -> Queue -> Counter -> Unqueue -> Queue(limit=1) -> Delay(time=3us) -> output;", packets)
    return compare(packets, left)


def damaged_frames_pass_or_drop_without_a_change(rng):
    """No element that writes headers touches a frame whose IP header is not whole."""
    packets = []
    for packet in made(rng):
        bytes_ = raw(packet)
        head = len(bytes_) - len(raw(ip_of(packet)))
        packets.append(bytes_[:rng.randrange(14, head + (20 if IP in packet else 40))])
    left, _ = run("input -> Dscp(dscp=3) -> Nat44(side=source, from=0.0.0.0/0, to=0.0.0.0/0) ->"
                  " Tunnel(mode=gre, local=1.1.1.1, remote=2.2.2.2) -> output;", packets)
    return compare(packets, left)


TESTS = [
    dscp_leaves_ecn_and_follows_checksums, nat44_maps_sources, nat44_maps_destinations, nat44_maps_what_icmp_errors_carry,
    tunnel_ipip, tunnel_gre, tunnel_cuts_padding, classifier_matches_as_scapy_reads, paint_is_seen_behind_other_elements,
    mirror_sends_each_packet_twice, sample_takes_each_seventh, queues_keep_order_and_bytes,
    damaged_frames_pass_or_drop_without_a_change,
]


def main():
    failed = 0
    for n, test in enumerate(TESTS, 1):
        problems = test(random.Random(SEED * 1000 + n))
        print(f"{'not ok' if problems else 'ok'} {n} - {test.__name__}")
        for problem in problems[:5]:
            print(f"# {problem}")
        failed += bool(problems)
    print(f"1..{len(TESTS)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
