#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Video in 33 layers, as UDP: `send ADDRESS SECONDS` sends each layer 50 times a second, one byte of
the payload says which; `count NETDEV` counts what comes until SIGINT, and prints JSON: frames by
layer before the first frame of another flow came and after, and for how long layer 32 came then."""
import json
import signal
import socket
import struct
import sys
import time

LAYERS, PER_SECOND, PORT, PAYLOAD, OTHERS = 33, 50, 5004, 438, 900
SO_RCVBUFFORCE = 33  # of Linux; the module has no name for it


def send(address, seconds):
    video = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    begin = time.monotonic()
    for k in range(int(seconds * LAYERS * PER_SECOND)):
        layer = k % LAYERS
        pause = begin + k / (LAYERS * PER_SECOND) - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        else:  # a sender that got no processor goes on from here: a burst would be another video
            begin -= pause
        video.sendto(bytes([layer]) + struct.pack("!I", k) + bytes(PAYLOAD - 5), (address, PORT))
    print(json.dumps({"sent": int(seconds * LAYERS * PER_SECOND)}))


def count(netdev):
    stop = []
    signal.signal(signal.SIGINT, lambda *_: stop.append(1))
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    wire.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    wire.bind((netdev, 0))
    wire.settimeout(0.1)
    alone, beside, first_other, last_top = [0] * LAYERS, [0] * LAYERS, None, None
    print("ready", file=sys.stderr, flush=True)
    while not stop:
        try:
            frame = wire.recv(2048)
        except socket.timeout:
            continue
        now = time.monotonic()
        if len(frame) < 43 or frame[23] != 17:
            continue
        if struct.unpack_from("!H", frame, 36)[0] != PORT:
            if first_other is None and len(frame) >= OTHERS:
                first_other = now
            continue
        layer = frame[42]
        (alone if first_other is None else beside)[layer] += 1
        if layer == LAYERS - 1:
            last_top = now
    lasted = 0
    if first_other and last_top and last_top > first_other:
        lasted = (last_top - first_other) * 1000
    print(json.dumps({"alone": alone, "beside": beside, "top_lasted_ms": round(lasted, 1)}))


if sys.argv[1] == "send":
    send(sys.argv[2], float(sys.argv[3]))
else:
    count(sys.argv[2])
