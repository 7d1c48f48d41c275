# SPDX-License-Identifier: BSD-2-Clause
"""When are two answers to a packet the same? Byte for byte, except for values that each router
chooses itself."""
import struct
import time

from world import PORTS, checksum

ROUTER4 = {bytes([10, 0, i, 1]) for i in range(PORTS)}
ROUTER4_NET = bytes([10, 130])  # the route of type local in world.ROUTES4
MS_PER_DAY = 86400 * 1000
CLOCK_WINDOW_MS = 1800 * 1000
STARTED_MS = int(time.time() * 1000)  # one time for both answers, which are looked at one after the other


def ip_packet(frame):
    """The frame from its Ethernet header to the end of its IPv4 or IPv6 packet."""
    if frame[12:14] == b"\x08\x00" and len(frame) >= 34:
        return frame[:14 + struct.unpack("!H", frame[16:18])[0]]
    if frame[12:14] == b"\x86\xdd" and len(frame) >= 54:
        return frame[:54 + struct.unpack("!H", frame[18:20])[0]]
    return frame


def normalise(frame):
    """
    Blank what the router itself chose at random: the IPv4 identification of its own packets, and
    their checksum, if that is right.
    """
    if frame[12:14] != b"\x08\x00" or not (frame[26:30] in ROUTER4 or frame[26:28] == ROUTER4_NET):
        return frame
    header_bytes = (frame[14] & 15) * 4
    if checksum(frame[14:14 + header_bytes]) != 0:
        return frame
    return frame[:18] + b"\0\0" + frame[20:24] + b"\0\0" + frame[26:]


def without_clock(frame):
    """
    Blank every word that reads as the time of day about now, as IPv4 timestamps do, and the checksums
    over it. For packets that ask for the time only.
    """
    now_ms = STARTED_MS % MS_PER_DAY
    data = bytearray(frame)
    for at in range(34, len(data) - 3, 4):
        word = struct.unpack("!I", data[at:at + 4])[0]
        away_ms = abs(word - now_ms)
        if word < MS_PER_DAY and min(away_ms, MS_PER_DAY - away_ms) < CLOCK_WINDOW_MS:  # midnight may lie between
            data[at:at + 4] = bytes(4)
    end = 14 + (data[14] & 15) * 4
    data[24:26] = bytes(2)
    if data[23] == 1:
        data[end + 2:end + 4] = bytes(2)
    return bytes(data)


def flow(port_and_frame):
    """Port and both addresses: enough to tell the flows of a burst apart."""
    port, frame = port_and_frame
    return (port, frame[26:34]) if frame[12:14] == b"\x08\x00" else (port, frame[22:54])


def answer(case, captured):
    """What left on each port, in a form that compares equal if two answers are the same."""
    source = case.frame[26:30]  # a packet with this source was passed on, even if the source is the router's address
    frames = [(port, frame if frame[26:30] == source else normalise(frame)) for port, frame in captured]
    if case.note == "clock":
        frames = [(port, without_clock(frame)) for port, frame in frames]
    if case.more:
        return sorted(frames, key=flow)  # stable: the order within a flow is part of the answer
    return sorted(frames)


def answers(cases, captured):
    """What left for several cases that were sent together, as `answer` has it for each."""
    sources = {case.frame[26:30] for case in cases}
    return sorted((port, frame if frame[26:30] in sources else normalise(frame)) for port, frame in captured)
