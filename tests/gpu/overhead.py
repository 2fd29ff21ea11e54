#!/usr/bin/env python3
"""Measures what a profiler costs a training step, in one process with windows interleaved.

    LD_PRELOAD=libprof.so PROF_AUTOSTART=0 PROF_EXPORT=none overhead.py --tool prof --size launch-bound

Windows of steps alternate: off, on, off, on, …, off. Each `on` window is divided by the mean of
the two beside it, so that a drifting clock cancels out; the figure is the median of these ratios,
with a 95 % interval by bootstrap. Windows before the first start tell what stays behind after a
stop. The tool `none` starts nothing: its interval is the noise of the method.
"""

import argparse
import ctypes
import gc
import json
import pathlib
import random
import statistics
import sys
import time

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

SIZES = {
    "launch-bound": ["--batch", "4", "--seq", "256", "--amp", "--no-foreach"],
    "gpu-bound": ["--batch", "16", "--seq", "1024", "--amp", "--foreach"],
}
SKIP = 77  # ctest's word for "not run"


class NoTool:
    def start(self):
        pass

    def stop(self):
        pass


class Prof:
    """libprof through its C ABI, in the copy that is already in this process."""

    def __init__(self):
        with open("/proc/self/maps") as maps:
            paths = {line.split()[-1] for line in maps if "libprof.so" in line}
        if not paths:
            raise SystemExit("overhead.py: libprof.so is not in this process; set LD_PRELOAD")
        self.library = ctypes.CDLL(paths.pop())
        self.library.prof_start.argtypes = [ctypes.c_void_p]
        self.library.prof_start.restype = ctypes.c_int
        self.library.prof_stop.argtypes = []
        self.library.prof_stop.restype = ctypes.c_int
        self.library.prof_last_error.argtypes = []
        self.library.prof_last_error.restype = ctypes.c_char_p

    def start(self):
        self._expect_zero("prof_start", self.library.prof_start(None))

    def stop(self):
        self._expect_zero("prof_stop", self.library.prof_stop())

    def _expect_zero(self, function, result):
        if result != 0:
            reason = self.library.prof_last_error().decode(errors="replace")
            raise SystemExit(f"overhead.py: {function} returned {result}: {reason}")


class Torch:
    def __init__(self, with_cpu):
        from torch.profiler import ProfilerActivity

        self.activities = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if with_cpu else [])
        self.profiler = None

    def start(self):
        from torch.profiler import profile

        self.profiler = profile(activities=self.activities)
        self.profiler.start()

    def stop(self):
        self.profiler.stop()
        self.profiler = None


TOOLS = {
    "none": NoTool,
    "prof": Prof,
    "torch-cuda": lambda: Torch(with_cpu=False),
    "torch-cpu-cuda": lambda: Torch(with_cpu=True),
}


def window_ms(training, steps, settle):
    """Milliseconds a step, after `settle` steps that are not counted."""
    gc.collect()
    for _ in range(settle):
        training.step()
    training.wait()
    started = time.perf_counter()
    for _ in range(steps):
        training.step()
    training.wait()
    return 1000 * (time.perf_counter() - started) / steps


def timed_ms(action):
    started = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - started)


def measure(training, tool, pairs, steps, settle):
    windows = {"before": [], "off": [], "on": [], "start_ms": [], "stop_ms": []}
    windows["before"] = [window_ms(training, steps, settle) for _ in range(max(4, pairs // 2))]
    windows["off"].append(window_ms(training, steps, settle))
    for _ in range(pairs):
        windows["start_ms"].append(timed_ms(tool.start))
        windows["on"].append(window_ms(training, steps, settle))
        windows["stop_ms"].append(timed_ms(tool.stop))
        windows["off"].append(window_ms(training, steps, settle))
    return windows


def interval(resample, seed=1, rounds=10_000):
    """The middle 95 % of `resample(random)`."""
    source = random.Random(seed)
    results = sorted(resample(source) for _ in range(rounds))
    return [results[int(0.025 * rounds)], results[int(0.975 * rounds)]]


def median_with_interval(values):
    return {
        "median": statistics.median(values),
        "interval95": interval(lambda source: statistics.median(source.choices(values, k=len(values)))),
    }


def ratio_with_interval(above, below):
    def resampled(source):
        return statistics.median(source.choices(above, k=len(above))) / statistics.median(
            source.choices(below, k=len(below))
        )

    return {
        "median": statistics.median(above) / statistics.median(below),
        "interval95": interval(resampled),
    }


def summary(windows):
    off = windows["off"]
    beside = [on / ((before + after) / 2) for on, before, after in zip(windows["on"], off, off[1:])]
    return {
        "before_ms": statistics.median(windows["before"]),
        "off_ms": statistics.median(off),
        "on_ms": statistics.median(windows["on"]),
        "start_ms": statistics.median(windows["start_ms"]),
        "stop_ms": statistics.median(windows["stop_ms"]),
        "on_beside_off": median_with_interval(beside),
        "on_beside_before": ratio_with_interval(windows["on"], windows["before"]),
        # off[0] stands before the first start
        "after_beside_before": ratio_with_interval(off[1:], windows["before"] + off[:1]),
    }


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", choices=sorted(TOOLS), default="prof")
    parser.add_argument("--size", choices=sorted(SIZES), default="launch-bound")
    parser.add_argument("--pairs", type=int, default=12, help="windows with the tool on (%(default)s)")
    parser.add_argument("--steps", type=int, help="a window (30; gpu-bound 14)")
    parser.add_argument("--settle", type=int, default=3, help="uncounted steps before each window (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write all figures here")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse_options(arguments)
    try:
        import torch
    except ImportError:
        print("overhead.py: skipped, there is no PyTorch")
        return SKIP
    if not torch.cuda.is_available():
        print("overhead.py: skipped, there is no GPU")
        return SKIP
    sys.path.insert(0, str(EXAMPLES))
    import train

    tool = TOOLS[options.tool]()
    training = train.Training(train.parse_options(SIZES[options.size]))
    steps = options.steps or (14 if options.size == "gpu-bound" else 30)
    window_ms(training, 10, 10)
    gc.disable()  # a collection inside a window would be charged to whatever is on
    windows = measure(training, tool, options.pairs, steps, options.settle)
    result = {
        "tool": options.tool,
        "size": options.size,
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "pairs": options.pairs,
        "steps_per_window": steps,
        **summary(windows),
        "windows": windows,
    }
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1))

    def percent(figure):
        low, high = (100 * (bound - 1) for bound in figure["interval95"])
        return f"{100 * (figure['median'] - 1):+.1f} % [{low:+.1f}, {high:+.1f}]"

    print(
        f"{options.size}, {options.tool}: off {result['off_ms']:.3f} ms a step, "
        f"on {percent(result['on_beside_off'])} beside off, {percent(result['on_beside_before'])} beside before; "
        f"after stop {percent(result['after_beside_before'])}; "
        f"start {result['start_ms']:.1f} ms, stop {result['stop_ms']:.1f} ms"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
