# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch program can see of its observation under `prof run`: nothing. Tracebacks, warnings, dynamo, profilers and
PyTorch's functions are what they are without it, and exceptions of signal handlers arrive.

Usage: unseen_test.py <prof> <version of Python, or debian>
"""
import json
import re
import sys
import unittest

import phases_test
from phases_test import HERE, Phases


class Unseen(Phases):
    def run_cases(self, *cases):
        command = [phases_test.PYTHON, str(HERE / "unseen_cases.py"), *cases]
        bare = self.run_command(command)
        seen = self.run_command([phases_test.PROF, "run", "-q", "-o", "captures", "--export", "none", "--", *command])
        self.assertEqual((bare.returncode, seen.returncode), (3, 3), bare.stderr + seen.stderr)
        without, within = (re.sub("0x[0-9a-f]{6,}", "0x", done.stdout).split("== ") for done in (bare, seen))
        for part, same in zip(within, without, strict=True):
            self.assertEqual(part, same)
        capture = next((self.folder / "captures").glob("*.prof"))
        report = json.loads(self.run_command([phases_test.PROF, "report", "--format", "json", str(capture)]).stdout)
        return within, {row["path"]: row["instances"] for row in report["rows"] if row["observed"]}

    def test_program_sees_the_same(self):
        cases = ["objects", "tracebacks", "stacklevels", "profiles", "stacks", "objects"]
        if phases_test.HAS_DYNAMO:
            cases.insert(3, "compiled")
        self.run_cases(*cases)

    def test_exceptions_of_signal_handlers_arrive(self):
        (_, printed), rows = self.run_cases("signals")
        self.assertEqual(printed.splitlines(), ["signals", "lost 0 []"])
        # What an exception has ended is closed: the last steps stand where the first do.
        self.assertLessEqual({"step/optimizer", "step/zero_grad", "step/backward", "step/clip_grad"}, rows.keys())
        self.assertEqual({path for path in rows if path.count("/") > 1}, set())


def load_tests(loader, _, __):
    return unittest.TestSuite(Unseen(name) for name in loader.getTestCaseNames(Unseen) if name in vars(Unseen))


if __name__ == "__main__":
    unittest.main(argv=phases_test.prepare(sys.argv), verbosity=2)
