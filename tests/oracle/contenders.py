# SPDX-License-Identifier: BSD-2-Clause
"""The contenders that may forward in a world: the kernel alone, or sluice in one of its forms, with
its counters."""
import json
import os
import subprocess
import tempfile
import time

import world

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build")
OBJECT = os.path.join(BUILD, "sluice.bpf.o")
FAST_PORTS = [i for i in range(world.PORTS) if i != world.PLAIN_PORT]


class Failed(Exception):
    """A contender could not be started."""


class Contender:
    """A contender, that is, something that forwards. Its traits say which reasoned differences it
    may show."""
    name = ""
    traits = frozenset()
    # Generic XDP also gets the copies that the kernel loops back of what it broadcasts on the port.
    sees_own_broadcasts = False

    def __init__(self):
        self.router = None

    def start(self, router):
        """Start to forward in this namespace, which is set up as a router."""
        self.router = router

    def settle(self):
        """Return when the contender has followed all changes of the router so far."""

    def stop(self):
        """End all that start() started; the namespace goes after that."""

    def counters(self):
        """Packets: {"rx", "forward", "drops": [], "punts": []}; None: there are no counters."""


class Kernel(Contender):
    """The Linux kernel."""
    name = "kernel"


class OtherKernel(Kernel):
    """The Linux kernel with a few settings changed, and the families that must show it."""
    families = ("IPv4: time to live", "IPv4: routes", "IPv4: larger than the egress MTU",
                "IPv6: larger than the egress MTU", "IPv6: source addresses", "IPv6: routes")

    def start(self, router):
        router.script("""
            sysctl -qw net.ipv4.ip_default_ttl=63 net.ipv6.conf.all.hop_limit=63
            for p in 0 1 2; do sysctl -qw net.ipv6.conf.p$p.hop_limit=63; done
            ip link set p1 mtu 1499
            ip route change 10.124.200.0/31 via 10.0.1.3
            ip -6 route del fd00:124:8000::66
            """)


class Sluice(Contender):
    """The common part of all forms of sluice: the counters, found through the program on a port."""

    def __init__(self):
        super().__init__()
        self.maps = {}

    def attached(self):
        """Turn GRO off, as everywhere else: attaching a program turned it on."""
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
        # Frames that went on are in one slot each: forward and voq of IPv4, behind the list those of IPv6.
        rx, forward, _, _, voq, _, _, forward_ip6, voq_ip6 = self.counter_map("sl_stats")
        forward += forward_ip6
        return {"rx": rx + forward + voq + voq_ip6, "forward": forward, "drops": self.counter_map("sl_drops"),
                "punts": self.counter_map("sl_punts")}


class Bare(Sluice):
    """`ip link set dev PORT xdp obj ...` and nothing else: the kernel engine."""
    traits = frozenset(["bare", "bpf_fib_lookup"])

    def __init__(self, mode):
        super().__init__()
        self.option = {"native": "xdpdrv", "generic": "xdpgeneric"}[mode]
        self.sees_own_broadcasts = mode == "generic"
        self.name = f"bare, {mode} XDP"

    def start(self, router):
        self.router = router
        for i in FAST_PORTS:
            router.run("ip", "link", "set", "dev", f"p{i}", self.option, "obj", OBJECT, "section", "xdp")
        self.attached()


class Managed(Sluice):
    """sluiced with one of its engines."""
    def __init__(self, engine, mode="native"):
        super().__init__()
        self.engine, self.mode = engine, mode
        self.traits = frozenset(["managed", "bpf_fib_lookup" if engine == "kernel" else "tables"])
        self.sees_own_broadcasts = mode == "generic"
        self.name = f"sluiced, {engine}, {mode} XDP"
        self.directory = self.daemon = None
        self.canaries = 0

    def start(self, router):
        self.router = router
        self.directory = tempfile.TemporaryDirectory(prefix="sluice-oracle.")
        config = os.path.join(self.directory.name, "sluice.yaml")
        # In generic mode XDP cannot see a tag that lies beside the frame, as on these veths.
        tags = "ignore" if self.mode == "generic" else "refuse"
        ports = "".join(f"  - {{name: p{i}, mode: {self.mode}, hidden_tags: {tags}}}\n" for i in FAST_PORTS)
        with open(config, "w", encoding="ascii") as file:
            file.write(f"engine: {self.engine}\nports:\n{ports}")
        log = open(os.path.join(self.directory.name, "log"), "w+", encoding="utf-8")
        self.daemon = subprocess.Popen(
            router.command(os.path.join(BUILD, "sluiced"), "--config", config, "--object", OBJECT),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=world.die_with_parent)
        self.settle()
        self.attached()

    def said(self):
        """The end of the daemon's log."""
        with open(os.path.join(self.directory.name, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def explains(self, address):
        """The prefix by which the daemon routes an address, or None."""
        answer = subprocess.run(
            self.router.command(os.path.join(BUILD, "sluice"), "--json", "explain", address),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if answer.returncode != 0:
            return None
        return json.loads(answer.stdout).get("route", {}).get("prefix")

    def settle(self):
        """Add a route of each family and wait until the daemon has it: then it has followed all
        earlier changes. Of both, since each family has its own dump."""
        self.canaries += 1
        canaries = (f"10.140.0.{self.canaries}/32", f"fd00:140::{self.canaries:x}/128")
        self.router.script("\n".join(f"ip route add blackhole {c}" for c in canaries))
        deadline = time.monotonic() + world.DEADLINE_S
        while any(self.explains(c.split("/")[0]) != c for c in canaries):
            if self.daemon.poll() is not None:
                raise Failed(f"sluiced ended with status {self.daemon.returncode}:\n{self.said()}")
            if time.monotonic() > deadline:
                raise Failed(f"sluiced does not follow:\n{self.said()}")
            time.sleep(0.02)

    def stop(self):
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait(world.DEADLINE_S)
        if self.directory:
            self.directory.cleanup()


def everyone():
    return [Bare("native"), Bare("generic"), Managed("fast"), Managed("fast", "generic"), Managed("lpm"),
            Managed("kernel")]
