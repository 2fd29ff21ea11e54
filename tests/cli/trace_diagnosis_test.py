#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof diagnose on traces of torch.profiler with a flaw of known size. What a step would gain is worked out by hand.

    trace_diagnosis_test.py PROF STUB_LIBPROF [TEST...]
"""
import json
import sys
import unittest

from cli_test import CommandLine
from torch_trace import TorchTrace

STEPS = 14


def host_gap(trace, at):
    """640 us: 500 us without a call, of which the first kernel hides 100. Without them the second kernel begins when
    the first ends, at 120, and the step ends 15 us after it, at 235: 405 us less."""
    trace.kernel(at + 20, at + 120, at + 10)
    trace.kernel(at + 525, at + 625, at + 515)
    trace.call("cudaDeviceSynchronize", at + 521, at + 630)
    return at + 640


def pageable_copy(trace, at):
    """543 us: the copy holds the host up from 10 to 310. An asynchronous call takes the 4 us of the other copy's, so that
    the kernel begins at 29 and not at 325: 296 us less."""
    trace.operator("aten::copy_", at + 9, at + 311)
    copy = trace.call("cudaMemcpyAsync", at + 10, at + 310)
    trace.on_gpu("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 15, at + 305, copy, bytes=1 << 20)
    trace.kernel(at + 325, at + 525, at + 315)
    within = trace.call("cudaMemcpyAsync", at + 321, at + 325)
    trace.on_gpu("gpu_memcpy", "Memcpy DtoD (Device -> Device)", at + 526, at + 528, within, bytes=1 << 20)
    trace.call("cudaDeviceSynchronize", at + 326, at + 533)
    return at + 543


def wait(trace, at):
    """606 us: the host waits for the first kernel before it prepares the second, and the GPU is idle for 105 us. The
    next step's first kernel is launched meanwhile, and follows after 1 us. Without the wait both follow after 1 us, so
    that a step takes 502: 104 us less."""
    trace.kernel(at + 192, at + 492, at + 10)
    trace.call("cudaStreamSynchronize", at + 16, at + 497)
    trace.kernel(at + 597, at + 797, at + 587)
    return at + 606


def launch_bound(trace, at):
    """510 us: 20 launches, one each 24 us, of kernels of 6 us. If the host needs no time for launches and between them,
    a step has 10 us until the first kernel begins, 120 us of kernels, and 5 us until the call returns that waits: 375
    us less. Between kernels of a graph there is a little time: at most 2 us in all."""
    for i in range(20):
        launched = at + 10 + 24 * i
        trace.kernel(launched + 10, launched + 16, launched, 20)
    trace.call("cudaDeviceSynchronize", at + 487, at + 500)
    return at + 510


def no_flaw(trace, at):
    """The host is ahead of the GPU, which is always busy."""
    for i in range(4):
        trace.kernel(at + 150 * i + 51, at + 150 * i + 200, at + 10 * i)
    return at + 600


def steps_of(body, with_steps=True, steps=STEPS):
    trace, at = TorchTrace(), 1000.0
    for number in range(steps):
        end = body(trace, at)
        if with_steps:
            trace.step(number, at, end)
        at = end
    return trace


class TraceDiagnosis(CommandLine):
    def diagnose(self, trace, status=0):
        path = trace.write(self.dir / "trace.json")
        result = self.prof("diagnose", "--format", "json", str(path))
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)[0]

    def check_first(self, found, rule, gain_us, delta_us):
        first = found["rows"][0]
        self.assertEqual(first["rule"], rule)
        self.assertAlmostEqual(first["gain_ns"] / 1000, gain_us, delta=delta_us)

    def test_host_gap(self):
        found = self.diagnose(steps_of(host_gap))
        self.check_first(found, "host_code", 405, 5)
        self.assertAlmostEqual(found["step_ns"], 640_000, delta=1000)

    def test_pageable_copy(self):
        self.check_first(self.diagnose(steps_of(pageable_copy)), "pageable_copies", 296, 3)

    def test_wait(self):
        self.check_first(self.diagnose(steps_of(wait)), "synchronization", 104, 3)

    def test_launch_bound(self):
        self.check_first(self.diagnose(steps_of(launch_bound)), "launch_bound", 374, 1)

    def test_no_flaw(self):
        self.assertEqual(self.diagnose(steps_of(no_flaw))["rows"], [])

    def test_truncated_at_both_ends(self):
        """The profiler began and ended within a step: what overlaps the cut is missing, on the host and on the GPU."""
        whole = steps_of(host_gap)
        begin, end = 1000 + 640 * 1 + 518, 1000 + 640 * 12 + 519
        cut = TorchTrace()
        cut.events = [event for event in whole.events if begin <= event["ts"] and event["ts"] + event["dur"] <= end]
        self.assertLess(len(cut.events), len(whole.events) - 6)
        launched = {event["args"]["correlation"] for event in cut.events if event["cat"] == "cuda_runtime"}
        kernels = {event["args"]["correlation"] for event in cut.events if event["cat"] == "kernel"}
        self.assertTrue(kernels - launched)
        self.assertTrue(launched - kernels)
        found = self.diagnose(cut)
        self.check_first(found, "host_code", 405, 5)
        self.assertAlmostEqual(found["step_ns"], 640_000, delta=1000)

    def test_without_gpu_work(self):
        trace = TorchTrace()
        for number in range(STEPS):
            at = 1000.0 + 500 * number
            trace.step(number, at, at + 500)
            trace.operator("aten::mm", at + 10, at + 400, number=number)
        found = self.diagnose(trace, status=1)
        self.assertEqual((found["rows"], found["looked"]), ([], []))
        self.assertIn("ProfilerActivity.CUDA", " ".join(found["not_looked"]))

    def test_without_steps(self):
        """Prices are of all that was recorded: 405 us in each of 14 rounds, but for those at the ends."""
        found = self.diagnose(steps_of(host_gap, with_steps=False))
        self.assertIn("steps: none were found", " ".join(found["not_looked"]))
        self.check_first(found, "host_code", 405 * STEPS, 405)

    def test_lines_of_functions(self):
        """A step of 4 ms made with_stack: 60 us of a copy, whose stack is not recorded, and 768 us of the wait for it in
        compute(); and 1,900 us of host code: load() and augment(). Of host code the stack is
        known at the middle of each third. From one such moment to the middle between it and the next the line is its."""
        trace = TorchTrace()
        for number in range(STEPS):
            at = 1000 + 4000 * number
            trace.step(number, at, at + 4000)
            trace.row("python_function", "train.py(8): train", at, at + 4000)
            trace.row("python_function", "loss.py(20): compute", at + 100, at + 1500)
            trace.kernel(at + 120, at + 1000, at + 100)
            copy = trace.call("cudaMemcpyAsync", at + 200, at + 260)
            trace.on_gpu("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", at + 1010, at + 1020, copy)
            trace.call("cudaStreamSynchronize", at + 262, at + 1030)
            trace.kernel(at + 1510, at + 2000, at + 1505)
            trace.row("python_function", "data.py(3): load", at + 1600, at + 2300)
            trace.row("python_function", "images.py(7): augment", at + 2300, at + 3400)
            trace.kernel(at + 3410, at + 3900, at + 3410)
        path = trace.write(self.dir / "trace.json")
        report = json.loads(self.prof("report", "--report", "lines,diagnose_places", "--format", "json", str(path)).stdout)
        rows = {(row["line"], row["cause"]): row for row in report[0]["rows"]}

        def check(line, cause, each_us, count, longest_us):
            row = rows[line, cause]
            self.assertAlmostEqual(row["cost_ns"] / 1000, each_us, delta=1, msg=line)
            self.assertEqual(row["count"], count, line)
            self.assertAlmostEqual(row["longest_ns"] / 1000, longest_us, delta=1, msg=line)

        check("loss.py", "pageable copy", 768, 1, 768)
        check("(not known)", "pageable copy", 60, 1, 60)
        # Moments at 1827, 2460 and 3093 of 1510 to 3410: load() until the middle of the first two, 2143.
        check("data.py", "host code", 633.33, 1, 633.33)
        check("images.py", "host code", 1266.66, 1, 1266.66)
        places = report[1]["rows"]
        self.assertTrue(places)
        for row in places:
            self.assertGreater(row["count"], 0, row)
            self.assertLessEqual(row["longest_ns"], row["cost_ns"] * STEPS, row)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
