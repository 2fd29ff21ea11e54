# SPDX-License-Identifier: Apache-2.0
"""Reports of random traces of torch.profiler are what docs/reference says of them, to the nanosecond.

    oracle_test.py PROF [FIRST:LAST]

written_reference.py is a second reading of the reference, by somebody who had not read src/analysis. Where it differs
from the reports, one of the two is wrong, or the reference is unclear; the trace is kept and its difference printed. A
trace of one seed: `python3 -c 'import json, random_traces; print(json.dumps(random_traces.trace(SEED)))'`.
"""

import collections
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import comparison
import random_traces
import written_reference

PROF = sys.argv.pop(1)
SEEDS = range(*map(int, sys.argv.pop(1).split(":"))) if len(sys.argv) > 1 and sys.argv[1][0].isdigit() else range(400)


def reports_of(trace, folder):
    """The two documents; None: nothing happens in the trace, which is then refused."""
    path = pathlib.Path(folder, "trace.json")
    path.write_text(json.dumps(trace))
    command = [PROF, "report", path, "--report", comparison.REPORTS, "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode == 1 and not any(event["ph"] == "X" for event in trace["traceEvents"]):
        return None
    if done.returncode != 0:
        raise AssertionError(f"{trace['seed']}: {done.stderr}")
    return json.loads(done.stdout)


def properties_of(expected):
    """What a trace has of the things that are hard to count."""
    threads = {op.launch[0] for op in expected.ops if op.launch}
    steps = expected.steps if expected.has_steps else []
    compute = [op.end - op.start for op in expected.ops if op.is_compute]
    return {
        "the host ahead of the GPU": any(step.gpu_start > step.start for step in steps),
        "work that is adopted": any(op.is_adopted for op in expected.ops),
        "work that is ambiguous": any(op.where == "ambiguous" for op in expected.ops),
        "helper threads that launch": any(expected.names[thread] in ("helper", "trainer_b") for thread in threads),
        "several GPUs": len(expected.devices) > 1,
        "stragglers": bool(compute) and max(compute) > 20 * sorted(compute)[len(compute) // 2],
        "closures": any(one.name.startswith("Optimizer.step") and op.is_adopted for op in expected.ops for one in op.ranges),
        "merged processes": any(op.process for op in expected.ops),
        "ranges that overlap": bool(expected.process_wide),
        "steps of torch.profiler": bool(steps) and expected.source == "profiler",
        "steps that recur": bool(steps) and expected.source == "recurring" and expected.are_steps,
        "steps of several parts": bool(steps) and expected.source == "recurring" and not expected.are_steps,
        "a gap between steps": any(step.has_next and not step.is_followed for step in steps),
        "slow first steps": bool(steps) and expected.warm_up > 1,
        "work without a launch": any(not op.launch for op in expected.ops),
        "communication": any(op.is_communication for op in expected.ops),
    }


class Reports(unittest.TestCase):
    maxDiff = None

    def test_are_as_the_reference_says(self):
        found, wrong, refused = collections.Counter(), [], 0
        with tempfile.TemporaryDirectory() as folder:
            for seed in SEEDS:
                trace = random_traces.trace(seed) | {"seed": seed}
                reports = reports_of(trace, folder)
                if reports is None:
                    refused += 1
                    continue
                expected = written_reference.Breakdown(trace)
                found.update(name for name, has in properties_of(expected).items() if has)
                differences = comparison.Comparison(expected, reports).differences
                wrong += [f"seed {seed}: {differences[0]} (and {len(differences) - 1} more)"] if differences else []
        self.assertFalse(wrong, "\n" + "\n".join(wrong))
        self.assertLess(refused, len(SEEDS) // 10)
        names = properties_of(written_reference.Breakdown({"traceEvents": []}))
        rare = {name: found[name] for name in names if found[name] < len(SEEDS) / 200}
        self.assertFalse(rare, f"too few traces have these; all: {found}")
        print(f"{len(SEEDS) - refused} traces; {dict(found)}", file=sys.stderr)

    def test_that_are_wrong_are_found(self):
        """One figure or row of the reports is spoiled at a time; what is a figure is a nanosecond or an operation off."""
        missed, kinds = [], collections.Counter()
        with tempfile.TemporaryDirectory() as folder:
            for seed in SEEDS[:60]:
                trace = random_traces.trace(seed) | {"seed": seed}
                reports = reports_of(trace, folder)
                if reports is None:
                    continue
                expected = written_reference.Breakdown(trace)
                draw = random.Random(seed)
                for _ in range(6):
                    spoiled = copy.deepcopy(reports)
                    what = spoil(draw, expected, spoiled)
                    kinds[what.split(" ")[0]] += 1
                    if not comparison.Comparison(expected, spoiled).differences:
                        missed.append(f"seed {seed}: {what}")
        self.assertFalse(missed, "\n" + "\n".join(missed))
        self.assertEqual(kinds.keys(), {"figure", "row", "path", "part"})


def spoil(draw, expected, reports):
    """Changes the documents; what was changed."""
    projection, breakdown = reports
    kind = draw.choice(("figure", "figure", "figure", "row", "path", "part"))
    rows = draw.choice((projection["rows"], [row for row in breakdown["rows"] if row["total_ns"]], projection["rows"]))
    if kind == "row" and rows is not projection["rows"] and rows:
        gone = draw.choice(rows)
        breakdown["rows"].remove(gone)
        return f"row of the breakdown {gone['use']}, {gone['part']}"
    if kind == "row":
        rows = [row for row in projection["rows"] if row["instances"] or row["ops"]]
        if rows:
            gone = draw.choice(rows)
            projection["rows"].remove(gone)
            return f"row {gone['path']}"
    if kind == "path":
        row = draw.choice(projection["rows"])
        row["path"] += "/forward"
        return f"path {row['path']}"
    if kind == "part":
        rows = [row for row in breakdown["rows"] if row["use"] in ("compute", "communication") and row["total_ns"]]
        if rows:
            row = draw.choice(rows)
            row["part"] += " of another"
            return f"part {row['part']}"
    of, key = draw.choice(comparison.Comparison(expected, reports).compared)
    value = of[key]
    of[key] = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}x" if isinstance(
        value, str) else value + max(1, abs(value) / 1000)  # fmt: skip
    return f"figure {key}: {value} became {of[key]}"


if __name__ == "__main__":
    unittest.main()
