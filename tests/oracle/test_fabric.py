#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
The fabric of a live cluster, judged by tools that are not ours: tshark dissects every frame without
complaint, zlib and (for IPv4) scapy compute each ICRC, and a decoder written from docs/PROTOCOL.md
finds in the messages the very frames that left the cluster; these are the frames that entered, one
hop older. Then the same where frames go past the bridges, in express messages with each check: of
`udp`, scapy and tshark compute the checksum; of `header`, which covers the headers only, the decoder;
of `icrc`, zlib and scapy.

    tests/oracle/test_fabric.py

tshark 4.0 shows the ICRC and does not judge it, so we compare its value with the one that zlib
computes.
"""
import logging
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter

import cluster
import conservation
import fabric_message
import pcap
import world
from test_forwarding import Tap

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import UDP, Ether, raw  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order
from scapy.contrib.roce import BTH  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order

ETH_P_ALL = 3
SIZES = list(range(60, 1515, 97)) + [1514, 1515, 2000, 3000, 3395, 3396]
SCAPY_FRAMES = 500
CONTROLLER = "controller: qcn, rate: 100mbit"  # sends feedback for every queue that is in use
KINDS = {fabric_message.DATA: "data", fabric_message.FEEDBACK: "feedback", fabric_message.HELLO: "hello",
         fabric_message.ANNOUNCE: "announce", fabric_message.POLICY: "policy", fabric_message.REPORT: "report"}

WANTED = {"data", "feedback", "policy", "announce"}
WHOLE_S = 60  # longest wait until all expected messages have been seen


class Capture:
    """Captures everything that nodes send into the fabric, each frame once, as it enters the
    switch."""

    def __init__(self, fabric):
        self.sockets = fabric.sockets(self.open)

    @staticmethod
    def open():
        out = []
        for node in cluster.NODES:
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            s.setsockopt(world.SOL_PACKET, world.PACKET_IGNORE_OUTGOING, 1)
            s.setsockopt(socket.SOL_SOCKET, world.SO_RCVBUFFORCE, 64 << 20)
            s.setblocking(False)
            s.bind((f"n{node}", ETH_P_ALL))
            out.append(s)
        return out

    def take(self, whole):
        """For each node the frames it sent, in order; waits until all are there, WHOLE_S at
        most."""
        taken, deadline = [[] for _ in self.sockets], time.monotonic() + WHOLE_S
        while True:
            for s, frames in zip(self.sockets, taken):
                try:
                    while True:
                        frames.append(s.recv(65536))
                except BlockingIOError:
                    pass
            frames = [f for of_node in taken for f in of_node if fabric_message.is_roce(f)]
            if whole(frames) or time.monotonic() > deadline:
                return frames
            time.sleep(0.05)

    def close(self):
        for s in self.sockets:
            s.close()


def packet(rng, version, into, out, size, tos):
    """A UDP packet from the host behind one port to one behind another, in a frame of this size."""
    payload = rng.randbytes(size - 14 - (20 if version == 4 else 40) - 8)
    udp = struct.pack("!HHHH", rng.randrange(1024, 65536), 4000, 8 + len(payload), 0 if version == 4 else 0xbeef) + payload
    ether = world.mac_bytes(world.router_mac(into)) + world.mac_bytes(world.host_mac(into))
    if version == 4:
        header = struct.pack("!BBHHHBBH4s4s", 0x45, tos, 20 + len(udp), rng.randrange(65536), 0, 64, 17, 0,
                             socket.inet_aton(f"10.0.{into}.2"), socket.inet_aton(f"10.0.{out}.3"))
        return ether + b"\x08\x00" + header[:10] + struct.pack("!H", world.checksum(header)) + header[12:] + udp
    return ether + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28 | tos << 20, len(udp), 17, 64) + socket.inet_pton(
        socket.AF_INET6, f"fd00:{into}::2") + socket.inet_pton(socket.AF_INET6, f"fd00:{out}::3") + udp


def one_hop_on(frame, out):
    """The frame as a router sends it on: new MAC addresses, TTL one less, a new checksum."""
    ether = world.mac_bytes(world.host_mac(out, 3)) + world.mac_bytes(world.router_mac(out)) + frame[12:14]
    if frame[12:14] == b"\x86\xdd":
        return ether + frame[14:21] + bytes([frame[21] - 1]) + frame[22:]
    header = frame[14:22] + bytes([frame[22] - 1]) + frame[23:24] + b"\0\0" + frame[26:34]
    return ether + header[:10] + struct.pack("!H", world.checksum(header)) + header[12:] + frame[34:]


def traffic(router, rng, sizes):
    """Send; return for each (node, port, class) the frames that must cross the fabric, in order,
    and for each port what left."""
    expected, left = {}, {}
    ways = [(i, o) for i in range(world.PORTS) for o in range(world.PORTS)
            if world.OWNER[i] != world.OWNER[o] and world.FORWARDING[i] and not world.RP_FILTER[i]]
    for n, size in enumerate(sizes * 4):
        into, out = ways[n % len(ways)]
        bytes_ = min(size, 14 + world.MTU[into], 14 + world.MTU[out])
        version, klass = 4 if n % 2 else 6, n // 2 % 4
        frames = [packet(rng, version, into, out, max(bytes_, 62), cluster.CLASS_TOS[klass]) for _ in range(4)]
        for frame in frames:
            expected.setdefault((world.OWNER[into], out, klass), []).append(one_hop_on(frame, out))
        for port, frame in router.exchange(into, frames):
            left.setdefault(port, []).append(frame)
    return expected, left


def dissect(path, checksums):
    """tshark's fields, a row for each frame. RoCEv2 sends no UDP checksum, not even over IPv6."""
    fields = ["frame.protocols", "infiniband.bth.opcode", "infiniband.invariant.crc", "_ws.malformed", "_ws.expert.message",
              "ip.checksum.status", "udp.checksum.status"]
    command = ["tshark", "-r", path, "-T", "fields", "-E", "separator=|", "-o", "ip.check_checksum:TRUE",
               "-o", "udp.ignore_ipv6_zero_checksum:TRUE", "-o", f"udp.check_checksum:{str(checksums).upper()}"]
    for name in fields:
        command += ["-e", name]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split("|") for line in out.splitlines()]


def judged_by_tshark(frames, family, check):
    problems = []
    with tempfile.TemporaryDirectory(prefix="sluice-oracle.") as directory:
        path = os.path.join(directory, "fabric.pcap")
        pcap.write(path, frames)
        rows = dissect(path, check == fabric_message.UDP)
    if len(rows) != len(frames):
        return [f"{len(frames)} frames, {len(rows)} rows"]
    for n, (frame, (protocols, opcode, crc, malformed, expert, ip_status, udp_status)) in enumerate(zip(frames, rows)):
        if "infiniband" not in protocols or malformed or expert or family == 4 and ip_status != "1":
            problems.append(f"frame {n}: {protocols} {malformed} {expert} IP checksum {ip_status}")
        elif int(opcode, 0) != 0x64 or not crc or struct.pack(">I", int(crc, 0)) != frame[-4:]:
            problems.append(f"frame {n}: opcode {opcode}, ICRC {crc}, the frame ends in {frame[-4:].hex()}")
        elif check == fabric_message.UDP and fabric_message.is_express(frame) and udp_status != "1":
            problems.append(f"frame {n}: UDP checksum {udp_status}")
    return problems


def scapy_knows(frame, family, check):
    """Can scapy compute the frame's check? Its ICRC knows IPv4 only, and `header` is no checksum of UDP."""
    if fabric_message.is_express(frame) and check != fabric_message.ICRC:
        return check == fabric_message.UDP
    return family == 4


def judged_by_scapy(frames, check):
    problems = []
    for n, frame in enumerate(frames):
        dissected = Ether(frame)
        if BTH not in dissected:
            problems.append(f"frame {n}: scapy sees no BTH")
            continue
        if not fabric_message.is_express(frame) or check == fabric_message.ICRC:
            dissected[BTH].icrc = None
        elif check == fabric_message.UDP:
            del dissected[UDP].chksum
        if raw(dissected) != frame:
            problems.append(f"frame {n}: scapy makes it {raw(dissected).hex()}, ours is {frame.hex()}")
    return problems


def read_messages(frames, check):
    messages, problems = [], []
    for n, frame in enumerate(frames):
        try:
            messages.append(fabric_message.parse(fabric_message.payload_of(frame, check)))
        except fabric_message.Bad as error:
            problems.append(f"frame {n}: {error}: {frame[:100].hex()}")
    return messages, problems


def kinds_of(messages):
    return Counter(KINDS[m.kind] for m in messages)


def in_sequence(messages):
    """Does the sequence number of each stream of one node to another grow by one?"""
    problems, last = [], {}
    for m in messages:
        key = (m.source, m.destination, m.stream, m.epoch)
        if key in last and m.sequence != last[key] + 1:
            problems.append(f"node {m.source} to {m.destination}: {m.sequence} after {last[key]}")
        last[key] = m.sequence
    return problems


def unpacked(messages, count):
    """For each (node, port, class), the frames of our traffic inside the messages, in order, and
    their labels."""
    frames, problems = {}, []
    for m in messages:
        for f in m.frames:
            if world.MARK in f.data:
                continue
            port = (f.system_port & 255) - 1
            if world.OWNER[port] != m.destination or (f.ingress_port and world.OWNER[(f.ingress_port & 255) - 1] != m.source):
                problems.append(f"frame for p{port} from node {m.source} to {m.destination}")
            if f.data in count:
                frames.setdefault((m.source, port, f.traffic_class), []).append(f.data)
    return frames, problems


def trial(tap, family, check=None):
    name, keys = f"IPv{family} fabric", ""
    if check:
        word = {fabric_message.HEADER: "header", fabric_message.UDP: "udp", fabric_message.ICRC: "icrc"}[check]
        name, keys = f"{name}, express with {word}", f"express: auto, express_check: {word}"
    router = cluster.ClusterWorld(family=family, port_keys=CONTROLLER, fabric_keys=keys)
    capture = None
    try:
        router.settle()
        capture = Capture(router.fabric)
        before = conservation.quiet_snapshot(router.snapshot)
        limit = 3396 if family == 6 else 3414  # what one message of the fabric's MTU holds
        expected, left = traffic(router, random.Random(family), [s for s in SIZES if s <= limit])
        ledger = conservation.check(before, router.snapshot)
        frames = capture.take(lambda frames: WANTED <= kinds_of(read_messages(frames, check)[0]).keys())
    finally:
        if capture:
            capture.close()
        router.close()
    messages, problems = read_messages(frames, check)
    kinds = kinds_of(messages)
    if check:
        express = [f for f in frames if fabric_message.is_express(f)]
        tap.result(len(express) > len(messages) // 20, f"{name}: {len(express)} of {kinds['data']} data messages are express")
    tap.result(WANTED <= kinds.keys(), f"{name}: captured {', '.join(f'{n} {k}' for k, n in sorted(kinds.items()))}",
               [f"no {k}" for k in WANTED - kinds.keys()])
    for what, faults in (("tshark dissects every frame without complaint, and shows its last four bytes as ICRC",
                          judged_by_tshark(frames, family, check)),
                         ("each frame and message is as docs/PROTOCOL.md says, each ICRC as zlib computes", problems),
                         ("messages are numbered without gaps", in_sequence(messages))):
        tap.result(not faults, f"{name}: {what}", faults[:10])
    # scapy is slow: so it judges all data messages, but only a part of the others.
    some = [f for f, m in zip(frames, messages) if m.kind == fabric_message.DATA]
    some += frames[::max(len(frames) // SCAPY_FRAMES, 1)]
    some = [f for f in some if scapy_knows(f, family, check)]
    if some:
        faults = judged_by_scapy(some, check)
        tap.result(not faults, f"{name}: scapy makes {len(some)} frames as they are, each with a checksum of its own", faults[:10])
    ours = {frame for list_ in expected.values() for frame in list_}
    inside, faults = unpacked(messages, ours)
    faults += [f"from node {node} to p{port}, class {klass}: {len(inside.get((node, port, klass), []))} of {len(frames_)} frames, or in "
               "another order" for (node, port, klass), frames_ in expected.items() if inside.get((node, port, klass)) != frames_]
    tap.result(not faults, f"{name}: the frames in the messages are those that entered, one hop on, in order: {len(ours)}", faults[:10])
    faults = [f"p{port}: {len(left.get(port, []))} frames left" for port in {p for _, p, _ in expected}
              if Counter(left.get(port, [])) != Counter(f for (_, p, _), list_ in expected.items() if p == port for f in list_)]
    tap.result(not faults, f"{name}: just these left the cluster", faults)
    # Kernels announce their multicast groups on remote ports at any time.
    lost = {reason: n for reason, n in ledger.drops.items() if reason != "drop-not-unicast"}
    tap.result(not ledger.wrong and not lost, f"{name}: every frame is accounted for",
               ledger.wrong + [f"{n} {reason}" for reason, n in lost.items()])


def main():
    world.pin_to_one_cpu()
    tap = Tap()
    for family, check in ((4, None), (6, None), (4, fabric_message.UDP), (6, fabric_message.HEADER),
                          (4, fabric_message.ICRC)):
        trial(tap, family, check)
    return 0 if tap.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
