# SPDX-License-Identifier: Apache-2.0
"""What a range costs in Python: libprof's beside the nvtx package's and PyTorch's, in one process.

    PYTHONPATH=build/ci/python python3 tests/lab/python_ranges.py --windows 301

Each contender makes ranges in windows, in turn, with and without a recording. Of each window the cost of an empty loop
is subtracted; the figures are medians over the windows, in ns a range, and the ratio to libprof's.
"""
import argparse
import statistics
import time

import libprof

NAME = "forward"
LOOP = 500


def empty():
    for _ in range(LOOP):
        pass


def blocks(make):
    """A loop of `with make(NAME)`."""

    def loop():
        for _ in range(LOOP):
            with make(NAME):
                pass

    return loop


def pairs(push, pop):
    def loop():
        for _ in range(LOOP):
            push(NAME)
            pop()

    return loop


def made_once():
    this = libprof.range(NAME)
    for _ in range(LOOP):
        with this:
            pass


def contenders():
    out = {"empty": empty, "libprof.range, made once": made_once, "libprof.range": blocks(libprof.range),
           "libprof.range_push, _pop": pairs(libprof.range_push, libprof.range_pop)}
    try:
        import nvtx

        out["nvtx.annotate"] = blocks(nvtx.annotate)
        out["nvtx.push_range, pop_range"] = pairs(nvtx.push_range, nvtx.pop_range)
    except ImportError:
        print("not measured: no package nvtx")
    try:
        import torch

        of_torch = torch.cuda.nvtx
        of_torch.range_push(NAME)
        of_torch.range_pop()
        out["torch.cuda.nvtx.range"] = blocks(of_torch.range)
        out["torch.cuda.nvtx.range_push, _pop"] = pairs(of_torch.range_push, of_torch.range_pop)
        out["torch.profiler.record_function"] = blocks(torch.profiler.record_function)
    except (ImportError, RuntimeError) as failure:
        print(f"not measured: torch.cuda.nvtx: {str(failure).splitlines()[0]}")
    return out


def measure(functions, windows):
    times = {name: [] for name in functions}
    for _ in range(windows):
        for name, function in functions.items():
            begin = time.perf_counter_ns()
            function()
            times[name].append((time.perf_counter_ns() - begin) / LOOP)
            if libprof.is_recording():
                libprof.sync()  # the rings are empty again
    base = statistics.median(times.pop("empty"))
    return {name: statistics.median(values) - base for name, values in times.items()}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--windows", type=int, default=101)
    windows = arguments.parse_args().windows
    functions = contenders()
    for title, is_on in (("nothing is recorded", False), ("recording", True)):
        if is_on:
            import tempfile

            libprof.start(output_dir=tempfile.mkdtemp(), export=[], pytorch="off", memory="512M")
            with libprof.range(NAME):  # a recording begins with its first range
                pass
        elif libprof.is_recording():
            print("run it without prof run: it records by itself")
            return
        measure(functions, 3)
        found = measure(functions, windows)
        if is_on:
            title += f", dropped: {libprof.status()['dropped'] or 'nothing'}"
            libprof.stop()
        own = found["libprof.range"]
        print(f"\n{title}: ns a range, and beside libprof.range")
        for name, value in found.items():
            print(f"  {name:34} {value:8.1f}  {value / own:6.2f}")


if __name__ == "__main__":
    main()
