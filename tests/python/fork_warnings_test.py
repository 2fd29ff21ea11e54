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

nvtx = ctypes.PyDLL(sys.argv[1])

def record(name):
    nvtx.push(name)
    nvtx.pop()

def main():
    fork = multiprocessing.get_context("fork")
    for _ in range(3):
        record(b"before")
        process = fork.Process(target=record, args=(b"of a worker",))
        process.start()
        process.join()
        print(process.exitcode)
        record(b"between")
        pid = os.fork()
        if pid == 0:
            os._exit(7)
        record(b"after")
        print(os.waitpid(pid, 0)[1])
        process = fork.Process(target=print, args=("a worker",), kwargs={"flush": True})
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

    @staticmethod
    def ranges_of(capture):
        report = json.loads(subprocess.run([PROF, "report", str(capture), "--format", "json"], check=True,
                                           stdout=subprocess.PIPE).stdout)
        return sorted((row["path"], row["instances"]) for row in report["rows"] if row["instances"])

    def test_none_is_added(self):
        for version, python in interpreters().items():
            with self.subTest(version), tempfile.TemporaryDirectory() as folder:
                bare = self.run_with([], python, folder)
                recorded = self.run_with([PROF, "run", "-q", "--export", "none", "-o", "captures", "--"], python, folder)
                self.assertEqual(bare.returncode, 0, bare.stderr)
                self.assertEqual((recorded.returncode, recorded.stdout), (0, bare.stdout))
                self.assertEqual((bare.stderr.count("multi-threaded"), recorded.stderr.count("multi-threaded")), (0, 0),
                                 recorded.stderr)
                found = sorted(self.ranges_of(capture) for capture in pathlib.Path(folder).glob("captures/*.prof"))
                self.assertEqual(found, [[("after", 3), ("before", 3), ("between", 3)], *3 * [[("of a worker", 1)]]])


if __name__ == "__main__":
    if not interpreters():
        print("skipped: needs a Python of 3.12 or later")
        sys.exit(77)
    PROF, PUSH = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
