# SPDX-License-Identifier: BSD-2-Clause
"""
Where sluice may answer otherwise than the kernel, and why that is right. A difference that is not
described here fails the test; one described here that no longer occurs fails it too.

Each entry holds a predicate over (case, what the kernel sent, what sluice sent); the latter two are
lists of (port, frame).
"""
from dataclasses import dataclass
from typing import Callable

from compare import ip_packet


@dataclass(frozen=True)
class Difference:
    name: str
    reason: str
    holds: Callable
    occurs: bool = True  # False: allowed in this setting but need not be seen in each run


def only_the_trailer_differs(case, kernel, sluice):
    if len(kernel) != len(sluice):
        return False
    return all(k_port == s_port and s_frame[:len(k_frame)] == k_frame
               and ip_packet(s_frame) == ip_packet(k_frame) and case.frame.endswith(s_frame[len(k_frame):])
               for (k_port, k_frame), (s_port, s_frame) in zip(sorted(kernel), sorted(sluice)))


def another_member(members):
    """Same packet, other port and Ethernet addresses, both among the members of the route."""
    def holds(case, kernel, sluice):
        return (case.note.startswith("multipath") and len(kernel) == len(sluice) == 1
                and kernel[0][1][12:] == sluice[0][1][12:]
                and all((port, frame[:6].hex()) in members for port, frame in kernel + sluice))
    return holds


DIFFERENCES = [
    Difference(
        "trailer kept",
        "Bytes of the frame behind the IP packet, such as the padding of short Ethernet frames, are no part of the "
        "datagram. The kernel cuts them off as it strips the Ethernet header; the fast path sends the frame as it came.",
        only_the_trailer_differs),
    Difference(
        "multipath member",
        "RFC 2991: which of several equal next hops a flow takes is the router's own choice. The kernel's hash has a "
        "secret seed and so has ours; only that the packet takes one of the members is comparable.",
        another_member({(1, "020000000102"), (2, "020000000203")})),
]
