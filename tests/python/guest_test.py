# SPDX-License-Identifier: Apache-2.0
"""What observing PyTorch does not do to a program: call methods of its objects, keep exceptions, take its tools of
sys.monitoring.

Usage: guest_test.py <prof> <version of Python>
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from clean_environment import TOOLKIT, clean_environment

HERE = pathlib.Path(__file__).resolve().parent
PROF = PYTHON = ""
COUNT = os.environ.get("PROF_EXCEPTIONS", "400")

TAKES_TOOLS = """\
import sys
import torch

monitoring = sys.monitoring
calls, order = [], [int(each) for each in sys.argv[1]]
net = torch.nn.Linear(4, 4)
print([monitoring.get_tool(tool) for tool in range(6)])
for tool in order:
    monitoring.use_tool_id(tool, "mine %d" % tool)
    try:
        monitoring.use_tool_id(tool, "again")
    except ValueError as failure:
        print(failure)
    monitoring.register_callback(tool, monitoring.events.PY_START, lambda code, _: calls.append(code.co_name))
    monitoring.set_local_events(tool, torch.nn.Module._wrapped_call_impl.__code__, monitoring.events.PY_START)
    net(torch.ones(2, 4))
print(len(calls), [monitoring.get_tool(tool) for tool in range(6)], monitoring.use_tool_id, monitoring.get_tool.__doc__)
for tool in order:
    monitoring.set_local_events(tool, torch.nn.Module._wrapped_call_impl.__code__, 0)
    monitoring.free_tool_id(tool)
print([monitoring.get_tool(tool) for tool in range(6)])
try:
    monitoring.use_tool_id("5", "text")
except TypeError as failure:
    print(failure)
net(torch.ones(2, 4))
"""


class Guest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *arguments, options=None):
        """What it prints; with `options` under prof run."""
        prefix = [] if options is None else [PROF, "run", "-q", "-o", "captures", "--export", "none", *options, "--"]
        done = subprocess.run([*prefix, PYTHON, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=500,
                              env=clean_environment(LD_LIBRARY_PATH=TOOLKIT, PYTHONDONTWRITEBYTECODE="1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def observed(self):
        capture, = (self.folder / "captures").glob("*.prof")
        text = subprocess.run([PROF, "report", "--format", "json", capture], capture_output=True, text=True, check=True)
        capture.unlink()
        return {row["path"]: row["instances"] for row in json.loads(text.stdout)["rows"] if row["observed"]}

    def test_nothing_of_the_programs_objects_is_called(self):
        program = str(HERE / "counted_objects.py")
        bare = self.run_program(program)
        for options in ([], ["--modules"]):
            self.assertEqual(self.run_program(program, options=options), bare)
            self.assertGreaterEqual(self.observed()["step"], 4 * 4 * 2 * 3 - 10)  # optimizers, loaders, epochs, batches

    def test_exceptions_reach_the_program(self):
        for options in ([], ["--modules"]):
            text = self.run_program(str(HERE / "raised_anywhere.py"), COUNT, options=options)
            self.assertEqual(re.findall(r"(\d+) lost", text), ["0", "0"], text)
            for path in self.observed():
                self.assertLessEqual(path.count("step"), 1, path)  # what was open was ended

    def test_tools_of_monitoring_are_the_programs(self):
        for order in ("5", "345", "543210"):
            bare = self.run_program("-c", TAKES_TOOLS, order)
            self.assertEqual(self.run_program("-c", TAKES_TOOLS, order, options=[]), bare)
            expected = len(order) + (order != "543210")
            self.assertGreaterEqual(sum(count for path, count in self.observed().items() if path.endswith("forward")),
                                    expected - 1, order)


def prepare(arguments):
    global PROF, PYTHON
    PROF, version = os.path.abspath(arguments[1]), arguments[2]
    made = subprocess.run([str(HERE / "torch_environment.sh"), version], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(made.returncode)
    PYTHON = made.stdout.strip()
    return [arguments[0], *arguments[3:]]


if __name__ == "__main__":
    unittest.main(argv=prepare(sys.argv), verbosity=2)
