# SPDX-License-Identifier: BSD-2-Clause
"""
Where sluice answers otherwise than the kernel, and why it may. A difference that is not described here fails the
test; one described here that does not occur in a run fails it too, so the list cannot rot.

A predicate gets the case, what left the kernel's router and what left sluice's: lists of (port, frame).
"""
import struct
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Callable

from compare import ip_packet
from world import PORTS


@dataclass(frozen=True)
class Difference:
    name: str
    reason: str
    holds: Callable
    of: tuple = ("bare", "managed")  # traits of contenders, any of which may differ so


# --- What predicates ask ---------------------------------------------------------------------------

def addresses(case):
    """(source, destination) of the packet, or (None, None). Behind a priority tag too: VLAN 0 is no VLAN."""
    frame = case.frame
    while frame[12:14] in (b"\x81\x00", b"\x88\xa8"):
        frame = frame[:12] + frame[16:]
    if frame[12:14] == b"\x08\x00" and len(frame) >= 34:
        return ip_address(frame[26:30]), ip_address(frame[30:34])
    if frame[12:14] == b"\x86\xdd" and len(frame) >= 54:
        return ip_address(frame[22:38]), ip_address(frame[38:54])
    return None, None


def inside(address, *prefixes):
    return address is not None and any(
        address in network for network in map(ip_network, prefixes) if network.version == address.version)


def forwarded(case, frames):
    """Is `frames` just the packet of the case, one hop on?"""
    if len(frames) != 1:
        return False
    out, sent = ip_packet(frames[0][1]), ip_packet(case.frame)
    if out[12:14] == b"\x08\x00":
        return out[12:22] == sent[12:22] and out[22] == sent[22] - 1 and out[23:24] + out[26:] == sent[23:24] + sent[26:]
    return out[12:21] == sent[12:21] and out[21] == sent[21] - 1 and out[22:] == sent[22:]


def ip_bytes(case):
    return len(ip_packet(case.frame)) - 14


# --- The differences -------------------------------------------------------------------------------

def special_source4(case, _kernel, sluice):
    return not sluice and inside(addresses(case)[0], "0.0.0.0/8", "240.0.0.0/4")


def special_destination4(case, _kernel, sluice):
    return not sluice and inside(addresses(case)[1], "0.0.0.0/8", "240.0.0.0/4")


def mapped_source6(case, _kernel, sluice):
    return not sluice and inside(addresses(case)[0], "::ffff:0:0/96")


def unspecified6(case, _kernel, sluice):
    return not sluice and any(inside(a, "::/128") for a in addresses(case))


OWN_OR_BROADCAST = [f"10.0.{i}.{host}/32" for i in range(PORTS) for host in (1, 255)] \
    + ["10.130.0.0/16", "10.131.0.1/32"]


def source_is_the_router(case, kernel, sluice):
    return not kernel and forwarded(case, sluice) and inside(addresses(case)[0], *OWN_OR_BROADCAST)


def route_mtu(case, _kernel, sluice):
    return (forwarded(case, sluice) and ip_bytes(case) > 1280
            and inside(addresses(case)[1], "10.120.0.0/16", "fd00:120::/32"))


def reverse_path(case, kernel, sluice):
    return not kernel and forwarded(case, sluice) and case.port in (1, 2) and addresses(case)[0].version == 4


MEMBERS = {(1, "020000000102"), (2, "020000000203")}  # of the multipath routes: port, MAC address


def multipath_member(case, kernel, sluice):
    return (len(kernel) == len(sluice) == 1 and kernel[0][1][12:] == sluice[0][1][12:]
            and inside(addresses(case)[1], "10.123.0.0/16", "fd00:123::/32")
            and all((port, frame[:6].hex()) in MEMBERS for port, frame in kernel + sluice))


DIFFERENCES = [
    Difference(
        "IPv4 source in 0/8 or 240/4 is dropped",
        "RFC 1812 5.3.7: a router should not forward a source address that is invalid or on network 0; RFC 6890 lists both "
        "blocks as not forwardable. Linux forwards them since it treats class E as unicast.",
        special_source4),
    Difference(
        "IPv4 destination in 0/8 or 240/4 is dropped without an answer",
        "RFC 1812 5.3.7 as above, for destinations. Linux looks for a route: it forwards by the default route, or tells "
        "the sender that there is none.",
        special_destination4),
    Difference(
        "IPv6 source that is IPv4-mapped is dropped",
        "RFC 6890: ::ffff:0:0/96 is valid neither as a source nor as a destination on a wire, and not forwardable. Linux forwards "
        "it (its own sockets refuse it).",
        mapped_source6),
    Difference(
        "the unspecified IPv6 address is dropped without an answer",
        "RFC 4291 2.5.2: never a destination, and a packet with it as its source is never forwarded. Linux says "
        "`no route`, and forwards such a source when the packet turns around where it came in.",
        unspecified6),
    Difference(
        "a source that is the router's own address, or a broadcast address of its networks, is forwarded",
        "The fast path looks up the destination only. Linux looks for the source among its own addresses, and among all "
        "routes once there are local ones beside those of addresses. RFC 1812 5.3.7 and 5.3.8 (a should, for forged "
        "sources, by a switch): the switch is rp_filter, which sluice obeys.",
        source_is_the_router),
    Difference(
        "multipath: another member",
        "RFC 2991: which of several equal next hops a flow takes is each router's own choice. The hash of both is seeded; "
        "comparable is that the packet leaves unchanged by one of the members.",
        multipath_member, ("tables",)),
    Difference(
        "a route's mtu is not known to the engine `kernel`",
        "bpf_fib_lookup compares with the MTU of the egress device, and with a route's only if it is locked. The other "
        "engines have the routes' own.",
        route_mtu, ("bpf_fib_lookup",)),
    Difference(
        "rp_filter is not known without a daemon",
        "bpf_fib_lookup does not validate sources. The daemon follows the setting of each port.",
        reverse_path, ("bare",)),
]
