#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libprof's reports that are named after Holistic Trace Analysis' functions have its figures.

    hta_equal_test.py PROF [CAPTURES]                            the shipped captures, or those of a folder
    hta_equal_test.py PROF --traces FILE...                      traces of torch.profiler, which both read
    hta_equal_test.py PROF --random WRITE_RANDOM_CAPTURES FIRST LAST   captures made at random

HTA runs on the trace that `prof export` writes of each capture. Each comparison is made once more with a figure of
libprof's that is wrong, and must notice it.
"""
import collections
import contextlib
import copy
import decimal
import gzip
import io
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else HTA cuts times to whole microseconds

import recorded
from hta_numbers import REPORTS, Comparison, Difference

# A report, a column of its rows for HTA, and the method that compares it.
SEEDED = (
    ("temporal_breakdown", "compute_ns", "temporal_breakdown"),
    ("temporal_breakdown", "idle_ns", "temporal_breakdown"),
    ("comm_comp_overlap", "overlap_share", "overlap"),
    ("idle_time_breakdown", "idle_ns", "idle"),
    ("gpu_kernel_types", "sum_ns", "kernel_types"),
    ("gpu_kernel_breakdown", "min_ns", "kernels"),
    ("cuda_kernel_launch_stats", "launch_delay_median_ns", "launches"),
    ("cuda_kernel_launches", "gpu_duration_ns", "launches"),
    ("queue_length", "75%", "queue"),
    ("memory_bandwidth", "mean", "bandwidth"),
)


def reports_of(capture):
    made = json.loads(recorded.prof("report", capture, "--report", ",".join(REPORTS), "--format", "json"))
    return {report["report"]: report for report in made}


def from_its_first_moment(trace, folder):
    """The same trace with small times: as floats, those of a clock that runs for days have no nanoseconds."""
    raw = trace.read_bytes()
    read = json.loads(gzip.decompress(raw) if trace.suffix == ".gz" else raw, parse_float=decimal.Decimal)
    events = read["traceEvents"]
    first = int(min(decimal.Decimal(event["ts"]) for event in events if "ts" in event and event.get("ph") == "X"))
    for event in events:
        if "ts" in event:
            event["ts"] = decimal.Decimal(event["ts"]) - first
    path = pathlib.Path(folder, "shifted.json")
    path.write_text(json.dumps(read, default=float))
    return path


def defects(hta, reports):
    """Wrong figures that were tried, and those of them that were noticed."""
    tried, noticed = set(), set()
    for report, column, method in SEEDED:
        wrong = copy.deepcopy(reports)
        rows = [row for row in wrong[report]["rows"] if row.get("scope") == "hta" or row.get("in_hta")]
        rows = [row for row in rows if row[column]]
        if not rows:
            continue
        tried.add((report, column))
        for row in rows:
            row[column] *= 1.5
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                getattr(Comparison(hta, wrong), method)()
        except Difference:
            noticed.add((report, column))
    return tried, noticed


def compare(trace_analysis, capture, folder):
    reports = reports_of(capture)
    if capture.suffix == ".prof":
        export = recorded.Export(capture)
        trace = export.path
    else:
        trace = from_its_first_moment(capture, folder)
    if not reports["temporal_breakdown"]["rows"]:
        return None
    with contextlib.redirect_stdout(io.StringIO()):
        hta = trace_analysis(trace_files={0: str(trace)})
    if not (hta.t.get_trace(0)["stream"] >= 0).any():
        return None  # all of it was launched in the last step, which HTA leaves out
    return Comparison(hta, reports).run(), *defects(hta, reports)


def main():
    try:
        from hta.trace_analysis import TraceAnalysis
    except ImportError as missing:
        recorded.skip(f"{missing}: install tests/requirements-all.txt")
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="prof_hta_") as folder:
        if sys.argv[2:3] == ["--random"]:
            writer, first, last = sys.argv[3:]
            subprocess.run([writer, folder, first, last], check=True)
            found = sorted(pathlib.Path(folder).glob("*.prof"))
        elif sys.argv[2:3] == ["--traces"]:
            found = [pathlib.Path(name) for name in sys.argv[3:]]
        else:
            found = recorded.captures()
        whole, without, tried, noticed = 0, 0, set(), set()
        figures = collections.Counter()
        for capture in found:
            try:
                done = compare(TraceAnalysis, capture, folder)
            except Difference as difference:
                sys.exit(f"{capture}: {difference}")
            if done is None:
                without += 1
                continue
            whole += 1
            figures += done[0]
            tried |= done[1]
            noticed |= done[2]
        assert whole, "no capture has GPU work"
        assert noticed == tried, f"wrong figures that are not noticed: {tried - noticed}"
        print(", ".join(f"{report} {count}" for report, count in figures.items()))
        print(f"equal in {whole} captures ({without} have no work that HTA counts); "
              f"{len(noticed)} kinds of wrong figures are noticed")  # fmt: skip


if __name__ == "__main__":
    main()
