# SPDX-License-Identifier: Apache-2.0
"""Phases of real PyTorch programs on the CPU: what is observed, counted by hand, and that the program does not change.

Usage: phases_test.py <prof> <version of Python, or debian>
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from clean_environment import TOOLKIT, clean_environment
from scratch_case import ScratchCase
from forked_cases import ForkedCases

HERE = pathlib.Path(__file__).resolve().parent
PROF = ""
PYTHON = ""
VERSION = (3, 12)
HAS_DYNAMO = True
OLD_CASES = {"plain", "no_loader", "two_optimizers", "inference", "generator", "exceptions", "lightning", "forked_workers",
             "slow_step", "many_steps"}
# These are run in a process of their own; the others in forked children of one process that has imported PyTorch.
OWN_PROCESS = {"plain", "compiled", "forked_workers", "spawned_workers"}


class Phases(ScratchCase):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.environment = clean_environment(LD_LIBRARY_PATH=TOOLKIT, PYTHONDONTWRITEBYTECODE="1",
                                             TORCHINDUCTOR_CACHE_DIR=str(self.folder / "inductor"))

    servers = {}  # of forked children, by their command

    @classmethod
    def tearDownClass(cls):
        ends = {command: server.close() for command, server in cls.servers.items()}
        cls.servers.clear()
        assert all(status == 3 for status, _ in ends.values()), ends

    def run_forked(self, case, *command):
        """In a child of a program with this command. The captures that it leaves are moved to this test's."""
        server = self.servers.get(command)
        if server is None:
            server = self.servers[command] = ForkedCases(command, self.environment)
        found = server.folder / "captures"
        before = set(found.glob("*"))
        done = server.run(case)
        (self.folder / "captures").mkdir(exist_ok=True)
        for path in set(found.glob("*.prof")) - before:
            shutil.move(path, self.folder / "captures")
        return done

    def bare_output(self, case):
        if not HAS_DYNAMO and case not in OLD_CASES:
            self.skipTest("a PyTorch before 2")
        done = self.run_forked(case, PYTHON, str(HERE / "phases_cases.py"))
        self.assertEqual(done.returncode, 3, done.stderr)
        return done.stdout

    def run_command(self, command):
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=250)

    def skip_before(self, *version):
        if VERSION < version:
            self.skipTest("a Python before %d.%d" % version)

    def skip_where_calls_are_not_seen(self):
        if VERSION == (3, 11):
            self.skipTest("Python 3.11 calls the observed function in another way")

    def run_case(self, case, *options, warnings=()):
        """Under prof run: what it prints is to the byte what it prints by itself. The rows of its capture."""
        bare = self.bare_output(case)
        command = [PROF, "run", "-o", "captures", "--export", "none", *options, "--", PYTHON, str(HERE / "phases_cases.py")]
        if options or case in OWN_PROCESS:
            profiled = self.run_command([*command, case])
        else:
            profiled = self.run_forked(case, *command)
        self.assertEqual((profiled.returncode, profiled.stdout), (3, bare), profiled.stderr)
        lines = [line for line in profiled.stderr.splitlines() if line.startswith("libprof: ")]
        self.assertEqual(len(lines), len(warnings), lines)
        for line, part in zip(lines, warnings):
            self.assertIn(part, line)
        self.stdout = bare
        captures = sorted((self.folder / "captures").glob("*.prof"))
        if not captures:
            return []
        self.assertEqual(len(captures), 1)
        self.report = json.loads(self.run_command([PROF, "report", "--format", "json", str(captures[0])]).stdout)
        self.assertEqual(self.report["dropped"], {})
        self.text = self.run_command([PROF, "report", str(captures[0])]).stdout
        return self.report["rows"]

    def check(self, case, expected, *options, witness=None, whole=None, **more):
        """`whole`: steps that count, without the first and the last."""
        rows = self.run_case(case, *options, **more)
        self.assertEqual({row["path"]: row["instances"] for row in rows if row["observed"]}, expected)
        if witness:
            self.assertIn(witness, self.text)
        if whole is not None:
            self.assertEqual((self.report["step"]["steps"], self.report["step"]["is_first"]), (whole, False))

    BY_OPTIMIZER = "; one optimizer.step() each"
    BY_CALL = "; one call of the outermost module each"

    def of_training(self, steps, in_workers=False, **more):
        parts = {"forward": steps, "backward": steps, "optimizer": steps, "zero_grad": steps, "data": steps, **more}
        # An old PyTorch's batch sampler does not show how many it has left, so that in the first epoch the end begins
        # a step.
        has_unknown_end = not HAS_DYNAMO and not in_workers and parts["data"] > steps
        return {"startup": 1, "step": steps + has_unknown_end, **{"step/" + name: count for name, count in parts.items() if count}}

    # What follows needs modules' calls.

    def test_plain_loop_with_an_evaluation_after_each_epoch(self):
        # Each of the four DataLoaders is asked once more than it has batches; of these and of the two evaluations'
        # four batches, none begins a step. What ends an epoch stands in its last step.
        self.check("plain", {**self.of_training(6, data=6 + 2 + 4 + 2), "step/evaluation": 4},
                   witness=self.BY_OPTIMIZER, whole=4 if HAS_DYNAMO else 5)

    def test_loop_without_a_loader(self):
        self.check("no_loader", self.of_training(3, data=0), witness=self.BY_OPTIMIZER, whole=1)

    def test_steps_that_are_captured_and_replayed(self):
        # What is captured is no step, and each replay is one.
        self.skip_where_calls_are_not_seen()
        self.check("captured", {**self.of_training(4, data=0), "step": 3 + 4})

    def test_gradient_accumulation(self):
        self.check("accumulation", self.of_training(3, data=7, forward=6, backward=6, clip_grad=3))

    def test_two_optimizers_in_a_step(self):
        self.check("two_optimizers", self.of_training(3, data=0, forward=6, backward=6, optimizer=6, zero_grad=6))

    def test_closure_is_no_part_of_the_optimizer(self):
        # zero_grad, forward and backward once a closure. The parts of the optimizer before and after count as one.
        self.check("lightning", self.of_training(3, data=4))

    def test_closure_that_is_called_again(self):
        self.check("lbfgs", self.of_training(3, data=4, forward=6, backward=6, zero_grad=6))

    def test_gradient_scaler_that_passes_a_step_over(self):
        self.check("scaler", self.of_training(3, data=4, clip_grad=3, loss_scaling=6))

    def test_checkpoints_are_computed_again_in_backward(self):
        self.check("checkpointing", {**self.of_training(3, data=4), "step/backward/recompute": 3})

    def test_reentrant_checkpoints(self):
        self.check("reentrant_checkpointing", {**self.of_training(3, data=4), "step/backward/recompute": 3})

    def test_inference(self):
        self.check("inference", {"startup": 1, "step": 3, "step/evaluation": 3}, witness=self.BY_CALL, whole=1)

    def test_exceptions_that_the_program_catches(self):
        self.check("exceptions", self.of_training(3, data=4, forward=6))

    def test_endless_data_through_a_generator(self):
        # The batch that is thrown away has begun a step.
        self.check("generator", {**self.of_training(3, data=4), "step": 4}, whole=2)

    def test_double_backward_and_functional_calls(self):
        # Behind the loop, a module that is called with gradients begins a step once more.
        self.check("double_backward", {**self.of_training(3, data=4, forward=4, backward=7, zero_grad=0), "step": 4})

    def test_threads_have_phases_of_their_own(self):
        self.check("threads", {**self.of_training(3, data=4), "evaluation": 5})

    def test_workers_that_are_forked(self):
        self.check("forked_workers", self.of_training(3, in_workers=True, data=4))

    def test_workers_that_are_spawned(self):
        self.check("spawned_workers", self.of_training(3, data=4))

    def test_ranges_of_the_program_keep_their_place(self):
        rows = {row["path"]: (row["instances"], row["observed"]) for row in self.run_case("own_ranges")}
        self.assertEqual(rows["step/mine"], (3, False))
        self.assertEqual(rows["step/mine/forward"], (3, False))
        self.assertEqual(rows["step/mine/forward/forward"], (3, True))
        self.assertEqual(rows["step/mine/backward"], (3, True))
        self.assertEqual(rows["step/optimizer"], (3, True))

    def observed_by_name(self, rows):
        found = {}
        for row in rows:
            if row["observed"]:
                name = row["path"].split("/")[-1]
                found[name] = found.get(name, 0) + row["instances"]
        return found

    BY_PROFILER = "; one profiler.step() each"

    def test_steps_of_torch_profiler(self):
        # Six batches, and what comes after the last call of step(). The first has all since the profiler has begun.
        rows = self.run_case("profiled")
        self.assertEqual(self.observed_by_name(rows), {"step": 7, "data": 7, "forward": 6, "backward": 6,
                                                       "optimizer": 3, "zero_grad": 3})
        step = self.report["step"]
        self.assertEqual((step["steps"], step["source"], step["ended_by"]), (5, "observed", "profiler"))
        self.assertIn(self.BY_PROFILER, self.text)

    def test_torch_profiler_for_a_part_of_the_run(self):
        # The last call of step() begins the step that the loop behind it goes on with.
        self.check("profiled_in_between", {**self.of_training(7, data=0)}, witness=self.BY_OPTIMIZER, whole=5)

    def test_ranges_that_are_called_like_steps(self):
        # The first batch begins the first step, and the range is in it.
        rows = self.run_case("own_steps")
        self.assertEqual(self.observed_by_name(rows), {"step": 6, "startup": 1, "data": 7, "forward": 6, "backward": 6,
                                                       "optimizer": 3, "zero_grad": 3})
        instances = {row["path"]: row["instances"] for row in rows}
        self.assertEqual((instances["step/ProfilerStep##"], instances["step/ProfilerStep##/forward"]), (6, 6))
        self.assertEqual((self.report["step"]["steps"], self.report["step"]["ended_by"]), (4, "profiler"))

    def test_another_tool_beside(self):
        self.skip_before(3, 12)
        self.check("monitored", self.of_training(3, data=4))
        self.assertIn("\n21 3\n", self.stdout)  # 3 steps, each with 6 modules and one forward of the program's

    # Of Net one graph, of Broken two; each again for the smaller last batch, then with sizes that may change. PyTorch
    # compiles the backward of these when it is needed, which is not seen before Python 3.12.
    def test_compiled_modules_have_the_same_graphs(self):
        rows = self.run_case("compiled")
        found = {row["path"]: row["instances"] for row in rows if row["observed"]}
        compiled = {path: count for path, count in found.items() if "/compilation" in path}
        self.assertEqual({path: count for path, count in found.items() if path not in compiled},
                         self.of_training(8, data=10))
        expected = {
            "step/forward/compilation": 2 + 4, "step/forward/compilation/Net.forward (phases_cases.py)": 2,
            "step/forward/compilation/compiled.Broken.forward (phases_cases.py)": 2,
            "step/forward/compilation/compiled.Broken.torch_dynamo_resume_in_forward_at_# (phases_cases.py)": 2}
        if VERSION >= (3, 12):
            expected.update({"step/backward/compilation": 1 + 2, "step/backward/compilation/lazy backward": 1 + 2})
        self.assertEqual(compiled, self.as_named(expected))
        self.assertIn("unique_graphs", self.stdout)

    COMPILED = {"recompiled.scaled (phases_cases.py)": 3 + 1, "recompiled.lazy (phases_cases.py)": 1,
                "recompiled.broken (phases_cases.py)": 2, "recompiled.<lambda> (phases_cases.py)": 2}

    def as_named(self, counts):
        """Before Python 3.11 functions are not named with what they are defined in."""
        if VERSION >= (3, 11):
            return counts
        found = {}
        for path, count in counts.items():
            outer, _, name = path.rpartition("/")
            name = re.sub(r"^[^ ]*\.(?=[\w<>#]+ \()", "", name)
            path = outer + "/" + name if outer else name
            found[path] = found.get(path, 0) + count
        return found

    def compiled(self, rows):
        """By function, how often it was compiled."""
        found = {}
        for row in rows:
            parts = row["path"].split("/")
            if "compilation" in parts[:-1]:
                self.assertEqual(parts[-2], "compilation")
                found[parts[-1]] = found.get(parts[-1], 0) + row["instances"]
        return found

    def test_compilation_is_a_phase_of_the_thread_that_compiles(self):
        rows = self.run_case("recompiled")
        self.assertEqual(self.compiled(rows), self.as_named({**self.COMPILED, "Net.forward (phases_cases.py)": 1}))
        capture = next((self.folder / "captures").glob("*.prof")).read_bytes()
        self.assertEqual(b"size mismatch at index 0. expected 2, actual 3" in capture, VERSION >= (3, 12))
        # Without anything of torch.compile's there is no phase.
        self.assertNotIn("compilation", "".join(row["path"] for row in self.run_again("recompiled", "--phases", "off")))

    def test_kernels_that_are_compiled_outside_dynamo(self):
        self.skip_where_calls_are_not_seen()
        self.assertEqual(self.compiled(self.run_case("kernels")), {
            "Triton kernels": 1, "Triton autotuning": 1, "add_kernel": 2, "Triton kernel": 1})

    def run_again(self, *arguments):
        for capture in (self.folder / "captures").glob("*.prof"):
            capture.unlink()
        return self.run_case(*arguments)

    def test_inductors_cache_has_what_it_compiled_without_libprof(self):
        if subprocess.run(["sh", "-c", "command -v c++"], stdout=subprocess.DEVNULL).returncode:
            self.skipTest("no compiler for inductor")
        if not HAS_DYNAMO:
            self.skipTest("a PyTorch before 2")
        command = [PYTHON, str(HERE / "phases_cases.py"), "cached"]
        bare = self.run_command(command)
        self.assertEqual(bare.stderr.splitlines()[-1], "2 0", bare.stderr)
        profiled = self.run_command([PROF, "run", "-o", "captures", "--export", "none", "--", *command])
        self.assertEqual(profiled.stdout, bare.stdout)
        self.assertIn("0 2", profiled.stderr.splitlines())

    def test_switched_off(self):
        self.check("plain", {}, "--phases", "off")

    def test_step_range_of_the_programs(self):
        expected = {path.removeprefix("step/"): count for path, count in self.of_training(3, data=0).items()
                    if path != "step"}
        self.check("no_loader", expected, "--step-range", "iteration")

    def test_schedule_of_observed_steps(self):
        rows = self.run_case("no_loader", "--schedule", "active=1,skip_first=1,repeat=1")
        self.assertEqual({row["path"]: row["instances"] for row in rows if row["observed"]},
                         {"step": 1, "step/zero_grad": 1, "step/forward": 1, "step/backward": 1, "step/optimizer": 1})
        step = self.report["step"]
        self.assertEqual((step["steps"], step["source"], step["ended_by"]), (1, "counted", "optimizers"))

    def test_budget_of_observed_steps(self):
        self.run_case("many_steps", "--budget", "1%")
        step = self.report["step"]
        self.assertEqual((step["source"], step["ended_by"]), ("counted", "optimizers"))
        self.assertGreaterEqual(step["steps"], 1)
        self.assertLess(step["steps"], 300)  # some of them, as chosen at random

    def test_dump_on_a_slow_observed_step(self):
        bare = self.bare_output("slow_step")
        profiled = self.run_command([PROF, "run", "-o", "captures", "--export", "none", "--keep", "1T",
                                     "--dump-on-slow-step", "100", "--dump-limit", "1", "--", PYTHON,
                                     str(HERE / "phases_cases.py"), "slow_step"])
        self.assertEqual((profiled.returncode, profiled.stdout), (3, bare), profiled.stderr)
        notes = [json.loads(self.run_command([PROF, "report", "--format", "json", str(path)]).stdout)["notes"]
                 for path in sorted((self.folder / "captures").glob("*.prof"))]
        dumps = [note for of in notes for note in of if note.startswith("a dump ")]
        self.assertEqual((len(notes), len(dumps)), (2, 1), notes)  # the capture itself, and the dump
        # The batch comes after the 20th optimizer.step(), which ends a step: that is number 19.
        self.assertRegex(dumps[0], r"step 19 took 2\d{3}\.\d* ms")


def prepare(arguments):
    """Of <prof> <version>; the arguments of unittest."""
    global PROF, PYTHON, VERSION, HAS_DYNAMO
    PROF, version = os.path.abspath(arguments[1]), arguments[2]
    made = subprocess.run([str(HERE / "torch_environment.sh"), version], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(made.returncode)
    PYTHON = made.stdout.strip()
    code = "import sys, importlib.util; print(*sys.version_info[:2], bool(importlib.util.find_spec('torch._dynamo')))"
    *numbers, has_dynamo = subprocess.check_output([PYTHON, "-c", code], text=True).split()
    VERSION, HAS_DYNAMO = tuple(map(int, numbers)), has_dynamo == "True"
    return [arguments[0], *arguments[3:]]


if __name__ == "__main__":
    unittest.main(argv=prepare(sys.argv), verbosity=2)
