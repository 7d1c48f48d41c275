#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Answers to denied packets: those of sluice beside those of nftables' reject.

    copies_twins.py answers SLUICE NFT     netdevs that lead to the two routers
    copies_twins.py send NETDEV            the same packets to one router
    copies_twins.py watch NETDEV...        wait for those packets at each of the netdevs, byte for byte and in order
    copies_twins.py watch-flows NETDEV...  the same for those of them that are of exact flows
    copies_twins.py count                  how many packets these are
    copies_twins.py flows UDP TCP          the exact flows of these packets, for `sluice filter flow load`: each with
                                           the word for its protocol; and of what `answers` sends behind each

`answers` sends each packet to both routers, and fails with the first whose answers differ. What each kernel chooses
for itself does not count: the IP identification and the flow label. Checksums must be right.
"""
import random
import select
import socket
import sys
import time

from scapy.all import (AH, ICMP, IP, TCP, UDP, Ether, ICMPv6DestUnreach, ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt,
                       IPv6ExtHdrFragment, Raw, conf, raw)
from scapy.contrib.igmp import IGMP

conf.verb = 0
HOST, ROUTER = "02:00:00:00:00:99", "02:00:00:00:00:01"
V4, V6 = ("10.0.1.9", "10.0.9.9"), ("fd00:1::9", "fd00:9::9")


def l2(packet):
    return Ether(src=HOST, dst=ROUTER) / packet


def frame(packet):
    """As it lies on the wire: with padding, which is no part of the packet."""
    return raw(l2(packet)).ljust(60, b"\xaa")


def wrong(packet, layer):
    """The packet with a wrong checksum of this layer."""
    packet = packet.copy()
    packet[layer].chksum = 0x1234
    return packet


def both_families():
    """name, packet without Ethernet."""
    random.seed(7)
    for family, ip in (("ip4", IP(src=V4[0], dst=V4[1], tos=0x6b)), ("ip6", IPv6(src=V6[0], dst=V6[1], tc=0x6b))):
        tcp = ip / TCP(sport=1234, dport=80, seq=1000, ack=77)
        for flags in ("S", "A", "SA", "PA", "FA", "F", "R", "RA", "", "SF", "AUCE"):
            packet = tcp.copy()
            packet[TCP].flags = flags
            yield f"{family} tcp {flags or 'none'}", packet
        yield f"{family} tcp data", tcp / Raw(bytes(100))
        yield f"{family} tcp data and fin", ip / TCP(sport=1, dport=80, flags="F", seq=0xffffffff) / Raw(bytes(33))
        yield f"{family} tcp options", ip / TCP(dport=80, options=[("MSS", 1460), ("SAckOK", b""), ("WScale", 7)])
        yield f"{family} tcp checksum wrong", wrong(ip / TCP(dport=80), TCP)
        yield f"{family} udp", ip / UDP(sport=5, dport=53) / Raw(b"hello")
        yield f"{family} udp checksum wrong", wrong(ip / UDP(dport=53) / Raw(b"hello"), UDP)
        for size in (0, 1, 500, 527, 528, 529, 1000, 1180, 1232, 1240, 1400):
            yield f"{family} udp of {size}", ip / UDP(dport=9) / Raw(random.randbytes(size))
    ip = IP(src=V4[0], dst=V4[1])
    yield "ip4 udp without checksum", ip / UDP(dport=53, chksum=0) / Raw(b"hello")
    yield "ip4 echo", ip / ICMP() / Raw(b"ping")
    for kind in (0, 3, 4, 5, 11, 12, 15, 42):
        yield f"ip4 icmp {kind}", ip / ICMP(type=kind) / Raw(bytes(28))
    yield "ip4 igmp", ip / IGMP()
    # nftables sums even protocols that have no checksum, and leaves this one alone if the sum is not right
    yield "ip4 protocol 253", IP(src=V4[0], dst=V4[1], proto=253) / Raw(b"\xff\xff")
    yield "ip4 first fragment", IP(src=V4[0], dst=V4[1], flags="MF") / UDP(dport=9, len=1008) / Raw(bytes(600))
    yield "ip4 later fragment", IP(src=V4[0], dst=V4[1], frag=10, proto=17) / Raw(bytes(600))
    yield "ip4 tcp first fragment", IP(src=V4[0], dst=V4[1], flags="MF") / TCP(dport=80) / Raw(bytes(600))
    yield "ip4 authentication header", IP(src=V4[0], dst=V4[1], proto=51) / AH(nh=17, payloadlen=1) / UDP(dport=9)
    ip = IPv6(src=V6[0], dst=V6[1])
    yield "ip6 echo", ip / ICMPv6EchoRequest(data=b"ping")
    yield "ip6 icmp error", ip / ICMPv6DestUnreach() / IPv6(src=V6[1], dst=V6[0]) / UDP()
    yield "ip6 destination options", ip / IPv6ExtHdrDestOpt() / UDP(dport=9) / Raw(b"hello")
    yield "ip6 tcp behind destination options", ip / IPv6ExtHdrDestOpt() / TCP(dport=80, flags="S")
    yield "ip6 first fragment", ip / IPv6ExtHdrFragment(m=1, id=7) / UDP(dport=9, len=1008) / Raw(bytes(600))
    yield "ip6 later fragment", ip / IPv6ExtHdrFragment(offset=10, nh=17, id=7) / Raw(bytes(600))


def flow_of(packet):
    """The exact flow of a packet. None: it is of none, since it has no ports."""
    if ICMPv6DestUnreach in packet or (AH in packet and IP in packet):
        return None
    for layer, name in ((UDP, "udp"), (TCP, "tcp")):
        if layer in packet:
            ip = packet[IP] if IP in packet else packet[IPv6]
            return name, (f"source={ip.src} destination={ip.dst} protocol={name} "
                          f"source_port={packet[layer].sport} destination_port={packet[layer].dport}")
    return None


def flows(udp, tcp):
    words = {"udp": udp, "tcp": tcp}
    all_flows = {flow_of(packet) for _, packet in both_families()} - {None}
    for ip in (IP(src=V4[0], dst=V4[1]), IPv6(src=V6[0], dst=V6[1])):
        all_flows |= {flow_of(ip / UDP(sport=40000 + i, dport=9)) for i in range(sum(1 for _ in both_families()))}
    for name, flow in sorted(all_flows):
        print(flow, words[name])


def open_socket(netdev):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind((netdev, 3))
    return sock


def next_frame(sock, seconds):
    """The next frame that came, in this time, and is no neighbour discovery and no ARP. None: there is none."""
    end = time.monotonic() + seconds
    while select.select([sock], [], [], max(0, end - time.monotonic()))[0]:
        bytes_, address = sock.recvfrom(65536)
        if address[2] == socket.PACKET_OUTGOING:
            continue
        packet = Ether(bytes_)
        if IP in packet or (IPv6 in packet and packet[IPv6].nh != 0 and
                            not (packet[IPv6].nh == 58 and bytes_[54] in range(130, 144))):
            return packet
    return None


def summed(packet):
    """Are all checksums right?"""
    again = packet.copy()
    for layer in (IP, TCP):
        if layer in again:
            del again[layer].chksum
    if IPv6 in again and TCP not in again:
        del again[ICMPv6DestUnreach].cksum
    elif ICMP in again:
        del again[ICMP].chksum
    return raw(Ether(raw(again))) == raw(packet)


def comparable(packet):
    """Without what a kernel chooses for itself."""
    packet = Ether(raw(packet)).payload
    if IP in packet:
        packet.id = 0
        packet.chksum = None
    else:
        packet.fl = 0
    return raw(packet)


def answers(sluice, nft):
    socks = [open_socket(sluice), open_socket(nft)]
    probe = [l2(IP(src=V4[0], dst=V4[1]) / UDP(dport=9)), l2(IPv6(src=V6[0], dst=V6[1]) / UDP(dport=9))]
    answered = silent = 0
    for name, packet in both_families():
        # behind each packet comes one that both answer: whatever comes before its answer answers the packet
        mark = probe[name.startswith("ip6")].copy()
        mark[UDP].sport = 40000 + answered + silent
        del mark[UDP].chksum
        got = []
        for sock in socks:
            sock.send(frame(packet))
            sock.send(raw(mark))
            answer, end = None, next_frame(sock, 30)
            if end is None:
                raise SystemExit(f"{name}: not even the packet behind it was answered")
            if raw(mark.payload)[:28] not in raw(end):
                answer, end = end, next_frame(sock, 30)
            got.append(answer)
        if any(answer is not None and not summed(answer) for answer in got):
            raise SystemExit(f"{name}: a checksum is wrong: {got}")
        if [answer and comparable(answer) for answer in got] != [got[1] and comparable(got[1])] * 2:
            raise SystemExit(f"{name}:\nsluice: {got[0] and got[0].show(dump=True)}\n"
                             f"nft: {got[1] and got[1].show(dump=True)}")
        answered += got[0] is not None
        silent += got[0] is None
    print(f"{answered} answered alike, {silent} left alone by both")


def send(netdev):
    sock = open_socket(netdev)
    for _, packet in both_families():
        sock.send(frame(packet))


def watch(netdevs, only=lambda packet: True):
    socks = [open_socket(name) for name in netdevs]
    print("ready", flush=True)
    for name, packet in both_families():
        if not only(packet):
            continue
        for sock, where in zip(socks, netdevs):
            came = next_frame(sock, 30)
            if came is None or raw(came) != frame(packet):
                raise SystemExit(f"{where}: {name}: {came and came.summary()}")
    print("all came")


if __name__ == "__main__":
    if sys.argv[1] == "answers":
        answers(*sys.argv[2:])
    elif sys.argv[1] == "send":
        send(sys.argv[2])
    elif sys.argv[1] == "watch":
        watch(sys.argv[2:])
    elif sys.argv[1] == "watch-flows":
        watch(sys.argv[2:], flow_of)
    elif sys.argv[1] == "flows":
        flows(*sys.argv[2:])
    else:
        print(sum(1 for _ in both_families()))
