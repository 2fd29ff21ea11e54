# SPDX-License-Identifier: Apache-2.0
"""Python 3.12 and later warn where a process of several threads forks. A program of one thread that is recorded gets no
such warning, and loses nothing by that. Needs no GPU and no package.

Usage: fork_warnings_test.py <prof> <libnvtx_push.so>
"""
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROF = PUSH = ""

PROGRAM = """
import ctypes, multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor

nvtx = ctypes.PyDLL(sys.argv[1])

def record(name):
    nvtx.push(name)
    nvtx.pop()

def square(x):
    return x * x

def main():
    fork = multiprocessing.get_context("fork")
    for _ in range(3):
        record(b"before")
        with fork.Pool(1) as pool:
            print(pool.map(square, range(3)))
        record(b"between")
        pid = os.fork()
        if pid == 0:
            os._exit(7)
        record(b"after")
        print(os.waitpid(pid, 0)[1])
        process = fork.Process(target=square, args=(1,))
        process.start()
        process.join()
        print(process.exitcode)

main()
"""


def interpreters():
    """Of each version, that have the warning."""
    found = {}
    for path in [sys.executable, *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))]:
        version = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
        if version and tuple(map(int, version.split("."))) >= (3, 12):
            found.setdefault(version, path)
    return found


class ForkWarnings(unittest.TestCase):
    @staticmethod
    def run_with(command, python, folder):
        program = pathlib.Path(folder) / "program.py"
        program.write_text(PROGRAM, encoding="utf-8")
        return subprocess.run([*command, python, "-W", "always::DeprecationWarning", str(program), PUSH], cwd=folder,
                              timeout=120, capture_output=True, text=True, check=False)

    def test_none_is_added(self):
        for version, python in interpreters().items():
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                bare = self.run_with([], python, folder)
                recorded = self.run_with([PROF, "run", "-q", "--export", "none", "-o", "captures", "--"], python, folder)
                self.assertEqual(bare.returncode, 0, bare.stderr)
                self.assertEqual((recorded.returncode, recorded.stdout), (0, bare.stdout))
                warnings = [line for line in recorded.stderr.splitlines() if "multi-threaded" in line]
                self.assertEqual(len(warnings), bare.stderr.count("multi-threaded"), recorded.stderr)
                (capture,) = pathlib.Path(folder).glob("captures/*.prof")
                report = json.loads(subprocess.run([PROF, "report", str(capture), "--format", "json"], check=True,
                                                   stdout=subprocess.PIPE).stdout)
                self.assertEqual({row["path"]: row["instances"] for row in report["rows"]},
                                 {"before": 3, "between": 3, "after": 3})


if __name__ == "__main__":
    if not interpreters():
        print("skipped: needs a Python of 3.12 or later")
        sys.exit(77)
    PROF, PUSH = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
