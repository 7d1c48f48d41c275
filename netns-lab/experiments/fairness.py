# SPDX-License-Identifier: BSD-2-Clause
"""Section 7 of Kuhns et al. on the wire, at a tenth of its rates: who gets how much of a full port under each discard
policy. queues/sim/fairness is the same in ns-3, at full size."""
import json
import signal
import statistics
import subprocess
import time

from conservation import Failure
from shaped_lab import EGRESS, Lab

SOURCES = 100
RATE_BPS = 50_000_000
ACCESS_BPS = 1_000_000  # of each source: twice its share
# policy: standard deviation over the fair share, in the paper's words
POLICIES = {"tail": "12 %", "red": "10 %", "blue": "6 %", "longest": "2-4 %", "tdrr": "2-4 %", "qsdrr": "2-4 %", "codel": ""}


def goodputs(lab, port, seconds, omit):
    """Bytes that the receiver of each source read, in bits a second; all sources start together."""
    server = lab.start(f"h{EGRESS}p{port}", "iperf3", "-s", "-1", "--logfile", "/dev/null")
    deadline = time.monotonic() + 30
    while not lab.nodes[f"h{EGRESS}p{port}"].run("ss", "-Hltn", "sport = 5201"):
        if time.monotonic() > deadline:
            raise Failure("iperf3 does not listen")
        time.sleep(0.05)
    client = lab.start("h1p1", "iperf3", "-c", f"10.{EGRESS}.{port}.2", "-P", str(SOURCES), "-t", str(seconds), "-O", str(omit),
                       "--fq-rate", str(ACCESS_BPS), "-C", "reno", "-J")
    try:
        report = json.loads(client.communicate(timeout=3 * (seconds + omit) + 60)[0])
    except (ValueError, subprocess.TimeoutExpired):
        raise Failure("iperf3 gave no report") from None
    server.send_signal(signal.SIGTERM)
    server.wait()
    streams = report.get("end", {}).get("streams", [])
    if len(streams) != SOURCES:
        raise Failure(f"iperf3 reports {len(streams)} sources: {report.get('error')}")
    return [stream["receiver"]["bits_per_second"] for stream in streams]


def summary(bits):
    """Mean and standard deviation over the fair share of the port's goodput, and the extremes."""
    share = RATE_BPS * 1448 / 1514 / len(bits)  # headers of Ethernet, IPv4 and TCP with its time stamps
    over = [value / share for value in bits]
    return {"mean": round(statistics.mean(over), 4), "deviation": round(statistics.pstdev(over), 4),
            "least": round(min(over), 3), "most": round(max(over), 3)}


def draw(results, shares, axes):
    bars, curves = axes
    bars.bar(range(len(results)), [100 * r["deviation"] for r in results.values()], color="#1f6fb2", width=0.62)
    bars.set_xticks(range(len(results)), list(results))
    bars.set_ylabel("standard deviation / fair share, %")
    for name, values in shares.items():
        curves.plot(range(1, len(values) + 1), sorted(values), linewidth=1.2, label=name)
    curves.axhline(1, color="grey", linewidth=0.8, linestyle=":")
    curves.set_xlabel("source, by its goodput")
    curves.set_ylabel("goodput / fair share")
    curves.legend(frameon=False, fontsize=8)


def fairness(options, out):
    """100 TCP Reno sources of 1 Mbit/s into a port of 50, under each discard policy"""
    keys = {f"n{EGRESS}p{i + 1}": f"rate: {RATE_BPS // 1_000_000}mbit, burst_us: {options.burst_us}, controller: fixed, "
                                  f"queues: [{{class: 0, frames: {options.queue_frames}, policy: {policy}}}]"
            for i, policy in enumerate(POLICIES)}
    results, shares = {}, {}
    with Lab(options, ports=len(POLICIES), keys=keys) as lab:
        for i, policy in enumerate(POLICIES):
            bits = goodputs(lab, i + 1, round(options.seconds), round(options.warm_up))
            results[policy] = dict(summary(bits), paper=POLICIES[policy], goodput_bps=[round(value) for value in bits])
            shares[policy] = [value / (RATE_BPS * 1448 / 1514 / SOURCES) for value in bits]
            queue = next(q for q in lab.ask(EGRESS, command="egress-queues")
                         if q["port"] == f"n{EGRESS}p{i + 1}" and q["class"] == 0)
            results[policy]["dropped_share"] = round(queue["dropped_frames"] / max(1, queue["arrived_frames"]), 5)
    import pictures
    pictures.save(f"{out}/fairness", lambda *axes: draw(results, shares, axes), 2)
    many = [results[p]["deviation"] for p in ("longest", "tdrr", "qsdrr", "codel")]
    one = [results[p]["deviation"] for p in ("tail", "red", "blue")]
    return results, max(many) < min(one), "mean and deviation over the fair share, %: " + "; ".join(
        f"{p} {100 * r['mean']:.1f}, {100 * r['deviation']:.1f}" for p, r in results.items())
