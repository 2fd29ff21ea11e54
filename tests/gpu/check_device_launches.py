#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what libprof reports of tests/gpu/truth/device_launches with what its kernels know of themselves.

    check_device_launches.py --journal J.json --projection P.json --kernels K.json --summary S.txt

What the host launches must be there, exactly: each kernel once, its time within 1 % or 2 us, in its range. What the GPU
launches itself may have no records. Then the summary must say so for kernels that kernels launched; where there are
records, they are counted here, they must be as many as there were kernels, with their times, and no range may have more
operations than it launched and they are.
"""
import argparse
import json
import sys

RANGES = {"plain": "device_plain", "parents": "device_parent", "graphs": "device_launcher"}
BY_THE_GPU = {"device_child": "parents", "device_node": "graphs"}


def own_ns(journal, name):
    return sum(end - start for start, end in journal[name])


class Verdict:
    def __init__(self):
        self.figures, self.faults = 0, []

    def check(self, is_right, what):
        self.figures += 1
        if not is_right:
            self.faults.append(what)

    def near(self, what, reported, known, count, most=None):
        """`most`: where it may be longer, how much."""
        slack = max(0.01 * known, 2_000 * count)
        self.check(known - slack <= reported <= (most or known) + slack, f"{what}: reported {reported} ns, known {known} ns")


def with_children_ns(journal):
    """From each parent's begin to its child's end: a parent is not done before its child is."""
    ends = zip(journal["device_parent"], journal["device_child"])
    return sum(max(end, child_end) - start for (start, end), (_, child_end) in ends)


def judge(journal, projection, kernels, summary):
    verdict = Verdict()
    for name, stamps in journal.items():
        verdict.check(all(0 < start < end for start, end in stamps), f"{name}: a kernel has left no stamp: {stamps}")
    table = {row["name"]: row for row in kernels["rows"]}
    paths = {row["path"]: row for row in projection["rows"]}
    recorded = {}
    for name in BY_THE_GPU:
        count = len(journal[name])
        recorded[name] = table.get(name, {}).get("instances", 0)
        verdict.check(recorded[name] in (0, count), f"{name}: {recorded[name]} records of {count} kernels")
        if recorded[name]:
            verdict.near(name, table[name]["total_ns"], own_ns(journal, name), count)
    for path, name in RANGES.items():
        count = len(journal[name])
        found = table.get(name, {"instances": 0, "total_ns": 0})
        verdict.check(found["instances"] == count, f"{name}: {found['instances']} records of {count} kernels")
        most = with_children_ns(journal) if name == "device_parent" else None
        verdict.near(name, found["total_ns"], own_ns(journal, name), count, most)
        row = paths.get(path, {"instances": 0, "ops": 0})
        verdict.check(row["instances"] == count, f"{path}: {row['instances']} ranges of {count}")
        beside = sum(recorded[child] for child, of in BY_THE_GPU.items() if of == path)
        verdict.check(count <= row["ops"] <= count + beside, f"{path}: {row['ops']} operations of {count} (and {beside})")
    verdict.check(
        sum(row["gpu_self_ns"] for row in projection["rows"]) == projection["total_gpu_ns"], "the self rows' sum"
    )
    verdict.check(not any(projection["dropped"].values()), f"dropped: {projection['dropped']}")
    is_reported = "dynamic parallelism" in summary
    verdict.check(is_reported or recorded["device_child"], "the summary says nothing of kernels without records")
    return verdict, recorded, is_reported


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("journal", "projection", "kernels", "summary"):
        parser.add_argument(f"--{name}", required=True, metavar="FILE")
    options = parser.parse_args(arguments)

    def text(path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    journal = json.loads(text(options.journal))
    projection = json.loads(text(options.projection))
    kernels = json.loads(text(options.kernels))
    verdict, recorded, is_reported = judge(journal, projection, kernels, text(options.summary))
    for fault in verdict.faults:
        print(fault)
    seen = ", ".join(f"{name} {recorded[name]} of {len(journal[name])}" for name in BY_THE_GPU)
    unmatched = next(row["ops"] for row in projection["rows"] if row["path"] == "(unmatched)")
    print(
        f"{'wrong' if verdict.faults else 'right'}: {verdict.figures} figures, {len(verdict.faults)} wrong; records of what "
        f"the GPU launched: {seen}; {unmatched} operations in (unmatched); the summary "
        f"{'says' if is_reported else 'does not say'} that kernels may launch kernels"
    )
    return 1 if verdict.faults else 0


if __name__ == "__main__":
    sys.exit(main())
