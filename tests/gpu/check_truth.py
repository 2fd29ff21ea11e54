#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what libprof reports of the truth program with what the program knows of itself.

    check_truth.py --journal JOURNAL.json --projection P.json --kernels K.json --copies C.json [--json VERDICT.json]

JOURNAL.json is the truth program's (tests/gpu/truth): every operation, the ranges that were open
when it was launched, and when each kernel began and ended by its own reading of the GPU's clock.
The others are `prof report --format json` of the same process.

Counts, bytes and paths are exact. A time is right within 1 %, or 2 us for each kernel in it
(--per-op-ns): what CUPTI calls a kernel's duration begins before its first and ends after its last
instruction. A span (first start to last end) has two such ends for each instance of its range.
The host time of calls that waited is right within 2 %, or 20 us for each call, of what the program
measured around them (CUPTI's own work in a call is outside the time that libprof records), and not
less than what was left of the kernel that was waited for.
"""

import argparse
import json
import math
import re
import sys
from collections import defaultdict

FIXED_ROWS = ("(no range)", "(ambiguous)", "(unmatched)")


def fold(text):
    return re.sub(r"[0-9]+", "#", text)


def union_ns(intervals):
    """Length of the union of (start, end) pairs."""
    total, covered_until = 0, None
    for start, end in sorted(intervals):
        if covered_until is None or start > covered_until:
            total += end - start
            covered_until = end
        elif end > covered_until:
            total += end - covered_until
            covered_until = end
    return total


class Row:
    """What one row of the projection should say."""

    def __init__(self):
        self.instances = set()
        self.operations = []
        self.self_operations = 0
        self.by_instance = defaultdict(list)

    def add(self, instance, operation):
        self.operations.append(operation)
        self.by_instance[instance].append(operation)

    def kernels(self):
        return [op for op in self.operations if op["kind"] == "kernel"]

    def has_only_kernels(self):
        return len(self.kernels()) == len(self.operations)

    def sum_ns(self):
        return sum(op["end_ns"] - op["start_ns"] for op in self.kernels())

    def busy_ns(self):
        devices = {op["device"] for op in self.kernels()}
        return sum(
            union_ns([(op["start_ns"], op["end_ns"]) for op in self.kernels() if op["device"] == device])
            for device in devices
        )

    def span_ns(self):
        """None where clocks of two devices, or a copy of unknown time, would be needed."""
        total = 0
        for operations in self.by_instance.values():
            if any(op["kind"] != "kernel" for op in operations) or len({op["device"] for op in operations}) > 1:
                return None
            total += max(op["end_ns"] for op in operations) - min(op["start_ns"] for op in operations)
        return total


def expected_rows(journal, with_captured):
    """{folded path: Row} of the tree. `with_captured`: a graph's nodes stand under their capture's ranges, too."""
    rows = defaultdict(Row)
    for number, instance in enumerate(journal["instances"]):
        if not instance["process"]:
            rows[fold(instance["path"])].instances.add(number)
    for operation in journal["operations"]:
        path = None
        for number in operation["open"]:
            instance = journal["instances"][number]
            if not instance["process"]:
                path = fold(instance["path"])
                rows[path].add(number, operation)
        if with_captured and path is not None:
            for name in operation.get("captured", []):
                path += "/" + fold(name)
                replay = ("replay", operation["replay"])
                rows[path].instances.add(replay)
                rows[path].add(replay, operation)
        if path is None:
            rows["(no range)"].add(None, operation)
        rows[path or "(no range)"].self_operations += 1
    return rows


def expected_process_rows(journal):
    rows = defaultdict(Row)
    for number, instance in enumerate(journal["instances"]):
        if instance["process"]:
            rows[fold(instance["path"])].instances.add(number)
    for operation in journal["operations"]:
        counted = set()
        for number in operation["open"]:
            instance = journal["instances"][number]
            path = fold(instance["path"])
            if instance["process"] and path not in counted:
                counted.add(path)
                rows[path].add(number, operation)
    return rows


class Verdict:
    def __init__(self, relative, per_op_ns):
        self.relative, self.per_op_ns = relative, per_op_ns
        self.faults, self.figures, self.worst = [], 0, 0.0

    def exact(self, what, reported, known):
        self.figures += 1
        if reported != known:
            self.faults.append(f"{what}: reported {reported}, known {known}")

    def near(self, what, reported, known, ends):
        """`ends`: how often a kernel's edge may differ."""
        self.figures += 1
        allowed = max(self.relative * known, self.per_op_ns * ends)
        if abs(reported - known) > allowed:
            self.faults.append(f"{what}: reported {reported} ns, known {known} ns, allowed {allowed:.0f} ns apart")
        if known > 1e6:
            self.worst = max(self.worst, abs(reported - known) / known)

    def at_least(self, what, reported, known):
        self.figures += 1
        if reported < known:
            self.faults.append(f"{what}: reported {reported} ns, known to be {known:.0f} ns or more")

    def at_most(self, what, reported, known):
        self.figures += 1
        if reported > known:
            self.faults.append(f"{what}: reported {reported} ns, known to be {known:.0f} ns or less")


def check_stamps(verdict, journal):
    """The program's own times make sense: each kernel ran, for as long as requested."""
    for operation in journal["operations"]:
        if operation["kind"] != "kernel":
            continue
        ran_ns = operation["end_ns"] - operation["start_ns"]
        if operation["start_ns"] == 0:
            verdict.faults.append(f"a {operation['name']} has left no stamp")
        elif not 0 <= ran_ns - operation["requested_ns"] <= max(2_000, 0.01 * operation["requested_ns"]):
            verdict.faults.append(f"a {operation['name']} of {operation['requested_ns']} ns ran for {ran_ns} ns")


def check_times(verdict, path, reported, row):
    count = len(row.operations)
    if not row.has_only_kernels():
        verdict.at_least(f"{path}: sum", reported["gpu_sum_ns"], (1 - verdict.relative) * row.sum_ns())
        return
    verdict.near(f"{path}: sum", reported["gpu_sum_ns"], row.sum_ns(), count)
    verdict.near(f"{path}: busy", reported["gpu_busy_ns"], row.busy_ns(), count)
    span_ns = row.span_ns()
    # A span is an instance's: the fixed rows have none, and a replay's instances are not the program's ranges.
    if span_ns is not None and all(isinstance(instance, int) for instance in row.by_instance):
        verdict.near(f"{path}: span", reported["gpu_span_ns"], span_ns, 2 * len(row.by_instance))


def check_projection(verdict, journal, projection):
    with_captured = any("captured" in row for row in projection["rows"])
    expected = expected_rows(journal, with_captured)
    reported = {row["path"]: row for row in projection["rows"]}
    for path in sorted(expected.keys() | reported.keys()):
        if path not in reported:
            verdict.faults.append(f"{path}: no such row")
            continue
        row, known = reported[path], expected.get(path, Row())
        if path not in expected and path not in FIXED_ROWS:
            verdict.faults.append(f"{path}: a row that should not be")
            continue
        verdict.exact(f"{path}: instances", row["instances"], 0 if path in FIXED_ROWS else len(known.instances))
        verdict.exact(f"{path}: operations", row["ops"], len(known.operations))
        verdict.exact(f"{path}: own operations", row["self_ops"], known.self_operations)
        verdict.exact(f"{path}: adopted", row["adopted_ops"], sum(op["adopted"] for op in known.operations))
        check_times(verdict, path, row, known)
    verdict.exact("operations", projection["total_ops"], len(journal["operations"]))
    self_ns = sum(row["gpu_self_ns"] for row in projection["rows"])
    verdict.exact("the self rows' sum", self_ns, projection["total_gpu_ns"])

    expected = expected_process_rows(journal)
    reported = {row["path"]: row for row in projection["process_ranges"]}
    verdict.exact("start/end ranges", sorted(reported), sorted(expected))
    for path in expected.keys() & reported.keys():
        verdict.exact(f"{path}: instances", reported[path]["instances"], len(expected[path].instances))
        verdict.exact(f"{path}: operations", reported[path]["ops"], len(expected[path].operations))
        if expected[path].has_only_kernels():
            count = len(expected[path].operations)
            verdict.near(f"{path}: sum", reported[path]["gpu_sum_ns"], expected[path].sum_ns(), count)


def check_events(verdict, journal, projection):
    """CUDA's events, recorded around a range on one stream, against the range's projected span."""
    elapsed, instances = defaultdict(float), defaultdict(int)
    for timed in journal["events"]:
        elapsed[fold(timed["path"])] += timed["elapsed_ns"]
        instances[fold(timed["path"])] += 1
    reported = {row["path"]: row for row in projection["rows"]}
    for path in elapsed:
        if path in reported:
            for figure in ("gpu_span_ns", "gpu_busy_ns"):
                verdict.near(
                    f"{path}: {figure} beside CUDA events",
                    reported[path][figure],
                    elapsed[path],
                    2 * instances[path],
                )


def check_waits(verdict, journal, projection, relative=0.02, per_call_ns=20_000):
    took, least, calls = defaultdict(int), defaultdict(int), defaultdict(int)
    for wait in journal.get("waits", []):
        parts = fold(wait["path"]).split("/")
        for path in ("/".join(parts[: depth + 1]) for depth in range(len(parts))):
            took[path] += wait["took_ns"]
            least[path] += wait["least_ns"]
            calls[path] += 1
    reported = {row["path"]: row for row in projection["rows"]}
    if not any(least.values()):
        return  # a simulated GPU, whose clock jumps: host times on it are longer or shorter between two snapshots
    for path in took.keys() & reported.keys():
        wait_ns = reported[path]["wait_ns"]
        allowed = max(relative * took[path], per_call_ns * calls[path])
        verdict.at_most(f"{path}: wait", wait_ns, took[path] + allowed)
        if least[path] > 0:
            verdict.at_least(f"{path}: wait", wait_ns, max(took[path], least[path]) - allowed)


def check_kernels(verdict, journal, kernels):
    known = defaultdict(Row)
    for operation in journal["operations"]:
        if operation["kind"] == "kernel":
            known[operation["name"]].add(None, operation)
    reported = {row["name"]: row for row in kernels["rows"]}
    verdict.exact("kernel names", sorted(reported), sorted(known))
    for name in known.keys() & reported.keys():
        count = len(known[name].operations)
        verdict.exact(f"{name}: instances", reported[name]["instances"], count)
        verdict.near(f"{name}: total", reported[name]["total_ns"], known[name].sum_ns(), count)


def check_copies(verdict, journal, copies):
    for kind, word in (("set", "Memset"), ("copy", "Memcpy")):
        known = [op for op in journal["operations"] if op["kind"] == kind or (kind == "copy" and op["kind"] == "peer")]
        reported = [row for row in copies["rows"] if row["operation"].startswith(word)]
        verdict.exact(f"{word}: instances", sum(row["instances"] for row in reported), len(known))
        verdict.exact(f"{word}: bytes", sum(row["bytes"] for row in reported), sum(op["bytes"] for op in known))


def judge(journal, projection, kernels, copies, relative=0.01, per_op_ns=2_000):
    verdict = Verdict(relative, per_op_ns)
    check_stamps(verdict, journal)
    check_projection(verdict, journal, projection)
    check_events(verdict, journal, projection)
    check_waits(verdict, journal, projection)
    check_kernels(verdict, journal, kernels)
    check_copies(verdict, journal, copies)
    for cause, count in projection["dropped"].items():
        verdict.exact(f"dropped, {cause}", count, 0)
    return verdict


def edge_ns(journal, kernels):
    """By how much CUPTI's duration of a kernel exceeds the kernel's own, on the mean."""
    own = [op["end_ns"] - op["start_ns"] for op in journal["operations"] if op["kind"] == "kernel"]
    return (kernels["total_ns"] - sum(own)) / len(own) if own else None


def timer_step_ns(journal):
    """The greatest number of which all the kernels' times are multiples."""
    stamps = [op[edge] for op in journal["operations"] if op["kind"] == "kernel" for edge in ("start_ns", "end_ns")]
    return math.gcd(*(stamp - min(stamps) for stamp in stamps)) if stamps else None


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("journal", "projection", "kernels", "copies"):
        parser.add_argument(f"--{name}", required=True, metavar="FILE")
    parser.add_argument("--relative", type=float, default=0.01, help="of a time (%(default)s)")
    parser.add_argument("--per-op-ns", type=int, default=2_000, help="for each kernel in it (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the verdict here")
    options = parser.parse_args(arguments)

    def load(path):
        with open(path) as file:
            return json.load(file)

    journal, kernels = load(options.journal), load(options.kernels)
    verdict = judge(
        journal, load(options.projection), kernels, load(options.copies), options.relative, options.per_op_ns
    )
    result = {
        "verdict": "right" if not verdict.faults else "wrong",
        "machine": journal["machine"],
        "sections": journal["sections"],
        "figures": verdict.figures,
        "faults": verdict.faults,
        "worst_relative_error_of_a_millisecond_or_more": verdict.worst,
        "mean_ns_beyond_a_kernels_own_time": edge_ns(journal, kernels),
        "timer_step_ns": timer_step_ns(journal),
    }
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)
    for fault in verdict.faults:
        print(fault)
    print(
        f"{result['verdict']}: {verdict.figures} figures, {len(verdict.faults)} wrong, "
        f"worst time of 1 ms or more {100 * verdict.worst:.3f} % off, sections: {' '.join(journal['sections'])}"
    )
    return 1 if verdict.faults else 0


if __name__ == "__main__":
    sys.exit(main())
