# SPDX-License-Identifier: Apache-2.0
"""prof_range_push, prof_phase_push and prof_keep_text, by ctypes.

Usage: range_functions_test.py <prof>
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROF = ""
PROGRAM = """
import ctypes, os, sys
library = ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"])
results = [library.prof_range_push(None)]
for number in (1, 2):
    library.prof_phase_push(b"step", 3)
    results.append(library.prof_range_push(b"train %d" % number))
    library.prof_range_push(b"batch")
    library.prof_range_pop()
    results.append(library.prof_range_pop())
    library.prof_phase_pop()
# Steps of an annotation have an end, and are in no range that was opened between them, but inside it.
library.prof_range_push(b"epoch")
library.prof_phase_push(b"step", 3)
library.prof_phase_pop()
library.prof_range_pop()
results += [library.prof_keep_text(b"key", b"first"), library.prof_keep_text(b"key", b"second"),
            library.prof_keep_text(None, b""), library.prof_keep_text(b"long", b"x" * (1 << 20) + b"x")]
print([result == 0 for result in results])
"""


class RangeFunctions(unittest.TestCase):
    def run_program(self, *options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PROF_")}
        done = subprocess.run([PROF, "run", "-o", "captures", "--export", "none", *options, "--", sys.executable, "-c",
                               PROGRAM], cwd=folder.name, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "[False, True, True, True, True, True, True, False, False]\n")
        capture = next(pathlib.Path(folder.name).glob("captures/*.prof"))
        report = subprocess.run([PROF, "report", "--format", "json", str(capture)], capture_output=True, text=True)
        return capture.read_bytes(), json.loads(report.stdout)

    def test_ranges_and_steps(self):
        _, report = self.run_program()
        rows = {row["path"]: (row["instances"], row["type"]) for row in report["rows"] if row["instances"]}
        self.assertEqual(rows, {
            "step": (2, "phase"), "step/train #": (2, "push_pop"), "step/train #/batch": (2, "push_pop"),
            "epoch": (1, "push_pop"), "epoch/step": (1, "phase")})
        self.assertEqual(report["step"]["ended_by"], "annotations")

    def test_texts(self):
        capture, _ = self.run_program()
        self.assertIn(b"text.keysecond", capture)
        self.assertNotIn(b"text.long", capture)


if __name__ == "__main__":
    PROF = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
