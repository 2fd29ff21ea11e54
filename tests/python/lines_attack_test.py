# SPDX-License-Identifier: Apache-2.0
"""Random programs (lines_attack.py) print the same and end alike under `prof run` as without it, while the lines of their
CUDA calls are recorded.

Usage: lines_attack_test.py <prof>   with FAKE_CUDA and FAKE_CUPTI in the environment

PROF_LINES_SEEDS=FIRST:COUNT[:PER_PROCESS]: these programs, in each Python; by default a few.
PROF_LINES_SANITIZED=RUNTIME:LIBPROF: a libprof.so built with the address sanitizer and clang's shared runtime of it, in
processes whose objects are malloc's, so that reading one which was freed is found. These do not fork, since a lock of the
sanitizer's own allocator that another thread held would stay locked in the child.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from clean_environment import clean_environment
from lines_test import pythons, say_what_is_missing

PROF = ""
SANITIZED = os.environ.get("PROF_LINES_SANITIZED", "")
PROGRAM = pathlib.Path(__file__).resolve().parent / "lines_attack.py"


@unittest.skipUnless("FAKE_CUDA" in os.environ, "the simulated GPU was not built")
class Attack(unittest.TestCase):
    def run_programs(self, folder, python, seed, count, profiled):
        variables = clean_environment(PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"], PYTHONDONTWRITEBYTECODE="1",
                                      PYTHONHASHSEED="1")
        before = (PROF, "run", "-o", "captures", "--export", "none", "--") if profiled else ()
        if SANITIZED:
            runtime, library = SANITIZED.split(":")
            before = ()
            variables["WITHOUT_FORK"] = "1"
            variables |= {"LD_PRELOAD": f"{runtime}:{library}" if profiled else runtime, "PYTHONMALLOC": "malloc",
                          "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0", "PROF_OUTPUT_DIR": "captures",
                          "PROF_EXPORT": "none"}
        done = subprocess.run([*before, python, "-W", "ignore", str(PROGRAM), str(seed), str(count)],
                              cwd=folder, env=variables, text=True, capture_output=True, timeout=200)
        own = [line for line in done.stderr.split("\n") if not line.startswith("prof")]
        return done.returncode, done.stdout, own

    def test_programs_are_as_without(self):
        wanted = os.environ.get("PROF_LINES_SEEDS", "1:16:4")
        first, count, per_process = ([int(number) for number in wanted.split(":")] + [1])[:3]
        captures = programs = 0
        for minor, python in pythons().items():
            for seed in range(first, first + count, per_process):
                some = min(per_process, first + count - seed)
                with self.subTest(python=minor, seed=seed), tempfile.TemporaryDirectory() as folder:
                    bare = self.run_programs(folder, python, seed, some, False)
                    profiled = self.run_programs(folder, python, seed, some, True)
                    if profiled != bare:  # at once: a long run may be ended before unittest says so
                        print(f"Python 3.{minor}, programs from {seed}: {bare} became {profiled}", file=sys.stderr, flush=True)
                    self.assertEqual(profiled, bare)
                    found = pathlib.Path(folder, "captures")
                    captures += len(list(found.glob("*.prof"))) if found.exists() else 0
                    programs += some
                    shutil.rmtree(found, ignore_errors=True)
        print(f"{programs} programs, {captures} captures", file=sys.stderr)
        self.assertGreaterEqual(captures, count // per_process)


if __name__ == "__main__":
    PROF = sys.argv.pop(1)
    say_what_is_missing()
    unittest.main()
