#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Judge what `sluice trace -s -j` says of a TCP flow by captures of both hosts, of one clock.

    follow_flow.py TRACE SENT RECEIVED

TRACE has one JSON object a line; SENT and RECEIVED are captures of the sender's and of the receiver's
link. Every frame that the receiver got must be in the trace once, in the same order, with the same
bytes; its stages must add up to the whole; and, but for the error that the trace itself states, it
cannot have been in the cluster, up to the driver, for longer than from the sender's link to the receiver's. Prints what
is wrong, and fails if anything is.
"""
import collections
import json
import sys

from scapy.all import IP, TCP, Ether, PcapNgReader, PcapReader

STAGES = ("voq_ns", "message_ns", "queue_ns", "transmit_ns")


def name_of(frame):
    """What tells a frame from the others of the flow, segments sent again included."""
    return frame[TCP].dport, frame[IP].id, frame[TCP].seq, frame[TCP].ack, frame[IP].len


def seen(path, port):
    """Frames of the flow from this port: [(name, time in ns, bytes)]."""
    with (PcapNgReader if path.endswith("ng") else PcapReader)(path) as frames:
        return [(name_of(frame), int(frame.time * 10**9), bytes(frame))
                for frame in frames if TCP in frame and frame[TCP].sport == port]


def main(trace, sent, received):
    with open(trace, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    frames = [Ether(bytes.fromhex(row["bytes"])) for row in rows]
    faults = []
    if not rows:
        return ["nothing was traced"]
    port = frames[0][TCP].sport
    # A refused connection is answered by a reset without a number: frames that look alike in order.
    entered = collections.defaultdict(collections.deque)
    for name, time_ns, _ in seen(sent, port):
        entered[name].append(time_ns)
    left = seen(received, port)
    if [name_of(frame) for frame in frames] != [name for name, _, _ in left]:
        faults.append(f"{len(rows)} frames were traced, {len(left)} came, or in another order")
    for row, (name, time_ns, whole) in zip(rows, left):
        if not whole.hex().startswith(row["bytes"]) or len(whole) != row["frame_bytes"]:
            faults.append(f"{name}: not the bytes that came")
        if sum(row[stage] for stage in STAGES) != row["total_ns"]:
            faults.append(f"{name}: the stages are not the whole")
        between_ns = time_ns - entered[name].popleft()
        # The driver may have sent it before it says so.
        least_ns = row["total_ns"] - row["transmit_ns"]
        if least_ns > between_ns + row["message_error_ns"]:
            faults.append(f"{name}: {least_ns} ns in the cluster at least, {between_ns} between links")
        if row["from"] != "n1p1" or row["port"] != "n2p1":
            faults.append(f"{name}: from {row['from']} to {row['port']}")
    return faults


wrong = main(*sys.argv[1:])
print("\n".join(wrong))
sys.exit(bool(wrong))
