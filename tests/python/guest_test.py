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
import unittest

from clean_environment import TOOLKIT, clean_environment
from scratch_case import ScratchCase

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

# Of a program that has no tool: what each function of sys.monitoring gives for each number.
ASKS_OF_TOOLS = """\
import enum
import sys
import torch

monitoring = sys.monitoring
code = torch.nn.Module._wrapped_call_impl.__code__
net = torch.nn.Linear(4, 4)


def callback(*_):
    calls.append(1)


calls, start = [], monitoring.events.PY_START
MONITORED = ("use_tool_id", "free_tool_id", "get_tool", "register_callback", "set_events", "set_local_events", "get_events",
             "get_local_events")
for tool in sorted(range(6), reverse="-r" in sys.argv):
    for name, *arguments in (("get_tool",), ("get_events",), ("get_events", 1), ("get_local_events", code),
                             ("get_local_events", 1), ("free_tool_id",), ("set_events", start), ("set_events", 0),
                             ("set_events", -1), ("set_local_events", code, start),
                             ("register_callback", start, callback), ("register_callback", start, None),
                             ("register_callback", start)):
        net(torch.ones(2, 4))
        try:
            given = getattr(monitoring, name)(tool, *arguments)
            print(tool, name, str(given).split(" at")[0], monitoring._all_events())
        except Exception as failure:
            print(tool, name, type(failure), failure)
    # A tool whose callback was there first, also when it is used again; one of events of the whole program.
    monitoring.register_callback(tool, start, callback)
    monitoring.use_tool_id(tool, "mine")
    monitoring.set_local_events(tool, code, start)
    net(torch.ones(2, 4))
    monitoring.set_events(tool, monitoring.events.PY_UNWIND)
    print(len(calls), monitoring.get_local_events(tool, code), monitoring.get_events(tool), monitoring._all_events())
    monitoring.set_events(tool, 0)
    monitoring.set_local_events(tool, code, 0)
    monitoring.free_tool_id(tool)
for tool in range(6):
    monitoring.use_tool_id(tool, "again")  # has its callback still
    monitoring.set_local_events(tool, code, start)
    net(torch.ones(2, 4))
    monitoring.set_local_events(tool, code, 0)
    monitoring.free_tool_id(tool)
print(len(calls))
class Tool(enum.IntEnum):
    A, B, C, D, E, F = range(6)


class Number:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        print("asked")
        return self.value


for kind in (Tool, Number, type("Int", (int,), {}), bool):
    for tool in [kind(number) for number in range(2 if kind is bool else 6)]:
        print(monitoring.get_tool(tool), monitoring.use_tool_id(tool, "mine"), monitoring.get_tool(tool))
        monitoring.register_callback(tool, start, callback)
        monitoring.set_local_events(tool, code, start)
        net(torch.ones(2, 4))
        print(len(calls), monitoring.get_local_events(tool, code), monitoring.get_events(tool))
        monitoring.set_local_events(tool, code, 0)
        monitoring.free_tool_id(tool)
for name in MONITORED:
    for arguments in ((), (1 << 70,), (-1, 0), (-1,), (5.0, 0, 0), ("5",), (None, 1), (5, 1, 1, 1), (Number("text"),),
                      (Number(1 << 70), "name"), (Number(5), 1, 2, 3)):
        try:
            print(name, getattr(monitoring, name)(*arguments))
        except Exception as failure:
            print(name, type(failure), failure)
print(len(calls))
print([name for name in dir(monitoring) if name != "get_tool"], monitoring._all_events, monitoring.set_events.__doc__)
net(torch.ones(2, 4))
"""


class Guest(ScratchCase):
    maxDiff = None

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

    def test_numbers_of_monitoring_are_free_to_the_program(self):
        for order in ((), ("-r",)):
            bare = self.run_program("-c", ASKS_OF_TOOLS, *order)
            self.assertEqual(self.run_program("-c", ASKS_OF_TOOLS, *order, options=[]), bare)
            observed = self.observed()
            self.assertEqual(sum(count for path, count in observed.items() if path.endswith("forward")), 6 * 15 + 20 + 1,
                             observed)


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
