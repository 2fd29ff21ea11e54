# SPDX-License-Identifier: Apache-2.0
"""The lines of C++ programs at CUDA calls, on the simulated GPU: optimised, with and without a frame pointer.

Usage: native_lines_test.py <prof> <C++ compiler> [TEST...]   with FAKE_CUDA and FAKE_CUPTI in the environment
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from clean_environment import clean_environment

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM, LIBRARY = HERE / "native_lines_cases.cpp", HERE / "native_lines_library.cpp"
PROF = COMPILER = ""

# Functions that are alike must not become one, which is on one line.
ALWAYS = ["-std=c++17", "-fno-ipa-icf"]
VARIANTS = {
    "plain": ["-O2", "-g"],
    "frame_pointer": ["-O2", "-g", "-fno-omit-frame-pointer"],
    "no_pie": ["-O3", "-g", "-no-pie", "-fno-pie"],
    "unoptimised": ["-O0", "-g"],
    "no_build_id": ["-O2", "-g", "-Wl,--build-id=none"],
    "no_debug": ["-O2"],
}


def line_named(name, file=PROGRAM):
    lines = file.read_text(encoding="utf-8").split("\n")
    found = [number for number, line in enumerate(lines, 1) if line.endswith("  // " + name)]
    assert len(found) == 1, (name, found)
    return f"{file.name}:{found[0]}"


@unittest.skipUnless("FAKE_CUDA" in os.environ, "the simulated GPU was not built")
class NativeLines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for name, flags in VARIANTS.items():
            where = cls.folder / name
            where.mkdir()
            fakes = os.path.dirname(os.environ["FAKE_CUDA"])
            subprocess.run([COMPILER, *ALWAYS, *flags, "-shared", "-fPIC", str(LIBRARY), "-o",
                            str(where / "libmine.so"), os.environ["FAKE_CUDA"], f"-Wl,-rpath,{fakes}"], check=True)
            subprocess.run([COMPILER, *ALWAYS, *flags, str(PROGRAM), "-o", str(where / "program"),
                            str(where / "libmine.so"), os.environ["FAKE_CUDA"], f"-Wl,-rpath,{fakes}",
                            "-Wl,-rpath,$ORIGIN", "-pthread"], check=True)

    def capture(self, variant, case, **variables):
        where = self.folder / variant
        shutil.rmtree(where / "captures", ignore_errors=True)
        environment = clean_environment(PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"], PROF_LIBRARY_CODE="/tests/fakes/",
                                        **variables)
        done = subprocess.run([PROF, "run", "-o", "captures", "--export", "none", "--", "./program", case], cwd=where,
                              env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        capture, = (where / "captures").glob("*.prof")
        return capture

    def rows(self, capture, **variables):
        done = subprocess.run([PROF, "report", "--report", "lines", "--format", "json", str(capture)], check=True,
                              capture_output=True, text=True, env=clean_environment(**variables))
        rows = json.loads(done.stdout)["rows"]
        return [dict(row, line="" if row["line"] == "(not known)" else row["line"]) for row in rows]

    def waits(self, variant, case):
        """The lines of waits, with their functions, the dearest first."""
        return [(row["line"].split("/")[-1], row["code"].split(" ")[0])
                for row in self.rows(self.capture(variant, case)) if row["cause"] == "waiting" and row["line"]]

    def test_the_line_that_waits(self):
        for variant in VARIANTS:
            if variant == "no_debug":
                continue
            for case, names in (("two_flaws", {"first flaw", "second flaw"}), ("inlined", {"inlined"}),
                                ("recursion", {"deepest"}), ("aligned", {"aligned"}),
                                ("unwound", {"destructor", "handler"}), ("thread", {"thread"}),
                                ("function", {"in function"})):
                with self.subTest(variant=variant, case=case):
                    self.assertEqual({line for line, _ in self.waits(variant, case)},
                                     {line_named(name) for name in names})

    def test_a_library_of_the_users(self):
        for variant in ("plain", "frame_pointer", "no_pie"):
            with self.subTest(variant=variant):
                self.assertEqual({line for line, _ in self.waits(variant, "library")},
                                 {line_named("library", LIBRARY), line_named("callback")})

    def test_the_function_without_debug_information(self):
        self.assertEqual(self.waits("no_debug", "two_flaws")[0], ("program", "two_flaws"))
        self.assertEqual({code for _, code in self.waits("no_debug", "library")} & {"library_flaw"}, {"library_flaw"})

    def test_the_first_call_after_other_host_code(self):
        for variant in ("plain", "frame_pointer"):
            rows = self.rows(self.capture(variant, "stretch"))
            lines = [row["line"].split("/")[-1] for row in rows if row["cause"] == "host code" and row["line"]]
            self.assertIn(line_named("after the stretch"), lines)

    def test_a_program_built_anew_has_no_wrong_lines(self):
        capture = self.capture("plain", "two_flaws")
        program = self.folder / "plain" / "program"
        kept = program.with_suffix(".kept")
        program.rename(kept)
        try:
            shutil.copy(self.folder / "frame_pointer" / "program", program)
            self.assertFalse(any(".cpp" in row["line"] for row in self.rows(capture)))
        finally:
            kept.replace(program)
        self.assertTrue(any(".cpp" in row["line"] for row in self.rows(capture)))

    @unittest.skipUnless(shutil.which("addr2line"), "there is no addr2line")
    def test_addr2line_says_the_same(self):
        capture = self.capture("plain", "two_flaws")
        only = self.folder / "bin"
        only.mkdir()
        (only / "addr2line").symlink_to(shutil.which("addr2line"))
        self.assertEqual([row["line"] for row in self.rows(capture, PATH=str(only))],
                         [row["line"] for row in self.rows(capture)])
        (only / "addr2line").unlink()
        self.assertFalse(any(".cpp" in row["line"] for row in self.rows(capture, PATH=str(only))))

    def test_the_symbolizer_runs_for_debug_information_alone(self):
        """A program of its name that says that it ran."""
        only = self.folder / "telling"
        only.mkdir()
        told = only / "ran"
        symbolizer = only / "llvm-symbolizer"
        symbolizer.write_text(f"#!/bin/sh\n: > {told}\n", encoding="utf-8")
        symbolizer.chmod(0o755)

        def runs_for(capture):
            told.unlink(missing_ok=True)
            self.rows(capture, PATH=str(only))
            return told.exists()

        self.assertTrue(runs_for(self.capture("plain", "two_flaws")))
        self.assertFalse(runs_for(self.capture("no_debug", "two_flaws")))
        self.assertFalse(runs_for(self.capture("plain", "two_flaws", PROF_LINES="off")))
        self.assertFalse(runs_for(HERE.parent.parent / "examples" / "captures" / "h200_train.prof"))

    def test_the_trace_has_stacks(self):
        capture = self.capture("plain", "two_flaws")
        trace = self.folder / "trace.json"
        subprocess.run([PROF, "export", str(capture), "-o", str(trace)], check=True, capture_output=True)
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        stacks = [event["args"]["stack"] for event in events if "stack" in event.get("args", {})]
        self.assertTrue(any(f"{line_named('first flaw')} two_flaws" in stack for stack in stacks), stacks[:3])

    def test_off_records_none(self):
        rows = self.rows(self.capture("plain", "two_flaws", PROF_LINES="off"))
        self.assertFalse([row for row in rows if row["line"]])


if __name__ == "__main__":
    PROF, COMPILER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
