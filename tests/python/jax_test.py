# SPDX-License-Identifier: Apache-2.0
"""Annotations of a real JAX on the CPU: they are ranges under `prof run`, and the program does not change.

Usage: jax_test.py <prof> <version of Python> <version of JAX>
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

from clean_environment import clean_environment
from scratch_case import ScratchCase

HERE = pathlib.Path(__file__).resolve().parent
PROF = ""
PYTHON = ""
JAX = ()


class Annotations(ScratchCase):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.environment = clean_environment(PYTHONDONTWRITEBYTECODE="1", JAX_PLATFORMS="cpu")

    def run_command(self, command):
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=250)

    def rows(self, case, *options, may_drop=False):
        """Paths and instances of the ranges; what the program prints is to the byte what it prints by itself."""
        command = [PYTHON, str(HERE / "jax_cases.py"), case]
        self.compiled = {}  # by the last part of a path
        bare = self.run_command(command)
        profiled = self.run_command([PROF, "run", "-o", "captures", "--export", "none", *options, "--", *command])
        self.assertEqual((profiled.returncode, profiled.stdout), (3, bare.stdout), profiled.stderr)
        self.assertEqual(bare.returncode, 3, bare.stderr)
        self.assertEqual([line for line in profiled.stderr.splitlines() if line.startswith("libprof: ")], [])
        captures = list((self.folder / "captures").glob("*.prof"))
        if not captures:
            return {}
        self.assertEqual(len(captures), 1)
        report = json.loads(self.run_command([PROF, "report", "--format", "json", str(captures[0])]).stdout)
        if not may_drop:
            self.assertEqual(report["dropped"], {})
        self.step = report["step"]
        for row in report["rows"]:
            parts = row["path"].split("/")
            if "compilation" in parts:
                self.assertTrue(row["observed"])
                self.compiled[parts[-1]] = self.compiled.get(parts[-1], 0) + row["instances"]
        return {row["path"]: (row["instances"], "observed" if row["observed"] else "")
                for row in report["rows"] if row["instances"] and "compilation" not in row["path"].split("/")}

    def test_steps_and_ranges(self):
        # The annotation and the step are the same thing.
        self.assertEqual(self.rows("steps"), {"train #": (3, ""), "train #/batch": (3, ""), "train #/update": (3, "")})
        self.assertEqual((self.step["steps"], self.step["ended_by"]), (1, "annotations"))  # not the first, nor the last

    def test_steps_of_a_schedule(self):
        rows = self.rows("steps", "--step-range", "step", "--capture-range", "steps", "--steps", "1-2")
        self.assertEqual(rows["train #/batch"], (2, ""))

    def test_other_ranges_are_the_steps(self):
        self.assertEqual(self.rows("steps", "--step-range", "train 0"), {
            "train #": (3, ""), "train #/batch": (3, ""), "train #/update": (3, "")})

    def test_decorators(self):
        self.assertEqual(self.rows("decorated"), {"named": (1, ""), "named/decorated.<locals>.plain": (1, "")})

    def test_classes_of_the_programs_own(self):
        self.assertEqual(self.rows("derived"), {
            "step": (1, "observed"), "step/mine #": (1, ""), "step/mine #/mine": (1, ""),
            "step/mine #/mine/mine": (1, "")})

    def test_exceptions_and_odd_names(self):
        self.assertEqual(self.rows("raising"), {"raises": (1, ""), "zero": (1, ""), "zero/höhe": (1, "")})

    def test_used_again_and_ended_by_another_thread(self):
        self.assertEqual(self.rows("reused"), {"again": (3, ""), "again/again": (1, "")})

    def test_classes_look_as_ever(self):
        self.assertEqual(self.rows("looked_at"), {})

    def memory(self, *options):
        self.rows("memory", *options)
        capture, = (self.folder / "captures").glob("*.prof")
        return json.loads(self.run_command([PROF, "report", "--report", "jax_memory", "--format", "json",
                                            str(capture)]).stdout)

    def test_memory_by_line(self):
        report = self.memory("--allocations", "on")
        source = (HERE / "jax_cases.py").read_text().split("\n")
        held = {}
        for row in report["rows"]:
            line = source[int(row["line"].rsplit(":", 1)[1]) - 1] if (row["line"] or "").count("jax_cases.py") else ""
            mark = line.rpartition("# ")[2] if "  # " in line else ""
            known = held.setdefault((row["kind"], mark), [0, 0])
            known[0] += row["end_bytes"]
            known[1] += row["end_count"]
        self.assertEqual(held[("buffer", "large")], [400_000, 1])
        self.assertEqual(held[("buffer", "three")], [30_000, 3])
        self.assertEqual(held[("buffer", "compiled")], [400_000, 1])
        self.assertGreater(held[("executable", "compiled")][1], 0)
        self.assertEqual(sum(row["end_bytes"] for row in report["rows"] if row["kind"] == "buffer"), 830_000)
        self.assertRegex("\n".join(report["notes"]), r"JAX has no figures of its memory on (TFRT_CPU_0|cpu:0)$")

    def test_out_of_memory_error_that_nobody_catches(self):
        command = [PYTHON, str(HERE / "jax_cases.py"), "out_of_memory"]
        bare = self.run_command(command)
        profiled = self.run_command([PROF, "run", "-o", "captures", "--export", "none", "--allocations", "on", "--", *command])
        self.assertEqual((profiled.returncode, profiled.stdout, bare.returncode), (1, bare.stdout, 1), profiled.stderr)
        capture, = (self.folder / "captures").glob("*.prof")
        report = json.loads(self.run_command([PROF, "report", "--format", "json", str(capture)]).stdout)
        warning = report["warnings"][0]
        source = (HERE / "jax_cases.py").read_text().split("\n")
        line, = (number for number, text in enumerate(source, 1) if text.endswith("# too large"))
        large, = (number for number, text in enumerate(source, 1) if text.endswith("# large") and number > line - 3)
        self.assertRegex(warning, rf"out of memory in JAX at \S*jax_cases.py:{line} \(out_of_memory\): RESOURCE_EXHAUSTED: "
                                  r".*4398046511104 bytes")
        self.assertRegex(warning, rf"400(\.00)? [kK]B by buffer of \S*jax_cases.py:{large}")

    def test_memory_is_not_asked_for(self):
        report = self.memory()
        self.assertEqual(report["rows"], [])
        self.assertTrue(any("prof run --allocations on" in note for note in report["notes"]), report["notes"])

    def test_names_that_xla_leaves_out_are_kept(self):
        self.assertEqual(self.rows("trained"), {"training": (1, "")})
        capture = next((self.folder / "captures").glob("*.prof")).read_bytes()
        key = b"text.xla_operations"
        # Before, a reduction's own function was named like what is around it.
        self.assertEqual(capture.count(key), 1 if JAX >= (0, 11) else 0)
        if JAX < (0, 11):
            return
        lines = re.findall(rb"jit_train_step\t[\w.-]+\t(jit\S+)", capture[capture.index(key):])
        self.assertTrue(lines)
        for line in lines:
            self.assertTrue(line.startswith(b"jit(train_step)"), line)

    def test_stages_of_a_compilation(self):
        # A function within another is part of its stages. After an exception there is nothing to lower.
        self.assertEqual(self.rows("compiled"), {})
        self.assertEqual(self.compiled, {"compilation": 3 * 3 + 2})
        captures = [str(each) for each in (self.folder / "captures").glob("*.prof")]
        stages = json.loads(self.run_command([PROF, "report", "--report", "compilation", "--format", "json",
                                              *captures]).stdout)["rows"]
        self.assertEqual({row["compiled"]: row["count"] for row in stages}, {"outer": 3, "fails": 0})
        self.assertTrue(all(row["tracing_ns"] > 0 for row in stages))

    def test_nothing_of_the_programs_is_called(self):
        rows = self.rows("counting")
        self.assertEqual(rows["plain"], (1, ""))  # the text that a derived class of str has, whatever it says
        self.assertEqual(rows["step/numbered"][0], 1)  # only an exact int is read
        self.assertEqual(rows["step/numbered/step/numbered #"][0], 1)

    def test_no_function_of_libprofs_is_seen(self):
        self.rows("unseen")

    def test_no_cycles_are_left(self):
        self.rows("cyclic")

    def test_exceptions_of_signal_handlers(self):
        rows = self.rows("limited", may_drop=True)
        self.assertEqual(rows["after"], (1, ""), "what a limit has left is balanced")
        program = str(HERE / "interrupted_program.py")
        command = [PROF, "run", "-q", "-o", "interrupted", "--export", "none", "--", PYTHON, program, "jax", "10"]
        done = self.run_command(command)
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 4), done.stderr)
        for line in done.stdout.splitlines():
            self.assertRegex(line, ": mostly lost: 0$")

    def test_switched_off(self):
        self.assertEqual(self.rows("steps", "--phases", "off"), {})
        self.assertEqual(self.compiled, {})


if __name__ == "__main__":
    PROF, version, jax = sys.argv[1:4]
    made = subprocess.run([str(HERE / "jax_environment.sh"), version, jax], capture_output=True, text=True)
    if made.returncode == 77:
        print("skipped: " + made.stderr.strip())
        sys.exit(77)
    if made.returncode != 0:
        sys.exit(made.stderr)
    PYTHON = made.stdout.strip()
    JAX = tuple(map(int, jax.split(".")))
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
