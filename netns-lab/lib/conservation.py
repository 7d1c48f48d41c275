#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Is every frame of a cluster accounted for? This reads all counters of the nodes of a lab (XDP,
bridges, remote ports, drivers, the fabric) and says where a frame went missing without a name.

    conservation.py begin             remember the counters (in the lab's directory)
    conservation.py settle            wait until no frame waits, and no counter moves
    conservation.py check [--sent N --received N [--punted REASON,...]] [--within S] [--settled]
    conservation.py counters          print the counters of this lab's nodes
    conservation.py answer DIRECTORY  answer each line NAME of /dev/ttyS2 with the counters, in the file
                                      NAME.json; never ends. For emulated machines, where starting a
                                      process takes longer than reading the counters

LAB_DIR or --lab names the lab. `check` reads the counters until nothing is under way and all sums
hold, or the time is over; with --settled until `settle` would end, because some sums cannot hold. Then it prints the ledger, one JSON object, and on standard error each
sum that does not hold. Exit status: 0 all sums hold, 1 not, 2 wrong use.

The sums, over what happened since `begin`, on each node:

    edge ports   rx = forward + voq + drops + punts
    ports        drops = those by port of entry, unless ports have come or gone, or no daemon runs, which alone shows
                 them. Of what a driver refuses, or sl_fabric drops, nobody knows an edge port of entry
    ingress      voq + frames read from remote ports = sent by bridge and express + local + the bridge's
                 drops + waiting in VOQs
    egress       egress = transmitted + the bridge's drops + waiting in egress queues
    departure    sent or refused by edge ports >= forward + transmitted + taken from express
                 messages (the kernel sends, too)
    memory       no chunk of packet memory has changed its owner against the rules

and for the cluster

    fabric       frames sent = frames of egress, but local ones, + those in lost messages: no more of them than the
                 messages that were lost or refused can hold
    whole        --sent = --received + all drops by name + frames that wait + frames that ended in a
                 kernel: none, unless --punted names why the generator's frames may go there; then
                 no more than were punted for these reasons. Some drops may be of frames that
                 kernels and hosts sent meanwhile

Remote ports that go take along what their kernel counted as sent there. Then the bridge's own count
of what it took stands in for that: it must still account for all of it.

A bridge that was started anew counts from zero, and nobody knows what its former life counted. The
sums that need it are left out, and `restarted` names the node. A node on which nothing of sluice ran
at `begin` began from zero, too: its sums count, from its first frame.
"""
import argparse
import glob
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
DAEMON_SOCKET = "/run/sluice/sluiced.sock"
BRIDGE_SOCKET = "/run/sluice/sluice-bridge.sock"
PINS = "/sys/fs/bpf/sluice"
LOOK_AGAIN_S = 0.1
ANSWERS_S = 60  # within which any daemon that runs answers
ANSWER_LOOK_S = 0.1
MACHINE_ANSWERS_S = 300
BEGINNING = threading.Lock()
PATIENCE_S = 5.0 * float(os.environ.get("LAB_PATIENCE", "1"))
# Looks before the time is over: where a look takes long, most of them meet some frame of a kernel's
# own.
LOOKS_MIN = 10
TX_DROPS = ("tx-ring", "tx-error")
EXPRESS_DROPS = ("express-tx",)
INGRESS_DROPS = ("drop-peer-down", "drop-too-big", "drop-voq-ring", "drop-no-meta", "drop-not-unicast",
                 "drop-kernel-full")
BEFORE_INGRESS = ("drop-voq-ring", "drop-not-unicast", "drop-kernel-full")  # are not in `ingress`
EGRESS_DROPS = ("drop-queue-full", "drop-queue-policy", "drop-port-down", "drop-transmit")


class Failure(Exception):
    """One line for the user."""


class Node:
    """A node of a cluster: `pid` is a process in its namespaces; `edges` and `remotes` are names of
    netdevs."""

    def __init__(self, name, pid):
        self.name, self.pid = name, int(pid)
        self.root = f"/proc/{pid}/root"

    def run(self, *command):
        """Standard output of a command there."""
        return subprocess.run(["nsenter", f"--net=/proc/{self.pid}/ns/net", f"--mount=/proc/{self.pid}/ns/mnt", *command],
                              check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def ask_bridge(self, command):
        return self.ask(BRIDGE_SOCKET, {"command": command})

    def ask(self, path, request):
        """Rows of an answer from a control socket, or None: nobody listens there, or the answer was
        cut short."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(ANSWERS_S)
            try:
                s.connect(self.root + path)
                s.sendall(json.dumps(request).encode() + b"\n")
                lines = b"".join(iter(lambda: s.recv(65536), b"")).splitlines()
            except (FileNotFoundError, ConnectionError):
                return None
            except socket.timeout as error:
                raise Failure(f"{self.name}: no answer at {path} within {ANSWERS_S} s") from error
        rows = [json.loads(line) for line in lines]
        if not rows or "end" not in rows[-1]:
            return None
        return [row for row in rows if "hello" not in row and "end" not in row]

    def counters(self):
        return node_counters(self)

    def netdevs(self):
        return os.listdir(f"{self.root}/sys/class/net")

    def statistic(self, netdev, name):
        with open(f"{self.root}/sys/class/net/{netdev}/statistics/{name}", encoding="ascii") as file:
            return int(file.read())

    def ifindex(self, netdev):
        with open(f"{self.root}/sys/class/net/{netdev}/ifindex", encoding="ascii") as file:
            return int(file.read())

    def refused(self, netdev):
        """Frames that a netdev dropped. A veth also counts redirected frames that it refused: these
        are taken off."""
        dropped = self.statistic(netdev, "tx_dropped")
        return dropped and dropped - self.refused_redirects(netdev)

    def refused_redirects(self, netdev):
        try:
            out = self.run("ethtool", "-S", netdev).decode()
        except subprocess.CalledProcessError:  # its driver has no statistics: a VLAN
            return 0
        return sum(int(line.split(":")[1]) for line in out.splitlines()
                   if "tx_queue_" in line and "xdp_xmit_errors" in line)


def pinned_counters(node, what):
    """The counters from the pinned maps, which outlive the daemon."""
    try:
        return json.loads(node.run(os.path.join(SOURCE, "build", "sluice"), "--json", "show", what))
    except subprocess.CalledProcessError as error:
        raise Failure(f"{node.name}: sluice cannot show its counters: status {error.returncode}") from error


def xdp_counters(node):
    """What sl_edge counted, by name; nothing where sluice has not run."""
    if not any(os.path.exists(node.root + path) for path in (DAEMON_SOCKET, PINS)):
        return {}
    stages, reasons = (node.ask(DAEMON_SOCKET, {"command": "show", "what": what}) or pinned_counters(node, what)
                       for what in ("counters", "drops"))
    out = {row["name"]: row["packets"] for row in stages if row["kind"] == "stage"}
    out["drops"] = {row["name"]: row["packets"] for row in reasons if row["kind"] == "drop"}
    out["punts"] = {row["name"]: row["packets"] for row in reasons if row["kind"] == "punt"}
    ports = node.ask(DAEMON_SOCKET, {"command": "show", "what": "ports"})
    # By ifindex, as drops are counted
    out["port_drops"] = ports and {f"{row['port']}/{row['ifindex']}": row["dropped_packets"] for row in ports if "dropped_packets" in row}
    return out


def bridge_counters(node):
    status, peers, fabric, voqs, queues = (node.ask_bridge(c) for c in ("status", "peers", "fabric", "voqs", "egress-queues"))
    if None in (status, peers, fabric, voqs, queues):
        return None
    return {
        "epoch": status[0]["epoch"],
        "violations": status[0]["violations"],
        "frames": {name: count["packets"] for name, count in status[0]["frames"].items()},
        "lost_messages": {str(peer["node"]): peer["lost"] for peer in peers},
        "refused_messages": sum(n for name, n in fabric[0]["messages"].items() if name != "ok")
        + sum(n for name, n in fabric[0].get("frames", {}).items() if name not in ("send", "cnp")),
        # An RDMA device does not say what it dropped.
        "silent": fabric[0]["transport"].startswith("verbs"),
        "no_room_messages": fabric[0]["no_buffer"] + fabric[0]["ring_full"],
        "message_frames": str(fabric[0]["packing_limit"]),  # no count: a text, which `minus` leaves alone
        "waiting_voq": sum(row["waiting_frames"] for row in voqs),
        "waiting_egress": sum(row["waiting_frames"] for row in queues),
        "edges": sorted({row["netdev"] for row in queues}),
        "express_taken": fabric[0]["express_frames_received"],
        "remotes": sorted({row["port"] for row in voqs}),
    }


def node_counters(node):
    bridge = bridge_counters(node)
    netdevs = node.netdevs()
    edges = [d for d in (bridge or {}).get("edges", []) if d in netdevs]
    # slkernel1: what the kernel itself sends by port 1, which has queues
    remotes = [d for d in netdevs if d in (bridge or {}).get("remotes", []) or d.startswith("slkernel")]
    return {
        "xdp": xdp_counters(node),
        "bridge": bridge,
        # By ifindex: one that comes again counts from zero.
        "remote": {f"{d}/{node.ifindex(d)}": {"read": node.statistic(d, "tx_packets"), "refused": node.statistic(d, "tx_dropped")}
                   for d in remotes},
        "edge": {"sent": sum(node.statistic(d, "tx_packets") for d in edges),
                 "refused": sum(node.refused(d) for d in edges)},
    }


class Machine:
    """A node that is a virtual machine of the lab. From the first question until the machine ends,
    a process inside it reads the counters."""

    def __init__(self, name, machine, lab_dir):
        self.name, self.machine, self.lab_dir = name, machine, lab_dir
        self.directory = f"{lab_dir}/vm/{machine}/counters"

    def begin(self):
        script = f'. {SOURCE}/netns-lab/lib/lab.sh; . {SOURCE}/netns-lab/vm/vm.sh; vm_start "$@" && ln -s "$VM_JOB" "$DIRECTORY/job"'
        os.mkdir(self.directory)
        subprocess.run(["bash", "-c", script, "bash", self.machine, "/usr/bin/python3", "-ISB",
                        f"{SOURCE}/netns-lab/lib/conservation.py", "answer", self.directory,
                        "--lab", f"{self.lab_dir}/vm/{self.machine}/lab"],
                       env={**os.environ, "LAB_DIR": self.lab_dir, "DIRECTORY": self.directory}, cwd=SOURCE, check=True)

    def counters(self):
        with BEGINNING:  # several nodes may be in one machine
            if not os.path.isdir(self.directory):
                self.begin()
        name = f"{self.directory}/{time.monotonic_ns()}"
        with open(f"{self.lab_dir}/vm/{self.machine}/ask.in", "r+b", buffering=0) as questions:
            questions.write(os.path.basename(name).encode() + b"\n")
        deadline = time.monotonic() + MACHINE_ANSWERS_S
        while not os.path.exists(f"{name}.json"):
            if os.path.exists(f"{self.directory}/job/status") or time.monotonic() > deadline:
                with open(f"{self.directory}/job/err", encoding="utf-8") as file:
                    raise Failure(f"{self.name} does not say its counters: {file.read().strip()}")
            time.sleep(ANSWER_LOOK_S)
        with open(f"{name}.json", encoding="ascii") as file:
            answer = json.load(file)
        os.remove(f"{name}.json")
        if "failure" in answer:
            raise Failure(answer["failure"])
        return answer[self.name]


def answer_questions(directory, lab_dir):
    """Answer each line NAME of the machine's third serial port with the counters, in the file NAME.json
    of this directory. Never returns."""
    with open("/dev/ttyS2", encoding="ascii") as questions:
        for name in map(str.strip, iter(questions.readline, "")):
            try:
                answer = counters_of(lab_nodes(lab_dir)[0])
            except (Failure, OSError) as error:
                answer = {"failure": str(error)}
            with open(f"{directory}/{name}.new", "w", encoding="ascii") as file:
                json.dump(answer, file)
            os.rename(f"{directory}/{name}.new", f"{directory}/{name}.json")


def counters_of(nodes):
    """The counters of all nodes, read at the same time, since some take long."""
    if len(nodes) == 1:
        return {nodes[0].name: nodes[0].counters()}
    import concurrent.futures  # pylint: disable=import-outside-toplevel
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return dict(zip([n.name for n in nodes], pool.map(lambda n: n.counters(), nodes)))


def fabric_drops(node):
    """Frames that the switch between the nodes and its links dropped."""
    names = ("rx_dropped", "tx_dropped", "rx_errors", "tx_errors")
    return sum(node.statistic(d, name) for d in node.netdevs() for name in names)


def lab_nodes(lab_dir):
    """(nodes of the lab that are part of a cluster, its fabric or None)."""
    nodes = []
    for kind in ("node", "host"):
        for path in glob.glob(f"{lab_dir}/{kind}/*"):
            with open(path, encoding="ascii") as file:
                nodes.append((kind, Node(os.path.basename(path), file.read().split()[0])))
    for path in glob.glob(f"{lab_dir}/inside/n*"):
        with open(path, encoding="ascii") as file:
            nodes.append(("node", Machine(os.path.basename(path), file.read().strip(), lab_dir)))
    nodes.sort(key=lambda n: n[1].name)
    return [n for kind, n in nodes if kind == "node"], next((n for _, n in nodes if n.name == "fabric"), None)


def snapshot(nodes, fabric=None):
    """All counters now. `nodes` and `fabric` are Nodes; with fabric None, the switch's drops count
    as 0."""
    return {"nodes": counters_of(nodes),
            "fabric_drops": fabric_drops(fabric) if fabric else 0}


def quiet_snapshot(look, within_s=60.0):
    """A snapshot taken while nothing was under way: it equals the one before."""
    deadline = time.monotonic() + within_s
    last, looks = look(), 1
    while (now := look()) != last:
        looks += 1
        if looks >= LOOKS_MIN and time.monotonic() > deadline:
            raise Failure(f"there is traffic after {within_s} s: counters cannot be compared")
        last = now
    return now


def waits(node):
    """Does a frame wait in a queue of this node's bridge?"""
    bridge = node["bridge"]
    return bridge is not None and bridge["waiting_voq"] + bridge["waiting_egress"] > 0


def settled_snapshot(look, within_s):
    """As quiet_snapshot, and no frame waits."""
    deadline = time.monotonic() + within_s
    for looks in itertools.count(1):
        now = quiet_snapshot(look, within_s)
        if not any(map(waits, now["nodes"].values())):
            return now
        if looks >= LOOKS_MIN and time.monotonic() > deadline:
            raise Failure(f"frames wait after {within_s} s")


def minus(after, before):
    """after - before, number by number. A value that is no number stays as in `after`."""
    if isinstance(after, dict):
        return {key: minus(value, (before or {}).get(key, 0)) for key, value in after.items()}
    if isinstance(after, int) and isinstance(before, int) and not isinstance(after, bool):
        return after - before
    return after


def knows_ports(then, now):
    """Were the same ports there then and now, so that every drop since then is in their counters?"""
    before, after = then.get("port_drops"), now["port_drops"]
    return after is not None and (not then or before is not None and before.keys() == after.keys())


class Ledger:
    """What became of every frame between two snapshots."""

    def __init__(self, before, after):
        self.wrong, self.drops, self.nodes, self.restarted = [], {}, {}, []
        self.punts = {}
        self.waiting = 0
        self.message_frames = 0  # the most that a message holds
        self.fabric_drops = after["fabric_drops"] - before["fabric_drops"]
        for name, now in after["nodes"].items():
            then = before["nodes"][name]
            if not now["xdp"]:
                continue
            alive = now["bridge"] and (not then["xdp"] or then["bridge"] and now["bridge"]["epoch"] == then["bridge"]["epoch"])
            if not alive:
                self.restarted.append(name)
            self.node(name, minus(now, then), alive, knows_ports=knows_ports(then["xdp"], now["xdp"]),
                      gone=then["remote"].keys() - now["remote"].keys())
        if not self.restarted:
            self.fabric()

    def claim(self, holds, text):
        if not holds:
            self.wrong.append(text)

    def drop(self, name, frames):
        if frames:
            self.drops[name] = self.drops.get(name, 0) + frames

    def node(self, name, d, alive, *, knows_ports, gone=()):
        xdp, edge = d["xdp"], d["edge"]
        remote = {what: sum(netdev[what] for netdev in d["remote"].values()) for what in ("read", "refused")}
        drops = sum(n for reason, n in xdp["drops"].items() if reason not in TX_DROPS + EXPRESS_DROPS)
        punts = sum(xdp["punts"].values())
        self.claim(xdp["rx"] == xdp["forward"] + xdp["voq"] + drops + punts,
                   f"{name}: edge ports: rx {xdp['rx']}, forward {xdp['forward']} + voq {xdp['voq']} + drops {drops} "
                   f"+ punts {punts}")
        if knows_ports:
            self.claim(drops == sum(xdp["port_drops"].values()),
                       f"{name}: ports: drops {drops}, by port of entry {({p: n for p, n in xdp['port_drops'].items() if n})}")
        for reason, n in xdp["drops"].items():
            self.drop(reason, n)
        for reason, n in xdp["punts"].items():
            self.punts[reason] = self.punts.get(reason, 0) + n
        self.nodes[name] = {"rx": xdp["rx"], "forward": xdp["forward"], "voq": xdp["voq"], "punts": punts}
        if not alive:
            return
        frames = d["bridge"]["frames"]
        if gone:  # with what their kernel had counted
            remote["read"] = frames["ingress"] + sum(frames[r] for r in BEFORE_INGRESS) + xdp.get("express", 0) - xdp["voq"]
        self.drop("remote-port", remote["refused"])
        self.drop("edge-driver", edge["refused"])
        self.message_frames = max(self.message_frames, int(d["bridge"]["message_frames"]))
        for reason in INGRESS_DROPS + EGRESS_DROPS:
            self.drop(reason, frames.get(reason, 0))
        self.nodes[name].update(remote=remote["read"], sent=frames["sent"], egress=frames["egress"] - frames["local"],
                                transmitted=frames["transmitted"])
        express, taken_at_once = xdp.get("express", 0), d["bridge"]["express_taken"]
        self.nodes[name].update(express=express, express_taken=taken_at_once,
                                express_sent=express - sum(xdp["drops"].get(r, 0) for r in EXPRESS_DROPS))
        lost, waiting = sum(frames.get(r, 0) for r in INGRESS_DROPS), d["bridge"]["waiting_voq"]
        self.claim(xdp["voq"] + remote["read"] == frames["sent"] + frames["local"] + express + lost + waiting,
                   f"{name}: ingress: voq {xdp['voq']} + read from remote ports {remote['read']}, sent {frames['sent']} + local {frames['local']} + "
                   f"by express {express} + dropped {lost} + waiting {waiting}")
        self.waiting += waiting
        lost, waiting = sum(frames.get(r, 0) for r in EGRESS_DROPS), d["bridge"]["waiting_egress"]
        self.claim(frames["egress"] == frames["transmitted"] + lost + waiting,
                   f"{name}: egress: {frames['egress']}, transmitted {frames['transmitted']} + dropped {lost} + waiting {waiting}")
        self.waiting += waiting
        handed = xdp["forward"] + frames["transmitted"] + taken_at_once
        taken = edge["sent"] + edge["refused"] + sum(xdp["drops"][r] for r in TX_DROPS)
        self.claim(taken >= handed, f"{name}: departure: handed to edge ports {handed}, sent or refused by them {taken}")
        self.claim(d["bridge"]["violations"] == 0, f"{name}: {d['bridge']['violations']} chunks changed hands against the rules")
        self.nodes[name].update(lost_messages=sum(d["bridge"]["lost_messages"].values()), refused_messages=d["bridge"]["refused_messages"],
                                no_room_messages=d["bridge"]["no_room_messages"], silent=d["bridge"]["silent"])

    def fabric(self):
        sent, egress, lost, refused, no_room, express, taken = (sum(node[key] for node in self.nodes.values()) for key in (
            "sent", "egress", "lost_messages", "refused_messages", "no_room_messages", "express_sent", "express_taken"))
        sent, egress = sent + express, egress + taken
        if sent > egress and lost + refused:
            self.drop("fabric", sent - egress)
            self.claim(sent - egress <= (lost + refused) * self.message_frames,
                       f"fabric: sent {sent}, egress {egress}: {lost} lost and {refused} refused messages of at most "
                       f"{self.message_frames} frames cannot hold the rest")
            self.claim(any(node["silent"] for node in self.nodes.values()) or lost <= refused + no_room + self.fabric_drops + sum(self.drops.get(r, 0) for r in EXPRESS_DROPS),
                       f"fabric: {lost} messages lost, but {no_room} had no room, {refused} were refused and its links "
                       f"dropped {self.fabric_drops}")
        else:
            self.claim(sent == egress, f"fabric: sent {sent}, egress {egress}, no message lost")

    def whole(self, sent, received, *, punted=()):
        """
        A frame may have ended in the kernel that got it (as unreachable, say) only if frames were
        punted for one of the reasons in `punted`. A drop may be of somebody else's frame: of as
        many as others sent, at most.
        """
        dropped = sum(self.drops.values())
        unknown = [reason for reason in punted if self.punts and reason not in self.punts]
        self.claim(not unknown, f"whole: no punt has the reason {', '.join(unknown)}")
        ended = sum(self.punts.get(reason, 0) for reason in punted)
        others = sum(n["rx"] + n.get("remote", 0) for n in self.nodes.values()) - sent
        missing = sent - received - dropped - self.waiting
        self.claim(-min(max(others, 0), dropped) <= missing <= ended,
                   f"whole: sent {sent}, received {received} + dropped {dropped} + waiting {self.waiting} + at most {ended} "
                   f"ended in a kernel; punts {({r: n for r, n in self.punts.items() if n})}, {others} of others")
        self.drop("kernel", max(missing, 0))

    def as_dict(self):
        return {"wrong": self.wrong, "drops": self.drops, "waiting": self.waiting, "restarted": self.restarted,
                "fabric_drops": self.fabric_drops, "nodes": self.nodes}


def ledger_of(before, after, sent, received, punted):
    ledger = Ledger(before, after)
    if sent is not None:
        ledger.whole(sent, received, punted=punted)
    return ledger


def check(before, look, sent=None, received=None, *, punted=(), within_s=PATIENCE_S):
    """The ledger since `before`, once it is right and nothing waits, or the time is over. `look`
    returns a snapshot."""
    deadline = time.monotonic() + within_s
    for looks in itertools.count(1):
        ledger = ledger_of(before, look(), sent, received, punted)
        if not (ledger.wrong or ledger.waiting) or (looks >= LOOKS_MIN and time.monotonic() > deadline):
            return ledger
        time.sleep(LOOK_AGAIN_S)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("begin", "settle", "check", "counters", "answer"))
    parser.add_argument("directory", nargs="?", help="of questions; for answer")
    parser.add_argument("--lab", default=os.environ.get("LAB_DIR"), help="the lab's directory (default: LAB_DIR)")
    parser.add_argument("--sent", type=int)
    parser.add_argument("--received", type=int)
    parser.add_argument("--punted", default=[], type=lambda text: text.split(","), metavar="REASON,...",
                        help="why the kernel may have got, and ended, frames of the generator")
    parser.add_argument("--settled", action="store_true", help="check: wait as settle does")
    parser.add_argument("--within", type=float, default=PATIENCE_S, help="seconds (default 5, times LAB_PATIENCE)")
    options = parser.parse_args()
    if not options.lab or not os.path.isdir(options.lab):
        parser.error("name a lab: LAB_DIR or --lab")
    if (options.sent is None) != (options.received is None):
        parser.error("--sent and --received go together")
    if (options.command == "answer") != (options.directory is not None):
        parser.error("answer, and nothing else, needs a directory")
    if options.command == "answer":
        answer_questions(options.directory, options.lab)
    nodes, fabric = lab_nodes(options.lab)
    memory = os.path.join(options.lab, "conservation.json")
    try:
        if options.command == "counters":
            print(json.dumps(counters_of(nodes)))
            return 0
        def look():
            return snapshot(nodes, fabric)

        if options.command == "begin":
            with open(memory, "w", encoding="ascii") as file:
                json.dump(quiet_snapshot(look, options.within), file)
            return 0
        if options.command == "settle" or options.settled:
            settled = settled_snapshot(look, options.within)
        if options.command == "settle":
            return 0
        with open(memory, encoding="ascii") as file:
            before = json.load(file)
        ledger = ledger_of(before, settled, options.sent, options.received, options.punted) if options.settled else \
            check(before, look, options.sent, options.received, punted=options.punted, within_s=options.within)
    except (Failure, OSError) as error:
        print(f"conservation: {error}", file=sys.stderr)
        return 1
    print(json.dumps(ledger.as_dict()))
    for line in ledger.wrong:
        print(f"conservation: {line}", file=sys.stderr)
    return 1 if ledger.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
