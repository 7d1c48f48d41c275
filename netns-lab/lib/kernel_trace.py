# SPDX-License-Identifier: BSD-2-Clause
"""
What the kernel's own trace says of frames: its events, in nanoseconds of CLOCK_MONOTONIC, and which
XDP program a netdev runs. It needs root and tracefs. An event makes what follows some 0.2 us later.
"""
import collections
import contextlib
import json
import os
import re
import subprocess

from trials import Failure, finish

TRACEFS = "/sys/kernel/tracing"
BUFFER_KIB = 16384
LINE = re.compile(r"^\s*.{1,16}-(\d+)\s+\[(\d+)\]\s+\S+\s+\d+\.\d+: (\w+)(?::|\(| ->)\s*(.*)$")
RAW = re.compile(r"^(\d+) (\d+) (\d+) ")

Event = collections.namedtuple("Event", "time_ns pid cpu name text")


def is_there():
    """Can this process have the trace? Mounts tracefs where the system has not."""
    if not os.path.isdir(TRACEFS):
        return False
    if not os.path.exists(f"{TRACEFS}/trace"):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=False, stderr=subprocess.DEVNULL)
    return os.path.exists(f"{TRACEFS}/trace")


class Trace:
    """An instance of the kernel's trace, from start to events()."""

    def __init__(self):
        self.dir = f"{TRACEFS}/instances/sluice-lab-{os.getpid()}"
        if not is_there():
            raise Failure(f"no trace of the kernel at {TRACEFS}: it wants root and tracefs")
        os.mkdir(self.dir)

    def write(self, name, text):
        with open(f"{self.dir}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def lines(self, pattern):
        with open(f"{self.dir}/trace", encoding="utf-8", errors="replace") as file:
            return list(filter(None, map(pattern.match, file)))

    def start(self, *events, **filters):
        """Trace these from now on, each "system/name"; filters: by name, the kernel's expression of those to keep."""
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", str(BUFFER_KIB))
        for event in events:
            self.write(f"events/{event}/filter", filters.get(event.split("/")[1], "0"))
            self.write(f"events/{event}/enable", "1")

    def events(self):
        """All since start, in order. Text has microseconds; nanoseconds are in the raw form alone, line by line."""
        self.write("tracing_on", "0")
        rows = self.lines(LINE)
        self.write("options/raw", "1")
        times = self.lines(RAW)
        if [row[1] for row in rows] != [at[1] for at in times]:
            raise Failure(f"the kernel's trace has {len(rows)} events as text, and others, {len(times)}, raw")
        return [Event(int(at[3]), row[1], int(row[2]), row[3], row[4]) for row, at in zip(rows, times)]

    def close(self):
        with contextlib.suppress(OSError):
            os.rmdir(self.dir)


def field(text, name):
    match = re.search(rf"\b{name}=(\S+)", text)
    return match and match.group(1)


def program_of(path, node, dev):
    """The id of the XDP program that runs there."""
    link = json.loads(finish(path.spawn(node, "ip", "-j", "link", "show", "dev", dev)))[0]
    return str(link["xdp"]["prog"]["id"])
