# SPDX-License-Identifier: BSD-2-Clause
"""What queues at the way out cost a router without a cluster: a port without any beside one that has
some, and a port whose rate the traffic does not reach. The rivals are the kernel's: no queue, as a
veth has, a FIFO, and HTB with its FIFO for a rate; not every kernel has fq_codel.
"""
import json
import os
import signal
import statistics
import time

from trials import Failure, Path, finish, lab_command, machine, progress

RATE = "100gbit"  # of queued ports, more than any of the routers carries
QUEUED = f", rate: {RATE}, burst_us: 1000, queues: [{{class: 0, policy: codel, flows: 1024}}]"
PACKETS = ["--dst", "10.64.0.1", "--flows", "64"]
# Contender: the lab's engine, and what is done to which port of n1. Packets leave by eth2.
ROUTERS = {
    "kernel": ("none", None, None),
    "kernel again": ("none", None, None),
    "kernel, FIFO": ("none", "pfifo", "eth2"),
    "kernel, rate": ("none", "htb", "eth2"),
    "sluice": ("fast", None, None),
    "sluice again": ("fast", None, None),
    "sluice, neighbour": ("fast", "queues", "eth1"),
    "sluice, queues": ("fast", "queues", "eth2"),
}


class Router(Path):
    def __init__(self, lab_id, core):
        super().__init__(lab_id, "h1", ("n1", "eth1"), "h2", core)
        self.strict = False
        self.bridge = None

    def run(self, *command):
        return finish(self.spawn("n1", *command))

    def status(self):
        return json.loads(self.run("build/sluice", "-j", "status"))

    def prepare(self, what, dev):
        if what == "pfifo":
            self.run("tc", "qdisc", "replace", "dev", dev, "root", "pfifo", "limit", "1000")
        elif what == "htb":
            self.run("tc", "qdisc", "replace", "dev", dev, "root", "handle", "1:", "htb", "default", "1")
            self.run("tc", "class", "add", "dev", dev, "parent", "1:", "classid", "1:1", "htb", "rate", RATE)
        elif what == "queues":
            self.queue(dev)

    def queue(self, dev):
        """Give a port a rate and flow queues, and start the bridge that serves them."""
        self.run("ethtool", "-K", dev, "tso", "off")  # or no frame may pass the bridge
        config = f"{self.dir}/n1.yaml"
        with open(config, encoding="ascii") as file:
            text = file.read().replace(f"  - name: {dev}\n", f"  - {{name: {dev}{QUEUED}}}\n")
        with open(config, "w", encoding="ascii") as file:
            file.write(text)
        os.kill(self.status()["pid"], signal.SIGHUP)
        self.bridge = self.spawn("n1", "build/sluice-bridge", "--config", config)
        deadline = time.monotonic() + 60
        while not self.status()["bridge"]["running"] or not self.lets_pass(dev):
            if self.bridge.poll() is not None or time.monotonic() > deadline:
                self.bridge.terminate()
                raise Failure(f"no queues at {dev}: {self.bridge.communicate()[1].strip()}")
            time.sleep(0.1)

    def lets_pass(self, dev):
        """Do frames for the port go past the bridge? They do while nothing waits."""
        process = self.spawn("n1", "build/sluice", "-j", "-a", "show", "express")
        out, _ = process.communicate()
        rows = json.loads(out) if process.returncode == 0 else []
        return any(row["port"] == f"n1p{dev[3:]}" and row["express"] == "yes" for row in rows)

    def end(self):
        if self.bridge:
            self.bridge.terminate()
            self.bridge.communicate()


def run(args, out):
    seconds, rounds = (0.1, 1) if args.quick else (0.3, args.runs)
    names, routers, results = [], {}, {name: [] for name in ROUTERS}
    try:
        for what in dict.fromkeys(ROUTERS.values()):
            name = f"q{os.getpid()}-{len(names)}"
            lab_command("up", "pair", "--engine", what[0], "--name", name)
            names.append(name)
            routers[what] = Router(name, os.cpu_count() - 1)
            routers[what].prepare(*what[1:])
        for i in range(rounds):
            for name, what in ROUTERS.items():
                progress(f"queues: {name}, round {i + 1} of {rounds}")
                results[name].append(routers[what].trial(PACKETS, seconds))
    finally:
        for router in routers.values():
            router.end()
        for name in names:
            lab_command("down", name)
    progress("")
    with open(f"{out}/queues.json", "w", encoding="ascii") as file:
        json.dump({"machine": machine(), "seconds": seconds, "results": results}, file, indent=1)
    base = {}
    print("\nQueues at the way out: ns of the core for each packet of 60 bytes (generator and sink included)")
    print(f"{'':<18}{'median':>9}{'lowest':>9}{'highest':>9}{'over none':>11}{'lost %':>9}")
    for name, what in ROUTERS.items():
        values = [result["core_ns"] for result in results[name]]
        middle = statistics.median(values)
        print(f"{name:<18}{middle:>9.0f}{min(values):>9.0f}{max(values):>9.0f}"
              f"{middle - base.setdefault(what[0], middle):>11.0f}"
              f"{100 * statistics.median(result['loss'] for result in results[name]):>9.2f}")
