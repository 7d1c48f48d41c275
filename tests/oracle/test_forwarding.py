#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
The oracle: thousands of packets, valid, odd and broken, go through a router where the Linux kernel
forwards and through routers where sluice does. What leaves on every port, errors to the sender
included, must be equal byte for byte, or be one of the reasoned differences of differences.py.

    tests/oracle/test_forwarding.py [--only CONTENDER] [--family TEXT] [--seed N] [--shown N] [--group N]

Output is TAP: a test is a contender and a family of packets.
"""
import argparse
import collections
import itertools
import sys
import time

import compare
import contenders
import corpus
import world
from differences import DIFFERENCES


class Tap:
    """Prints TAP lines and their explanations."""

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


# --- The course ---

class Stage:
    """
    A state of the router, which a script makes from the state before, and the families sent in it.
    Where `fast` is false, sluice may leave all packets to the kernel.
    """

    def __init__(self, name, script, families, fast=True):
        self.name, self.script, self.families, self.fast = name, script, families, fast


def course(options):
    """The stages in order, cut down to the families asked for."""
    families = [f for f in corpus.build(options.seed) if options.family in f.name]
    again = [f for f in families if any(word in f.name for word in ("routes", "addresses", "mutated"))]
    return [Stage("", "", families),
            Stage(", with default routes", world.DEFAULT_ROUTES, again),
            Stage(", with policy rules", world.POLICY_RULES, again, fast=False)]


def ask(router, case):
    """The answer to one case."""
    return compare.answer(case, router.exchange(case.port, [case.frame, *case.more]))


def groups(fam, expected, most):
    """
    The family's cases with their expected answers, in order, in lists that travel together: up to
    `most` of one port if sluice may differ in none of them, else one.
    """
    def together(pair):
        case, _ = pair
        return (case.port, fam.grouped and not case.more and case.note != "clock")

    for (_, grouped), run in itertools.groupby(zip(fam.cases, expected), key=together):
        run = list(run)
        size = most if grouped else 1
        yield from (run[i:i + size] for i in range(0, len(run), size))


def ask_group(router, cases):
    """The answers to several cases, sent one behind the other: one list."""
    captured = router.exchange(cases[0].port, [case.frame for case in cases])
    return compare.answers(cases, captured)


def reference_answers(stages, make_world=world.World):
    """What the kernel does: answers by stage, family and case."""
    router = make_world()
    try:
        answers = []
        for stage in stages:
            router.router.script(stage.script)
            answers.append([[ask(router, case) for case in fam.cases] for fam in stage.families])
        return answers
    finally:
        router.close()


# --- Judgement ---

def describe(frame):
    try:
        summary = corpus.Ether(frame).summary()
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


def show_group(cases, kernel, other):
    """What only one of them sent. --group 1 tells which case it answers."""
    lines = [f"{len(cases)} cases into p{cases[0].port}; --group 1 sends them one by one"]
    for who, frames, others in (("kernel", kernel, other), ("tested", other, kernel)):
        only = list((collections.Counter(frames) - collections.Counter(others)).elements())
        lines.append(f"{who} alone: {len(only)} frames")
        lines += [f"  out of p{port}: {describe(frame)}" for port, frame in only[:3]]
    return "\n".join(lines)


def explain(traits, case, kernel, other):
    """The name of the reasoned difference that explains this, or None."""
    if case.more:
        return None
    for difference in DIFFERENCES:
        if not traits.isdisjoint(difference.of) and difference.holds(case, kernel, other):
            return difference.name
    return None


def conservation(contender, before, after, sent):
    """Was every frame put into a port counted once, as forwarded, dropped or punted? '' or what is
    wrong."""
    rx = after["rx"] - before["rx"]
    forward = after["forward"] - before["forward"]
    drops, punts = (sum(after[k]) - sum(before[k]) for k in ("drops", "punts"))
    if rx == forward + drops + punts and (rx == sent or rx > sent and contender.sees_own_broadcasts):
        return ""
    return f"conservation: {sent} frames sent, but rx {rx}, forward {forward}, drops {drops}, punts {punts}"


def forwarded_markers(contender, router):
    """For each port, how many of the markers that follow a packet into it use the fast path."""
    counts = []
    for port in range(world.PORTS):
        before = contender.counters()
        router.exchange(port, [])
        if before is not None:
            counts.append(contender.counters()["forward"] - before["forward"])
    return counts


class Trial:
    """One contender on the whole course."""

    def __init__(self, tap, contender, options):
        self.tap, self.contender, self.shown, self.most = tap, contender, options.shown, options.group
        self.seen = set()  # names of reasoned differences
        self.different = []  # names of families with others

    def family(self, router, stage, fam, expected, markers):
        before = self.contender.counters()
        sent = sum(router.sent[i] for i in contenders.FAST_PORTS)
        equal, explained, wrong, frames, into, notes = 0, 0, 0, 0, [], []
        for group in groups(fam, expected, self.most):
            case, kernel = group[0]
            into.append(case.port)  # one set of markers
            if len(group) > 1:
                cases = [case for case, _ in group]
                kernel = sorted(frame for _, answer in group for frame in answer)
                other = ask_group(router, cases)
            else:
                other = ask(router, case)
            frames += len(other)
            if kernel == other:
                equal += len(group)
            elif len(group) > 1:
                wrong += len(group)
                if len(notes) < self.shown:
                    notes.append(show_group(cases, kernel, other))
            elif name := explain(self.contender.traits, case, kernel, other):
                explained += 1
                self.seen.add(name)
            else:
                wrong += 1
                if wrong <= self.shown:
                    notes.append(show(case, kernel, other))
        counts = f"{equal} equal, {explained} reasoned, {wrong} different; {frames} frames out"
        passed = not wrong
        if before is not None:
            after = self.contender.counters()
            sent = sum(router.sent[i] for i in contenders.FAST_PORTS) - sent
            fast = after["forward"] - before["forward"] - sum(markers[port] for port in into)
            counts += f", {fast} by the fast path"
            if fault := conservation(self.contender, before, after, sent):
                passed = False
                notes.append(fault)
            if fam.fast and stage.fast and fast <= 0:
                passed = False
                notes.append("no packet took the fast path: nothing was tested")
        if not passed:
            self.different.append(fam.name)
        self.tap.result(passed, f"{self.contender.name}: {fam.name}{stage.name} ({counts})", notes)

    def run(self, stages, reference, make_world=world.World):
        started = time.monotonic()
        router = make_world()
        try:
            self.contender.start(router.router)
            for stage, answers in zip(stages, reference):
                router.router.script(stage.script)
                self.contender.settle()
                markers = forwarded_markers(self.contender, router)
                for fam, expected in zip(stage.families, answers):
                    self.family(router, stage, fam, expected, markers)
        except (TimeoutError, contenders.Failed) as error:
            self.tap.result(False, f"{self.contender.name}: runs to its end", [str(error)])
        finally:
            self.contender.stop()
            router.close()
        print(f"# {self.contender.name}: {time.monotonic() - started:.1f} s")


def harness_sees_differences(tap, stages, reference, options):
    """A kernel with slightly different settings must be told from the reference, or equality means
    nothing."""
    silent = Tap()
    silent.result = lambda *args: None
    trial = Trial(silent, contenders.OtherKernel(), options)
    trial.run(stages[:1], reference[:1])
    for name in contenders.OtherKernel.families:
        tap.result(name in trial.different, f"harness: another kernel setting is seen in {name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="contenders whose name contains this")
    parser.add_argument("--family", default="", help="families whose name contains this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shown", type=int, default=3, help="packets printed of a failed test")
    parser.add_argument("--group", type=int, default=16, help="packets that share markers, where none may differ")
    options = parser.parse_args()

    world.pin_to_one_cpu()
    stages = course(options)
    cases = [case for stage in stages for fam in stage.families for case in fam.cases]
    print(f"# seed {options.seed}: {sum(1 + len(case.more) for case in cases)} packets")
    tap = Tap()
    reference = reference_answers(stages)

    # First the kernel against itself: the test must see no difference where none is, and see one
    # where one is.
    Trial(tap, contenders.Kernel(), options).run(stages, reference)
    everything = not options.only and not options.family
    if everything:
        harness_sees_differences(tap, stages, reference, options)
    seen, traits = set(), set()
    for contender in contenders.everyone():
        if options.only in contender.name:
            trial = Trial(tap, contender, options)
            trial.run(stages, reference)
            seen |= trial.seen
            traits |= contender.traits
    if everything:
        for difference in DIFFERENCES:
            if traits.isdisjoint(difference.of):
                continue
            tap.result(difference.name in seen, f"reasoned difference occurs: {difference.name}")
    return 0 if tap.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
