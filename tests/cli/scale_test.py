# SPDX-License-Identifier: Apache-2.0
"""The cost of reports and of the diagnosis grows as a trace does, in each of its dimensions. A trace is doubled twice:
what is linear costs twice as much more the second time, what is quadratic four times. The cost is the number of
instructions, which a busy machine does not change: by the processor's counter where the kernel allows that, else by
valgrind."""
import ctypes
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from torch_trace import TorchTrace

PROF = sys.argv.pop(1)
SKIP = 77
# The logarithm of a sort adds a little to 2.
MOST_GROWTH = 2.6


class Counter:
    """Of instructions of a process and its children, outside the kernel."""

    PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}

    def __init__(self):
        # perf_event_attr: hardware, instructions; disabled, inherit, exclude_kernel, exclude_hv, enable_on_exec.
        flags = 1 << 0 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 12
        attributes = struct.pack("<IIQQQQQ", 0, 128, 1, 0, 0, 0, flags).ljust(128, b"\0")
        number = self.PERF_EVENT_OPEN.get(platform.machine(), -1)
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.syscall(number, attributes, 0, -1, -1, 8) if number > 0 else -1

    def read(self):
        return struct.unpack("<Q", os.read(self.descriptor, 8))[0]


def counted_by_processor(command):
    """None: the kernel does not allow it, or the machine has no counter."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        counter = Counter()
        if counter.descriptor < 0:
            os._exit(SKIP)
        runner = os.fork()
        if runner == 0:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            os.execv(command[0], command)
        _, status = os.waitpid(runner, 0)
        os.write(into, str(counter.read()).encode())
        os._exit(os.waitstatus_to_exitcode(status))
    os.close(into)
    with os.fdopen(out) as text:
        count = text.read()
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, SKIP):
        raise AssertionError(f"{command} fails")
    return int(count or 0) or None


def counted_by_valgrind(command):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


COUNTED_BY_PROCESSOR = counted_by_processor([PROF, "--version"]) is not None
COUNTED = counted_by_processor if COUNTED_BY_PROCESSOR else counted_by_valgrind
# With valgrind a run is fifty times as long.
UNIT = 2 if COUNTED_BY_PROCESSOR else 1


def steps_of(trace, count, launches=2, took=100.0):
    for step in range(count):
        at = 1_000 + step * took
        trace.step(step, at, at + took)
        for i in range(launches):
            trace.kernel(at + 20 * i + 6, at + 20 * i + 14, at + 20 * i, name=f"kernel_{i}")


def on_device(trace, device, start, end, launched, stream, name="other"):
    correlation = trace.call("cudaLaunchKernel", launched, launched + 0.5)
    trace.on_gpu("kernel", name, start, end, correlation, stream, grid=[1, 1, 1], block=[128, 1, 1], device=device)
    trace.events[-1]["pid"] = device


class Scale(unittest.TestCase):
    def grows(self, make, size, command):
        with tempfile.TemporaryDirectory() as folder:
            costs = []
            for times in (1, 2, 4):
                trace = TorchTrace()
                make(trace, size * UNIT * times)
                path = trace.write(pathlib.Path(folder, f"{times}.json"))
                costs.append(COUNTED([PROF, *command, str(path)]))
            growth = (costs[2] - costs[1]) / (costs[1] - costs[0])
            print(f"{self.id()}: {costs} instructions, {growth:.2f}")
            self.assertLess(growth, MOST_GROWTH)

    def both(self, make, size):
        for command in (["report", "--report", "gpu-projection,breakdown,idle", "--format", "json"], ["diagnose"]):
            with self.subTest(command[0]):
                self.grows(make, size, command)

    def test_steps(self):
        self.both(steps_of, 250)

    def test_idle_gpu(self):
        """A second GPU that is idle from the first step to the last one."""

        def make(trace, size):
            on_device(trace, 1, 1_001, 1_002, 1_000.2, 20)
            steps_of(trace, size, launches=1)
            end = 1_000 + 100 * size
            on_device(trace, 1, end - 2, end - 1, end - 3, 20)

        self.both(make, 500)

    def test_streams(self):
        def make(trace, size):
            steps_of(trace, 100)
            for i in range(size):
                on_device(trace, 0, 1_050 + 20 * i, 1_060 + 20 * i, 1_045 + 20 * i, 100 + i)

        self.both(make, 100)

    def test_threads(self):
        def make(trace, size):
            steps_of(trace, 20)
            for i in range(size):
                at = 1_050 + 20 * i
                trace.kernel(at + 6, at + 8, at, thread=1_000 + i, name="of a thread")
                trace.row("user_annotation", "work", at - 1, at + 10, 1_000 + i)

        self.both(make, 100)

    def test_names_of_ranges(self):
        def make(trace, size):
            for step in range(size // 10):
                at = 1_000 + step * 1_000
                trace.step(step, at, at + 1_000)
                for i in range(10):
                    trace.range(f"range {chr(97 + step % 26)}{step * 10 + i}x", at + 100 * i + 1, at + 100 * i + 99)
                    trace.kernel(at + 100 * i + 20, at + 100 * i + 30, at + 100 * i + 10)

        self.both(make, 250)

    def test_names_of_kernels(self):
        def make(trace, size):
            for step in range(size // 10):
                at = 1_000 + step * 1_000
                trace.step(step, at, at + 1_000)
                for i in range(10):
                    trace.kernel(at + 100 * i + 20, at + 100 * i + 30, at + 100 * i + 10, name=f"k{step * 10 + i}x")

        self.both(make, 250)

    def test_gpus(self):
        """Each is idle but for its first and its last operation."""

        def make(trace, size):
            steps_of(trace, 100)
            for device in range(1, size):
                for at in (1_000 + device, 10_900 + device):
                    on_device(trace, device, at + 5, at + 5.5, at, 7)

        self.both(make, 6)


if __name__ == "__main__":
    if not COUNTED_BY_PROCESSOR and shutil.which("valgrind") is None:
        print("skipped: neither the processor nor valgrind counts instructions")
        sys.exit(SKIP)
    unittest.main()
