# SPDX-License-Identifier: BSD-2-Clause
"""A world whose ports are of other kinds than plain veth pairs:

        p0   a veth with all its offloads, and a macvlan beside it: mv0, 02:00:00:00:00:77, 10.0.6.1/24
        p1   a TAP, at whose other end is the test itself
        p4   a member of the bridge br4, which has the addresses and the MAC address of the port

The rest is as in world.py.
"""
import fcntl
import os
import struct

import world

TAP_PORT = 1
BRIDGE_PORT = 4
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000


class Tap:
    """The far end of a TAP, as the sockets of world.py."""

    def __init__(self, name):
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(self.fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))

    def fileno(self):
        return self.fd

    def send(self, frame):
        os.write(self.fd, frame)

    def recvmsg(self, size, _control_size):
        return os.read(self.fd, size), [], 0, None

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


class PortsWorld(world.World):
    """See above."""

    def __init__(self):
        self.tap = None
        super().__init__()

    def build(self):
        self.hosts, self.router = world.Namespace(), world.Namespace()
        self.hosts.script(world.connect_script([None if i == TAP_PORT else self.router.pid for i in range(world.PORTS)]))
        self.tap = self.router.sockets(lambda: Tap(f"p{TAP_PORT}"))
        lines = world.ROUTER_SETTINGS + [
            f"ip link set p{TAP_PORT} address {world.router_mac(TAP_PORT)}",
            f"ip link add br4 address {world.router_mac(BRIDGE_PORT)} type bridge mcast_snooping 0",
            f"sysctl -qw net.ipv6.conf.p{BRIDGE_PORT}.disable_ipv6=1",
            f"ip link set p{BRIDGE_PORT} master br4 up"]
        for i in range(world.PORTS):
            lines += world.port_script(i, "br4" if i == BRIDGE_PORT else None)
        # The kernel gives a macvlan its broadcasts later, from a queue, and so in no order: it gets none.
        lines += ["ethtool -K p0 tx on >/dev/null",
                  "ip link add mv0 link p0 address 02:00:00:00:00:77 type macvlan mode bridge bcqueuelen 0",
                  "ip link set mv0 addrgenmode none",
                  "ip link set mv0 up",
                  "ip addr add 10.0.6.1/24 dev mv0"]
        self.router.script("\n".join(lines + world.route_script()))
        self.hosts.script("ethtool -K h0 tx on >/dev/null")

    def open_sockets(self):
        wired = [i for i in range(world.PORTS) if i != TAP_PORT]
        pairs = dict(zip(wired, self.hosts.sockets(lambda: world.packet_sockets(wired))))
        pairs[TAP_PORT] = (self.tap, self.tap)
        return [pairs[i] for i in range(world.PORTS)]

    def close(self):
        super().close()
        if self.tap:
            self.tap.close()
