# SPDX-License-Identifier: Apache-2.0
"""clang refuses an access without the lock and a wrong order of locks (base/thread_annotations.hpp): the builds of the
sanitizers rely on that. Skipped where there is no clang."""

import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG = shutil.which("clang++-16") or shutil.which("clang++")

SCENE = """
#include "session/process/lock_order.hpp"
#include "session/process/session_mutex.hpp"
struct windows {
    prof::session_mutex mutex PROF_ACQUIRED_AFTER(prof::lock_order::below_commands)
        PROF_ACQUIRED_BEFORE(prof::lock_order::below_windows);
    int count PROF_GUARDED_BY(mutex) = 0;
    void add() PROF_REQUIRES(mutex) { ++count; }
};
struct capture {
    prof::session_mutex mutex PROF_ACQUIRED_AFTER(prof::lock_order::below_windows_parts);
};
void scene(windows& w, capture& c) { %s }
"""


def complaints(body):
    command = [CLANG, "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Wthread-safety-beta", f"-I{ROOT / 'src'}", "-x",
               "c++", "-"]
    done = subprocess.run(command, input=SCENE % body, capture_output=True, text=True, check=True)
    return [line for line in done.stderr.splitlines() if "-Wthread-safety" in line]


class LockChecks(unittest.TestCase):
    def test_accept_the_right_order(self):
        self.assertEqual(complaints("prof::session_lock a(w.mutex); prof::session_lock b(c.mutex); w.add();"), [])

    def test_refuse_an_access_without_the_lock(self):
        self.assertEqual(len(complaints("++w.count;")), 1)
        self.assertEqual(len(complaints("w.add(); (void)c;")), 1)

    def test_refuse_the_wrong_order(self):
        self.assertEqual(len(complaints("prof::session_lock b(c.mutex); prof::session_lock a(w.mutex);")), 1)


if __name__ == "__main__":
    if CLANG is None:
        sys.exit(77)
    unittest.main()
