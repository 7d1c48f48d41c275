# SPDX-License-Identifier: BSD-2-Clause
"""
What the kernel's own trace says of frames: its events, in nanoseconds of CLOCK_MONOTONIC, and which
XDP program a netdev runs. It needs root and tracefs. An event makes what follows some 0.2 us later.

Nothing stays behind: where the system has not mounted tracefs, a mount that is in no directory is
gone with its process. An instance of the trace is removed when its process ends by itself or by a
signal that it can catch; else by the next process that wants one.
"""
import atexit
import collections
import contextlib
import ctypes
import fcntl
import functools
import glob
import json
import os
import re
import secrets
import signal
import sys

from trials import Failure, finish

TRACEFS = "/sys/kernel/tracing"
FSOPEN, FSCONFIG, FSMOUNT = 430, 431, 432  # system calls, by the same numbers on all processors
CLOEXEC, CREATE = 1, 6  # FSOPEN_CLOEXEC and FSMOUNT_CLOEXEC, FSCONFIG_CMD_CREATE
NAME = "sluice-lab-"
ENDS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
BUFFER_KIB = 16384
LINE = re.compile(r"^\s*.{1,16}-(\d+)\s+\[(\d+)\]\s+\S+\s+\d+\.\d+: (\w+)(?::|\(| ->)\s*(.*)$")
RAW = re.compile(r"^(\d+) (\d+) (\d+) ")

Event = collections.namedtuple("Event", "time_ns pid cpu name text")


@functools.cache
def tracefs():
    """Where this process finds the kernel's trace; None: it may not, or there is none."""
    if os.path.exists(f"{TRACEFS}/trace"):
        return TRACEFS
    syscall = ctypes.CDLL(None).syscall
    context = syscall(FSOPEN, b"tracefs", CLOEXEC)
    if context < 0:
        return None
    mount = syscall(FSMOUNT, context, CLOEXEC, 0) if syscall(FSCONFIG, context, CREATE, None, None, 0) == 0 else -1
    os.close(context)
    return f"/proc/self/fd/{mount}" if mount >= 0 else None


def is_there():
    """Can this process have the trace?"""
    return tracefs() is not None


def remove_dead():
    """Remove the instances whose processes have ended: these no longer hold their locks."""
    for path in glob.glob(f"{tracefs()}/instances/{NAME}*"):
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.rmdir(path)
            finally:
                os.close(fd)


class Trace:
    """An instance of the kernel's trace, from start to events(), and again."""

    def __init__(self):
        if not is_there():
            raise Failure(f"no trace of the kernel at {TRACEFS}: it wants root and tracefs")
        for number in ENDS[:2]:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, lambda n, _: sys.exit(128 + n))
        remove_dead()
        self.dir = f"{tracefs()}/instances/{NAME}{os.getpid()}-{secrets.token_hex(4)}"
        self.lock = None
        atexit.register(self.close)
        while self.lock is None:
            self.make()

    def make(self):
        """Make the instance and lock it, unless another process takes it for dead in between."""
        os.mkdir(self.dir)
        with contextlib.suppress(FileNotFoundError):
            self.lock = os.open(self.dir, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            if not os.path.isdir(self.dir):
                os.close(self.lock)
                self.lock = None

    def write(self, name, text):
        with open(f"{self.dir}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def lines(self, pattern):
        with open(f"{self.dir}/trace", encoding="utf-8", errors="replace") as file:
            return list(filter(None, map(pattern.match, file)))

    def start(self, *events, **filters):
        """Trace these from now on, each "system/name"; filters: by name, the kernel's expression of those to keep. What was traced
        before is gone, but its events stay enabled."""
        self.write("options/raw", "0")
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", str(BUFFER_KIB))
        for event in events:
            self.write(f"events/{event}/filter", filters.get(event.split("/")[1], "0"))
            self.write(f"events/{event}/enable", "1")
        self.write("trace", "")
        self.write("tracing_on", "1")

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
        """May be called again."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        with contextlib.suppress(OSError):
            os.rmdir(self.dir)
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def field(text, name):
    match = re.search(rf"\b{name}=(\S+)", text)
    return match and match.group(1)


def program_of(path, node, dev):
    """The id of the XDP program that runs there."""
    link = json.loads(finish(path.spawn(node, "ip", "-j", "link", "show", "dev", dev)))[0]
    return str(link["xdp"]["prog"]["id"])
