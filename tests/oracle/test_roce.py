#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Our RoCEv2 bytes, judged by tools that are not ours: tshark dissects them, scapy's RoCE layer
computes the ICRC.

tshark 4.0 shows the ICRC and does not judge it. So we compare its value with the one that scapy
computes (IPv4) or that zlib computes over the fields that annex A17 names (both families). And the
other way round: our parser judges frames that scapy makes.
"""
import logging
import os
import struct
import subprocess
import sys
import tempfile
import zlib

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import Ether, IP, IPv6, PcapReader, Raw, UDP, raw, wrpcap  # noqa: E402
from scapy.contrib.roce import BTH, cnp  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TOOL = os.path.join(ROOT, "build", "tests", "oracle", "roce-frames")

QPN_FROM, QPN_TO, QKEY = 0xABCDEF, 0x123456, 0xDEADBEEF
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 38, 50, 96, 255, 256, 1023, 1024, 1025, 1448, 2047, 2048, 3436,
         3447, 3448, 4093, 4094, 4095, 4096]

count = 0
failed = 0


def check(name, problems):
    """One TAP line; problems is a list of strings, empty if all is well."""
    global count, failed
    count += 1
    print(f"{'not ok' if problems else 'ok'} {count} - {name}", flush=True)
    for p in problems[:20]:
        print(f"# {p}")
    failed += bool(problems)


def icrc_by_zlib(frame):
    """ICRC as annex A17 of the InfiniBand specification says, from the bytes of an Ethernet
    frame."""
    b = bytearray(frame[14:-4])
    if b[0] >> 4 == 4:
        ip = 20
        b[1] = b[8] = b[10] = b[11] = 0xFF
    else:
        ip = 40
        b[0] |= 0x0F
        b[1] = b[2] = b[3] = b[7] = 0xFF
    b[ip + 6] = b[ip + 7] = 0xFF
    b[ip + 8 + 4] = 0xFF
    return zlib.crc32(b"\xff" * 8 + bytes(b))


def tshark(pcap, *fields):
    """Rows of field values, one per frame. RoCEv2 sends no UDP checksum, not even over IPv6 (annex
    A17)."""
    command = ["tshark", "-r", pcap, "-T", "fields", "-E", "separator=|", "-o", "ip.check_checksum:TRUE",
               "-o", "udp.ignore_ipv6_zero_checksum:TRUE"]
    for f in fields:
        command += ["-e", f]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split("|") for line in out.splitlines()]


def payload(size):
    return bytes((b * 7 + size) & 0xFF for b in range(size))


def number(text):
    return int(text, 0) if text else None


def main():
    with tempfile.TemporaryDirectory() as work:
        ours = os.path.join(work, "ours.pcap")
        subprocess.run([TOOL, "write", ours], check=True)
        with PcapReader(ours) as reader:
            frames = [raw(p) for p in reader]
        rows = tshark(ours, "frame.protocols", "infiniband.bth.opcode", "infiniband.bth.m",
                      "infiniband.bth.padcnt", "infiniband.bth.tver", "infiniband.bth.p_key",
                      "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.deth.q_key",
                      "infiniband.deth.srcqp", "infiniband.invariant.crc", "_ws.malformed",
                      "_ws.expert.message", "udp.srcport", "ip.checksum.status", "ip.dsfield.ecn",
                      "ipv6.tclass.ecn", "ip.flags.df")
        kinds = [(v, s) for v in (4, 6) for s in SIZES + ["cnp"]]
        check("capture holds every size in both families", [] if len(frames) == len(rows) == len(kinds) else
              [f"{len(frames)} frames, {len(rows)} rows of tshark, {len(kinds)} expected"])

        problems = {"send": [], "icrc": [], "clean": [], "cnp": []}
        psn = 0xFFFFF0
        for (version, size), frame, row in zip(kinds, frames, rows):
            (protocols, opcode, migreq, pad, tver, pkey, qpn, got_psn, qkey, src_qpn, icrc, malformed, expert,
             sport, ip_status, ecn4, ecn6, df) = row
            where = f"IPv{version} {size}"
            if malformed or expert or "infiniband" not in protocols:
                problems["clean"].append(f"{where}: {protocols} {malformed} {expert}")
            if not 0xC000 <= int(sport) <= 0xFFFF:
                problems["clean"].append(f"{where}: source port {sport}")
            if version == 4 and df not in ("1", "True"):
                problems["clean"].append(f"{where}: don't fragment is {df}")
            if int(ecn4 or ecn6) != 2:
                problems["clean"].append(f"{where}: ECN {ecn4}{ecn6}")
            if version == 4 and ip_status != "1":
                problems["clean"].append(f"{where}: IPv4 header checksum, status {ip_status}")
            # tshark 4.0 shows no ICRC in notifications; zlib and scapy judge theirs.
            if size != "cnp" and (number(icrc) is None or struct.pack(">I", number(icrc)) != frame[-4:]):
                problems["icrc"].append(f"{where}: tshark sees {icrc} at another place than the last 4 bytes")
            if struct.pack("<I", icrc_by_zlib(frame)) != frame[-4:]:
                problems["icrc"].append(f"{where}: zlib {icrc_by_zlib(frame):08x}, frame {frame[-4:].hex()}")
            if size == "cnp":
                expected = (0x81, 0, 0, 0xFFFF, QPN_TO)
                got = (number(opcode), number(pad), number(tver), number(pkey), number(qpn))
                if got != expected:
                    problems["cnp"].append(f"{where}: {got}, not {expected}")
                continue
            expected = (0x64, 1, -size % 4, 0, 0xFFFF, QPN_TO, psn & 0xFFFFFF, QKEY, QPN_FROM)
            got = (number(opcode), int(migreq in ("1", "True")), number(pad), number(tver), number(pkey), number(qpn),
                   number(got_psn), number(qkey), number(src_qpn))
            if got != expected:
                problems["send"].append(f"{where}: {got}, not {expected}")
            start = 62 if version == 4 else 82
            if frame[start:start + size] != payload(size) or any(frame[start + size:-4]):
                problems["send"].append(f"{where}: payload or padding")
            psn += 1
        check("tshark dissects each frame as RoCEv2 without complaint", problems["clean"])
        check("tshark reads opcode, MigReq, padding, keys, QPNs and PSN as they were meant", problems["send"])
        check("tshark reads the notifications as CNP", problems["cnp"])
        check("ICRC is where tshark finds it and is what zlib computes, IPv4 and IPv6", problems["icrc"])

        scapy_icrc = []
        for (version, size), frame in zip(kinds, frames):
            packet = Ether(frame)
            if BTH not in packet:
                scapy_icrc.append(f"IPv{version} {size}: scapy sees no BTH")
                continue
            if version == 6:  # scapy's ICRC knows IPv4 only
                continue
            want = packet[BTH].icrc
            packet[BTH].icrc = None
            rebuilt = raw(packet)
            if rebuilt[-4:] != frame[-4:] or rebuilt != frame:
                scapy_icrc.append(f"IPv{version} {size}: scapy {rebuilt[-4:].hex()}, ours {want:08x}")
        check("scapy computes the same ICRC over our bytes", scapy_icrc)

        theirs = os.path.join(work, "scapy.pcap")
        made = []
        for size in SIZES:
            body = payload(size) + bytes(-size % 4)
            deth = struct.pack(">II", QKEY, QPN_FROM)
            base = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") / \
                IP(src="10.9.0.1", dst="10.9.0.2", flags="DF", ttl=3, tos=0x03, id=size)
            made.append(base / UDP(sport=50000, dport=4791, chksum=0) /
                        BTH(opcode=0x64, migreq=1, padcount=-size % 4, pkey=0xFFFF, dqpn=QPN_TO, psn=size) /
                        Raw(deth + body))
        made.append(Ether() / IP(src="10.9.0.1", dst="10.9.0.2") / UDP(sport=1, dport=4791, chksum=0) / cnp(QPN_TO))
        bad = raw(made[0])
        made.append(Ether(bad[:-1] + bytes([bad[-1] ^ 1])))
        wrpcap(theirs, [raw(p) for p in made], linktype=1)
        out = subprocess.run([TOOL, "judge", theirs], check=True, capture_output=True, text=True).stdout.split("\n")
        expected = [f"send {s} {s} {QPN_FROM}" for s in SIZES] + ["cnp 0 0 0", "icrc 0 0 0"]
        check("our parser accepts what scapy makes, and refuses it with one bit of the ICRC changed",
              [f"got {g!r}, not {e!r}" for g, e in zip(out, expected) if g != e] +
              ([] if len(out) >= len(expected) else ["too few verdicts"]))
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
