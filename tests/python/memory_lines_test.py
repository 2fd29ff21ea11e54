# SPDX-License-Identifier: Apache-2.0
"""The lines of a Python program that ask an allocator for memory, on a stand-in for PyTorch's.

Usage: memory_lines_test.py <prof> [TEST...]   with FAKE_CUDA, FAKE_CUPTI and FAKE_C10 in the environment
"""
import json
import os
import subprocess
import sys
import unittest

from clean_environment import clean_environment
from scratch_case import ScratchCase
from lines_test import pythons

PROF = ""
MIB = 1 << 20

PROGRAM = """\
import ctypes, os, sys, threading
cuda = ctypes.CDLL(os.environ["FAKE_CUDA"])
c10 = ctypes.CDLL(os.environ["FAKE_C10"])
c10.fake_c10_allocate.argtypes, c10.fake_c10_allocate.restype = [ctypes.c_size_t, ctypes.c_int], ctypes.c_uint64
c10.fake_c10_free.argtypes = [ctypes.c_uint64, ctypes.c_int]
cuda.cudaDeviceSynchronize()

def take(mib):
    return c10.fake_c10_allocate(int(mib * (1 << 20)), 0)

def weights():
    return [take(24), take(40)]  # both

class Model:
    def forward(self):
        a = take(8)  # first
        b = take(16)  # second
        return [a, b]

def small():
    return take(0.0005)  # small

held = weights()
model = Model()
for _ in range(5):
    blocks = model.forward()
    for each in blocks:
        c10.fake_c10_free(each, 0)
held += model.forward()
held.append(small())
thread = threading.Thread(target=lambda: held.append(take(4)))  # thread
thread.start()
thread.join()
if len(sys.argv) > 1:
    c10.fake_c10_set_limit(200 << 20, 0)
    take(1000)  # too much
"""


def line_of(word):
    found = [number for number, line in enumerate(PROGRAM.split("\n"), 1) if line.endswith("# " + word)]
    assert len(found) == 1, word
    return f"program.py:{found[0]}"


@unittest.skipUnless("FAKE_C10" in os.environ, "the stand-in for PyTorch's allocator was not built")
class MemoryLines(ScratchCase):
    def setUp(self):
        super().setUp()
        (self.folder / "program.py").write_text(PROGRAM, encoding="utf-8")

    def run_program(self, python, *words, **variables):
        environment = clean_environment(PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"], PROF_ALLOCATIONS="on", **variables)
        done = subprocess.run([PROF, "run", "-o", "captures", "--export", "none", "--", python, "program.py", *words],
                              cwd=self.folder, env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        capture, = (self.folder / "captures").glob("*.prof")
        reports = {}
        for name in ("memory", "memory_lines"):
            told = subprocess.run([PROF, "report", "--report", name, "--format", "json", capture], capture_output=True,
                                  text=True, check=True)
            reports[name] = json.loads(told.stdout)
        text = subprocess.run([PROF, "report", capture], capture_output=True, text=True, check=True).stdout
        capture.unlink()
        return reports["memory"], reports["memory_lines"], text

    def test_each_block_has_the_line_that_asked_for_it(self):
        for minor, python in pythons().items():
            with self.subTest(python=f"3.{minor}"):
                memory, lines, _ = self.run_program(python)
                rows = {row["line"]: row for row in lines["rows"]}
                # `take` is the innermost own code: its line asked for all.
                take = rows.pop("program.py:9")
                self.assertEqual(rows, {})
                self.assertEqual(take["end_bytes"], (24 + 40 + 8 + 16 + 4) * MIB + 1024)
                self.assertEqual(take["end_bytes"], memory["end_allocated_bytes"])

    def test_library_code_is_passed_over(self):
        """With `take` in a library, each caller's line has its blocks."""
        library = self.folder / "site-packages"
        library.mkdir()
        head, body = PROGRAM.split("def weights")
        (library / "allocator.py").write_text(head, encoding="utf-8")
        # The same line numbers as in PROGRAM.
        program = "import ctypes, os, sys, threading; sys.path.insert(0, 'site-packages')\n" + \
            "from allocator import c10, take\n" + "\n" * (head.count("\n") - 2) + "def weights" + body
        (self.folder / "program.py").write_text(program, encoding="utf-8")
        for minor, python in pythons().items():
            with self.subTest(python=f"3.{minor}"):
                _, lines, _ = self.run_program(python)
                ends = {row["line"]: row["end_bytes"] for row in lines["rows"]}
                self.assertEqual({line_of("both"): 64 * MIB, line_of("first"): 8 * MIB, line_of("second"): 16 * MIB,
                                  line_of("thread"): 4 * MIB, line_of("small"): 1024},
                                 {line: size for line, size in ends.items() if line is not None} |
                                 # Chance decides whether a small block has a line.
                                 ({} if line_of("small") in ends else {line_of("small"): ends[None]}))
                codes = {row["line"]: row["code"] for row in lines["rows"]}
                self.assertIn("Model.forward" if minor >= 11 else "forward", codes[line_of("first")])
                self.assertIn("take", codes[line_of("first")])
                births = {row["line"]: row["known_births"] for row in lines["rows"]}
                self.assertEqual(births[line_of("second")], 6)

    def test_an_error_names_its_line(self):
        memory, _, text = self.run_program(sys.executable, "fail")
        self.assertEqual((memory["failures"], memory["failed_line"]), (1, "program.py:9"))
        self.assertIn("at program.py:9: ", " ".join(text[:400].split()))

    def test_without_lines_there_are_none(self):
        _, lines, _ = self.run_program(sys.executable, PROF_LINES="off")
        self.assertEqual(lines["rows"], [])
        self.assertIn("--lines was off", " ".join(lines["notes"]))


if __name__ == "__main__":
    PROF = os.path.abspath(sys.argv.pop(1))
    unittest.main()
