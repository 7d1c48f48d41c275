# SPDX-License-Identifier: BSD-2-Clause
"""A decoder of the fabric's messages, written from docs/PROTOCOL.md and without any code of
ours."""
import struct
import zlib
from dataclasses import dataclass, field

ROCE_PORT = 4791
DATA, FEEDBACK, HELLO, ANNOUNCE, POLICY, REPORT = range(1, 7)
HEADER, UDP, ICRC = 1, 2, 3  # the check of express messages
HEADER_COVERS_BYTES = 64
FEEDBACK_BYTES, HELLO_BYTES, POLICY_BYTES, PARAMETER_BYTES, REPORT_BYTES = 32, 16, 48, 8, 16


class Bad(Exception):
    """A message differs from the document."""


@dataclass
class Frame:
    system_port: int
    ingress_port: int
    traffic_class: int
    flags: int
    age_ns: int
    data: bytes


@dataclass
class Message:
    kind: int
    source: int
    destination: int
    stream: int
    epoch: int
    sequence: int
    frames: list = field(default_factory=list)


def claim(holds, text):
    if not holds:
        raise Bad(text)


def icrc(frame):
    """Annex A17 of the InfiniBand specification, over the bytes of an Ethernet frame without its
    last four."""
    b = bytearray(frame[14:-4])
    ip_bytes = 20 if b[0] >> 4 == 4 else 40
    if ip_bytes == 20:
        b[1] = b[8] = b[10] = b[11] = 0xff
    else:
        b[0] |= 0x0f
        b[1] = b[2] = b[3] = b[7] = 0xff
    b[ip_bytes + 6] = b[ip_bytes + 7] = b[ip_bytes + 12] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(b)))


def udp_offset(frame):
    return 14 + (20 if frame[14] >> 4 == 4 else 40)


def internet_sum(data):
    """The one's complement sum of RFC 1071, folded."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def check_holds(frame, check):
    """Is the UDP checksum the one of RFC 768, or with HEADER the one of the first bytes?"""
    udp = udp_offset(frame)
    addresses = frame[26:34] if frame[14] >> 4 == 4 else frame[22:54]
    covered = frame[udp:] if check == UDP else frame[udp:udp + HEADER_COVERS_BYTES]
    return internet_sum(addresses + struct.pack("!H", 17) + frame[udp + 4:udp + 6] + covered) == 0xffff


def is_express(frame):
    """Is its message one of a stream other than that of the bridge?"""
    return frame[udp_offset(frame) + 28 + 6] != 0


def is_roce(frame):
    if frame[12:14] == b"\x08\x00":
        return frame[23] == 17 and frame[36:38] == struct.pack("!H", ROCE_PORT)
    return frame[12:14] == b"\x86\xdd" and frame[20] == 17 and frame[56:58] == struct.pack("!H", ROCE_PORT)


def payload_of(frame, check=None):
    """Section 2: the message inside a RoCEv2 frame. check: what express messages of its sender carry."""
    ip = 14
    if frame[12:14] == b"\x08\x00":
        claim(frame[ip] == 0x45 and frame[ip + 4:ip + 8] == b"\0\0\x40\0", "IPv4: no options, identification 0, don't fragment")
        claim(frame[ip + 1] & 3 == 2, "ECN is not ECT(0)")
        udp, ip_end = ip + 20, ip + struct.unpack("!H", frame[ip + 2:ip + 4])[0]
    else:
        claim(frame[ip] >> 4 == 6 and frame[ip + 6] == 17, "IPv6 with UDP")
        udp, ip_end = ip + 40, ip + 40 + struct.unpack("!H", frame[ip + 4:ip + 6])[0]
        claim(struct.unpack("!I", frame[ip:ip + 4])[0] & 0xfffff == struct.unpack("!H", frame[udp:udp + 2])[0],
              "the flow label is the UDP source port")
    source, destination, udp_bytes, checksum = struct.unpack("!HHHH", frame[udp:udp + 8])
    claim(source >= 0xc000 and destination == ROCE_PORT, "UDP ports")
    claim(udp + udp_bytes == ip_end == len(frame), "lengths of IP, UDP and frame")
    bth = frame[udp + 8:udp + 20]
    claim(bth[0] == 0x64, f"opcode {bth[0]:#x}")
    claim(bth[1] & 0xcf == 0x40, "MigReq 1, transport version 0")
    pad = bth[1] >> 4 & 3
    message = frame[udp + 28:len(frame) - 4 - pad]
    claim(len(message) % 4 == -pad % 4 and not any(frame[len(frame) - 4 - pad:-4]), "padding")
    if is_express(frame):
        claim(check and message[1] == DATA and message[6] in range(1, 9) and message[7] == 1, "an express message is data, one frame, of a CPU's stream")
    if is_express(frame) and check != ICRC:
        claim(checksum and check_holds(frame, check), f"UDP checksum {checksum:#x}")
        claim(frame[-4:] == b"\0\0\0\0", "there is no ICRC beside another check")
    else:
        claim(checksum == 0, "a UDP checksum beside the ICRC")
        claim(icrc(frame) == frame[-4:], f"ICRC {frame[-4:].hex()}, zlib says {icrc(frame).hex()}")
    return message


def records(body, count, size, what):
    claim(len(body) == count * size, f"{what}: {count} records in {len(body)} bytes")


def parse(data):
    """Section 1: a message, judged whole."""
    claim(len(data) >= 24, "shorter than its header")
    version, kind, length, source, destination, stream, count, epoch, sequence, _ = struct.unpack("!BBHBBBBIIQ", data[:24])
    claim(version == 1, f"version {version}")
    claim(length == len(data), f"length {length} of {len(data)}")
    claim(source and destination and source != destination and stream < 16 and count and epoch, "header fields")
    message, body = Message(kind, source, destination, stream, epoch, sequence), data[24:]
    if kind == DATA:
        at = 24 + 12 * count
        for i in range(count):
            size, out, into, klass, flags, age = struct.unpack("!HHHBBI", data[24 + 12 * i:36 + 12 * i])
            claim(size >= 14 and at + size <= len(data), f"frame {i} of {size} bytes")
            claim(out >> 8 == destination and out & 255, f"system port {out:#x} at node {destination}")
            claim(into == 0 if flags & 1 else into >> 8 == source, f"ingress port {into:#x}, flags {flags}")
            claim(klass < 4 and flags < 2, f"class {klass}, flags {flags}")
            message.frames.append(Frame(out, into, klass, flags, age, data[at:at + size]))
            at += size
        claim(at == len(data), "frames do not fill the message")
    elif kind == FEEDBACK:
        records(body, count, FEEDBACK_BYTES, "feedback")
        for i in range(count):
            out, klass, controller = struct.unpack("!HBB", body[FEEDBACK_BYTES * i:FEEDBACK_BYTES * i + 4])
            claim(out >> 8 == source and klass < 4 and controller in range(1, 8), "feedback record")
    elif kind == HELLO:
        records(body, 1, HELLO_BYTES, "hello")
        claim(struct.unpack("!I", body[4:8])[0] > 0, "hello interval")
    elif kind == ANNOUNCE:
        claim(count == 1 and len(body) > 0, "announcement")
    elif kind == POLICY:
        claim(count == 1 and len(body) >= POLICY_BYTES and len(body) == POLICY_BYTES + PARAMETER_BYTES * body[40], "policy")
        claim(struct.unpack("!H", body[:2])[0] >> 8 == source and body[2] in range(1, 8) and not any(body[41:48]), "policy record")
    elif kind == REPORT:
        records(body, count, REPORT_BYTES, "report")
    else:
        raise Bad(f"type {kind}")
    return message
