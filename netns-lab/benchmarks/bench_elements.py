# SPDX-License-Identifier: BSD-2-Clause
"""Experiments X2, X3 and X7 of the paper on composable routing elements, on a router in a lab:
throughput of ten chains, an element installed under load, and how large a buffer must be when the
worker sleeps between packets.

The paper's router had one processor, which its flows shared with whoever installed an element. So
X3 runs a second time with the whole router and the installation on one core, and the hosts on
another.
"""
import contextlib
import glob
import json
import math
import os
import signal
import statistics
import time

from trials import SOURCE, Failure, Path, finish, lab_command, machine, progress

CHAINS = 10
BUFFERS = (10, 100, 1000)
X2_KPPS = (10, 30, 50, 60, 70, 80, 90)
X3_KPPS = (10, 20, 40, 60, 80, 100)
X3_CORE_KPPS = (5, 10, 15, 20, 25, 30, 35, 40)  # about as much as a core forwards through chains
# The part of one core that forwarding has if it wants more, beside an installation: plain traffic
# wants one thread, chains want two. From there on a higher load does not slow the installation.
FAIR_SHARE = {"plain": 1 / 2, "chains": 2 / 3}
X7_KPPS = (10, 30, 50, 70)
PLAIN = "10.64.1.1"  # of no rule


class Elements(Path):
    """A router, n1, whose rules send packets for 10.64.0.N through chain N, and those for 10.64.2.N
    through a buffer."""

    def __init__(self, lab_id, core):
        super().__init__(lab_id, "h1", ("n1", "eth1"), "h2", core)
        self.strict = False
        self.worker = None
        self.on_core = []  # what a command of the router begins with, and one of the hosts
        self.on_other = []
        self.forwarders = []  # with one core: the threads that receive and run chains

    def start(self):
        rule = "  - {{action: permit, destination: 10.64.{}.{}/32, chain: {}}}".format
        rules = [rule(0, i, f"c{i}") for i in range(CHAINS)]
        rules += [rule(2, i, f"b{b}") for i, b in enumerate(BUFFERS)]
        with open(f"{self.dir}/n1.yaml", "a", encoding="ascii") as file:
            file.write("  - {name: slchain0, optional: true}\n"
                       "filters:\n- name: in\n  ports: [{name: eth1}]\n"
                       "  default: permit\n  rules:\n" + "\n".join(rules) + "\n")
        with open(f"{self.dir}/chains", "w", encoding="ascii") as file:
            chain = "chain {} {{ input -> Counter -> output; }}\n".format
            file.write("".join(chain(f"c{i}") for i in range(CHAINS)))
            file.write("".join(chain(f"b{b} limit {b}") for b in BUFFERS))
        status = json.loads(finish(self.spawn("n1", "build/sluice", "status", "-j")))
        os.kill(status["pid"], signal.SIGHUP)
        self.elements()
        # It logs each installation: a pipe that nobody reads would be full after some hundreds.
        self.worker = self.spawn("n1", "sh", "-c", 'exec "$@" 2>"$0"', f"{self.dir}/elements.err",
                                 "build/sluice-elements", "--chains", f"{self.dir}/chains",
                                 "--keys", f"{self.dir}/keys", "--store", f"{self.dir}/store")
        deadline = time.monotonic() + 60
        while not (self.has_chain_port() and self.flows()):
            if time.monotonic() > deadline:
                raise Failure("no chains within 60 s")
            time.sleep(0.1)
        # The first packets of a neighbour go by the kernel.
        self.trial_once(["--dst", PLAIN], 0.5, 1000)

    def has_chain_port(self):
        return "slchain0" in finish(self.spawn("n1", "build/sluice", "show", "ports"))

    def elements(self):
        """Two versions of the template's element, signed: one.so and two.so; without a half for the
        fast path, as X3 is about the worker."""
        os.makedirs(f"{self.dir}/keys")
        for command in (["genpkey", "-algorithm", "ed25519", "-out", f"{self.dir}/me.pem"],
                        ["pkey", "-in", f"{self.dir}/me.pem", "-pubout",
                         "-out", f"{self.dir}/keys/me.pub"]):
            finish(self.spawn("n1", "openssl", *command))
        with open(f"{SOURCE}/dist/element/hop_limit.c", encoding="ascii") as file:
            template = file.read()
        for fast in 'EL_FAST_PROGRAM("hop_limit.bpf.o");\n', "\t.fast = hop_limit_fast,\n":
            if fast not in template:
                raise Failure(f"dist/element/hop_limit.c has no line {fast}")
            template = template.replace(fast, "")
        for version, name in ((1, "one"), (2, "two")):
            with open(f"{self.dir}/{name}.c", "w", encoding="ascii") as file:
                file.write(template.replace("version = 1", f"version = {version}"))
            finish(self.spawn("n1", "make", "-s", "-C", self.dir,
                              "-f", f"{SOURCE}/dist/element/element.mk", f"NAME={name}",
                              f"SLUICE={SOURCE}", f"KEY={self.dir}/me.pem", "CFLAGS=-O2 -g -w",
                              "sign"))

    def flows(self):
        process = self.spawn("n1", "build/sluice", "-j", "flow")
        out, _ = process.communicate()
        return json.loads(out) if process.returncode == 0 else None

    def share_core(self):
        """Put all that the router does on core 0: the processes, and, as threads of the kernel that
        take their turns with them, what it receives. The hosts get the other core."""
        self.on_core, self.on_other = ["taskset", "-c", "0"], ["taskset", "-c", self.core]
        for name, dev, core in (("n1", "eth1", 0), ("h2", "eth0", int(self.core))):
            former = napi_threads(dev)
            finish(self.spawn(name, "sh", "-c", f"echo 1 >/sys/class/net/{dev}/threaded"))
            for pid in napi_threads(dev) - former:
                os.sched_setaffinity(pid, {core})
                if name == "n1":
                    self.forwarders.append(pid)
        status = json.loads(finish(self.spawn("n1", "build/sluice", "status", "-j")))
        for pid in status["pid"], self.worker.pid:
            for thread in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(thread), {0})
        self.forwarders.append(self.worker.pid)

    def forwarded_ns(self):
        """Processor time that forwarding has taken so far, with one core."""
        used = 0
        for thread in self.forwarders:
            with open(f"/proc/{thread}/schedstat", encoding="ascii") as file:
                used += int(file.read().split()[0])
        return used

    def install(self, seconds):
        """Milliseconds of each installation in that time: version 1 anew, then version 2 in its
        place."""
        times = []
        end = time.monotonic() + seconds
        while not times or time.monotonic() < end:
            for name in ("one", "two"):
                start = time.monotonic()
                finish(self.spawn("n1", *self.on_core, "build/sluice", "element", "install",
                                  f"{self.dir}/{name}.so"))
                times.append(1e3 * (time.monotonic() - start))
            finish(self.spawn("n1", "build/sluice", "element", "remove", "HopLimit"))
        return times

    def flood(self, packets, seconds, pps):
        """Send without waiting; returns what ends it."""
        mac = finish(self.spawn("n1", "cat", "/sys/class/net/eth1/address")).strip()
        sink = self.spawn("h2", "build/lab/sink", "eth0", "-j")
        if "ready" not in sink.stderr.readline():
            raise Failure("no sink on h2")
        before = self.entered()
        pace = ["--spin"] if self.on_other else []
        gen = self.spawn("h1", *self.on_other, "build/lab/gen", "eth0", "-j", "--dst-mac", mac,
                         "--duration", str(seconds), "--rate", str(pps), *pace, *packets)

        def end():
            sent = json.loads(finish(gen))
            sink.send_signal(signal.SIGINT)
            delivered = json.loads(finish(sink))["packets"]
            return {"made": sent["made"], "delivered": delivered,
                    "entered": self.entered() - before}
        return end

    def entered(self):
        """Packets that chains have taken, so far."""
        return sum(flow["entered"] for flow in self.flows() if not flow["global"])

    def end(self):
        if self.worker:
            self.worker.terminate()
            self.worker.communicate()


def napi_threads(dev):
    """The kernel's threads that receive for netdevs of that name, in any namespace."""
    found = set()
    for comm in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(OSError), open(comm, encoding="ascii", errors="replace") as file:
            if file.read().startswith(f"napi/{dev}-"):
                found.add(int(comm.split("/")[2]))
    return found


def ratio(sent):
    return sent["delivered"] / sent["made"]


def line_fit(points):
    """Slope, intercept and R of y over x."""
    n = len(points)
    sx, sy = sum(x for x, _ in points), sum(y for _, y in points)
    dx, dy = [x - sx / n for x, _ in points], [y - sy / n for _, y in points]
    sxx, syy = sum(x * x for x in dx), sum(y * y for y in dy)
    sxy = sum(x * y for x, y in zip(dx, dy))
    return sxy / sxx, sy / n - sxy / sxx * sx / n, sxy / math.sqrt(sxx * syy) if syy else 0.0


def print_fit(where, points):
    slope, fixed, r = line_fit(points)
    print(f"  {where}{fixed:.1f} + {slope:.6f} ms for each packet/s, R = {r:.3f}; "
          "the paper: 139.86 + 0.0139, R = 0.9972")


def run(args, out):
    seconds, rounds = (0.5, 1) if args.quick else (2, args.runs)
    x2, x3, x7 = ((10, 90), (10, 50, 100), (50,)) if args.quick else (X2_KPPS, X3_KPPS, X7_KPPS)
    name = f"e{os.getpid()}"
    x3_core = (10, 50) if args.quick else X3_CORE_KPPS
    rows = []
    chains = ["--dst", "10.64.0.0/24", "--dests", str(CHAINS)]
    plain = ["--dst", PLAIN]
    lab_command("up", "pair", "--engine", "fast", "--name", name)
    path = Elements(name, os.cpu_count() - 1)
    try:
        path.start()
        for i in range(rounds):
            for kpps in x2:
                progress(f"elements: X2, {kpps},000 packets/s, round {i + 1} of {rounds}")
                for what, packets in (("chains", chains), ("plain", plain)):
                    sent = path.flood(packets, seconds, kpps * 1000)()
                    rows.append({"experiment": "x2", "kpps": kpps, "what": what, **sent})
            for kpps in x3:
                progress(f"elements: X3, {kpps},000 packets/s, round {i + 1} of {rounds}")
                sent = path.flood(plain, seconds, kpps * 1000)()
                rows.append({"experiment": "x3", "kpps": kpps, "what": "without", **sent})
                end = path.flood(plain, seconds, kpps * 1000)
                times = path.install(seconds / 2)
                rows.append({"experiment": "x3", "kpps": kpps, "what": "install", "ms": times,
                             **end()})
            for kpps in x7:
                progress(f"elements: X7, {kpps},000 packets/s, round {i + 1} of {rounds}")
                for place, buffer in enumerate(BUFFERS):
                    sent = path.flood(["--dst", f"10.64.2.{place}"], seconds, kpps * 1000)()
                    rows.append({"experiment": "x7", "kpps": kpps, "what": buffer, **sent})
        rows += shared_core(path, x3_core, seconds, rounds, {"plain": plain, "chains": chains})
    finally:
        path.end()
        lab_command("down", name)
    progress("")
    for row in rows:
        through_chains = row["experiment"] == "x7" or "chains" in (row["what"], row.get("way"))
        entered = row["entered"]
        if entered < row["delivered"] if through_chains else entered > 100:
            raise Failure(f"packets did not go where they should: {row}")
    with open(f"{out}/elements.json", "w", encoding="ascii") as file:
        json.dump({"machine": machine(), "seconds": seconds, "rows": rows}, file, indent=1)
    show(rows, x2, x3, x3_core, x7)


def shared_core(path, x3_core, seconds, rounds, ways):
    """X3 on one core. Few installations fit into the time at the highest loads, so a trial is twice
    as long."""
    rows = []
    path.share_core()
    for i in range(rounds):
        for kpps in x3_core:
            progress(f"elements: X3 on one core, {kpps},000 packets/s, round {i + 1} of {rounds}")
            for way, packets in ways.items():
                row = {"experiment": "x3", "kpps": kpps, "way": way}
                before = path.forwarded_ns()
                sent = path.flood(packets, seconds, kpps * 1000)()
                used = (path.forwarded_ns() - before) / (1e9 * seconds)
                rows.append({**row, "what": "without", "of_core": used, **sent})
                end = path.flood(packets, 2 * seconds, kpps * 1000)
                times = path.install(1.8 * seconds)
                rows.append({**row, "what": "install", "ms": times, **end()})
    return rows


def show(rows, x2, x3, x3_core, x7):
    def of(experiment, kpps, what, way=None):
        wanted = experiment, kpps, what, way
        return [r for r in rows
                if (r["experiment"], r["kpps"], r["what"], r.get("way")) == wanted]

    def percent(some):
        return f"{100 * statistics.median(ratio(r) for r in some):>11.3f}"

    print("\nX2: packets of 60 bytes that arrive, %; ten chains of equal shares, "
          "and plain forwarding")
    print(f"{'kpps':>6}{'chains':>11}{'plain':>11}")
    for kpps in x2:
        print(f"{kpps:>6}{percent(of('x2', kpps, 'chains'))}{percent(of('x2', kpps, 'plain'))}")
    one_core = ", the router on one core"
    for way, title, loads in ((None, "plain traffic", x3),
                              ("plain", "plain traffic" + one_core, x3_core),
                              ("chains", "traffic through chains" + one_core, x3_core)):
        print(f"\nX3: an element installed under {title}; packets that arrive, %")
        print(f"{'kpps':>6}{'install ms':>12}{'of':>6}{'without':>11}{'meanwhile':>11}"
              + (f"{'of core %':>11}" if way else ""))
        points, below = [], []
        for kpps in loads:
            ms = [t for r in of("x3", kpps, "install", way) for t in r["ms"]]
            points.append((1000 * kpps, statistics.median(ms)))
            print(f"{kpps:>6}{points[-1][1]:>12.1f}{len(ms):>6}"
                  f"{percent(of('x3', kpps, 'without', way))}"
                  f"{percent(of('x3', kpps, 'install', way))}", end="")
            if way:
                used = statistics.median(r["of_core"] for r in of("x3", kpps, "without", way))
                print(f"{100 * used:>11.1f}", end="")
                if used < FAIR_SHARE[way]:
                    below.append(points[-1])
            print()
        print_fit("", points)
        if 2 < len(below) < len(points):
            print_fit(f"where forwarding takes less than {FAIR_SHARE[way]:.0%} of the core: ", below)
    print("\nX7: packets that arrive, %, by the buffer before a chain, in packets; "
          "the worker sleeps, the sender sends each ms")
    print(f"{'kpps':>6}" + "".join(f"{b:>11}" for b in BUFFERS))
    for kpps in x7:
        print(f"{kpps:>6}" + "".join(percent(of("x7", kpps, b)) for b in BUFFERS))
