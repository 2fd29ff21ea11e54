#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof run beside stand-ins for NVIDIA's tools, on a trainer on the simulated GPU, in either order: the tool and the
program do what they do without prof, and prof says what it does not record. tests/gpu/nvidia_tools.sh has the real ones.

    gpu_tools_test.py PROF FAKE_CUPTI TRAINER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROF, FAKE_CUPTI, TRAINER = "", "", ""
# Nsight Compute: a script that runs the program of the same name, which ends where the variable is set.
SCRIPT = '#!/bin/sh\nexec "$(dirname "$0")/inner/%s" "$@"\n'
TOOL = """#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char** arguments) {
    if (IS_NCU && getenv("CUDA_INJECTION64_PATH") != NULL) return puts("CUDA_INJECTION64_PATH is set"), 1;
    if (IS_NCU) setenv("NV_NSIGHT_INJECTION_PORT_BASE", "49152", 1);
    int status = 127;
    if (fork() == 0) return execvp(arguments[1], arguments + 1), 127;
    wait(&status);
    return WEXITSTATUS(status);
}
"""
CHILD = '#!/bin/sh\nif [ -n "$CUDA_INJECTION64_PATH" ]; then echo "CUDA_INJECTION64_PATH is set"; exit 1; fi\nexec "$@"\n'


class GpuTools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.tools = pathlib.Path(folder.name)
        (cls.tools / "inner").mkdir()
        (cls.tools / "tool.c").write_text(TOOL)
        # Looks as Nsight Compute does in the program that it profiles.
        cls.write("in_program", CHILD)
        for name in ("ncu", "cuda-gdb"):
            cls.write(name, SCRIPT % (name if name == "ncu" else "cuda-gdb-python3.12-tui"))
        for name, is_ncu in (("ncu", 1), ("cuda-gdb-python3.12-tui", 0)):
            subprocess.run(["cc", f"-DIS_NCU={is_ncu}", "-o", cls.tools / "inner" / name, cls.tools / "tool.c"], check=True)

    @classmethod
    def write(cls, name, text):
        (cls.tools / name).write_text(text)
        (cls.tools / name).chmod(0o755)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_prof = [PROF, "run", "-q", "-o", "out", "--export", "none", "--cupti-library", FAKE_CUPTI, "--"]
        self.trainer = [TRAINER, "steps", "3", "autograd"]

    def captures(self, *command, status=3, out="done\n"):
        """The reports of the captures, and the lines of prof's and libprof's that are not about these."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("PROF_", "NV_")) and "INJECTION64" not in name}
        environment.update(PATH=f"{self.tools}:{environment['PATH']}", PROF_RINGS=str(self.folder))
        done = subprocess.run(list(map(str, command)), cwd=self.folder, env=environment, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.returncode, done.stdout), (status, out), done.stderr)
        reports = [json.loads(subprocess.run([PROF, "report", "--format", "json", str(capture)], check=True,
                                             env=environment, capture_output=True, text=True).stdout)
                   for capture in (self.folder / "out").glob("*.prof")]
        return reports, [line for line in done.stderr.splitlines() if not line.startswith("prof: capture")]

    def assert_ranges_only(self, captured, tool):
        reports, lines = captured
        self.assertEqual(len(reports), 1, lines)
        rows = {row["path"]: row for row in reports[0]["rows"]}
        self.assertEqual(rows["iteration #/forward"]["instances"], 3)
        self.assertEqual(sum(row["ops"] for row in rows.values()), 0)
        said = [line for line in lines if f"no GPU work is recorded of what runs under {tool}" in line]
        self.assertEqual(len(said), 1, lines)

    def test_prof_before_the_tool(self):
        for tool in ("ncu", "cuda-gdb"):
            for before in ((), ("env", "A=b"), ("bash", "-c", 'A=b; "$@"; exit $?', "launch")):
                with self.subTest(tool, before=before):
                    self.setUp()
                    self.assert_ranges_only(self.captures(*self.run_prof, *before, tool, "in_program", *self.trainer), tool)

    def test_the_tool_before_prof(self):
        for tool in ("ncu", "cuda-gdb"):
            with self.subTest(tool):
                self.setUp()
                self.assert_ranges_only(self.captures(tool, *self.run_prof, "in_program", *self.trainer), tool)

    def test_what_comes_after_the_tool_is_recorded(self):
        script = 'ncu in_program true; exec "$@"'
        reports, _ = self.captures(*self.run_prof, "sh", "-c", script, "launch", *self.trainer)
        self.assertEqual(len(reports), 1)
        self.assertGreater(sum(row["ops"] for row in reports[0]["rows"]), 0)

    def test_a_tool_without_ranges(self):
        reports, lines = self.captures(*self.run_prof, "ncu", "in_program", "true", status=0, out="")
        self.assertEqual(reports, [])
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("no GPU work is recorded of what runs under ncu", lines[0])


if __name__ == "__main__":
    PROF, FAKE_CUPTI, TRAINER = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
