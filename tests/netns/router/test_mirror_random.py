#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random changes of a namespace's links, addresses, neighbours, routes and next-hop objects.

After every round the mirror that followed the events must equal one that is opened then, and must agree
with `ip route get` about every route the kernel would take. MIRROR_SEED repeats a run, MIRROR_ROUNDS
lengthens it, MIRROR_TRACE=FILE keeps what the kernel said.
"""
import ipaddress
import json
import os
import random
import subprocess
import sys
import time

TOOL = os.path.join(os.path.dirname(__file__), "../../../build/tests/tools/mirror-dump")
SEED = int(os.environ.get("MIRROR_SEED", "1"))
ROUNDS = int(os.environ.get("MIRROR_ROUNDS", "60"))
OPERATIONS = 60  # in one round
ADDRESSES = 200  # looked up after it
SETTLE_S, SETTLE_LOOKS = 4, 20  # the kernel reports carriers up to a second later, or when it gets a processor
NODE = f"mr{os.getpid()}n"
PEER = f"mr{os.getpid()}p"
LINKS = ["a0", "b0", "c0", "d0"]
rng = random.Random(SEED)


def run(*argv, check=True, text_in=None):
    return subprocess.run(argv, check=check, input=text_in, capture_output=True, text=True)


class Mirror:
    """mirror-dump, running in the namespace."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", NODE, TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def ask(self, line):
        self.begin(line)
        return self.end(line)

    def begin(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self, line):
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"mirror-dump ended with status {self.process.wait()} at: {line}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


def set_up():
    run("ip", "netns", "add", NODE)
    run("ip", "netns", "add", PEER)
    run("ip", "-n", NODE, "link", "set", "lo", "up")
    for i, link in enumerate(LINKS):
        run("ip", "-n", NODE, "link", "add", link, "type", "veth", "peer", "name", link, "netns", PEER)
        for ns in NODE, PEER:
            run("ip", "-n", ns, "link", "set", link, "addrgenmode", "none")
            run("ip", "-n", ns, "link", "set", link, "up")
        run("ip", "-n", NODE, "addr", "add", f"10.{i}.0.1/24", "dev", link)
        run("ip", "-n", NODE, "addr", "add", f"fd0{i}::1/64", "dev", link, "nodad")


def tear_down():
    for ns in NODE, PEER:
        run("ip", "netns", "del", ns, check=False)


# --- Operations: one line of `ip -batch` each, without -4 or -6 where the address says it -----------------


def gateway(v6):
    i = rng.randrange(len(LINKS))
    host = rng.randint(2, 5)
    return (f"fd0{i}::{host}" if v6 else f"10.{i}.0.{host}"), LINKS[i]


def prefix(v6):
    """A random prefix from a small space, so that operations meet."""
    if v6:
        net = f"2001:db8:{rng.randrange(2)}:{rng.randrange(3)}::{rng.randrange(2)}"
        length = rng.choice([0, 32, 47, 48, 49, 62, 64, 65, 127, 128])
    else:
        net = f"{rng.choice(['10.0.0', '10.1.0', '172.16.0', '172.16.1', '172.20.0'])}.{rng.randrange(8)}"
        length = rng.choice([0, 8, 12, 16, 23, 24, 25, 30, 31, 32])
    return str(ipaddress.ip_network(f"{net}/{length}", strict=False))


def leg(v6, any_kind=True):
    gw, dev = gateway(v6)
    kind = rng.randrange(8) if any_kind else 2
    if kind == 0:
        return f"dev {dev}"
    if kind == 1 and not v6:
        return f"via inet6 {gateway(True)[0].replace('fd0', 'fd0')} dev {dev} onlink"
    return f"via {gw} dev {dev}" + (" onlink" if kind == 2 else "")


def target(v6):
    kind = rng.randrange(10)
    if kind == 0:
        return "nhid " + str(rng.randint(1, 9))
    if kind <= 2:
        # The kernel does not report an IPv6 leg that has no gateway and stands beside others.
        legs = rng.randint(2, 4)
        return " ".join(f"nexthop {leg(v6, not v6)} weight {rng.randint(1, 3)}" for _ in range(legs))
    return leg(v6)


def route():
    v6 = rng.random() < 0.5
    p = prefix(v6)
    options = ""
    kind = rng.random()
    hops = target(v6)
    reject = rng.choice(["blackhole", "unreachable", "prohibit", "throw"])
    # IPv6 routes of one metric: a dump hides those between the legs of a multipath route, and
    # `replace` may leave the same route there twice. So each kind gets a metric of its own.
    if v6 and kind < 0.08:
        options += f" metric {20 + len(reject)}"
    elif v6 and kind < 0.12:
        options += " metric 40"
    elif v6 and "via" not in hops:
        options += f" metric {50 + sum(map(ord, hops)) % 50}"
    elif rng.random() < 0.4:
        options += f" metric {rng.choice([1, 5, 10])}"
    if rng.random() < 0.1 and not v6:
        options += f" mtu {'lock ' if rng.random() < 0.5 else ''}{rng.choice([1300, 1400, 9000])}"
    if rng.random() < 0.05 and not v6:
        options += " tos 0x10"
    if rng.random() < 0.05 and v6:
        options += " from 2001:db8:ffff::/48"
    if rng.random() < 0.1 and not v6:
        options += f" src 10.{rng.randrange(4)}.0.1"
    # Of an IPv6 multipath route the kernel reports the properties of one leg only.
    if rng.random() < 0.1 and not v6:
        options += f" proto {rng.choice(['bird', 'static'])}"
    if rng.random() < 0.08:
        # A short prefix in table local leaves everything below it to the kernel.
        tables = ["local", "default", "77"] if int(p.split("/")[1]) > 24 else ["default", "77"]
        options += f" table {rng.choice(tables)}"
    family = "-6 " if v6 else "-4 "
    verb = rng.choice(["add", "replace", "replace", "append", "prepend", "del", "del"])
    if verb == "del" and rng.random() < 0.7:
        return f"route del {p}" + (f" {leg(v6)}" if rng.random() < 0.3 else ""), family
    if kind < 0.08:
        return f"route {verb} {reject} {p}{options}", family
    if kind < 0.12:
        return f"route {verb} local {p} dev lo{options}", family
    return f"route {verb} {p}{options} {hops}", family


def nexthop():
    number = rng.randint(1, 9)
    kind = rng.randrange(8)
    verb = rng.choice(["add", "replace", "replace"])
    if kind == 0:
        return f"nexthop del id {number}", ""
    if kind == 1:
        return f"nexthop {verb} id {number} blackhole", rng.choice(["-4 ", "-6 "])
    if kind in (2, 3):
        members = "/".join(f"{rng.randint(1, 6)},{rng.randint(1, 4)}" for _ in range(rng.randint(1, 3)))
        return f"nexthop {verb} id {rng.randint(7, 9)} group {members}", ""
    gw, dev = gateway(rng.random() < 0.5)
    if kind == 4:
        return f"nexthop {verb} id {number} dev {dev}", rng.choice(["-4 ", "-6 "])
    return f"nexthop {verb} id {rng.randint(1, 6)} via {gw} dev {dev}", ""


def neighbour():
    gw, dev = gateway(rng.random() < 0.5)
    if rng.random() < 0.3:
        return f"neigh del {gw} dev {dev}", ""
    state = rng.choice(["permanent", "permanent", "reachable", "stale", "noarp", "failed"])
    return f"neigh replace {gw} lladdr 02:00:00:00:00:{rng.randrange(256):02x} dev {dev} nud {state}", ""


def link():
    dev = rng.choice(LINKS)
    kind = rng.randrange(6)
    if kind <= 1:
        return f"link set {dev} down", ""
    if kind <= 3:
        return f"link set {dev} up", ""
    if kind == 4:
        return f"link set {dev} mtu {rng.choice([1300, 1500, 3000])}", ""
    return f"link set {dev} address 02:01:00:00:00:{rng.randrange(256):02x}", ""


def address():
    i = rng.randrange(len(LINKS))
    verb = rng.choice(["add", "add", "del"])
    if rng.random() < 0.4:
        return f"addr {verb} fd0{i}::{rng.randint(1, 3)}/64 dev {LINKS[i]} nodad", ""
    return f"addr {verb} 10.{i}.0.{rng.choice([1, 1, 9])}/{rng.choice([24, 24, 25])} dev {LINKS[i]}", ""


KINDS = [(route, 70), (nexthop, 10), (neighbour, 8), (link, 3), (address, 4)]


def round_of_changes(log):
    """Split into runs of one family, since `ip -batch` takes its family from the command line."""
    gateways = [(i, host) for i in range(len(LINKS)) for host in range(2, 6)]
    known = [f"neigh replace {addr} lladdr 02:00:00:00:{i:02x}:{host:02x} dev {LINKS[i]} nud permanent"
             for i, host in gateways for addr in (f"10.{i}.0.{host}", f"fd0{i}::{host}")]
    run("ip", "-n", NODE, "-force", "-batch", "-", check=False, text_in="\n".join(known) + "\n")
    operations = [rng.choices([k for k, _ in KINDS], [w for _, w in KINDS])[0]() for _ in range(OPERATIONS)]
    at = 0
    while at < len(operations):
        family = operations[at][1]
        batch = []
        while at < len(operations) and operations[at][1] == family:
            batch.append(operations[at][0])
            at += 1
        log += [family + line for line in batch]
        run("ip", *family.split(), "-n", NODE, "-force", "-batch", "-", check=False, text_in="\n".join(batch) + "\n")
    if rng.random() < 0.2:
        dev = rng.choice(LINKS)
        state = rng.choice(["up", "down"])
        log.append(f"(peer) link set {dev} {state}")
        run("ip", "-n", PEER, "link", "set", dev, state)
    if rng.random() < 0.1:
        value = rng.randrange(2)
        where = rng.choice(["all", *LINKS])
        family = rng.choice(["ipv4", "ipv6"])
        log.append(f"sysctl {family} {where} ignore_routes_with_linkdown={value}")
        run("ip", "netns", "exec", NODE, "sysctl", "-qw",
            f"net.{family}.conf.{where}.ignore_routes_with_linkdown={value}")
    if rng.random() < 0.05:
        log.append("rule add, rule del")
        run("ip", "-n", NODE, "rule", "add", "from", "10.9.9.9", "table", "77", check=False)
    if rng.random() < 0.1:
        run("ip", "-n", NODE, "rule", "del", "from", "10.9.9.9", "table", "77", check=False)


def equal_to_fresh(mirror):
    deadline = time.monotonic() + SETTLE_S
    looks = 0
    while True:
        answer = mirror.ask("compare")
        looks += 1
        if not answer["differences"] or looks >= SETTLE_LOOKS and time.monotonic() > deadline:
            return answer
        mirror.ask("run 0.1")


# --- The kernel's own answer --------------------------------------------------------------------------------


def links_by_index():
    listing = json.loads(run("ip", "-n", NODE, "-j", "link").stdout)
    return {entry["ifindex"]: entry["ifname"] for entry in listing}


def kernel_route(address):
    argv = ["ip", "-n", NODE, "-j", "-6" if ":" in address else "-4", "route", "get", "fibmatch", address]
    done = run(*argv, check=False)
    try:
        return json.loads(done.stdout)[0]
    except (ValueError, IndexError):
        return None


def disagreement(address, seen, names):
    """What is wrong with the mirror's answer, or None. A packet left to the kernel is never wrong."""
    if seen["do"] == "punt":
        return None
    route_got = kernel_route(address)
    parts = seen.get("members", [seen])
    if all(part["do"] == "drop" for part in parts):
        return None if route_got is None or route_got.get("type") == "blackhole" else f"kernel: {route_got}"
    if route_got is None:
        return "the kernel has no route"
    legs = route_got.get("nexthops", [route_got])
    allowed = {hop.get("dev") for hop in legs}
    used = {names[m["l3"]] for m in parts if m["do"] == "forward"}
    if not used <= allowed:
        return f"mirror through {used}, kernel: {route_got}"
    return None


def agrees_with_kernel(mirror):
    names = links_by_index()
    forwarded = 0
    for _ in range(ADDRESSES):
        if rng.random() < 0.5:
            address = str(ipaddress.ip_address("10.0.0.0") + rng.randrange(4) * 65536 + rng.randrange(8))
            if rng.random() < 0.5:
                address = str(ipaddress.ip_address("172.16.0.0") + rng.randrange(512))
        else:
            address = rng.choice([f"fd0{rng.randrange(4)}::{rng.randint(1, 6)}",
                                  f"2001:db8:{rng.randrange(2)}:{rng.randrange(3)}::{rng.randrange(3)}"])
        seen = mirror.ask(f"lookup {address}")
        if seen["do"] == "punt":
            continue
        forwarded += 1
        wrong = disagreement(address, seen, names)
        if wrong:
            return f"{address}: {seen}: {wrong}", forwarded
    return None, forwarded


def main():
    mirror = monitor = None
    failed = False
    try:
        set_up()
        if "MIRROR_TRACE" in os.environ:
            with open(os.environ["MIRROR_TRACE"], "w", encoding="utf-8") as trace:
                monitor = subprocess.Popen(["ip", "-n", NODE, "-d", "monitor", "label", "all"], stdout=trace)
        mirror = Mirror()
        compared = forwarded = 0
        log = []
        for number in range(ROUNDS):
            log = []
            # The mirror follows the changes as they come, or all of them afterwards; now and then it loses some.
            following = rng.random() < 0.5
            lossy = rng.random() < 0.2
            if lossy:
                mirror.ask("buffer 4096")
            if following:
                mirror.begin("run 0.4")
            round_of_changes(log)
            if following:
                mirror.end("run")
            if lossy:
                mirror.ask("sync")
                mirror.ask(f"buffer {64 << 20}")
            answer = equal_to_fresh(mirror)
            compared += answer["compared"]
            if answer["differences"]:
                failed = True
                print(f"round {number} of seed {SEED}:", *log, sep="\n  ", file=sys.stderr)
                for difference in answer["differences"]:
                    print(json.dumps(difference), file=sys.stderr)
                for family in "-4", "-6":
                    print(run("ip", family, "-n", NODE, "-d", "route", "show", "table", "all").stdout, file=sys.stderr)
                break
            wrong, n = agrees_with_kernel(mirror)
            forwarded += n
            if wrong:
                failed = True
                print(f"round {number} of seed {SEED}: {wrong}", *log, sep="\n  ", file=sys.stderr)
                break
        stats = mirror.ask("stats")
        print("not ok 1" if failed else "ok 1", "- mirror that follows random changes equals a fresh one and the kernel")
        print(f"# seed {SEED}: {compared} lookups compared, {forwarded} forwarded ones asked of the kernel, {stats['events']} events, "
              f"{stats['resyncs']} resyncs that changed {stats['resync_changes']}")
        clean = stats["parse_errors"] == 0
        print("ok 2" if clean else "not ok 2", "- every message was understood")
        print("1..2")
        mirror.close()
        return 1 if failed or not clean else 0
    finally:
        if mirror and mirror.process.poll() is None:
            mirror.process.kill()
        if monitor:
            monitor.terminate()
            monitor.wait()
        tear_down()


if __name__ == "__main__":
    sys.exit(main())
