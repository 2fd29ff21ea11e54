#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hundreds of windows in a program that keeps launching: it must survive, and the capture must have each step whole.

    windows.py --library libprof.so --prof PROF --seconds 30

Between two windows one of libprof's threads finalizes CUPTI and subscribes again, while the program's threads launch.
Each workload has a process of its own, which steps for that long under a schedule of short windows. It must end by
itself, and windows with equally many steps must have equally many kernels. If it dies, the Python stacks of its threads
and the number of windows so far are printed.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lab"))

import capture_chunks
import overhead

WORKLOADS = ("launch-bound", "two-threads", "graph-replay")
SCHEDULE = "wait=3,warmup=1,active=2"


def cycle_of(schedule):
    """Steps from a window's end to the next one's."""
    numbers = dict(part.split("=") for part in schedule.split(","))
    return sum(int(numbers.get(name, 0)) for name in ("wait", "warmup", "active"))


def serve(workload, seconds):
    import ctypes

    import residue_server

    sys.path.insert(0, str(overhead.ROOT / "examples"))
    work = residue_server.make_workload(workload)
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    steps = 0
    began = time.monotonic()
    cycle = cycle_of(os.environ["PROF_SCHEDULE"])
    while steps % cycle != 0 or time.monotonic() - began < seconds:  # the last window ends, too
        work.step()
        library.prof_step()
        steps += 1
    work.wait()
    print(f"{steps} steps", flush=True)


def ending(status):
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"status {status}"


def kernels(prof, capture):
    command = [prof, "report", "--report", "kernels", "--format", "json", str(capture)]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return sum(row["instances"] for row in report["rows"])


def faults(status, windows, kernel_count):
    """What is wrong, a line each. `windows`: [first step, last step]."""
    found = []
    if status != 0:
        found.append(f"the program's end: {ending(status)}, after {len(windows)} windows")
    if not windows:
        found.append("there is no window")
    steps = sum(last - first + 1 for first, last in windows)
    if status == 0 and windows and (kernel_count == 0 or kernel_count % steps != 0):
        found.append(f"{kernel_count} kernels are not as many in each of {steps} steps")
    return found


def run(workload, options):
    """True if it is as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "LD_PRELOAD": str(pathlib.Path(options.library).resolve()), "PROF_OUTPUT_DIR": folder, "PROF_EXPORT": "none",
            "PROF_SCHEDULE": options.schedule, "PYTHONFAULTHANDLER": "1",
        }
        command = [sys.executable, __file__, "--serve", workload, "--seconds", str(options.seconds)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=options.seconds + 120)
        for capture in pathlib.Path(folder).glob("*.prof"):
            if done.returncode != 0:
                subprocess.run([options.prof, "seal", str(capture)], capture_output=True)
            windows = capture_chunks.windows(capture)
            count = kernels(options.prof, capture)
            break
        else:
            windows, count = [], 0
        found = faults(done.returncode, windows, count)
        print(f"{workload}: {done.stdout.strip()}, {len(windows)} windows, {count} kernels: {'; '.join(found) or 'right'}")
        if found:
            print(done.stderr[-4000:])
    return not found


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", metavar="FILE", help="libprof.so")
    parser.add_argument("--prof", metavar="FILE", help="the prof command")
    parser.add_argument("--seconds", type=float, default=30, help="of each workload (%(default)s)")
    parser.add_argument("--schedule", default=SCHEDULE, help="%(default)s")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="%(default)s")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse_options(arguments)
    if not overhead.has_gpu("windows.py"):
        return overhead.SKIP
    if options.serve:
        return serve(options.serve, options.seconds)
    return 0 if all([run(workload, options) for workload in options.workloads.split(",")]) else 1


if __name__ == "__main__":
    sys.exit(main())
