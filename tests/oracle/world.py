# SPDX-License-Identifier: BSD-2-Clause
"""One router under test in namespaces of its own, with a packet source and a sink on every port.

        hosts namespace          router namespace (with its own mounts and bpffs)
        h0  <--- veth --->  p0   10.0.0.1/24  fd00:0::1/64   jumbo
        h1  <--- veth --->  p1   10.0.1.1/24  fd00:1::1/64   rp_filter strict
        h2  <--- veth --->  p2   10.0.2.1/24  fd00:2::1/64   jumbo, rp_filter loose
        h3  <--- veth --->  p3   10.0.3.1/24  fd00:3::1/64   forwarding off
        h4  <--- veth --->  p4   10.0.4.1/24  fd00:4::1/64   sends redirects
        h5  <--- veth --->  p5   10.0.5.1/24  fd00:5::1/64   never given to the fast path

The hosts have no address and answer nothing: a port receives only what the test sends, and the test
captures all that leaves one. Two worlds are alike to the last MAC address and interface index, so
their answers to a packet can be compared byte for byte.

Nothing waits for a fixed time. Markers follow each packet on every way through the router that the
packet could have taken; when the last marker has arrived, so has whatever the packet caused.

The namespaces have no names and live as long as one process each, which dies with the test.
"""
import ctypes
import os
import select
import signal
import socket
import struct
import subprocess
import time

PORTS = 6
PLAIN_PORT = 5
JUMBO_MTU = 3400
MTU = (JUMBO_MTU, 1500, JUMBO_MTU, 1500, 1500, 1500)
RP_FILTER = (0, 1, 2, 0, 0, 0)
FORWARDING = (1, 1, 1, 0, 1, 1)
SEND_REDIRECTS = (0, 0, 0, 0, 1, 0)
OWN = [socket.inet_aton(f"10.0.{port}.1") for port in range(PORTS)]
OWN6 = [socket.inet_pton(socket.AF_INET6, f"fd00:{port}::1") for port in range(PORTS)]
OWNER = (1, 2, 3, 1, 1, 2)  # the node that has the port, if the router is a cluster (cluster.py)
PATIENCE = float(os.environ.get("LAB_PATIENCE", "1"))  # a factor for slow machines
DEADLINE_S = 10 * PATIENCE

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
SO_RCVBUFFORCE = 33
ETH_P_ALL = 3
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
AUXDATA_BYTES = 20

libc = ctypes.CDLL(None, use_errno=True)


def router_mac(port):
    return "02:00:00:00:%02x:01" % port


def host_mac(port, host=2):
    return "02:00:00:00:%02x:%02x" % (port, host)


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


# The neighbours that every port has: a gateway, two more hosts, and the target of the markers.
HOSTS = (2, 3, 4, 250)
MARKER_HOST = 250

# The routers' routes beside the connected prefixes. {} is the family's own part.
ROUTES4 = """
10.100.0.0/16 via 10.0.1.2
10.101.0.0/16 via 10.0.2.2
10.102.0.0/16 via 10.0.4.2
10.103.0.0/16 via 10.0.5.2
10.104.0.0/16 via 10.0.3.2
10.105.0.0/16 via 10.0.0.2
blackhole 10.110.0.0/16
unreachable 10.111.0.0/16
prohibit 10.112.0.0/16
throw 10.113.0.0/16
10.114.0.0/16 via 10.0.1.99
10.115.0.0/16 dev p1 scope link
10.120.0.0/16 via 10.0.2.2 mtu 1280
10.121.0.0/16 via 10.0.2.2 mtu lock 1300
10.122.0.0/16 via inet6 fd00:2::2 dev p2
10.123.0.0/16 nexthop via 10.0.1.2 weight 1 nexthop via 10.0.2.3 weight 2
10.124.0.0/16 via 10.0.1.2 metric 10
10.124.0.0/16 via 10.0.2.2 metric 20
10.124.128.0/17 via 10.0.2.3
10.124.128.64/26 via 10.0.2.4
10.124.128.65/32 via 10.0.1.3
10.124.200.0/31 via 10.0.1.4
blackhole 10.124.201.7/32
10.125.0.0/16 via 10.0.1.2
10.125.0.0/16 tos 0x10 via 10.0.2.2
local 10.130.0.0/16 dev lo
broadcast 10.131.0.1/32 dev p1
"""
ROUTES6 = """
fd00:100::/32 via fd00:1::2
fd00:101::/32 via fd00:2::2
fd00:102::/32 via fd00:4::2
fd00:103::/32 via fd00:5::2
fd00:104::/32 via fd00:3::2
fd00:105::/32 via fd00:0::2
blackhole fd00:110::/32
unreachable fd00:111::/32
prohibit fd00:112::/32
throw fd00:113::/32
fd00:114::/32 via fd00:1::99
fd00:115::/32 dev p1
fd00:120::/32 via fd00:2::2 mtu 1300
fd00:122::/32 via fe80::2 dev p2
fd00:123::/32 nexthop via fd00:1::2 weight 1 nexthop via fd00:2::3 weight 2
fd00:124::/32 via fd00:1::2 metric 10
fd00:124::/32 via fd00:2::2 metric 20
fd00:124:8000::/33 via fd00:2::3
fd00:124:8000::/49 via fd00:2::4
fd00:124:8000::65/128 via fd00:1::3
blackhole fd00:124:8000::66/128
local fd00:130::/32 dev lo
"""
DEFAULT_ROUTES = """
ip route add default via 10.0.2.4
ip -6 route add default via fd00:2::4
"""

POLICY_RULES = """
ip rule add from 10.105.0.0/16 to 10.100.0.0/16 lookup 100
ip route add 10.100.0.0/16 via 10.0.4.2 table 100
ip -6 rule add from fd00:105::/32 to fd00:100::/32 lookup 100
ip -6 route add fd00:100::/32 via fd00:4::2 table 100
"""


def connect_script(router_pids):
    """Commands for the hosts namespace that make the wires. router_pids: for each port, a process
    of its router; None: the port has no wire."""
    lines = []
    for i in range(PORTS):
        if not router_pids[i]:
            continue
        lines += [
            f"ip link add name h{i} index {100 + i} address {host_mac(i)} mtu {MTU[i]} type veth "
            f"peer name p{i} index {10 + i} address {router_mac(i)} mtu {MTU[i]} netns {router_pids[i]}",
            f"ip link set h{i} addrgenmode none",
            # Checksums complete in software; NAPI on, or redirected frames would not arrive.
            f"ethtool -K h{i} tx off gro on >/dev/null",
            f"sysctl -qw net.ipv6.conf.h{i}.disable_ipv6=1",
            f"ip link set h{i} arp off up promisc on",
        ]
    return "\n".join(lines)


# Commands for a namespace that is to be a router, before it has ports.
ROUTER_SETTINGS = [
    "mount --make-rprivate /",
    "mount -t bpf bpf /sys/fs/bpf",
    "mount -t tmpfs -o mode=755 tmpfs /run",
    "ip link set lo up",
    # Answers must depend on the packet alone, not on the number of packets before it.
    "sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv4.icmp_ratemask=0",
    "sysctl -qw net.ipv6.icmp.ratelimit=0",
    "sysctl -qw net.ipv6.icmp.ratemask=",
    "sysctl -qw net.ipv6.auto_flowlabels=0 net.ipv4.icmp_echo_ignore_broadcasts=1",
    "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.all.send_redirects=0",
    "sysctl -qw net.ipv4.conf.all.accept_redirects=0 net.ipv6.conf.all.accept_redirects=0",
    "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1",
]


def port_script(i, name=None):
    """Commands for the router that has port i, which make the port and its neighbours, the same
    each time. name: the interface that has the addresses, if not p<i>."""
    name = name or f"p{i}"
    conf4, conf6 = f"net.ipv4.conf.{name}", f"net.ipv6.conf.{name}"
    lines = [
        f"ip link set {name} addrgenmode none",
        f"ethtool -K {name} tx off gro off >/dev/null",
        f"sysctl -qw {conf4}.rp_filter={RP_FILTER[i]} {conf4}.forwarding={FORWARDING[i]}",
        f"sysctl -qw {conf4}.send_redirects={SEND_REDIRECTS[i]} {conf4}.accept_redirects=0",
        f"sysctl -qw {conf6}.accept_ra=0 {conf6}.accept_dad=0 {conf6}.accept_redirects=0",
        # A neighbour that does not exist fails at once and silently, without timers.
        f"sysctl -qw net.ipv4.neigh.{name}.mcast_solicit=0 net.ipv6.neigh.{name}.mcast_solicit=0",
        f"ip link set {name} up",
        f"ip addr add 10.0.{i}.1/24 brd + dev {name}",
        f"ip addr add fd00:{i}::1/64 dev {name} nodad",
        f"ip addr add fe80::1/64 dev {name} nodad",
    ]
    neighbours = [(address, host) for host in HOSTS
                  for address in (f"10.0.{i}.{host}", f"fd00:{i}::{host}", f"fe80::{host}")]
    if i == 1:
        neighbours += [("10.115.0.9", 9), ("fd00:115::9", 9)]
    return lines + [f"ip neigh replace {address} lladdr {host_mac(i, host)} dev {name} nud permanent"
                    for address, host in neighbours]


def route_script():
    """Commands for a router with all its ports."""
    # The kernel's IPv6 tables append a second path to a prefix only if its metric is the same.
    return [f"ip route add {r}" for r in ROUTES4.split("\n") if r] \
        + [f"ip -6 route add {r}" for r in ROUTES6.split("\n") if r]


def router_script():
    """Commands for the router namespace that make it a router, the same each time."""
    return "\n".join(ROUTER_SETTINGS + [line for i in range(PORTS) for line in port_script(i)] + route_script())


def die_with_parent():
    """Run by a child between fork and exec."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Namespace:
    """A network and mount namespace, kept by a process that dies with this one."""

    def __init__(self):
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-c", "echo; exec sleep infinity"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=die_with_parent)
        self.holder.stdout.readline()
        self.pid = self.holder.pid

    def command(self, *argv):
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", f"--mount=/proc/{self.pid}/ns/mnt",
                *argv]

    def run(self, *argv):
        return subprocess.run(self.command(*argv), check=True, stdout=subprocess.PIPE).stdout

    def script(self, text):
        subprocess.run(self.command("sh", "-e"), input=text.encode(), check=True)

    def sockets(self, make):
        """Call make() inside the namespace; the sockets it opens stay there."""
        with open("/proc/self/ns/net", "rb") as home, open(f"/proc/{self.pid}/ns/net", "rb") as there:
            enter(there)
            try:
                return make()
            finally:
                enter(home)

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


def enter(namespace):
    if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def packet_sockets(ports=range(PORTS)):
    """For each port a socket to send at and one that captures what arrives."""
    pairs = []
    for i in ports:
        tx = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        tx.bind((f"h{i}", 0))
        rx = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        rx.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        rx.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        rx.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
        rx.setblocking(False)
        rx.bind((f"h{i}", ETH_P_ALL))
        pairs.append((tx, rx))
    return pairs


def receive(rx):
    """The next captured frame, or None. Puts back the VLAN tag that the kernel took off."""
    try:
        frame, control, _, _ = rx.recvmsg(65536, socket.CMSG_SPACE(AUXDATA_BYTES))
    except BlockingIOError:
        return None
    for level, kind, data in control:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", data[:AUXDATA_BYTES])
            if status & TP_STATUS_VLAN_VALID:
                tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                frame = frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
    return frame


def checksum(data):
    """The Internet checksum (RFC 1071)."""
    if len(data) & 1:
        data += b"\0"
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


MARK = b"sluice oracle marker "


def marker_template(in_port, dst, options, tos=0, src_port=None):
    """A UDP packet (checksum 0) for dst from the gateway behind src_port, without the sequence
    number at its end."""
    payload_bytes = len(MARK) + 4
    src_port = in_port if src_port is None else src_port
    header = struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, tos,
                         20 + len(options) + 8 + payload_bytes, 0, 0x4000, 64, 17, 0,
                         socket.inet_aton(f"10.0.{src_port}.2"), socket.inet_aton(dst)) + options
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    ether = mac_bytes(router_mac(in_port)) + mac_bytes(host_mac(in_port)) + b"\x08\x00"
    return ether + header + struct.pack("!HHHH", 9, 9, 8 + payload_bytes, 0) + MARK


NOP_OPTIONS = b"\x01\x01\x01\x00"


def marker_plan(port):
    """
    The markers that follow a packet into a port: (into, out of, template). For every other port,
    one that may take the fast path and one with IP options, which the kernel must handle. For the
    packet's own port, one that turns around and one that the router itself refuses, so that an
    error message comes back. A port that does not forward gets the last kind only, and then another
    port's markers.
    """
    steps = [(port, port, marker_template(port, f"10.0.{port}.1", b""))]
    via = port if FORWARDING[port] else 0
    for j in range(PORTS):
        dst = f"10.0.{j}.{MARKER_HOST}"
        if j == via and SEND_REDIRECTS[via]:
            continue
        steps.append((via, j, marker_template(via, dst, b"")))
        if j != via:
            steps.append((via, j, marker_template(via, dst, NOP_OPTIONS)))
    return steps


class World:
    """
    A router and its surroundings. sent[port] counts the frames put into each port, markers
    included.
    """

    def __init__(self):
        self.hosts = self.router = None
        self.sockets = []
        try:
            self.build()
            self.sockets = self.open_sockets()
        except BaseException:
            self.close()
            raise
        self.markers = [self.plan(port) for port in range(PORTS)]
        self.sequence = 0
        self.sent = [0] * PORTS
        self.poll = select.poll()
        for _, rx in self.sockets:
            self.poll.register(rx, select.POLLIN)

    def build(self):
        """Make namespaces, wires and routes."""
        self.hosts, self.router = Namespace(), Namespace()
        self.hosts.script(connect_script([self.router.pid] * PORTS))
        self.router.script(router_script())

    def open_sockets(self):
        """For each port, what to send at and what captures."""
        return self.hosts.sockets(packet_sockets)

    def plan(self, port):
        """The markers that follow a packet into a port."""
        return marker_plan(port)

    @staticmethod
    def is_noise(frame):
        """
        Did the router send this by itself, at any time? So it does multicast listener reports, and
        the error that the rest of a fragmented packet to the router itself did not come.
        """
        if frame[12:14] == b"\x08\x00":
            return frame[23:24] == b"\x01" and frame[34:36] == b"\x0b\x01" and frame[26:30] in OWN
        if len(frame) <= 62 or frame[12:14] != b"\x86\xdd":
            return False
        if frame[20] == 58:
            return frame[54:56] == b"\x03\x01" and frame[22:38] in OWN6
        return frame[20] == 0 and frame[54] == 58 and frame[62] == 143 and frame[22:24] in (b"\xfe\x80", b"\0\0")

    def namespaces(self):
        return [self.hosts, self.router]

    def close(self):
        for tx, rx in self.sockets:
            tx.close()
            rx.close()
        for namespace in self.namespaces():
            if namespace:
                namespace.close()

    def send(self, port, frame):
        self.sockets[port][0].send(frame)
        self.sent[port] += 1

    def exchange(self, in_port, frames):
        """Send frames into a port; return what left as a list of (port, frame), in order per
        port."""
        for frame in frames:
            self.send(in_port, frame)
        awaited = set()
        for via, out_port, template in self.markers[in_port]:
            self.sequence += 1
            mark = MARK + struct.pack("!I", self.sequence)
            self.send(via, template[:-len(MARK)] + mark)
            awaited.add((out_port, mark))
        captured = []
        deadline = time.monotonic() + DEADLINE_S
        while awaited:
            for port, (_, rx) in enumerate(self.sockets):
                while (frame := receive(rx)) is not None:
                    at = frame.rfind(MARK)
                    mark = (port, frame[at:at + len(MARK) + 4])
                    if at >= 0 and mark in awaited:
                        awaited.remove(mark)
                    elif not self.is_noise(frame):
                        captured.append((port, frame))
            if awaited:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    ways = sorted((port, mark[-4:].hex()) for port, mark in awaited)
                    raise TimeoutError(f"{len(awaited)} markers of port {in_port} lost: {ways[:6]}")
                self.poll.poll(left_s * 1000)
        return captured


def pin_to_one_cpu():
    """Frames of one sender stay in order only if they are queued on one CPU."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
