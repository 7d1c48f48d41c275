#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The sums of netns-lab/lib/conservation.py: each fault in a cluster of two nodes breaks exactly the sum that is about it."""
import copy
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../netns-lab/lib"))
import conservation

SENT = 1000


def node(**changes):
    """The counters of a node, in the form of conservation.node_counters; `frames`, `xdp` and so on change parts of it."""
    frames = {name: 0 for name in ("ingress", "sent", "local", "egress", "transmitted") + conservation.INGRESS_DROPS + conservation.EGRESS_DROPS}
    counters = {
        "xdp": {"rx": 0, "forward": 0, "voq": 0, "express": 0,
                "drops": {"voq-full": 0, "ttl": 0, "tx-ring": 0, "tx-error": 0, "express-tx": 0},
                "punts": {"local": 0, "no-neighbour": 0},
                "port_drops": {"eth1/3": 0, "eth2/4": 0}},
        "bridge": {"epoch": 7, "violations": 0, "frames": frames, "lost_messages": {"9": 0}, "refused_messages": 0, "silent": False,
                   "no_room_messages": 0, "message_frames": "4", "waiting_voq": 0, "waiting_egress": 0,
                   "express_taken": 0, "edges": ["eth1"], "remotes": ["n2p1"]},
        "remote": {"n2p1/9": {"read": 0, "refused": 0}},
        "edge": {"sent": 0, "refused": 0},
    }
    for path, n in changes.items():
        *parts, last = path.split("__")
        place = counters
        for part in parts:
            place = place[part]
        place[last.replace("_", "-") if last not in place else last] = n
    return counters


def crossing():
    """Both nodes after SENT frames crossed from the first to the second."""
    return {"nodes": {"n1": node(xdp__rx=SENT, xdp__voq=SENT, bridge__frames__sent=SENT),
                      "n2": node(bridge__frames__egress=SENT, bridge__frames__transmitted=SENT, edge__sent=SENT)},
            "fabric_drops": 0}


def ledger(change=None, received=SENT, punted=(), sent=SENT):
    """The ledger after `change` has been made to a crossing."""
    before, after = {"nodes": {"n1": node(), "n2": node()}, "fabric_drops": 0}, crossing()
    if change:
        change(after, after["nodes"]["n1"], after["nodes"]["n2"])
    out = conservation.Ledger(before, copy.deepcopy(after))
    out.whole(sent, received, punted=punted)
    return out


def wrong(*args, **kwargs):
    """The sums that do not hold: the first words of each complaint."""
    return sorted({line.split(":")[0] + ":" + line.split(":")[1] if line[0] == "n" else line.split(":")[0]
                   for line in ledger(*args, **kwargs).wrong})


def equal(got, expected):
    if got != expected:
        raise AssertionError(f"{got!r}, expected {expected!r}")


def shortfall(frames, messages=0, refused=0, explained=True):
    """`frames` fewer come out of the fabric than went in; so many messages were lost or refused."""
    def change(cluster, _, n2):
        for name in ("egress", "transmitted"):
            n2["bridge"]["frames"][name] -= frames
        n2["edge"]["sent"] -= frames
        n2["bridge"]["lost_messages"]["9"], n2["bridge"]["refused_messages"] = messages, refused
        cluster["fabric_drops"] = messages if explained else 0
    return change


def test_balanced():
    equal(wrong(), [])
    equal(ledger().drops, {})


def test_one_frame_too_few_or_too_many():
    equal(wrong(received=SENT - 1), ["whole"])
    equal(wrong(received=SENT + 1), ["whole"])


def test_punted_frames_excuse_only_the_reasons_that_were_named():
    def change(_, n1, __):
        n1["xdp"]["rx"] += 3
        n1["xdp"]["punts"]["local"] = 2
        n1["xdp"]["punts"]["no-neighbour"] = 1
    equal(wrong(change), [])
    equal(wrong(change, received=SENT - 1), ["whole"])
    equal(wrong(change, received=SENT - 1, punted=["no-neighbour"]), [])
    equal(ledger(change, received=SENT - 1, punted=["no-neighbour"]).drops, {"kernel": 1})
    equal(wrong(change, received=SENT - 2, punted=["no-neighbour"]), ["whole"])
    equal(wrong(change, received=SENT - 3, punted=["no-neighbour", "local"]), [])
    equal(wrong(change, punted=["no-neighbor"]), ["whole"])


def test_each_sum_of_a_node():
    def add(path, n, name="n1"):
        def change(cluster, _, __):
            place = cluster["nodes"][name]
            *parts, last = path.split("/")
            for part in parts:
                place = place[part.replace("|", "/")]
            place[last.replace("|", "/")] += n
        return change
    equal(wrong(add("xdp/rx", 1)), ["n1: edge ports"])
    equal(wrong(add("xdp/forward", 1)), ["n1: departure", "n1: edge ports"])
    equal(wrong(add("xdp/drops/ttl", 1)), ["n1: edge ports", "n1: ports", "whole"])
    equal(wrong(add("xdp/port_drops/eth1|3", 1)), ["n1: ports"])
    equal(wrong(add("remote/n2p1|9/read", 1)), ["n1: ingress"])
    equal(wrong(add("bridge/frames/drop-voq-ring", 1)), ["n1: ingress", "whole"])
    equal(wrong(add("bridge/frames/drop-queue-full", 1, "n2")), ["n2: egress", "whole"])
    equal(wrong(add("bridge/waiting_egress", 1, "n2")), ["n2: egress", "whole"])
    equal(wrong(add("edge/sent", -1, "n2")), ["n2: departure"])
    equal(wrong(add("bridge/violations", 1, "n2")), ["n2: 1 chunks changed hands against the rules"])


def test_frames_that_went_past_the_bridges():
    def change(_, n1, n2):
        n1["xdp"]["express"], n1["bridge"]["frames"]["sent"] = 400, SENT - 400
        n2["bridge"]["express_taken"] = 400
        n2["bridge"]["frames"]["egress"] = n2["bridge"]["frames"]["transmitted"] = SENT - 400

    def and_then(path, n, name="n1"):
        def both(cluster, n1, n2):
            change(cluster, n1, n2)
            place = cluster["nodes"][name]
            *parts, last = path.split("/")
            for part in parts:
                place = place[part]
            place[last] += n
        return both
    equal(wrong(change), [])
    equal(wrong(and_then("xdp/express", 1)), ["fabric", "n1: ingress"])
    equal(wrong(and_then("bridge/express_taken", 1, "n2")), ["fabric", "n2: departure"])

    def refused(cluster, n1, n2):  # 5 that the fabric's driver did not take
        change(cluster, n1, n2)
        n1["xdp"]["drops"]["express-tx"] = 5
        n2["bridge"]["express_taken"] -= 5
        n2["edge"]["sent"] -= 5
    equal(wrong(refused, received=SENT - 5), [])
    equal(ledger(refused, received=SENT - 5).drops, {"express-tx": 5})


def test_a_drop_counted_once_is_in_the_ledger_under_its_name():
    def change(_, n1, __):
        n1["xdp"]["rx"] += 5
        n1["xdp"]["drops"]["voq-full"] = n1["xdp"]["port_drops"]["eth1/3"] = 5
    equal(wrong(change, sent=SENT + 5), [])
    equal(ledger(change, sent=SENT + 5).drops, {"voq-full": 5})
    # Five frames of others were dropped, so they excuse five of the generator's, and no more.
    equal(wrong(change), [])
    equal(wrong(change, received=SENT + 1), ["whole"])


def test_a_lost_message_holds_no_more_frames_than_fit():
    equal(wrong(shortfall(1), received=SENT - 1), ["fabric", "whole"])
    equal(wrong(shortfall(8, messages=2), received=SENT - 8), [])
    equal(wrong(shortfall(9, messages=2), received=SENT - 9), ["fabric"])
    equal(wrong(shortfall(4, refused=1), received=SENT - 4), [])
    equal(wrong(shortfall(5, refused=1), received=SENT - 5), ["fabric"])
    equal(ledger(shortfall(8, messages=2), received=SENT - 8).drops, {"fabric": 8})
    equal(wrong(shortfall(8, messages=2), received=SENT - 9), ["whole"])


def test_a_lost_message_needs_a_cause():
    equal(wrong(shortfall(8, messages=2, explained=False), received=SENT - 8), ["fabric"])


def test_a_remote_port_that_goes_is_accounted_for_by_what_the_bridge_took():
    def change(read, sent):
        def goes(_, n1, n2):
            n1["remote"] = {"n2p2/12": {"read": 2, "refused": 0}}
            n1["bridge"]["frames"]["ingress"] = SENT + read
            n1["bridge"]["frames"]["sent"] = SENT + sent
            for counters, name in ((n2["bridge"]["frames"], "egress"), (n2["bridge"]["frames"], "transmitted"), (n2["edge"], "sent")):
                counters[name] = SENT + sent
        return goes
    equal(wrong(change(7, 7)), [])
    equal(ledger(change(7, 7)).nodes["n1"]["remote"], 7)
    equal(wrong(change(7, 6)), ["n1: ingress"])
    # One that has come anew under its name counts from zero.
    def again(_, n1, __):
        n1["remote"] = {"n2p1/13": {"read": 5, "refused": 0}}
        n1["bridge"]["frames"]["ingress"] = SENT
    equal(wrong(again), [])


def test_a_node_on_which_nothing_ran_counts_from_zero():
    bare = {"xdp": {}, "bridge": None, "remote": {}, "edge": {"sent": 0, "refused": 0}}
    before = {"nodes": {"n1": node(), "n2": bare}, "fabric_drops": 0}
    for late, expected in ((0, []), (1, ["n2: egress: 1000, transmitted 999 + dropped 0 + waiting 0"])):
        after = crossing()
        after["nodes"]["n2"]["bridge"]["frames"]["transmitted"] -= late
        equal([line for line in conservation.Ledger(before, after).wrong if "egress:" in line], expected)
    after = {"nodes": {"n1": node(), "n2": bare}, "fabric_drops": 0}
    equal(conservation.Ledger(before, after).wrong, [])


def test_a_restarted_bridge_leaves_out_its_sums_and_is_named():
    def change(_, __, n2):
        n2["bridge"]["epoch"] = 8
        n2["bridge"]["frames"]["egress"] = 3
    equal(ledger(change).restarted, ["n2"])
    equal(wrong(change), [])


TESTS = [(name, test) for name, test in list(globals().items()) if name.startswith("test_")]


def main():
    failed = 0
    print(f"1..{len(TESTS)}")
    for number, (name, test) in enumerate(TESTS, 1):
        try:
            test()
        except AssertionError as error:
            failed += 1
            print(f"not ok {number} - {name[5:].replace('_', ' ')}\n# {error}")
        else:
            print(f"ok {number} - {name[5:].replace('_', ' ')}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
