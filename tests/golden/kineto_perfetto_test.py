#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perfetto's importer and prof report read a trace of torch.profiler alike: kernels, and in which ranges their launches
lie (by Perfetto's nesting of slices, without adoption)."""
import csv
import io
import json
import subprocess
import tempfile

from perfetto_test import trace_processor
from recorded import ROOT, prof, report

QUERY = """
create perfetto view work as
  select id, name, dur, category, extract_arg(arg_set_id, 'args.correlation') as correlation from slice
  where category in ('kernel', 'gpu_memcpy', 'gpu_memset');
create perfetto view launch as
  select id, extract_arg(arg_set_id, 'args.correlation') as correlation from slice
  where category in ('cuda_runtime', 'cuda_driver');
select 'error ' || name as what, value as n, 0 as ns from stats where severity in ('error', 'data_loss') and value > 0
union all select 'kernel ' || name, count(*), sum(dur) from work where category = 'kernel' group by name
union all select 'in ' || name, count(*), sum(dur) from (
  select distinct work.id, work.dur, around.name
  from work join launch on work.correlation = launch.correlation join ancestor_slice(launch.id) around
  where around.category = 'user_annotation')
  group by name
union all select 'unmatched', count(*), sum(dur) from work where correlation not in (select correlation from launch);
"""


def seen_by_perfetto(program, path):
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(QUERY)
        file.flush()
        done = subprocess.run([program, "-q", file.name, str(path)], check=True, capture_output=True, text=True)
    return {row["what"]: (int(row["n"]), int(row["ns"])) for row in csv.DictReader(io.StringIO(done.stdout))}


def seen_by_prof(path):
    out = {"kernel " + row["name"]: (row["instances"], row["total_ns"]) for row in report(path, "kernels")["rows"]}
    rows = json.loads(prof("report", path, "--format", "json", "--no-fold", "--adopt", "off"))["rows"]
    for row in rows:
        if row["type"] == "push_pop" and row["ops"] != 0:
            ops, ns = out.get("in " + row["name"], (0, 0))  # each step has one
            out["in " + row["name"]] = (ops + row["ops"], ns + row["gpu_sum_ns"])
        elif row["name"] == "(unmatched)" and row["ops"] != 0:
            out["unmatched"] = (row["ops"], row["gpu_sum_ns"])
    return out


def main():
    path = ROOT / "tests/golden/traces/torch-2.11-gpu.json.gz"
    theirs, ours = seen_by_perfetto(trace_processor(), path), seen_by_prof(path)
    assert theirs == ours, {key: (theirs.get(key), ours.get(key)) for key in theirs.keys() | ours.keys()
                            if theirs.get(key) != ours.get(key)}  # fmt: skip
    print(f"{path.name}: {len(ours)} sums as in Perfetto")


if __name__ == "__main__":
    main()
