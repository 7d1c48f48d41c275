#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Random configurations by file and by etcd: both give a node the same text, byte for byte, and refuse the same.

    random_configurations.py FOLDER SETTINGS N [SEED]

SETTINGS are those of etcd. Each of N configurations of clusters, in a random form of YAML or JSON, goes into etcd
by `sluice cluster apply` and from there to a random node by `sluice-cluster --once`. What must be in its file is
made here, by replacing a number that only `cluster.node` has. Then N broken ones: apply refuses each with the line
by which sluiced refuses the file, and etcd is as before; one that is whole in spite of its fault must come through
as the others. Prints a line of sums; any other line is a difference, and ends it with status 1.
"""
import json
import pathlib
import random
import subprocess
import sys

import yaml

MARK = 9753197  # no other number of a configuration
FAULTS = ("nodes", "ports", "fabric", "cluster", "rate", "address", "name", "10.9.", "mbit", "eth", "{", "}", "[", "]",
          ": ", "\n", "-", '"', "'", "id", "number", ",", "true", "roce-xdp", "  ")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def port(rng, node, number):
    out = {"number": number, "name": f"eth{number}", "optional": True}
    if rng.random() < 0.3:
        out["rate"] = f"{rng.randint(1, 900)}mbit"
        if rng.random() < 0.5:
            out["burst_us"] = rng.randint(100, 100000)
    if rng.random() < 0.2:
        out["addresses"] = f"10.{node}.{number}.1/24 fd00:0:{node}:{number}::1/64"
    if rng.random() < 0.2:
        out["mode"] = rng.choice(["auto", "native", "generic"])
    return out


def configuration(rng, folder):
    """A configuration, and the ids of its nodes."""
    ids = rng.sample(range(1, 255), rng.choice([2, 2, 3, 4, 7, 20]))
    cluster = {
        "node": MARK,
        "fabric": {"device": "fab0", "transport": "roce-xdp"},
        "nodes": [{"id": i, "address": f"10.9.0.{i}", "ports": [port(rng, i, p + 1) for p in range(rng.randint(3, 6))]}
                  for i in ids],
    }
    for key, value in (("key_file", "/etc/sluice/größer.key"), ("liveness_ms", rng.randint(20, 10000)),
                       ("bridge", {"packing": rng.randint(1, 64), "poll": "adaptive"}), ("reserve", rng.randint(0, 50))):
        if rng.random() < 0.4:
            cluster[key] = value
    out = {"cluster": cluster, "control": {"socket": f"{folder}/control"}}
    for key, value in (("engine", rng.choice(["fast", "lpm"])), ("heartbeat_s", rng.randint(0, 86400)),
                       ("tables", {"nexthops": rng.randint(16, 9999)}), ("metrics", str(rng.randint(1024, 65535))),
                       ("log_level", "debug"), ("punt_limits", {"ttl": rng.randint(0, 999)}),
                       ("filters", [{"name": f"list{k}", "ports": [{"name": f"eth{k + 1}"}], "default": "permit",
                                     "rules": [{"action": "permit", "protocol": "udp", "destination_port": str(rng.randint(1, 65535))}
                                               for _ in range(rng.randint(1, 9))]} for k in range(rng.randint(1, 3))])):
        if rng.random() < 0.3:
            out[key] = value
    return shuffled(rng, out), ids


def shuffled(rng, value):
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(rng, value[key]) for key in keys}
    return [shuffled(rng, item) for item in value] if isinstance(value, list) else value


def text_of(rng, value):
    """In one of many forms, with MARK for the node."""
    if rng.random() < 0.4:
        out = json.dumps(value, indent=rng.choice([None, 1, 4]), ensure_ascii=rng.random() < 0.5,
                         separators=rng.choice([None, (",", ": "), (" ,", ": ")]))
        return out + rng.choice(["", "\n"])
    out = yaml.safe_dump(value, indent=rng.choice([2, 4]), default_flow_style=rng.choice([None, False]),
                         sort_keys=rng.random() < 0.3, allow_unicode=True, width=rng.choice([60, 200]),
                         default_style=rng.choice([None, None, "'", '"']))
    lines = out.split("\n")
    if "'" not in out and '"' not in out:  # no text goes over lines
        for _ in range(rng.randint(0, 3)):
            lines.insert(rng.randrange(len(lines)), rng.choice(["# a comment: größer", "", "#", "# node: 1"]))
    # A number in quotes is one to this reader; give the mark the form of a number again where it has a tag.
    out = "\n".join(lines).replace(f'!!int "{MARK}"', str(MARK)).replace(f"!!int '{MARK}'", str(MARK))
    out = out.replace("!!int ", "").replace("!!bool ", "")
    return out.replace("\n", "\r\n") if rng.random() < 0.1 else out


def broken(rng, text):
    for _ in range(rng.randint(1, 2)):
        fault = rng.choice(FAULTS)
        at = [i for i in range(len(text)) if text.startswith(fault, i)] or [rng.randrange(len(text))]
        i = rng.choice(at)
        text = rng.choice([text[:i] + text[i + len(fault):], text[:i] + rng.choice(FAULTS) + text[i:],
                           text[:i] + chr(rng.choice([0, 9, 33, 126, 255, 8364])) + text[i:]])
    return text


class Trial:
    def __init__(self, folder, settings):
        self.folder = pathlib.Path(folder)
        self.file, self.got = self.folder / "random.yaml", self.folder / "random-node.yaml"
        self.settings = settings
        self.applied = self.refused = 0

    def by_etcd(self, node):
        """The file that the agent of a node writes."""
        mine = self.folder / "random-settings.yaml"
        mine.write_text(pathlib.Path(self.settings).read_text() + f"node: {node}\nconfig: {self.got}\n")
        out = run("build/sluice-cluster", "--once", "--settings", str(mine))
        return self.got.read_bytes() if out.returncode == 0 else out.stderr

    def check(self, rng, text, ids):
        """What differs, or None."""
        first, second = rng.choice(ids), rng.choice(ids)
        data = text.replace(str(MARK), str(first)).encode()
        self.file.write_bytes(data)
        verdict = run("build/sluiced", "--check", "--config", str(self.file))
        applied = run("build/sluice", "cluster", "apply", "--wait", "0", "--settings", self.settings, str(self.file))
        if verdict.returncode:
            self.refused += 1
            expected = verdict.stderr.replace("sluiced: error: ", "sluice: cluster: ")
            same = applied.returncode == 2 and applied.stderr == expected
            return None if same else f"sluiced says {verdict.stderr!r}, apply {applied.stderr!r} ({applied.returncode})"
        if applied.returncode:
            # What a file may have, and a text for many nodes not.
            if "is not in its own place" in applied.stderr or "named twice" in applied.stderr:
                self.refused += 1
                return None
            return f"sluiced takes it, apply says {applied.stderr!r} ({applied.returncode})"
        self.applied += 1
        got = self.by_etcd(second)
        if got != text.replace(str(MARK), str(second)).encode():
            return f"node {second} has {got!r}"
        if run("build/sluiced", "--check", "--config", str(self.got)).returncode:
            return f"sluiced does not take the file of node {second}"
        return None


def main():
    folder, settings, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    rng = random.Random(seed)
    trial = Trial(folder, settings)
    for i in range(2 * count):
        value, ids = configuration(rng, folder)
        text = text_of(rng, value)
        if i >= count:
            text = broken(rng, text)
        what = trial.check(rng, text, ids)
        if what:
            print(f"seed {seed}, number {i}: {what}\n{text}")
            return 1
        if i + 1 == count:
            whole = trial.applied
    print(f"whole: {whole} of {count} applied, {count - whole} refused by both; "
          f"with faults: {trial.applied - whole} of {count} applied, {trial.refused - (count - whole)} refused by both")
    return 0 if whole >= 0.9 * count and trial.refused >= 0.5 * count else 1


if __name__ == "__main__":
    sys.exit(main())
