#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Signals of sluice-elements by scapy and Python's hmac, from docs/PROTOCOL.md.

    signals.py ROUTER_MAC                   on standard input a signal a line, as JSON

A line has to, command (a number), text, key, secret (hexadecimal); and maybe ahead (seconds that its
clock is ahead), repeat (send the former one again), corrupt (a byte to change), cut (bytes to send),
magic, version, count, alert (false, or of IPv6 its value); and of IPv6 next_header, fragment (into so
many bytes, the last one first), lose (a fragment by its number). Printed for each is the answer,
"OUTCOME TEXT", "forged" if its MAC is wrong, or "silence"; with count, how many answers came.
"""
import hmac
import json
import logging
import select
import socket
import struct
import sys
import time

logging.getLogger("scapy").setLevel(logging.ERROR)
# pylint: disable=wrong-import-position
from scapy.all import IP, Ether, IPOption_Router_Alert, IPv6, Raw, RouterAlert, conf  # noqa: E402
from scapy.all import IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, fragment6  # noqa: E402

OUTCOMES = ["done", "refused", "unauthentic", "stale", "malformed", "busy"]
PROTOCOL = 253
ALERT6 = 65503
SOURCE, SOURCE6 = "10.0.1.2", "fd00:1::2"


def is_ipv6(signal):
    return ":" in signal["to"]


def mapped(address):
    return bytes(10) + b"\xff\xff" + socket.inet_aton(address)


def seal(signal, message):
    if is_ipv6(signal):
        way = socket.inet_pton(socket.AF_INET6, SOURCE6) + socket.inet_pton(socket.AF_INET6, signal["to"])
    else:
        way = mapped(SOURCE) + mapped(signal["to"])
    return hmac.digest(bytes.fromhex(signal["secret"]), way + message, "sha256")


def build(signal):
    message = struct.pack(
        "!4sBBBBQ16s", signal.get("magic", "slsg").encode(), signal.get("version", 1), signal["command"], 0, 0,
        time.time_ns() + int(signal.get("ahead", 0) * 1e9), signal["key"].encode()) + signal["text"].encode()
    message = bytearray(message + seal(signal, message))
    if "corrupt" in signal:
        message[signal["corrupt"]] ^= 1
    return bytes(message[:signal.get("cut")])


def heads(signal):
    """The headers before a message."""
    alert = signal.get("alert", True)
    if not is_ipv6(signal):
        return IP(src=SOURCE, dst=signal["to"], proto=PROTOCOL, options=[IPOption_Router_Alert()] if alert else [])
    protocol = signal.get("next_header", PROTOCOL)
    if alert is False:
        return IPv6(src=SOURCE6, dst=signal["to"], nh=protocol)
    options = [RouterAlert(value=ALERT6 if alert is True else alert)]
    head = IPv6(src=SOURCE6, dst=signal["to"])
    if "fragment" in signal:
        return head / IPv6ExtHdrHopByHop(options=options) / IPv6ExtHdrFragment(nh=protocol)
    return head / IPv6ExtHdrHopByHop(nh=protocol, options=options)


def packets(signal, message):
    whole = heads(signal) / Raw(message)
    if "fragment" not in signal:
        return [whole]
    parts = fragment6(whole, signal["fragment"])
    if "lose" in signal:
        del parts[signal["lose"]]
    return parts[::-1]


def read_answer(sock, signal, message, seconds):
    """The answer to the message, as it is printed."""
    until = time.monotonic() + seconds
    while select.select([sock], [], [], max(0, until - time.monotonic()))[0]:
        packet = sock.recv(65535)
        answer = packet if is_ipv6(signal) else packet[(packet[0] & 15) * 4:]
        if len(answer) < 64 or not answer[5] & 0x80 or (answer[8:16] != message[8:16] and answer[8:16] != bytes(8)):
            continue
        outcome, text = OUTCOMES[answer[6]], answer[32:-32].decode()
        if outcome in ("unauthentic", "malformed"):
            right = answer[-32:] == bytes(32)
        else:
            # the very bytes: its type with 0x80, the time and the key of the request
            head = message[:5] + bytes([message[5] | 0x80, answer[6], 0]) + message[8:32]
            right = answer == head + answer[32:-32] + seal(signal, answer[:-32])
        return f"{outcome} {text}" if right else "forged"
    return "silence"


def main():
    conf.verb = 0
    wire = conf.L2socket(iface="eth0")
    socks = [socket.socket(family, socket.SOCK_RAW, PROTOCOL) for family in (socket.AF_INET, socket.AF_INET6)]
    for sock in socks:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    message = b""
    for line in sys.stdin:
        signal = json.loads(line)
        message = message if signal.get("repeat") else build(signal)
        sock = socks[is_ipv6(signal)]
        frames = [Ether(dst=sys.argv[1]) / packet for packet in packets(signal, message)]
        for _ in range(signal.get("count", 1)):
            for frame in frames:
                wire.send(frame)
        if "count" in signal:
            answers = 0
            while read_answer(sock, signal, message, 1) != "silence":
                answers += 1
            print(answers, flush=True)
        else:
            print(read_answer(sock, signal, message, signal.get("patience", 10)), flush=True)


main()
