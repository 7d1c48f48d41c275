#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
The oracle on a cluster: the packets of the corpus go into a router where the Linux kernel forwards
and into a cluster of three nodes with the same ports. What leaves on every port must be equal byte
for byte, or be one of the reasoned differences.

    tests/oracle/test_cluster.py [--every N] [--family TEXT] [--seed N] [--shown N] [--fabric 4|6] [--express WORD...]

--every N: each Nth packet of a family, and all packets that meet a rare reasoned difference; 1 is
all, which takes some minutes.

--express: a cluster for each of these words of the configuration. They get different packets, but for
the rare ones, unless each gets all.

Output is TAP: a test is a family of packets.
"""
import argparse
import sys
import time

import cluster
import conservation
import contenders
import corpus
import world
from differences import DIFFERENCES
from test_forwarding import Stage, Tap, ask, explain, reference_answers, show

EVERY = 30
EXPRESS = ("never", "auto", "always")
TRAITS = frozenset(["managed", "tables", "cluster"])


def is_rare(case):
    return (case.port and case.frame[12:14] == b"\x86\xdd" and case.frame[38:42] == b"\xfd\x00\x01\x11" or case.frame[12:14] == b"\x08\x06"
            or any(case.frame[12:14] == b"\x08\x00" and bytes([10, 0, p, 255]) in case.frame[26:34] for p in range(world.PORTS)))


def course(options, nth):
    """Stages of test_forwarding.py with a sample of each family, the nth of several. With policy
    rules, the kernels forward everything."""
    families = [f for f in corpus.build(options.seed) if options.family in f.name]
    first = nth * options.every // len(options.express)
    for index, family in enumerate(families):
        family.cases = [case for i, case in enumerate(family.cases)
                        if (i + index + first) % options.every == 0 or is_rare(case)] or family.cases[:1]
    again = [f for f in families if any(word in f.name for word in ("routes", "addresses"))]
    return [Stage("", "", families),
            Stage(", with default routes", world.DEFAULT_ROUTES, again),
            Stage(", with policy rules", world.POLICY_RULES, again, fast=False)]


class Trial:
    """A cluster on the whole course. seen: names of reasoned differences that occurred, of all trials."""

    def __init__(self, tap, traits, shown, express, seen):
        self.tap, self.traits, self.shown, self.express, self.seen = tap, traits, shown, express, seen
        self.before = None

    def family(self, router, stage, fam, expected):
        equal, explained, wrong, frames, notes = 0, 0, 0, 0, []
        before = self.before = conservation.quiet_snapshot(router.snapshot)
        for case, kernel in zip(fam.cases, expected):
            other = ask(router, case)
            frames += len(other)
            if kernel == other:
                equal += 1
            elif name := explain(self.traits, case, kernel, other):
                explained += 1
                self.seen.add(name)
            else:
                wrong += 1
                if wrong <= self.shown:
                    notes.append(show(case, kernel, other))
        ledger = conservation.check(before, router.snapshot)
        crossed = not stage.fast or sum(node["voq"] for node in ledger.nodes.values()) > 0
        if not crossed:
            notes.append("no packet took the fast path to another node: nothing was tested")
        past = sum(node["express"] for node in ledger.nodes.values())
        as_told = not stage.fast or (past > 0) == (self.express != "never")
        if not as_told:
            notes.append(f"{past} frames went past the bridges")
        notes += ledger.wrong
        self.tap.result(not wrong and not ledger.wrong and crossed and as_told,
                        f"express {self.express}: {fam.name}{stage.name} ({equal} equal, {explained} reasoned, {wrong} different; "
                        f"{frames} frames out)", notes)

    def run(self, router, stages, reference):
        for stage, answers in zip(stages, reference):
            router.script(stage.script)
            router.settle()
            for fam, expected in zip(stage.families, answers):
                self.family(router, stage, fam, expected)


def trial(tap, options, nth, express, seen):
    stages = course(options, nth)
    print(f"# express {express}, seed {options.seed}: {sum(1 + len(c.more) for s in stages for f in s.families for c in f.cases)} packets")
    started = time.monotonic()
    reference = reference_answers(stages)
    print(f"# kernel: {time.monotonic() - started:.1f} s")
    started = time.monotonic()
    run = Trial(tap, TRAITS, options.shown, express, seen)
    router = None
    try:
        router = cluster.ClusterWorld(family=options.fabric, fabric_keys=f"express: {express}")
        run.run(router, stages, reference)
    except (TimeoutError, contenders.Failed, conservation.Failure) as error:
        notes = [str(error)]
        if run.before:
            notes.append(str(conservation.check(run.before, router.snapshot).as_dict()))
        tap.result(False, f"express {express}: runs to its end", notes + [router.said() if router else ""])
    finally:
        if router:
            router.close()
    print(f"# cluster: {time.monotonic() - started:.1f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=EVERY)
    parser.add_argument("--family", default="", help="families whose name contains this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shown", type=int, default=3, help="packets printed of a failed test")
    parser.add_argument("--fabric", type=int, choices=(4, 6), default=4, help="IP version of the fabric")
    parser.add_argument("--express", nargs="+", default=EXPRESS, metavar="WORD", help="express: of the clusters")
    options = parser.parse_args()

    world.pin_to_one_cpu()
    tap, seen = Tap(), set()
    for nth, express in enumerate(options.express):
        trial(tap, options, nth, express, seen)
    if not options.family:
        for difference in DIFFERENCES:
            if "cluster" in difference.of:
                tap.result(difference.name in seen, f"reasoned difference occurs: {difference.name}")
    return 0 if tap.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
