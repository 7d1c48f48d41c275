# SPDX-License-Identifier: BSD-2-Clause
"""What may forward in a world: the kernel alone, or sluice in one of its forms. And sluice's counters."""
import json
import os

import world

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OBJECT = os.path.join(ROOT, "build", "sluice.bpf.o")
FAST_PORTS = [i for i in range(world.PORTS) if i != world.PLAIN_PORT]


class Kernel:
    """The Linux kernel forwards."""
    name = "kernel"

    def start(self, router):
        pass

    def stop(self):
        pass

    def counters(self):
        return None


class Sluice:
    """What all forms of sluice have in common: the counters, found through the program on a port."""

    def __init__(self):
        self.router = None
        self.maps = {}

    def attached(self):
        """After programs are attached: attaching one turned GRO on, so turn it off as everywhere else."""
        for i in FAST_PORTS:
            self.router.run("ethtool", "-K", f"p{i}", "gro", "off")
        net = json.loads(self.router.run("bpftool", "-j", "net"))
        programs = {entry["id"] for entry in net[0]["xdp"]}
        for program in programs:
            shown = json.loads(self.router.run("bpftool", "-j", "prog", "show", "id", str(program)))
            for map_id in shown["map_ids"]:
                name = json.loads(self.router.run("bpftool", "-j", "map", "show", "id", str(map_id)))["name"]
                self.maps[name] = map_id

    def counter_map(self, name):
        """Packets per entry, all CPUs together."""
        dump = json.loads(self.router.run("bpftool", "-j", "map", "dump", "id", str(self.maps[name])))
        return [sum(cpu["value"]["packets"] for cpu in entry["formatted"]["values"]) for entry in dump]

    def counters(self):
        stats = self.counter_map("sl_stats")
        return {"rx": stats[0], "forward": stats[1], "drops": self.counter_map("sl_drops"),
                "punts": self.counter_map("sl_punts")}


class Bare(Sluice):
    """`ip link set dev PORT xdp obj ...` and nothing else: the kernel engine."""

    def __init__(self, mode):
        super().__init__()
        self.option = {"native": "xdpdrv", "generic": "xdpgeneric"}[mode]
        self.name = f"bare, {mode} XDP"

    def start(self, router):
        self.router = router
        for i in FAST_PORTS:
            router.run("ip", "link", "set", "dev", f"p{i}", self.option, "obj", OBJECT, "section", "xdp")
        self.attached()

    def stop(self):
        pass


class Failed(Exception):
    """A contender could not be started."""


def everyone():
    return [Bare("native"), Bare("generic")]
