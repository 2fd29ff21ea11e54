#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof run --runs and --against: which processes are run in which order, what is made of them, and how it ends.

    run_series_test.py PROF STUB_LIBPROF [TEST...]
"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from cli_test import PROF, STUB, CommandLine


class RunSeries(CommandLine):
    def series(self, *command, options=(), **more):
        options = ["--pytorch", "off", "--export", "none", *options]
        return self.run_stubbed(*command, options=options, **more)

    def tables(self, *command, options=()):
        found = self.series(*command, options=["--format", "json", "--report-file", "-", *options])
        self.assertEqual(found.returncode, 0, found.stderr)
        made = json.loads(found.stdout)
        return {table["report"]: table for table in (made if isinstance(made, list) else [made])}

    def words(self):
        return (self.dir / "log").read_text().split()

    def note(self, word, end="exit 0"):
        return ["sh", "-c", f"echo {word} >> {self.dir}/log; {end}"]

    def test_each_run_is_a_process_of_its_own(self):
        runs = self.tables(*self.note("new"), options=["--runs", "3"])["runs"]["rows"]
        self.assertEqual([row["run"] for row in runs], [1, 2, 3])
        self.assertEqual({row["step_ns"] for row in runs}, {50_000})  # as stub_libprof.cpp has it
        self.assertEqual(len({row["capture"] for row in runs}), 3)
        self.assertEqual(sorted(row["capture"] for row in runs), sorted(map(str, self.out.glob("*.prof"))))
        self.assertEqual(self.words(), ["new"] * 3)
        # They are three runs for prof diff as well.
        found = self.prof("diff", "--format", "json", self.out, self.out)
        step = {table["report"]: table for table in json.loads(found.stdout)}["diff"]["rows"][0]
        self.assertEqual((step["base_runs"], step["verdict"]), (3, "same within 1 %"))

    def test_two_commands_take_turns(self):
        base = f"sh -c 'echo base >> {self.dir}/log'"
        found = self.tables(*self.note("new"), options=["--runs", "3", "--against", base])
        self.assertEqual(self.words(), ["base", "new", "new", "base", "base", "new"])
        step = found["diff"]["rows"][0]
        self.assertEqual((step["base_runs"], step["new_runs"], step["verdict"]), (3, 3, "same within 1 %"))
        sides = [(row["side"], row["run"]) for row in found["diff_runs"]["rows"]]
        self.assertEqual(sides, [(side, run) for side in ("base", "new") for run in (1, 2, 3)])
        for side in ("base", "new"):
            self.assertEqual(len(list((self.out / side).glob("*.prof"))), 3)

    def test_five_of_each_without_a_number(self):
        result = self.series("true", options=["--against", "true", "-q"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(list(self.out.glob("*/*.prof"))), 10)

    def test_the_first_status_that_is_not_zero(self):
        end = f"n=0; while read -r _; do n=$((n + 1)); done < {self.dir}/log; exit $((n * 2 - 2))"  # 0, 2, 4
        result = self.series(*self.note("x", end), options=["--runs", "3", "--format", "json", "--report-file", "-"])
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(self.words(), ["x"] * 3)
        self.assertEqual(len(json.loads(result.stdout)["rows"]), 1)  # those that failed are left out
        self.assertIn("run 2 of 3 ended with status 2; it is not compared", result.stderr)
        self.assertEqual(len(list(self.out.glob("*.prof"))), 3)

    def test_a_signal_that_ends_a_run_ends_prof_at_the_end(self):
        result = self.series("sh", "-c", "kill -KILL $$", options=["--runs", "2"])
        self.assertEqual(result.returncode, -signal.SIGKILL, result.stderr)
        self.assertIn("run 2 of 2 was ended by signal 9", result.stderr)

    def signalled(self, script):
        """The end of three runs, of which the first gets SIGTERM by way of prof."""
        command = [PROF, "run", "--library", STUB, "--pytorch", "off", "--export", "none", "--runs", "3", "-o", self.out,
                   "--", "sh", "-c", script]  # fmt: skip
        process = subprocess.Popen(command, cwd=self.dir, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)  # fmt: skip
        deadline = time.monotonic() + 60
        log = self.dir / "log"
        while not (log.exists() and log.read_text()) and time.monotonic() < deadline:
            os.sched_yield()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        return process.returncode, said

    def test_a_signal_to_prof_ends_the_series(self):
        wait = "while :; do :; done"
        status, said = self.signalled(f"trap 'exit 0' TERM; echo x >> {self.dir}/log; {wait}")
        self.assertEqual((status, self.words()), (0, ["x"]), said)
        self.assertIn("a signal came during run 1 of 3: the others are not made", said)

    def test_a_run_that_dies_by_a_signal_to_prof(self):
        status, said = self.signalled(f"echo x >> {self.dir}/log; exec sleep 60")
        self.assertEqual((status, self.words()), (-signal.SIGTERM, ["x"]), said)

    def test_what_cannot_be_started_is_not_tried_again(self):
        result = self.series("/no/such", options=["--runs", "3"])
        self.assertEqual(result.returncode, 127)
        self.assertEqual(result.stderr.count("cannot run"), 1, result.stderr)
        self.assertFalse(self.out.exists())
        self.assertEqual(self.series("true", options=["--against", "/no/such"]).returncode, 127)

    def test_bad_command_lines(self):
        for options, says in ((["--against", "a | b"], "sh -c"), (["--against", "a 'b"], "not closed"), (["--against", " "], "no command"),
                              (["--against", "a $no_such_variable"], "not set"), (["--against", "$(true)"], "sh -c"),
                              (["--runs", "0"], "from 1 to 1000"), (["--runs", "2", "--report", "kernels"], "--report")):
            self.assert_one_line(self.series("true", options=options), 2, says)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
