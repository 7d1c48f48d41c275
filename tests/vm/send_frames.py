#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Send frames that differ in every payload, and keep them.

    send_frames.py DEV DESTINATION-MAC COUNT PCAP

They are UDP from 10.0.1.2 to 10.0.2.2, of 60 to 1514 bytes. Of each 50, one is for port 7, and one has a source that
no host may have; the others are for port 9.
"""
import os
import random
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "oracle"))
import pcap  # noqa: E402  pylint: disable=wrong-import-position


def internet_checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xffff) + (total >> 16)
    return ~((total & 0xffff) + (total >> 16)) & 0xffff


def make(number, source_mac, destination_mac, rng):
    payload = struct.pack("!I", number) + rng.randbytes(rng.randint(14, 1468))
    source = "127.0.0.1" if number % 50 == 1 else "10.0.1.2"
    udp = struct.pack("!HHHH", 5000, 7 if number % 50 == 0 else 9, 8 + len(payload), 0) + payload
    ip = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number & 0xffff, 0, 64, 17, 0, socket.inet_aton(source),
                               socket.inet_aton("10.0.2.2")))
    struct.pack_into("!H", ip, 10, internet_checksum(ip))
    return destination_mac + source_mac + b"\x08\x00" + bytes(ip) + udp


dev, mac, count, path = sys.argv[1], bytes.fromhex(sys.argv[2].replace(":", "")), int(sys.argv[3]), sys.argv[4]
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((dev, 0))
rng = random.Random(count)
frames = [make(number, out.getsockname()[4], mac, rng) for number in range(count)]
pcap.write(path, frames)
for frame in frames:
    out.send(frame)
