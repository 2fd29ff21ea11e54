# SPDX-License-Identifier: Apache-2.0
"""Forked workers of a Python program, recorded through LD_PRELOAD and under prof run: each worker's capture has the ranges
that it made. Needs no GPU.

Usage: forked_workers_test.py <prof> <libprof.so>
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from scratch_case import ScratchCase

PROGRAM = pathlib.Path(__file__).with_name("forked_program.py")
PROF = ""
LIBRARY = ""


class ForkedWorkers(ScratchCase):
    def setUp(self):
        super().setUp()
        self.rings = self.folder / "rings"
        self.rings.mkdir()
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("PROF_") and "INJECTION64" not in name and name != "LD_PRELOAD"}
        self.environment.update(PROF_OUTPUT_DIR=str(self.folder / "captures"), PROF_RINGS=str(self.rings))

    def run_program(self, *before, **variables):
        """What each worker has made, by its pid, and what was on stderr."""
        done = subprocess.run([*before, sys.executable, str(PROGRAM)], cwd=self.folder, timeout=60,
                              env={**self.environment, **variables}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.rings.iterdir()), [])
        return {int(pid): int(count) for pid, count in map(str.split, done.stdout.splitlines())}, done.stderr

    def recorded(self):
        """The reports of all captures, by pid: the number of `fetch` ranges, and the notes."""
        out = {}
        for capture in (self.folder / "captures").glob("*.prof"):
            report = json.loads(subprocess.run([PROF, "report", str(capture), "--format", "json"], check=True,
                                               env=self.environment, stdout=subprocess.PIPE).stdout)
            count = sum(row["instances"] for row in report["rows"] if row["path"] == "loader:fetch")
            out[int(capture.stem.rsplit("-", 1)[1])] = count, " ".join(report["notes"])
        return out

    def test_under_prof_run_nothing_is_lost(self):
        made, err = self.run_program(PROF, "run", "--export", "summary", "--")
        recorded = self.recorded()
        self.assertEqual({pid: count for pid, (count, _) in recorded.items() if pid in made},
                         {pid: count for pid, count in made.items() if count})
        self.assertEqual(len(recorded), len(made), "the parent has one, and the worker without ranges none")
        died = [made[pid] for pid, (_, notes) in recorded.items() if "without exit handlers" in notes]
        self.assertEqual(died, [30], "the others end their recordings, though they go by os._exit")
        self.assertEqual(err.count("Host time by range") + err.count("CPU time of a step, by range"), 1, err)
        overview = re.findall(r"^ *(?:\d+|-)  (?:(\d+) x )?forked_program \(worker\) ", err, re.MULTILINE)
        self.assertEqual(sum(int(alike or 1) for alike in overview), sum(1 for count in made.values() if count), err)

    def test_by_ld_preload_each_has_a_capture(self):
        made, err = self.run_program(LD_PRELOAD=LIBRARY, PROF_EXPORT="none")
        self.assertEqual(err, "")
        recorded = self.recorded()
        self.assertEqual({pid for pid in recorded if pid in made}, {pid for pid, count in made.items() if count})
        for pid, (count, _) in recorded.items():
            self.assertLessEqual(count, made.get(pid, 0))

    def test_may_be_left_out(self):
        made, _ = self.run_program(PROF, "run", "--export", "summary", "--forked-children", "0", "--")
        self.assertEqual(set(self.recorded()) & set(made), set())


if __name__ == "__main__":
    if importlib.util.find_spec("nvtx") is None:
        print("skipped: needs the package nvtx (tests/requirements.txt)")
        sys.exit(77)
    PROF, LIBRARY = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
