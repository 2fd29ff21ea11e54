#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every number of the recorded captures' GPU projection, computed again from their traces; and each nanosecond of GPU
work in exactly one row."""
from projection import figures, project
from recorded import Export, captures, gpu_operations, ns, report, union_ns

SPECIAL = ("(no range)", "(ambiguous)", "(unmatched)")


def check_conservation(projection):
    rows = projection["rows"]
    assert {row["path"] for row in rows if not row["instances"]} >= set(SPECIAL), "a fixed row is missing"
    for column, total in (("gpu_self_ns", "total_gpu_ns"), ("self_ops", "total_ops")):
        found = sum(row[column] for row in rows)
        assert found == projection[total], f"{column} adds up to {found}, not {projection[total]}"
    for row in rows:
        assert row["gpu_self_ns"] + row["gpu_child_ns"] == row["gpu_sum_ns"], row
        assert row["gpu_busy_ns"] <= row["gpu_sum_ns"], row
    outermost = sum(row["gpu_sum_ns"] for row in rows if row["depth"] == 0)
    assert outermost == projection["total_gpu_ns"], f"the outermost rows add up to {outermost}"


def check_against_trace(projection, trace):
    operations = gpu_operations(trace)
    assert projection["total_ops"] == len(operations), (projection["total_ops"], len(operations))
    assert projection["total_gpu_ns"] == sum(ns(operation["dur"]) for operation in operations)
    intervals = [(ns(operation["ts"]), ns(operation["ts"]) + ns(operation["dur"])) for operation in operations]
    assert projection["total_busy_ns"] == union_ns(intervals)
    computed = {path: figures(row) for path, row in project(trace).items()}
    reported = {row["path"]: row for row in projection["rows"] if row["instances"] or row["ops"]}
    assert computed.keys() == reported.keys(), computed.keys() ^ reported.keys()
    for path, expected in computed.items():
        found = {key: reported[path][key] for key in expected}
        assert found == expected, f"{path}: reported {found}, computed {expected}"


def main():
    for capture in captures():
        projection = report(capture, "gpu-projection")
        check_conservation(projection)
        check_against_trace(projection, Export(capture).trace)
        rows = [row for row in projection["rows"] if row["instances"] or row["ops"]]
        print(f"{capture.name}: {len(rows)} rows, {projection['total_ops']} GPU operations, "
              f"{projection['adopted_ops']} adopted, {projection['total_gpu_ns']} ns, all as computed")


if __name__ == "__main__":
    main()
