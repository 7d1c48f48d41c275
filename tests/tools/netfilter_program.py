#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
A BPF program that drops all packets at a hook of netfilter, as long as this process lives.

    netfilter_program.py 4|6 HOOK
"""
import ctypes
import os
import signal
import struct
import sys

SYS_BPF = 321 if os.uname().machine == "x86_64" else 280
PROG_LOAD, LINK_CREATE = 5, 28
PROG_TYPE_NETFILTER, ATTACH_NETFILTER = 32, 45
FAMILIES = {"4": 2, "6": 10}  # NFPROTO_IPV4, NFPROTO_IPV6
HOOKS = {"prerouting": 0, "forward": 2, "postrouting": 4}
DROP = struct.pack("=BBhi", 0xb7, 0, 0, 0) + struct.pack("=BBhi", 0x95, 0, 0, 0)  # r0 = NF_DROP; exit

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes.ljust(144, b"\0"))
    result = libc.syscall(SYS_BPF, command, buffer, 144)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def main():
    family, hook = FAMILIES[sys.argv[1]], HOOKS[sys.argv[2]]
    code, text = ctypes.create_string_buffer(DROP), ctypes.create_string_buffer(b"GPL")
    program = bpf(PROG_LOAD, struct.pack("=IIQQIIQII16sII", PROG_TYPE_NETFILTER, 2, ctypes.addressof(code),
                                         ctypes.addressof(text), 0, 0, 0, 0, 0, b"drop_all", 0, ATTACH_NETFILTER))
    link = bpf(LINK_CREATE, struct.pack("=IIIIIIii", program, 0, ATTACH_NETFILTER, 0, family, hook, 0, 0))
    print("attached", flush=True)
    signal.pause()
    os.close(link)


if __name__ == "__main__":
    main()
