# SPDX-License-Identifier: Apache-2.0
"""The LibTorch trainer of the examples and what <prof/torch.hpp> observes, built by CMake on an installed libprof and the
LibTorch inside PyTorch's wheel. Each operator of PyTorch's launches a kernel on the simulated GPU.

Usage: libtorch_test.py <build tree> <work folder>   with FAKE_CUDA and FAKE_CUPTI in the environment
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOLKIT = os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/lib64"
PROF, BUILT = "", pathlib.Path()
STEPS = 4


def build(tree, work):
    made = subprocess.run([ROOT / "tests/python/torch_environment.sh", "3.12"], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        print("SKIPPED: no PyTorch for Python 3.12")
        sys.exit(made.returncode)
    torch, = pathlib.Path(made.stdout.strip()).parents[1].glob("lib/python3*/site-packages/torch")
    shutil.rmtree(work, ignore_errors=True)
    (work / "build").mkdir(parents=True)
    for command in (["cmake", "--install", tree, "--prefix", work / "prefix"],
                    ["cmake", "-S", HERE / "libtorch", "-B", work / "build", "-G", "Ninja",
                     f"-DTRAINER_SOURCE_DIR={ROOT / 'examples/libtorch_trainer'}",
                     f"-DCMAKE_PREFIX_PATH={work / 'prefix'};{torch}"],
                    ["cmake", "--build", work / "build"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(f"{command}\n{done.stdout[-5000:]}")
    return work / "build"


class LibTorch(unittest.TestCase):
    maxDiff = None

    def run_program(self, program, *arguments):
        """Its rows. All of the kernels that it launched are in them, each once."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("PROF_") and "INJECTION64" not in name and name != "LD_PRELOAD"}
        environment.update(LD_LIBRARY_PATH=TOOLKIT, OMP_NUM_THREADS="1")
        command = ["env", f"LD_PRELOAD={BUILT / 'liboperator_kernels.so'}", BUILT / program, *arguments]
        done = subprocess.run([PROF, "run", "-o", folder.name, "--export", "none", "--cupti-library",
                               os.environ["FAKE_CUPTI"], "--", *command], env=environment, capture_output=True,
                              text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual([line for line in lines if line.startswith("libprof: ") or "Exception in" in line], [])
        kernels, = (int(line.split()[1]) for line in lines if line.startswith("kernels "))
        capture, = pathlib.Path(folder.name).glob("*.prof")
        self.report = json.loads(subprocess.run([PROF, "report", "--format", "json", capture], check=True,
                                                capture_output=True, text=True).stdout)
        rows = self.report["rows"]
        self.assertEqual(self.report["dropped"], {})
        self.assertEqual(sum(row["self_ops"] for row in rows), kernels)
        self.assertEqual(sum(row["gpu_self_ns"] for row in rows), 1000 * kernels)
        self.stdout = done.stdout
        return {row["path"]: row for row in rows if row["type"] == "phase"}

    def check(self, case, expected, ended_by="optimizers", steps=STEPS - 2):
        """`steps`: whole ones, without the first and the last."""
        rows = self.run_program("cases", case)
        self.assertEqual({path: row["instances"] for path, row in rows.items()}, expected)
        found = self.report["step"]
        self.assertEqual((found and found["ended_by"], found and found["steps"]), (ended_by, steps))
        return rows

    def of_training(self, **more):
        parts = {"forward": STEPS, "backward": STEPS, "optimizer": STEPS, **more}
        return {"step": STEPS, **{"step/" + name: count for name, count in parts.items()}}

    def test_trainer_with_phases_and_observed(self):
        arguments = ["--steps", str(STEPS), "--layers", "2"]
        named = self.run_program("trainer/libtorch_trainer", *arguments)
        loss, step = self.stdout, self.report["step"]
        observed = self.run_program("trainer/libtorch_trainer", "--observe", *arguments)
        self.assertEqual(self.stdout, loss)
        self.assertEqual({path: row["instances"] for path, row in named.items()}, self.of_training(data=STEPS))
        self.assertEqual({path: row["instances"] for path, row in observed.items()}, self.of_training())
        self.assertEqual((step["ended_by"], step["steps"]), ("annotations", STEPS - 2))
        self.assertEqual((self.report["step"]["ended_by"], self.report["step"]["steps"]), ("optimizers", STEPS - 2))
        parts = {part["phase"]: part["ops"] for part in step["parts"]}
        observed_parts = {part["phase"]: part["ops"] for part in self.report["step"]["parts"]}
        # The gradient of the loss (ones_like, and the three that it calls) is made before autograd's engine is called.
        ones = 4 * step["steps"]
        self.assertEqual(observed_parts["forward"], parts["forward"] + ones)
        self.assertEqual(observed_parts["backward"], parts["backward"] - ones)
        self.assertEqual(observed_parts["optimizer"], parts["optimizer"])
        self.assertEqual(observed_parts[None], parts[None] + parts["data"])

    def test_what_comes_between_is_no_forward(self):
        # Clipping, zero_grad, reading the loss, and an evaluation without gradients.
        self.check("plain", self.of_training())

    def test_gradient_accumulation(self):
        self.check("accumulation", self.of_training(forward=3 * STEPS, backward=3 * STEPS))

    def test_two_optimizers_in_a_step(self):
        self.check("two_optimizers", self.of_training(forward=2 * STEPS, backward=2 * STEPS, optimizer=2 * STEPS))

    def test_closure_is_no_part_of_the_optimizer(self):
        # Of the first step's three parts, one comes before the first forward; later ones end the step before.
        self.check("closure", {**self.of_training(forward=2 * STEPS, backward=2 * STEPS, optimizer=3 * STEPS - 1),
                               "optimizer": 1})

    def test_exceptions(self):
        # The first forward of each, and the optimizer's before and after its closure.
        self.check("exceptions", self.of_training(forward=2 * STEPS, optimizer=3 * STEPS))

    def test_backward_in_a_backward(self):
        self.check("checkpointing", self.of_training())

    def test_optimizer_in_a_backward(self):
        self.check("optimizer_in_backward", {"step": STEPS, "step/forward": STEPS, "step/backward": STEPS,
                                             "step/backward/optimizer": STEPS})

    def test_observed_optimizer_alone(self):
        self.check("optimizer_alone", {"optimizer": STEPS}, None, None)

    def test_forward_that_cannot_be_seen(self):
        # A function of the program's own calls the only operator on a parameter.
        self.check("no_operator_on_a_parameter", {path: count for path, count in self.of_training().items()
                                                  if path != "step/forward"})

    def test_other_threads_have_no_steps(self):
        # On that thread the first forward comes before its first backward, from which on it is observed.
        self.check("threads", {**self.of_training(), "backward": STEPS, "forward": STEPS - 1})

    def test_steps_that_the_program_counts(self):
        self.check("counted", {"forward": STEPS, "backward": STEPS, "optimizer": STEPS}, None, STEPS - 1)

    def test_optimizer_that_is_not_observed(self):
        rows = self.check("unobserved_optimizer", {"forward": STEPS, "backward": STEPS}, None, None)
        self.assertNotIn("optimizer", rows)

    def test_own_phase_beside(self):
        # The first comes before the first step.
        self.check("own_phases", {**self.of_training(data=STEPS - 1), "data": 1})


if __name__ == "__main__":
    if "FAKE_CUDA" not in os.environ:
        print("SKIPPED: needs the stand-in for CUDA")
        sys.exit(77)
    tree, work = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    PROF, BUILT = tree / "bin/prof", build(tree, work)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
