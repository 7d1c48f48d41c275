#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Frames of the lab's generator in `sluice-bridge`'s view `frames`, against the stamp that each carries: none entered the
router before it was sent. All nodes and hosts of a lab have one clock.

    sent_before.py ERROR_NS <frames
"""
import json
import struct
import sys

MAGIC = bytes.fromhex("736c6c62")
error_ns, n = int(sys.argv[1]), 0
for row in map(json.loads, sys.stdin):
    data = bytes.fromhex(row["bytes"])
    at = data.find(MAGIC)
    if at < 0:
        continue
    sent_ns = struct.unpack_from(">4xHIQ", data, at)[2]
    entered_ns = row["left_ns"] - row["total_ns"]
    if sent_ns:
        n += 1
        assert entered_ns >= sent_ns - error_ns, f"entered {sent_ns - entered_ns} ns before it was sent: {row}"
print(f"{n} frames")
sys.exit(not n)
