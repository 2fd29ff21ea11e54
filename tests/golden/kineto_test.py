#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of torch.profiler are read as they are: compared with a plain reading of the JSON (plain_trace.py), for PyTorch
1.13, 2.1 (CPU) and 2.11 (an H100). And the trace that `prof export` makes of a recorded capture gives the reports that
the capture gives.

    CHECK PROF [TRACES]        more traces, files or folders
"""
import collections
import csv
import gzip
import io
import json
import pathlib
import sys
import tempfile

from plain_trace import COPIES, KERNELS, SETS, PlainTrace
from recorded import ROOT, Export, captures, prof, report

TRACES = ROOT / "tests/golden/traces"


def traces():
    given = [pathlib.Path(word) for word in sys.argv[2:]] or [TRACES]
    for place in given:
        yield from sorted(place.rglob("*.json.gz")) if place.is_dir() else [place]


def instances(rows, name):
    return {row[name]: (row["instances"], row["total_ns"]) for row in rows}


def projection(path, *more):
    return json.loads(prof("report", path, "--format", "json", "--no-fold", *more))["rows"]


def check_like_plain_reading(path):
    plain = PlainTrace(path)
    assert instances(report(path, "kernels")["rows"], "name") == plain.totals(KERNELS), path
    assert instances(report(path, "copies")["rows"], "operation") == plain.totals(COPIES | SETS), path

    counts, host, work = collections.Counter(), collections.Counter(), collections.Counter()
    for row in projection(path, "--adopt", "off"):
        if row["type"] == "push_pop":
            counts[row["name"]] += row["instances"]
            host[row["name"]] += row["host_ns"]
            if row["name"] not in row["path"].split("/")[:-1]:
                work[row["name"]] += row["gpu_sum_ns"]
        elif row["name"] == "(unmatched)":
            work[row["name"]] += row["gpu_sum_ns"]
    annotations = plain.annotations()
    assert counts == {name: count for name, (count, _) in annotations.items()}, (path, counts, annotations)
    assert host == {name: length for name, (_, length) in annotations.items()}, path
    assert +work == plain.work_in_annotations(), (path, +work, plain.work_in_annotations())

    operators = {row["name"]: row["calls"] for row in report(path, "pytorch_ops")["rows"]}
    for name, count in plain.operators().items():
        # One that is the whole content of another one of its name is the same call.
        assert count >= operators[name] >= count / 2, (path, name, count, operators[name])
    return sum(count for count, _ in annotations.values()), len(plain.gpu())


def without_presentation(rows):
    """What must be equal: all numbers but those that count CUPTI's details, which a trace does not have."""
    return [{key: value for key, value in row.items() if key != "symbol"} for row in rows]


def check_round_trip(capture, folder):
    exported = Export(capture)
    trace = pathlib.Path(folder, capture.stem + ".json.gz")
    trace.write_bytes(exported.path.read_bytes())
    for name in ("kernels", "copies", "steps", "pytorch_ops", "cuda_api_sum", "nvtx_pushpop_sum"):
        ours, theirs = report(capture, name), report(trace, name)
        assert without_presentation(ours["rows"]) == without_presentation(theirs["rows"]), (capture, name)
    ours, theirs = (prof("report", path, "--report", "kernels", "--kernel-names", "short", "--format", "csv")
                    for path in (capture, trace))  # fmt: skip
    names = [[row["name"] for row in csv.DictReader(io.StringIO(text))] for text in (ours, theirs)]
    assert names[0] == names[1], (capture, [pair for pair in zip(*names) if pair[0] != pair[1]][:3])
    for more in ((), ("--adopt", "off")):
        ours, theirs = projection(capture, *more), projection(trace, *more)
        assert ours == theirs, (capture, [pair for pair in zip(ours, theirs) if pair[0] != pair[1]][:3])
    plain = trace.with_suffix("")
    plain.write_bytes(gzip.decompress(trace.read_bytes()))
    assert projection(plain) == projection(trace)
    return len(ours)


def check_directory(folder):
    """Several ranks' traces in a directory are one report."""
    for rank in (0, 1, 10, 2):
        text = gzip.decompress((TRACES / "torch-2.11-gpu.json.gz").read_bytes()).decode()
        text = text.replace("{", '{"distributedInfo": {"rank": %d, "world_size": 11}, ' % rank, 1)
        pathlib.Path(folder, f"rank-{rank}.pt.trace.json").write_text(text)
    pathlib.Path(folder, "other.json").write_text('{"answer": 42}')
    found = json.loads(prof("report", folder, "--report", "kernels", "--format", "json"))
    assert [one["process"]["rank"] for one in found] == [0, 1, 2, 10], [one["process"] for one in found]


def main():
    for path in traces():
        ranges, ops = check_like_plain_reading(path)
        print(f"{path.name}: {ranges} ranges and {ops} GPU operations as in a plain reading")
    with tempfile.TemporaryDirectory(prefix="prof_kineto_") as folder:
        if len(sys.argv) <= 2:
            for capture in captures():
                print(f"{capture.name}: {check_round_trip(capture, folder)} rows from its trace as from itself")
    with tempfile.TemporaryDirectory(prefix="prof_kineto_") as folder:
        check_directory(folder)


if __name__ == "__main__":
    main()
