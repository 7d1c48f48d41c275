#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
The oracle: thousands of packets, valid, odd and broken, go through a router where the Linux kernel
forwards and through routers where sluice does. What leaves on every port, errors to the sender included,
must be equal byte for byte, or be one of the reasoned differences of differences.py.

    tests/oracle/test_forwarding.py [--only CONTENDER] [--family TEXT] [--seed N] [--keep-going]

Output is TAP: a test is a contender and a family of packets.
"""
import argparse
import sys
import time

import compare
import contenders
import corpus
import world
from differences import DIFFERENCES

SHOWN = 3  # mismatches printed per test


class Tap:
    """Test lines and what explains them."""

    def __init__(self):
        self.count = self.failed = 0

    def result(self, passed, name, notes=()):
        self.count += 1
        self.failed += not passed
        print(f"{'ok' if passed else 'not ok'} {self.count} - {name}")
        for note in notes:
            for line in note.split("\n"):
                print("#   " + line)
        sys.stdout.flush()

    def finish(self):
        print(f"1..{self.count}")
        return self.failed == 0


def ask(router, families):
    """Each packet's answer, by family."""
    answers = []
    for fam in families:
        answers.append([compare.answer(case, router.exchange(case.port, [case.frame])) for case in fam.cases])
    return answers


def describe(frame):
    try:
        layer = corpus.Ether(frame)
        summary = layer.summary()
    except Exception as error:  # pylint: disable=broad-except
        summary = f"scapy cannot read it: {error}"
    head = frame[:96].hex()
    words = " ".join(head[i:i + 4] for i in range(0, len(head), 4))
    return f"{len(frame)} bytes: {summary}\n    {words}{' ...' if len(frame) > 96 else ''}"


def show(case, kernel, other):
    lines = [f"into p{case.port} ({case.note}) {describe(case.frame)}"]
    for who, frames in (("kernel", kernel), ("tested", other)):
        lines.append(f"{who}: {len(frames)} frames")
        lines += [f"  out of p{port}: {describe(frame)}" for port, frame in frames]
    return "\n".join(lines)


def judge(fam, reference, got, seen):
    """Compare one family. Returns (equal, explained, list of (case, kernel, other) that are neither)."""
    equal, explained, wrong = 0, 0, []
    for case, kernel, other in zip(fam.cases, reference, got):
        if kernel == other:
            equal += 1
            continue
        for difference in DIFFERENCES:
            if difference.holds(case, kernel, other):
                seen.add(difference.name)
                explained += 1
                break
        else:
            wrong.append((case, kernel, other))
    return equal, explained, wrong


def conservation(before, after, router_before, router):
    """Every frame put into a port counts once: forwarded, dropped or punted. '' or what is wrong."""
    sent = sum(router.sent[i] - router_before[i] for i in contenders.FAST_PORTS)
    rx = after["rx"] - before["rx"]
    sum_of = {k: sum(after[k]) - sum(before[k]) for k in ("drops", "punts")}
    forward = after["forward"] - before["forward"]
    if rx == sent and rx == forward + sum_of["drops"] + sum_of["punts"]:
        return ""
    return f"conservation: {sent} frames sent, rx {rx}, forward {forward}, {sum_of}"


def run(tap, contender, families, reference, strict):
    """One contender against the reference."""
    seen = set()
    started = time.monotonic()
    router = world.World()
    try:
        contender.start(router.router)
        for fam, expected in zip(families, reference):
            before, sent, marks = contender.counters(), list(router.sent), router.fast_markers
            got = [compare.answer(case, router.exchange(case.port, [case.frame])) for case in fam.cases]
            equal, explained, wrong = judge(fam, expected, got, set() if strict else seen)
            if strict and explained:
                wrong = [(c, k, g) for c, k, g in zip(fam.cases, expected, got) if k != g]
            notes = [show(*item) for item in wrong[:SHOWN]]
            counts = f"{equal} equal, {explained} reasoned, {len(wrong)} different"
            passed = not wrong
            if before is not None:
                after = contender.counters()
                fault = conservation(before, after, sent, router)
                fast = after["forward"] - before["forward"] - (router.fast_markers - marks)
                counts += f", {fast} of {len(fam.cases)} by the fast path"
                if fam.fast and fast <= 0:
                    fault += " no packet took the fast path: nothing was tested"
                if fault:
                    passed = False
                    notes.insert(0, fault.strip())
            tap.result(passed, f"{contender.name}: {fam.name} ({counts})", notes)
    except (TimeoutError, OSError, contenders.Failed) as error:
        tap.result(False, f"{contender.name}: runs to its end", [str(error)])
    finally:
        contender.stop()
        router.close()
    print(f"# {contender.name}: {time.monotonic() - started:.1f} s")
    return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="contenders whose name contains this")
    parser.add_argument("--family", default="", help="families whose name contains this")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    world.pin_to_one_cpu()
    families = [f for f in corpus.build(options.seed) if options.family in f.name]
    print(f"# seed {options.seed}: {sum(len(f.cases) for f in families)} packets in {len(families)} families")
    tap = Tap()
    router = world.World()
    try:
        reference = ask(router, families)
    finally:
        router.close()

    # The kernel against itself first: the harness sees no difference where there is none.
    run(tap, contenders.Kernel(), families, reference, strict=True)
    seen = set()
    for contender in contenders.everyone():
        if options.only in contender.name:
            seen |= run(tap, contender, families, reference, strict=False)
    if not options.only and not options.family:
        for difference in DIFFERENCES:
            tap.result(difference.name in seen, f"the reasoned difference occurs: {difference.name}")
    return 0 if tap.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
