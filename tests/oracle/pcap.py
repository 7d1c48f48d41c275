# SPDX-License-Identifier: BSD-2-Clause
"""Read and write capture files (pcap, Ethernet, without times). Needs nothing but Python, for
virtual machines."""
import struct

FILE_HEADER = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
FRAME_HEADER = struct.Struct("<IIII")  # time in two parts, captured bytes, bytes


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    frames, at = [], len(FILE_HEADER)
    while at < len(data):
        _, _, length, whole = FRAME_HEADER.unpack_from(data, at)
        assert length == whole, "the capture is cut"
        at += FRAME_HEADER.size + length
        frames.append(data[at - length:at])
    return frames


def write(path, frames):
    with open(path, "wb") as file:
        file.write(FILE_HEADER)
        for frame in frames:
            file.write(FRAME_HEADER.pack(0, 0, len(frame), len(frame)) + frame)
