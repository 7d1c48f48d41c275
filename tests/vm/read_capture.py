#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Read what `sluice capture` wrote, with tshark and scapy, and compare it with what went through.

    read_capture.py flood DIRECTORY
        What tests/vm/capture_flood wrote of a flood: every frame is in the capture once, or was counted as
        not captured; each leaves as scapy expects. Prints the sums.
    read_capture.py chosen DIRECTORY
        The same of a flood that a filter has chosen from: every frame is in the capture, or was left out, or not
        captured. Prints how many, as JSON.
    read_capture.py same CAPTURE INTERFACE FRAMES
        The UDP frames to port 9 of this interface are those of a capture of the test's, in order.
    read_capture.py outcomes CAPTURE INTERFACE
        Print how often each outcome occurs, as JSON.
"""
import collections
import json
import logging
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "oracle"))
import pcap  # noqa: E402  pylint: disable=wrong-import-position

from scapy.all import IP, UDP, Ether, IPv6, RawPcapNgReader, raw  # noqa: E402

# scapy wants a line break in each comment.
logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
Frame = collections.namedtuple("Frame", "interface comment time_ns bytes wire_bytes")
FIELDS = ["frame.interface_name", "frame.comment", "frame.time_epoch", "frame.len", "frame.cap_len"]


def read(path):
    """The frames, as tshark and scapy both see them."""
    command = ["tshark", "-r", path, "-n", "-T", "fields", *(word for field in FIELDS for word in ("-e", field))]
    rows = [line.split("\t") for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines()]
    frames = list(RawPcapNgReader(path))
    assert len(rows) == len(frames), f"tshark reads {len(rows)} frames, scapy {len(frames)}"
    result = []
    for (name, comment, time, length, captured), (data, _) in zip(rows, frames):
        assert int(captured) == len(data)
        seconds, fraction = time.split(".")
        result.append(Frame(name, comment, int(seconds) * 10**9 + int(fraction.ljust(9, "0")), data, int(length)))
    return result


def statistics(path):
    """{interface: (seen, lost)} by the last statistics blocks of the file."""
    with open(path, "rb") as f:
        data = f.read()
    names, result, at = [], {}, 0
    while at < len(data):
        kind, length = struct.unpack_from("=II", data, at)
        body = {1: 8, 5: 12}.get(kind)
        options, here = {}, at + 8 + (body or 0)
        while body and here + 4 <= at + length - 4:
            code, n = struct.unpack_from("=HH", data, here)
            options[code] = data[here + 4:here + 4 + n]
            here += 4 + (n + 3) // 4 * 4
        if kind == 1:
            names.append(options[2].decode())
        elif kind == 5:
            result[names[struct.unpack_from("=I", data, at + 8)[0]]] = tuple(
                struct.unpack("=Q", options[code])[0] for code in (4, 5))
        at += length
    return result


def forwarded(frame, out):
    """The frame as a router must send it on; MAC addresses are those of `out`."""
    packet, sent = Ether(frame), Ether(out)
    packet.src, packet.dst = sent.src, sent.dst
    if IP in packet:
        packet[IP].ttl -= 1
        del packet[IP].chksum
    else:
        packet[IPv6].hlim -= 1
    return raw(packet)


def flood(directory):
    def load(name):
        with open(os.path.join(directory, name), encoding="utf-8") as f:
            return json.load(f)
    path = os.path.join(directory, "flood.pcapng")
    frames, stats = read(path), statistics(path)
    sent, dropped, sink = load("gen")["sent"], load("gen.dropped")["sent"], load("sink")
    before, after = ({(row["kind"], row["name"]): row["packets"] for rows in load(name) for row in rows} for name in ("before", "after"))
    grown = {key: after[key] - before.get(key, 0) for key in after}
    by_interface = collections.defaultdict(list)
    for frame in frames:
        by_interface[frame.interface].append(frame)
    lost = {name: stats[name][1] for name in stats}
    for name, (seen, missing) in stats.items():
        assert len(by_interface[name]) + missing == seen, f"{name}: {len(by_interface[name])} + {missing} is not {seen}"
    with open(os.path.join(directory, "flood.err"), encoding="utf-8") as f:
        said = re.search(r"(\d+) frames captured, (\d+) not captured", f.read())
    assert (int(said[1]), int(said[2])) == (len(frames), sum(lost.values())), said[0]
    times = [frame.time_ns for frame in frames]
    assert times == sorted(times), "times go back"
    # of the generator, the dropped ones and the others
    came = [f for f in by_interface["eth1 in"] if UDP in Ether(f.bytes)]
    good = [f for f in came if Ether(f.bytes)[IP].src == "10.0.1.2"]
    bad = [f for f in came if Ether(f.bytes)[IP].src == "127.0.0.1"]
    left = [f for f in by_interface["eth2 out"] if UDP in Ether(f.bytes)]
    assert len({f.bytes for f in came}) == len(came) and len({f.bytes for f in left}) == len(left), "a frame is there twice"
    assert len(good) <= sent <= len(good) + lost["eth1 in"]
    assert len(bad) <= dropped <= len(bad) + lost["eth1 in"]
    assert len(left) <= sink["packets"] <= len(left) + lost["eth2 out"]
    # what XDP counted while the capture ran
    entered = sum(len(by_interface[name]) + lost[name] for name in stats if name.endswith(" in"))
    went = sum(len(by_interface[name]) + lost[name] for name in stats if name.endswith(" out"))
    assert grown["stage", "rx"] <= entered and grown["stage", "forward"] <= went
    assert grown["drop", "ip4-martian-source"] == dropped
    outcomes = collections.Counter(f.comment for f in good + bad)
    if not sum(lost.values()):
        assert sum(f.wire_bytes for f in left) == sink["bytes"]
        assert outcomes == {"forward: leaves by eth2": sent,
                            "drop: ip4-martian-source: source address that no host may use": dropped}, outcomes
        for one, other in zip(good, left):
            assert other.bytes == forwarded(one.bytes, other.bytes), "a frame left otherwise than it should"
            assert other.comment == "forward: entered by eth1" and other.time_ns > one.time_ns
    else:
        leaving = {f.bytes for f in left}
        pattern = left[0].bytes
        assert {forwarded(f.bytes, pattern) for f in good} | leaving, "nothing captured"
        assert all(re.fullmatch("forward: leaves by eth2|drop: ip4-martian-source: .*|unknown", text) for text in outcomes), outcomes
    print(json.dumps({"sent": sent, "entered": entered, "left": went, "captured": len(frames), "lost": sum(lost.values()),
                      "arrived": sink["packets"]}))


def chosen(directory):
    with open(os.path.join(directory, "flood.err"), encoding="utf-8") as f:
        said = re.search(r"(\d+) frames captured, (\d+) not captured, (\d+) left out by the filter", f.read())
    counts = []
    for name in ("before", "after"):
        with open(os.path.join(directory, name), encoding="utf-8") as f:
            counts.append({row["name"]: row["packets"] for row in json.load(f)[0] if row["kind"] == "stage"})
    path = os.path.join(directory, "flood.pcapng")
    frames, stats = read(path), statistics(path)
    n_captured, n_lost, n_left = map(int, said.groups())
    assert n_captured == len(frames) and n_lost == sum(lost for _, lost in stats.values())
    assert n_captured + n_lost + n_left == sum(seen for seen, _ in stats.values())
    # what XDP counted while the capture ran
    for stage, direction in (("rx", " in"), ("forward", " out")):
        grown = counts[1][stage] - counts[0][stage]
        seen = sum(n for name, (n, _) in stats.items() if name.endswith(direction))
        assert grown <= seen, f"{seen} of {grown} frames were seen"
    print(json.dumps({"by": collections.Counter(f"{f.interface}: {f.comment}" for f in frames), "lost": n_lost,
                      "bytes": max(len(f.bytes) for f in frames)}))


def same(path, interface, frames):
    got = [f for f in read(path) if f.interface == interface and UDP in Ether(f.bytes) and Ether(f.bytes)[UDP].dport == 9]
    want = pcap.read(frames)
    assert [f.bytes for f in got] == want, f"{interface}: {len(got)} frames for {len(want)}, or other bytes"
    print(f"{interface}: {len(got)} frames")


def outcomes_of(path, interface):
    print(json.dumps(collections.Counter(re.sub(r" queue \d+$", "", f.comment) for f in read(path)
                                         if f.interface == interface and UDP in Ether(f.bytes))))


COMMANDS = {"flood": flood, "chosen": chosen, "same": same, "outcomes": outcomes_of}

COMMANDS[sys.argv[1]](*sys.argv[2:])
