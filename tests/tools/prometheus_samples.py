#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Metrics as a Prometheus reads them, by its own Python library: standard input in its text format; prints one JSON object of
"NAME{LABEL=VALUE}{...}", labels sorted, to number. Refuses what its naming rules refuse.
"""
import json
import math
import sys

from prometheus_client.parser import text_string_to_metric_families

NOT_BASE_UNITS = {"ms", "us", "ns", "milliseconds", "microseconds", "minutes", "kilobytes", "mib", "bits"}


def key_of(name, labels):
    return name + "".join(f"{{{k}={v}}}" for k, v in sorted(labels.items()))


def check_buckets(family, out):
    """The buckets of each set of labels grow up to its count."""
    counts = {}
    for s in family.samples:
        if s.name.endswith("_bucket"):
            rest = {k: v for k, v in s.labels.items() if k != "le"}
            counts.setdefault(key_of(f"{family.name}_count", rest), []).append(s.value)
    for key, values in counts.items():
        assert values == sorted(values) and values[-1] == out[key], key


def main():
    out = {}
    for family in text_string_to_metric_families(sys.stdin.read()):
        assert family.type in ("counter", "gauge", "histogram") and family.documentation, family
        assert not NOT_BASE_UNITS & set(family.name.split("_")), family.name
        for s in family.samples:
            key = key_of(s.name, s.labels)
            assert key not in out, key
            assert s.name.endswith("_total") == (family.type == "counter"), key
            out[key] = None if math.isinf(s.value) else int(s.value) if s.value == int(s.value) else s.value
        if family.type == "histogram":
            check_buckets(family, out)
    json.dump(out, sys.stdout)


main()
