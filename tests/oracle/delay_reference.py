# SPDX-License-Identifier: BSD-2-Clause
"""
What sluice-delay computes, once more, slowly and by other means: scapy and tshark read the packets, matching looks at every earlier
packet, quantiles come from sorted lists, busy periods from all packets at once, the time above a level from the corners
of the sawtooth. Written from the definitions, not from the program.
"""
import json
import logging
import subprocess
from fractions import Fraction

import numpy

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import IP, IPv6, ICMP, TCP, UDP  # noqa: E402  pylint: disable=wrong-import-position

UNMATCHED, MATCHED, DUPLICATE, AMBIGUOUS = "unmatched", "matched", "duplicates", "ambiguous"
RELIABLE = 30


def identity(frame, no_checksums=False):
    """The fields by which the paper knows a packet again, of a packet that scapy dissected; None: no IP."""
    if IP in frame:
        ip = frame[IP]
        data, fields = bytes(ip.payload), (ip.src, ip.dst, ip.id, ip.frag)
        data = data[:max(ip.len - 4 * ip.ihl, 0)]
        first, length, slow = ip.frag == 0, ip.len, ip.ihl > 5
    elif IPv6 in frame:
        ip = frame[IPv6]
        data, fields = bytes(ip.payload)[:ip.plen], (ip.src, ip.dst, ip.nh)
        first, length, slow = True, 40 + ip.plen, ip.nh == 0
    else:
        return None
    data = bytearray(data[:24])
    if no_checksums and first:
        at = {TCP: 16, UDP: 6, ICMP: 2}
        for layer, place in at.items():
            if layer in ip and len(data) >= place + 2:
                data[place:place + 2] = b"\0\0"
    return fields + (bytes(data),), length, slow


def read_by_tshark(path):
    """The same of each record of a capture, by what tshark makes of it: where IP is, and what its fields are."""
    done = subprocess.run(["tshark", "-r", path, "-o", "ip.defragment:FALSE", "-T", "json", "-x", "-J", "frame ip ipv6"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    packets = []
    for record in json.loads(done.stdout):
        layers = record["_source"]["layers"]
        frame = bytes.fromhex(layers["frame_raw"][0])
        if "ip" in layers:
            ip, (_, at, header, *_) = layers["ip"], layers["ip_raw"]
            length, slow = int(ip["ip.len"]), header > 20
            fields = ip["ip.src"], ip["ip.dst"], int(ip["ip.id"], 16), int(ip["ip.frag_offset"])
        elif "ipv6" in layers:
            ip, (_, at, *_), header = layers["ipv6"], layers["ipv6_raw"], 40
            length, slow = 40 + int(ip["ipv6.plen"]), int(ip["ipv6.nxt"]) == 0
            fields = ip["ipv6.src"], ip["ipv6.dst"], int(ip["ipv6.nxt"])
        else:
            packets.append(None)
            continue
        packets.append((fields + (frame[at + header:at + min(length, header + 24)],), length, slow))
    return packets


class Record:
    """A packet on a link: `time` is that of its last bit."""

    def __init__(self, link, time, key, length, slow):
        self.link, self.time, self.key, self.length, self.slow = link, time, key, length, slow
        self.fate, self.other, self.newest_copy = UNMATCHED, None, True


def match(records, outputs, window):
    """Gives each record its fate. They are in order of time; at one time inputs come first."""
    for at, r in enumerate(records):
        earlier = [q for q in records[:at] if q.key == r.key and r.time - q.time <= window]
        copies = [q for q in earlier if q.link == r.link]
        candidates = [q for q in earlier if q.link not in outputs and q.fate == UNMATCHED]
        if copies:
            for q in copies + [r]:
                if q.other is not None:
                    q.other.fate, q.other.other = UNMATCHED, None
                q.fate, q.other = DUPLICATE, None
        elif r.link in outputs and len(candidates) == 1:
            r.fate = candidates[0].fate = MATCHED
            r.other, candidates[0].other = candidates[0], r
        elif r.link in outputs and candidates:
            for q in candidates + [r]:
                q.fate = AMBIGUOUS


def least_excess(rows, wire, rate):
    """{size: (packets, least delay, excess)} of the rows (in, out, size) of one pair of links."""
    by_size = {}
    for entered, left, size in rows:
        by_size.setdefault(size, []).append(left - entered)
    return {size: (len(d), min(d), min(d) - round_half(Fraction(8 * 10**9 * wire(size), rate))) for size, d in by_size.items()}


def round_half(value):
    return int(value + Fraction(1, 2)) if value >= 0 else -int(-value + Fraction(1, 2))


def model_excess(sizes):
    """What the model takes for the excess of each size: rare sizes get the line through the others."""
    reliable = [(size, excess) for size, (count, _, excess) in sizes.items() if count >= RELIABLE]
    if len(reliable) > 1:
        slope, zero = numpy.polyfit(*zip(*reliable), 1)
    return {size: excess if count >= RELIABLE or len(reliable) < 2 else int(zero + slope * size)
            for size, (count, _, excess) in sizes.items()}


def busy_periods(packets):
    """The periods of (in, out, ...): lists of packets that follow each other without an idle time."""
    periods, end = [], None
    for p in sorted(packets, key=lambda p: p[0]):
        if end is None or p[0] >= end:
            periods.append([])
            end = p[1]
        periods[-1].append(p)
        end = max(end, p[1])
    return periods


def serve(arrivals, rate):
    """A queue: arrivals (time, tie, wire bytes, row) in any order; returns (arrival, departure, row), exact."""
    free, out = None, []
    for arrival, _, wire, row in sorted(arrivals, key=lambda a: a[:2]):
        free = (arrival if free is None else max(free, arrival)) + Fraction(8 * 10**9 * wire, rate)
        out.append((Fraction(arrival), free, row))
    return out


def waits_without(arrivals, rate):
    """The mean wait with each input's packets alone at the output, and with all behind such queues."""
    alone, behind = Fraction(0), []
    numbered = [(row[0], number, row[2], (number, row[1][1], row[2])) for number, row in enumerate(sorted(arrivals, key=lambda a: a[:2]))]
    for input_ in {row[3][1] for row in numbered}:
        for arrival, departure, (number, _, wire) in serve([row for row in numbered if row[3][1] == input_], rate):
            sending = Fraction(8 * 10**9 * wire, rate)
            alone += departure - sending - arrival
            behind.append((departure, number, wire, sending))
    return alone / len(arrivals), sum(departure - sending - arrival for arrival, departure, sending in serve(behind, rate)) / len(arrivals)


def time_above(period, level):
    """How long the work of a period lies above a level: between arrivals it falls by one second a second."""
    total = Fraction(0)
    ends = [p[0] for p in period[1:]] + [period[-1][1]]
    for (arrival, departure, *_), end in zip(period, ends):
        until = min(end, departure - level)  # there it crosses the level
        total += max(until - arrival, 0)
    return total
