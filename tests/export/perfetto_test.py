#!/usr/bin/env python3
"""Perfetto's own importer reads the traces: no error, every slice and arrow that was written, at its very nanosecond,
each arrow from its call to its operation."""
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from example_traces import skip, write_traces

ERRORS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
SLICES = "select id, ts, dur, track_id, category, arg_set_id from slice"
FLOWS = "select slice_out, slice_in from flow"
TRACKS = "select thread_track.id as id, tid, pid from thread_track join thread using (utid) join process using (upid)"
CORRELATIONS = "select arg_set_id, int_value from args where key = 'args.correlation'"


def trace_processor():
    given = os.environ.get("PERFETTO_TRACE_PROCESSOR")
    if given:
        return given
    root = pathlib.Path(__file__).resolve().parents[2]
    beside = root.parent / "shared/tools/trace_processor/trace_processor_shell"
    if not beside.exists():
        skip("no trace processor: set PERFETTO_TRACE_PROCESSOR to Perfetto's trace_processor_shell")
    if shutil.which("node") is None:
        skip(f"{beside} needs node")
    return str(beside)


def query(program, trace, sql):
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(sql)
        file.flush()
        out = subprocess.run([program, "-q", file.name, str(trace)], check=True, capture_output=True, text=True)
    return list(csv.DictReader(io.StringIO(out.stdout)))


def check_slices(slices, tracks, trace):
    """On the rows of threads; start/end ranges stand on tracks of their own."""
    written = sorted(
        (round(event["ts"] * 1000), round(event.get("dur", 0) * 1000), event["tid"], event["pid"])
        for event in trace["traceEvents"]
        if event["ph"] == "X" or (event["ph"] == "i" and event["s"] == "t")
    )
    row_of = {track["id"]: (int(track["tid"]), int(track["pid"])) for track in tracks}
    shown = sorted(
        (int(row["ts"]), int(row["dur"]), *row_of[row["track_id"]]) for row in slices if row["track_id"] in row_of
    )
    different = [pair for pair in zip(written, shown) if pair[0] != pair[1]]
    assert written == shown, f"{len(written)} written, {len(shown)} shown, first difference {different[:1]}"


def check_flows(flows, slices, correlations, counts):
    assert len(flows) == counts["flows"], f"{len(flows)} arrows of {counts['flows']}"
    slice_of = {row["id"]: row for row in slices}
    correlation_of = {row["arg_set_id"]: row["int_value"] for row in correlations}
    for flow in flows:
        launch, work = slice_of[flow["slice_out"]], slice_of[flow["slice_in"]]
        assert launch["category"] in ("cuda_runtime", "cuda_driver"), launch
        assert work["category"] in ("kernel", "gpu_memcpy", "gpu_memset"), work
        assert correlation_of[launch["arg_set_id"]] == correlation_of[work["arg_set_id"]], (launch, work)


def main():
    program = trace_processor()
    traces = write_traces()
    for name in ("eventful", "dense"):
        path = pathlib.Path(traces.name, name + ".json")
        trace = json.loads(path.read_text())
        counts = json.loads(pathlib.Path(traces.name, name + ".counts.json").read_text())
        for read in (path, path.with_suffix(".json.gz")):
            errors = query(program, read, ERRORS)
            assert not errors, errors
        slices = query(program, path, SLICES)
        expected = sum(counts.values()) - counts["flows"]
        assert len(slices) == expected, f"{len(slices)} slices of {expected}"
        check_slices(slices, query(program, path, TRACKS), trace)
        check_flows(query(program, path, FLOWS), slices, query(program, path, CORRELATIONS), counts)
        print(f"{name}: {len(slices)} slices, {counts['flows']} arrows, no error")


if __name__ == "__main__":
    main()
