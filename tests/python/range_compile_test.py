# SPDX-License-Identifier: Apache-2.0
"""Ranges of the package in modules of a real PyTorch on the CPU: compiled, copied, saved.

Usage: range_compile_test.py <prof> <folder with the package> <version of Python>
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from clean_environment import TOOLKIT, clean_environment
from scratch_case import ScratchCase

HERE = pathlib.Path(__file__).resolve().parent
PROF = PACKAGE = PYTHON = ""


class RangeCompile(ScratchCase):
    maxDiff = None

    def run_cases(self, cases, before="", command=()):
        """What the cases find, where the modules `before` are imported before libprof."""
        environment = clean_environment(PYTHONPATH=PACKAGE, LD_LIBRARY_PATH=TOOLKIT, PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run([*command, PYTHON, HERE / "range_compile_cases.py", cases, before], cwd=self.folder,
                              capture_output=True, text=True, timeout=300, env=environment)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def check(self, found):
        one = [True, 1]
        self.assertEqual(found["fullgraph"], {"Kept": one, "Made": one, "Decorated": one, "function": one, "closure": one,
                                              "aot": True, "backward": True})
        self.assertEqual(found["graph_breaks"][0], found["graph_breaks"][1])
        self.assertTrue(found["graph_breaks"][0][0])
        self.assertEqual(found["traces"], [[], "SourceFileLoader", "SourceFileLoader", True])

    def test_libprof_first(self):
        found = self.run_cases("fullgraph,graph_breaks,recorded,exported,copies,payloads,traces")
        self.check(found)
        self.assertEqual(found["recorded"], [1, {"step": 3, "forward": 1, "forward/inner": 1, "forward/inner/pushed": 1,
                                                 "decorated": 1, "decorated/head": 1}])
        self.assertTrue(found["exported"])
        self.assertEqual(found["payloads"], [[1.5, -2, 7, None, None, None], []])
        same, number, counts, graphs = found["copies"]
        self.assertTrue(same)
        self.assertGreaterEqual(number, 8)
        self.assertEqual(counts, {"kept": number, "in list": number, "in list/kept": number})
        self.assertEqual(graphs, [[True, 1]] * 4)

    def test_torch_first(self):
        self.check(self.run_cases("fullgraph,graph_breaks,traces", "torch._dynamo"))

    def test_under_prof_run(self):
        self.check(self.run_cases("fullgraph,graph_breaks,traces", "torch", (PROF, "run", "-q", "--")))


if __name__ == "__main__":
    PROF, PACKAGE = (os.path.abspath(each) for each in sys.argv[1:3])
    made = subprocess.run([str(HERE / "torch_environment.sh"), sys.argv[3]], stdout=subprocess.PIPE, text=True)
    PYTHON = made.stdout.strip() if made.returncode == 0 else ""
    if not PYTHON:
        print("skipped: there is no environment with PyTorch")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
