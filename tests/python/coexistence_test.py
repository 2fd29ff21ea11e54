# SPDX-License-Identifier: Apache-2.0
"""Tools that watch a Python program have under `prof run`, with phases, the results that they have without; and the
phases are there.

Usage: coexistence_test.py <prof> <version of Python>
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
BUILD = HERE.parents[1] / "build"
COVERAGE = "coverage==7.13.0"
PROF = PYTHON = ""

PROGRAM = """\
import threading
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        if x.sum() > 1e9:
            return x
        return self.body(x)


def train(steps):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for index in range(steps):
        optimizer.zero_grad()
        loss = net(torch.ones(2, 4)).square().sum()
        loss.backward()
        try:
            net(torch.ones(2, 5))
        except RuntimeError:
            print(index, loss.item().hex())
        optimizer.step()


torch.manual_seed(1)
torch.set_num_threads(1)
train(4)
thread = threading.Thread(target=print, args=("thread",))
thread.start()
thread.join()
"""
TAKES_TOOLS = """\
import sys

for tool in range(6):
    sys.monitoring.use_tool_id(tool, "other")
"""
COMMANDS = """\
b 12
c
w
s
s
s
s
s
s
w
u
p index
r
cl 1
n
n
n
c
q
"""


class Coexistence(ScratchCase):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.environment = clean_environment("COVERAGE", LD_LIBRARY_PATH=TOOLKIT, PYTHONDONTWRITEBYTECODE="1")
        (self.folder / "program.py").write_text(PROGRAM)
        (self.folder / "taken.py").write_text(TAKES_TOOLS + PROGRAM)

    def run_command(self, command, given=None):
        done = subprocess.run(command, cwd=self.folder, env=self.environment, input=given, capture_output=True,
                              text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def both(self, arguments, steps=4, given=None):
        """Standard output of `python ARGUMENTS`, bare and under prof run; {out} in them is `bare` or `profiled`."""
        outputs = []
        for name, before in (("bare", []), ("profiled", [PROF, "run", "-o", "captures", "--export", "none", "--"])):
            command = [*before, PYTHON, *(argument.format(out=name) for argument in arguments)]
            done = self.run_command(command, given)
            self.printed = [line for line in done.stderr.splitlines() if line.startswith("libprof: ")]
            outputs.append(re.sub(r"0x[0-9a-f.]{8,}(?!\d*p)", "ADDRESS", done.stdout))
        self.assertEqual(*outputs)
        capture, = (self.folder / "captures").glob("*.prof")
        rows = json.loads(self.run_command([PROF, "report", "--format", "json", str(capture)]).stdout)["rows"]
        found = {row["path"]: row["instances"] for row in rows if row["observed"]}
        if steps:
            self.assertEqual({name: found.get(name) for name in ("step", "step/backward", "step/optimizer")},
                             {"step": steps, "step/backward": steps, "step/optimizer": steps})
        else:
            self.assertEqual(found, {})
        return outputs[0]

    def lines_of_coverage(self, core):
        folder = coverage_folder()
        if folder is None:
            self.skipTest("no package coverage")
        self.environment.update(PYTHONPATH=str(folder), COVERAGE_CORE=core)
        self.both(["-m", "coverage", "run", "--omit=*/site-packages/*", "--data-file={out}", "program.py"])
        covered = {}
        for name in ("bare", "profiled"):
            self.run_command([PYTHON, "-m", "coverage", "json", "-q", "--data-file=" + name, "-o", name + ".json"])
            files = json.loads((self.folder / (name + ".json")).read_text())["files"]
            covered[name] = {path: (file["executed_lines"], file["missing_lines"]) for path, file in files.items()}
        self.assertEqual(covered["bare"], covered["profiled"])
        self.assertEqual(list(covered["bare"]), ["program.py"])
        self.assertEqual(covered["bare"]["program.py"][1], [13])

    def test_coverage_by_monitoring(self):
        self.lines_of_coverage("sysmon")

    def test_coverage_by_tracing(self):
        self.lines_of_coverage("ctrace")

    def test_debugger(self):
        # Steps from the program into PyTorch, where libprof observes, and back.
        text = self.both(["-m", "pdb", "program.py"], given=COMMANDS)
        self.assertIn("program.py(12)forward()", text)
        self.assertIn("_wrapped_call_impl", text)

    def test_profiler(self):
        self.both(["-m", "cProfile", "-o", "{out}", "program.py"])
        script = ("import json, pstats, sys; print(json.dumps([['%s:%d:%s' % key, value[:2]] for key, value in "
                  "pstats.Stats(sys.argv[1]).stats.items() if 'program.py' in key[0] or '/torch/nn/' in key[0]]))")
        calls = [dict(json.loads(self.run_command([PYTHON, "-c", script, name]).stdout)) for name in ("bare", "profiled")]
        self.assertEqual(*calls)
        # Eight calls of the program's, four of which come as far as the module's own; the others fail in there.
        self.assertEqual([count for key, count in calls[0].items() if key.endswith(":forward") and "program" in key],
                         [[8, 8]])

    def test_all_tools_in_use(self):
        self.both(["taken.py"], steps=0)
        self.assertEqual(self.printed,
                         ["libprof: PyTorch's phases are not observed: all tools of sys.monitoring are in use"])


def coverage_folder():
    folder = BUILD / ("coverage-" + pathlib.Path(PYTHON).parents[1].name)
    if not (folder / "complete").exists():
        made = subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target",
                               str(folder), COVERAGE], check=False)
        if made.returncode:
            return None
        (folder / "complete").touch()
    return folder


if __name__ == "__main__":
    PROF, version = os.path.abspath(sys.argv[1]), sys.argv[2]
    made = subprocess.run([str(HERE / "torch_environment.sh"), version], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(made.returncode)
    PYTHON = made.stdout.strip()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
