#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every report of the prof command, and the trace, of captures made at random, against what the generator's own list of
events comes to (program.py and its neighbours).

    recompute_test.py WRITE_RANDOM_CAPTURES PROF FIRST LAST [FOLDER]

FOLDER keeps the captures and what was said of them. A difference is said with the line that shows it again.
"""
import collections
import csv
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

import coverage
import nsight
import steps
import tables
import texts
from attribution import Attribution
from program import Program, printable
from rows import kind_of, path_of, process_ranges, projection
from traces import Trace

MOST_SHOWN = 12
FEW = 100  # captures that need not meet every rule

# Largest first.
DESCENDING = {
    "kernels": "total_ns",
    "copies": "total_ns",
    "cuda_api_sum": "Total Time (ns)",
    "cuda_gpu_kern_sum": "Total Time (ns)",
    "cuda_gpu_mem_size_sum": "Total (MB)",
    "cuda_gpu_mem_time_sum": "Total Time (ns)",
    "nvtx_gpu_proj_sum": "Total Proj Time (ns)",
    "nvtx_pushpop_sum": "Total Time (ns)",
}
ALL_REPORTS = ("gpu-projection", "steps", "kernels", "copies", "death", "pytorch_ops", "cuda_api_sum",
               "cuda_gpu_kern_sum", "cuda_gpu_mem_size_sum", "cuda_gpu_mem_time_sum", "cuda_kern_exec_sum",
               "nvtx_gpu_proj_sum", "nvtx_gpu_proj_trace", "nvtx_kern_sum", "nvtx_pushpop_sum")
# Of these Student's quantile is approximate.
TOLERANCE = {"half_width_ns": 2e-3, "instances_half_width": 2e-3}


class Differences:
    def __init__(self, again):
        self.again, self.count, self.where = again, 0, ""

    def found(self, what, expected, actual):
        self.count += 1
        if self.count == 1:
            print(f"again: {self.again}")
        if self.count <= MOST_SHOWN:
            print(f"  {self.where}: {what}: expected {expected!r}, actual {actual!r}")

    def check(self, what, expected, actual, tolerance=1e-9):
        if not same(expected, actual, tolerance):
            self.found(what, expected, actual)

    def rows(self, expected, actual):
        """Of two tables, by the rows' keys."""
        for key in expected.keys() - actual.keys():
            self.found(f"row {key}", expected[key], "no such row")
        for key in actual.keys() - expected.keys():
            self.found(f"row {key}", "no such row", actual[key])
        for key in expected.keys() & actual.keys():
            for column, value in expected[key].items():
                self.check(f"row {key}, column {column}", value, actual[key][column], TOLERANCE.get(column, 1e-9))


def same(expected, actual, tolerance):
    if isinstance(expected, float) or isinstance(actual, float):
        if not isinstance(expected, (int, float)) or not isinstance(actual, (int, float)):
            return False
        return math.isclose(expected, actual, rel_tol=tolerance, abs_tol=1e-7)
    return expected == actual and (expected is None) == (actual is None)


class Prof:
    def __init__(self, program, capture):
        self.program, self.capture = program, capture

    def run(self, *arguments):
        environment = {**os.environ, "COLUMNS": "500"}
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, env=environment)
        if done.returncode != 0:
            raise SystemExit(f"prof {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr.decode()}")
        return done.stdout

    def reports(self, options):
        """Name → report, in JSON and in CSV."""
        reports = ["--report", ",".join(ALL_REPORTS), *options]
        found = json.loads(self.run("report", self.capture, *reports, "--format", "json"))
        tables_of = self.run("report", self.capture, *reports, "--format", "csv").decode("latin-1")
        texts = split_tables(tables_of)
        return {each["report"]: each for each in found}, dict(zip(ALL_REPORTS, texts))

    def text(self, options):
        return self.run("report", self.capture, "--whole-run", *options).decode()

    def trace(self, path, options):
        self.run("export", self.capture, "-o", path, *options)
        return json.loads(path.read_text())


def split_tables(text):
    """CSV has an empty line between two tables; names may contain such."""
    found = [[]]
    for row in csv.reader(io.StringIO(text, newline="")):
        if row:
            found[-1].append(row)
        else:
            found.append([])
    return [[dict(zip(rows[0], row)) for row in rows[1:]] for rows in found if rows]


def keyed(rows, key, differences):
    found = {}
    for row in rows:
        name = tuple(row[column] for column in key)
        if name in found:
            differences.found(f"row {name}", "once", "twice")
        found[name] = row
    return found


# Each check takes the differences and what the report says, in JSON.


def check_projection(differences, attribution, report):
    rows, totals = projection(attribution)
    processes = process_ranges(attribution)
    for key, value in totals.items():
        differences.check(key, value, report[key])
    # Captured rows of one path may be part of a captured one and of another. Each stands after what it is part of.
    actual, above = [], []
    for row in report["rows"] + report["process_ranges"]:
        del above[row["depth"] :]
        if len(above) != row["depth"] or (above and not row["path"].startswith(above[-1]["path"] + "/")):
            differences.found("order of rows", "parents first", row["path"])
        above.append(row)
        actual.append({**row, "types": tuple(each["type"] for each in above)})
    expected = {(kinds, printable(path)): row for (kinds, path), row in {**rows, **processes}.items()}
    differences.rows(expected, keyed(actual, ("types", "path"), differences))


def check_step(differences, attribution, report):
    expected = texts.step(attribution)
    # Steps that are guessed from ranges are not worked out again here.
    if expected is None and (report["step"] or {}).get("source") == "recurring":
        return
    differences.check("whether there is a step", expected is None, report["step"] is None)
    for key, value in (expected or {}).items():
        differences.check(f"step, {key}", value, (report["step"] or {}).get(key))


def check_text(differences, report, text, most):
    found = texts.parsed(text)
    if found is None:
        return 0
    *found, total = found
    for table, rows in zip(found, (report["rows"], report["process_ranges"])):
        expected = texts.expected(rows, most)
        for number in range(max(len(expected), len(table))):
            at = lambda lines: lines[number] if number < len(lines) else None  # noqa: E731
            differences.check(f"text of {most} rows, line {number}", at(expected), at(table))
    differences.check(f"text of {most} rows, self times", report["total_gpu_ns"], sum(line[5] for line in found[0]))
    differences.check("text, total", report["total_gpu_ns"], total)
    return sum(line[1] for line in found[0])


def check_table(differences, name, expected, report):
    expected, totals = expected if isinstance(expected, tuple) else (expected, {})
    for key, value in totals.items():
        differences.check(key, value, report[key])
    keys = report["keys"]
    differences.rows(keyed(expected, keys, differences), keyed(report["rows"], keys, differences))
    if name in DESCENDING:
        sizes = [row[DESCENDING[name]] for row in report["rows"]]
        differences.check("order", sorted(sizes, reverse=True), sizes)


def check_steps(differences, attribution, report):
    found = steps.steps(attribution)
    if found is None:
        return
    expected, every, totals = found
    for key, value in totals.items():
        differences.check(key, value, report[key])
    wanted = [((kind_of(row), printable(path_of(row))), of) for row, of in expected.items()]
    if every is not None:
        wanted.append((("total", "all GPU work"), every))
    actual = [((row["type"], row["path"]), row) for row in report["rows"]]
    differences.rows(numbered(wanted), numbered(actual))


def numbered(rows):
    """Those of one type and path, as captured ones may be, get numbers, the largest first."""
    groups = collections.defaultdict(list)
    for key, row in rows:
        groups[key].append(row)
    found = {}
    for key, group in groups.items():
        group.sort(key=lambda row: (row["gpu_ns"], row["instances"] or 0), reverse=True)
        found.update({(*key, number): row for number, row in enumerate(group)})
    return found


def check_csv(differences, report, table, is_projection):
    """The same cells as in JSON, names byte for byte."""
    rows = report["rows"] + report.get("process_ranges", [])
    differences.check("rows in CSV", len(rows), len(table))
    for number, (row, line) in enumerate(zip(rows, table)):
        for column, value in row.items():
            if is_projection and column in ("name", "captured", "observed", "merged_names"):
                continue
            if column not in line:
                differences.found(f"CSV, row {number}", f"a column {column}", list(line))
                continue
            text = line[column]
            if isinstance(value, str):
                differences.check(f"CSV, row {number}, {column}", value, printable(text.encode("latin-1")))
            elif value is None:
                differences.check(f"CSV, row {number}, {column}", "", text)
            elif isinstance(value, float):
                decimals = len(text.partition(".")[2]) if "e" not in text else None
                near = text and abs(float(text) - value) <= (1e-9 * abs(value) + 10 ** -(decimals or 99) * 0.51)
                if not near:
                    differences.found(f"CSV, row {number}, {column}", value, text)
            else:
                differences.check(f"CSV, row {number}, {column}", str(value), text)


def check_reports(
    differences, prof, program, id_of, label, options, *, excluded=(), fold="counters", adopt=True, style="full"
):
    reports, texts = prof.reports(options)
    attribution = Attribution(program, excluded, fold, adopt)
    projected = nsight.Projection(program, attribution.keeps)
    expected = {
        "kernels": tables.kernels(program, style),
        "copies": tables.copies(program),
        "death": tables.death(program, Attribution(program, excluded, "none", adopt), style),
        "pytorch_ops": tables.Operators(program).table(),
        "cuda_api_sum": nsight.cuda_api_sum(program),
        "cuda_gpu_kern_sum": nsight.cuda_gpu_kern_sum(program, style),
        "cuda_gpu_mem_size_sum": nsight.cuda_gpu_mem_size_sum(program),
        "cuda_gpu_mem_time_sum": nsight.cuda_gpu_mem_time_sum(program),
        "cuda_kern_exec_sum": nsight.cuda_kern_exec_sum(program, style),
        "nvtx_gpu_proj_sum": nsight.nvtx_gpu_proj_sum(projected),
        "nvtx_gpu_proj_trace": nsight.nvtx_gpu_proj_trace(projected, id_of),
        "nvtx_kern_sum": nsight.nvtx_kern_sum(projected, style),
        "nvtx_pushpop_sum": nsight.nvtx_pushpop_sum(program, attribution.keeps),
    }
    for name, report in reports.items():
        differences.where = f"{name}{label}"
        dropped = {cause: count for cause, count in program.dropped.items() if count}
        differences.check("dropped", dropped, report["dropped"])
        check_csv(differences, report, texts.get(name, []), name == "gpu-projection")
        if name == "gpu-projection":
            check_projection(differences, attribution, report)
            check_step(differences, attribution, report)
        elif name == "steps":
            check_steps(differences, attribution, report)
        else:
            check_table(differences, name, expected[name], report)
    return attribution, reports["gpu-projection"]


def check_seed(seed, folder, prof, again, met):
    program = Program(folder / f"{seed}.json")
    differences = Differences(again)
    differences.where = "trace"
    trace = Trace(prof.trace(folder / f"{seed}.trace.json", []), program)
    id_of = trace.ids()
    attribution, projected = check_reports(differences, prof, program, id_of, "", [])
    differences.where = "trace"
    trace.check(differences, attribution)
    met.update(coverage.met(program, attribution))
    met["step that is whole"] += projected["step"] is not None
    differences.where = "gpu-projection"
    for most in (1 + seed % 7, 8 + seed % 13, 40):
        folded = check_text(differences, projected, prof.text(["--rows", most]), most)
        met["rows that are folded"] += folded
    # One more way to make the reports for each seed.
    variant = seed % 5
    if variant == 0:
        options = ["--nvtx-domain-exclude", "NCCL,cu*"]
        check_reports(differences, prof, program, id_of, " (domains)", options, excluded=("NCCL", "cu*"))
    elif variant == 1:
        options = ["--nvtx-domain-exclude", "default"]
        check_reports(differences, prof, program, id_of, " (default domain)", options, excluded=("default",))
    elif variant == 2:
        check_reports(differences, prof, program, id_of, " (unfolded)", ["--no-fold"], fold="none")
        check_reports(differences, prof, program, id_of, " (all folded)", ["--fold", "all"], fold="all")
    elif variant == 3:
        check_reports(differences, prof, program, id_of, " (no adoption)", ["--adopt", "off"], adopt=False)
        options, listed = ["--fold", "iteration #,N*:layer #"], ["iteration #", "N*:layer #"]
        check_reports(differences, prof, program, id_of, " (listed names folded)", options, fold=listed)
    else:
        options = ["--kernel-names", "short"]
        check_reports(differences, prof, program, id_of, " (short names)", options, style="short")
    return differences.count


def main():
    writer, prof, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with tempfile.TemporaryDirectory(prefix="prof_recompute_") as temporary:
        folder = pathlib.Path(sys.argv[5] if len(sys.argv) > 5 else temporary)
        folder.mkdir(parents=True, exist_ok=True)
        failed, met = [], collections.Counter()
        for seed in range(first, last + 1):
            (folder / f"{seed}.prof").unlink(missing_ok=True)
            subprocess.run([writer, folder, str(seed), str(seed)], check=True)
            again = f"{sys.executable} {sys.argv[0]} {writer} {prof} {seed} {seed} /tmp/captures"
            try:
                differs = check_seed(seed, folder, Prof(prof, folder / f"{seed}.prof"), again, met) != 0
            except Exception:  # what was written cannot even be read
                print(f"again: {again}\n{traceback.format_exc()}")
                differs = True
            if differs:
                failed.append(seed)
    print(f"{last - first + 1} captures, of {len(failed)} something differs{': seeds ' if failed else ''}", *failed)
    count = last - first + 1
    is_covered = count < FEW or coverage.check(met, count)
    sys.exit(0 if is_covered and not failed else 1)


if __name__ == "__main__":
    main()
