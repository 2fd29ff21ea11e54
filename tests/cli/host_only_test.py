#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Findings of a program of C++ without GPU work: each has the price that the step gains when the flaw is removed.

    host_only_test.py PROF PROGRAM
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from clean_environment import clean_environment  # noqa: E402

PROF, PROGRAM = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
STEPS = 32
# Kind of program and flaw → the rule, and what the finding's title ends with.
FLAWS = {
    ("phases", "loader"): ("data_loader", "in data"),
    ("phases", "logging"): ("host_code", "outside phases, after optimizer"),
    ("phases", "slow"): ("uneven_steps", " steps are longer than the others"),
    ("ranges", "loader"): ("data_loader", "in data"),
    ("ranges", "logging"): ("host_code", "outside ranges"),
    ("ranges", "slow"): ("uneven_steps", " steps are longer than the others"),
}


class HostOnly(unittest.TestCase):
    def diagnosed(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            environment = clean_environment()
            subprocess.run([PROF, "run", "-o", "out", "--export", "none", "--", PROGRAM, *arguments], cwd=folder,
                           env=environment, check=True, capture_output=True, timeout=60)  # fmt: skip
            (capture,) = map(str, pathlib.Path(folder, "out").glob("*.prof"))
            found = subprocess.run([PROF, "diagnose", "--format", "json", capture], cwd=folder, env=environment,
                                   check=True, capture_output=True, text=True, timeout=60)  # fmt: skip
            return json.loads(found.stdout)[0]

    def steps_and_findings(self, kind, flaw):
        found = self.diagnosed(kind, str(STEPS), flaw)
        return found["wall_ns"] / found["steps"], found

    def test_the_program_without_a_flaw_has_no_finding(self):
        for kind in ("phases", "ranges"):
            _, found = self.steps_and_findings(kind, "clean")
            # Another program on the machine may make a step longer, by chance.
            self.assertEqual([row for row in found["rows"] if row["rule"] != "uneven_steps"], [], kind)
            self.assertEqual([line.split(": ")[1] for line in found["not_looked"]], ["there was no GPU work"])

    def test_prices_are_what_a_step_gains_without_the_flaw(self):
        for (kind, flaw), (rule, title) in FLAWS.items():
            # A machine that does other work, too, may disturb one of the two runs, or seem to be warming up.
            for attempt in range(3):
                clean_ns, _ = self.steps_and_findings(kind, "clean")
                flawed_ns, found = self.steps_and_findings(kind, flaw)
                row = found["rows"][0]
                is_undisturbed = found["steps"] == STEPS - 2  # the first is warm-up, and the last not whole
                if is_undisturbed and abs(row["gain_ns"] - (flawed_ns - clean_ns)) <= 0.05 * (flawed_ns - clean_ns):
                    break
            print(kind, flaw, f"price {row['gain_ns'] / 1e6:.2f} ms, gained {(flawed_ns - clean_ns) / 1e6:.2f} ms",
                  f"in attempt {attempt + 1}", flush=True)
            what = (kind, flaw, attempt, clean_ns, flawed_ns, found["rows"])
            self.assertEqual(row["rule"], rule, what)
            self.assertTrue(row["finding"].endswith(title), what)
            self.assertAlmostEqual(row["gain_ns"], flawed_ns - clean_ns, delta=0.05 * (flawed_ns - clean_ns), msg=what)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
