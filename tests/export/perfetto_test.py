#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
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

# All that is asked of a trace in one table, since loading it is what takes time.
QUERY = """
select 'error' as kind, name as a, value as b, 0 as c, 0 as d, 0 as e, 0 as f
  from stats where severity in ('error', 'data_loss') and value > 0
union all select 'slice', id, ts, dur, track_id, category, arg_set_id from slice
union all select 'flow', slice_out, slice_in, 0, 0, 0, 0 from flow
union all select 'track', thread_track.id, tid, pid, 0, 0, 0
  from thread_track join thread using (utid) join process using (upid)
union all select 'payload', slice.name, display_value, 0, 0, 0, 0
  from args join slice using (arg_set_id) where key in ('args.payload', 'args.bytes') and category = 'user_annotation'
union all select 'row', thread.name, tid, pid, 0, 0, 0 from thread join process using (upid)
union all select 'nested', slice.name, around.name, thread.name, slice.depth, 0, 0
  from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
  left join slice as around on slice.parent_id = around.id where slice.category != 'kernel'
union all select 'counter', counter_track.name, ts, value, 0, 0, 0
  from counter join counter_track on counter.track_id = counter_track.id
union all select 'correlation', arg_set_id, int_value, 0, 0, 0, 0 from args where key = 'args.correlation'
"""


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


def load(program, trace):
    """Kind of row → the rows' values, as the importer has them."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(QUERY)
        file.flush()
        out = subprocess.run([program, "-q", file.name, str(trace)], check=True, capture_output=True, text=True)
    rows = {kind: [] for kind in ("error", "slice", "flow", "track", "payload", "row", "nested", "counter", "correlation")}
    for kind, *values in list(csv.reader(io.StringIO(out.stdout)))[1:]:
        rows[kind].append(values)
    assert not rows["error"], rows["error"]
    return rows


def check_slices(rows, trace):
    """On the rows of threads; start/end ranges stand on tracks of their own."""
    written = sorted(
        (round(event["ts"] * 1000), round(event.get("dur", 0) * 1000), event["tid"], event["pid"])
        for event in trace["traceEvents"]
        if event["ph"] == "X" or (event["ph"] == "i" and event["s"] == "t")
    )
    row_of = {track: (int(tid), int(pid)) for track, tid, pid, *_ in rows["track"]}
    shown = sorted(
        (int(ts), int(dur), *row_of[track]) for _, ts, dur, track, *_ in rows["slice"] if track in row_of
    )
    different = [pair for pair in zip(written, shown) if pair[0] != pair[1]]
    assert written == shown, f"{len(written)} written, {len(shown)} shown, first difference {different[:1]}"


def check_flows(rows):
    category_and_args = {slice_id: (category, args) for slice_id, _, _, _, category, args in rows["slice"]}
    correlation_of = {args: value for args, value, *_ in rows["correlation"]}
    for slice_out, slice_in, *_ in rows["flow"]:
        launch, launch_args = category_and_args[slice_out]
        work, work_args = category_and_args[slice_in]
        assert launch in ("cuda_runtime", "cuda_driver"), launch
        assert work in ("kernel", "gpu_memcpy", "gpu_memset"), work
        assert correlation_of[launch_args] == correlation_of[work_args], (slice_out, slice_in)


def check_payloads(rows):
    """To the last digit, where a number would be one of double's or of int64's."""
    shown = {name: value for name, value, *_ in rows["payload"]}
    assert shown == {
        "largest u64": "18446744073709551615",
        "smallest i64": "-9223372036854775808",
        "largest i64": "9223372036854775807",
        "2^53 + 1": "9007199254740993",
        "2^53 - 1": "9007199254740991",
        "-2^53 - 1": "-9007199254740993",
        "-1": "-1",
        "bytes": "18446744073709551615",
    }, shown


def check_streams(rows):
    """Those of each context by themselves, with the names that they were given there."""
    shown = {(int(pid), int(tid)): name for name, tid, pid, *_ in rows["row"] if "stream" in name}
    assert shown == {
        (0, 7): "stream 7 of context 1 compute",
        (0, 14): "stream 7 of context 2 copies",
        (0, 13): "stream 13 of context 2 either",
        (1, 7): "stream 7",
    }, shown


def check_steps(rows):
    """Steps are on the thread's row, around its ranges and calls; phases stand on a row of their own."""
    shown = {tuple(row[:4]) for row in rows["nested"] if row[2].startswith("python")}
    numbers = [f"ProfilerStep#{number}" for number in range(5)]
    assert shown == {
        *((number, "[NULL]", "python", "0") for number in numbers),
        *(("iteration", number, "python", "1") for number in numbers),
        ("cudaLaunchKernel", "iteration", "python", "2"),
        ("startup", "[NULL]", "python (phases)", "0"),
        ("step", "[NULL]", "python (phases)", "0"),
        ("forward", "step", "python (phases)", "1"),
        ("backward", "step", "python (phases)", "1"),
    }, shown


def check_shared(rows, trace):
    """Each capture has its processes, rows and arrows for itself, though all have the same pids and ids of their own."""
    named = {(event["pid"], event["tid"]): event["args"]["name"] for event in trace["traceEvents"]
             if event["name"] == "thread_name"}  # fmt: skip
    shown = {(int(pid), int(tid)): name for name, tid, pid, *_ in rows["row"]}
    assert {row: shown.get(row) for row in named} == named, shown
    processes = {event["pid"] for event in trace["traceEvents"] if event["name"] == "process_name"}
    assert len(processes) == 8, processes
    pid_of = {track: int(pid) for track, _, pid, *_ in rows["track"]}
    track_of = {slice_id: track for slice_id, _, _, track, *_ in rows["slice"]}
    arrows = {(pid_of[track_of[slice_out]], pid_of[track_of[slice_in]]) for slice_out, slice_in, *_ in rows["flow"]}
    assert len(arrows) == 4 and len({pid for pair in arrows for pid in pair}) == 8, arrows


def main():
    program = trace_processor()
    traces = write_traces()
    for name in ("eventful", "dense", "graphs", "edges", "steps", "shared"):
        path = pathlib.Path(traces.name, name + ".json")
        trace = json.loads(path.read_text())
        counts = json.loads(pathlib.Path(traces.name, name + ".counts.json").read_text())
        rows = load(program, path)
        expected = sum(counts.values()) - counts["flows"] - counts["counters"]
        assert len(rows["counter"]) == counts["counters"], f"{len(rows['counter'])} values of {counts['counters']}"
        assert len(rows["slice"]) == expected, f"{len(rows['slice'])} slices of {expected}"
        assert len(rows["flow"]) == counts["flows"], f"{len(rows['flow'])} arrows of {counts['flows']}"
        check_slices(rows, trace)
        check_flows(rows)
        if name == "eventful":
            values = [(track, float(value)) for track, _, value, *_ in rows["counter"]]
            assert values == [("loss value", 0.75), ("loss value", 0.5)], values
        if name == "edges":
            check_payloads(rows)
            check_streams(rows)
        if name == "steps":
            check_steps(rows)
        if name == "shared":
            check_shared(rows, trace)
        compressed = load(program, path.with_suffix(".json.gz"))
        assert {kind: len(found) for kind, found in compressed.items()} == {
            kind: len(found) for kind, found in rows.items()
        }
        print(f"{name}: {expected} slices, {counts['flows']} arrows, no error")


if __name__ == "__main__":
    main()
