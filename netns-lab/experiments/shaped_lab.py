# SPDX-License-Identifier: BSD-2-Clause
"""A cluster of four nodes whose port at node 4 is shaped, and the traffic of the other three
towards it."""
import glob
import json
import os
import signal
import socket
import subprocess
import time

import trials
from conservation import BRIDGE_SOCKET, Failure, Node
from trials import LAB, LAB_ROOT, SOURCE, lab_command

EGRESS = 4  # the node whose port is shaped
SOURCES = (1, 2, 3)
FRAME_BYTES = 60


class Lab:
    """A cluster of four nodes that lives as long as the `with`."""

    def __init__(self, options, ports=1, keys=None, degree=None):
        self.options = options
        self.id = f"exp{os.getpid()}"
        self.dir = os.path.join(LAB_ROOT, f"sluice-lab.{self.id}")
        self.ports, self.keys, self.running = ports, keys or {}, []
        self.degree, self.controlled, self.asks = degree, True, False

    def __enter__(self):
        environment = dict(os.environ, CLUSTER_LIVENESS_MS="2000",
                           CLUSTER_BRIDGE=f"queue_frames: {self.options.queue_frames}" +
                           (f", packing: {self.degree}" if self.degree else "") +
                           (", realtime: 1" if self.options.realtime else ""))
        for port, keys in self.keys.items():
            environment[f"CLUSTER_PORT_{port}"] = keys
        try:
            lab_command("up", "cluster", "--name", self.id, "--nodes", "4", "--ports", str(self.ports), env=environment)
        except trials.Failure as error:
            raise Failure(f"the lab did not come up: {error}") from None
        try:
            self.find_nodes()
            self.meet()
        except BaseException:
            self.__exit__()
            raise
        return self

    def find_nodes(self):
        self.nodes = {}
        for path in glob.glob(f"{self.dir}/node/*") + glob.glob(f"{self.dir}/host/*"):
            with open(path, encoding="ascii") as file:
                self.nodes[os.path.basename(path)] = Node(os.path.basename(path), file.read().split()[0])

    def __exit__(self, *exception):
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in self.running:
            process.wait()
        subprocess.run([f"{LAB}/lab", "down", self.id], stdout=subprocess.DEVNULL, check=False)

    def meet(self):
        """Ping the receiver from every host that will send, so that all next hops are resolved."""
        deadline = time.monotonic() + 30
        for i in SOURCES:
            for p in range(1, self.ports + 1):
                while True:
                    try:
                        self.nodes[f"h{i}p{p}"].run("ping", "-c", "1", "-W", "1", f"10.{EGRESS}.{p}.2")
                        break
                    except subprocess.CalledProcessError:
                        if time.monotonic() > deadline:
                            raise Failure(f"host h{i}p{p} does not reach node {EGRESS}") from None

    def start(self, where, *command, **more):
        node = self.nodes[where]
        process = subprocess.Popen(["nsenter", f"--net=/proc/{node.pid}/ns/net", f"--mount=/proc/{node.pid}/ns/mnt", *command],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **more)
        self.running.append(process)
        return process

    def send(self, source, pps, seconds, port=1, to=(EGRESS, 1), dscp=0):
        """Send frames from the host behind `port` of a source. Returns the process, whose output
        says what it sent."""
        mac = self.nodes[f"n{source}"].run("cat", f"/sys/class/net/eth{port}/address").decode().strip()
        # With priority, since a generator that has waited for a processor sends a burst that no
        # queue can hold.
        first = ("chrt", "--rr", "1") if self.options.realtime else ("nice", "-n", "-15")
        return self.start(f"h{source}p{port}", *first, f"{SOURCE}/build/lab/gen", "eth0", "--json", "--dst-mac", mac, "--dst",
                          f"10.{to[0]}.{to[1]}.2", "--rate", str(max(1, round(pps))), "--duration", str(seconds), "--size",
                          str(FRAME_BYTES), "--dscp", str(dscp))

    def ask(self, node, **request):
        """Rows of a bridge's control socket."""
        return [json.loads(line) for line in self.ask_lines(node, **request)]

    def ask_lines(self, node, **request):
        """The rows as unparsed lines."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(10)
            s.connect(self.nodes[f"n{node}"].root + BRIDGE_SOCKET)
            s.sendall(json.dumps(request).encode() + b"\n")
            lines = b"".join(iter(lambda: s.recv(65536), b"")).splitlines()
        end = json.loads(lines[-1]) if lines else {}
        if "end" not in end or "error" in end["end"]:
            raise Failure(f"the bridge of node {node} says: {end or 'nothing'}")
        return lines[1:-1]  # without its greeting

    def control(self, controller, *words, port=1):
        bursts = f"burst_frames={makes_up_for(self.options, self.options.rate)}"
        self.controlled, self.asks = controller != "fixed", controller in ("qcn", "asm")
        self.ask(EGRESS, command="cc-set", port=f"n{EGRESS}p{port}", controller=controller, words=[bursts, *words])

    def unlimited(self):
        """Switch control off: a fixed rate that limits nothing."""
        for port in range(1, self.ports + 1):
            self.control("fixed", f"rate_ups={1 << 37}", port=port)

    def counters(self):
        """Frames and messages so far."""
        queues = self.ask(EGRESS, command="egress-queues")
        now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        totals = {name: sum(q[f"{name}_frames"] for q in queues) for name in ("arrived", "departed", "dropped")}
        peers = [p for i in SOURCES for p in self.ask(i, command="peers") if p["node"] == EGRESS]
        totals["messages"] = sum(p["data_sent"] for p in peers)
        totals["dropped_at_ingress"] = sum(sum(v["dropped"].values()) for i in SOURCES for v in self.ask(i, command="voqs")
                                           if v["node"] == EGRESS)
        totals["message_bytes"] = sum(p["data_bytes_sent"] for p in peers)
        totals["late"] = next(r["late"] for r in self.ask(EGRESS, command="cc") if r["side"] == "totals")
        totals["ns"] = now_ns
        return totals

    def look(self, port):
        """The time, the counters of queue 0 of port n4pP, and the frames that each source has sent
        towards it."""
        key = f"n{EGRESS}p{port}"
        queue = next(q for q in self.ask(EGRESS, command="egress-queues") if q["port"] == key and q["class"] == 0)
        sent = [next(v["dequeued_frames"] for v in self.ask(i, command="voqs") if v["port"] == key and v["class"] == 0)
                for i in SOURCES]
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC), queue, sent


def makes_up_for(options, rate):
    """Bucket of one source, in frames, that makes up for a pause of its bridge."""
    return max(2, rate * options.burst_us // 1000000 // len(SOURCES))


def shaped(options, controller="price", rate=None, bursts=True):
    """Configuration keys of the port. With `bursts`, port and VOQs make up for the time in which
    their bridge waits for a processor. Without, only the port does, for a quarter of T: more would
    hide waiting frames from the controller."""
    rate = rate or options.rate
    words = f"interval_us={options.interval_us}"
    if bursts:
        words += f" burst_frames={makes_up_for(options, rate)}"
    burst_us = options.burst_us if bursts else options.interval_us // 4
    return f"rate: {rate}pps, burst_us: {burst_us}, controller: {controller}, parameters: {words}"
