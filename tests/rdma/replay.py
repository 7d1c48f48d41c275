#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Send the last RoCEv2 frame of a capture again, from a netdev: as it is, or damaged in one way.

    replay.py CAPTURE SOURCE-ADDRESS NETDEV TIMES good|icrc|qkey|qpn
"""
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "oracle"))
import pcap  # noqa: E402
import roce_capture  # noqa: E402

IP4_HEADERS = 14 + 20 + 8  # before the BTH
BTH_QPN, DETH_QKEY = IP4_HEADERS + 5, IP4_HEADERS + 12


def main():
    path, source, netdev, times, how = sys.argv[1:]
    frames = [f for f in pcap.read(path) if f[26:30] == socket.inet_aton(source)]
    frame = bytearray(frames[-1])
    assert roce_capture.icrc(frame) == frame[-4:], "the capture itself has a wrong ICRC"
    if how == "icrc":
        frame[-1] ^= 1
    elif how in ("qkey", "qpn"):
        frame[(DETH_QKEY if how == "qkey" else BTH_QPN) + 2] ^= 1
        frame[-4:] = roce_capture.icrc(frame)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((netdev, 0))
        for _ in range(int(times)):
            s.send(frame)


main()
