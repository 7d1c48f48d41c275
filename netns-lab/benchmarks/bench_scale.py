# SPDX-License-Identifier: BSD-2-Clause
"""What a cluster costs its nodes by its size: bridges and daemons of all nodes in one process
(tests/rehearsal), in made-up time. Processor times are those of this machine, which holds the
memory of all nodes at once.
"""
import json
import statistics
import subprocess

from pictures import lines, save
from trials import SOURCE, Failure, machine, progress

SIZES = (3, 16, 64, 255)
QUICK_SIZES = (3, 16)
PHASES = {"cold": "all start", "change": "a port and a neighbour change", "half": "half of the nodes are off",
          "back": "they are back"}
PARTS = ("bridge", "join", "daemon")


def rehearse(nodes):
    progress(f"scale: {nodes} nodes")
    command = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
               f"{SOURCE}/build/tests/rehearsal/rehearse", "--nodes", str(nodes)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=SOURCE, check=False)
    progress("")
    if result.returncode:
        raise Failure(f"rehearse: {result.stderr.strip()}")
    return {row["phase"]: row for row in map(json.loads, result.stdout.splitlines())}


def cpu_us(row, parts=PARTS):
    """Processor time of a node."""
    return sum(row[f"{part}_us"] for part in parts) / row["run"]


def median(runs, value):
    return statistics.median(value(run) for run in runs)


def print_tables(results):
    print("\nFrom an event until all nodes know it, in made-up time; processor time of a node for it")
    print(f"{'nodes':>6}" + "".join(f"{name:>24}" for name in PHASES))
    for nodes, runs in results.items():
        print(f"{nodes:>6}" + "".join(
            f"{median(runs, lambda run, name=name: run[name]['ms']):>10.0f} ms"
            f"{median(runs, lambda run, name=name: cpu_us(run[name])) / 1000:>8.2f} ms" for name in PHASES))
    print("\nA node in a second in which nothing happens, and without half of the nodes")
    print(f"{'nodes':>6}{'hellos':>9}{'announcements':>15}{'kB sent':>9}{'bridge':>10}{'daemon':>10}{'memory':>10}"
          f"{'calls without half':>20}{'cpu':>10}")
    for nodes, runs in results.items():
        def of(field, phase="steady"):
            return median(runs, lambda run: run[phase][field] / run[phase]["run"] / (run[phase]["ms"] / 1000))
        print(f"{nodes:>6}{of('hellos'):>9.0f}{of('announcements'):>15.0f}{of('bytes') / 1000:>9.0f}"
              f"{(of('bridge_us') + of('join_us')) / 1000:>7.2f} ms{of('daemon_us') / 1000:>7.2f} ms"
              f"{median(runs, lambda run: run['steady']['resident_bytes'] / run['steady']['nodes']) / 1e6:>7.1f} MB"
              f"{of('calls', 'without-half'):>20.0f}"
              f"{sum(of(part + '_us', 'without-half') for part in PARTS) / 1000:>7.2f} ms")
    print("\nWall time of the whole process from cold: " +
          ", ".join(f"{nodes} nodes {median(runs, lambda run: run['cold']['wall_ms']) / 1000:.1f} s"
                    for nodes, runs in results.items()))


def draw(results, out):
    sizes = list(results)

    def panels(times, costs):
        lines(times, {text: (sizes, [median(results[n], lambda run, name=name: run[name]["ms"]) for n in sizes])
                      for name, text in PHASES.items()},
              "Until all nodes know it", "nodes", "ms of made-up time")
        lines(costs, {f"{part}, from cold": (sizes, [
            median(results[n], lambda run, part=part: cpu_us(run["cold"], (part,))) / 1000 for n in sizes])
            for part in PARTS} | {"all, in a steady second": (sizes, [
                median(results[n], lambda run: cpu_us(run["steady"]) / (run["steady"]["ms"] / 1000)) / 1000
                for n in sizes])},
              "What it costs a node", "nodes", "ms of processor time")
    save(f"{out}/scale", panels, 2)


def run(args, out):
    results = {}
    rounds = 1 if args.quick else args.runs
    for _ in range(rounds):
        for nodes in QUICK_SIZES if args.quick else SIZES:
            results.setdefault(nodes, []).append(rehearse(nodes))
    with open(f"{out}/scale.json", "w", encoding="ascii") as file:
        json.dump({"machine": machine(), "rows": results}, file, indent=1)
    print_tables(results)
    draw(results, out)
