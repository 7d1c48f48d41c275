#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
The oracle with ports of other kinds (ports_world.py) and other packets in each run: a sample of the
corpus, from a fresh seed, goes into a router where the Linux kernel forwards and into those where
sluice does. What leaves must be equal byte for byte, or be one of the reasoned differences.

    tests/oracle/test_ports.py [--seed N] [--every N] [--family TEXT] [--only CONTENDER] [--shown N]

The first line names the seed, which repeats the run. Output is TAP.
"""
import argparse
import random
import sys

import contenders
import corpus
import world
from ports_world import PortsWorld
from test_forwarding import Stage, Tap, Trial, reference_answers

EVERY = 4


def course(options):
    """Each Nth packet of a family, with default routes: without, much of it says `no route`."""
    families = [f for f in corpus.build(options.seed) if options.family in f.name]
    for index, family in enumerate(families):
        family.cases = family.cases[index % options.every::options.every] or family.cases[:1]
    # A sample of a fast family may have no packet that is forwarded, so the whole is asked for.
    return [Stage("", world.DEFAULT_ROUTES, families, fast=False)]


class PortsTrial(Trial):
    """A contender on this course, whose fast path must have forwarded something."""

    def __init__(self, *args):
        super().__init__(*args)
        self.counters = None

    def family(self, router, stage, fam, expected, markers):
        super().family(router, stage, fam, expected, markers)
        self.counters = self.contender.counters()

    def run(self, stages, reference, make_world=PortsWorld):
        super().run(stages, reference, make_world)
        if self.counters:
            forwarded = self.counters["forward"]
            self.tap.result(forwarded > 0, f"{self.contender.name}: the fast path forwards ({forwarded} frames)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--every", type=int, default=EVERY)
    parser.add_argument("--only", default="", help="contenders whose name contains this")
    parser.add_argument("--family", default="", help="families whose name contains this")
    parser.add_argument("--shown", type=int, default=3, help="packets printed of a failed test")
    parser.add_argument("--group", type=int, default=16, help="packets that share markers, where none may differ")
    options = parser.parse_args()

    world.pin_to_one_cpu()
    stages = course(options)
    packets = sum(1 + len(case.more) for stage in stages for fam in stage.families for case in fam.cases)
    print(f"# {packets} packets; the same again: test_ports.py --seed {options.seed}", flush=True)
    tap = Tap()
    reference = reference_answers(stages, PortsWorld)
    for contender in (contenders.Kernel(), contenders.Bare("native"), contenders.Managed("fast")):
        if options.only in contender.name:
            PortsTrial(tap, contender, options).run(stages, reference)
    return 0 if tap.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
