# SPDX-License-Identifier: BSD-2-Clause
"""The experiments: each makes its own lab, writes its data and pictures, and returns (result, does
it hold, verdict)."""
import json
import signal
import statistics
import time

from controlled_run import Run, Traces, percentile, pictures, plot_run, rates_between, stop
from fairness import fairness
from shaped_lab import EGRESS, SOURCES, Lab, shaped

TABLE71 = ((299, 298, 74), (299, 299, 149), (300, 299, 224), (299, 299, 299))  # of 739 kpps, thesis table 7.1
TABLE71_CAPACITY = 739
SETTLED = 0.05  # a step has settled when the rates stay within this share of their ideal
# W, M and Q of the thesis's simulation (7.6). With our defaults instead, the port stays in use.
THESIS_AIMD = ("increase_ppb=65402224", "decrease_ppb=500000000", "threshold_ppb=130804447")
FILL = ("price", "aimd", "dq", "credit", "rcp")  # these must use 99 % of the port, with a Jain index of 0.99


def max_min(capacity, offered):
    """Max-min shares of equal weights: a source that offers less than its part gets all it offers,
    and the others share what it leaves."""
    shares, left = {}, capacity
    for i, n in zip(sorted(range(len(offered)), key=lambda i: offered[i]), range(len(offered), 0, -1)):
        shares[i] = min(offered[i], left / n)
        left -= shares[i]
    return [shares[i] for i in range(len(offered))]


def missed(results):
    """The requirements that the results do not meet."""
    misses = []
    for name, r in results.items():
        if name in FILL and r["use"] < 0.99:
            misses.append(f"{name} uses {r['use']:.1%} of the port")
        if name in FILL and r["jain"] < 0.99:
            misses.append(f"{name} has a Jain index of {r['jain']}")
        if name == "price" and r["dropped_at_egress"]:
            misses.append(f"price lets {r['dropped_at_egress']} frames die at the egress")
    return misses


def overload(options, out):
    """four times too much, by each controller and by none: shares, use, drops, queue"""
    names = options.controllers or ["fixed", "weights", "price", "aimd", "aimd-thesis", "qcn", "asm", "dq", "credit", "rcp", "swift",
                                    "hpcc", "dcqcn"]
    words = {"aimd-thesis": THESIS_AIMD}
    results = {}
    with Lab(options, keys={"n4p1": shaped(options)}) as lab:
        for name in names:
            if name == "fixed":
                lab.unlimited()
            else:
                lab.control("dq" if name != "dq" else "price")  # so that each begins with its own defaults
                lab.control(name.split("-", maxsplit=1)[0], *words.get(name, []))
            run = Run(lab, [options.rate * 4 / 3] * 3, options.seconds)
            results[name] = run.summary()
            run.traces.write(f"{out}/{name}.csv")
            pictures(f"{out}/{name}", lambda *axes, run=run: plot_run(axes, run.traces))
            time.sleep(1.5)
    pictures(f"{out}/overload", lambda *axes: plot_overload(axes, results, options), panels=3)
    misses = missed(results)
    return results, not misses, (
        f"asked of {', '.join(FILL)}: use and Jain index of 99 %, of price no egress drop: {'; '.join(misses) or 'met'}. " +
        "; ".join(f"{n}: use {r['use']:.1%}, Jain {r['jain']}, egress drops {r['dropped_at_egress']}" for n, r in results.items()))


def plot_overload(axes, results, options):
    """By controller: the frames that cross the fabric and their end, the queue, and the share of
    each source."""
    crossing, waiting, shares = axes
    names, at = list(results), range(len(results))
    left = [r["departed"] / r["seconds"] / options.rate for r in results.values()]
    died = [r["dropped_at_egress"] / r["seconds"] / options.rate for r in results.values()]
    crossing.bar(at, left, label="leave")
    crossing.bar(at, died, bottom=left, color="#c03030", label="die at the egress")
    crossing.set_ylabel("frames over the fabric / C")
    waiting.bar(at, [r["waiting_p99"] for r in results.values()], color="#bbbbbb", label="99th percentile")
    waiting.bar(at, [r["waiting_median"] for r in results.values()], color="#444444", label="median")
    waiting.set_ylabel("frames in the egress queue")
    for k, source in enumerate(SOURCES):
        shares.bar([i + 0.27 * (k - 1) for i in at], [r["rates_pps"][k] / options.rate * 3 for r in results.values()], 0.25,
                   label=f"node {source}")
    shares.set_ylabel("what arrives / (C / 3)")
    for panel in axes:
        panel.set_xticks(list(at), names, rotation=30, ha="right")
        panel.legend(frameon=False, fontsize=8)


# For each case a label, and how many frames a message may hold (None: as many as fit).
COLLAPSE = {"fixed-1": ("without control, one frame a message", 1), "price-1": ("price, one frame a message", 1),
            "fixed": ("without control, packed", None), "price": ("price, packed", None)}


def collapse(options, out):
    """the load grows to four times the port, with control and without: what crosses the fabric,
    where the rest is dropped"""
    results = []
    for case, (_, degree) in COLLAPSE.items():
        with Lab(options, keys={"n4p1": shaped(options)}, degree=degree) as lab:
            lab.control("price") if case.startswith("price") else lab.unlimited()
            for load in (0.5, 1.0, 1.5, 2.0, 3.0, 4.0):
                run = Run(lab, [options.rate * load / 3] * 3, options.seconds / 2)
                results.append(dict(run.summary(), case=case, load=load))
                time.sleep(1)

    def over(row, what):
        return row[what] / row["seconds"] / options.rate

    def draw(*panels):
        texts = (("data_messages", "messages over the fabric / C"), ("departed", "frames that leave / C"),
                 ("dropped_at_egress", "frames dropped at the egress / C"), ("dropped_at_ingress", "frames dropped at the ingress / C"))
        for axes, (what, text) in zip(panels, texts):
            for case, (label, degree) in COLLAPSE.items():
                rows = [r for r in results if r["case"] == case]
                axes.plot([r["load"] for r in rows], [over(r, what) for r in rows], "o-" if degree else "o:", label=label,
                          linewidth=1.5, color="#c03030" if case.startswith("fixed") else "#1f6fb2")
            axes.set_xlabel("offered / C")
            axes.set_ylabel(text)
            axes.set_ylim(0, 4.3 if what != "departed" else 1.1)
        panels[0].legend(frameon=False, fontsize=8)

    pictures(f"{out}/collapse", draw, panels=4, width=4)
    last = {case: [r for r in results if r["case"] == case][-1] for case in COLLAPSE}
    good = over(last["fixed-1"], "data_messages") > 2
    for k in ("", "-1"):
        with_it, without = last[f"price{k}"], last[f"fixed{k}"]
        good &= over(with_it, "arrived") < 1.02 and with_it["dropped_at_egress"] == 0 and over(without, "dropped_at_egress") > 2
    return results, good, "at 4 C " + "; ".join(
        f"{label}: {over(last[case], 'arrived'):.2f} C frames in {over(last[case], 'data_messages'):.2f} C messages cross the fabric, "
        f"{over(last[case], 'dropped_at_egress'):.2f} C are dropped at the egress, {over(last[case], 'dropped_at_ingress'):.2f} C at the "
        "ingress" for case, (label, _) in COLLAPSE.items())


def table71(options, out):
    """the four rows of Table 7.1 of the thesis, scaled to the port: shares against max-min"""
    results, worst = [], 0.0
    with Lab(options, keys={"n4p1": shaped(options, options.controller)}) as lab:
        for k, row in enumerate(TABLE71):
            offered = [o * options.rate / TABLE71_CAPACITY for o in row]
            run = Run(lab, offered, options.seconds)
            ideal = max_min(options.rate, run.offered)
            errors = [r / i - 1 for r, i in zip(run.rates, ideal)]
            worst = max(worst, *(abs(e) for e in errors))
            results.append(dict(run.summary(), row=k + 1, ideal_pps=[round(i, 1) for i in ideal],
                                errors=[round(e, 4) for e in errors]))
            run.traces.write(f"{out}/row{k + 1}.csv")
            pictures(f"{out}/row{k + 1}", lambda *axes, run=run: plot_run(axes, run.traces))
            time.sleep(1.5)
    drops = sum(r["dropped_at_egress"] for r in results)
    return results, worst <= 0.02 and drops == 0, f"largest error of a share {worst:.2%}; egress drops {drops}"


def unequal(options, out):
    """loads as 500 to 50 to 5: the small ones are served, the large one has the rest"""
    offered = [options.rate * 1.2775 * part for part in (1, 0.1, 0.01)]
    with Lab(options, keys={"n4p1": shaped(options, options.controller)}) as lab:
        run = Run(lab, offered, options.seconds)
    ideal = max_min(options.rate, run.offered)
    errors = [r / i - 1 for r, i in zip(run.rates, ideal)]
    run.traces.write(f"{out}/unequal.csv")
    pictures(f"{out}/unequal", lambda *axes: plot_run(axes, run.traces))
    result = dict(run.summary(), ideal_pps=[round(i, 1) for i in ideal], errors=[round(e, 4) for e in errors])
    return result, max(map(abs, errors)) <= 0.02, "rates {:.0f} / {:.0f} / {:.0f}, ideal {:.0f} / {:.0f} / {:.0f}".format(
        *run.rates, *ideal)


def settled_after(rows, begin_ns, expected, limit_ns, hold_ns):
    """Nanoseconds from begin_ns until every VOQ's limit stays near `expected` for hold_ns. None:
    not by limit_ns."""
    last = begin_ns
    for at_ns in sorted(r["end_ns"] for voq in rows for r in voq
                        if begin_ns < r["end_ns"] <= limit_ns and abs(r["rate"] / expected - 1) > SETTLED):
        if at_ns > last + hold_ns:
            break
        last = at_ns
    return last - begin_ns if last + hold_ns <= limit_ns else None


def step(options, out):
    """one of three sources leaves and joins, three times: how many intervals until the limits are
    within 5 % for 50"""
    part, load, steps = max(4.0, 150 * options.interval_us / 1e6), options.rate, []
    with Lab(options, keys={"n4p1": shaped(options, options.controller, bursts=False)}) as lab:
        traces = Traces(lab)
        stay = [lab.send(i, load, 8 * part + 120) for i in SOURCES[1:]]
        comes = lab.send(1, load, part + 120)
        traces.follow(2 * part)
        for _ in range(3):
            begin_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            stop((comes,))
            traces.follow(part)
            steps.append(("leave", begin_ns, time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
            begin_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            comes = lab.send(1, load, part + 120)
            traces.follow(part)
            steps.append(("join", begin_ns, time.clock_gettime_ns(time.CLOCK_MONOTONIC)))
        stop((*stay, comes))
    traces.write(f"{out}/step.csv")
    pictures(f"{out}/step", lambda *axes: plot_run(axes, traces))
    intervals, longest_ms = {"leave": [], "join": []}, {"leave": [], "join": []}
    for what, begin_ns, end_ns in steps:
        # The step begins when the port sees it: a generator takes a while to start, and a VOQ sends
        # frames after its end.
        ends = [r["end_ns"] for r in traces.egress() if begin_ns < r["end_ns"] <= end_ns and r["from"][0]]
        at_ns = begin_ns if not ends else ends[0] if what == "join" else ends[-1]
        left = SOURCES if what == "join" else SOURCES[1:]
        ns = settled_after([traces.rows[i, 1, 0] for i in left], at_ns, options.rate / len(left), end_ns,
                           50000 * options.interval_us)
        intervals[what].append(None if ns is None else round(ns / 1000 / options.interval_us, 1))
        longest_ms[what].append(round(longest_interval_ms(traces.egress(), at_ns, end_ns), 1))
    good = all(v is not None and v <= 50 for values in intervals.values() for v in values)
    return dict(intervals, interval_us=options.interval_us, longest_interval_ms=longest_ms), good, (
        f"a source that leaves: {intervals['leave']} T, that joins: {intervals['join']} T (None: not settled); T is "
        f"{options.interval_us / 1000:g} ms, the longest interval meanwhile was {longest_ms['leave']} and {longest_ms['join']} ms")


def longest_interval_ms(rows, begin_ns, end_ns):
    """The longest interval between two times. If it is much longer than T, the machine was busy
    with something else."""
    return max([r["elapsed_ns"] for r in rows if begin_ns < r["end_ns"] <= end_ns] or [0]) / 1e6


def sync(options, out):
    """does what arrives swing as one? all sources overloaded, aimd as in the thesis beside price
    and weights"""
    results = {}
    with Lab(options, keys={"n4p1": shaped(options)}) as lab:
        for name in ("aimd", "weights", "price"):
            lab.control(name, *(THESIS_AIMD if name == "aimd" else ()))
            run = Run(lab, [options.rate] * 3, options.seconds)
            # Windows of a few T, so that bursts of the bridges do not count as swings.
            windows, now = [], []
            for row in run.rows:
                now.append(row)
                if sum(r["elapsed_ns"] for r in now) >= 4000 * options.interval_us:
                    seconds = sum(r["elapsed_ns"] for r in now) / 1e9
                    windows.append([sum(r["from"][k] for r in now) / seconds for k in range(3)])
                    now = []
            sums = [sum(w) for w in windows]
            swing = statistics.pstdev(sums) / statistics.mean(sums) if len(sums) > 1 else 0
            results[name] = dict(run.summary(), swing=round(swing, 4))
            run.traces.write(f"{out}/{name}.csv")
            pictures(f"{out}/{name}", lambda *axes, run=run: plot_run(axes, run.traces))
            time.sleep(1.5)
    good = results["price"]["swing"] < results["aimd"]["swing"]
    return results, good, "standard deviation of what arrives: " + ", ".join(f"{n} {r['swing']:.1%}" for n, r in results.items())


def tcp(options, out):
    """TCP of two nodes beside UDP of the third that offers twice the port, with control and
    without"""
    results = {}
    with Lab(options, keys={"n4p1": shaped(options, rate=options.rate // 4)}) as lab:
        for name in ("fixed", "price"):
            lab.unlimited() if name == "fixed" else lab.control(name)
            servers = [lab.start("h4p1", "iperf3", "-s", "-1", "-J", "-p", str(5200 + i)) for i in (1, 2)]
            time.sleep(0.5)
            traces = Traces(lab)
            udp = lab.send(3, options.rate / 2, options.seconds + 60)
            clients = [lab.start(f"h{i}p1", "iperf3", "-c", f"10.{EGRESS}.1.2", "-p", str(5200 + i), "-t",
                                 str(int(options.seconds)), "-J") for i in (1, 2)]
            before = lab.counters()
            traces.follow(options.seconds)
            after = lab.counters()
            stop((udp,))
            bits = []
            for client in clients:
                report = json.loads(client.communicate(timeout=60)[0] or "{}")
                bits.append(report.get("end", {}).get("sum_received", {}).get("bits_per_second", 0))
            for server in servers:
                server.send_signal(signal.SIGTERM)
                server.wait()
            rates = rates_between(traces.egress(), before["ns"], after["ns"])
            results[name] = {"tcp_mbps": [round(b / 1e6, 2) for b in bits], "rates_pps": [round(r) for r in rates],
                             "dropped_at_egress": after["dropped"] - before["dropped"]}
            traces.write(f"{out}/{name}.csv")
            pictures(f"{out}/{name}", lambda *axes, traces=traces: plot_run(axes, traces))
            time.sleep(1.5)
    total = {name: sum(r["tcp_mbps"]) for name, r in results.items()}
    good = total["price"] > total["fixed"] and results["price"]["dropped_at_egress"] <= results["fixed"]["dropped_at_egress"]
    return results, good, (f"two TCP flows beside UDP of twice the port: {total['fixed']:.1f} Mbit/s without control, "
                           f"{total['price']:.1f} with price; frames of nodes 1, 2, 3: {results['price']['rates_pps']}")


def two_ports(options, out):
    """two congested ports of one node at once, every source sending to both"""
    rates = (options.rate // 2, options.rate // 4)
    keys = {f"n4p{p}": shaped(options, options.controller, rate) for p, rate in zip((1, 2), rates)}
    with Lab(options, ports=2, keys=keys) as lab:
        traces = Traces(lab, ports=(1, 2))
        generators = [lab.send(i, rate, options.warm_up + options.seconds + 60, port=p, to=(EGRESS, p))
                      for i in SOURCES for p, rate in zip((1, 2), rates)]
        traces.follow(options.warm_up)
        before = lab.counters()
        traces.follow(options.seconds)
        after = lab.counters()
        stop(generators)
    shares = {p: rates_between(traces.egress(p), before["ns"], after["ns"]) for p in (1, 2)}
    errors = [s / (rate / 3) - 1 for p, rate in zip((1, 2), rates) for s in shares[p]]
    traces.write(f"{out}/two-ports.csv")
    for p in (1, 2):
        pictures(f"{out}/port{p}", lambda *axes, p=p: plot_run(axes, traces, p))
    dropped = after["dropped"] - before["dropped"]
    result = {"rates_pps": {p: [round(s) for s in shares[p]] for p in shares}, "capacities_pps": rates,
              "errors": [round(e, 4) for e in errors], "dropped_at_egress": dropped}
    return result, max(map(abs, errors)) <= 0.02 and dropped == 0, (
        f"largest error of a share {max(map(abs, errors)):.2%}; egress drops {dropped}")


def classes(options, out):
    """two classes of weight 10 each at one port, 10 and 1 at another: the second comes later; shares after 2 s"""
    weights = {1: (10, 10), 2: (10, 1)}
    keys = {f"n4p{p}": shaped(options, options.controller, options.rate // 2) + ", scheduler: drr, queues: ["
            + ", ".join(f"{{class: {c}, frames: {options.queue_frames}, weight: {w}}}" for c, w in enumerate(pair)) + "]"
            for p, pair in weights.items()}
    seconds, generators = options.warm_up + options.seconds + 60, []
    with Lab(options, ports=2, keys=keys) as lab:
        def departed():
            return {(q["port"], q["class"]): q["departed_frames"] for q in lab.ask(EGRESS, command="egress-queues")}

        for c in (0, 1):
            # Class 1 finds its port full. Source c + 1 sends it, so that what differs is the class alone.
            generators += [lab.send(c + 1, options.rate, seconds, port=p, to=(EGRESS, p), dscp=16 * c) for p in weights]
            time.sleep(2)
        before = departed()
        time.sleep(options.seconds)
        after = departed()
        stop(generators)
    result, errors = {}, []
    for p, pair in weights.items():
        frames = [after[f"n4p{p}", c] - before[f"n4p{p}", c] for c in (0, 1)]
        errors.append(frames[0] * pair[1] / (frames[1] * pair[0]) - 1 if frames[1] else 1)
        result[f"{pair[0]}:{pair[1]}"] = {"frames": frames, "error": round(errors[-1], 4)}
    with open(f"{out}/classes.csv", "w", encoding="ascii") as file:
        print("weights,class_0_frames,class_1_frames", file=file)
        for name, row in result.items():
            print(f"{name},{row['frames'][0]},{row['frames'][1]}", file=file)
    return result, abs(errors[0]) <= 0.02 and abs(errors[1]) <= 0.05, "; ".join(
        f"{name}: {row['frames'][0]} and {row['frames'][1]} frames, off by {row['error']:.1%}" for name, row in result.items())


def slow_node(options, out):
    """a port of node 3 takes a twentieth: does what goes to node 4 from the same sources suffer?"""
    slow = options.rate // 20
    results = {}
    with Lab(options, keys={"n4p1": shaped(options), "n3p1": shaped(options, rate=slow)}) as lab:
        lab.nodes["h1p1"].run("ping", "-c", "2", "-W", "1", "10.3.1.2")
        lab.nodes["h2p1"].run("ping", "-c", "2", "-W", "1", "10.3.1.2")
        for name, load in (("alone", 0), ("beside", options.rate // 2)):
            traces = Traces(lab)
            total = options.warm_up + options.seconds + 60
            generators = [lab.send(i, options.rate * 0.4, total) for i in (1, 2)]
            if load:
                generators += [lab.send(i, load, total, to=(3, 1)) for i in (1, 2)]
            traces.follow(options.warm_up)
            before = lab.counters()
            traces.follow(options.seconds)
            after = lab.counters()
            stop(generators)
            results[name] = {"rates_pps": [round(r) for r in rates_between(traces.egress(), before["ns"], after["ns"])[:2]],
                             "dropped_at_egress": after["dropped"] - before["dropped"]}
            traces.write(f"{out}/{name}.csv")
            time.sleep(1.5)
        queue = [q for q in lab.ask(3, command="egress-queues") if q["port"] == "n3p1" and q["class"] == 0][0]
    results["slow_port"] = {name: queue[f"{name}_frames"] for name in ("arrived", "departed", "dropped")}
    alone, beside = (sum(results[n]["rates_pps"]) for n in ("alone", "beside"))
    return results, beside >= 0.98 * alone, (f"to node 4: {alone} frames/s alone, {beside} beside ten times too much for the slow "
                                             f"port, which dropped {queue['dropped_frames']}")


def delay(options, out):
    """twice too much: the time that frames wait at the egress"""
    with Lab(options, keys={"n4p1": shaped(options, options.controller, bursts=False)}) as lab:
        run = Run(lab, [options.rate * 2 / 3] * 3, options.seconds)
    bound = 4 * 0.1308 * options.interval_us / 1e6
    p99 = percentile(run.waiting, 0.99) / options.rate
    run.traces.write(f"{out}/delay.csv")
    pictures(f"{out}/delay", lambda *axes: plot_run(axes, run.traces))
    return dict(run.summary(), p99_ms=round(p99 * 1e3, 3), bound_ms=round(bound * 1e3, 3)), p99 < bound, (
        f"99th percentile {p99 * 1e3:.2f} ms, four times the target {bound * 1e3:.2f} ms; T is {options.interval_us / 1000:g} ms, "
        f"the longest interval {run.longest_ms:.1f} ms")


EXPERIMENTS = {f.__name__.replace("_", "-"): f for f in (collapse, overload, table71, unequal, step, sync, tcp, two_ports,
                                                          classes, slow_node, delay, fairness)}
