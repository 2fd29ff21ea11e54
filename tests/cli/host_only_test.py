#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Findings of a program of C++ without GPU work: each has the price of what the flaw took.

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
    def diagnosed(self, kind, flaw):
        """The diagnosis, and how long the flaw took in the mean of its steps, by the program's own clock."""
        with tempfile.TemporaryDirectory() as folder:
            environment = clean_environment()
            ran = subprocess.run([PROF, "run", "-o", "out", "--export", "none", "--", PROGRAM, kind, str(STEPS), flaw],
                                 cwd=folder, env=environment, check=True, capture_output=True, text=True,
                                 timeout=60)  # fmt: skip
            (capture,) = map(str, pathlib.Path(folder, "out").glob("*.prof"))
            result = subprocess.run([PROF, "diagnose", "--format", "json", capture], cwd=folder, env=environment,
                                    check=True, capture_output=True, text=True, timeout=60)  # fmt: skip
        found = json.loads(result.stdout)[0]
        times_ns = list(map(int, ran.stdout.split()))[found["warm_up"]:][:found["steps"]]
        return found, sum(times_ns) / len(times_ns)

    def test_the_program_without_a_flaw_has_no_finding(self):
        for kind in ("phases", "ranges"):
            found, _ = self.diagnosed(kind, "clean")
            # Another program on the machine may make a step longer, by chance.
            self.assertEqual([row for row in found["rows"] if row["rule"] != "uneven_steps"], [], kind)
            self.assertEqual([line.split(": ")[1] for line in found["not_looked"]], ["there was no GPU work"])

    def test_prices_are_what_the_flaw_took(self):
        for (kind, flaw), (rule, title) in FLAWS.items():
            for attempt in range(5):
                found, truth_ns = self.diagnosed(kind, flaw)
                rows = [row for row in found["rows"] if row["rule"] == rule]
                # On a machine that does much else other steps may be long, too, or unlike those before them.
                if rows and abs(rows[0]["gain_ns"] - truth_ns) <= 0.05 * truth_ns:
                    break
            what = (kind, flaw, attempt, truth_ns, found["rows"])
            self.assertEqual(len(rows), 1, what)
            self.assertTrue(rows[0]["finding"].endswith(title), what)
            print(kind, flaw, f"price {rows[0]['gain_ns'] / 1e6:.2f} ms, took {truth_ns / 1e6:.2f} ms", flush=True)
            self.assertAlmostEqual(rows[0]["gain_ns"], truth_ns, delta=0.05 * truth_ns, msg=what)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
