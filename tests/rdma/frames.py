#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Send UDP packets of many sizes through a cluster and compare each byte with what scapy says must
arrive.

    frames.py make FILE ROUTER-MAC FROM TO [SIZE]
        Write a capture of what the host of node FROM sends to the host of node TO: frames of all
        sizes, or as many of one size, of IPv4 and of IPv6. Prints how many.
    frames.py exchange FILE ARRIVED NETDEV COUNT GO
        Say "ready" and, once the file GO exists, send FILE at once: fewer frames than the smallest
        queue on the way holds. ARRIVED gets the first COUNT frames that come, or fewer if no more
        come.
    frames.py check (FILE ARRIVED ROUTER-MAC HOST-MAC)...
        Is ARRIVED what was sent, in order, one hop older, from this router to this host?

`exchange` runs inside emulated machines, where starting takes long; it needs nothing but Python.
"""
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "oracle"))
import pcap  # noqa: E402  pylint: disable=wrong-import-position

SIZES = [*range(60, 66), *range(66, 3398, 67), 1513, 1514, 1515, 3396, 3397, 3398]
PORT = 9
SILENCE_S = 90  # an emulated machine may not run for a while
RECEIVE_BUFFER = 64 << 20  # room for all frames at once, as the kernel counts bytes
SO_RCVBUFFORCE, SOL_PACKET, PACKET_STATISTICS, PACKET_OUTGOING = 33, 263, 6, 4


def make(path, router_mac, source, target, only=None):
    from scapy.all import IP, UDP, Ether, IPv6, Raw, raw  # pylint: disable=import-outside-toplevel
    frames = []
    for n, size in enumerate([int(only)] * len(SIZES) if only else SIZES):
        for ip in (IP(src=f"10.{source}.1.2", dst=f"10.{target}.1.2", ttl=64, id=n),
                   IPv6(src=f"fd00:0:{source}:1::2", dst=f"fd00:0:{target}:1::2", hlim=64)):
            head = Ether(src="02:00:00:00:00:01", dst=router_mac) / ip / UDP(sport=4000 + n, dport=PORT)
            room = max(size - len(head), 0)
            frames.append(raw(head / Raw(bytes((n * 31 + i * 7 + i // 251) & 0xff for i in range(room)))))
    pcap.write(path, frames)
    print(len(frames))


def is_ours(frame):
    """UDP to PORT, by IPv4 without options or by IPv6 without extension headers."""
    start, protocol = {b"\x08\x00": (34, 23), b"\x86\xdd": (54, 20)}.get(frame[12:14], (0, 0))
    return start > 0 and frame[protocol] == socket.IPPROTO_UDP and frame[start + 2:start + 4] == struct.pack(">H", PORT)


def exchange(path, arrived, netdev, count, go):
    to_send, frames = pcap.read(path), []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as s:
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        s.bind((netdev, 3))
        s.settimeout(SILENCE_S)
        print("ready", flush=True)
        while not os.path.exists(go):
            time.sleep(0.1)
        for frame in to_send:
            s.send(frame)
        try:
            while len(frames) < int(count):
                frame, address = s.recvfrom(65536)
                if address[2] != PACKET_OUTGOING and is_ours(frame):
                    frames.append(frame)
        except socket.timeout:
            pass
        dropped = struct.unpack("II", s.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]
    pcap.write(arrived, frames)
    if dropped:
        sys.exit(f"frames: {dropped} came and found no room in the socket of this test")


def check(*arguments):
    for i in range(0, len(arguments), 4):
        check_one(*arguments[i:i + 4])


def check_one(path, arrived, router_mac, host_mac):
    from scapy.all import IP, Ether, IPv6, raw  # pylint: disable=import-outside-toplevel
    sent, got = pcap.read(path), pcap.read(arrived)
    expected = []
    for frame in sent:
        packet = Ether(frame)
        packet.src, packet.dst = router_mac, host_mac
        if IP in packet:
            packet[IP].ttl -= 1
            del packet[IP].chksum
        else:
            packet[IPv6].hlim -= 1
        expected.append(raw(packet))
    for n, (want, have) in enumerate(zip(expected, got)):
        if have != want:
            at = next((i for i, (a, b) in enumerate(zip(want, have)) if a != b), min(len(want), len(have)))
            sys.exit(f"frames: {path}: number {n} of {len(want)} bytes has {len(have)}, and differs from byte {at}: "
                     f"{have[at:at + 8].hex()} for {want[at:at + 8].hex()}")
    if len(got) != len(expected):
        sys.exit(f"frames: {path}: {len(expected)} sent, {len(got)} arrived")
    print(f"{len(got)} frames of {min(map(len, got))} to {max(map(len, got))} bytes")


COMMANDS = {"make": make, "exchange": exchange, "check": check}

COMMANDS[sys.argv[1]](*sys.argv[2:])
