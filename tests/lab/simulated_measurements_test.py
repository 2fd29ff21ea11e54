#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""residue.py and budget.py on the simulated GPU, from beginning to end: what they find, not how long it took.

    LD_PRELOAD=libprof.so PROF_AUTOSTART=0 PROF_EXPORT=none PROF_CUPTI_LIBRARY=… \\
        simulated_measurements_test.py PROF LIBPROF CLIENT_LIBRARY LAUNCH_TURNS \\
            LIBFAKE_CUDA NVTX_LIBRARY
"""

import contextlib
import ctypes
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import budget
import residue
import residue_cost
import residue_server

PROF, LIBPROF, CLIENT, LAUNCH_TURNS, FAKE_CUDA, NVTX = sys.argv[1:]


class Residue(unittest.TestCase):
    def test_each_role_has_its_windows_and_libprof_does_nothing_at_a_launch(self):
        roles = ("plain", "control", "idle", "quiet", "bystander", "joined", "stopped", "whole-graphs")
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "figures.json")
            with contextlib.redirect_stdout(printed):
                status = residue.main(["--library", LIBPROF, "--client-library", CLIENT, "--launch-turns", LAUNCH_TURNS,
                                       "--rounds", "2", "--processes", "1", "--json", str(path),
                                       "--roles", ",".join(roles)])
            figures = json.loads(path.read_text())
        self.assertEqual(status, 0)
        for workload in residue_cost.LAUNCHES:
            for kind in residue_cost.FIGURES:
                self.assertEqual(set(figures[workload][kind]["cost"]), {*roles[1:], "control, after by before"})
            self.assertTrue(all(typical >= fastest for half in figures[workload]["windows"]
                                for typical, fastest in half["plain"][0]))
            for half in figures[workload]["windows"]:
                self.assertEqual({role: [len(one) for one in processes] for role, processes in half.items()},
                                 {role: [2] for role in roles})
            self.assertIn(f"{workload}: ", printed.getvalue())
        done = figures["while idle: launches,launches-two-threads"]
        self.assertEqual(set(done), {"idle", "quiet", "joined", "stopped"})
        expected = {"quiet": set(), "stopped": {"prof-control", "prof-end"}}
        for role, entry in done.items():
            self.assertEqual(entry["subscription"], ["free"], role)
            self.assertEqual(set(entry["threads"]), expected.get(role, {"prof-control"}), role)
            # One look a second at whether it is alone, and some while it gets to sleep.
            self.assertLessEqual(max(entry["threads"].values(), default=0), 2 * entry["seconds"] + 5, role)


class Ranges(unittest.TestCase):
    def test_the_ranges_of_a_step_are_counted(self):
        class Idle:
            def step(self):
                pass

            def wait(self):
                pass

        class Work(Idle):
            def step(self):
                for _ in range(3):
                    nvtx.push(b"outer")
                    nvtx.push(b"inner")
                    nvtx.pop()
                    nvtx.pop()

        nvtx = ctypes.CDLL(NVTX)
        self.assertEqual(residue_server.answer("ranges", {"launch-bound": Work(), "graph-replay": Idle()}, "none", "", ""),
                         "6 in launch-bound, 0 in graph-replay")


class Dim(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint) for name in "xyz"]


class Training:
    """Each step launches five kernels of 0.2 ms, whose name holds the segment and the step in it."""

    def __init__(self):
        self.cuda = ctypes.CDLL(FAKE_CUDA)
        self.segment, self.number, self.kernels = 0, 0, 0

    def step(self):
        self.number += 1
        self.kernels += 1
        kernel, one = ctypes.c_void_p(self.kernels), Dim(1, 1, 1)
        self.cuda.fake_gpu_register_kernel(kernel, f"segment {self.segment} step {self.number}".encode(), ctypes.c_uint64(200_000))
        for _ in range(5):
            self.cuda.cudaLaunchKernel(kernel, one, one, None, ctypes.c_size_t(0), None)
        self.wait()

    def wait(self):
        self.cuda.cudaDeviceSynchronize()


class Budget(unittest.TestCase):
    def measure(self, options):
        training, segment = Training(), budget.segment

        def counted(*arguments):
            training.segment, training.number = training.segment + 1, -3  # three steps that are not counted
            return segment(*arguments)

        with unittest.mock.patch.object(budget, "segment", counted):
            result = budget.measure(training, options)
        budget.judge(result, options)
        return result

    def captured(self, capture):
        """[segment, step] of each kernel."""
        command = [PROF, "report", "--report", "kernels", "--format", "json", capture]
        rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["rows"]
        return sorted([int(word) for word in row["name"].split()[1::2]] for row in rows)

    def test_a_run_with_a_budget_is_judged_by_its_windows(self):
        options = budget.parse_options(["--prof", PROF, "--budget", "5%", "--seconds", "4", "--pairs", "2", "--full-steps", "10"])
        result = self.measure(options)
        self.assertEqual(len(result["windows"]), 2)
        for number, windows in enumerate(result["windows"]):
            steps = [step for first, last in windows for step in range(first, last + 1)]
            self.assertGreater(len(steps), 0)
            # The steps of the windows are the ones whose kernels are in the capture, and they were timed.
            self.assertEqual(self.captured(result["captures"][number]), [[2 * number + 2, step] for step in steps])
            self.assertLessEqual(steps[-1], len(result["step_s"][number]))
        for times in result["step_s"]:
            self.assertGreaterEqual(min(times), 0.001)
        self.assertEqual(result["cost"]["windows"] > 0, True)
        self.assertEqual([row[0] for row in result["estimates"]], ["(no range)", "all GPU work"])
        self.assertAlmostEqual(result["estimates"][1][1], 1e6, delta=1e3)
        self.assertIn("cost around the windows ", "\n".join(budget.lines(result, options)))
        json.dumps(result)


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
