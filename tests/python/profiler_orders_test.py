# SPDX-License-Identifier: Apache-2.0
"""profiler_orders.py under `prof run` prints what it prints bare, in every mode; and each of its runs ends well with the
allocator of glibc that checks its memory.

Usage: profiler_orders_test.py <prof> <version of Python>
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from clean_environment import TOOLKIT, clean_environment

HERE = pathlib.Path(__file__).resolve().parent
PROF = PYTHON = ""
# glibc's: they fill freed memory with a pattern, and end the process where the memory's lists were overwritten.
CHECKS = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.check=3",
          "LD_PRELOAD": "libc_malloc_debug.so.0"}


def run(*before):
    with tempfile.TemporaryDirectory() as folder:
        command = [*before, *(["-o", folder, "--"] if before else []), PYTHON, str(HERE / "profiler_orders.py")]
        return subprocess.run(command, env=clean_environment(LD_LIBRARY_PATH=TOOLKIT, **CHECKS), capture_output=True,
                              text=True, timeout=400)


class ProfilerOrders(unittest.TestCase):
    maxDiff = None

    def test_every_order_is_as_bare(self):
        bare = run()
        self.assertEqual(bare.returncode, 0, bare.stderr[-2000:])
        self.assertGreater(len(bare.stdout.splitlines()), 200)
        for options in (("--pytorch", "ranges"), ("--pytorch", "ops", "--modules")):
            if "--modules" in options and not hasattr(sys, "monitoring"):
                options = options[:2]
            recorded = run(PROF, "run", "-q", "--export", "none", *options)
            self.assertEqual((recorded.returncode, recorded.stdout), (0, bare.stdout), recorded.stderr[-2000:])


if __name__ == "__main__":
    PROF, version = os.path.abspath(sys.argv[1]), sys.argv[2]
    made = subprocess.run([str(HERE / "torch_environment.sh"), version], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(made.returncode)
    PYTHON = made.stdout.strip()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
