# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own nvtx package, with LD_PRELOAD and under prof run: the capture's report and trace equal what the
annotated program wrote down itself. Needs no GPU.

Usage: nvtx_package_test.py <prof> <libprof.so>
"""
import collections
import gzip
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

from scratch_case import ScratchCase

PROGRAM = pathlib.Path(__file__).with_name("annotated.py")
PROF = ""
LIBRARY = ""
EXIT_STATUS = 4  # the program's own

# What the package makes of a colour's name (0x00RRGGBB: it sets no alpha); None is blue.
COLORS = {None: 0x0000FF, "blue": 0x0000FF, "green": 0x008000, "yellow": 0xFFFF00, "purple": 0x800080,
          "cyan": 0x00FFFF, "red": 0xFF0000, "white": 0xFFFFFF, "orange": 0xFFA500}
# Between the two clocks of an event (ticks, mapped) and of the log (real time).
CLOCK_TOLERANCE_NS = 200_000


def attributes_of(entry):
    """As the trace shows them, of an entry of the log."""
    color = entry["color"] if isinstance(entry["color"], int) else COLORS[entry["color"]]
    expected = {"domain": entry["domain"], "color": f"#{color:08X}", "payload": entry["payload"],
                "category": None if entry["category"] is None else str(entry["category"])}
    return {key: value for key, value in expected.items() if value is not None}


def shown_attributes(event):
    return {key: value for key, value in event["args"].items() if key != "External id"}


class NvtxPackage(ScratchCase):
    def setUp(self):
        super().setUp()
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("PROF_") and "INJECTION64" not in name and name != "LD_PRELOAD"}
        self.environment.update(PROF_OUTPUT_DIR=str(self.folder / "captures"), PROF_EXPORT="none")

    def run_program(self, *before, **variables):
        """The program ends and prints as by itself; returns its log and what was on stderr."""
        log = self.folder / "log.json"
        done = subprocess.run([*before, sys.executable, str(PROGRAM), str(log)], cwd=self.folder,
                              env={**self.environment, **variables}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (EXIT_STATUS, "annotated\n"), done.stderr)
        return json.loads(log.read_text(encoding="utf-8")), done.stderr

    def capture(self):
        captures = list((self.folder / "captures").glob("*.prof"))
        self.assertEqual(len(captures), 1, captures)
        return captures[0]

    def prof(self, *arguments):
        return subprocess.run([PROF, *map(str, arguments)], check=True, env=self.environment,
                              stdout=subprocess.PIPE).stdout

    def trace(self):
        path = self.folder / "trace.json.gz"
        self.prof("export", self.capture(), "-o", path)
        return json.loads(gzip.decompress(path.read_bytes()))

    def events(self, trace, phase):
        return sorted((event for event in trace["traceEvents"]
                       if event["ph"] == phase and event.get("cat") == "user_annotation"),
                      key=lambda event: event["ts"])

    def compare_one_by_one(self, logged, events):
        """Thread by thread, in order."""
        by_thread = collections.defaultdict(lambda: ([], []))
        for entry in logged:
            by_thread[entry["tid"]][0].append(entry)
        for event in events:
            by_thread[event["tid"]][1].append(event)
        for tid, (entries, shown) in by_thread.items():
            self.assertEqual([(event["name"], shown_attributes(event)) for event in shown],
                             [(entry["name"], attributes_of(entry)) for entry in entries], f"thread {tid}")
            yield from zip(entries, shown)

    def check_trace(self, log):
        trace = self.trace()
        self.assertEqual(trace["libprof"]["dropped"], {})
        for entry, event in self.compare_one_by_one(log["ranges"], self.events(trace, "X")):
            begin_ns = trace["baseTimeNanoseconds"] + event["ts"] * 1000
            end_ns = begin_ns + event["dur"] * 1000
            self.assertGreater(begin_ns, entry["begin_ns"] - CLOCK_TOLERANCE_NS, event)
            self.assertLess(end_ns, entry["end_ns"] + CLOCK_TOLERANCE_NS, event)
        begins = self.events(trace, "b")
        for _ in self.compare_one_by_one(log["spans"], begins):
            pass
        ends = {event["id"]: event for event in self.events(trace, "e")}
        self.assertEqual(ends.keys(), {event["id"] for event in begins})
        ended_elsewhere = {event["name"]: ends[event["id"]]["tid"] != event["tid"] for event in begins}
        self.assertEqual(ended_elsewhere, {"prefetch": True, "checkpoint": False})
        for _ in self.compare_one_by_one(log["marks"], self.events(trace, "i")):
            pass

    def check_report(self, log):
        report = json.loads(self.prof("report", self.capture(), "--no-fold", "--format", "json"))
        shown = {row["path"]: row["instances"] for row in report["rows"] if row["instances"]}
        logged = collections.Counter(entry["path"] for entry in log["ranges"])
        self.assertEqual(shown, dict(logged))
        self.assertEqual(report["total_gpu_ns"], 0)
        folded = json.loads(self.prof("report", self.capture(), "--format", "json"))
        instances = {row["path"]: row["instances"] for row in folded["rows"]}
        self.assertEqual(instances["workers:thread # step #/half"], sum(entry["name"] == "half" for entry in log["ranges"]))

    def test_ranges_with_ld_preload(self):
        log, stderr = self.run_program(LD_PRELOAD=LIBRARY)
        self.assertEqual(stderr.count("\n"), stderr.count("prof:"))
        self.check_trace(log)
        self.check_report(log)

    def test_ranges_with_nvtx_injection(self):
        log, _ = self.run_program(NVTX_INJECTION64_PATH=LIBRARY)
        self.check_trace(log)
        self.check_report(log)

    def test_ranges_under_prof_run(self):
        log, stderr = self.run_program(PROF, "run", "--export", "summary", "--")
        # Which of the two is taken for a step, so that the table is of it alone, depends on how the threads were scheduled.
        self.assertRegex(stderr, "thread # step #|batch #")
        self.check_trace(log)
        self.check_report(log)

    def test_no_capture_without_libprof(self):
        _, stderr = self.run_program()
        self.assertEqual(stderr, "")
        self.assertFalse((self.folder / "captures").exists())


if __name__ == "__main__":
    PROF, LIBRARY = sys.argv.pop(1), sys.argv.pop(1)
    if importlib.util.find_spec("nvtx") is None:
        print(f"SKIPPED: {sys.executable} has no nvtx package (tests/requirements.txt); set PROF_TEST_PYTHON")
        sys.exit(77)
    unittest.main()
