#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof report --perf with samples that perf has taken of a program whose function is known.

    perf_test.py PROF PROGRAM
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from clean_environment import clean_environment  # noqa: E402

PROF, PROGRAM = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
RECORD = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "999"]
FIELDS = ["--ns", "-F", "tid,time,ip,sym,dso"]


def perf_works():
    if shutil.which("perf") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([*RECORD, "-k", "CLOCK_MONOTONIC", "-o", "p", "--", "true"], cwd=folder, capture_output=True, check=False)
        return made.returncode == 0


class Perf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.record(cls, "run", "-k", "CLOCK_MONOTONIC", "-g")

    def record(self, name, *flags):
        subprocess.run([*RECORD, *flags, "-o", f"{name}.data", "--", PROF, "run", "-o", name, "--export", "none", "--", PROGRAM,
                        "phases", "8", "busy"], cwd=self.folder, env=clean_environment(), check=True, capture_output=True,
                       timeout=60)  # fmt: skip

    def report(self, run, *flags, status=0, **variables):
        (capture,) = (self.folder / run).glob("*.prof")
        done = subprocess.run([PROF, "report", str(capture), *flags], cwd=self.folder, env=clean_environment(**variables),
                              capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_the_function_of_the_range(self):
        found = json.loads(self.report("run", "--perf", "run.data", "--format", "json"))
        (busy,) = (row for row in found["rows"] if row["range"] == "forward" and "busy_function" in row["function"])
        # 160 ms at 999 a second, of which a busy machine may have taken some.
        self.assertGreater(busy["samples"], 20)
        self.assertGreater(busy["share"], 0.6)
        self.assertEqual(busy["file"], PROGRAM)
        others = sum(row["samples"] for row in found["rows"]
                     if row["range"] in ("(no range)", "backward", "optimizer", "data") and "busy_function" in row["function"])
        self.assertLessEqual(others, 2)
        every = sum(row["samples"] for row in found["rows"] if row["range"] == "(all)")
        self.assertEqual(found["samples"], every + found["of_other_threads"] + found["not_meanwhile"])
        self.assertIn("busy_function", self.report("run", "--perf", "run.data"))

    def test_the_text_says_the_same(self):
        texts = {"chosen": FIELDS, "all": ["--ns"]}
        as_data = self.report("run", "--perf", "run.data", "--format", "csv")
        for name, fields in texts.items():
            with open(self.folder / f"{name}.txt", "wb") as out:
                subprocess.run(["perf", "script", "-i", "run.data", *fields], cwd=self.folder, stdout=out, check=True,
                               stderr=subprocess.DEVNULL)  # fmt: skip
            with self.subTest(name):
                self.assertEqual(self.report("run", "--perf", f"{name}.txt", "--format", "csv"), as_data)

    def test_another_clock_is_noticed(self):
        self.record("other", "-k", "CLOCK_REALTIME")
        self.assertIn("-k CLOCK_MONOTONIC", self.report("other", "--perf", "other.data"))

    def test_without_perf_it_says_how_to_make_the_text(self):
        said = self.report("run", "--perf", "run.data", status=1, PATH=str(self.folder))
        self.assertIn("perf script --ns -F tid,time,ip,sym,dso -i run.data > FILE", said)

    def test_what_is_no_sample_is_refused(self):
        self.assertIn("has no samples", self.report("run", "--perf", PROGRAM, status=1))
        self.assertIn("cannot open nowhere", self.report("run", "--perf", "nowhere", status=1))


if __name__ == "__main__":
    if not perf_works():
        print("SKIPPED: perf cannot record here")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
