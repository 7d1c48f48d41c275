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


def main():
    out = {}
    for family in text_string_to_metric_families(sys.stdin.read()):
        assert family.type in ("counter", "gauge", "histogram") and family.documentation, family
        assert not NOT_BASE_UNITS & set(family.name.split("_")), family.name
        for s in family.samples:
            key = s.name + "".join(f"{{{k}={v}}}" for k, v in sorted(s.labels.items()))
            assert key not in out, key
            assert s.name.endswith("_total") == (family.type == "counter"), key
            out[key] = None if math.isinf(s.value) else int(s.value) if s.value == int(s.value) else s.value
        if family.type == "histogram":
            counts = [s.value for s in family.samples if s.name.endswith("_bucket")]
            assert counts == sorted(counts) and counts[-1] == out[f"{family.name}_count"], family
    json.dump(out, sys.stdout)


main()
