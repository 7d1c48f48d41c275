# SPDX-License-Identifier: BSD-2-Clause
"""What a flood that only the kernel can answer does to the sessions of the router: BGP (BIRD) and
logins by ssh (dropbear), between the router and a host behind the port that is flooded.
"""
import json
import os
import re
import signal
import statistics
import time

from trials import Failure, Path, finish, lab_command, machine, progress

ROUTERS = {"kernel": "none", "kernel again": "none", "sluice": "fast", "sluice, no limits": "fast"}
OWN, FAR, NOWHERE = "10.0.1.1", "10.64.0.0/16", "198.18.0.0/16"
FLOODS = {
    "none": None,
    "TTL 1": ["--dst", FAR, "--dests", "65536", "--ttl", "1"],
    "no route": ["--dst", NOWHERE, "--dests", "65536"],
    "local": ["--dst", OWN],
}
FLOOD_PPS = 1000000
ROUTES = 10000  # that the host announces during the flood
HOLD_S = 9  # of the BGP session; a third of it between keepalives
LOGIN_S = 10  # after which a login counts as failed

BIRD = """
log "{log}" all;
router id {own};
protocol device {{}}
{feed}
protocol bgp peer {{
	debug {{ states }};
	local {own} as {own_as}; neighbor {other} as {other_as};
	hold time {hold}; connect delay time 1; connect retry time 1;
	ipv4 {{ import all; export all; }};
}}
"""


class Sessions(Path):
    """A router, n1, with BIRD and an ssh server, and a host, h1, that has sessions with both."""

    def __init__(self, lab_id, core):
        super().__init__(lab_id, "h1", ("n1", "eth1"), "h2", core)
        self.key = f"{self.dir}/key"
        self.processes = []

    def start(self):
        feed = "".join(f"route 100.{64 + i // 65536}.{i // 256 % 256}.{i % 256}/32 blackhole;\n" for i in range(ROUTES))
        self.bird("n1", OWN, 65000, "10.0.1.2", 65001, "")
        self.bird("h1", "10.0.1.2", 65001, OWN, 65000, f"protocol static feed {{ disabled; ipv4;\n{feed}}}")
        home = f"{self.dir}/home"
        os.makedirs(f"{home}/.ssh", mode=0o700)
        for key in (self.key, f"{home}/host_key"):
            finish(self.spawn("n1", "dropbearkey", "-t", "ed25519", "-f", key))
        public = finish(self.spawn("n1", "dropbearkey", "-y", "-f", self.key))
        with open(f"{home}/.ssh/authorized_keys", "w", encoding="ascii") as file:
            file.write(next(line for line in public.splitlines() if line.startswith("ssh-")) + "\n")
        os.chmod(f"{home}/.ssh/authorized_keys", 0o600)
        with open(f"{home}/passwd", "w", encoding="ascii") as file:
            file.write(f"root:x:0:0:root:{home}:/bin/sh\n")
        # Only n1 sees this file: its mounts are its own.
        finish(self.spawn("n1", "mount", "--bind", f"{home}/passwd", "/etc/passwd"))
        self.processes.append(self.spawn("n1", "dropbear", "-F", "-s", "-r", f"{home}/host_key", "-P", f"{home}/pid"))
        deadline = time.monotonic() + 60
        while self.imported() is None or self.login() is None:
            if time.monotonic() > deadline:
                raise Failure("no BGP session and no login within 60 s, without a flood")

    def bird(self, name, own, own_as, other, other_as, feed):
        with open(f"{self.dir}/bird-{name}.conf", "w", encoding="ascii") as file:
            file.write(BIRD.format(log=self.log(name), own=own, own_as=own_as, other=other, other_as=other_as, feed=feed, hold=HOLD_S))
        self.processes.append(self.spawn(name, "bird", "-f", "-c", file.name, "-s", f"{self.dir}/bird-{name}.ctl"))

    def log(self, name):
        return f"{self.dir}/bird-{name}.log"

    def birdc(self, name, command):
        asked = self.spawn(name, "birdc", "-s", f"{self.dir}/bird-{name}.ctl", command)
        return asked.communicate()[0]

    def imported(self):
        """How many routes the router has from the host; None without a session."""
        shown = self.birdc("n1", "show protocols all peer")
        found = re.search(r"BGP state: +Established.*Routes: +(\d+) imported", shown, re.DOTALL)
        return int(found.group(1)) if found else None

    def login(self):
        """Seconds that a login took; None: none within LOGIN_S."""
        start = time.monotonic()
        with self.spawn("h1", "timeout", str(LOGIN_S), "dbclient", "-y", "-y", "-i", self.key, f"root@{OWN}", "true") as process:
            process.communicate()
        return time.monotonic() - start if process.returncode == 0 else None

    def sessions_lost(self):
        with open(self.log("n1"), encoding="utf-8", errors="replace") as file:
            return sum("State changed to stop" in line or "BGP session closed" in line for line in file)

    def measure(self, flood, seconds):
        if flood:
            mac = finish(self.spawn("n1", "cat", "/sys/class/net/eth1/address")).strip()
            gen = self.spawn("h1", "taskset", "-c", self.core, "build/lab/gen", "eth0", "-j", "--dst-mac", mac,
                             "--rate", str(FLOOD_PPS), "--duration", str(seconds), *flood)
        start, lost, logins, loaded_s = time.monotonic(), self.sessions_lost(), [], None
        # A login takes longer than BIRD needs; so the time for the routes is one of its own, first.
        self.birdc("h1", "enable feed")
        while time.monotonic() - start < seconds:
            if loaded_s is None:
                if self.imported() == ROUTES:
                    loaded_s = time.monotonic() - start
                elif time.monotonic() - start < seconds / 2:
                    time.sleep(0.02)
                    continue
            logins.append(self.login())
        lost = self.sessions_lost() - lost
        result = {"sessions_lost": lost, "routes_s": loaded_s, "logins": logins}
        if flood:
            result["generator"] = json.loads(finish(gen))
        self.birdc("h1", "disable feed")
        deadline = time.monotonic() + 60
        while self.imported() != 0:
            if time.monotonic() > deadline:
                raise Failure("no BGP session within 60 s after the flood")
            time.sleep(0.1)
        return result

    def unlimit(self):
        """Take the limits out of the configuration of sluiced."""
        with open(f"{self.dir}/n1.yaml", "a", encoding="ascii") as file:
            file.write("punt_limits: {ttl: 0, no_route: 0, local: 0}\n")
        os.kill(json.loads(finish(self.spawn("n1", "build/sluice", "status", "-j")))["pid"], signal.SIGHUP)
        deadline = time.monotonic() + 60
        while "reloaded" not in self.daemon_log():
            if time.monotonic() > deadline:
                raise Failure("sluiced did not reload within 60 s")
            time.sleep(0.05)

    def daemon_log(self):
        with open(f"{self.dir}/sluiced-n1.err", encoding="utf-8") as file:
            return file.read()

    def end(self):
        for process in self.processes:
            process.terminate()
            process.communicate()


def run(args, out):
    seconds = 4 if args.quick else 20
    rounds = 1 if args.quick else args.runs
    rows = []
    for i in range(rounds):
        for router, engine in ROUTERS.items():
            name = f"f{os.getpid()}"
            lab_command("up", "pair", "--engine", engine, "--name", name)
            sessions = Sessions(name, os.cpu_count() - 1)
            try:
                sessions.start()
                if router.endswith("no limits"):
                    sessions.unlimit()
                for flood, packets in FLOODS.items():
                    progress(f"flood: {router}, {flood}, round {i + 1} of {rounds}")
                    rows.append({"router": router, "flood": flood, "round": i, **sessions.measure(packets, seconds)})
            finally:
                sessions.end()
                lab_command("down", name)
    progress("")
    with open(f"{out}/flood.json", "w", encoding="ascii") as file:
        json.dump({"machine": machine(), "seconds": seconds, "rows": rows}, file, indent=1)
    show(rows, seconds)


def show(rows, seconds):
    print(f"\nSessions through a port that is flooded with {FLOOD_PPS:,} packets a second for {seconds} s; medians of the rounds")
    print(f"{'flood':<10}{'router':<20}{'flooded kpps':>13}{'BGP lost':>10}{f'{ROUTES:,} routes s':>17}"
          f"{'logins':>8}{'failed':>8}{'median s':>10}{'longest s':>11}")
    for flood in FLOODS:
        for router in ROUTERS:
            mine = [r for r in rows if (r["flood"], r["router"]) == (flood, router)]
            loads = [r["routes_s"] for r in mine]
            logins = [s for r in mine for s in r["logins"]]
            good = [s for s in logins if s is not None]
            pps = statistics.median(r["generator"]["sent"] / r["generator"]["seconds"] if "generator" in r else 0 for r in mine)
            print(f"{flood:<10}{router:<20}{pps / 1e3:>13.0f}{sum(r['sessions_lost'] for r in mine):>10}"
                  f"{'never' if None in loads else f'{statistics.median(loads):.2f}':>17}"
                  f"{len(logins):>8}{len(logins) - len(good):>8}"
                  f"{f'{statistics.median(good):.3f}' if good else '-':>10}{f'{max(good):.3f}' if good else '-':>11}")
