# SPDX-License-Identifier: BSD-2-Clause
"""
A router whose delay is known to the last nanosecond, and the captures that taps on its links take.

Inputs are bursty: bursts of back-to-back packets at the input's rate, idle times between them. Each packet needs
15 us + 10 ns per byte in the router, and then waits for a single output, first come first served: the two-stage model
with the truth at hand. Times are integers in ns.
"""
import random
import struct

OC48 = 2_488_320_000
OC3 = 155_520_000
SIZES = ((40, 0.5), (552, 0.25), (1500, 0.25))


def excess_ns(size):
    """What the router needs for a packet that meets no queue: 15.40, 20.52 and 30.00 us for the sizes above."""
    return 15_000 + 10 * size


def sending_ns(size, rate):
    return 8e9 * size / rate


def packet(number, size, source, ttl=64):
    """An IPv4 packet with UDP of this IP length, told from others by the number in its data. Its first 44 bytes."""
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size, number & 0xffff, 0, ttl, 17, 0, source, b"\xc0\x00\x02\x01")
    return (header + struct.pack(">HHHHQQ", 1000, 2000, size - 20, 0, number, 0))[:min(size, 44)]


class Packet:
    __slots__ = ("input", "size", "number", "in_ns", "out_ns", "dropped")

    def __init__(self, input_, size, number, in_ns):
        self.input, self.size, self.number, self.in_ns = input_, size, number, in_ns
        self.out_ns, self.dropped = None, False


def arrivals(rng, input_, first_number, packets, rate, load, share_of, burst):
    """Packets of one input: bursts of `burst` on average; so much idle time that it offers `load` of rate `share_of`."""
    sizes, weights = zip(*SIZES)
    mean_size = sum(s * w for s, w in SIZES)
    cycle_ns = burst * 8e9 * mean_size / (load * share_of)
    idle_ns = cycle_ns - burst * 8e9 * mean_size / rate
    out, now = [], 0.0
    while len(out) < packets:
        now += rng.expovariate(1 / idle_ns)
        while len(out) < packets:
            size = rng.choices(sizes, weights)[0]
            now += sending_ns(size, rate)
            out.append(Packet(input_, size, first_number + len(out), round(now)))
            if rng.random() < 1 / burst:
                break
    return out


def route(inputs, rate):
    """Send the packets of all inputs through the router: sets out_ns. Returns them in order of departure."""
    at_queue = []
    for list_ in inputs:
        before = 0
        for p in list_:
            before = max(before, p.in_ns + excess_ns(p.size))
            at_queue.append((before, p.in_ns, p.input, p))
    free = 0.0
    out = []
    for arrival, _, _, p in sorted(at_queue, key=lambda row: row[:3]):
        free = max(free, arrival) + sending_ns(p.size, rate)
        p.out_ns = round(free)
        out.append(p)
    return out


class Writer:
    """A pcap file of raw IP with times in ns."""

    def __init__(self, path, link_type=101, nanoseconds=True, snap=65535):
        self.unit = 1 if nanoseconds else 1000
        self.file = open(path, "wb")  # pylint: disable=consider-using-with
        self.file.write(struct.pack("<IHHiIII", 0xa1b23c4d if nanoseconds else 0xa1b2c3d4, 2, 4, 0, 0, snap, link_type))

    def add(self, time_ns, data, length=None):
        seconds, ns = divmod(time_ns, 1_000_000_000)
        self.file.write(struct.pack("<IIII", seconds, ns // self.unit, len(data), length or len(data)) + data)

    def close(self):
        self.file.close()


EPOCH_NS = 1_700_000_000 * 1_000_000_000


def bursty_trace(seed, packets, load=0.53, burst=16):
    """Two OC-48 inputs into an OC-3 output. Returns (packets of each input, packets in order of departure)."""
    rng = random.Random(seed)
    inputs = [arrivals(rng, i, i << 40, packets // 2, OC48, load / 2, OC3, burst) for i in (0, 1)]
    return inputs, route(inputs, OC3)


def write_trace(directory, inputs, departures, depths=(4, 4), out_depth=20):
    """Captures as the paper's cards take them: a stamp when `depth` bytes of the packet had passed."""
    paths = []
    for i, list_ in enumerate(inputs):
        paths.append(f"{directory}/in{i}.pcap")
        writer = Writer(paths[-1])
        for p in list_:
            stamp = p.in_ns - round(sending_ns(max(p.size - depths[i], 0), OC48))
            writer.add(EPOCH_NS + stamp, packet(p.number, p.size, bytes([10, 0, 0, i])), p.size)
        writer.close()
    paths.append(f"{directory}/out.pcap")
    writer = Writer(paths[-1])
    for p in departures:
        if p.dropped:
            continue
        stamp = p.out_ns - round(sending_ns(max(p.size - out_depth, 0), OC3))
        writer.add(EPOCH_NS + stamp, packet(p.number, p.size, bytes([10, 0, 0, p.input]), ttl=63), p.size)
    writer.close()
    return paths
