# SPDX-License-Identifier: Apache-2.0
"""The lines of Python programs at CUDA calls, on the simulated GPU, in each Python that is there.

Usage: lines_test.py <prof> [TEST...]   with FAKE_CUDA and FAKE_CUPTI in the environment
"""
import collections
import glob
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest

from clean_environment import clean_environment
from scratch_case import ScratchCase

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lab"))
from capture_chunks import all_chunks  # noqa: E402

PROF = ""
CASES = HERE / "lines_cases.py"
NAMES, RECORDS, CODE_LINE = 2, 5, 18
LIBRARY = 0x80
MINORS = (10, 11, 12, 13, 14)  # of Python 3, whose lines are known

Frame = collections.namedtuple("Frame", "function file line index is_library")
Stack = collections.namedtuple("Stack", "role depth frames")


def pythons():
    """The newest of each version whose lines are known, by version."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    found = {}
    for minor in MINORS:
        of_minor = glob.glob(f"{root}/versions/3.{minor}.*/bin/python3.{minor}")
        if of_minor:
            found[minor] = max(of_minor, key=lambda path: [int(part) for part in re.findall(r"\d+", path)])
    found.setdefault(sys.version_info.minor, sys.executable)
    return found


def say_what_is_missing():
    missing = [f"3.{minor}" for minor in MINORS if minor not in pythons()]
    if missing:
        print("SKIPPED, for the machine has none: Python " + ", ".join(missing), file=sys.stderr)


def stacks_of(capture):
    """All stacks of a capture, read as docs/reference/capture-format.md has it."""
    names, records = {}, []
    for kind, _, payload in all_chunks(capture):
        if kind == NAMES:
            at = 0
            while at + 8 <= len(payload):
                number, size = struct.unpack_from("<2I", payload, at)
                names[number] = payload[at + 8:at + 8 + size].decode()
                at += (8 + size + 3) // 4 * 4
        elif kind == RECORDS:
            records += struct.iter_unpack("<2Q3IH2B", payload[8:])
    stacks, latest = [], None
    for _, value, name, line, category, _, kind, flags in records:
        if kind != CODE_LINE:
            latest = None
            continue
        index, role = category & 0xFFFF, ("call", "before", "during")[flags & ~LIBRARY]
        if latest is None or latest[0] != (value, role) or index <= latest[1].frames[-1].index:
            latest = ((value, role), Stack(role, category >> 16, []))
            stacks.append(latest[1])
        function, file = names[name].split("\n", 1)
        latest[1].frames.append(Frame(function, file, line, index, bool(flags & LIBRARY)))
    return stacks


def line_named(name):
    lines = CASES.read_text(encoding="utf-8").split("\n")
    found = [number for number, line in enumerate(lines, 1) if line.endswith("  # " + name)]
    assert len(found) == 1, (name, found)
    return found[0]


@unittest.skipUnless("FAKE_CUDA" in os.environ, "the simulated GPU was not built")
class Lines(ScratchCase):
    def run_program(self, python, *program, **variables):
        environment = clean_environment(PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"], PYTHONDONTWRITEBYTECODE="1",
                                        **variables)
        done = subprocess.run([PROF, "run", "-o", "captures", "--export", "none", "--", python, *map(str, program)],
                              cwd=self.folder, env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        capture, = (self.folder / "captures").glob("*.prof")
        return capture

    def stacks(self, python, *program, **variables):
        capture = self.run_program(python, *program, **variables)
        out = stacks_of(capture)
        capture.unlink()
        return out

    def for_each_python(self):
        for minor, python in pythons().items():
            with self.subTest(python=f"3.{minor}"):
                yield python

    def waited(self, python, case):
        """The lines of the innermost frames of the stacks of waits, with their numbers of times."""
        return collections.Counter(stack.frames[0].line for stack in self.stacks(python, CASES, case)
                                   if stack.role == "call" and stack.frames[0].file == str(CASES))

    def test_the_line_that_waits(self):
        for python in self.for_each_python():
            for case, name in (("condition", "in __bool__"), ("several_lines", "element"),
                               ("comprehension", "comprehension"), ("generator", "generator"),
                               ("run_async", "coroutine"), ("recursion", "deepest"), ("decorated_function", "decorated"),
                               ("thread", "thread"), ("with_statement", "exit")):
                with self.subTest(case=case):
                    stack = [stack for stack in self.stacks(python, CASES, case) if stack.role == "call"][-1]
                    self.assertEqual((stack.frames[0].file, stack.frames[0].line), (str(CASES), line_named(name)))

    def test_two_lines_of_one_loop_are_told_apart(self):
        for python in self.for_each_python():
            found = self.waited(python, "two_flaws")
            self.assertEqual(found[line_named("first flaw")], 3)
            self.assertEqual(found[line_named("second flaw")], 3)
            found = self.waited(python, "handler")
            self.assertEqual((found[line_named("handler")], found[line_named("finally")]), (1, 1))

    def test_callers_are_in_the_stack(self):
        for python in self.for_each_python():
            for case, names in (("condition", ["in __bool__", "if"]), ("generator", ["generator", "sum"]),
                                ("decorated_function", ["decorated", "decorator"]), ("with_statement", ["exit", "with"])):
                stack = [stack for stack in self.stacks(python, CASES, case) if stack.role == "call"][-1]
                self.assertEqual([frame.line for frame in stack.frames[:2]], [line_named(name) for name in names])
                self.assertFalse(any(frame.is_library for frame in stack.frames))
                self.assertEqual(stack.frames[-1].function, "<module>")

    def test_library_code_is_marked(self):
        for python in self.for_each_python():
            stack = [stack for stack in self.stacks(python, CASES, "run_async") if stack.role == "call"][-1]
            own = [frame for frame in stack.frames if not frame.is_library]
            self.assertEqual([frame.line for frame in own][:2], [line_named("coroutine"), line_named("run")])
            self.assertTrue(any("asyncio" in frame.file for frame in stack.frames if frame.is_library))

    def test_the_list_of_library_code_can_be_changed(self):
        stack = self.stacks(sys.executable, CASES, "condition", PROF_LIBRARY_CODE="/no_such:/lines_cases.py")[-1]
        self.assertTrue(all(frame.is_library for frame in stack.frames if frame.file == str(CASES)))

    def test_deep_stacks_are_short_and_say_how_deep_they_are(self):
        for python in self.for_each_python():
            stack = [stack for stack in self.stacks(python, CASES, "recursion") if stack.role == "call"][-1]
            self.assertEqual(stack.depth, 152)
            self.assertLessEqual(len(stack.frames), 12)

    def test_the_first_call_after_other_host_code(self):
        for python in self.for_each_python():
            found = [stack.frames[0].line for stack in self.stacks(python, CASES, "stretch") if stack.role == "before"]
            self.assertIn(line_named("after the stretch"), found)

    def test_host_code_has_the_line_that_ran(self):
        for python in self.for_each_python():
            capture = self.run_program(python, CASES, "slow_function")
            rows = [row for row in self.report(capture)["rows"] if row["cause"] == "host code"]
            self.assertEqual(rows[0]["line"].split("/")[-1], f"lines_cases.py:{line_named('slow')}")
            self.assertGreater(rows[0]["cost_ns"], 0.8 * sum(row["cost_ns"] for row in rows))
            capture.unlink()

    def test_names_that_are_not_ascii_and_long_functions(self):
        for python in self.for_each_python():
            frames = [stack.frames[0] for stack in self.stacks(python, CASES, "generated") if stack.role == "call"]
            self.assertEqual((frames[-1].file, frames[-1].line), ("/somewhere/généré 程序.py", 7))
            frames = [stack.frames[0] for stack in self.stacks(python, CASES, "long_function") if stack.role == "call"]
            self.assertEqual((frames[-1].file, frames[-1].line), ("/somewhere/long.py", 1000 + 3000 + 3))

    def test_off_records_none(self):
        self.assertEqual(self.stacks(sys.executable, CASES, "two_flaws", PROF_LINES="off"), [])

    def test_a_capture_of_a_killed_process_has_them(self):
        program = CASES.read_text(encoding="utf-8").replace("globals()[sys.argv[1]]()",
                                                            "two_flaws(); os.kill(os.getpid(), 9)")
        file = self.folder / "killed.py"
        file.write_text(program, encoding="utf-8")
        subprocess.run([PROF, "run", "-o", "captures", "--export", "none", "--", sys.executable, str(file)],
                       cwd=self.folder, capture_output=True, timeout=100,
                       env=clean_environment(PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"]))
        capture, = (self.folder / "captures").glob("*.prof")
        rows = self.report(capture)["rows"]
        self.assertIn(f"killed.py:{line_named('second flaw')}", [row["line"] for row in rows])

    def report(self, capture, name="lines"):
        done = subprocess.run([PROF, "report", "--report", name, "--format", "json", str(capture)], check=True,
                              capture_output=True, text=True)
        return json.loads(done.stdout)

    def test_the_trace_has_stacks_as_arguments(self):
        capture = self.run_program(sys.executable, CASES, "two_flaws")
        trace = self.folder / "trace.json"
        subprocess.run([PROF, "export", str(capture), "-o", str(trace)], check=True, capture_output=True)
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        stacks = [event["args"]["stack"] for event in events if "stack" in event.get("args", {})]
        flaw = f"lines_cases.py:{line_named('first flaw')} two_flaws"
        self.assertEqual(len([stack for stack in stacks if stack.endswith(flaw)]), 3)

    def test_findings_end_at_lines(self):
        for python in self.for_each_python():
            capture = self.run_program(python, CASES, "two_flaws")
            rows = {row["line"].split("/")[-1]: row for row in self.report(capture)["rows"] if row["cause"] == "waiting"}
            for name in ("first flaw", "second flaw"):
                row = rows[f"lines_cases.py:{line_named(name)}"]
                self.assertGreater(row["cost_ns"], 3 * 1_500_000)
                self.assertEqual((row["count"], row["code"]), (3, "two_flaws"))
            places = [row["line"] for row in self.report(capture, "diagnose_places")["rows"]
                      if row["rule"] == "synchronization" and row["line"] is not None]
            self.assertEqual(len(places), 2)
            finding, = (row for row in self.report(capture, "diagnose")["rows"] if row["rule"] == "synchronization")
            self.assertRegex(finding["finding"], r"lines_cases\.py:\d+ and \d+ more$")
            self.assertEqual([place["line"] for place in finding["places"] if place["line"]], places)
            capture.unlink()


if __name__ == "__main__":
    PROF = sys.argv.pop(1)
    say_what_is_missing()
    unittest.main()
