#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perfetto's importer sees of the recorded captures' traces exactly what was written, without an error, and every arrow
goes from its call to its operation."""
import collections
import csv
import io
import os
import shutil
import subprocess
import tempfile

from recorded import CALL_CATEGORIES, GPU_CATEGORIES, ROOT, Export, calls, captures, gpu_operations, ns, skip

# One run of the program for each trace: loading is what takes its time.
SUMMARY = """
select 'error: ' || name as what, value as n from stats where severity in ('error', 'data_loss') and value > 0
union all select 'slices: ' || category, count(*) from slice group by category
union all select 'ns: ' || category, sum(dur) from slice group by category
union all select 'arrows', count(*) from flow
union all select 'counters', count(*) from counter
union all select 'arrows from a call to its operation', count(*)
  from flow join slice launch on flow.slice_out = launch.id join slice work on flow.slice_in = work.id
  where launch.category in {calls} and work.category in {work}
    and extract_arg(launch.arg_set_id, 'args.correlation') = extract_arg(work.arg_set_id, 'args.correlation')
"""


def trace_processor():
    given = os.environ.get("PERFETTO_TRACE_PROCESSOR")
    if given:
        return given
    beside = ROOT.parent / "shared/tools/trace_processor/trace_processor_shell"
    if not beside.exists():
        skip("no trace processor: set PERFETTO_TRACE_PROCESSOR to Perfetto's trace_processor_shell")
    if shutil.which("node") is None:
        skip(f"{beside} needs node")
    return str(beside)


def shown(program, path):
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(SUMMARY.format(calls=CALL_CATEGORIES, work=GPU_CATEGORIES))
        file.flush()
        out = subprocess.run([program, "-q", file.name, str(path)], check=True, capture_output=True, text=True).stdout
    return {row["what"]: int(row["n"]) for row in csv.DictReader(io.StringIO(out))}


def written(trace):
    counts = collections.Counter()
    for event in trace["traceEvents"]:
        if event["ph"] in "Xib":
            counts["slices: " + event["cat"]] += 1
            counts["ns: " + event["cat"]] += ns(event.get("dur", 0))
        if event["ph"] in "be":  # the two ends of a range that any thread may end
            counts["ns: " + event["cat"]] += ns(event["ts"]) * (1 if event["ph"] == "e" else -1)
        counts["arrows"] += event["ph"] == "s"
        counts["counters"] += event["ph"] == "C"
    counts["arrows from a call to its operation"] = counts["arrows"]
    return counts


def check_announced(announced, trace):
    """What the command says it wrote."""
    counts = collections.Counter(event.get("cat") for event in trace["traceEvents"] if event["ph"] == "X")
    found = {
        "host ranges": counts["user_annotation"],
        "CUDA calls": len(calls(trace)),
        "GPU operations": len(gpu_operations(trace)),
        "ranges on the GPU": counts["gpu_user_annotation"],
        "arrows": written(trace)["arrows"],
    }
    assert announced == found, f"announced {announced}, found {found}"


def check_shown(seen, trace):
    expected = written(trace)
    different = {what: (seen.get(what, 0), expected.get(what, 0)) for what in seen.keys() | expected.keys()
                 if seen.get(what, 0) != expected.get(what, 0)}
    assert not different, f"shown and written: {different}"


def check_matched(trace):
    """Every operation whose call is there has an arrow."""
    known = {call["args"]["correlation"] for call in calls(trace)}
    matched = sum(operation["args"]["correlation"] in known for operation in gpu_operations(trace))
    assert matched == written(trace)["arrows"], f"{matched} operations with a call, {written(trace)['arrows']} arrows"


def main():
    program = trace_processor()
    for capture in captures():
        export = Export(capture)
        check_announced(export.announced, export.trace)
        check_matched(export.trace)
        check_shown(shown(program, export.path), export.trace)
        counts = written(export.trace)
        slices = sum(n for what, n in counts.items() if what.startswith("slices"))
        print(f"{capture.name}: {slices} slices, {counts['arrows']} arrows from call to operation, no error")


if __name__ == "__main__":
    main()
