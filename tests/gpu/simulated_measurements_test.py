#!/usr/bin/env python3
"""residue.py and budget.py on the simulated GPU, from beginning to end: what they find, not how long it took.

    LD_PRELOAD=libprof.so PROF_AUTOSTART=0 PROF_EXPORT=none PROF_CUPTI_LIBRARY=… \\
        simulated_measurements_test.py PROF LIBPROF CLIENT_LIBRARY LAUNCH_TURNS LIBFAKE_CUDA
"""

import contextlib
import ctypes
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import budget
import residue

PROF, LIBPROF, CLIENT, LAUNCH_TURNS, FAKE_CUDA = sys.argv[1:]


class Residue(unittest.TestCase):
    def test_each_role_has_its_windows_and_libprof_does_nothing_at_a_launch(self):
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        printed = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, environment, clear=True):
            path = pathlib.Path(folder, "figures.json")
            with contextlib.redirect_stdout(printed):
                status = residue.main(["--library", LIBPROF, "--client-library", CLIENT, "--launch-turns", LAUNCH_TURNS,
                                       "--rounds", "2", "--processes", "1", "--json", str(path)])
            figures = json.loads(path.read_text())
        self.assertEqual(status, 0)
        for workload in residue.LAUNCHES:
            self.assertEqual(set(figures[workload]["cost"]), {"control", "control, after by before", "idle", "joined", "stopped"})
            for half in figures[workload]["windows"]:
                self.assertEqual({role: [len(one) for one in processes] for role, processes in half.items()},
                                 {role: [2] for role in ("plain", "control", "idle", "joined", "stopped")})
            self.assertIn(f"{workload}: ", printed.getvalue())
        done = figures["while idle: launches,launches-two-threads"]
        self.assertEqual(set(done), {"idle", "joined", "stopped"})
        for role, entry in done.items():
            self.assertEqual(entry["subscription"], ["free"], role)
            self.assertEqual(set(entry["threads"]), {"prof-control"} | ({"prof-end"} if role == "stopped" else set()), role)
            # One look a second at whether it is alone, and some while it gets to sleep.
            self.assertLessEqual(max(entry["threads"].values()), 2 * entry["seconds"] + 5, role)


class Training:
    """Steps of one millisecond of work, of which each launches some kernels."""

    def __init__(self):
        self.cuda = ctypes.CDLL(FAKE_CUDA)
        self.steps = 0

    def step(self):
        class Dim(ctypes.Structure):
            _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]

        one = Dim(1, 1, 1)
        for _ in range(5):
            self.cuda.cudaLaunchKernel(ctypes.c_void_p(id(self)), one, one, None, ctypes.c_size_t(0), None)
        self.wait()
        self.steps += 1

    def wait(self):
        self.cuda.cudaDeviceSynchronize()


class Budget(unittest.TestCase):
    def test_a_run_with_a_budget_is_judged_by_its_windows(self):
        options = budget.parse_options(["--prof", PROF, "--budget", "50%", "--seconds", "7", "--pairs", "2", "--full-steps", "10"])
        training = Training()
        result = budget.measure(training, options)
        budget.judge(result, options)
        # Beside the timed ones: those at the beginning of each of the five segments, and the full recording.
        self.assertGreater(training.steps - 5 * 3 - 10, sum(map(len, result["step_s"])))
        self.assertEqual(len(result["windows"]), 2)
        for windows, captured, times in zip(result["windows"], result["captured_steps"], result["step_s"]):
            self.assertGreater(len(windows), 0)
            whole = [last - first + 1 for first, last in windows]
            # The last one may be cut off by the end of the recording.
            self.assertIn(captured, (sum(whole), sum(whole) - 1, sum(whole[:-1])))
            self.assertLessEqual(windows[-1][1], len(times))
            # The call that opens a window takes hold of CUPTI, in the step that the window begins with.
            opening = [times[first - 1] for first, _ in windows]
            self.assertGreater(min(opening), sorted(times)[len(times) // 2])
        self.assertEqual(result["cost"]["windows"] > 0, True)
        self.assertTrue(all(row[-1] for row in result["estimates"]), result["estimates"])
        printed = "\n".join(budget.lines(result, options))
        self.assertIn("cost around the windows ", printed)
        json.dumps(result)


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
