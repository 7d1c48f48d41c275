#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
sluice-delay on captures of routers whose truth is known, and against a slow reference on random captures.

    tests/oracle/test_delay.py
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction
from functools import reduce

import delay_reference as reference
import delay_world as world
from test_forwarding import Tap

from scapy.all import (ARP, ICMP, IP, TCP, UDP, Dot1Q, Ether, IPOption_RR, IPv6, IPv6ExtHdrHopByHop,  # noqa: E402
                       PPP, Raw, raw)  # pylint: disable=wrong-import-order

PROGRAM = "build/tests/sluice-delay"  # under ASan and UBSan
PLOT = "delay/sluice-delay-plot"
SEEDS = 9


def run(*words):
    return subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def measure(*words):
    done = run("--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def links_of(paths, *options):
    """Arguments for two OC-48 inputs and an OC-3 output."""
    return [*options, "-i", f"in0={paths[0]},rate=2488320kbit,stamp=4", "-i", f"in1={paths[1]},rate=2488320kbit,stamp=4",
            "-o", f"out={paths[2]},rate=155520kbit,stamp=20"]


def fates(report):
    return {link["name"]: {key: link[key] for key in ("matched", "unmatched", "duplicates", "ambiguous")} for link in report["links"]}


# --- The paper's example ---

def paper(tap, directory):
    inputs, departures = world.bursty_trace(1, 60_000)
    paths = world.write_trace(directory, inputs, departures)
    report = measure(*links_of(paths, "-L", "100us,250us,500us,1ms,2ms,3ms"))
    excess = {row["bytes"]: row["excess_ns"] for pair in report["pairs"] for row in pair["sizes"]}
    faults = [f"{size} bytes: {excess.get(size)} ns, not {world.excess_ns(size)}" for size, _ in world.SIZES
              if abs(excess.get(size, 0) - world.excess_ns(size)) > 100]
    faults += [f"fit {pair['excess_fit']}" for pair in report["pairs"] if abs(pair["excess_fit"]["at_zero_ns"] - 15000) > 10 or
               abs(pair["excess_fit"]["per_byte_ns"] - 10) > 0.05]
    tap.result(not faults, f"excess of the least delay: {excess} ns for 40, 552 and 1500 bytes, within 100 ns of the truth", faults)

    output = report["outputs"][0]
    error, gaps = output["model"]["error"], output["gaps"]
    faults = [f"{key} {error[key]}" for key in ("mean_ns", "rms_ns", "max_ns") if abs(error[key]) > 3]
    faults += [f"amplitudes {error}"] * (error["amplitude_p99"] > 0.001)
    tap.result(not faults and output["model"]["packets"] == 60_000,
               f"the model predicts each of {output['model']['packets']} delays within 3 ns: rms {error['rms_ns']:.2f} ns", faults)
    tap.result(abs(gaps["rate_bps"] / world.OC3 - 1) < 1e-4 and abs(gaps["overhead_bytes"]) < 0.1,
               f"{gaps['gaps']} gaps between departures tell the rate: {gaps['rate_bps'] / 1e6:.3f} Mbit/s")

    ratios = {row["level_ns"]: row["triangle_by_exact"] for row in output["model"]["levels"]}
    text = ", ".join(f"{ratio:.3f} above {level / 1e6:g} ms" for level, ratio in ratios.items())
    tap.result(len(ratios) == 6 and all(0.965 < ratio < 1.035 for level, ratio in ratios.items() if level <= 1_000_000),
               f"triangles by exact time above a level: {text}")
    bound = output["model"]["bound"]
    tap.result(bound["checked"] == output["model"]["queue"]["periods"] and not bound["broken"],
               f"no busy period of {bound['checked']} breaks A <= D (1 - 1/R) + a packet")

    # Busy periods of the router, from the true times
    periods = reference.busy_periods([(p.in_ns, p.out_ns) for p in departures])
    largest = max(out - in_ for period in periods for in_, out in period)
    longest = max(max(out for _, out in period) - period[0][0] for period in periods)
    system = output["system"]
    tap.result(system["periods"] == len(periods) and abs(system["max_amplitude_ns"] - largest) < 3 and
               abs(system["max_duration_ns"] - longest) < 3, f"{len(periods)} busy periods of the router, the largest of {largest} ns")

    # Without a rate the gaps must tell it; then nothing else changes.
    again = measure(*links_of(paths)[:4], "-o", f"out={unstamped(directory, departures)}")
    error = again["outputs"][0]["model"]["error"]
    tap.result(again["outputs"][0]["rate_from"] == "gaps" and abs(error["mean_ns"]) < 30 and error["rms_ns"] < 2000,
               f"without a rate the model runs with that of the gaps: error {error}")
    pictures(tap, directory, report)


def unstamped(directory, departures):
    """A capture of the output by software, when packets are out"""
    writer = world.Writer(f"{directory}/unstamped.pcap")
    for p in departures:
        writer.add(world.EPOCH_NS + p.out_ns, world.packet(p.number, p.size, bytes([10, 0, 0, p.input]), 63), p.size)
    writer.close()
    return f"{directory}/unstamped.pcap"


def pictures(tap, directory, report):
    with open(f"{directory}/report.json", "w", encoding="ascii") as file:
        json.dump(report, file)
    done = subprocess.run([PLOT, "-d", f"{directory}/pictures", f"{directory}/report.json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    drawn = done.stdout.split("\n")[:-1]
    faults = [path for path in drawn if open(path, "rb").read(8) != b"\x89PNG\r\n\x1a\n"]  # pylint: disable=consider-using-with
    tap.result(done.returncode == 0 and len(drawn) == 10 and not faults, f"sluice-delay-plot draws {len(drawn)} pictures",
               faults + [done.stderr] * (done.returncode != 0))


# --- Faults with a known number ---

def planted(tap, directory):
    rng = random.Random(2)
    inputs, departures = world.bursty_trace(2, 20_000)
    marked = rng.sample(departures, 400)
    for p in marked[:100]:
        p.dropped = True
    paths = world.write_trace(directory, inputs, departures)
    twice, twice_out, own, both = marked[100:200], marked[200:250], 37, marked[250:300]
    extra = {path: [] for path in paths}
    for p in twice:  # the link layer sent them twice, 1 us apart
        extra[paths[p.input]].append((p.in_ns + 1000, p, p.input, 64))
    for p in twice_out:
        extra[paths[2]].append((p.out_ns + 1000, p, p.input, 63))
    for p in both:  # the same packet on both inputs: nobody can say which one left
        extra[paths[1 - p.input]].append((p.in_ns, p, p.input, 64))
    for path, more in extra.items():
        append(path, [(time, world.packet(p.number, p.size, bytes([10, 0, 0, i]), ttl), p.size) for time, p, i, ttl in more])
    append(paths[2], [(p.out_ns + 7, world.packet(1 << 50 | i, 100, b"\x0a\x09\x09\x09"), 100)
                      for i, p in enumerate(marked[300:300 + own])])
    report = measure(*links_of(paths))
    got, wanted = fates(report), {}
    for i in (0, 1):
        wanted[f"in{i}"] = {"duplicates": 2 * sum(p.input == i for p in twice), "ambiguous": len(both),
                            "unmatched": sum(p.input == i for p in marked[:100] + twice_out)}
    wanted["out"] = {"duplicates": 2 * len(twice_out), "ambiguous": len(both), "unmatched": own + len(twice)}
    for i in (0, 1, 2):
        name = ("in0", "in1", "out")[i]
        wanted[name]["matched"] = report["links"][i]["packets"] - sum(wanted[name].values())
    tap.result(got == wanted, "duplicates, drops, packets of the router and ambiguous ones are counted to the packet",
               [] if got == wanted else [f"got {got}", f"not {wanted}"])
    late = sum(link["reordered"] for link in report["links"])
    tap.result(late > 500, f"captures with {late} late records are put in order")


def append(path, rows):
    """Write more records at their places, but one place late, as an adapter of several queues does."""
    with open(path, "rb") as file:
        head, old, at = file.read(24), [], 0
        data = file.read()
    while at < len(data):
        bytes_ = int.from_bytes(data[at + 8:at + 12], "little")
        time = int.from_bytes(data[at:at + 4], "little") * 10**9 + int.from_bytes(data[at + 4:at + 8], "little")
        old.append((time, data[at:at + 16 + bytes_]))
        at += 16 + bytes_
    new = []
    for time, packet, length in rows:
        stamp = time + world.EPOCH_NS - shift(path, length)
        s, ns = divmod(stamp, 10**9)
        new.append((stamp, b"".join(v.to_bytes(4, "little") for v in (s, ns, len(packet), length)) + packet))
    merged = sorted(old + new, key=lambda row: row[0])
    for i in range(0, len(merged) - 1, 50):
        merged[i], merged[i + 1] = merged[i + 1], merged[i]
    with open(path, "wb") as file:
        file.write(head + b"".join(row for _, row in merged))


def shift(path, length):
    depth, rate = (20, world.OC3) if path.endswith("out.pcap") else (4, world.OC48)
    return round(world.sending_ns(max(length - depth, 0), rate))


# --- Random captures against the reference ---

def random_packet(rng, small):
    """A packet as scapy builds it; of a `small` world many are alike."""
    source, ident = f"10.0.0.{rng.randrange(2)}", rng.randrange(3 if small else 60000)
    data = Raw(bytes([rng.randrange(2 if small else 256)]) * rng.choice((0, 1, 5, 26, 100, 400)))
    kind = rng.randrange(12)
    if kind == 0:
        return IPv6(src="fd00::1", dst=f"fd00:1::{rng.randrange(4):x}") / UDP(dport=ident) / data
    if kind == 1:
        return IPv6(src="fd00::1", dst="fd00:1::9") / IPv6ExtHdrHopByHop() / UDP(dport=ident) / data
    if kind == 2:
        return IP(src=source, dst="10.1.0.1", id=ident, options=[IPOption_RR()]) / UDP() / data
    if kind == 3:
        return IP(src=source, dst="10.1.0.1", id=ident, proto=17, frag=rng.randrange(3)) / data
    if kind == 4:
        return IP(src=source, dst="10.1.0.1", id=ident, flags="DF") / TCP(seq=rng.randrange(3)) / data
    if kind == 5:
        return IP(src=source, dst="10.1.0.1", id=ident) / ICMP(seq=rng.randrange(3)) / data
    return IP(src=source, dst="10.1.0.1", id=ident) / UDP(sport=rng.randrange(2)) / data


def ethertype(packet):
    return 0x0800 if IP in packet else 0x86dd


def ethernet(*tags):
    """Frames with these VLAN tags, the outer one first."""
    outer = {"type": 0x88a8} if len(tags) > 1 else {}
    return lambda p: Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02", **outer) / reduce(
        lambda inner, tag: Dot1Q(vlan=tag) / inner, reversed(tags), p)


class LinkType:
    """A link layer: libpcap's number; bytes on the wire beyond IP, and the least of IP; how a packet looks there."""

    def __init__(self, number, overhead, least, wrap):
        self.number, self.overhead, self.least, self.wrap = number, overhead, least, wrap


LINK_TYPES = [
    LinkType(1, 38, 46, ethernet()),
    LinkType(1, 42, 46, ethernet(7)),
    LinkType(1, 46, 46, ethernet(7, 9)),
    LinkType(101, 0, 0, lambda p: p),
    LinkType(9, 9, 0, lambda p: PPP() / p),
    LinkType(50, 9, 0, lambda p: Raw(b"\xff\x03") / PPP() / p),
    LinkType(104, 9, 0, lambda p: Raw(struct.pack(">BBH", 0x0f, 0, ethertype(p))) / p),
    LinkType(113, 38, 46, lambda p: Raw(struct.pack(">HHHQH", 0, 1, 6, 0x0200000000010000, ethertype(p))) / p),
    LinkType(276, 38, 46, lambda p: Raw(struct.pack(">HHIHBBQ", ethertype(p), 0, 1, 1, 0, 6, 0x0200000000010000)) / p),
    LinkType(0, 0, 0, lambda p: Raw(struct.pack("<I", 2 if IP in p else 30)) / p),
    LinkType(108, 0, 0, lambda p: Raw(struct.pack(">I", 2 if IP in p else 24)) / p),
]


def random_case(seed, directory):
    """Captures of two inputs and two outputs. Returns (arguments, records in order, link types, window)."""
    rng = random.Random(seed)
    small, window = seed % 3 == 0, 3_000_000
    kinds = rng.sample(LINK_TYPES, 4)
    rows = [[] for _ in range(4)]
    now = 10_000
    for _ in range(400):
        now += rng.choice((0, 500, 3000, 40_000))
        packet = random_packet(rng, small)
        copies = 2 if rng.random() < 0.03 else 1
        link = rng.randrange(2)
        for c in range(copies):
            rows[link].append((now + 700 * c, packet))
        if rng.random() < 0.03:
            rows[1 - link].append((now + 100, packet))
        if rng.random() < 0.1:
            continue
        out = 2 + rng.randrange(2)
        forwarded = packet.copy()
        if IP in forwarded:
            forwarded[IP].ttl, forwarded[IP].tos = 63, 3
        else:
            forwarded[IPv6].hlim = 63
        left = now + rng.choice((0, 5000, 5000, 7000, 30_000, 2_900_000, 3_100_000 if seed % 2 else 8000))
        rows[out].append((left, forwarded))
        if rng.random() < 0.03:
            rows[out].append((left + 900, forwarded))
        if rng.random() < 0.03:
            rows[out].append((left + 50, random_packet(rng, False)))
    arguments, records = ["-w", f"{window}ns", "-t", "100us"], []
    for i, list_ in enumerate(rows):
        path = f"{directory}/r{i}.pcap"
        writer = world.Writer(path, link_type=kinds[i].number)
        for order, (time, packet) in enumerate(sorted(list_, key=lambda row: row[0])):
            if kinds[i].number == 1 and order % 40 == 0:
                writer.add(world.EPOCH_NS + time, raw(Ether(src="02:00:00:00:00:01") / ARP()))
            writer.add(world.EPOCH_NS + time, raw(kinds[i].wrap(packet)))
            ip = (IP if IP in packet else IPv6)(raw(packet))
            records.append((time, i >= 2, i, order, *reference.identity(ip)))
        writer.close()
        arguments += ["-o" if i >= 2 else "-i", f"l{i}={path},rate=100mbit"]
    records.sort(key=lambda r: r[:4])
    return arguments, [reference.Record(i, time, key, length, slow) for time, _, i, _, key, length, slow in records], kinds, window


class Compared:
    """Collects differences."""

    def __init__(self, name):
        self.name, self.faults = name, []

    def equal(self, what, got, wanted):
        if got != wanted:
            self.faults.append(f"{self.name}, {what}: {got}, not {wanted}")

    def near(self, what, got, wanted, relative, absolute=0.0):
        if got is None or abs(got - wanted) > abs(wanted) * relative + absolute:
            self.faults.append(f"{self.name}, {what}: {got}, not {wanted}")


def quantile(values, share):
    """The value whose rank is `share`, given as a fraction, rounded up."""
    return sorted(values)[-(-len(values) * share.numerator // share.denominator) - 1]


def compare_pair(compared, pair, rows, base):
    delays = [left - entered for entered, left, _, slow in rows if not slow]
    slow = [left - entered for entered, left, _, slow in rows if slow]
    compared.equal("slow", (pair["slow"]["packets"], pair["slow"]["max_ns"]), (len(slow), max(slow, default=0)))
    compared.equal("packets", pair["packets"], len(delays))
    if not delays:
        return
    compared.equal("min, max", (pair["min_ns"], pair["max_ns"]), (min(delays), max(delays)))
    compared.near("mean", pair["mean_ns"], sum(delays) / len(delays), 1e-9)
    for key, share in (("p50_ns", Fraction(1, 2)), ("p90_ns", Fraction(9, 10)), ("p99_ns", Fraction(99, 100))):
        compared.near(key, pair[key], quantile(delays, share), 0.016, 1)
    compared.equal("histogram", sum(n for _, _, n in pair["histogram"]), len(delays))
    compared.equal("buckets", [n for low, high, n in pair["histogram"]],
                   [sum(low <= d < high for d in delays) for low, high, n in pair["histogram"]])
    intervals = {}
    for entered, left, _, is_slow in rows:
        if not is_slow:
            intervals.setdefault((entered - base) // 100_000, []).append(left - entered)
    compared.equal("intervals", [(row["time_s"], row["packets"], row["min_ns"], row["max_ns"]) for row in pair["intervals"]],
                   [(k / 10000, len(d), min(d), max(d)) for k, d in sorted(intervals.items())])
    for row, (_, d) in zip(pair["intervals"], sorted(intervals.items())):
        compared.near("p50 of an interval", row["p50_ns"], quantile(d, Fraction(1, 2)), 0.016, 1)
        compared.near("p99 of an interval", row["p99_ns"], quantile(d, Fraction(99, 100)), 0.016, 1)


def compare_model(compared, output, arrivals, rate):
    served = reference.serve(arrivals, rate)
    model = output["model"]
    errors = [departure - row[1] for _, departure, row in served if not row[2]]
    compared.equal("predicted, background", (model["packets"], model["background"]), (len(errors), len(served) - len(errors)))
    if errors:
        compared.near("mean error", model["error"]["mean_ns"], float(sum(errors)) / len(errors), 0, 1)
        compared.near("max error", model["error"]["max_ns"], float(max(abs(e) for e in errors)), 0, 2)
    causes = model["semi_experiments"]
    mean = sum(departure - arrival - Fraction(8 * 10**9 * wire, rate)
               for (arrival, departure, _), (_, _, wire, _) in zip(served, sorted(arrivals, key=lambda a: a[:2]))) / max(len(served), 1)
    compared.near("mean wait", causes["mean_wait_ns"], float(mean), 0, 1)
    alone, behind = reference.waits_without(arrivals, rate)
    compared.near("mean wait alone", causes["multiplexing"]["mean_wait_ns"], float(alone), 0, 1)
    compared.near("mean wait behind slow inputs", causes["bandwidth"]["mean_wait_ns"], float(behind), 1e-3, 2)
    periods = reference.busy_periods(served)
    compared.equal("queue's periods", model["queue"]["periods"], len(periods))
    if not periods:
        return
    largest = [max(departure - arrival for arrival, departure, _ in period) for period in periods]
    compared.near("largest A", model["queue"]["max_amplitude_ns"], float(max(largest)), 0, 2)
    compared.near("longest D", model["queue"]["max_duration_ns"], float(max(p[-1][1] - p[0][0] for p in periods)), 0, 2)
    for row in model["levels"]:
        level = row["level_ns"]
        above = [(p, a) for p, a in zip(periods, largest) if a > level]
        if any(abs(a - level) < 2 for a in largest):
            continue  # rounding to ns decides
        compared.equal(f"periods above {level}", row["periods"], len(above))
        exact = sum(reference.time_above(p, level) for p, _ in above)
        triangles = sum((p[-1][1] - p[0][0]) * (1 - level / a) for p, a in above)
        compared.near(f"exact time above {level}", row["mean_above_exact_ns"] * row["periods"], float(exact), 1e-6, 2 * len(served))
        compared.near(f"triangles above {level}", row["mean_above_ns"] * row["periods"], float(triangles), 1e-3, 4 * len(above))


def compare_case(seed, directory):
    arguments, records, kinds, window = random_case(seed, directory)
    report = measure(*arguments)
    reference.match(records, {2, 3}, window)
    compared = Compared(f"seed {seed}")
    for i, link in enumerate(report["links"]):
        mine = [r for r in records if r.link == i]
        seen = reference.read_by_tshark(f"{directory}/r{i}.pcap")
        compared.equal(f"link {i} by tshark", [packet for packet in seen if packet], [(r.key, r.length, r.slow) for r in mine])
        compared.equal(f"link {i}, no IP by tshark", link["not_ip"], seen.count(None))
        compared.equal(f"link {i}", [link[k] for k in ("packets", "cut", "broken")], [len(mine), 0, 0])
        compared.equal(f"link {i}", {k: link[k] for k in ("matched", "unmatched", "duplicates", "ambiguous")},
                       {k: sum(r.fate == k for r in mine) for k in ("matched", "unmatched", "duplicates", "ambiguous")})
        compared.equal(f"bytes of link {i}", sum(row["bytes"] for row in link["load"]), sum(r.length for r in mine))
    base, rate = records[0].time, 100_000_000
    pairs = {(int(p["input"][1]), int(p["output"][1])): p for p in report["pairs"]}
    for j in (2, 3):
        def wire(size):
            return max(size, kinds[j].least) + kinds[j].overhead  # pylint: disable=cell-var-from-loop

        def sending(size):
            return reference.round_half(Fraction(8 * 10**9 * wire(size), rate))

        arrivals, of_output = [], [r for r in records if r.link == j]
        for i in (0, 1):
            rows = [(r.time, r.other.time, r.length, r.slow) for r in records
                    if r.link == i and r.fate == reference.MATCHED and r.other.link == j]
            compared.equal(f"pair {i} {j}", (i, j) in pairs, bool(rows))
            if not rows:
                continue
            compare_pair(compared, pairs[i, j], rows, base)
            sizes = reference.least_excess([row[:3] for row in rows if not row[3]], wire, rate)
            compared.equal(f"sizes {i} {j}", {row["bytes"]: (row["packets"], row["least_ns"], row["excess_ns"])
                                              for row in pairs[i, j]["sizes"]}, sizes)
            excess, before = reference.model_excess(sizes), None
            for entered, left, size, slow in rows:
                if slow:
                    at = left - sending(size)
                else:
                    before = at = max(entered + excess[size], before if before is not None else entered + excess[size])
                arrivals.append((at, (entered, i), wire(size), (entered, left, slow)))
        arrivals += [(r.time - sending(r.length), (r.time, j), wire(r.length), (r.time, r.time, True))
                     for r in of_output if r.fate != reference.MATCHED]
        output = [o for o in report["outputs"] if o["name"] == f"l{j}"][0]
        if arrivals:
            compare_model(compared, output, arrivals, rate)
        # Packets that come at one time count in the order of the captures.
        periods = reference.busy_periods([(r.time, r.other.time) for r in records
                                          if r.link < 2 and r.fate == reference.MATCHED and r.other.link == j])
        compared.equal("router's periods", output["system"]["periods"], len(periods))
    return compared.faults


# --- Formats, and what is refused ---

def formats(tap, directory):
    inputs, departures = world.bursty_trace(3, 2000)
    paths = world.write_trace(directory, inputs, departures)
    wanted = measure(*links_of(paths))
    for name, kind in (("pcapng", "pcapng"), ("pcap of nanoseconds", "nsecpcap")):
        others = []
        for path in paths:
            others.append(path + "." + name.replace(" ", "-"))
            subprocess.run(["editcap", "-F", kind, path, others[-1]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        got = measure(*links_of(others))
        for link in got["links"] + wanted["links"]:
            link["file"] = ""
        tap.result(got == wanted, f"the same packets as {name} give the same report")
    micro = [paths[0] + ".us", *paths[1:]]
    subprocess.run(["editcap", "-F", "pcap", paths[0], micro[0]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    done = run("--json", *links_of(micro))
    got = json.loads(done.stdout)
    tap.result([link["resolution_ns"] for link in got["links"]] == [1000, 1, 1] and "some captures count time in 1 ns, others in 1000 ns"
               in done.stderr, "captures of micro- and nanoseconds are told apart, and a warning says so")
    report = measure(*[word + ",filter=len < 100" if "out=" in word else word for word in links_of(paths)])
    small = sum(p.size == 40 for p in departures)
    tap.result(fates(report)["out"]["matched"] == small and report["links"][2]["records"] == small,
               f"a filter selects packets: {small} of {len(departures)}")
    late = measure("-c", "10us", *links_of(paths))
    tap.result([o["model"]["error"]["max_ns"] for o in late["outputs"]] == [o["model"]["error"]["max_ns"] for o in wanted["outputs"]],
               "a clock error that is allowed and not there changes no prediction")


def clock_error(tap, directory):
    """The outputs' clock is 20 us behind, so that packets leave before they come."""
    inputs, departures = world.bursty_trace(4, 3000)
    for p in departures:
        p.out_ns -= 25_000
    paths = world.write_trace(directory, inputs, departures)
    strict, lenient = measure(*links_of(paths)), measure("-c", "30us", *links_of(paths))
    negative = sum(p.out_ns < p.in_ns for p in departures)
    tap.result(negative > 0 and fates(strict)["out"]["unmatched"] == negative and fates(lenient)["out"]["unmatched"] == 0 and
               sum(p["negative"] for p in lenient["pairs"]) == negative and
               min(p["min_ns"] for p in lenient["pairs"]) == min(p.out_ns - p.in_ns for p in departures),
               f"{negative} packets leave before they come: unmatched, or with --clock-error matched and counted as negative")


def refused(tap, directory):
    inputs, departures = world.bursty_trace(5, 2000)
    paths = world.write_trace(directory, inputs, departures)
    with open(paths[0], "rb") as file:
        data = file.read()
    variants = {"cut": data[:-5], "torn": data[:24 + 10 * 16 + 8], "empty": b"", "text": b"no capture\n" * 9,
                "unknown": data[:20] + (195).to_bytes(4, "little") + data[24:],
                "huge": data[:24 + 8] + b"\xff\xff\xff\x7f" + data[24 + 12:]}
    order = bytearray(data[:24])
    chunks, at = [], 24
    while at < len(data):
        bytes_ = 16 + int.from_bytes(data[at + 8:at + 12], "little")
        chunks.append(data[at:at + bytes_])
        at += bytes_
    variants["late"] = bytes(order) + b"".join(chunks[1:] * 6 + chunks[:1])
    for name, content in variants.items():
        with open(f"{directory}/{name}.pcap", "wb") as file:
            file.write(content)
    os.mkfifo(f"{directory}/pipe.pcap")
    good = ["-o", f"out={paths[2]}"]
    cases = [
        (["-i", "cut.pcap", *good], 1, "unreadable behind record"),
        (["-i", "torn.pcap", *good], 1, "unreadable behind record"),
        (["-i", "huge.pcap", *good], 1, "unreadable behind record 0"),
        (["-i", "empty.pcap", *good], 1, "empty.pcap: not a capture that can be read"),
        (["-i", "text.pcap", *good], 1, "text.pcap: not a capture that can be read"),
        (["-i", "unknown.pcap", *good], 1, "unknown.pcap: its link type, IEEE802_15_4 (195), is none that is read: Ethernet, raw IP"),
        (["-i", "late.pcap", *good], 1, "sort the capture first, with reordercap(1)"),
        (["-i", "pipe.pcap", *good], 1, "a file is wanted, since captures are read twice"),
        (["-i", "nosuch.pcap", *good], 1, "nosuch.pcap: No such file or directory"),
        (["-i", f"{paths[0]},filter=ip and", *good], 1, "filter \"ip and\""),
        (["-i", paths[0]], 2, "no -o: captures of at least one input (-i) and one output (-o) are wanted"),
        ([*good], 2, "no -i: captures of at least one input"),
        (["-i", f"{paths[0]},rate=10", *good], 2, "rate=10: a rate in bit, kbit, mbit or gbit is wanted"),
        (["-i", f"{paths[0]},rate=5mpps", *good], 2, "rate=5mpps: a rate in bit"),
        (["-i", f"{paths[0]},stamp=start", *good], 2, "in0: a stamp before the packet's end needs the link's rate"),
        (["-i", f"{paths[0]},stamp=middle", *good], 2, "stamp=middle: end, start, or bytes"),
        (["-i", f"{paths[0]},overhead=-1", *good], 2, "overhead=-1: bytes in 0..65535 are wanted"),
        (["-i", f"out={paths[0]}", *good], 2, "two links are called out"),
        (["-i", f"={paths[0]}", *good], 2, "the link's name has 1..63 letters"),
        (["-w", "1", "-i", paths[0], *good], 2, "--window 1: a time from 1 ns on is wanted, as in 250us or 1.5s"),
        (["-t", "1ns", "-i", paths[0], *good], 1, "give a longer --interval"),
        (["-L", ",", "-i", paths[0], *good], 2, "--levels: at least one time"),
        ([paths[0], *good], 2, "is it an input or an output? Put -i or -o before it"),
    ]
    faults = []
    for words, status, message in cases:
        words = [f"{directory}/{w}" if w.endswith(".pcap") and "/" not in w else w for w in words]
        done = run("-q", *words)
        if done.returncode != status or message not in done.stderr or done.stdout or done.stderr.count("\n") != 1:
            faults.append(f"{words}: status {done.returncode}, {done.stderr!r}, not {status} with {message!r}")
    tap.result(not faults, f"{len(cases)} wrong uses and captures are refused, each in one line that says why", faults)

    done = run("--json", "--partial", "-i", f"in={directory}/cut.pcap", *good)
    got = json.loads(done.stdout)
    tap.result(done.returncode == 0 and got["links"][0]["ended_early"] and got["links"][0]["packets"] == len(inputs[0]) - 1 and
               f"breaks off behind record {len(inputs[0]) - 1}" in done.stderr, "--partial takes a cut capture as far as it goes")
    done = run("-i", paths[0], "-o", f"same={paths[1]}")
    tap.result(done.returncode == 0 and "no packet was found on both" in done.stderr, "captures with nothing in common give a warning")
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([PROGRAM, *links_of(paths)], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    tap.result(done.returncode == 1 and "standard output did not take" in done.stderr, "a full disk is an error")


def on_a_terminal(*words):
    """Run with standard error on a terminal. Returns (status, standard output, what the terminal got)."""
    master, slave = os.openpty()
    with subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        out, got = process.stdout.read(), b""
        try:
            while part := os.read(master, 65536):
                got += part
        except OSError:  # all of it is read, and nobody holds the other end
            pass
    os.close(master)
    return process.returncode, out.decode(), got.decode()


def progress(tap, directory):
    inputs, departures = world.bursty_trace(6, 2000)
    paths = world.write_trace(directory, inputs, departures)
    status, out, got = on_a_terminal(*links_of(paths))
    steps = got.split("\r")
    faults = [] if (status, out) == (0, run(*links_of(paths)).stdout) else [f"status {status}, or another report"]
    faults += [f"no {text!r} in {got!r}" for text in ("pass 1 of 2 [", "pass 2 of 2 [", "] 100 %, 4.00 k") if text not in got]
    faults += [f"the line stays: {steps[-1]!r}"] * (steps[-1] != "\x1b[K")
    tap.result(not faults, "on a terminal a bar shows how far it is, and goes in the end", faults)
    quiet = on_a_terminal("-q", *links_of(paths))[2] + on_a_terminal("--version")[2] + run(*links_of(paths)).stderr
    tap.result(quiet == "", "no bar with --quiet, or where no terminal is", [repr(quiet)] * (quiet != ""))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        paper(tap, directory)
        planted(tap, directory)
        faults = [fault for seed in range(SEEDS) for fault in compare_case(seed, directory)]
        tap.result(not faults, f"{SEEDS} random captures, as tshark reads them: matching, delays, sizes, model, busy periods, levels as the reference has them",
                   faults[:30])
        formats(tap, directory)
        clock_error(tap, directory)
        refused(tap, directory)
        progress(tap, directory)
    return 0 if tap.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
