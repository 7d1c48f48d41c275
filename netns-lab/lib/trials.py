# SPDX-License-Identifier: BSD-2-Clause
"""Trials: send from one host of a lab to another and say what came; and the search for the no-drop
rate."""
import contextlib
import glob
import json
import os
import platform
import signal
import subprocess
import sys
import textwrap

LAB = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SOURCE = os.path.dirname(LAB)
TRIES = 10
OFF_CORE = 0.01  # tolerated share of packets that another core processed
LAB_ROOT = os.environ.get("LAB_ROOT", "/run")


class Failure(Exception):
    """One line for the user."""


def lab_command(*args, env=None):
    """Run netns-lab/lab, in this environment or ours. An interrupted caller leaves no lab behind, not even one that came up just
    then."""
    lab = subprocess.Popen([f"{LAB}/lab", *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           text=True, env=env)
    try:
        _, err = lab.communicate()
    except BaseException as error:
        if not isinstance(error, KeyboardInterrupt):  # Ctrl-C reaches it, too
            lab.terminate()
        if lab.wait() == 0 and args[0] == "up":
            subprocess.run([f"{LAB}/lab", "down", args[args.index("--name") + 1]], stdout=subprocess.DEVNULL, check=False)
        raise
    if lab.returncode:
        raise Failure(f"lab {' '.join(args)}: {err.strip()}")


def finish(process):
    """The standard output of a process, once it has ended with status 0."""
    out, err = process.communicate()
    if process.returncode:
        raise Failure(f"{' '.join(process.args[6:])}: {err.strip()}")
    return out


class Path:
    """A way through a lab: from a host's eth0, by a netdev of the next hop, to another host's
    eth0."""

    def __init__(self, lab_id, source, next_hop, sink, core):
        self.dir = f"{LAB_ROOT}/sluice-lab.{lab_id}"
        self.source, self.next_hop, self.sink, self.core = source, next_hop, sink, str(core)
        self.ksoftirqd = None
        self.strict = True

    def holder(self, name):
        """The process that holds the namespaces of a host or node."""
        for kind in ("host", "node"):
            if os.path.exists(f"{self.dir}/{kind}/{name}"):
                with open(f"{self.dir}/{kind}/{name}", encoding="ascii") as file:
                    return file.read().split()[0]
        raise Failure(f"no {name} in {self.dir}")

    def spawn(self, name, *command):
        """Start a command on a host or node, marked as the function `on` of lab.sh does, so lab_end
        finds it."""
        return subprocess.Popen(
            ["nsenter", "--target", self.holder(name), "--net", "--mount", f"--wdns={SOURCE}", "--", *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, SLUICE_LAB=self.dir))

    def trial(self, packets, seconds, rate=None):
        """Send what gen's options `packets` say, for that time; without a rate, all that gen can.

        The generator's core processes everything, unless another core takes up a receiver's ring in
        a moment when that ring is idle. A trial in which that happened is repeated. If it happens
        each time, the trial fails; unless self.strict, the best one counts.
        """
        best = None
        for _ in range(TRIES):
            result = self.trial_once(packets, seconds, rate)
            if result["off_core"] <= OFF_CORE * result["delivered"]:
                return result
            if best is None or result["off_core"] < best["off_core"]:
                best = result
        if self.strict:
            raise Failure(f"{TRIES} times, packets were processed on another core than {self.core}")
        return best

    def trial_once(self, packets, seconds, rate):
        node, dev = self.next_hop
        mac = finish(self.spawn(node, "cat", f"/sys/class/net/{dev}/address")).strip()
        sink = self.spawn(self.sink, "taskset", "-c", self.core, "build/lab/sink", "eth0", "-j",
                          "--core", self.core)
        try:
            if "ready" not in sink.stderr.readline():
                raise Failure(f"no sink on {self.sink}: {sink.communicate()[1].strip()}")
            pace = ["--rate", str(int(rate)), "--spin"] if rate else []
            softirq_s = self.softirq_seconds()
            sent = json.loads(finish(self.spawn(
                self.source, "taskset", "-c", self.core, "build/lab/gen", "eth0", "-j", "--dst-mac", mac,
                "--duration", str(seconds), *packets, *pace)))
            softirq_s = self.softirq_seconds() - softirq_s
        finally:
            sink.send_signal(signal.SIGINT)
        got = json.loads(finish(sink))
        core_s = sent["cpu_seconds"] + softirq_s
        return {
            "offered": sent["made"], "delivered": got["packets"], "seconds": sent["seconds"],
            "offered_pps": sent["made"] / sent["seconds"],
            "delivered_pps": got["packets"] / sent["seconds"],
            "core_seconds": core_s, "core_ns": 1e9 * core_s / max(got["packets"], 1),
            "off_core": got["off_core"], "loss": 1 - got["packets"] / max(sent["made"], 1),
            "reordered": got["reordered"], "duplicates": got["duplicates"],
            "p50_ns": got["latency_p50_ns"], "p99_ns": got["latency_p99_ns"],
        }

    def softirq_seconds(self):
        """Processor time that the core's ksoftirqd has used."""
        if self.ksoftirqd is None:
            for comm in glob.glob("/proc/[0-9]*/comm"):
                with contextlib.suppress(OSError), open(comm, encoding="ascii", errors="replace") as file:
                    if file.read().strip() == f"ksoftirqd/{self.core}":
                        self.ksoftirqd = os.path.dirname(comm)
        if self.ksoftirqd is None:  # a container that does not show the kernel's threads
            return 0.0
        with open(f"{self.ksoftirqd}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9

    def no_drop(self, packets, seconds, loss, resolution, guess_pps):
        """RFC 2544 section 26.1: bisect between a rate that passes and one that fails. None: no
        rate passed."""
        low, high, best = 0.5 * guess_pps, 1.3 * guess_pps, None
        while high - low > resolution * high:
            rate = (low + high) / 2
            trial = self.trial(packets, seconds, rate)
            if trial["loss"] < loss and trial["offered_pps"] > 0.99 * rate:
                low, best = rate, trial
            else:
                high = rate
                if best is None and high - low <= resolution * high and high > 1000:
                    low /= 2
        return best


def machine():
    model = "unknown"
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"kernel": platform.release(), "cpu": model, "cores": os.cpu_count(),
            "load": os.getloadavg()[0]}


def progress(text):
    """One line on a terminal, overwritten by the next."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def say(text):
    """Print a paragraph of the demo."""
    print(textwrap.fill(text, 79, initial_indent="   ", subsequent_indent="   ", break_on_hyphens=False), flush=True)
