# SPDX-License-Identifier: Apache-2.0
"""Findings of real PyTorch programs without GPU work: each has the price that the step gains when the flaw is removed.

Usage: host_only_test.py <prof> <version of Python>
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from clean_environment import TOOLKIT, clean_environment

HERE = pathlib.Path(__file__).resolve().parent
PROF = ""
PYTHON = ""
STEPS = 30  # without the first and the last
# Flaw → the rule, what the finding's title has, and in how many steps it is.
FLAWS = {
    "loader": ("data_loader", "the program waits for its data loader, in data", STEPS),
    "workers": ("data_loader", "the program waits for its data loader, in data", STEPS),
    "logging": ("host_code", "outside phases, after optimizer", STEPS),
    "sometimes": ("host_code", "outside phases, after optimizer", 7),
    "slow": ("uneven_steps", "of 30 steps are longer than the others", None),
}


class HostOnly(unittest.TestCase):
    def diagnosed(self, flaw):
        with tempfile.TemporaryDirectory() as folder:
            environment = clean_environment(LD_LIBRARY_PATH=TOOLKIT, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
            program = [PYTHON, str(HERE / "host_only_program.py"), flaw]
            ran = subprocess.run([PROF, "run", "-o", "out", "--export", "none", "--", *program], cwd=folder,
                                 env=environment, capture_output=True, text=True, timeout=250)  # fmt: skip
            self.assertEqual(ran.returncode, 0, ran.stderr)
            (capture,) = map(str, pathlib.Path(folder, "out").glob("*.prof"))
            found = subprocess.run([PROF, "diagnose", "--format", "json", capture], cwd=folder, env=environment,
                                   check=True, capture_output=True, text=True, timeout=60)  # fmt: skip
            return json.loads(found.stdout)[0]

    def test_prices_are_what_a_step_gains_without_the_flaw(self):
        fast = self.diagnosed("clean")
        for flaw, (rule, title, steps) in FLAWS.items():
            # A machine that does other work, too, may disturb one of the two runs, or seem to be warming up.
            for attempt in range(3):
                slow = self.diagnosed(flaw)
                truth_ns = slow["step_ns"] - fast["step_ns"]
                row = slow["rows"][0]
                is_undisturbed = fast["steps"] == slow["steps"] == STEPS and row["steps"] == (steps or row["steps"])
                if is_undisturbed and abs(row["gain_ns"] - truth_ns) <= 0.05 * truth_ns:
                    break
                fast = self.diagnosed("clean")
            what = (flaw, attempt, fast["step_ns"], slow["step_ns"], slow["rows"])
            print(flaw, f"price {row['gain_ns'] / 1e6:.2f} ms, gained {truth_ns / 1e6:.2f} ms",
                  f"in attempt {attempt + 1}", flush=True)
            self.assertEqual(row["rule"], rule, what)
            self.assertIn(title, row["finding"], what)
            if steps is not None:
                self.assertEqual(row["steps"], steps, what)
            self.assertAlmostEqual(row["gain_ns"], truth_ns, delta=0.05 * truth_ns, msg=what)
            # What computes is no finding, and the flaw is found once.
            rest_ns = sum(other["gain_ns"] for other in slow["rows"][1:])
            self.assertLess(rest_ns, 0.1 * truth_ns, what)

    def test_the_program_without_a_flaw_has_no_finding(self):
        found = self.diagnosed("clean")
        # Another program on the machine may make a step longer, by chance.
        self.assertEqual([row for row in found["rows"] if row["rule"] != "uneven_steps"], [])
        self.assertEqual(set(found["looked"]) | {"uneven_steps"},
                         {"data_loader", "compilation", "host_code", "uneven_steps"})
        self.assertEqual(len(found["not_looked"]), 1)
        self.assertIn("there was no GPU work", found["not_looked"][0])


if __name__ == "__main__":
    PROF = str(pathlib.Path(sys.argv[1]).resolve())
    made = subprocess.run([str(HERE / "torch_environment.sh"), sys.argv[2]], capture_output=True, text=True)
    if made.returncode == 77:
        print(made.stderr.strip())
        sys.exit(77)
    made.check_returncode()
    PYTHON = made.stdout.split()[-1]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
