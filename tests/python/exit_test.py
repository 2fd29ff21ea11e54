# SPDX-License-Identifier: Apache-2.0
"""The end of a Python program under `prof run`: a daemon thread that comes back from a blocking call must not meet a longer
end than without libprof (exit_window.cpp), and what the GPU did is kept, however the process ends.

Usage: exit_test.py <prof> <libexit_window.so>   with FAKE_CUDA and FAKE_CUPTI in the environment

PROF_PYTHON_EXITS=500: so many exits on a loaded machine, without libprof and with it, and how many of them were aborts.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

from clean_environment import clean_environment
from scratch_case import ScratchCase

PROF, WINDOW = "", ""

PROGRAM = """
import ctypes, os, sys, threading

cuda = ctypes.CDLL(os.environ["FAKE_CUDA"])
window = ctypes.CDLL(os.environ["EXIT_WINDOW"])

def launch(name, count):
    for _ in range(count):
        cuda.fake_cuda_launch(name, ctypes.c_uint64(2000), None)
    cuda.cudaDeviceSynchronize()

class AtTheEnd:
    # When Python ends, after all of its exit handlers.
    def __init__(self, action):
        self.action = action
    def __del__(self):
        self.action()

mode = sys.argv[1]
if mode == "random":
    window.come_back_within(int(sys.argv[2]), int(sys.argv[3]))
if mode in ("daemon", "random"):
    threading.Thread(target=ctypes.PyDLL(os.environ["EXIT_WINDOW"]).block, daemon=True).start()
    while not window.is_in_block():
        pass
launch(b"kernel", 2000)
if mode == "late":
    kept = AtTheEnd(lambda launch=launch: launch(b"late", 3))
if mode == "abort":
    kept = AtTheEnd(os.abort)
print("done", flush=True)
"""


@unittest.skipUnless("FAKE_CUDA" in os.environ, "the simulated GPU was not built")
class Exits(ScratchCase):
    def run_program(self, *arguments, profiled=True, **variables):
        environment = clean_environment(LD_PRELOAD=WINDOW, EXIT_WINDOW=WINDOW, FAKE_GPU_CLOCK="virtual",
                                        PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"], PYTHONDONTWRITEBYTECODE="1",
                                        **variables)
        before = (PROF, "run", "-o", "captures", "--export", "none", "--") if profiled else ()
        return subprocess.run([*before, sys.executable, "-c", PROGRAM, *map(str, arguments)], cwd=self.folder,
                              env=environment, capture_output=True, text=True, timeout=100)

    def operations(self):
        capture, = (self.folder / "captures").glob("*.prof")
        done = subprocess.run([PROF, "report", "--format", "json", "--report", "kernels", str(capture)], check=True,
                              capture_output=True, text=True)
        capture.unlink()
        return {row["name"]: row["instances"] for row in json.loads(done.stdout)["rows"]}

    def test_exit_with_a_daemon_thread_takes_no_longer_than_without_libprof(self):
        bare = self.run_program("daemon", profiled=False)
        self.assertEqual((bare.returncode, bare.stdout), (0, "done\n"), bare.stderr)
        profiled = self.run_program("daemon")
        self.assertEqual((profiled.returncode, profiled.stdout), (0, "done\n"), profiled.stderr)
        self.assertEqual(self.operations(), {"kernel": 2000})

    def test_launches_after_the_last_exit_handler_are_recorded(self):
        done = self.run_program("late")
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
        self.assertEqual(self.operations(), {"kernel": 2000, "late": 3})

    def test_gpu_work_survives_an_abort(self):
        done = self.run_program("abort", PROF_RINGS="memory")  # which is gone with the process: the file has all
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGABRT, "done\n"), done.stderr)
        self.assertEqual(self.operations(), {"kernel": 2000})

    def test_exit_of_an_old_python_is_unchanged(self):
        olds = [*pathlib.Path.home().glob(".pyenv/versions/2.7*/bin/python"), *filter(None, [shutil.which("python2.7")])]
        if not olds:
            self.skipTest("there is no Python 2.7")
        done = subprocess.run([PROF, "run", "--", olds[0], "-c", "import json; print('done')"], cwd=self.folder,
                              capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
        self.assertNotIn("sitecustomize", done.stderr)

    def test_no_more_aborts_on_a_loaded_machine_than_without_libprof(self):
        exits = int(os.environ.get("PROF_PYTHON_EXITS", "0"))
        if exits == 0:
            self.skipTest("PROF_PYTHON_EXITS is not set")
        load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
        try:
            aborts = {False: 0, True: 0}
            for seed in range(exits):
                for profiled in aborts:
                    done = self.run_program("random", 400, seed, profiled=profiled)
                    self.assertIn(done.returncode, (0, -signal.SIGABRT), done.stderr)
                    aborts[profiled] += done.returncode != 0
                    if profiled:
                        self.assertEqual(self.operations(), {"kernel": 2000}, f"seed {seed}")
        finally:
            for process in load:
                process.kill()
                process.wait()
        print(f"of {exits} exits {aborts[False]} were aborts without libprof, {aborts[True]} with it")
        # Of two draws from one chance, the difference's standard deviation is the root of the sum.
        self.assertLessEqual(aborts[True], aborts[False] + 3 * (sum(aborts.values()) + 1) ** 0.5)


if __name__ == "__main__":
    PROF, WINDOW = (str(pathlib.Path(argument).resolve()) for argument in (sys.argv.pop(1), sys.argv.pop(1)))
    unittest.main()
