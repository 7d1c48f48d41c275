# SPDX-License-Identifier: BSD-2-Clause
"""The world of the oracle with a cluster in place of the router: its ports belong to three nodes.

        node 1: p0, p3, p4        node 2: p1, p5        node 3: p2

Every node has the routes of the one router, in terms of its own netdevs: for the router's `dev p1`,
node 1 says `dev n2p2`, the remote port. A node knows the others' networks and neighbours only from
their daemons' announcements.
"""
import ipaddress
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import world
from contenders import BUILD, OBJECT, ROOT, Failed
from world import OWN, OWNER

sys.path.insert(0, os.path.join(ROOT, "netns-lab", "lib"))
import conservation  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order

NODES = sorted(set(OWNER))
FABRIC_MTU = 3506  # the most that a veth with XDP takes; holds a message with one frame of the largest edge MTU
LIVENESS_MS = 10000  # long, since a bridge may wait for a processor, and this test is about bytes
CLASS_TOS = (0, 16 << 2, 32 << 2, 48 << 2)
CONVERGE_S = 30 * world.PATIENCE


def remote_name(port):
    """The name of a port on other nodes. Numbers begin with 1."""
    return f"n{OWNER[port]}p{port + 1}"


def device_on(node, port):
    return f"p{port}" if OWNER[port] == node else remote_name(port)


def translate(node, text):
    """Translate commands for the one router into commands for a node."""
    return re.sub(r"\bdev p(\d)\b", lambda m: "dev " + device_on(node, int(m.group(1))), text)


def node_script(node):
    lines = ["mount --make-rprivate /", "mount -t sysfs sysfs /sys", *world.ROUTER_SETTINGS,
             "sysctl -qw net.ipv4.conf.default.rp_filter=0"]
    for port, owner in enumerate(OWNER):
        if owner == node:
            lines += world.port_script(port)
    return "\n".join(lines)


class ClusterWorld(world.World):
    """A world with a cluster. family: that of the fabric's addresses, 4 or 6. port_keys: more keys
    of every port's configuration. fabric_keys: of the fabric's."""

    def __init__(self, engine="fast", family=4, port_keys="", fabric_keys=""):
        self.engine, self.family, self.port_keys, self.fabric_keys = engine, family, port_keys, fabric_keys
        self.nodes, self.fabric, self.directory, self.daemons = {}, None, None, []
        self.canaries = 0
        super().__init__()
        self.to_ports = self.markers
        self.to_nodes = [plan + self.plan_to_nodes(port) for port, plan in enumerate(self.to_ports)]

    def fabric_address(self, node):
        return f"10.9.0.{node}" if self.family == 4 else f"fd09::{node}"

    def build(self):
        self.directory = tempfile.TemporaryDirectory(prefix="sluice-oracle.")
        self.hosts, self.fabric = world.Namespace(), world.Namespace()
        for node in NODES:
            self.nodes[node] = world.Namespace()
        self.hosts.script(world.connect_script([self.nodes[OWNER[port]].pid for port in range(world.PORTS)]))
        self.fabric.script("mount --make-rprivate /\nmount -t sysfs sysfs /sys\n"
                           f"ip link add br0 mtu {FABRIC_MTU} type bridge mcast_snooping 0\nip link set br0 up\n" + "\n".join(
                               f"ip link add n{n} mtu {FABRIC_MTU} master br0 type veth "
                               f"peer name fab0 mtu {FABRIC_MTU} netns {self.nodes[n].pid}\n"
                               f"ip link set n{n} up\nethtool -K n{n} tx off gro on >/dev/null" for n in NODES))
        for node, namespace in self.nodes.items():
            namespace.script(node_script(node))
            length = 24 if self.family == 4 else 64
            namespace.script(f"ip link set fab0 up\nethtool -K fab0 tx off gro on >/dev/null\n"
                             f"ip addr add {self.fabric_address(node)}/{length} dev fab0"
                             + (" nodad" if self.family == 6 else ""))
        self.start_daemons()
        self.converge()
        for node in NODES:
            # As on the ports, a neighbour that does not exist fails at once.
            self.nodes[node].script("\n".join(
                f"sysctl -qw net.ipv{v}.neigh.{remote_name(p)}.app_solicit=0"
                for p in range(world.PORTS) if OWNER[p] != node for v in (4, 6)))
        self.script("\n".join(world.route_script()))

    def namespaces(self):
        return [self.hosts, self.fabric, *self.nodes.values()]

    def close(self):
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait(world.DEADLINE_S)
        super().close()
        if self.directory:
            self.directory.cleanup()

    def script(self, text):
        """Run commands for the one router on all nodes."""
        for node, namespace in self.nodes.items():
            namespace.script(translate(node, text))

    # --- Daemons ---

    def config(self, node):
        keys = f", {self.port_keys}" if self.port_keys else ""
        fabric_keys = f", {self.fabric_keys}" if self.fabric_keys else ""
        ports = {n: ", ".join(f"{{number: {p + 1}, name: p{p}{keys}}}" for p in range(world.PORTS) if OWNER[p] == n) for n in NODES}
        members = "".join(f"    - {{id: {n}, address: \"{self.fabric_address(n)}\", ports: [{ports[n]}]}}\n" for n in NODES)
        return (f"engine: {self.engine}\ncluster:\n  node: {node}\n  key_file: {self.directory.name}/key\n"
                f"  liveness_ms: {LIVENESS_MS}\n  fabric: {{device: fab0, transport: roce-xdp{fabric_keys}}}\n  nodes:\n{members}")

    def start_daemons(self):
        with open(os.open(f"{self.directory.name}/key", os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(os.urandom(32).hex())
        for node, namespace in self.nodes.items():
            path = f"{self.directory.name}/n{node}.yaml"
            with open(path, "w", encoding="ascii") as file:
                file.write(self.config(node))
            for command in (["sluice-bridge", "--config", path], ["sluiced", "--config", path, "--object", OBJECT]):
                with open(f"{self.directory.name}/{command[0]}-n{node}.log", "wb") as log:
                    self.daemons.append(subprocess.Popen(
                        namespace.command(os.path.join(BUILD, command[0]), *command[1:]), stdin=subprocess.DEVNULL,
                        stdout=log, stderr=log, preexec_fn=world.die_with_parent))

    def said(self):
        """The ends of the logs."""
        out = []
        for name in sorted(os.listdir(self.directory.name)):
            if name.endswith(".log"):
                with open(f"{self.directory.name}/{name}", encoding="utf-8", errors="replace") as file:
                    out.append(f"{name}:\n{file.read()[-1000:]}")
        return "\n".join(out)

    def wait(self, what, holds):
        deadline = time.monotonic() + CONVERGE_S
        while not holds():
            if any(daemon.poll() is not None for daemon in self.daemons):
                raise Failed(f"a daemon of the cluster ended:\n{self.said()}")
            if time.monotonic() > deadline:
                raise Failed(f"the cluster does not converge: {what}\n{self.said()}")
            time.sleep(0.05)

    def knows(self, node, port):
        """Has a node all that the owner of a port announced: networks and neighbours?"""
        name = remote_name(port)
        run = self.nodes[node].run
        try:
            routes = json.loads(run("ip", "-j", "route", "show", "dev", name)) + json.loads(run("ip", "-6", "-j", "route", "show", "dev", name))
            neighbours = json.loads(run("ip", "-j", "neigh", "show", "dev", name))
        except subprocess.CalledProcessError:
            return False  # there is no such netdev yet
        wanted = {f"{net}{host}" for net in (f"10.0.{port}.", f"fd00:{port}::", "fe80::") for host in world.HOSTS}
        wanted = {str(ipaddress.ip_address(w)) for w in wanted}
        networks = {str(ipaddress.ip_network(n)) for n in (f"10.0.{port}.0/24", f"fd00:{port}::/64")}
        return (networks <= {r["dst"] for r in routes if "linkdown" not in r.get("flags", [])}
                and wanted <= {n["dst"] for n in neighbours if "lladdr" in n})

    def converge(self):
        for node in NODES:
            for port, owner in enumerate(OWNER):
                if owner != node:
                    self.wait(f"node {node} lacks something of {remote_name(port)}", lambda n=node, p=port: self.knows(n, p))

    def explains(self, node, address):
        answer = subprocess.run(
            self.nodes[node].command(os.path.join(BUILD, "sluice"), "--json", "explain", address),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        return (json.loads(answer.stdout)["route"] or {}).get("prefix") if answer.returncode == 0 else None

    def settle(self):
        """Wait until all nodes have followed the changes."""
        self.canaries += 1
        canaries = (f"10.140.0.{self.canaries}/32", f"fd00:140::{self.canaries:x}/128")
        self.script("\n".join(f"ip route add blackhole {c}" for c in canaries))
        for node in NODES:
            for c in canaries:
                self.wait(f"node {node} does not follow its routes",
                          lambda n=node, c=c: self.explains(n, c.split("/")[0]) == c)

    # --- Packets ---

    def plan(self, port):
        """The markers of the one router, and for remote ports one in every class."""
        steps = world.marker_plan(port)
        via = port if world.FORWARDING[port] else 0
        for j in range(world.PORTS):
            if OWNER[j] != OWNER[via]:
                steps += [(via, j, world.marker_template(via, f"10.0.{j}.{world.MARKER_HOST}", b"", tos)) for tos in CLASS_TOS[1:]]
        return steps

    @staticmethod
    def plan_to_nodes(port):
        """For a packet to another node itself, whose kernel may answer to any port, markers to all
        ports."""
        via = port if world.FORWARDING[port] else 0
        sources = [via] if world.RP_FILTER[via] else range(world.PORTS)
        return [(via, j, world.marker_template(via, f"10.0.{OWNER.index(node)}.1", b"", src_port=j))
                for node in NODES if node != OWNER[via] for j in sources]

    def exchange(self, in_port, frames):
        self.markers = self.to_nodes if any(own in frame[:80] for frame in frames for own in OWN) else self.to_ports
        return super().exchange(in_port, frames)

    def counting(self):
        """The nodes, for the sums of conservation.py."""
        return [conservation.Node(f"n{n}", self.nodes[n].pid) for n in NODES], conservation.Node("fabric", self.fabric.pid)

    def snapshot(self):
        return conservation.snapshot(*self.counting())
