# SPDX-License-Identifier: Apache-2.0
"""What libprof leaves in a Python program that has not imported torch or jax, on each version of Python that the machine
has: no garbage, nothing in multiprocessing's registries, no warning. And what a signal handler raises while libprof
starts to observe torch (a stand-in) reaches the program.

Usage: interpreter_state_test.py <prof> <libnvtx_push.so>
"""
import pathlib
import subprocess
import sys
import unittest

from clean_environment import clean_environment
from scratch_case import ScratchCase

HERE = pathlib.Path(__file__).resolve().parent
FAKE_TORCH = str(HERE / "fake_torch")
PROF = ""
PUSH_LIBRARY = LIBTORCH = ""

GARBAGE = "import gc; print(gc.collect(), len(gc.garbage))"
# In a child of each kind: its registries, warnings of any kind as errors, what threads run.
CHILDREN = """
import multiprocessing, os, sys, threading
from multiprocessing import util

def child(connection, parents):
    registries = len(util._afterfork_registry) - parents, len(util._finalizer_registry)
    atexits = len(getattr(threading, "_threading_atexits", ()))
    connection.send((registries, atexits, len(os.listdir("/proc/self/fd")), threading.active_count()))

if __name__ == "__main__":
    for kind in sys.argv[1:]:
        context = multiprocessing.get_context(kind)
        here, there = context.Pipe(False)
        process = context.Process(target=child, args=(there, len(util._afterfork_registry) if kind == "fork" else 0))
        process.start()
        print(kind, here.recv())
        process.join()
        print(process.exitcode)
"""
STATE = """
import gc, multiprocessing.util as util, os, sys, threading, warnings
print(len(util._afterfork_registry), len(util._finalizer_registry), len(getattr(threading, "_threading_atexits", ())))
print(len(sys.path_hooks), sys.path[1:], sys.flags, sys.warnoptions, len(warnings.filters))
print(threading.enumerate()[1:], len(os.listdir("/proc/self/task")), gc.isenabled(), gc.get_threshold())
print(sorted(set(sys.modules) - {"atexit"}), sys.gettrace(), sys.getprofile())
print([sys.monitoring.get_tool(tool) for tool in range(6)] if hasattr(sys, "monitoring") else "")
"""


def interpreters():
    for version in ("3.10", "3.11", "3.12", "3.13"):
        found = subprocess.run(["bash", "-c", f"source {HERE}/environment.sh; find_python {version}"],
                               capture_output=True, text=True)
        if found.returncode == 0:
            yield version, found.stdout.strip()


class InterpreterState(ScratchCase):
    def setUp(self):
        super().setUp()
        self.environment = clean_environment(PYTHONDONTWRITEBYTECODE="1", PROF_RINGS=str(self.folder))

    def run_python(self, before, *arguments, **variables):
        done = subprocess.run([*before, *arguments], cwd=self.folder, env={**self.environment, **variables},
                              capture_output=True, text=True, timeout=100)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("prof: ")]
        return done.returncode, done.stdout.splitlines(), lines

    def assert_same(self, *arguments):
        """By itself and under prof run, on each Python."""
        for version, python in interpreters():
            with self.subTest(version):
                bare, recorded = (self.run_python(before, python, *arguments)
                                  for before in ((), (PROF, "run", "-q", "--export", "none", "-o", "out", "--")))
                self.assertEqual(recorded, bare)
                self.assertEqual(bare[0], 0, bare)

    def test_no_garbage(self):
        self.assert_same("-c", GARBAGE)

    def test_state(self):
        self.assert_same("-c", STATE)

    def test_children(self):
        (self.folder / "children.py").write_text(CHILDREN)
        self.assert_same("children.py", "fork", "forkserver", "spawn")

    def test_warnings(self):
        (self.folder / "children.py").write_text(CHILDREN)
        self.assert_same("-X", "dev", "-X", "warn_default_encoding", "-bb", "children.py", "fork", "spawn")

    def test_warnings_are_errors(self):
        # Not those of multiprocessing's own files.
        self.assert_same("-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-W", "error::ResourceWarning",
                         "-c", STATE)

    def test_exceptions_of_the_program_while_torch_is_imported(self):
        most = 20
        for version, python in interpreters():
            with self.subTest(version):
                status, out, err = self.run_python(
                    (PROF, "run", "-q", "--export", "none", "-o", "out", "--"), python,
                    str(HERE / "interrupted_program.py"), "torch", str(most), PYTHONPATH=FAKE_TORCH,
                    TORCH_PATH=FAKE_TORCH, NVTX_PUSH_LIBRARY=PUSH_LIBRARY, FAKE_LIBTORCH=LIBTORCH)
                self.assertEqual((status, len(out)), (0, 4), err)
                for line in out:
                    self.assertRegex(line, ": mostly lost: 0$")


if __name__ == "__main__":
    PROF, PUSH_LIBRARY, LIBTORCH = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
