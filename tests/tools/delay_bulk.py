#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Captures of any size of a router with two inputs and an output of 10 Gb/s, to measure sluice-delay with: every packet
needs 5 us + 1 ns per byte in the router, and then waits for the output.

    tests/tools/delay_bulk.py DIRECTORY PACKETS [PACKETS_PER_S]
"""
import sys

import numpy

RATE = 10e9
SIZES = numpy.array([64, 576, 1500])
RECORD = numpy.dtype([("s", "<u4"), ("ns", "<u4"), ("captured", "<u4"), ("bytes", "<u4"), ("version", "u1"), ("tos", "u1"),
                      ("length", ">u2"), ("id", ">u2"), ("fragment", ">u2"), ("ttl", "u1"), ("protocol", "u1"),
                      ("checksum", ">u2"), ("source", "u1", 4), ("destination", "u1", 4), ("ports", ">u4"),
                      ("udp_length", ">u2"), ("udp_checksum", ">u2"), ("number", ">u8"), ("rest", ">u8")])
HEADER = numpy.array([0xa1b23c4d, 4 << 16 | 2, 0, 0, 65535, 101], "<u4")
PART = 1_000_000


def records(time_ns, sizes, numbers, input_, ttl):
    out = numpy.zeros(len(time_ns), RECORD)
    out["s"], out["ns"] = numpy.divmod(time_ns, 1_000_000_000)
    out["captured"], out["bytes"], out["version"], out["length"] = 44, sizes, 0x45, sizes
    out["id"], out["ttl"], out["protocol"] = numbers & 0xffff, ttl, 17
    out["source"][:, 0], out["source"][:, 3] = 10, input_
    out["destination"][:] = (192, 0, 2, 1)
    out["number"] = numbers
    return out


def main():
    directory, packets = sys.argv[1], int(sys.argv[2])
    per_s = float(sys.argv[3]) if len(sys.argv) > 3 else 1e6
    rng = numpy.random.default_rng(1)
    files = [open(f"{directory}/{name}.pcap", "wb") for name in ("in0", "in1", "out")]  # pylint: disable=consider-using-with
    for file in files:
        HEADER.tofile(file)
    now, free = 0.0, 0.0
    epoch = 1_700_000_000_000_000_000
    for start in range(0, packets, PART):
        n = min(PART, packets - start)
        # Two packets in a burst, and a pause
        gaps = rng.exponential(2e9 / per_s, n) * (numpy.arange(n) % 2 == 0) + 8
        in_ns = now + numpy.cumsum(gaps)
        now = in_ns[-1]
        sizes, inputs = rng.choice(SIZES, n), rng.integers(0, 2, n)
        ready = in_ns + 5000 + sizes
        for i in (0, 1):  # an input keeps its order
            ready[inputs == i] = numpy.maximum.accumulate(ready[inputs == i])
        order = numpy.argsort(ready, kind="stable")
        arrival, sending = ready[order], 8e9 * sizes[order] / RATE
        work = numpy.cumsum(sending)
        out_ns = work + numpy.maximum.accumulate(numpy.maximum(arrival - (work - sending), free))
        free = out_ns[-1]
        numbers = start + numpy.arange(n, dtype=numpy.int64)
        at = epoch + numpy.round(in_ns).astype(numpy.int64)
        for i in (0, 1):
            mine = inputs == i
            records(at[mine], sizes[mine], numbers[mine], i, 64).tofile(files[i])
        records(epoch + numpy.round(out_ns).astype(numpy.int64), sizes[order], numbers[order], inputs[order], 63).tofile(files[2])
        now = max(now, free)  # the next part finds an empty router
    for file in files:
        file.close()


main()
