# SPDX-License-Identifier: BSD-2-Clause
"""The outcome of a load under a controller: the intervals that the bridges traced, counters, rates,
use and queue."""
import csv
import json
import os
import signal
import time

from conservation import Failure
from shaped_lab import EGRESS, SOURCES


def jain(values):
    squares = sum(v * v for v in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else 0


class Traces:
    """Intervals of the egress queue of n4pP and of the VOQs towards it, from now on. A queue
    without control has no intervals: then its counters are read instead, every LOOK_S."""

    LOOK_S = 0.25
    ROWS = 256
    ASKS = 32

    def __init__(self, lab, ports=(1,), classes=(0,)):
        self.lab = lab
        self.keys = [(node, port, c) for node in (EGRESS, *SOURCES) for port in ports for c in classes]
        self.rows = {key: [] for key in self.keys}
        self.unread = {key: [] for key in self.keys}
        self.since = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.begin_ns = self.since
        self.looked = {} if lab.controlled else {port: lab.look(port) for port in ports}
        self.collect()

    def look(self):
        for port, (before_ns, before, sent_before) in self.looked.items():
            now_ns, queue, sent = self.looked[port] = self.lab.look(port)
            row = {name: queue[f"{name}_frames"] - before[f"{name}_frames"] for name in ("arrived", "departed", "dropped")}
            row.update(end_ns=now_ns, elapsed_ns=now_ns - before_ns, waiting=queue["waiting_frames"], rate=0, signal=0, share=0)
            row["from"] = [b - a for a, b in zip(sent_before, sent)]
            self.rows[EGRESS, port, 0].append(row)

    def collect(self):
        if self.looked:
            self.look()
            return
        for key in self.keys:
            for _ in range(self.ASKS):
                if not self.collect_some(key):
                    break

    def collect_some(self, key):
        """Fetch a few intervals; is there more? Only a few at a time, since a bridge does nothing
        else while it answers."""
        node, port, c = key
        after = self.unread[key][-1] if self.unread[key] else None
        after = json.loads(after)["end_ns"] if after else self.rows[key][-1]["end_ns"] if self.rows[key] else self.since
        try:
            lines = self.lab.ask_lines(node, command="cc-trace", port=f"n{EGRESS}p{port}", max=self.ROWS, **{"class": c},
                                       after_ns=after)
        except Failure:
            if node == EGRESS:
                raise
            return False  # a VOQ may not know its controller yet
        self.unread[key] += lines
        return len(lines) == self.ROWS

    def follow(self, seconds):
        # At realtime priority: otherwise this waits for the bridges' processors, ends late, and the
        # generators run out.
        if self.lab.options.realtime:
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(min(self.LOOK_S if self.looked else 1.0, max(0.0, end - time.monotonic())))
            self.collect()
        if self.lab.options.realtime:
            os.sched_setscheduler(0, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, os.sched_param(0))
        for key, lines in self.unread.items():
            self.rows[key] += map(json.loads, lines)
            lines.clear()

    def egress(self, port=1, c=0):
        return self.rows[EGRESS, port, c]

    def seconds(self, row):
        return (row["end_ns"] - self.begin_ns) / 1e9

    def write(self, path):
        with open(path, "w", newline="", encoding="ascii") as file:
            writer = csv.writer(file)
            writer.writerow(("node", "port", "class", "seconds", "elapsed_s", "rate", "waiting", "arrived", "departed", "dropped",
                             "signal", "share", "from1", "from2", "from3"))
            for (node, port, c), rows in self.rows.items():
                for r in rows:
                    writer.writerow((node, port, c, f"{self.seconds(r):.6f}", f"{r['elapsed_ns'] / 1e9:.6f}", r["rate"],
                                     r["waiting"], r["arrived"], r["departed"], r["dropped"], r["signal"], r["share"],
                                     *r["from"][:3]))


def rates_between(rows, begin_ns, end_ns):
    """Frames a second of each source that arrived at a queue between two times."""
    rows = [r for r in rows if begin_ns < r["end_ns"] <= end_ns]
    seconds = sum(r["elapsed_ns"] for r in rows) / 1e9
    return [sum(r["from"][k] for r in rows) / seconds if seconds else 0.0 for k in range(len(SOURCES))]


def sent_between(rows, begin_ns, end_ns):
    """Frames a second that a VOQ sent between two times."""
    rows = [r for r in rows if begin_ns < r["end_ns"] <= end_ns]
    seconds = sum(r["elapsed_ns"] for r in rows) / 1e9
    return sum(r["departed"] for r in rows) / seconds if seconds else 0.0


def stop(generators):
    for g in generators:
        g.send_signal(signal.SIGINT)
    for g in generators:
        g.wait()


class Run:
    """One load under one controller, measured over `seconds` after a warm-up."""

    def __init__(self, lab, offered, seconds, warm=None):
        self.offered = offered
        warm = warm if warm is not None else lab.options.warm_up
        total = warm + seconds + 60  # gen is told to stop before that
        self.traces = Traces(lab)
        self.generators = {i: lab.send(i, pps, total) for i, pps in zip(SOURCES, offered) if pps}
        self.traces.follow(warm)
        before = lab.counters()
        self.traces.follow(seconds)
        after = lab.counters()
        self.offered = self.really_offered()
        self.took = (after["ns"] - before["ns"]) / 1e9
        self.counts = {name: after[name] - before[name] for name in before}
        rows = [r for r in self.traces.egress() if before["ns"] < r["end_ns"] <= after["ns"]]
        self.waiting = [r["waiting"] for r in rows]
        self.rows = rows
        self.rates = rates_between(self.traces.egress(), before["ns"], after["ns"])
        elapsed = sum(r["elapsed_ns"] for r in rows) / 1e9
        if rows and not lab.asks:
            self.use = sum(r["departed"] for r in rows) / elapsed / lab.options.rate
        else:
            # The rows miss the samples that this controller takes between its intervals. So the use
            # comes from the queue's counters, and the rates from the VOQs.
            self.use = self.counts["departed"] / self.took / lab.options.rate
            self.rates = [sent_between(self.traces.rows[i, 1, 0], before["ns"], after["ns"]) for i in SOURCES]
        self.longest_ms = max([r["elapsed_ns"] for r in rows] or [0]) / 1e6

    def really_offered(self):
        """Frames a second that each source sent: a generator that got no processor sent fewer than
        it was told to."""
        sent = {}
        for g in self.generators.values():
            g.send_signal(signal.SIGINT)
        for source, g in self.generators.items():
            report = json.loads(g.communicate(timeout=60)[0] or "{}")
            sent[source] = report.get("sent", 0) / max(report.get("seconds", 0), 1e-9)
        return [sent.get(i, 0.0) for i in SOURCES]

    def summary(self):
        return {"offered_pps": [round(o, 1) for o in self.offered], "rates_pps": [round(r, 1) for r in self.rates], "use": round(self.use, 4),
                "jain": round(jain([r for r, o in zip(self.rates, self.offered) if o]), 5),
                "seconds": round(self.took, 3), "arrived": self.counts["arrived"], "departed": self.counts["departed"],
                "dropped_at_egress": self.counts["dropped"], "dropped_at_ingress": self.counts["dropped_at_ingress"],
                "data_messages": self.counts["messages"],
                "data_bytes": self.counts["message_bytes"],
                "intervals_late": self.counts["late"], "longest_interval_ms": round(self.longest_ms, 2),
                "waiting_median": percentile(self.waiting, 0.5), "waiting_p99": percentile(self.waiting, 0.99)}


def pictures(path, draw, panels=2, **size):
    import pictures as drawing
    drawing.save(path, draw, panels, **size)


def plot_run(axes, traces, port=1):
    """Rates by source and the queue, over time."""
    rates, queue = axes
    rows = traces.egress(port)
    step = max(1, len(rows) // 200)
    for k, source in enumerate(SOURCES):
        xs, ys = [], []
        for i in range(0, len(rows) - step, step):
            part = rows[i:i + step]
            seconds = sum(r["elapsed_ns"] for r in part) / 1e9
            xs.append(traces.seconds(part[-1]))
            ys.append(sum(r["from"][k] for r in part) / seconds / 1000 if seconds else 0)
        rates.plot(xs, ys, linewidth=1, label=f"node {source}")
    rates.set_xlabel("s")
    rates.set_ylabel("kpps that arrive")
    rates.set_ylim(bottom=0)
    rates.legend(frameon=False, fontsize=8)
    queue.plot([traces.seconds(r) for r in rows], [r["waiting"] for r in rows], linewidth=0.8, color="#444444")
    queue.set_xlabel("s")
    queue.set_ylabel("frames in the egress queue")
    queue.set_ylim(bottom=0)
