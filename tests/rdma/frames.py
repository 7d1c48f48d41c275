#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
UDP packets of every kind of size through a cluster, compared byte by byte with what scapy says must arrive.

    frames.py make FILE ROUTER-MAC FROM TO         a capture of what the host of node FROM sends to the one of node TO: frames of
                                                   all sizes, of IPv4 and of IPv6
    frames.py count FILE                           how many frames it has
    frames.py send FILE NETDEV ARRIVED [WINDOW]    send it, never more than WINDOW (100) frames ahead of what is in the capture ARRIVED
    frames.py check FILE ARRIVED ROUTER-MAC HOST-MAC    is ARRIVED that, in order, one hop older, from this router to this host?

`send` runs where time is dear, and needs nothing but Python.
"""
import os
import socket
import struct
import sys
import time

SIZES = [*range(60, 66), *range(66, 3398, 67), 1513, 1514, 1515, 3396, 3397, 3398]
PORT = 9
DEADLINE_S = 240
FILE_HEADER, FRAME_HEADER = 24, 16


def read(path):
    """Frames of a capture file, as far as it is written."""
    with open(path, "rb") as file:
        data = file.read()
    frames, at = [], FILE_HEADER
    while at + FRAME_HEADER <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        at += FRAME_HEADER + length
        if at <= len(data):
            frames.append(data[at - length:at])
    return frames


def make(path, router_mac, source, target):
    from scapy.all import IP, UDP, Ether, IPv6, Raw, wrpcap  # pylint: disable=import-outside-toplevel
    frames = []
    for n, size in enumerate(SIZES):
        for ip in (IP(src=f"10.{source}.1.2", dst=f"10.{target}.1.2", ttl=64, id=n),
                   IPv6(src=f"fd00:0:{source}:1::2", dst=f"fd00:0:{target}:1::2", hlim=64)):
            head = Ether(src="02:00:00:00:00:01", dst=router_mac) / ip / UDP(sport=4000 + n, dport=PORT)
            room = max(size - len(head), 0)
            frames.append(head / Raw(bytes((n * 31 + i * 7 + i // 251) & 0xff for i in range(room))))
    wrpcap(path, frames)


def send(path, netdev, arrived, window="100"):
    frames = read(path)
    # Where each frame ends in the capture of those that arrive.
    ends = [FILE_HEADER]
    for frame in frames:
        ends.append(ends[-1] + FRAME_HEADER + max(len(frame), 60))
    deadline = time.monotonic() + DEADLINE_S
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((netdev, 0))
        for n in range(len(frames) + int(window)):
            while os.path.getsize(arrived) < ends[max(n - int(window), 0)]:
                if time.monotonic() > deadline:
                    sys.exit(f"frames: {n} sent, {len(read(arrived))} arrived after {DEADLINE_S} s")
                time.sleep(0.01)
            if n < len(frames):
                s.send(frames[n])


def check(path, arrived, router_mac, host_mac):
    from scapy.all import IP, Ether, IPv6, raw  # pylint: disable=import-outside-toplevel
    sent, got = read(path), read(arrived)
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
            sys.exit(f"frames: number {n} of {len(want)} bytes has {len(have)}, and differs from byte {at}: "
                     f"{have[at:at + 8].hex()} for {want[at:at + 8].hex()}")
    if len(got) != len(expected):
        sys.exit(f"frames: {len(expected)} sent, {len(got)} arrived")
    print(f"{len(got)} frames of {min(map(len, got))} to {max(map(len, got))} bytes")


COMMANDS = {"make": make, "count": lambda path: print(len(read(path))), "send": send, "check": check}

COMMANDS[sys.argv[1]](*sys.argv[2:])
