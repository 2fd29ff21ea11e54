# SPDX-License-Identifier: Apache-2.0
"""The examples for Python, and the callbacks for Hugging Face's and Lightning's trainers: what is recorded, counted by
hand, and that a training is not changed.

Usage: gallery_test.py <prof> <folder with the package> <Python of the trainers> <Python of JAX>

A Python is a path or, where none exists, a version for which an environment is made. On a machine with a GPU its work is
checked, too.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from clean_environment import TOOLKIT, clean_environment
from scratch_case import ScratchCase

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples/python"
PROF = PACKAGE = ""
TRAINERS = JAX = None
HAS_GPU = False
CALLBACK = ("once", "accumulated", "validated", "scheduled", "same_callback_twice", "failed", "failed_and_again",
            "refused", "not_written", "removed", "removed_strictly", "of_the_program", "plain_later")  # fmt: skip


def environment(**more):
    if not HAS_GPU:
        more = {"LD_LIBRARY_PATH": TOOLKIT, **more}
    return clean_environment(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1", **more)


def own_lines(stderr):
    return [line for line in stderr.splitlines() if line.startswith("libprof: ")]


class Programs(ScratchCase):
    maxDiff = None

    def run_program(self, *command, expect=0, **more):
        done = subprocess.run([str(each) for each in command], cwd=self.folder, capture_output=True, text=True,
                              env=environment(**more), timeout=300)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def captures(self, folder="prof-captures"):
        return sorted((self.folder / folder).glob("*.prof"), key=lambda path: path.stat().st_mtime_ns)

    def report(self, capture):
        return json.loads(self.run_program(PROF, "report", "--format", "json", capture).stdout)

    def check_counts(self, capture, expected):
        """Rows of these paths, and how often. Where there is a GPU each of them has work of it, and the rows add up."""
        report = self.report(capture)
        rows = {row["path"]: row for row in report["rows"]}
        self.assertEqual({path: rows.get(path, {}).get("instances") for path in expected}, expected)
        self.assertEqual(report["dropped"], {})
        if HAS_GPU:
            self.assertGreater(report["total_gpu_ns"], 0)
            self.assertEqual(sum(row["gpu_self_ns"] for row in report["rows"]), report["total_gpu_ns"])
            for path in expected:
                if path.split("/")[-1] not in ("data", "zero_grad", "batch"):
                    self.assertGreater(rows[path]["gpu_sum_ns"], 0, path)
            print(f"{pathlib.Path(capture).name}: {report['total_gpu_ns'] / 1e6:.3f} ms of GPU work, "
                  f"{report['total_ops']} operations", file=sys.stderr)
        return report


class Gallery(Programs):
    def check_example(self, name, python, expected, says=0):
        """By itself and under `prof run`: the rows, and the same output but for the tables. `says`: lines of libprof."""
        alone = self.run_program(python, EXAMPLES / name)
        self.assertEqual(len(own_lines(alone.stderr)), says, alone.stderr)
        capture, = self.captures()
        self.check_counts(capture, expected)
        self.assertRegex(alone.stdout, "(GPU|CPU) time of a step, by range")
        under = self.run_program(PROF, "run", "-o", "under", "--export", "none", "--", python, EXAMPLES / name)
        self.check_counts(self.captures("under")[-1], expected)
        self.assertEqual(own_lines(under.stderr), [])
        losses = [[line for line in done.stdout.splitlines() if "loss" in line and "train_runtime" not in line]
                  for done in (alone, under)]
        self.assertTrue(losses[0])
        self.assertEqual(*losses)

    def test_plain_pytorch(self):
        steps = {"step/" + name: 12 for name in ("zero_grad", "augment", "forward", "backward", "optimizer")}
        self.check_example("plain_pytorch.py", TRAINERS, {"step": 12, "step/data": 13, **steps})

    def test_hugging_face(self):
        self.check_example("hugging_face.py", TRAINERS, {
            "train step #": 8, "train step #/forward": 16, "train step #/backward": 16, "train step #/clip_grad": 8,
            "train step #/optimizer": 8}, says=1)

    def test_lightning(self):
        self.check_example("lightning_trainer.py", TRAINERS, {
            "train step #": 12, "train step #/forward": 12, "train step #/backward": 12, "train step #/optimizer": 12}, says=1)

    def test_jax(self):
        if JAX is None:
            self.skipTest("no JAX")
        self.check_example("jax_training.py", JAX, {"train #": 10, "train #/batch": 10})

    def test_notebook(self):
        """By Jupyter if it is there, else its cells one after another."""
        shutil.copy(EXAMPLES / "notebook.ipynb", self.folder)
        shown = json.loads(self.run_program(TRAINERS, HERE / "run_notebook.py", "notebook.ipynb").stdout)
        capture, = self.captures()
        self.check_counts(capture, {"step": 10, "step/forward": 10, "step/backward": 10, "step/optimizer": 10})
        html = [each["text/html"] for each in shown if "text/html" in each]
        self.assertEqual(len(html), 2)
        self.assertTrue(all("<table" in each and "backward" in each for each in html))
        self.assertIn("step/backward", shown[-1]["text/plain"])


class Callback:
    """For a trainer's callback; each list of cases is one process, so that trainings follow each other in it."""

    results = None

    def cases(self, *names, command=(), expect=0):
        done = self.run_program(*command, TRAINERS, "-W", "ignore", HERE / "trainer_cases.py", self.TRAINER, *names, expect=expect,
                                RESULT=str(self.folder / "result.json"))
        self.stderr = done.stderr
        return json.loads((self.folder / "result.json").read_text()) if expect == 0 else None

    def expected(self, steps, parts=1):
        rows = {"train step #": steps, "train step #/forward": steps * parts, "train step #/backward": steps * parts}
        return {**rows, "train step #/optimizer": steps}

    def check_rows(self, found, steps, parts=1):
        expected = self.expected(steps, parts)
        self.assertEqual({path: found["rows"].get(path) for path in expected}, expected)
        self.assertEqual([note for note in found["notes"] if "/dev/shm" not in note], [])

    def test_callback(self):
        bare = self.cases("bare")
        found = self.cases(*CALLBACK)
        lines = {case: [] for case in CALLBACK}
        waiting = []
        for line in self.stderr.splitlines():
            if line.startswith("libprof: "):
                waiting.append(line)
            elif line.startswith("== "):
                lines[line[3:]], waiting = waiting, []

        for case in ("once", "validated", "scheduled", "not_written", "removed"):
            self.assertEqual(found[case]["weights"], bare["bare"], case)
        self.assertEqual(found["accumulated"]["weights"], bare["bare_accumulated"])
        for case in ("once", "accumulated", "validated", "scheduled", "not_written", "refused", "failed"):
            self.assertFalse(found[case]["recording" if case != "failed" else "recording_later"], case)
        for case, count in {"once": 1, "scheduled": 1, "same_callback_twice": 2, "failed": 1, "failed_and_again": 2,
                            "not_written": 1, "refused": 0, "of_the_program": 0}.items():
            self.assertEqual(len(lines[case]), count, (case, lines[case]))
        self.assertIn("/proc/none", lines["not_written"][0])
        self.assertEqual([found["not_written"]["failure"], found["not_written"]["warned"]], ["Failed", ["RecordingWarning"]])
        self.assertEqual([found["once"]["failure"], found["once"]["warned"]], ["NoneType", []])
        for case, key in (("removed", "failure"), ("removed_strictly", "raised")):
            self.assertIn("was removed while it was written", found[case][key])
            self.assertEqual((found[case]["path"], found[case]["recording"]), (None, False), case)
        self.assertIn("was removed while it was written", lines["removed"][0])
        self.assertIn(found["once"]["path"], lines["once"][0])

        all_steps = [f"train step {number}" for number in range(4)]
        self.check_rows(found["once"], 4)
        self.check_rows(found["accumulated"], 4, 2)
        self.check_rows(found["validated"], 4)
        self.assertEqual(found["validated"]["rows"].get("evaluation"), self.EVALUATIONS)
        self.assertFalse([path for path in found["validated"]["rows"] if path.startswith("train") and "eval" in path])
        self.check_rows(found["scheduled"], 2)
        self.assertEqual(found["scheduled"]["steps"], all_steps[1:3])
        for each in found["same_callback_twice"]:
            self.check_rows(each, 4)
            self.assertEqual(each["steps"], all_steps)
        self.assertEqual(len({each["path"] for each in found["same_callback_twice"]}), 2)
        self.assertTrue(found["failed"]["caught"])
        self.assertEqual(found["failed"]["recording"], self.GOES_ON_AFTER_FAILURE)
        self.assertEqual(found["failed"]["steps"], all_steps[:3])
        self.check_rows(found["failed_and_again"], 4)
        self.assertIn('no option "bad"', found["refused"]["error"])
        self.assertEqual((found["of_the_program"]["recording"], found["of_the_program"]["callback"]), (True, None))
        self.check_rows(found["of_the_program"], 4)
        self.assertEqual(found["plain_later"]["rows"]["step"], 4)

    def test_under_prof_run(self):
        run = (PROF, "run", "-o", "under", "--export", "none", "--")
        done = self.cases("once", command=run)["once"]
        self.assertEqual((done["recording"], done["path"]), (True, None))
        self.assertEqual(own_lines(self.stderr), [])
        capture, = self.captures("under")
        self.check_counts(capture, self.expected(4))

    def test_uncaught_exception(self):
        self.cases("uncaught", expect=1)
        self.assertEqual(sum(line in ("Broken", "__main__.Broken") for line in self.stderr.splitlines()), 1, self.stderr)
        self.assertEqual(len(own_lines(self.stderr)), 1)
        capture, = self.captures()
        rows = {row["path"]: row["instances"] for row in self.report(capture)["rows"]}
        self.assertEqual((rows["train step #"], rows["train step #/backward"]), (3, 2))


class HuggingFace(Callback, Programs):
    TRAINER, EVALUATIONS, GOES_ON_AFTER_FAILURE = "hugging_face", 2, True


class Lightning(Callback, Programs):
    """Forward, zero_grad and backward are called in the optimizer's closure, or for a step's other batches before."""

    TRAINER, EVALUATIONS, GOES_ON_AFTER_FAILURE = "lightning", 4, False


def python_of(asked, script, *more):
    """A path; None where there is none."""
    found = shutil.which(asked)
    if found:
        return found
    made = subprocess.run([str(HERE / script), asked, *more], stdout=subprocess.PIPE, text=True)
    return made.stdout.strip() if made.returncode == 0 else None


if __name__ == "__main__":
    PROF, PACKAGE = (os.path.abspath(each) for each in sys.argv[1:3])
    TRAINERS, JAX = python_of(sys.argv[3], "trainers_environment.sh"), python_of(sys.argv[4], "jax_environment.sh", "0.11.2")
    if TRAINERS is None:
        print("skipped: there is no Python with PyTorch and the trainers")
        sys.exit(77)
    HAS_GPU = os.path.exists("/dev/nvidia0")
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
