# SPDX-License-Identifier: Apache-2.0
"""What a thread did in its host code, by the kernel's account of it, against the program's own measurement.

Usage: thread_time_test.py <prof> <C++ compiler> [TEST...]   with FAKE_CUDA and FAKE_CUPTI in the environment
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

PROGRAM = pathlib.Path(__file__).resolve().parent / "thread_time_cases.cpp"
PROF = COMPILER = ""


@unittest.skipUnless("FAKE_CUDA" in os.environ, "the simulated GPU was not built")
@unittest.skipUnless(os.path.exists("/proc/thread-self/schedstat"), "the kernel keeps no such account")
class ThreadTime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([COMPILER, "-std=c++17", "-O2", str(PROGRAM), "-o", str(cls.folder / "program"),
                        os.environ["FAKE_CUDA"], f"-Wl,-rpath,{os.path.dirname(os.environ['FAKE_CUDA'])}", "-pthread"],
                       check=True)

    def measure(self, case, cpu=None):
        """What the program measured and what the first finding has, as shares of ran, waited and blocked, and by what."""
        captures = self.folder / "captures"
        shutil.rmtree(captures, ignore_errors=True)
        command = [PROF, "run", "-o", str(captures), "--export", "none", "--", str(self.folder / "program"), case]
        if cpu is not None:
            command = ["taskset", "-c", str(cpu), *command]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=100,
                              env=clean_environment(PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"]))
        self.assertEqual(done.returncode, 0, done.stderr)
        truth = [float(number) for number in done.stdout.split()]
        capture, = captures.glob("*.prof")
        report = subprocess.run([PROF, "report", "--report", "diagnose", "--format", "json", str(capture)], check=True,
                                capture_output=True, text=True)
        finding, = (row for row in json.loads(report.stdout)["rows"] if row["rule"] == "host_code")
        place = finding["places"][0]
        self.text = subprocess.run([PROF, "diagnose", str(capture)], check=True, capture_output=True, text=True).stdout
        return ([each / sum(truth) for each in truth],
                [place[name] for name in ("ran_share", "waited_share", "blocked_share")], place["blocked_in"])

    def compare(self, case, cpu=None):
        """Once more where other programs have the CPUs, so that what is looked at is no fair sample."""
        for _ in range(3):
            truth, found, by = self.measure(case, cpu)
            if all(abs(wanted - share) < 0.1 for wanted, share in zip(truth, found)):
                return found, by
        self.fail(f"{case}: ran, waited and blocked {found}, and not {truth}")

    def test_code_that_runs(self):
        self.compare("spin")
        self.assertRegex(self.text, r"the thread: [0-9.,]+ ms running")

    def test_a_sleep(self):
        (_, _, blocked), by = self.compare("sleep")
        self.assertGreater(blocked, 0.85)
        self.assertIn(by, ("a sleep", None))
        self.assertIn("The thread is blocked there", self.text)

    def test_a_lock(self):
        self.assertIn(self.compare("lock")[1], ("a lock or another thread", None))

    def test_a_pipe(self):
        self.assertIn(self.compare("pipe")[1], ("reading a pipe", None))

    def test_some_of_both(self):
        self.compare("mixed")

    def test_short_stretches(self):
        """Where others have the CPUs, the thread that looks gets one as this thread gives it up."""
        if os.getloadavg()[0] > 0.8 * len(os.sched_getaffinity(0)):
            self.skipTest("others have the CPUs")
        self.compare("short")

    @unittest.skipUnless(shutil.which("taskset"), "there is no taskset")
    def test_a_cpu_that_others_have(self):
        cpu = min(os.sched_getaffinity(0))
        with subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", "while True: pass"]) as other:
            try:
                (_, waited, _), _ = self.compare("compete", cpu)
            finally:
                other.kill()
        self.assertGreater(waited, 0.25)
        self.assertIn("waits for a CPU", self.text)


if __name__ == "__main__":
    PROF, COMPILER = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
