# SPDX-License-Identifier: BSD-2-Clause
"""The rate that two nodes carry from a port of one to a port of the other. The contenders are
sluice, by packing degree and way to transmit, the kernel, routing or tunnelling, and the shortest
XDP router; all use the same namespaces, and `contender` switches between them.
"""
import contextlib
import glob
import json
import os
import signal
import statistics
import subprocess
import time

from trials import LAB, Failure, Path, finish, lab_command, machine, progress

SINK = "10.2.1.2"
MANY = "10.64.0.0/16"  # contender routes them to the sink
AGAIN = "+again"  # suffix of the second half of the A/A pair
PEERS = ["kernel", "kernel-2", "vxlan", "vxlan-2", "fib-lookup"]
DEGREES = [1, 2, 4, 8, 16, 255]
LIGHT_PPS = 20000
LONE_PPS = 2000
FLOWS = 64
DELAYS = ("lone", "light", "tenth", "half", "loaded")
TCP_STREAMS = (1, 8)
TCP_S = 3
PRIORITY = -19


def contenders(quick):
    if quick:
        return ["kernel", "af_xdp 255", "af_xdp 255" + AGAIN, "inject 255"]
    return (PEERS + [f"af_xdp {d}" for d in DEGREES] + ["af_xdp 255" + AGAIN, "af_xdp 255 fair", "af_xdp 255 wide",
            "af_xdp 255 express", "af_xdp 255 wide-express", "af_xdp 255 header", "af_xdp 255 shaped", "af_xdp 255 bridged"] +
            [f"inject {d}" for d in (1, 16, 255)])


class Cluster(Path):
    """The path from the host behind node 1 to the one behind node 2. Node 1 and the generator have
    one core, node 2 and the sink the other."""

    def __init__(self, lab_id):
        super().__init__(lab_id, "h1p1", ("n1", "eth1"), "h2p1", 0)
        self.lab_id = lab_id
        self.mac = finish(self.spawn("n1", "cat", "/sys/class/net/eth1/address")).strip()

    def become(self, name):
        command = [f"{LAB}/benchmarks/contender", self.lab_id, *name.removesuffix(AGAIN).split()]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise Failure(f"contender {name}: {result.stderr.strip()}")

    def others_seconds(self):
        """Processor time of the bridges, and of the kernel threads that process packets after
        interrupts (ksoftirqd)."""
        pids = []
        for n in (1, 2):
            with contextlib.suppress(OSError), open(f"{self.dir}/bridge-n{n}.pid", encoding="ascii") as file:
                pids.append(file.read().strip())
        for comm in glob.glob("/proc/[0-9]*/comm"):
            with contextlib.suppress(OSError), open(comm, encoding="ascii", errors="replace") as file:
                if file.read().startswith("ksoftirqd/"):
                    pids.append(comm.split("/")[2])
        total = 0
        for pid in pids:
            with contextlib.suppress(OSError), open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total / 1e9

    def start(self, host, *command):
        """Start a command in a session of its own, with priority over other sessions of the
        machine."""
        process = self.spawn(host, "setsid", *command)
        deadline = time.monotonic() + 5
        with contextlib.suppress(OSError):
            while os.getsid(process.pid) != process.pid and time.monotonic() < deadline:
                time.sleep(0.001)
            with open(f"/proc/{process.pid}/autogroup", "w", encoding="ascii") as file:
                file.write(str(PRIORITY))
        return process

    @contextlib.contextmanager
    def count(self, host, *options):
        """Count the generator's frames that come to a host, into the dictionary that this yields."""
        sink, got = self.start(host, "taskset", "-c", "1", "build/lab/sink", "eth0", "-j", *options), {}
        try:
            if "ready" not in sink.stderr.readline():
                raise Failure(f"no sink on {host}: {sink.communicate()[1].strip()}")
            yield got
        finally:
            sink.send_signal(signal.SIGINT)
            got.update(json.loads(finish(sink)))

    def round_trip(self, packets, seconds):
        """Frames one at a time, which the sink sends back: delays there and back."""
        with self.count(self.sink, "--echo"), self.count(self.source) as got:
            sent = json.loads(finish(self.start(
                self.source, "taskset", "-c", "0", "build/lab/gen", "eth0", "-j", "--dst-mac", self.mac,
                "--duration", str(seconds), *packets, "--rate", str(LONE_PPS), "--spin", "--batch", "1", "--stamp-every", "1")))
            time.sleep(0.05)
        return {"offered": sent["made"], "delivered": got["packets"], "reordered": got["reordered"], "duplicates": got["duplicates"],
                "p50_ns": got["latency_p50_ns"], "p99_ns": got["latency_p99_ns"]}

    def trial(self, packets, seconds, rate=None):
        """As Path.trial, but node 2 has the sink's core."""
        with self.count(self.sink) as got:
            pace = ["--rate", str(int(rate))] if rate else []
            others_s = self.others_seconds()
            sent = json.loads(finish(self.start(
                self.source, "taskset", "-c", "0", "build/lab/gen", "eth0", "-j", "--dst-mac", self.mac,
                "--duration", str(seconds), "--stamp-every", "7", *packets, *pace)))
            time.sleep(0.05)  # for frames that still wait in queues
            others_s = self.others_seconds() - others_s
        return {
            "offered": sent["made"], "delivered": got["packets"], "seconds": sent["seconds"],
            "offered_pps": sent["made"] / sent["seconds"],
            "delivered_pps": got["packets"] / sent["seconds"],
            # A frame dropped at the ingress was only made and looked at, so gen's time counts by
            # the frame sent.
            "core_ns": 1e9 * (sent["cpu_seconds"] / sent["made"] + others_s / max(got["packets"], 1)),
            "loss": 1 - got["packets"] / sent["made"], "reordered": got["reordered"],
            "duplicates": got["duplicates"], "p50_ns": got["latency_p50_ns"], "p99_ns": got["latency_p99_ns"],
        }

    def tcp(self, streams):
        """Bits a second that iperf3 carries from the source to the sink by so many connections."""
        server = self.start(self.sink, "taskset", "-c", "1", "iperf3", "--server", "--one-off", "--bind", SINK)
        try:
            deadline = time.monotonic() + 5
            while f"{SINK}:5201" not in finish(self.spawn(self.sink, "ss", "-Hltn")):
                if time.monotonic() > deadline:
                    raise Failure("iperf3 does not listen")
                time.sleep(0.02)
            done = json.loads(finish(self.start(
                self.source, "taskset", "-c", "0", "iperf3", "--json", "--client", SINK, "--time", str(TCP_S),
                "--parallel", str(streams))))
        finally:
            server.terminate()
            server.communicate()
        return {"bps": done["end"]["sum_received"]["bits_per_second"], "retransmits": done["end"]["sum_sent"]["retransmits"]}

    def no_drop(self, packets, seconds, loss, resolution, guess_pps):
        """The highest rate that passes, by growing steps and bisection. None: no rate passed."""
        low, high, best, rate = 0.0, 0.0, None, guess_pps
        while rate > 1000:
            trial = self.trial(packets, seconds, rate)
            if trial["loss"] < loss and trial["offered_pps"] > 0.98 * rate:
                low, best = rate, trial
            else:
                high = rate
            if high and high - low <= resolution * high:
                break
            rate = (low + high) / 2 if low and high else rate * (1.4 if low else 0.7)
        return best

    def bridge(self, node, what):
        """Rows of a bridge's control socket."""
        out = finish(self.spawn(node, "sh", "-c", f"echo '{{\"command\": \"{what}\"}}' | "
                                "socat -t 2 - UNIX:/run/sluice/sluice-bridge.sock"))
        return [row for row in map(json.loads, out.splitlines()) if "hello" not in row and "end" not in row]

    def packed(self):
        """Frames and messages that node 1's bridge has sent."""
        frames = self.bridge("n1", "status")[0]["frames"]["sent"]["packets"]
        return frames, sum(row["data_sent"] for row in self.bridge("n1", "peers"))


def measure_one(path, name, args, entry):
    """Measure one round of a contender into `entry`, which keeps the results so far if something
    fails."""
    packets = (["--dst", MANY, "--dests", str(args.destinations)] if args.destinations > 1 else ["--dst", SINK, "--flows", str(FLOWS)])
    packets += ["--imix"] if args.size == "imix" else ["--size", args.size]
    path.become(name)
    path.trial(packets, 0.1)  # a warm-up that is not counted: it fills caches
    entry["flood"] = path.trial(packets, args.trial)
    before = path.packed() if name.removesuffix(AGAIN) not in PEERS else None
    entry["no_drop"] = path.no_drop(packets, args.trial, args.loss, args.resolution,
                                    entry["flood"]["delivered_pps"])
    if before:
        frames, messages = (b - a for a, b in zip(before, path.packed()))
        entry["frames_per_message"] = frames / max(messages, 1)
    entry["lone"] = path.round_trip(packets, args.trial)
    entry["light"] = path.trial(packets, args.trial, LIGHT_PPS)
    if args.tcp:
        entry["tcp"] = {str(n): path.tcp(n) for n in TCP_STREAMS}
    if entry["no_drop"]:
        entry["tenth"] = path.trial(packets, args.trial, 0.1 * entry["no_drop"]["offered_pps"])
        entry["half"] = path.trial(packets, args.trial, 0.5 * entry["no_drop"]["offered_pps"])
        entry["loaded"] = path.trial(packets, args.trial, 0.9 * entry["no_drop"]["offered_pps"])


def measure(args, results, failures, keep):
    """Measure all rounds into `results`; each failure goes to `failures`. Calls keep() after each
    contender."""
    names = list(results)
    lab_id = f"c{os.getpid()}"
    lab_command("up", "cluster", "--nodes", "2", "--ports", "1", "--wire", args.wire, "--name", lab_id)
    try:
        path = Cluster(lab_id)
        if args.tcp:  # routers see frames of hosts as they are on a wire
            for host in (path.source, path.sink):
                finish(path.spawn(host, "ethtool", "-K", "eth0", "tx", "off", "tso", "off", "gso", "off"))
        for i in range(args.runs):
            for k in range(len(names)):
                name = names[(i + k) % len(names)]
                progress(f"cluster: round {i + 1} of {args.runs}: {name}")
                entry = {}
                try:
                    measure_one(path, name, args, entry)
                except (Failure, OSError, ValueError) as why:
                    failures.append({"round": i + 1, "contender": name, "why": str(why)})
                if entry:
                    results[name].append(entry)
                keep()
    finally:
        progress("")
        lab_command("down", lab_id)


def values(entries, what, field):
    return [entry[what][field] for entry in entries if entry.get(what)]


def median(numbers):
    return statistics.median(numbers) if numbers else 0.0


def spread(numbers):
    """Half the distance of the quartiles, as a share of the median."""
    if len(numbers) < 2 or not median(numbers):
        return 0.0
    quartiles = statistics.quantiles(numbers, n=4, method="inclusive")
    return (quartiles[2] - quartiles[0]) / 2 / median(numbers)


def summarise(results):
    rows = []
    for name, entries in results.items():
        rates = values(entries, "no_drop", "delivered_pps")
        row = {"contender": name, "rounds": len(entries), "no_drop_pps": median(rates), "spread": spread(rates), "pps": rates,
               "flood_pps": median(values(entries, "flood", "delivered_pps")),
               # RPS runs in interrupts, whose time no process is charged with.
               "core_ns": 0.0 if name.endswith("-2") else median(values(entries, "flood", "core_ns")),
               "frames_per_message": median([e["frames_per_message"] for e in entries if "frames_per_message" in e])}
        for n in TCP_STREAMS:
            row[f"tcp{n}_bps"] = median([e["tcp"][str(n)]["bps"] for e in entries if "tcp" in e])
        for what in DELAYS:
            for p in ("p50_ns", "p99_ns"):
                row[f"{what}_{p}"] = median(values(entries, what, p))
        rows.append(row)
    return rows


def best_of(rows, prefix):
    """The best rate of a peer's configurations."""
    rates = [row["no_drop_pps"] for row in rows if row["contender"].split("-")[0].split()[0] == prefix]
    return max(rates, default=0.0)


def rate_of(rows, name):
    return next((row["no_drop_pps"] for row in rows if row["contender"] == name), 0.0)


def print_table(rows, args):
    kernel, vxlan = best_of(rows, "kernel"), best_of(rows, "vxlan")
    fib = rate_of(rows, "fib-lookup")
    where = "1 destination" if args.destinations == 1 else f"{args.destinations:,} destinations"
    print(f"\nTwo nodes, fabric a {args.wire}, {'mixed' if args.size == 'imix' else args.size + '-byte'} frames, "
          f"{where}; loss below {100 * args.loss:g} %; medians of {max(row['rounds'] for row in rows)} runs")
    print(f"{'':18}{'no-drop':>9}{'':>5}{'x kern':>7}{'x fib-l':>8}{'x vxlan':>8}{'flood':>7}{'core':>7}{'frames/':>9}")
    print(f"{'':18}{'Mpps':>9}{'+-':>5}{'':>23}{'Mpps':>7}{'ns':>7}{'message':>9}")
    for row in rows:
        rate = row["no_drop_pps"]
        ratios = "".join(f"{rate / peer:{n}.2f}" if peer else f"{'-':>{n}}" for peer, n in ((kernel, 7), (fib, 8), (vxlan, 8)))
        packed = f"{row['frames_per_message']:9.1f}" if row["frames_per_message"] else f"{'-':>9}"
        print(f"{row['contender']:18}{rate / 1e6:9.3f}{100 * row['spread']:4.0f}%{ratios}{row['flood_pps'] / 1e6:7.2f}"
              f"{row['core_ns'] or '-':>7{'.0f' if row['core_ns'] else ''}}{packed}")
    print_latencies(rows)
    one, most, again = (rate_of(rows, f"af_xdp {d}") for d in ("1", "255", "255" + AGAIN))
    if one and most:
        print(f"packing: degree 255 carries {most / one:.2f} times what degree 1 does")
    if most and again:
        print(f"A/A (af_xdp 255 against itself): {100 * abs(again / most - 1):.0f} %. "
              "Smaller differences mean nothing.")


def print_latencies(rows):
    """Times from the generator to the sink, for a lone frame and back, and what TCP carries."""
    tcp = any(row[f"tcp{n}_bps"] for n in TCP_STREAMS for row in rows)
    print(f"\n{'latency, us':18}{'round trip':>16}{f'{LIGHT_PPS:,} pps':>16}{'at 10 %':>16}{'at 50 %':>16}{'at 90 %':>16}"
          + ("".join(f"{f'TCP x {n}':>9}" for n in TCP_STREAMS) if tcp else ""))
    print(f"{'':18}" + f"{'p50':>8}{'p99':>8}" * len(DELAYS) + (f"{'Gbit/s':>9}" * len(TCP_STREAMS) if tcp else ""))
    for row in rows:
        times = "".join(f"{row[f'{what}_{p}'] / 1e3:8.{1 if what == 'lone' else 0}f}" for what in DELAYS
                        for p in ("p50_ns", "p99_ns"))
        print(f"{row['contender']:18}{times}" + ("".join(f"{row[f'tcp{n}_bps'] / 1e9:9.2f}" for n in TCP_STREAMS) if tcp else ""))


def run(args, out):
    """Measure and print; write OUT/cluster.json after each round of a contender. Returns the rows
    and the failures."""
    results = {name: [] for name in args.contenders or contenders(args.quick)}
    failures = []

    def keep():
        with open(f"{out}/cluster.json.new", "w", encoding="ascii") as file:
            json.dump({"machine": machine(), "trial_seconds": args.trial, "runs": args.runs, "wire": args.wire,
                       "destinations": args.destinations, "frame_bytes": args.size, "tolerated_loss": args.loss, "rows": summarise(results), "rounds": results,
                       "failures": failures}, file, indent=1)
        os.replace(f"{out}/cluster.json.new", f"{out}/cluster.json")

    keep()
    try:
        measure(args, results, failures, keep)
    finally:  # an interrupted measurement is shown, too
        rows = summarise(results)
        print_table(rows, args)
        for failure in failures:
            print(f"FAILED: {failure['contender']}, round {failure['round']}: {failure['why']}")
    return rows, failures
