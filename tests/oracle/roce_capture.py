#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Judge a capture of the fabric by tools that are not ours: tshark dissects, zlib computes each
ICRC.

Prints one JSON object: how many frames are RoCEv2, how many carry data messages, how many frames
are in those, and how many frames are wrong in any way (then also which and why).
"""
import json
import struct
import subprocess
import sys

import pcap
from fabric_message import icrc


def main():
    path = sys.argv[1]
    out = subprocess.run(["tshark", "-r", path, "-T", "fields", "-E", "separator=|",
                          "-o", "udp.ignore_ipv6_zero_checksum:TRUE",
                          "-e", "infiniband.bth.opcode", "-e", "infiniband.invariant.crc", "-e", "_ws.malformed",
                          "-e", "_ws.expert.message"], check=True, capture_output=True, text=True).stdout
    rows = [line.split("|") for line in out.splitlines()]
    frames = pcap.read(path)
    assert len(rows) == len(frames)
    result = {"roce": 0, "data": 0, "frames": 0, "wrong": 0, "reasons": []}
    for i, (frame, (opcode, crc, malformed, expert)) in enumerate(zip(frames, rows)):
        reason = None
        if malformed or expert:
            reason = f"tshark: {malformed} {expert}"
        elif opcode not in ("100", "0x64"):
            reason = f"opcode {opcode}"
        elif struct.pack(">I", int(crc, 0)) != frame[-4:]:
            reason = f"tshark sees ICRC {crc} at another place"
        elif icrc(frame) != frame[-4:]:
            reason = f"ICRC {frame[-4:].hex()}, zlib {icrc(frame).hex()}"
        if reason:
            result["wrong"] += 1
            result["reasons"].append(f"frame {i + 1}: {reason}")
        result["roce"] += 1
        message = frame[62 if frame[14] >> 4 == 4 else 82:]
        if message[1] == 1:
            result["data"] += 1
            result["frames"] += message[7]
    result["reasons"] = result["reasons"][:20]
    print(json.dumps(result))


if __name__ == "__main__":
    main()
