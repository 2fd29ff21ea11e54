#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a run under `budget=1%` loses, and whether its estimates are right, in one process.

    LD_PRELOAD=libprof.so PROF_AUTOSTART=0 PROF_EXPORT=none PROF_OUTPUT_DIR=DIR \\
        budget.py --prof PROF --budget 1% --seconds 200 --json FILE

Segments of the same training alternate: off, on, off, on, …, off; the `on` segments are twice as long. Each of these is
a recording of its own, so that it includes the first window's cost. Two figures are given:

- The cost around the windows (budget_cost.py): every step is timed, and the excess of the steps in and around each
  window over the plain steps beside them is added up. It includes one start and one stop, as a run has. Beside it
  stands how often libprof's threads woke up a second, in windows and between them.
- The cost of whole stretches: the time a step of each `on` divided by the mean of the two `off` around it, and the mean
  of these.

The verdict is by the first. Stretches of a launch-bound training differ by several percent without any tool, far more
than the budget, whereas the first has only the noise of the few steps around windows.
The cost holds if the interval's upper bound is within the budget and is missed if the lower one is over it; with fewer
than eight windows it is inconclusive.
"""

import argparse
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import budget_cost
import capture_chunks
import overhead
import residue

TOLERANCE = 0.02
LEAST_STEPS = 150  # of a segment: the first window comes after 78 at most (docs/guide/budget.md)


def segment(training, seconds, mark):
    """The seconds that each step took, over about so many; and milliseconds a step, the wait at the end among them."""
    gc.collect()
    for _ in range(3):
        training.step()
    training.wait()
    times = [time.perf_counter()]
    while times[-1] - times[0] < seconds or len(times) <= LEAST_STEPS:
        mark()
        training.step()
        times.append(time.perf_counter())
    training.wait()
    ms = 1000 * (time.perf_counter() - times[0]) / (len(times) - 1)
    return [after - before for before, after in zip(times, times[1:])], ms


def costs(off, on):
    """Of each `on` beside the two `off` around it, as a share."""
    return [2 * one / (before + after) - 1 for one, before, after in zip(on, off, off[1:])]


def mean_with_interval(values):
    return {
        "mean": statistics.fmean(values),
        "interval95": overhead.interval(lambda source: statistics.fmean(source.choices(values, k=len(values)))),
    }


def pooled(reports):
    """Estimates of several recordings of the same training: by path the mean, weighted by steps, and half its interval."""
    totals = {}
    for report in reports:
        for row in report["rows"]:
            weight = report["captured_steps"]
            entry = totals.setdefault(row["path"], [0, 0.0, 0.0])
            entry[0] += weight
            entry[1] += weight * row["gpu_ns"]
            entry[2] += (weight * (row["half_width_ns"] or 0)) ** 2
    return {path: (total / weight, squares**0.5 / weight) for path, (weight, total, squares) in totals.items()}


def compare(estimated, full, least_share=0.01):
    """Rows with at least a share of all GPU work: [path, estimated ns, half width ns, full ns, is right]."""
    rows = []
    for path, (true_ns, _) in full.items():
        if true_ns < least_share * full["all GPU work"][0]:
            continue
        ns, half_width = estimated.get(path, (0.0, 0.0))
        is_right = abs(ns - true_ns) <= max(TOLERANCE * true_ns, half_width)
        rows.append([path, ns, half_width, true_ns, is_right])
    return rows


def steps_report(prof, capture):
    command = [prof, "report", "--report", "steps", "--format", "json", str(capture)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prof", required=True, metavar="FILE", help="the prof command")
    parser.add_argument("--budget", default="1%")
    parser.add_argument("--workload", choices=sorted(overhead.WORKLOADS), default="launch-bound")
    parser.add_argument("--seconds", type=float, default=200, help="of all segments but the full recording (%(default)s)")
    parser.add_argument("--pairs", type=int, default=4, help="segments with a budget (%(default)s)")
    parser.add_argument("--one-core", action="store_true", help="the threads that launch share one; libprof's have the others")
    parser.add_argument("--full-steps", type=int, default=60, help="recorded in full (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write all figures here")
    return parser.parse_args(arguments)


def capture_path(library):
    import ctypes

    library.prof_capture_path.restype = ctypes.c_size_t
    text = ctypes.create_string_buffer(4096)
    library.prof_capture_path(text, ctypes.c_size_t(len(text)))
    return text.value.decode()


def measure(training, options):
    budgeted = overhead.make_tool(f"prof:budget={options.budget}")
    library = budgeted.library
    each = options.seconds / (3 * options.pairs + 1)
    off, on, steps, captures, once, woken = [], [], [], [], [], {}
    off.append(segment(training, each, lambda: None)[1])
    for _ in range(options.pairs):
        with overhead.on_other_cores():
            start_ms = overhead.timed_ms(budgeted.start)
        before = residue.wake_ups(os.getpid())
        times, ms = segment(training, 2 * each, library.prof_step)
        for name, count in residue.wake_ups(os.getpid()).items():
            woken[name] = woken.get(name, 0) + count - before.get(name, 0)
        once.append(start_ms + overhead.timed_ms(budgeted.stop))
        on.append(ms)
        steps.append(times)
        captures.append(capture_path(library))
        off.append(segment(training, each, lambda: None)[1])
    full = overhead.make_tool("prof")
    with overhead.on_other_cores():
        full.start()
    for _ in range(options.full_steps):
        library.prof_step()
        training.step()
    training.wait()
    full.stop()
    return {
        "off_ms": off, "on_ms": on, "start_and_stop_ms": once, "step_s": steps, "captures": captures,
        "full": capture_path(library),
        "wake_ups_a_second": {name: count / sum(map(sum, steps)) for name, count in woken.items()},
    }


def judge(result, options):
    """Adds the figures to what was measured."""
    windows = [capture_chunks.windows(capture) for capture in result["captures"]]
    stretches = [budget_cost.Stretch(*one) for one in zip(result["step_s"], windows)]
    result["windows"] = windows
    result["cost"] = budget_cost.cost(stretches, statistics.median(result["start_and_stop_ms"]) / 1000)
    result["verdict"] = budget_cost.verdict(result["cost"], float(options.budget.rstrip("%")) / 100)
    result["cost_of_stretches"] = mean_with_interval(costs(result["off_ms"], result["on_ms"]))
    reports = [steps_report(options.prof, capture) for capture in result["captures"]]
    result["captured_steps"] = [report["captured_steps"] for report in reports]
    result["estimates"] = compare(pooled(reports), pooled([steps_report(options.prof, result["full"])]))


def lines(result, options):
    def percent(name):
        low, high = result[name]["interval95"]
        return f"{100 * result[name]['mean']:+.2f} % [{100 * low:+.2f}, {100 * high:+.2f}]"

    count = sum(map(len, result["step_s"]))
    yield (
        f"{options.workload}, budget {options.budget}: {statistics.median(result['off_ms']):.3f} ms a step; captured "
        f"{sum(result['captured_steps'])} of {count} steps in {sum(map(len, result['windows']))} windows"
    )
    yield f"cost around the windows {percent('cost')}: {result['verdict']}; whole stretches {percent('cost_of_stretches')}"
    woken = ", ".join(f"{name} {rate:.1f}" for name, rate in result["wake_ups_a_second"].items())
    yield f"wake-ups a second: {woken}; start and stop {statistics.median(result['start_and_stop_ms']):.1f} ms"
    for path, ns, half_width, true_ns, is_right in result["estimates"]:
        yield (
            f"{path}: {ns / 1e6:.4f} ms +/- {half_width / 1e6:.4f}, full {true_ns / 1e6:.4f} ms, "
            f"{100 * (ns / true_ns - 1):+.2f} %: {'right' if is_right else 'WRONG'}"
        )


def main(arguments=None):
    options = parse_options(arguments)
    if not overhead.has_gpu("budget.py"):
        return overhead.SKIP
    sys.path.insert(0, str(overhead.ROOT / "examples"))
    import train

    if options.one_core:
        overhead.launch_on_one_core()
    training = train.Training(train.parse_options(overhead.WORKLOADS[options.workload][0]))
    overhead.window_ms(training, 10, 20)
    gc.disable()
    result = measure(training, options)
    judge(result, options)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result))
    print("\n".join(lines(result, options)))
    return 0 if all(row[-1] for row in result["estimates"]) and result["verdict"] != "missed" else 1


if __name__ == "__main__":
    sys.exit(main())
