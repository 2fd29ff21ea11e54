#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof ctl over the real libprof.so, on a trainer on the simulated GPU: what it prints, and its exit status.

    ctl_test.py PROF LIBPROF FAKE_CUPTI TRAINER ENVIRONMENT_WATCH

The trainer is tests/session/control_victim.cpp, which does a line at a time what it is told.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

PROF, LIBPROF, FAKE_CUPTI, TRAINER, WATCH = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:6])


class Control(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PROF_")}
        self.environment["XDG_RUNTIME_DIR"] = folder.name
        self.complaints = open(self.folder / "complaints", "w+")
        self.addCleanup(self.complaints.close)

    def train(self, **variables):
        orders, answers = self.folder / "orders", self.folder / "answers"
        os.mkfifo(orders)
        os.mkfifo(answers)
        self.trainer = subprocess.Popen(
            [TRAINER, orders, answers], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=self.complaints,
            env={**self.environment, "PROF_AUTOSTART": "0", "PROF_CUPTI_LIBRARY": FAKE_CUPTI, "PROF_EXPORT": "none",
                 "CUDA_INJECTION64_PATH": LIBPROF, "NVTX_INJECTION64_PATH": LIBPROF, **variables})  # fmt: skip
        self.addCleanup(self.trainer.wait)
        self.addCleanup(self.trainer.kill)
        self.orders = open(orders, "w")
        self.answers = open(answers)
        self.addCleanup(self.orders.close)
        self.addCleanup(self.answers.close)
        self.assertEqual(self.answers.readline(), "here\n")
        self.pid = str(self.trainer.pid)

    def command(self, order):
        print(order, file=self.orders, flush=True)
        return self.answers.readline().strip()

    def ctl(self, *arguments):
        result = subprocess.run([PROF, "ctl", *arguments], cwd=self.folder, env=self.environment, capture_output=True,
                                text=True, timeout=60)  # fmt: skip
        return result.returncode, result.stdout, result.stderr

    def test_starts_and_stops_a_recording(self):
        self.train()
        status, out, err = self.ctl(self.pid)
        self.assertEqual((status, out), (3, ""))
        self.assertIn(f"prof: process {self.pid} has no control socket", err)
        self.command("train 1")
        # Other jobs of the user's may be there, too, and come and go.
        status, out, _ = self.ctl()
        self.assertEqual(status, 0)
        self.assertEqual(out.split()[:4], ["PID", "STATE", "FOR", "COMMAND"])
        self.assertIn([self.pid, "idle"], [line.split()[:2] for line in out.splitlines()])
        self.assertEqual(self.ctl(self.pid, "start", "name=a b"), (0, "", ""))
        self.command("train 2")
        (listed,) = (job for job in json.loads(self.ctl("--list", "--json")[1]) if job["pid"] == self.trainer.pid)
        self.assertEqual(listed["state"], "recording")
        self.assertIn("state    recording, for", self.ctl(self.pid)[1])
        self.assertEqual(json.loads(self.ctl(self.pid, "status", "--json")[1])["capture"], listed["capture"])
        status, out, err = self.ctl(self.pid, "start", "fold=7")
        self.assertEqual((status, out, err), (1, "", 'prof: fold: "7" is not accepted; it takes counters, all, none, or '
                         'names with \'#\' for each number, such as "layer #,iteration #"\n'))
        status, out, err = self.ctl(self.pid, "stop")
        self.assertEqual((status, out, err), (0, listed["capture"] + "\n", ""))
        (capture,) = (self.folder / "prof-captures").glob("a b.0.*.prof")
        self.assertEqual(os.path.realpath(capture), os.path.realpath(out.strip()))
        self.assertTrue(out.startswith("/"))  # though output_dir is relative

    def test_start_reads_the_environment_only_on_the_programs_threads(self):
        self.train(LD_PRELOAD=WATCH, RANK="3")
        self.command("train 1")
        self.assertEqual(self.ctl(self.pid, "start")[0], 0)
        self.command("train 1")
        status, capture, _ = self.ctl(self.pid, "stop")
        self.assertEqual(status, 0)
        self.assertIn(".3.", os.path.basename(capture))
        self.complaints.seek(0)
        asked = self.complaints.read()
        self.assertIn("RANK asked for by a thread of the program's", asked)
        self.assertNotIn("a thread of libprof's", asked)

    def test_reports_a_process_that_does_not_answer(self):
        self.train()
        self.command("train 1")
        self.trainer.send_signal(signal.SIGSTOP)
        self.assertTrue(os.WIFSTOPPED(os.waitpid(self.trainer.pid, os.WUNTRACED)[1]))
        status, out, err = self.ctl(self.pid, "status", "--timeout", "0.1")
        self.assertEqual((status, out, err), (3, "", f"prof: process {self.pid}: no answer in time\n"))
        self.trainer.send_signal(signal.SIGCONT)
        self.assertEqual(self.ctl(self.pid)[0], 0)
        self.trainer.kill()
        self.trainer.wait()
        self.assertEqual(self.ctl(self.pid), (3, "", f"prof: there is no process {self.pid}\n"))
        self.assertNotIn(self.pid, self.ctl()[1].split())

    def test_bad_usage_is_refused(self):
        for arguments, words in ((["x"], "is not a process id"), (["0"], "is not a process id"),
                                 (["1", "begin"], "there are status, start"), (["1", "stop", "now"], "takes no"),
                                 (["1", "start", "now"], "is no name=value"), (["--list", "1"], "takes no process"),
                                 (["1", "stop", "--json"], "is for status"), (["--timeout", "-1"], "timeout")):
            status, out, err = self.ctl(*arguments)
            self.assertEqual((status, out, err.count("\n")), (2, "", 1), arguments)
            self.assertIn(words, err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
