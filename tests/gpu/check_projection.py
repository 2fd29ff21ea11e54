#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a GPU projection of one of the examples' training runs.

    check_projection.py PROJECTION.json [--adopted] [--ranges NAME…]

The self column adds up to the total to the nanosecond; no operation is ambiguous or unmatched;
nothing was dropped; each of the four ranges of a step (or those of --ranges) has GPU work; with
--adopted, `backward` holds operations that another thread launched.
"""

import argparse
import json
import re
import sys

RANGES = ("data_to_device", "forward", "backward", "optimizer_step")


def range_rows(report, name):
    """The rows of a step's range, one if the iterations are folded, else one for each."""
    pattern = re.compile(r"iteration (#|\d+)/" + re.escape(name))
    return [row for row in report["rows"] if pattern.fullmatch(row["path"])]


def faults(report, adopted, ranges=RANGES):
    found = []
    self_ns = sum(row["gpu_self_ns"] for row in report["rows"])
    if self_ns != report["total_gpu_ns"]:
        found.append(f"self rows add up to {self_ns} ns, the total is {report['total_gpu_ns']} ns")
    for row in report["rows"]:
        if row["path"] in ("(ambiguous)", "(unmatched)") and row["ops"] > 0:
            found.append(f"{row['ops']} operations are {row['path']}")
    for cause, count in report["dropped"].items():
        if count:
            found.append(f"{count} dropped: {cause}")
    for name in ranges:
        if sum(row["ops"] for row in range_rows(report, name)) == 0:
            found.append(f"{name} has no GPU work")
    if adopted and sum(row["adopted_ops"] for row in range_rows(report, "backward")) == 0:
        found.append("backward has adopted nothing")
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("report", metavar="PROJECTION.json")
    parser.add_argument("--adopted", action="store_true", help="backward must hold adopted operations")
    parser.add_argument("--ranges", nargs="+", default=RANGES, metavar="NAME", help="of a step (the four)")
    options = parser.parse_args(arguments)
    with open(options.report) as file:
        report = json.load(file)
    found = faults(report, options.adopted, options.ranges)
    for fault in found:
        print(f"{options.report}: {fault}")
    if not found:
        print(f"{options.report}: ok, {report['total_gpu_ns'] / 1e6:.3f} ms of GPU time in {len(report['rows'])} rows")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
