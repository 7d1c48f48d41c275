#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Send an express message, of docs/PROTOCOL.md and not of our code, in the headers of the last RoCEv2
frame of a capture: a UDP packet with a text to a host of the receiving node.

    express_message.py CAPTURE SOURCE-ADDRESS NETDEV MAC-OF-PORT MAC-OF-HOST ADDRESS TEXT CHECK SEQUENCE

CHECK: icrc; or udp, which leaves the ICRC 0; or none, which has neither.
"""
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "oracle"))
import fabric_message  # noqa: E402
import pcap  # noqa: E402

from scapy.all import IP, UDP, Ether, raw  # noqa: E402

UDP_OFFSET = 14 + 20
MESSAGE = UDP_OFFSET + 8 + 12 + 8
DATA, STREAM = 1, 1
PORT = 9000


def main():
    path, source, netdev, port_mac, host_mac, address, text, check, sequence = sys.argv[1:]
    frame = next(f for f in reversed(pcap.read(path)) if f[26:30] == socket.inet_aton(source))
    version, _, _, sender, receiver, _, _, epoch, _, sent = struct.unpack("!BBHBBBBIIQ", frame[MESSAGE:MESSAGE + 24])
    inner = raw(Ether(src=port_mac, dst=host_mac) / IP(src="10.2.1.2", dst=address, ttl=63) / UDP(sport=9, dport=PORT) / text)
    body = struct.pack("!BBHBBBBIIQ", version, DATA, 36 + len(inner), sender, receiver, STREAM, 1, epoch, int(sequence), sent)
    body += struct.pack("!HHHBBI", len(inner), receiver << 8 | 1, sender << 8 | 1, 0, 0, 0) + inner
    pad = -len(body) % 4
    bth = bytearray(frame[UDP_OFFSET + 8:MESSAGE])
    bth[1] = bth[1] & 0xcf | pad << 4
    udp = struct.pack("!HHH", *struct.unpack("!HH", frame[UDP_OFFSET:UDP_OFFSET + 4]), 8 + len(bth) + len(body) + pad + 4)
    message = bytes(bth) + body + bytes(pad + 4)
    ip = frame[14:16] + struct.pack("!H", 20 + len(udp) + 2 + len(message)) + frame[18:24] + b"\0\0" + frame[26:34]
    ip = ip[:10] + struct.pack("!H", 0xffff - fabric_message.internet_sum(ip)) + ip[12:]
    checksum = 0
    if check == "udp":
        pseudo = ip[12:20] + struct.pack("!H", 17) + udp[4:6]
        checksum = 0xffff - fabric_message.internet_sum(pseudo + udp + message) or 0xffff
    out = bytearray(frame[:14] + ip + udp + struct.pack("!H", checksum) + message)
    if check == "icrc":
        out[-4:] = fabric_message.icrc(out)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((netdev, 0))
        s.send(out)


main()
