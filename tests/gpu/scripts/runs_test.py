# SPDX-License-Identifier: Apache-2.0
"""The verdicts on programs that were run, on small inputs worked by hand. Needs no GPU."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import capture_range
import profiler_beside
import quiescence
import windows


class ProfilerBeside(unittest.TestCase):
    def test_what_does_not_hold_is_named(self):
        kernels = {"gemm": 40, "relu": 20}
        steps = {number: 54 for number in (*range(10), *range(20, 30))}
        self.assertEqual(profiler_beside.faults(kernels, dict(kernels), steps), [])
        self.assertEqual(profiler_beside.faults(kernels, kernels, steps | {20: 0, 29: 0}), [])  # Kineto keeps CUPTI
        self.assertIn("['gemm']", profiler_beside.faults(kernels, kernels | {"gemm": 39}, steps)[0])
        self.assertIn("[7]", profiler_beside.faults(kernels, kernels, steps | {7: 53})[0])
        for wrong in (steps | {12: 54}, {number: 54 for number in range(10)}):
            self.assertEqual(len(profiler_beside.faults(kernels, kernels, wrong)), 1)
        self.assertEqual(len(profiler_beside.faults({}, {}, steps)), 1)
        self.assertEqual(profiler_beside.faults(kernels, kernels, steps, keeps_cupti=False), [])
        self.assertIn("[29]", profiler_beside.faults(kernels, kernels, steps | {29: 0}, keeps_cupti=False)[0])

    def test_protons_kernels_are_the_leaves_of_its_trees(self):
        def leaf(name, count):
            return {"frame": {"name": name}, "children": [], "metrics": {"count": count, "time (ns)": 5}}

        root = {"frame": {"name": "ROOT"}, "metrics": {"count": 0}, "children": [
            leaf("gemm", 2), {"frame": {"name": "step"}, "metrics": {}, "children": [leaf("gemm", 3), leaf("relu", 1)]}]}
        self.assertEqual(profiler_beside.proton_kernels([root, {"CUDA": {"0": {"arch": "90"}}}]), {"gemm": 5, "relu": 1})

    def test_the_operations_of_a_step_are_those_of_its_range(self):
        rows = [{"depth": 0, "name": "step 3", "ops": 7}, {"depth": 0, "name": "step", "ops": 6},
                {"depth": 1, "name": "step 5", "ops": 6}, {"depth": 2, "name": "step 4", "ops": 2},
                {"depth": 0, "name": "(no range)", "ops": 9}]
        self.assertEqual(profiler_beside.operations_by_step(rows), {3: 7, 5: 6})


class CaptureRange(unittest.TestCase):
    def test_what_does_not_hold_is_named(self):
        steps = {number: 40 for number in (10, 11, 12, 13, 14, 240, 241)}
        self.assertEqual(capture_range.faults(steps), [])
        self.assertEqual(capture_range.faults({}), ["the capture has steps []"])
        self.assertIn("22", capture_range.faults(steps | {22: 40})[0])
        self.assertIn("different", capture_range.faults(steps | {14: 39})[0])
        self.assertIn("none", capture_range.faults({number: 0 for number in steps})[0])


class Windows(unittest.TestCase):
    def test_a_program_that_died_and_steps_that_lack_kernels_are_faults(self):
        two_of_two = [[4, 5], [9, 10]]
        self.assertEqual(windows.faults(0, two_of_two, 4 * 1900), [])
        self.assertEqual(windows.faults(-11, two_of_two, 4 * 1900), ["the program's end: killed by SIGSEGV, after 2 windows"])
        self.assertEqual(windows.faults(1, two_of_two, 4 * 1900), ["the program's end: status 1, after 2 windows"])
        self.assertEqual(windows.faults(0, two_of_two, 4 * 1900 - 1), ["7599 kernels are not as many in each of 4 steps"])
        self.assertEqual(windows.faults(0, two_of_two, 0), ["0 kernels are not as many in each of 4 steps"])
        self.assertEqual(windows.faults(0, [], 0), ["there is no window"])


class Quiescence(unittest.TestCase):
    def test_operations_without_a_launch_are_counted(self):
        rows = [{"path": "step", "ops": 7}, {"path": "(unmatched)", "ops": 2}, {"path": "(no range)", "ops": 1}]
        self.assertEqual(quiescence.unmatched({"rows": rows}), (2, 10))

    def test_a_program_that_dies_is_named(self):
        def ended(status, stderr=""):
            return subprocess.CompletedProcess([], status, "", stderr)

        self.assertEqual(quiescence.program_faults(ended(0, "libprof: a line\n")), [])
        self.assertEqual(quiescence.program_faults(ended(-6, "free(): invalid pointer\nFatal Python error\n")),
                         ["killed by SIGABRT free(): invalid pointer"])
        self.assertEqual(quiescence.program_faults(ended(3)), ["status 3"])


if __name__ == "__main__":
    unittest.main()
