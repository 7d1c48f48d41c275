# SPDX-License-Identifier: BSD-2-Clause
"""The packets: valid, odd and broken, by family. Made from one seed, so each run can be repeated.

A family is a list of Cases. A family whose packets are plain transit is `fast`: a fast path must
forward some of them, or this family has not tested it.
"""
import random
import socket
import struct
import warnings
from dataclasses import dataclass

warnings.filterwarnings("ignore")

# pylint: disable=wrong-import-position
from scapy.config import conf  # noqa: E402

conf.ipv6_enabled = True
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption  # noqa: E402
from scapy.layers.inet6 import (ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt,  # noqa: E402
                                IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, PadN,
                                RouterAlert)
from scapy.layers.inet6 import HBHOptUnknown, ICMPv6PacketTooBig, ICMPv6TimeExceeded, Jumbo  # noqa: E402
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1Q, Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402

from world import JUMBO_MTU, PORTS, checksum, host_mac, router_mac  # noqa: E402

FUZZED_PACKETS = 1500
BURST_FRAMES = 64  # well below the 256 frames that a veth queues


@dataclass(frozen=True)
class Case:
    port: int     # where it enters
    frame: bytes
    note: str = ""
    more: tuple = ()  # frames that follow at once, in one burst


@dataclass
class Family:
    name: str
    fast: bool
    cases: list
    grouped: bool  # sluice differs from Linux in no case: many may travel before one set of markers


MAKERS = []


def family(name, fast=False, grouped=False):
    def register(maker):
        MAKERS.append((name, fast, grouped, maker))
        return maker
    return register


def build(seed):
    """All families in a fixed order."""
    families = []
    sources_used[:] = [0] * PORTS
    for name, fast, grouped, maker in MAKERS:
        rng = random.Random(f"{seed} {name}")
        families.append(Family(name, fast, list(maker(rng)), grouped))
    return families


# --- Building blocks ---

def frame_in(port, ethertype, payload, dst=None, src=None):
    ether = Ether(dst=dst or router_mac(port), src=src or host_mac(port), type=ethertype)
    return bytes(ether) + bytes(payload)


def case4(packet, port=0, note="", **ether):
    return Case(port, frame_in(port, 0x0800, packet, **ether), note)


def case6(packet, port=0, note="", **ether):
    return Case(port, frame_in(port, 0x86dd, packet, **ether), note)


# The kernel limits the rate of errors to one sender (RFC 1812 4.3.2.8). So unless the sender
# matters, every packet has its own: an address that is routed to the host behind the packet's
# ingress port.
SOURCES = (105, 100, 101, 104, 102, 103)
sources_used = [0] * PORTS


def source4(port=0):
    sources_used[port] += 1
    return "10.%d.%d.%d" % (SOURCES[port], 1 + sources_used[port] // 250, 1 + sources_used[port] % 250)


def source6(port=0):
    sources_used[port] += 1
    return f"fd00:{SOURCES[port]}::1:{sources_used[port]:x}"


def ip4(dst="10.100.0.9", src=None, port=0, **fields):
    return IP(dst=dst, src=src or source4(port), **fields)


def ip6(dst="fd00:100::9", src=None, port=0, **fields):
    return IPv6(dst=dst, src=src or source6(port), **fields)


def udp(payload=b"sluice", sport=4000, dport=5000):
    return UDP(sport=sport, dport=dport) / Raw(payload)


def tcp(rng, payload=b"sluice", flags="A", **fields):
    return TCP(sport=4000, dport=80, seq=rng.getrandbits(32), ack=rng.getrandbits(32), flags=flags,
               **fields) / Raw(payload)


def transports(rng):
    return [udp(rng.randbytes(20)), tcp(rng), tcp(rng, b"", "S", options=[("MSS", 1460)]),
            ICMP(type=8, id=7, seq=9) / Raw(b"ping")]


def sealed(header):
    """A raw IPv4 header with the right checksum filled in."""
    header = header[:10] + b"\0\0" + header[12:]
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:]


def raw4(packet, **put):
    """The bytes of an IPv4 packet with header bytes replaced, b<offset>=value, checksum right."""
    data = bytearray(bytes(packet))
    for name, value in put.items():
        data[int(name[1:])] = value
    header_bytes = min(max((data[0] & 15) * 4, 20), len(data))
    return sealed(bytes(data[:header_bytes])) + bytes(data[header_bytes:])


def options4(options, payload=b"sluice"):
    """An IPv4 packet with these option bytes, padded to a whole word with end-of-list."""
    options = options + bytes(-len(options) % 4)
    header = struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, 0,
                         20 + len(options) + 8 + len(payload), 1, 0, 64, 17, 0,
                         socket.inet_aton(source4()), socket.inet_aton("10.100.0.9")) + options
    return sealed(header) + struct.pack("!HHHH", 4000, 5000, 8 + len(payload), 0) + payload


OWN4 = ["10.0.0.1", "10.0.1.1", "10.0.3.1", "10.0.5.1"]
OWN6 = ["fd00:0::1", "fd00:1::1", "fd00:3::1", "fe80::1"]


# --- Ethernet ---

@family("ethernet: destination and source addresses", grouped=True)
def _(rng):
    others = ["02:00:00:00:00:77", router_mac(1), "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01",
              "01:80:c2:00:00:00", "33:33:00:00:00:01", "00:00:00:00:00:00", "03:00:00:00:00:01"]
    for dst in others:
        for l4 in transports(rng):
            yield case4(ip4() / l4, dst=dst)
            yield case4(ip4("10.0.0.1") / l4, dst=dst)
        yield case4(ip4("224.0.0.1") / udp(), dst=dst)
        yield case4(ip4("10.0.0.255") / udp(), dst=dst)
        yield case4(ip4("255.255.255.255") / udp(), dst=dst)
        yield case6(ip6() / udp(), dst=dst)
        yield case6(ip6("fd00::1") / udp(), dst=dst)
        yield case6(ip6("ff02::1") / udp(), dst=dst)
    for src in others + [router_mac(0)]:
        yield case4(ip4() / udp(), src=src)
        yield case6(ip6() / udp(), src=src)


@family("ethernet: ethertypes, LLC, ARP", grouped=True)
def _(rng):
    for ethertype in [0, 45, 46, 1500, 1501, 1535, 1536, 0x0801, 0x0806, 0x0842, 0x22f3, 0x6558,
                      0x8035, 0x8137, 0x8808, 0x8847, 0x8848, 0x8863, 0x8864, 0x888e, 0x88cc, 0x88e5,
                      0x88f7, 0x9000, 0xffff] + [rng.randrange(65536) for _ in range(60)]:
        yield Case(0, frame_in(0, ethertype, ip4() / udp()))
    yield Case(0, frame_in(0, 0x86dd, ip4() / udp()), "IPv4 as IPv6")
    yield Case(0, frame_in(0, 0x0800, ip6() / udp()), "IPv6 as IPv4")
    for length in (0, 3, 8, 46, 200, 1500):
        body = bytes(LLC(dsap=0xaa, ssap=0xaa, ctrl=3) / SNAP(OUI=0, code=0x0800) / ip4() / udp())
        yield Case(0, frame_in(0, length, body), "SNAP")
        yield Case(0, frame_in(0, length, bytes(LLC(dsap=0x42, ssap=0x42, ctrl=3)) + bytes(35)), "STP")
    for operation in (1, 2, 3, 8):
        for target in ("10.0.0.1", "10.0.0.2", "10.0.0.77", "10.0.1.1", "10.100.0.9"):
            for dst in (None, "ff:ff:ff:ff:ff:ff"):
                yield Case(0, frame_in(0, 0x0806, ARP(
                    op=operation, hwsrc=host_mac(0), psrc="10.0.0.2",
                    hwdst="00:00:00:00:00:00", pdst=target), dst=dst), "ARP")


@family("ethernet: VLAN tags", grouped=True)
def _(rng):
    for vids in [(0,), (1,), (100,), (4094,), (4095,), (0, 0), (0, 5), (5, 0), (100, 200),
                 (0, 0, 0), (1, 2, 3)]:
        for tpid in (0x8100, 0x88a8, 0x9100):
            for priority in (0, 5):
                for ethertype, packet in ((0x0800, ip4() / udp()), (0x86dd, ip6() / udp()),
                                          (0x0800, ip4("10.0.0.1") / udp())):
                    tags = b""
                    for n, vid in enumerate(vids):
                        inner = ethertype if n == len(vids) - 1 else 0x8100
                        tags += bytes(Dot1Q(vlan=vid, prio=priority, type=inner))
                    yield Case(0, frame_in(0, tpid, tags + bytes(packet)))
    for cut in range(0, 6):
        yield Case(0, frame_in(0, 0x8100, bytes(Dot1Q(vlan=5, type=0x8100) / Dot1Q(vlan=6))[:cut]))
    for _ in range(20):
        yield Case(0, frame_in(0, 0x8100, rng.randbytes(rng.randrange(60))))


@family("ethernet: frames cut short", grouped=True)
def _(rng):
    for ethertype, packet in ((0x0800, ip4() / udp()), (0x0800, ip4() / tcp(rng)),
                              (0x0800, ip4("10.0.0.1") / ICMP()), (0x86dd, ip6() / udp()),
                              (0x86dd, ip6("fd00::1") / ICMPv6EchoRequest())):
        whole = frame_in(0, ethertype, packet)
        for length in range(14, len(whole) + 1):
            yield Case(0, whole[:length])


# --- IPv4 ---

@family("IPv4: frame sizes to 1,514", fast=True, grouped=True)
def _(rng):
    for length in list(range(60, 132)) + list(range(132, 1515, 13)) + list(range(1490, 1515)):
        yield case4(ip4() / udp(rng.randbytes(length - 42)))


@family("IPv4: jumbo frames", fast=True, grouped=True)
def _(rng):
    for length in list(range(1500, JUMBO_MTU, 97)) + [JUMBO_MTU - 1, JUMBO_MTU]:
        yield case4(ip4("10.101.0.9") / udp(rng.randbytes(length - 28)))


@family("IPv4: time to live", grouped=True)
def _(rng):
    for dst in ("10.100.0.9", "10.101.0.9", "10.0.0.1", "10.0.1.3", "10.110.0.1", "10.111.0.1"):
        for ttl in (0, 1, 2, 3, 64, 128, 254, 255):
            for l4 in transports(rng):
                for options in ([], [IPOption(b"\x01\x01\x01\x00")]):
                    yield case4(ip4(dst, ttl=ttl, options=options) / l4)


@family("IPv4: TTL and header checksum at their edges", fast=True, grouped=True)
def _(rng):
    # The one's complement sum has two zeros. The choice of the IP id makes every special value of
    # the checksum.
    wanted = [0x0000, 0xffff, 0xfffe, 0xff00, 0xfeff, 0xfefe, 0xfeff, 0xff01, 0x00ff, 0x0100, 0x0001]
    for ttl in (2, 3, 128, 255):
        for value in wanted + [rng.getrandbits(16) for _ in range(40)]:
            packet = bytearray(bytes(ip4(ttl=ttl, id=0, chksum=0) / udp()))
            # With the id at x the checksum is base - x in one's complement.
            base = checksum(bytes(packet[:20]))
            packet[4:6] = struct.pack("!H", (base - value) % 0xffff)
            packet[10:12] = struct.pack("!H", value)
            yield case4(bytes(packet), note=f"checksum {value:04x}")
            packet[4:6] = struct.pack("!H", ((base - value) % 0xffff) or 0xffff)
            yield case4(bytes(packet), note=f"checksum {value:04x}, id of ones")


@family("IPv4: wrong header checksum", grouped=True)
def _(rng):
    good = bytes(ip4() / udp())
    for dst in ("10.100.0.9", "10.0.0.1"):
        good = bytes(ip4(dst) / udp())
        for bit in range(16):
            bad = bytearray(good)
            bad[10 + bit // 8] ^= 1 << bit % 8
            yield case4(bytes(bad))
        for value in (b"\0\0", b"\xff\xff"):
            yield case4(good[:10] + value + good[12:])


@family("IPv4: version and header length", grouped=True)
def _(rng):
    for first in range(256):
        yield case4(raw4(ip4() / udp(bytes(60)), b0=first))
    for first in range(0x40, 0x50):
        yield case4(raw4(ip4("10.0.0.1") / udp(bytes(60)), b0=first))


@family("IPv4: options", grouped=True)
def _(rng):
    hop, hop2 = socket.inet_aton("10.0.1.3"), socket.inet_aton("10.0.0.1")
    blank = bytes(4)
    options = [b"\x01", b"\x00", b"\x01\x01\x01\x01", bytes(40), b"\x01" * 40]
    for pointer in (0, 3, 4, 5, 8, 12, 13, 16, 40, 255):
        options += [bytes([7, 15, pointer]) + bytes(12), bytes([131, 11, pointer]) + hop + hop2,
                    bytes([137, 11, pointer]) + hop + hop2, bytes([7, 39, pointer]) + bytes(36)]
    for kind in (7, 68, 131, 137, 148, 130, 133, 134, 136, 25, 82, 94, 200):
        for length in (0, 1, 2, 3, 4, 7, 8, 11, 12, 40, 41, 255):
            options.append((bytes([kind, length, 4]) + bytes(37))[:max(3, min(length, 40))])
    options += [b"\x94\x04\x00\x00", b"\x94\x04\x00\x01", b"\x94\x04\x12\x34",
                b"\x83\x07\x04" + hop2 + b"\x00", b"\x83\x07\x04" + hop + b"\x00",
                b"\x89\x07\x04" + hop2, b"\x83\x07\x08" + hop2, b"\x07\x07\x04" + blank + b"\x07\x07\x04" + blank]
    for option in options:
        yield case4(options4(option))
    for _ in range(150):
        yield case4(options4(rng.randbytes(rng.randrange(1, 41))))


@family("IPv4: timestamp options")
def _(_rng):
    addresses = socket.inet_aton("10.0.1.1") + bytes(4) + socket.inet_aton("10.0.9.9") + bytes(4)
    for flags in (0, 1, 2, 3, 0x10, 0xf0, 0xf1, 15):
        for pointer in (0, 4, 5, 9, 13, 21, 25):
            yield case4(options4(bytes([68, 20, pointer, flags]) + addresses), note="clock")
    # RFC 792: a time of another kind than milliseconds since midnight has the highest bit set. It is never now.
    asked = {"ts_ori": 1 << 31, "ts_rx": 1 << 31, "ts_tx": 1 << 31}
    yield case4(raw4(ip4("10.0.0.1") / ICMP(type=13, id=1, seq=1, **asked) / Raw(bytes(12))), note="clock")


@family("IPv4: total length against the frame", grouped=True)
def _(rng):
    for dst in ("10.100.0.9", "10.0.0.1"):
        for size in (20, 60, 600):
            packet = ip4(dst) / udp(rng.randbytes(size))
            for total in [0, 1, 19, 20, 21, 27, 28, 29, 40, 28 + size - 1, 28 + size, 28 + size + 1,
                          1500, 1501, 20000, 65535]:
                yield case4(raw4(packet, b2=total >> 8, b3=total & 255))
    for padding in (1, 2, 18, 100, 1400):
        yield case4(bytes(ip4() / udp()) + rng.randbytes(padding), note="trailer")
        yield case4(bytes(ip4("10.101.0.1") / tcp(rng)) + rng.randbytes(padding), note="trailer")
        yield case4(bytes(ip4("10.0.0.1") / ICMP()) + rng.randbytes(padding), note="trailer")


@family("IPv4: minimum frames with padding", fast=True, grouped=True)
def _(rng):
    for payload in range(0, 18):
        for padding in (bytes(60 - 42 - payload), rng.randbytes(60 - 42 - payload)):
            yield case4(bytes(ip4() / udp(rng.randbytes(payload))) + padding, note="trailer")
    for _ in range(10):
        yield case4(bytes(ip4() / tcp(rng, b"")) + bytes(6), note="trailer")


@family("IPv4: fragments", fast=True, grouped=True)
def _(rng):
    for flags in range(8):
        for offset in (0, 1, 2, 3, 100, 185, 8000, 8190, 8191):
            for payload in (b"", rng.randbytes(8), rng.randbytes(800)):
                packet = ip4(id=77) / udp(payload)
                word = flags << 13 | offset
                yield case4(raw4(packet, b6=word >> 8, b7=word & 255))
    for first in range(0, 64, 8):
        yield case4(ip4(id=78, flags="MF", frag=first // 8) / Raw(rng.randbytes(24)), note="overlap")


@family("IPv4: larger than the egress MTU")
def _(rng):
    for dst, mtu in (("10.100.0.9", 1500), ("10.120.0.9", 1280), ("10.121.0.9", 1300),
                     ("10.101.0.9", JUMBO_MTU), ("10.0.1.3", 1500), ("10.122.0.9", JUMBO_MTU)):
        for total in (mtu - 8, mtu - 1, mtu, mtu + 1, mtu + 8, 2 * mtu, JUMBO_MTU):
            if total > JUMBO_MTU:
                continue
            for flags in (0, "DF", "MF"):
                for protocol in (17, 6, 1):
                    yield case4(ip4(dst, flags=flags, id=rng.randrange(65536), proto=protocol)
                                / Raw(rng.randbytes(total - 20)))
    yield case4(raw4(options4(b"\x94\x04\0\0", rng.randbytes(2000)), b6=0x40))
    yield case4(options4(b"\x94\x04\0\0\x07\x0b\x04" + bytes(8), rng.randbytes(2000)))


ODD4 = ["0.0.0.0", "0.0.0.1", "0.255.255.255", "1.0.0.1", "10.0.0.0", "10.0.0.1", "10.0.0.2",
        "10.0.0.99", "10.0.0.255", "10.0.1.0", "10.0.1.1", "10.0.1.2", "10.0.1.255", "10.0.2.255",
        "10.0.3.1", "10.0.3.255", "10.0.5.1", "10.100.0.9", "10.110.0.9", "10.111.0.9", "10.112.0.9",
        "10.113.0.9", "10.130.0.9", "10.131.0.1", "10.255.255.255", "100.64.0.1", "126.255.255.255",
        "127.0.0.0", "127.0.0.1", "127.255.255.255", "128.0.0.0", "169.253.255.255", "169.254.0.1",
        "169.254.255.255", "169.255.0.0", "172.16.0.1", "192.0.0.1", "192.0.2.1", "192.88.99.1",
        "192.168.0.1", "198.18.0.1", "203.0.113.1", "223.255.255.255", "224.0.0.0", "224.0.0.1",
        "224.0.0.22", "232.1.1.1", "239.255.255.255", "240.0.0.0", "240.0.0.1", "255.0.0.1",
        "255.255.255.254", "255.255.255.255"]


@family("IPv4: source addresses")
def _(rng):
    for src in ODD4:
        for dst in ("10.100.0.9", "10.0.0.1", "10.110.0.1"):
            for l4 in transports(rng)[:2]:
                yield case4(ip4(dst, src) / l4)
        yield case4(ip4("10.111.0.1", src) / udp())
        yield case4(ip4(src=src, ttl=1) / udp())
    for src in ODD4:
        for port in (1, 2):
            yield case4(ip4("10.102.0.9", src) / udp(), port=port)


@family("IPv4: destination addresses")
def _(rng):
    for dst in ODD4:
        for l4 in transports(rng):
            yield case4(ip4(dst) / l4)
        yield case4(ip4(dst, ttl=1) / udp())
        yield case4(ip4(dst, "0.0.0.0") / udp())
    for port in range(1, PORTS):
        for dst in ODD4:
            yield case4(ip4(dst, port=port) / udp(), port=port)


@family("IPv4: all protocols", fast=True, grouped=True)
def _(rng):
    for protocol in range(256):
        yield case4(ip4(proto=protocol) / Raw(rng.randbytes(40)))


@family("IPv4: all protocols to the router itself", grouped=True)
def _(_rng):
    for protocol in range(256):
        yield case4(ip4("10.0.1.1", proto=protocol) / Raw(bytes(40)))


@family("IPv4: UDP and TCP ports", fast=True, grouped=True)
def _(rng):
    for _ in range(150):
        yield case4(ip4() / udp(sport=rng.randrange(65536), dport=rng.randrange(65536)))
        yield case4(ip4("10.101.1.1") / TCP(sport=rng.randrange(65536), dport=rng.randrange(65536),
                                            seq=rng.getrandbits(32), flags=rng.randrange(256)))
    for port in (0, 1, 53, 67, 68, 179, 520, 4791, 65535):
        yield case4(ip4() / UDP(sport=port, dport=port, chksum=0) / Raw(b"x"))
        yield case4(ip4() / UDP(sport=port, dport=port, chksum=0xbad) / Raw(b"x"), note="bad UDP sum")
    for length in (0, 7, 9, 65535):
        yield case4(ip4() / UDP(sport=1, dport=2, len=length) / Raw(b"x" * 30), note="UDP length")


@family("IPv4: all DSCP and ECN values", fast=True, grouped=True)
def _(_rng):
    for tos in range(256):
        yield case4(ip4(tos=tos) / udp())


@family("IPv4: ICMP in transit", fast=True, grouped=True)
def _(rng):
    for kind in range(0, 45):
        for code in (0, 1, 4, 13):
            inner = ip4("10.0.0.2", "10.100.0.9") / udp()
            yield case4(ip4() / ICMP(type=kind, code=code) / inner)
    yield case4(ip4() / ICMP(chksum=1) / Raw(rng.randbytes(8)), note="bad ICMP sum")


@family("IPv4: routes", fast=True)
def _(rng):
    targets = [f"10.{n}.{rng.randrange(256)}.{rng.randrange(1, 255)}"
               for n in list(range(99, 107)) + list(range(109, 117)) + list(range(119, 123))
               + list(range(124, 133)) for _ in range(4)]
    targets += ["10.115.0.9", "10.124.127.255", "10.124.128.0", "10.124.128.63", "10.124.128.64",
                "10.124.128.65", "10.124.128.66", "10.124.128.127", "10.124.128.128", "10.124.199.255",
                "10.124.200.0", "10.124.200.1", "10.124.200.2", "10.124.201.6", "10.124.201.7",
                "10.124.201.8", "10.0.1.3", "10.0.1.99", "10.0.4.4", "10.0.5.4", "10.0.3.4",
                "8.8.8.8", "192.0.2.55", "10.131.0.1", "10.131.0.2"]
    for dst in targets:
        for l4 in transports(rng):
            yield case4(ip4(dst) / l4)
        yield case4(ip4(dst, flags="DF") / udp(bytes(1400)))


@family("IPv4: routes by type of service", grouped=True)
def _(_rng):
    for tos in range(0, 256, 4):
        yield case4(ip4("10.125.0.9", tos=tos) / udp())


@family("IPv4: every port in, every port out", fast=True)
def _(rng):
    for port in range(PORTS):
        for src in (f"10.0.{port}.2", f"10.0.{(port + 1) % PORTS}.2", "10.100.0.77", "10.101.0.77",
                    "10.110.0.1", "10.111.0.1", "10.124.128.65", "8.8.8.8"):
            for dst in ["10.0.%d.3" % p for p in range(PORTS) if p != port or port != 4] \
                    + ["10.100.0.9", "10.101.0.9", "10.103.0.9", "10.104.0.9"]:
                if port == 1 and dst == "10.100.0.9" or port == 4 and dst == "10.0.4.3":
                    continue
                yield case4(ip4(dst, src) / udp(), port=port)
                if len(src) < 9:
                    yield case4(ip4(dst, src) / tcp(rng), port=port)
        yield case4(ip4("10.111.0.1", port=port) / udp(), port=port)


@family("IPv4: out where it came in", grouped=True)
def _(_rng):
    for n in range(40):
        yield case4(ip4(f"10.102.0.{n + 1}", port=4) / udp(), port=4, note="redirect")
        yield case4(ip4("10.0.4.3", port=4) / udp(), port=4, note="redirect")
        yield case4(ip4(f"10.105.0.{n + 1}") / udp())
        yield case4(ip4("10.0.0.3", f"10.0.0.{n + 60}") / udp())
        yield case4(ip4("10.100.0.9", port=1) / udp(), port=1)


@family("IPv4: multipath", fast=True)
def _(rng):
    for n in range(120):
        yield case4(ip4(f"10.123.{n}.{n}", f"10.0.0.{n + 2}")
                    / udp(sport=rng.randrange(65536), dport=rng.randrange(65536)), note="multipath4")


# --- IPv6 ---

@family("IPv6: frame sizes to 1,514", fast=True, grouped=True)
def _(rng):
    for length in list(range(62, 132)) + list(range(132, 1515, 13)) + list(range(1490, 1515)):
        yield case6(ip6() / udp(rng.randbytes(length - 62)))


@family("IPv6: jumbo frames", fast=True, grouped=True)
def _(rng):
    for length in list(range(1500, JUMBO_MTU, 97)) + [JUMBO_MTU - 1, JUMBO_MTU]:
        yield case6(ip6("fd00:101::9") / udp(rng.randbytes(length - 48)))


def transports6(rng):
    return [udp(rng.randbytes(20)), tcp(rng), tcp(rng, b"", "S", options=[("MSS", 1440)]),
            ICMPv6EchoRequest(id=7, seq=9, data=b"ping")]


@family("IPv6: hop limit", grouped=True)
def _(rng):
    for dst in ("fd00:100::9", "fd00:101::9", "fd00::1", "fd00:1::3", "fd00:110::1", "fd00:111::1"):
        for hop_limit in (0, 1, 2, 3, 64, 255):
            for l4 in transports6(rng):
                yield case6(ip6(dst, hlim=hop_limit) / l4)


@family("IPv6: version, traffic class, flow label", fast=True, grouped=True)
def _(rng):
    for version in range(16):
        packet = bytearray(bytes(ip6() / udp()))
        packet[0] = version << 4
        yield case6(bytes(packet))
    for traffic_class in range(256):
        yield case6(ip6(tc=traffic_class, fl=rng.getrandbits(20)) / udp())
    for label in (0, 1, 0xfffff, 0x80000):
        yield case6(ip6(fl=label) / tcp(rng))


@family("IPv6: payload length against the frame", grouped=True)
def _(rng):
    for dst in ("fd00:100::9", "fd00::1"):
        for size in (0, 20, 600):
            packet = bytes(ip6(dst) / udp(rng.randbytes(size)))
            for length in (0, 1, 7, 8, 9, 8 + size - 1, 8 + size, 8 + size + 1, 1400, 20000, 65535):
                yield case6(packet[:4] + struct.pack("!H", length) + packet[6:])
    for padding in (1, 2, 18, 100, 1400):
        yield case6(bytes(ip6() / udp()) + rng.randbytes(padding), note="trailer")
        yield case6(bytes(ip6("fd00::1") / ICMPv6EchoRequest()) + rng.randbytes(padding), note="trailer")


@family("IPv6: hop-by-hop options", grouped=True)
def _(rng):
    options = [[], [PadN(optdata=b"\0\0\0")], [RouterAlert(value=0)], [RouterAlert(value=7)],
               [Jumbo(jumboplen=70000)], [Jumbo(jumboplen=8)]]
    options += [[HBHOptUnknown(otype=kind, optdata=b"abcd")]
                for kind in (0x1e, 0x3e, 0x5e, 0x7e, 0x9e, 0xbe, 0xde, 0xfe, 0xc2, 0x05)]
    for dst in ("fd00:100::9", "fd00::1", "ff02::1"):
        for option in options:
            for l4 in transports6(rng)[:2]:
                yield case6(ip6(dst) / IPv6ExtHdrHopByHop(options=option) / l4)
        yield case6(ip6(dst) / IPv6ExtHdrHopByHop(len=50, options=[]) / udp(), note="beyond")
        yield case6(ip6(dst, plen=0) / IPv6ExtHdrHopByHop(options=[Jumbo(jumboplen=20)]) / udp())
        yield case6(ip6(dst, plen=0) / IPv6ExtHdrHopByHop(options=[Jumbo(jumboplen=70000)]) / udp())
    yield case6(ip6() / IPv6ExtHdrDestOpt() / IPv6ExtHdrHopByHop() / udp(), note="not first")
    for _ in range(60):
        body = rng.randbytes(14)
        yield case6(ip6(nh=0) / Raw(b"\x11\x01" + body + bytes(udp())))


@family("IPv6: extension headers", fast=True, grouped=True)
def _(rng):
    for dst in ("fd00:100::9", "fd00::1"):
        for kind in (0, 1, 2, 3, 4, 5, 253, 255):
            for left in (0, 1, 2):
                yield case6(ip6(dst) / IPv6ExtHdrRouting(type=kind, segleft=left,
                                                         addresses=["fd00:101::7"]) / udp())
        yield case6(ip6(dst) / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0")]) / udp())
        yield case6(ip6(dst) / IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0xc5, optdata=b"a")]) / udp())
        for offset in (0, 1, 8191):
            for more in (0, 1):
                yield case6(ip6(dst) / IPv6ExtHdrFragment(offset=offset, m=more, id=9, nh=17)
                            / Raw(bytes(udp(rng.randbytes(40)))[:48]))
        yield case6(ip6(dst) / IPv6ExtHdrDestOpt() / IPv6ExtHdrRouting(segleft=0)
                    / IPv6ExtHdrFragment(nh=17, id=1) / udp())
        for header in (50, 51, 59, 60, 43, 44, 135, 139, 140, 253):
            yield case6(ip6(dst, nh=header) / Raw(rng.randbytes(48)))
            yield case6(ip6(dst, nh=header) / Raw(b""))


@family("IPv6: all next headers", fast=True, grouped=True)
def _(rng):
    for header in range(256):
        yield case6(ip6(nh=header) / Raw(rng.randbytes(40)))
        if header not in (43, 44):
            yield case6(ip6("fd00:1::1", nh=header) / Raw(bytes(40)))


ODD6 = ["::", "::1", "::2", "::ffff:10.0.1.3", "::ffff:127.0.0.1", "::10.0.1.3", "64:ff9b::10.0.0.1",
        "100::1", "2001::1", "2001:db8::1", "2002:a00:1::1", "2002:7f00:1::1", "3fff::1", "5f00::1", "fc00::1", "fd00::",
        "fd00::1", "fd00::2", "fd00::99", "fd00:1::", "fd00:1::1", "fd00:1::2", "fd00:3::1",
        "fd00:5::1", "fd00:100::9", "fd00:110::1", "fd00:111::1", "fd00:112::1", "fd00:113::1",
        "fd00:130::1", "fe00::1", "fe80::", "fe80::1", "fe80::2", "fe80::99", "febf::1", "fec0::1",
        "ff00::1", "ff01::1", "ff02::1", "ff02::2", "ff02::1:ff00:1", "ff05::1", "ff08::1", "ff0e::1",
        "ff0f::1", "ff12::1", "ff1e::1", "ff3e::1",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]


@family("IPv6: source addresses")
def _(rng):
    for src in ODD6:
        for dst in ("fd00:100::9", "fd00::1", "fd00:110::1", "fd00:111::1"):
            for l4 in transports6(rng)[:2]:
                yield case6(ip6(dst, src) / l4)
        yield case6(ip6(src=src, hlim=1) / udp())
        yield case6(ip6("fd00:102::9", src) / udp(), port=1)


@family("IPv6: destination addresses")
def _(rng):
    for dst in ODD6:
        # An IPv6 hairpin causes redirects, whose rate is limited: they have a family of their own.
        if dst in ("fd00::2", "fd00::99", "fe80::2", "fe80::99"):
            continue
        for l4 in transports6(rng):
            yield case6(ip6(dst) / l4)
        yield case6(ip6(dst, hlim=1) / udp())
        yield case6(ip6(dst, "fe80::2") / udp())
        yield case6(ip6(dst, "::") / udp())
        yield case6(ip6(dst, port=1) / udp(), port=1)


@family("IPv6: larger than the egress MTU")
def _(rng):
    for dst, mtu in (("fd00:100::9", 1500), ("fd00:120::9", 1300), ("fd00:101::9", JUMBO_MTU),
                     ("fd00:1::3", 1500)):
        for total in (mtu - 8, mtu - 1, mtu, mtu + 1, mtu + 8, 2 * mtu, JUMBO_MTU):
            if total <= JUMBO_MTU:
                for header in (17, 6, 58, 44):
                    yield case6(ip6(dst, nh=header) / Raw(bytes([17]) + rng.randbytes(total - 41)))


@family("IPv6: ICMPv6 in transit", fast=True, grouped=True)
def _(rng):
    for kind in [1, 2, 3, 4, 100, 127] + list(range(128, 162)) + [200, 255]:
        for hop_limit in (64, 255):
            yield case6(ip6(hlim=hop_limit, nh=58) / Raw(bytes([kind, 0, 0, 0]) + rng.randbytes(44)))
    inner = ip6("fd00::2", "fd00:100::9") / udp()
    yield case6(ip6() / ICMPv6PacketTooBig(mtu=1280) / inner)
    yield case6(ip6() / ICMPv6TimeExceeded() / inner)


@family("IPv6: routes", fast=True, grouped=True)
def _(rng):
    targets = [f"fd00:{n}:{rng.getrandbits(16):x}::{rng.getrandbits(16):x}"
               for n in list(range(99, 100)) + list(range(100, 106)) + list(range(109, 116))
               + [120, 121, 122, 124, 125, 130] for _ in range(4)]
    targets += ["fd00:115::9", "fd00:124:7fff::", "fd00:124:8000::", "fd00:124:8000:7fff::",
                "fd00:124:8000:8000::", "fd00:124:8000::64", "fd00:124:8000::65",
                "fd00:124:8000::66", "fd00:124:8000::67", "fd00:124:ffff::1", "fd00:1::3", "fd00:1::99",
                "fd00:4::4", "fd00:5::4", "fd00:3::4", "2001:db8::1", "fd00:122::1"]
    for dst in targets:
        for l4 in transports6(rng):
            yield case6(ip6(dst) / l4)


@family("IPv6: every port in, every port out", fast=True, grouped=True)
def _(_rng):
    for port in range(PORTS):
        for src in (f"fd00:{port}::2", f"fd00:{(port + 1) % PORTS}::2", "fd00:100::77", "2001:db8::1"):
            for dst in [f"fd00:{p}::3" for p in range(PORTS) if p != port] \
                    + ["fd00:101::9", "fd00:103::9", "fd00:104::9", "fd00:111::1"]:
                if not (port == 2 and dst == "fd00:101::9" or port == 5 and dst == "fd00:103::9"
                        or port == 3 and dst == "fd00:104::9"):
                    yield case6(ip6(dst, src) / udp(), port=port)


@family("IPv6: out where it came in", grouped=True)
def _(_rng):
    # Redirects go to neighbours only; the kernel limits them by source and by destination, to six
    # at once.
    for port in (0, 1, 4):
        for n in range(12):
            yield case6(ip6(f"fd00:{SOURCES[port]}:1::{n}", f"fd00:{port}::{2 + n % 3}") / udp(), port=port)
        yield case6(ip6(f"fd00:{port}::4", port=port) / udp(), port=port)


@family("IPv6: multipath", fast=True)
def _(rng):
    for n in range(120):
        yield case6(ip6(f"fd00:123:{n}::{n}", f"fd00::{n + 2}", fl=rng.getrandbits(20))
                    / udp(sport=rng.randrange(65536), dport=rng.randrange(65536)), note="multipath6")


# --- Bursts ---

@family("bursts of interleaved flows", fast=True)
def _(rng):
    flows = [(case4, ip4(f"10.{n}.0.9"), 0) for n in (100, 101, 102, 124)] \
        + [(case6, ip6(f"fd00:{n}::9"), 0) for n in (100, 101, 102, 122)]
    for _ in range(12):
        burst = []
        for n in range(BURST_FRAMES):
            make, packet, port = rng.choice(flows)
            burst.append(make(packet / udp(struct.pack("!I", n) + rng.randbytes(rng.randrange(1400))), port).frame)
        yield Case(0, burst[0], "burst", tuple(burst[1:]))


# --- Random damage ---

def mutate(rng, frame):
    """Change one to four bytes, mostly of the headers; half of the time, make an IPv4 checksum
    right again."""
    data = bytearray(frame)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(data) if rng.random() < 0.2 else min(len(data), 60))
        data[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256), data[at] ^ 1 << rng.randrange(8)])
    if rng.random() < 0.2:
        data = data[:rng.randrange(14, len(data) + 1)]
    if data[12:14] == b"\x08\x00" and len(data) >= 34 and rng.random() < 0.5:
        header_bytes = min(max((data[14] & 15) * 4, 20), len(data) - 14)
        data[14:14 + header_bytes] = sealed(bytes(data[14:14 + header_bytes]))
    return bytes(data)


@family("IPv4: mutated", fast=True)
def _(rng):
    senders = set()
    for _ in range(FUZZED_PACKETS):
        packet = ip4(rng.choice(["10.100.0.9", "10.101.0.9", "10.124.128.65", "10.0.0.1", "10.111.0.1"]),
                     ttl=rng.choice([1, 2, 64])) / rng.choice(transports(rng))
        frame = mutate(rng, frame_in(0, 0x0800, packet))
        # Damage may give two packets one sender, and the kernel limits its answers to one (see
        # source4).
        if frame[26:30] not in senders or len(frame) < 30:
            senders.add(frame[26:30])
            yield Case(0, frame, "mutated")


@family("IPv6: mutated", fast=True, grouped=True)
def _(rng):
    for _ in range(FUZZED_PACKETS):
        packet = ip6(rng.choice(["fd00:100::9", "fd00:101::9", "fd00:124:8000::65", "fd00::1", "fd00:111::1"]),
                     hlim=rng.choice([1, 2, 64]))
        if rng.random() < 0.3:
            packet /= rng.choice([IPv6ExtHdrDestOpt(), IPv6ExtHdrHopByHop(),
                                  IPv6ExtHdrRouting(addresses=["fd00::9"]), IPv6ExtHdrFragment()])
        yield Case(0, mutate(rng, frame_in(0, 0x86dd, packet / rng.choice(transports6(rng)))), "mutated")
