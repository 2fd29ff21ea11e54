# SPDX-License-Identifier: Apache-2.0
"""Random programs (lines_attack.py) print the same and end alike under `prof run` as without it, while the lines of their
CUDA calls are recorded.

Usage: lines_attack_test.py <prof>   with FAKE_CUDA and FAKE_CUPTI in the environment

PROF_LINES_SEEDS=FIRST:COUNT: these programs, in each Python; by default a few.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from clean_environment import clean_environment
from lines_test import pythons

PROF = ""
PROGRAM = pathlib.Path(__file__).resolve().parent / "lines_attack.py"


@unittest.skipUnless("FAKE_CUDA" in os.environ, "the simulated GPU was not built")
class Attack(unittest.TestCase):
    def run_program(self, folder, python, seed, profiled):
        variables = clean_environment(PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"], PYTHONDONTWRITEBYTECODE="1",
                                      PYTHONHASHSEED="1")
        before = (PROF, "run", "-o", "captures", "--export", "none", "--") if profiled else ()
        done = subprocess.run([*before, python, "-W", "ignore", str(PROGRAM), str(seed)], cwd=folder, env=variables, text=True,
                              capture_output=True, timeout=100)
        own = [line for line in done.stderr.split("\n") if not line.startswith("prof")]
        return done.returncode, done.stdout, own

    def test_programs_are_as_without(self):
        first, count = map(int, os.environ.get("PROF_LINES_SEEDS", "1:12").split(":"))
        captures = 0
        for minor, python in pythons().items():
            for seed in range(first, first + count):
                with self.subTest(python=minor, seed=seed), tempfile.TemporaryDirectory() as folder:
                    bare = self.run_program(folder, python, seed, False)
                    self.assertEqual(self.run_program(folder, python, seed, True), bare)
                    found = pathlib.Path(folder, "captures")
                    captures += len(list(found.glob("*.prof"))) if found.exists() else 0
                    shutil.rmtree(found, ignore_errors=True)
        self.assertGreaterEqual(captures, count)


if __name__ == "__main__":
    PROF = sys.argv.pop(1)
    unittest.main()
