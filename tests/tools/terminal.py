#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
A program on a terminal, as a person would see it: pyte keeps the screen, and the actions are done in order.

    terminal.py COLUMNSxLINES ACTION... -- COMMAND...

    expect:REGEX     a line of the screen matches, within 10 s
    absent:REGEX     no line matches, within 10 s
    keys:TEXT        typed
    resize:CxL       the terminal gets another size
    still:SECONDS    nothing is written meanwhile
    blocked          nobody reads until the program has to wait in write(2), within 10 s
    end              the program ends within 10 s, with status 0, and has left the terminal as it was

LAB_PATIENCE multiplies these 10 s, where a machine is known to be slow. The last screen goes to standard output, "done ACTION" to standard error after each, or what went wrong with exit status 1.
"""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

import pyte

PATIENCE_S = 10 * int(os.environ.get("LAB_PATIENCE", "1"))
SYS_WRITE = {"x86_64": "1"}.get(os.uname().machine, "64")


class Terminal:
    def __init__(self, columns, lines, command):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.tail, self.open = b"", True
        go, ready = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(go, 1)  # the terminal has its size, and its settings have been looked at
            os.environ["TERM"] = "xterm-256color"
            os.execvp(command[0], command)
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.fd)
        os.write(ready, b"1")

    def read(self, seconds):
        """What is written within that time; b"" if nothing is, or the program has ended."""
        if not self.open or not select.select([self.fd], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.open = bool(data)
        self.tail = (self.tail + data)[-200:]
        self.stream.feed(data)
        return data

    def matches(self, regex):
        return any(re.search(regex, line) for line in self.screen.display)

    def until(self, condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.read(0.05)
            if not self.open:
                return condition()
        return True

    def resize(self, columns, lines):
        self.screen.resize(lines, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def still(self, seconds):
        while self.read(0.3):  # what is under way
            pass
        return not self.read(seconds)

    def blocked(self):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with open(f"/proc/{self.pid}/syscall", encoding="ascii") as file:
                if file.read().split()[0] == SYS_WRITE:
                    return True
            time.sleep(0.01)
        return False

    def end(self):
        if not self.until(lambda: not self.open or b"\033[?1049l" in self.tail):
            return "it did not end"
        status = os.waitpid(self.pid, 0)[1]
        now = termios.tcgetattr(self.fd)
        if status:
            return f"it ended with status {status:#x}"
        if now[:4] != self.before[:4]:
            return "it left the terminal's settings changed"
        if not self.tail.rstrip(b"\r\n").endswith(b"\033[?25h\033[?1049l"):
            return f"it left the screen or the cursor: {self.tail[-30:]!r}"
        return None


def size_of(text):
    return tuple(int(n) for n in text.split("x"))


def act(terminal, action):
    """None, or what went wrong."""
    name, _, value = action.partition(":")
    if name == "expect":
        return None if terminal.until(lambda: terminal.matches(value)) else "no such line"
    if name == "absent":
        return None if terminal.until(lambda: not terminal.matches(value)) else "there is such a line"
    if name == "keys":
        os.write(terminal.fd, value.encode())
    elif name == "resize":
        terminal.resize(*size_of(value))
    elif name == "still":
        return None if terminal.still(float(value)) else "something was written"
    elif name == "blocked":
        return None if terminal.blocked() else "all that it writes finds room"
    elif name == "end":
        return terminal.end()
    else:
        return "no such action"
    return None


def main():
    split = sys.argv.index("--")
    terminal = Terminal(*size_of(sys.argv[1]), sys.argv[split + 1:])
    for action in sys.argv[2:split]:
        wrong = act(terminal, action)
        if wrong:
            print("\n".join(line.rstrip() for line in terminal.screen.display))
            print(f"terminal: {action}: {wrong}", file=sys.stderr)
            os.close(terminal.fd)
            return 1
        print(f"done {action}", file=sys.stderr, flush=True)
    print("\n".join(line.rstrip() for line in terminal.screen.display))
    return 0


if __name__ == "__main__":
    sys.exit(main())
