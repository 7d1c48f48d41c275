#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Send the frames of a capture again, out of a netdev of this namespace: replay_frames.py DEV CAPTURE [--spoil AT]
or in VXLAN to a tunnel's end: replay_frames.py --vxlan ADDRESS MAC CAPTURE

--spoil changes a bit of the byte at this offset of every frame (negative: from its end). --vxlan sends to the MAC
address of the VXLAN netdev, network 7, whose node has this address. Prints how many were sent.
"""
import argparse
import socket

from scapy.utils import rdpcap


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vxlan", metavar="ADDRESS")
    parser.add_argument("dev")
    parser.add_argument("capture")
    parser.add_argument("--spoil", type=int)
    options = parser.parse_args()
    frames = [bytearray(bytes(frame)) for frame in rdpcap(options.capture)]
    if options.vxlan:
        send_in_vxlan(frames, options.vxlan, options.dev)
    else:
        send(frames, options)
    print(len(frames))


def send_in_vxlan(frames, address, mac):
    """RFC 7348: flags with I set, network 7, and the frame, here to the netdev's own MAC address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for frame in frames:
            frame[0:6] = bytes.fromhex(mac.replace(":", ""))
            s.sendto(bytes([8, 0, 0, 0, 0, 0, 7, 0]) + frame, (address, 4789))


def send(frames, options):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((options.dev, 0))
        for frame in frames:
            if options.spoil is not None:
                frame[options.spoil] ^= 0x04
            s.send(frame)


main()
