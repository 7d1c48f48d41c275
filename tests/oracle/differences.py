# SPDX-License-Identifier: BSD-2-Clause
"""
The reasoned differences: where sluice may answer differently from the kernel, and why. A difference
that is not described here fails the test; so does one described here that does not occur in a run,
so the list cannot rot.

A predicate gets the case, and what left the kernel's router and sluice's: lists of (port, frame).
"""
import struct
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Callable

from compare import ip_packet
from world import FORWARDING, OWNER, PORTS


@dataclass(frozen=True)
class Difference:
    name: str
    reason: str
    holds: Callable
    of: tuple = ("bare", "managed")  # traits of contenders, any of which may differ so


# --- Helpers of the predicates ---

def addresses(case):
    """(source, destination) of the packet, or (None, None). Looks behind a priority tag, too: VLAN
    0 is no VLAN."""
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


# --- The differences ---

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


# --- In a cluster only: packets for another node, or that come back over one ---

def own_addresses(case, mine):
    """The routers' own addresses (and IPv6 router anycast) on the ports of the ingress node, or on
    all others."""
    ports = [p for p in range(PORTS) if (OWNER[p] == OWNER[case.port]) == mine]
    return [f"10.0.{p}.1/32" for p in ports] + [f"fd00:{p}::{host}/128" for p in ports for host in ("", "1")]


def blank(frame, *ranges):
    data = bytearray(frame)
    for start, end in ranges:
        data[start:end] = bytes(len(data[start:end]))
    return bytes(data)


QUOTE = 14 + 20 + 8  # where an ICMP error quotes the packet, in a frame


def older_quote(frame):
    """An ICMP error with the aging fields (TTL, checksum) of the quoted packet blanked."""
    if frame[12:14] == b"\x08\x00" and frame[23] == 1 and frame[34] in (3, 4, 11, 12):
        return blank(frame, (36, 38), (QUOTE + 8, QUOTE + 9), (QUOTE + 10, QUOTE + 12))
    return frame


def time_exceeded_here(case, frames):
    return (len(frames) == 1 and frames[0][1][23] == 1 and frames[0][1][34] == 11
            and inside(ip_address(frames[0][1][26:30]), *own_addresses(case, True)))


def for_another_node(case, kernel, cluster):
    dst = addresses(case)[1]
    if dst is None or dst.version != 4 or not inside(dst, *own_addresses(case, False)):
        return False
    return ([(p, older_quote(f)) for p, f in kernel] == [(p, older_quote(f)) for p, f in cluster]
            or case.frame[22] == 1 and time_exceeded_here(case, cluster)
            or not FORWARDING[case.port] and not cluster)


def for_another_node6(case, _kernel, cluster):
    dst = addresses(case)[1]
    return (dst is not None and dst.version == 6 and inside(dst, *own_addresses(case, False))
            and all(port == case.port for port, _ in cluster))


def arp_for_another_node(case, kernel, cluster):
    return (case.frame[12:14] == b"\x08\x06" and len(kernel) == 1 and not cluster
            and inside(ip_address(case.frame[38:42]), *own_addresses(case, False)))


def error_from_the_ingress_node(case, kernel, cluster):
    """The same ICMP error, out of another node's port, but its source is an address of the ingress
    node."""
    if len(kernel) != 1 or len(cluster) != 1 or kernel[0][0] != cluster[0][0] or OWNER[kernel[0][0]] == OWNER[case.port]:
        return False
    (_, theirs), (_, ours) = kernel[0], cluster[0]
    if ours[12:14] == b"\x08\x00":
        return (ours[23] == 1 and inside(ip_address(ours[26:30]), *own_addresses(case, True))
                and blank(theirs, (24, 30)) == blank(ours, (24, 30)))
    return (ours[12:14] == b"\x86\xdd" and ours[20] == 58 and inside(ip_address(ours[22:38]), *own_addresses(case, True))
            and blank(theirs, (22, 38), (56, 58)) == blank(ours, (22, 38), (56, 58)))


def recorded_otherwise(case, theirs, ours):
    end = 14 + (ours[14] & 15) * 4
    at = next((i for i in range(34, end) if theirs[i] != ours[i]), None)
    if ours[12:14] != b"\x08\x00" or at is None:
        return False
    named = theirs[34] == 68 and any(inside(ip_address(theirs[i:i + 4]), *own_addresses(case, False)) for i in range(38, end, 4))
    if named and blank(theirs, (24, 26), (36, 37)) == blank(ours, (24, 26), (36, 37)):
        return True  # a timestamp requested from an address of another node
    recorded = [i for i in range(max(34, at - 3), at + 1)
                if inside(ip_address(ours[i:i + 4]), *own_addresses(case, True))
                and inside(ip_address(theirs[i:i + 4]), *own_addresses(case, False))]
    return any(blank(theirs, (24, 26), (i, i + 4)) == blank(ours, (24, 26), (i, i + 4)) for i in recorded)


def recorded_address(case, kernel, cluster):
    """The same packet or its fragments, but the IPv4 options record the router by an address of the
    ingress node."""
    return (len(kernel) == len(cluster) > 0 and
            all(k[0] == c[0] and OWNER[k[0]] != OWNER[case.port] and (k[1] == c[1] or recorded_otherwise(case, k[1], c[1]))
                for k, c in zip(kernel, cluster)))


def remote_broadcast(case, _kernel, cluster):
    """From or to a broadcast address of another node's network: at most an error to the sender
    comes of it."""
    networks = [f"10.0.{p}.255/32" for p in range(PORTS) if OWNER[p] != OWNER[case.port]]
    return (any(inside(a, *networks) for a in addresses(case))
            and (not cluster or case.frame[22] == 1 and time_exceeded_here(case, cluster)))


def more_than_two_tags(case, _kernel, cluster):
    return not cluster and all(case.frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8") for at in (12, 16, 20))


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
        "Linux drops, even with rp_filter off, a source that is one of its addresses (unless accept_local is on) and, once "
        "there are policy rules or local routes beside those of addresses, one to which it has no unicast route "
        "(fib_validate_source). The fast path would have to look up the source of each packet to know. RFC 1812 5.3.8 asks "
        "for that as a switch, which is rp_filter: with it, sluice gives such packets to the kernel.",
        source_is_the_router),
    Difference(
        "multipath: another member",
        "RFC 2991: each router chooses by itself which of several equal next hops a flow takes. Both hashes are seeded, so "
        "we compare only that the packet leaves unchanged by one of the members.",
        multipath_member, ("tables",)),
    Difference(
        "the engine `kernel` does not know a route's mtu",
        "bpf_fib_lookup compares with the MTU of the egress device, and with a route's MTU only if that is locked. The "
        "other engines know the MTU of every route.",
        route_mtu, ("bpf_fib_lookup",)),
    Difference(
        "sluice without a daemon does not know rp_filter",
        "bpf_fib_lookup does not validate sources. The daemon follows the setting of each port.",
        reverse_path, ("bare",)),
    Difference(
        "an address of another node is one hop away",
        "The kernel of the node that has the address answers. The ingress node's kernel routes the packet to it over the fabric, so "
        "errors quote the packet one hop older; with a TTL of 1, or from a port that does not forward, it does not get there. Transit "
        "stays one hop.",
        for_another_node, ("cluster",)),
    Difference(
        "an IPv6 address of another node is not reached over an IPv4 fabric",
        "Linux cannot route IPv6 by an IPv4 next hop. An IPv6 fabric reaches both families.",
        for_another_node6, ("cluster",)),
    Difference(
        "ARP for an address of another node is not answered",
        "Linux answers on every port for every address that it has (arp_ignore 0). Here the address is another node's.",
        arp_for_another_node, ("cluster",)),
    Difference(
        "an ICMP error to a sender behind another node's port is from the ingress node's first address",
        "Linux takes an address of the port by which the error leaves or the packet entered. Here the error leaves by a remote port, "
        "which has no address; its routes name an address of the ingress node as the source. So the error names the node that made it.",
        error_from_the_ingress_node, ("cluster",)),
    Difference(
        "IPv4 options record an address of the ingress node",
        "RFC 791: options record the address of the port by which the packet leaves, but a remote port has none. And if an option "
        "requests a timestamp from a certain address, the node with that address gives none, because it does not route the packet.",
        recorded_address, ("cluster",)),
    Difference(
        "a broadcast address of another node's network counts as an absent host",
        "RFC 1812 5.3.5: by default a router does not forward to it. Nor does the ingress node, since no such neighbour is ever resolved. "
        "But the ingress node does not know that it is a broadcast address: it answers an expired TTL, and it sends no ICMP error to it "
        "where Linux broadcasts one.",
        remote_broadcast, ("cluster",)),
    Difference(
        "a frame with more than two VLAN tags is dropped",
        "Linux takes off any number of tags with VLAN id 0. The fabric's protocol could hide behind them from the fast path, which "
        "looks behind two.",
        more_than_two_tags, ("cluster",)),
]
