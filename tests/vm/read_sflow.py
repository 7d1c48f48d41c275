#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Read the datagrams that a collector got of `sluice sflow`, by tshark's dissector, and compare them with what was sent
and counted.

    read_sflow.py each|some|fast DIRECTORY    what tests/vm/sflow_flood wrote; prints the sums
"""
import collections
import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "oracle"))
import pcap  # noqa: E402  pylint: disable=wrong-import-position

FLOW, COUNTERS = "1", "2"
UNKNOWN = 0xffffffff
Datagram = collections.namedtuple("Datagram", "version agent sub_agent sequence uptime_ms samples")


def names(fields):
    """{the last part of a field's name: what it shows} of fields, without what a frame's header says in turn."""
    return {field.get("name").rpartition(".")[2]: field.get("show") for field in fields if field.get("name")}


def record(sample):
    """The fields of a sample and of its only record, and the bytes of the header."""
    inner = [field for field in sample.findall("field") if not field.get("name")]
    assert len(inner) == 1, "a sample has one record"
    result = names(sample.findall("field"))
    output = sample.find("field[@name='sflow.flow_sample.output_interface']")
    if output is not None:
        result |= names(output.findall("field"))
    header = inner[0].find("field[@name='sflow_245.header']")
    raw = bytes.fromhex(header.get("value")) if header is not None else b""
    record_fields = inner[0].findall("field")
    assert names(record_fields)["enterprise"] == "0"
    result |= {name: value for name, value in names(record_fields).items() if name != "enterprise"}
    return result, raw


def read(path, port):
    command = ["tshark", "-r", path, "-n", "-d", f"udp.port=={port},sflow", "-Y", f"sflow && udp.dstport=={port}", "-T", "pdml"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for packet in xml.etree.ElementTree.fromstring(text).findall("packet"):
        sflow = packet.find("proto[@name='sflow']")
        assert packet.find(".//*[@name='_ws.malformed']") is None, "tshark calls a datagram malformed"
        top = names(sflow.findall("field"))
        samples = [record(field) for field in sflow.findall("field") if not field.get("name")]
        assert int(top["numsamples"]) == len(samples)
        length = int(packet.find("proto[@name='udp']/field[@name='udp.length']").get("show")) - 8
        assert length == sum(int(field.get("size")) for field in sflow.findall("field")), "bytes that are no field"
        assert length <= 1400
        yield Datagram(int(top["version"]), top.get("agent") or top["v6"], int(top["sub_agent_id"]),
                       int(top["sequence_number"]), int(top["sysuptime"]), samples)


def check_datagrams(datagrams, agent):
    assert datagrams
    assert [d.sequence for d in datagrams] == list(range(1, len(datagrams) + 1)), "datagrams are missing"
    assert all((d.version, d.agent, d.sub_agent) == (5, agent, 0) for d in datagrams), datagrams[0]
    assert [d.uptime_ms for d in datagrams] == sorted(d.uptime_ms for d in datagrams)


def by_source(datagrams, kind, source):
    """{ifindex: samples}, whose sequence numbers have no gap."""
    result = collections.defaultdict(list)
    for datagram in datagrams:
        for fields, raw in datagram.samples:
            if fields["sampletype"] == kind:
                result[int(fields[source])].append((fields, raw))
    for samples in result.values():
        assert [int(f["sequence_number"]) for f, _ in samples] == list(range(1, len(samples) + 1)), "samples are missing"
    return result


def check_flows(flows, sampling, most):
    for ifindex, samples in flows.items():
        for fields, raw in samples:
            assert fields["source_id_class"] == "0" and fields["enterprise"] == "0", fields
            assert fields["input_interface"] == str(ifindex), fields
            assert fields["sampling_rate"] == str(sampling) and fields["flow_record"] == "1", fields
            assert fields["flow_record_format"] == "1" and fields["header_protocol"] == "1", fields
            assert fields["payload_stripped"] == "4", fields
            header_bytes, frame_bytes = int(fields["sampled_header_length"]), int(fields["frame_length"]) - 4
            assert header_bytes == min(most, frame_bytes), fields
            assert len(raw) == (header_bytes + 3) // 4 * 4 and not any(raw[header_bytes:])
            assert int(fields["flow_data_length"]) == 16 + len(raw) and int(fields["sample_length"]) == 40 + 16 + len(raw)
        for name in ("sample_pool", "dropped_packets"):
            values = [int(f[name]) for f, _ in samples]
            assert values == sorted(values), f"{name} goes back"


def number_of(raw):
    """The number of a frame of send_frames.py, or None."""
    if raw[12:14] != b"\x08\x00" or raw[23] != 17 or raw[34:36] != (5000).to_bytes(2, "big"):
        return None
    return int.from_bytes(raw[42:46], "big")


def check_headers(samples, sent, eth2):
    """Each sample of a frame sent has its bytes, its length and what became of it; returns the numbers."""
    numbers = []
    for fields, raw in samples:
        number = number_of(raw)
        if number is None:
            continue
        numbers.append(number)
        header = raw[:int(fields["sampled_header_length"])]
        assert header == sent[number][:len(header)], f"frame {number} has other bytes"
        assert int(fields["frame_length"]) == len(sent[number]) + 4
        out = (fields["output_interface_format"], fields["output_interface_value"])
        expected = {0: ("1", "258"), 1: ("1", "256")}.get(number % 50, ("0", str(eth2)))
        assert out == expected, f"frame {number}: {out} is not {expected}"
    assert numbers == sorted(set(numbers)), "a frame is there twice, or too late"
    return numbers


def check_counters(samples, link, dropped):
    """A sample of a port has the counters that `ip` shows at rest, and what XDP dropped; returns the frames that have entered."""
    rx, tx = link["stats64"]["rx"], link["stats64"]["tx"]
    expected = {
        "counters_records": 1, "counters_record_format": 1, "flow_data_length": 88, "sample_length": 108, "source_id_type": 0,
        "ifindex": link["ifindex"], "iftype": 6, "ifspeed": 10 * 10**9, "ifdirection": 1, "ifadmin_status": 1, "ifoper_status": 1,
        "ifinoct": rx["bytes"], "ifinpkt": rx["packets"] - rx["multicast"], "ifinmcast": rx["multicast"], "ifinbcast": UNKNOWN,
        "ifindisc": rx["dropped"] + dropped, "ifinerr": rx["errors"], "ifinunk": UNKNOWN,
        "ifoutoct": tx["bytes"], "ifoutpkt": tx["packets"], "ifoutmcast": UNKNOWN, "ifoutbcast": UNKNOWN,
        "ifoutdisc": tx["dropped"], "ifouterr": tx["errors"], "ifpromisc": 0,
    }
    got = [{name: int(fields[name]) for name in expected} for fields, _ in samples]
    assert expected in got, f"{link['ifname']}: {got[-1]} is not {expected}"
    return rx["packets"]


def counter(counts, name):
    return sum(row["packets"] for row in counts["counters"] if row["name"] == name)


def main(kind, directory):
    def load(name):
        with open(os.path.join(directory, name), encoding="utf-8") as f:
            return json.load(f)
    path = os.path.join(directory, "collected.pcap")
    start, before, after, end = load("start"), load("before"), load("after"), load("end")
    links = {link["ifname"]: link for [link] in after["link"]}
    eth1, eth2 = links["eth1"]["ifindex"], links["eth2"]["ifindex"]
    assert (load("programs.off"), load("programs.on"), load("programs.end")) == (0, 2, 0)
    datagrams = list(read(path, 6343))
    check_datagrams(datagrams, "fd00:9::1" if kind == "each" else "10.0.9.1")
    if kind == "each":
        assert [d.samples for d in read(path, 9999)] == [d.samples for d in datagrams], "collectors got different samples"
    sampling, most = (20 if kind == "some" else 1), (64 if kind == "each" else 128)
    flows = by_source(datagrams, FLOW, "index")
    check_flows(flows, sampling, most)
    n_flows = sum(len(samples) for samples in flows.values())
    # Frames that entered while the command ran: at least those from when it said so until all was at rest.
    begun, rested = counter(start, "rx"), counter(after, "rx")
    least, greatest = rested - counter(before, "rx"), counter(end, "rx") - begun
    pool = sum(int(samples[-1][0]["sample_pool"]) for samples in flows.values())
    drops = sum(int(samples[-1][0]["dropped_packets"]) for samples in flows.values())
    with open(os.path.join(directory, "sflow.err"), encoding="utf-8") as f:
        said = [int(n) for n in re.search(r"(\d+) frames entered; (\d+) samples, (\d+) lost; (\d+) datagrams, (\d+) not sent",
                                          f.read()).groups()]
    n_samples = sum(len(d.samples) for d in datagrams)
    assert least <= said[0] <= greatest, f"{said[0]} frames entered, not {least} to {greatest}"
    assert said[1:] == [n_samples, drops, len(datagrams) * (2 if kind == "each" else 1), 0], (said, n_samples, drops)
    if kind != "fast":
        sent = pcap.read(os.path.join(directory, "sent.pcap"))
        numbers = check_headers(flows[eth1], sent, eth2)
        assert drops == 0
    if kind == "each":
        assert numbers == list(range(len(sent))) and pool == n_flows == said[0]
        local = [f["output_interface_value"] for f, raw in flows[eth1] if raw[23] == 1 and raw[30:34] == bytes([10, 0, 1, 1])]
        assert local == [str(0x3fffffff)] * 3, local
    if kind == "some":
        mean, deviation = said[0] / sampling, math.sqrt(said[0] * (1 - 1 / sampling) / sampling)
        assert abs(n_flows - mean) < 6 * deviation, f"{n_flows} samples, not {mean}"
        gaps = collections.Counter(b - a for a, b in zip(numbers, numbers[1:]))
        assert len(gaps) > sampling, "the samples have a rhythm"
        # On each processor the next sample is at most 2 * sampling - 1 frames away.
        assert said[0] - pool < 2 * sampling * 4
    if kind == "fast":
        assert drops > 0 and n_flows + drops == pool == said[0], (n_flows, drops, pool, said)
    counters = by_source(datagrams, COUNTERS, "source_id_index")
    assert set(counters) == {eth1, eth2}
    dropped = {row["port"]: row["dropped_packets"] for row in after["ports"]}
    assert sum(dropped.values()) == counter(after, "drops") and (dropped["eth1"] or kind == "fast"), dropped
    entered = sum(check_counters(counters[links[dev]["ifindex"]], links[dev], dropped[dev]) for dev in ("eth1", "eth2"))
    earlier = sum(link["stats64"]["rx"]["packets"] for [link] in start["link"])
    assert entered - earlier == rested - begun, f"the ports counted {entered - earlier} frames, and XDP {rested - begun}"
    print(json.dumps({"entered": said[0], "samples": n_flows, "lost": drops, "datagrams": len(datagrams)}))


main(*sys.argv[1:])
