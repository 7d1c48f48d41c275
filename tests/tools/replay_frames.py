#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Send the frames of a capture again, out of a netdev of this namespace: replay_frames.py DEV CAPTURE [--spoil AT]

--spoil changes a bit of the byte at this offset of every frame (negative: from its end). Prints how many were sent.
"""
import argparse
import socket

from scapy.utils import rdpcap


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dev")
    parser.add_argument("capture")
    parser.add_argument("--spoil", type=int)
    options = parser.parse_args()
    frames = [bytearray(bytes(frame)) for frame in rdpcap(options.capture)]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((options.dev, 0))
        for frame in frames:
            if options.spoil is not None:
                frame[options.spoil] ^= 0x04
            s.send(frame)
    print(len(frames))


main()
