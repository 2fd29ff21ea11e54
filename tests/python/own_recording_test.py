# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch and JAX on the CPU in programs that start and stop recordings themselves: the phases are those of
`prof run`, and after a recording nothing is observed.

Usage: own_recording_test.py <prof> <folder with the package> <version of Python>
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from clean_environment import TOOLKIT, clean_environment
from scratch_case import ScratchCase

HERE = pathlib.Path(__file__).resolve().parent
PROF = PACKAGE = PYTHON = JAX = ""

BEGIN = f"""
import json, sys, threading
sys.path.insert(0, {str(HERE)!r})
"""
COUNTS = """
import libprof
def counts(run):
    capture = run.capture
    rows = capture.report().to_dicts()
    notes = [each for each in capture.notes if "/dev/shm" not in each]
    return [{row["path"]: row["instances"] for row in rows if row.get("observed")}, notes]
"""
# What is observed now: how many events of sys.monitoring, PyTorch's observer, and JAX's methods.
OBSERVED = """
def observed():
    monitoring = getattr(sys, "monitoring", None)
    def events_of(get, *arguments):  # libprof's tool is not among those that get_tool shows
        try:
            return get(5, *arguments)
        except ValueError:
            return 0
    codes = [torch.nn.Module._wrapped_call_impl.__code__, torch.optim.Optimizer.zero_grad.__wrapped__.__code__
             if hasattr(torch.optim.Optimizer.zero_grad, "__wrapped__") else torch.optim.Optimizer.zero_grad.__code__]
    events = [events_of(monitoring.get_events)] if monitoring else []
    events += [events_of(monitoring.get_local_events, code) for code in codes] if monitoring else []
    observers = getattr(sys, "_libprof_observers", [])
    return [sum(each != 0 for each in events), any(getattr(each, "is_attached", False) for each in observers)]
"""


class OwnRecording(ScratchCase):
    maxDiff = None

    def run_code(self, code, *command, python=None, **more):
        """The last line that the code prints, as JSON."""
        environment = clean_environment(PYTHONPATH=PACKAGE, LD_LIBRARY_PATH=TOOLKIT, PYTHONDONTWRITEBYTECODE="1", **more)
        done = subprocess.run([*command, python or PYTHON, "-c", BEGIN + code], cwd=self.folder, capture_output=True,
                              text=True, timeout=250, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("libprof", done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def under_prof_run(self, case):
        """The observed rows of a program that knows nothing of libprof."""
        self.run_code(f"import phases_cases; phases_cases.{case}(); print(0)", PROF, "run", "-o", "under", "--name", case,
                      "--export", "none", "--")
        capture, = (self.folder / "under").glob(case + ".*.prof")
        text = subprocess.run([PROF, "report", "--format", "json", capture], capture_output=True, text=True, check=True)
        return {row["path"]: row["instances"] for row in json.loads(text.stdout)["rows"] if row["observed"]}

    def test_phases_are_those_of_prof_run(self):
        """Twice in a process, and with torch imported before and after."""
        for case in ("plain", "accumulation", "threads"):
            expected = self.under_prof_run(case)
            self.assertGreater(len(expected), 3)
            for first in ("import torch", ""):
                found = self.run_code(COUNTS + f"""
{first}
out = []
for _ in range(2):
    with libprof.recording(export=[]) as run:
        import phases_cases
        phases_cases.{case}()
    out.append(counts(run))
print(json.dumps(out))""")
                self.assertEqual(found[0], [expected, []], (case, first))
                # In the second no model is moved to its place before the first step.
                startup = {"startup": 1}
                self.assertEqual([startup | found[1][0], found[1][1]], [startup | expected, []], (case, first))

    def test_nothing_is_doubled_under_prof_run(self):
        expected = self.under_prof_run("plain")
        found = self.run_code(COUNTS + """
import phases_cases
with libprof.recording(export=[]) as run:
    phases_cases.plain()
print(json.dumps(counts(run)))""", PROF, "run", "-o", "under", "--export", "none", "--")
        self.assertEqual(found, [expected, []])

    def test_nothing_is_observed_after_a_recording(self):
        found = self.run_code(COUNTS + "import torch\n" + OBSERVED + """
out = [observed()]
for _ in range(2):
    with libprof.recording(export=[]):
        out.append(observed())
    out.append(observed())
print(json.dumps(out))""")
        if found[1][0] == 0 and found[1][1]:
            self.skipTest("a Python without sys.monitoring")
        self.assertEqual(found, [[0, False], [3, True], [0, False], [3, True], [0, False]])

    def test_recording_begins_and_ends_inside_calls(self):
        """Also while another thread is in a module's call. The next recording has every phase."""
        expected = self.under_prof_run("no_loader")
        found = self.run_code(COUNTS + """
import torch, phases_cases
class Stops(torch.nn.Module):
    def forward(self, x):
        libprof.stop()
        return x
class Starts(torch.nn.Module):
    def forward(self, x):
        libprof.start(export=[])
        return x
class Waits(torch.nn.Module):
    def forward(self, x):
        inside.set()
        go_on.wait()
        return x
inside, go_on, out = threading.Event(), threading.Event(), []
def work():
    torch.nn.Sequential(Waits())(torch.ones(1))
    with libprof.recording(export=[]) as run:
        phases_cases.no_loader()
    out.append(counts(run))
libprof.start(export=[])
thread = threading.Thread(target=work)
thread.start()
inside.wait()
torch.nn.Sequential(Stops())(torch.ones(1))
torch.nn.Sequential(Starts())(torch.ones(1))
libprof.stop()
go_on.set()
thread.join()
with libprof.recording(export=[]) as run:
    phases_cases.no_loader()
out.append(counts(run))
print(json.dumps(out))""")
        steps = {path: count for path, count in expected.items() if path != "startup"}
        for rows, notes in found:
            rows.pop("startup", None)
            self.assertEqual((rows, notes), (steps, []))

    def test_modules_that_were_made_before(self):
        found = self.run_code(COUNTS + """
import torch, phases_cases
net = phases_cases.model()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
x, y = phases_cases.data().tensors
out = []
for _ in range(2):
    with libprof.recording(export=[], modules="all") as run:
        phases_cases.train(net, optimizer, [(x, y)] * 3)
    out.append(sorted(each for each in run.capture.report("modules").table.column("path") if "Net" in each))
print(json.dumps(out))""")
        self.assertIn("Net.body.0", found[0])
        self.assertEqual(found[0], found[1])


class OwnRecordingOfJax(OwnRecording):
    def test_annotations(self):
        found = self.run_code(COUNTS + """
import jax, jax.numpy as jnp
annotation = jax.profiler.TraceAnnotation
methods = lambda: [vars(annotation).get(name) for name in ("__init__", "__enter__", "__exit__")]
before, out = methods(), []
@jax.jit
def f(x):
    return jnp.sum(jax.nn.softmax(x @ x)) + jnp.max(x)
for number in range(2):
    with libprof.recording(export=[]) as run:
        for step in range(3):
            with jax.profiler.StepTraceAnnotation("train", step_num=step), annotation("update"):
                f(jnp.ones((8, 8))).block_until_ready()
    rows = {row.path: row.count for row in run.summary if row.count}
    out.append([rows, "text.xla_operations" in run.capture.properties, methods() == before])
with annotation("later"):
    pass
print(json.dumps(out))""", python=JAX, JAX_PLATFORMS="cpu")
        rows = {"train #": 3, "train #/update": 3}  # the annotation is the step
        # What jit compiles within the first recording's steps is a phase there.
        compiled = [[path for path in each[0] if "compil" in path] for each in found]
        self.assertEqual(compiled[0], ["train #/update/compilation"])
        self.assertEqual(compiled[1], [])
        for path in compiled[0]:
            del found[0][0][path]
        self.assertEqual(found, [[rows, found[0][1], True], [rows, found[0][1], True]])


def load_tests(loader, _, __):
    out = unittest.TestSuite()
    if PYTHON:
        out.addTests(loader.loadTestsFromTestCase(OwnRecording))
    if JAX:
        out.addTest(OwnRecordingOfJax("test_annotations"))
    return out


def python_of(*command):
    made = subprocess.run([str(HERE / command[0]), *command[1:]], stdout=subprocess.PIPE, text=True)
    return made.stdout.strip() if made.returncode == 0 else ""


if __name__ == "__main__":
    PROF, PACKAGE = (os.path.abspath(each) for each in sys.argv[1:3])
    PYTHON = python_of("torch_environment.sh", sys.argv[3])
    JAX = python_of("jax_environment.sh", sys.argv[3], "0.11.2") if sys.argv[3] == "3.12" else ""
    if not PYTHON and not JAX:
        print("skipped: there is no environment with PyTorch or JAX")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
