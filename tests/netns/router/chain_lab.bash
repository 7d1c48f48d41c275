# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The lab of the tests of chains: one for all tests of a file. setup_file makes it; each test finds
# sluice-elements ready, and both hosts reached by the fast path.
load router

teardown_file() {
	lab_end
}

setup() {
	warm_up
	wait_for 10 port_is slchain0 on
}

# counted_stream PORT: numbered UDP packets from h1 to h2, until counted_stream_arrived
counted_stream() {
	spawn h2 receiver /usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
s.bind(("0.0.0.0", int(sys.argv[1])))
print("ready", flush=True)
n = 0
while s.recv(64) != b"end": n += 1
print(n, flush=True)' "$1"
	listening() { grep -q ready "$LAB_DIR/receiver.out"; }
	wait_for 10 listening
	spawn h1 sender /usr/bin/python3 -c '
import pathlib, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
n = 0
while not pathlib.Path(sys.argv[2]).exists():
    s.sendto(str(n).encode(), ("10.0.2.2", int(sys.argv[1])))
    n += 1
    time.sleep(0.0005)
s.sendto(b"end", ("10.0.2.2", int(sys.argv[1])))
print(n, flush=True)' "$1" "$LAB_DIR/enough"
}

# counted_stream_arrived LEAST: end it; true if it had more packets than that, and each arrived
counted_stream_arrived() {
	touch "$LAB_DIR/enough"
	await_end sender
	await_end receiver
	[ "$(cat "$LAB_DIR/sender.out")" -gt "$1" ] || return
	[ "$(sed 1d "$LAB_DIR/receiver.out")" = "$(cat "$LAB_DIR/sender.out")" ]
}
