#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What prof shows on a terminal while it works; the arguments are those of cli_test.py."""
import os
import re
import subprocess
import sys
import unittest

from cli_test import PROF, STUB, CommandLine, Terminal

AT_ONCE = {"PROF_PROGRESS_AFTER_MS": "0"}
MANY = {"STUB_RANGES": "20000"}  # a trace of some megabytes


class Progress(CommandLine):
    def start(self, terminal, *arguments, env=AT_ONCE, **more):
        """Starts prof with standard error on the terminal."""
        streams = {"stdout": subprocess.PIPE, "stderr": terminal.follower, "text": True, **more}
        return subprocess.Popen([PROF, *map(str, arguments)], cwd=self.dir, env={**self.environment, **env}, **streams)

    def pipe(self, name):
        os.mkfifo(self.dir / name)
        return self.dir / name

    def visible(self, shown):
        """What a terminal shows at the end, of its last line."""
        cells = []
        for part in shown.split("\n")[-1].split("\r"):
            cells[: len(part)] = part
        return "".join(cells).rstrip()

    def test_reading_is_shown_and_erased(self):
        capture, pipe = self.capture(), self.pipe("pipe")
        with Terminal() as terminal:
            process = self.start(terminal, "report", pipe)
            with open(pipe, "wb") as slow:
                shown = terminal.read_until(r"reading \S*pipe \(\d+ s\)")
                slow.write(capture.read_bytes())
            report, _ = process.communicate(timeout=60)
            shown += terminal.rest()
        self.assertEqual((process.returncode, self.visible(shown)), (0, ""), repr(shown))
        self.assertEqual(report.splitlines()[0], self.prof("report", capture).stdout.splitlines()[0])
        self.assertNotIn("\n", shown)

    def test_writing_is_shown_in_percent(self):
        self.environment.update(MANY)
        capture, pipe = self.capture(), self.pipe("pipe.json")
        self.check_writing(capture, pipe, columns=60, pattern=r"\[#*-+\] +\d+ %")
        self.check_writing(capture, pipe, columns=12, pattern=r"\d %")

    def check_writing(self, capture, pipe, columns, pattern):
        with Terminal(columns) as terminal:
            process = self.start(terminal, "export", capture, "-o", pipe)
            with open(pipe, "rb") as trace:  # a pipe holds 64 KB: the rest waits
                first = trace.read(8_000_000)
                shown = terminal.read_until(pattern)
                text = first + trace.read()
            self.assertEqual(process.wait(timeout=60), 0)
            shown += terminal.rest()
        self.assertEqual(text.count(b'"name":"forward"'), 40_000, "on the host and on the GPU")
        for line in re.split("[\r\n]", shown):
            self.assertLess(len(line), columns, "never as wide as the terminal, which would begin another line")
        self.assertEqual(self.visible(shown), "")

    def test_complaints_stand_alone(self):
        junk, pipe = self.dir / "junk.prof", self.pipe("pipe")
        junk.write_text("not a capture")
        with Terminal() as terminal:
            process = self.start(terminal, "report", pipe)
            with open(pipe, "wb") as slow:
                shown = terminal.read_until("reading")
                slow.write(b"not a capture")
            process.communicate(timeout=60)
            shown += terminal.rest()
        self.assertEqual(process.returncode, 1)
        lines = shown.split("\r\n")
        self.assertRegex(lines[0], r"\r *\rprof: cannot read \S*pipe: it is not a libprof capture$")
        self.assertEqual(lines[1:], [""])

    def test_the_end_of_a_run_is_shown_unless_quiet(self):
        run = ["run", "--library", STUB, "-o", self.out]
        shown = self.on_terminal(*run, "true", env={**AT_ONCE, "STUB_RANGES": "200000"})
        self.assertIn("\rcomputing the summary of ", shown)
        self.assertIn("\rwriting ", shown)
        self.assertIn(".trace.json.gz  [", shown)
        self.assertNotRegex(shown, r"(%|s\))[^\r]*\n", "erased before anything else is printed")
        self.assertNotIn("writing", self.on_terminal(*run, "-q", "true", env={**AT_ONCE, **MANY}))

    def test_nothing_is_shown_elsewhere(self):
        capture, pipe = self.capture(), self.pipe("pipe")
        writer = subprocess.Popen(["cp", capture, pipe])
        result = self.prof("report", pipe, env=AT_ONCE)
        self.assertEqual((result.returncode, result.stderr, writer.wait()), (0, "", 0))
        # Work that takes no second shows nothing on a terminal, either.
        shown = self.on_terminal("report", capture)
        self.assertNotIn("reading", shown)
        self.assertIn("forward", shown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
