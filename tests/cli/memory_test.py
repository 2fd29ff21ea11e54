#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GPU memory through the command: the page's view against the reports, and the gate on the memory peak.

    memory_test.py PROF WRITE_TRAINING_CAPTURES [unittest's arguments]

The captures are of training runs whose memory is known beforehand (tests/memory/training_program.hpp).
"""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import page_test

PROF, WRITER = sys.argv[1:3]
MIB = 1 << 20
FOLDER = tempfile.TemporaryDirectory(prefix="libprof-memory-")
CAPTURES = pathlib.Path(FOLDER.name)
page_test.PROF = PROF
TRACE_PROCESSOR = str(pathlib.Path(__file__).resolve().parents[3] / "shared/tools/trace_processor/trace_processor_shell")


def setUpModule():
    subprocess.run([WRITER, str(CAPTURES)], check=True)


def tearDownModule():
    FOLDER.cleanup()


def run(*words):
    return subprocess.run([PROF, *map(str, words)], capture_output=True, check=False, text=True)


def report(name, capture):
    done = run("report", CAPTURES / f"{capture}.prof", "--report", name, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class ThePage(unittest.TestCase):
    def test_peaks_are_those_of_the_reports(self):
        expected = json.loads((CAPTURES / "expected.json").read_text())
        for capture in ("train", "leak", "error", "killed", "long"):
            with self.subTest(capture):
                view = page_test.page_of(CAPTURES / f"{capture}.prof").views["memory"]
                (device,) = view["devices"]
                moments = {moment["key"]: moment for moment in device["moments"]}
                memory = report("memory", capture)
                self.assertEqual(moments["peak"]["allocated"], expected[capture]["highest_bytes"])
                self.assertEqual(moments["peak"]["allocated"], memory["peak_bytes"])
                self.assertEqual(moments["peak"]["step"], memory["peak_step"])
                self.assertEqual(moments["median"]["allocated"], memory["median_peak_bytes"])
                self.assertEqual(moments["peak"]["reserved"] - moments["peak"]["allocated"], memory["unused_at_peak_bytes"])
                steps = {row["step"]: row for row in report("memory_steps", capture)["rows"]}
                self.assertEqual(len(device["peaks"]["step"]), len(steps))
                for number, at, allocated in zip(*device["peaks"].values()):
                    self.assertEqual((at, allocated), (steps[number]["peak_at_ns"], steps[number]["peak_bytes"]))
                rows = {(row["use"].replace(" ", "_"), row["path"], row["module"] or ""): row for row in memory["rows"]}
                places = device["places"]
                keys = {"peak": "peak_bytes", "median": "median_bytes", "end": "end_bytes", "failure": "failure_bytes"}
                for i, use in enumerate(places["use"]):
                    row = rows[view["uses"][use]["key"], places["path"][i], places["module"][i]]
                    for moment, of in enumerate(device["moments"]):
                        self.assertEqual(places["bytes"][moment][i], row[keys[of["key"]]])
                    self.assertEqual(places["churn"][i], round(row["churn_bytes"]))

    def test_parts_add_up_to_the_byte(self):
        for path in sorted(CAPTURES.glob("*.prof")):
            view = page_test.page_of(path).views.get("memory", {})
            if path.stem == "without":
                self.assertIn("prof run --allocations on", view["why"])
                continue
            for device in view["devices"]:
                for i, moment in enumerate(device["moments"]):
                    with self.subTest(path.name, moment=moment["key"]):
                        self.assertEqual(sum(device["by_use"][i]), moment["allocated"])
                        places = device["places"]
                        self.assertEqual(sum(places["bytes"][i]) + places["rest"]["bytes"][i], moment["allocated"])
                        at = device["curve"]["time_ns"].index(moment["time_ns"])
                        self.assertEqual(max(allocated for ns, allocated in zip(device["curve"]["time_ns"][at:], device["curve"]["allocated"][at:])
                                             if ns == moment["time_ns"]), moment["allocated"])  # fmt: skip

    def test_it_stays_small(self):
        done = run("report", CAPTURES / "long.prof", "--html", CAPTURES / "long.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = page_test.Page(CAPTURES / "long.html")
        self.assertLess(len(json.dumps(page.views["memory"])), 300_000)
        self.assertLess((CAPTURES / "long.html").stat().st_size, 1_000_000)


class TheTrace(unittest.TestCase):
    """The series of the exported trace, as Perfetto's importer reads them where it is there, else from the file."""

    def series(self, capture):
        trace = CAPTURES / f"{capture}.json"
        done = run("export", CAPTURES / f"{capture}.prof", "-o", trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        out = {}
        program = os.environ.get("PERFETTO_TRACE_PROCESSOR") or TRACE_PROCESSOR
        if pathlib.Path(program).exists() and shutil.which("node"):
            query = CAPTURES / "query.sql"
            query.write_text("select counter_track.name, ts, value from counter join counter_track on counter.track_id = counter_track.id;")
            done = subprocess.run([program, "-q", str(query), str(trace)], check=True, capture_output=True, text=True)
            for name, at, value in list(csv.reader(done.stdout.splitlines()))[1:]:
                out.setdefault(name.removesuffix(" bytes"), []).append((int(at), int(float(value))))
        else:
            for event in json.loads(trace.read_text())["traceEvents"]:
                if event["ph"] == "C":
                    out.setdefault(event["name"], []).append((round(event["ts"] * 1000), event["args"]["bytes"]))
        return out

    def check(self, series, rows, gpus):
        self.assertEqual(sorted(series), sorted(f"GPU {gpu} memory {what}" for gpu in range(gpus) for what in ("allocated", "reserved")))
        for row in rows:
            allocated, reserved = (series[f"GPU {row['device']} memory {what}"] for what in ("allocated", "reserved"))
            self.assertEqual(dict(allocated)[row["peak_at_ns"]], row["peak_bytes"])
            # The highest of the step, with what holds from before it.
            later = [other["start_ns"] for other in rows if other["device"] == row["device"] and other["start_ns"] > row["start_ns"]]
            until = min(later, default=row["start_ns"] + 40_000_000)
            for samples, most in ((allocated, row["peak_bytes"]), (reserved, row["reserved_bytes"])):
                before = [value for at, value in samples if at < row["start_ns"]][-1:]
                self.assertEqual(max(before + [value for at, value in samples if row["start_ns"] <= at < until]), most)

    def test_each_steps_peak_is_in_the_series(self):
        for capture, gpus in (("train", 1), ("leak", 1), ("two_gpus", 2)):
            with self.subTest(capture):
                rows = report("memory_steps", capture)["rows"]
                self.assertEqual(len(rows), 11 * gpus)
                self.check(self.series(capture), rows, gpus)

    def test_a_sample_that_is_wrong_is_found(self):
        series, rows = self.series("train"), report("memory_steps", "train")["rows"]
        name = "GPU 0 memory allocated"
        series[name] = [(at, value + 512 if at == rows[4]["peak_at_ns"] else value) for at, value in series[name]]
        with self.assertRaises(AssertionError):
            self.check(series, rows, 1)


class TheGate(unittest.TestCase):
    def diff(self, *words):
        return run("diff", *words)

    def test_growth_fails_and_its_limit_holds(self):
        base, grown = CAPTURES / "base", CAPTURES / "grown"
        for new, limit, status in ((grown, "memory=2%", 3), (grown, "memory=8%", 0), (base, "memory=1%", 0),
                                   (grown, "memory-median=2%", 3), (grown, "2%", 0)):  # fmt: skip
            done = self.diff(base, new, "--fail-over", limit)
            self.assertEqual(done.returncode, status, (limit, done.stderr))
        junit = CAPTURES / "limits.xml"
        done = self.diff(base, grown, "--fail-over", "memory=2%", "--fail-over", "memory=8%", "--junit", junit)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"--fail-over memory=2%: fails, the change is \+5\.0 %")
        suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual([(case.get("name"), len(case)) for case in suite], [("memory=2%", 1), ("memory=8%", 0)])
        # Fewer bytes are no failure.
        self.assertEqual(self.diff(grown, base, "--fail-over", "memory=2%").returncode, 0)

    def test_figures_are_rows_like_others(self):
        done = self.diff(CAPTURES / "base", CAPTURES / "grown", "--format", "json")
        rows = {row["figure"]: row for row in json.loads(done.stdout)[1]["rows"]}
        expected = json.loads((CAPTURES / "expected.json").read_text())["train"]["highest_bytes"]
        peak = rows["memory peak"]
        self.assertEqual(peak["base_bytes"], expected + MIB // 4)  # half of the runs have half a MiB more
        self.assertIsNone(peak["base_ns"])
        self.assertEqual(peak["new_bytes"] - peak["base_bytes"], expected // 1024 // 20 * 1024)
        self.assertAlmostEqual(peak["change"], 0.05, places=4)
        self.assertEqual(peak["verdict"], "more")
        self.assertLess(peak["low"], peak["change"])
        self.assertLess(peak["change"], peak["high"])
        self.assertIsNone(rows["step"]["base_bytes"])
        self.assertIn("memory peak, median step", rows)
        for form in ("table", "markdown"):
            text = self.diff(CAPTURES / "base", CAPTURES / "grown", "--format", form).stdout
            # The table of what held the memory ends with the peak, too, and has no verdict.
            (line,) = [line for line in text.splitlines() if re.search(r"memory peak\b(?!,).*\bmore\b", line)]
            self.assertRegex(line, r"2\.76 GB.*2\.90 GB.*\+5\.0 ?%.*more")
        less = self.diff(CAPTURES / "grown", CAPTURES / "base", "--format", "json")
        self.assertEqual({row["figure"]: row["verdict"] for row in json.loads(less.stdout)[1]["rows"]}["memory peak"], "less")

    def test_what_was_not_recorded_is_never_passed(self):
        without, train = CAPTURES / "without.prof", CAPTURES / "train.prof"
        for words in ((train, without), (without, without), (CAPTURES / "base", without)):
            done = self.diff(*words, "--fail-over", "memory=50%")
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertRegex(done.stderr, "memory=50%: inconclusive; no allocation was recorded in .*without.prof.*prof run --allocations on")

    def test_a_baseline_keeps_it(self):
        made = CAPTURES / "perf.json"
        self.assertEqual(run("baseline", CAPTURES / "base", "-o", made).returncode, 0)
        self.assertEqual(json.loads(made.read_text())["prof_baseline"], 2)
        for limit, status in (("memory=2%", 3), ("memory=8%", 0)):
            done = self.diff(made, CAPTURES / "grown", "--fail-over", limit)
            self.assertEqual(done.returncode, status, done.stderr)
        # One that an older version made.
        old = json.loads(made.read_text())
        old["prof_baseline"] = 1
        for one in old["runs"]:
            del one["peak_bytes"], one["median_peak_bytes"]
        made.write_text(json.dumps(old))
        done = self.diff(made, CAPTURES / "grown", "--fail-over", "memory=2%")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(self.diff(made, CAPTURES / "grown", "--fail-over", "50%").returncode, 0)

    def test_the_page_of_a_comparison_has_it(self):
        place = CAPTURES / "diff.html"
        done = self.diff(CAPTURES / "base", CAPTURES / "grown", "--fail-over", "memory=2%", "--html", place)
        self.assertEqual(done.returncode, 3, done.stderr)
        text = place.read_text()
        self.assertIn("memory peak", text)
        self.assertIn("2.90 GB", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
