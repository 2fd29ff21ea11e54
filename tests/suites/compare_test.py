# SPDX-License-Identifier: Apache-2.0
"""The comparison of suites finds each kind of difference, and none where there is none.

Usage: compare_test.py <prof>

The suite is one of this test's own, and `prof run` has a variable more in its environment, by which one of the tests
does something else.
"""
import importlib.util
import pathlib
import sys
import tempfile
import unittest

import compare
from suites import Suite

PROF = ""
TESTS = """\
import os
import pathlib
import signal
import subprocess
import unittest
import warnings

SEED = os.environ.get("SEED", "")
FOLDER = pathlib.Path(__file__).parent


def first_time(name):
    try:
        (FOLDER / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class Sample(unittest.TestCase):
    def test_death(self):
        if SEED == "death":
            os.kill(os.getpid(), signal.SIGSEGV)

    def test_explanation(self):
        raise ValueError("of the seed" if SEED == "explanation" else "at 0x%x" % id(self))

    def test_file(self):
        pathlib.Path("left_%s" % SEED if SEED == "file" else "left").touch()

    def test_outcome(self):
        self.assertNotEqual(SEED, "outcome")

    def test_part(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertFalse(SEED == "part" and number == 1)

    def test_process(self):
        if SEED == "process":
            subprocess.Popen(["sleep", "60"])

    def test_skip(self):
        if SEED == "skip":
            self.skipTest("seeded")

    def test_warning(self):
        for _ in range(3 if SEED == "warning" else 2):
            warnings.warn("a warning", DeprecationWarning)

    def test_unsteady(self):
        # The first bare run fails, and no other.
        self.assertFalse(SEED == "unsteady" or first_time("unsteady"))

    def test_seldom(self):
        self.assertFalse(SEED == "seldom" and first_time("seldom"))


@unittest.skipIf(SEED == "class", "seeded")
class Whole(unittest.TestCase):
    def test_one(self):
        pass


def setUpModule():
    if SEED == "module":
        raise OSError("seeded")
"""


class Compare(unittest.TestCase):
    runner = "run_unittest.py"
    tests = ["sample_test"]
    seeds = (("", {}), ("outcome", {"test_outcome": "outcome"}), ("part", {"test_part": "outcome"}),
             ("explanation", {"test_explanation": "outcome"}), ("skip", {"test_skip": "outcome"}),
             ("warning", {"test_warning": "warnings"}), ("file", {"test_file": "files"}),
             ("process", {"test_process": "processes", compare.WHOLE: "processes left"}),
             ("death", {"test_death": "end"}))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "sample_test.py").write_text(TESTS)
        suite = Suite("sample", "", self.runner, tuple(self.tests), (), paths=(".",), limit_s=60)
        self.suite = compare.Runner(suite, sys.executable, self.folder, None, self.folder / "work")
        self.assertIn("failed", str(self.bare().tests))  # the unsteady one
        self.steady = self.bare()
        self.assertTrue(self.steady.ended)

    def bare(self):
        return self.suite.run([], self.tests, "bare")

    def compared(self, seed, bare=None):
        command = ["env", f"SEED={seed}", PROF, "run", "-q", "--export", "none", "--"]
        recorded, found = compare.compare(self.suite, command, self.tests, bare or self.steady, 2, "recorded")
        names = {test.replace("::", ".").rsplit(".", 1)[-1]: what for test, (what, *_) in found.different.items()}
        return recorded, found, names

    def test_differences(self):
        for seed, expected in self.seeds:
            with self.subTest(seed=seed):
                recorded, found, names = self.compared(seed)
                self.assertEqual(names, expected)
                self.assertEqual((found.unsteady, found.sometimes), ([], {}))
                self.assertEqual(recorded.ended, seed != "death")
                self.assertEqual(found.tests, len(self.steady.tests) if seed != "death" else 0)

    def test_what_is_not_run(self):
        _, _, names = self.compared("class")
        self.assertEqual(names, {"test_one": "outcome"})
        _, _, names = self.compared("module")
        self.assertTrue({"test_one", "test_file"} <= names.keys(), names)

    def test_what_is_not_the_same_twice(self):
        (self.folder / "unsteady").unlink()
        first = self.bare()
        self.assertEqual({name.rsplit(".", 1)[-1].rsplit(":", 1)[-1] for name in self.compared("", first)[1].unsteady},
                         {"test_unsteady"})
        _, found, names = self.compared("seldom")
        self.assertEqual((names, len(found.sometimes)), ({}, 1))

    def test_process_without_libprof(self):
        with self.assertRaisesRegex(SystemExit, "libprof is not in the process"):
            compare.compare(self.suite, ["env"], self.tests, self.steady, 2, "recorded")


class CompareByPytest(Compare):
    runner = "run_pytest.py"
    tests = ["sample_test.py"]
    seeds = Compare.seeds[0], Compare.seeds[1], Compare.seeds[5], Compare.seeds[8]

    @classmethod
    def setUpClass(cls):
        if importlib.util.find_spec("pytest") is None:
            raise unittest.SkipTest("no pytest")


if __name__ == "__main__":
    PROF = str(pathlib.Path(sys.argv.pop(1)).resolve())
    compare.become_reaper()
    unittest.main(verbosity=2)
