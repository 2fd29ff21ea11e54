#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast a trace is written: torch.profiler's export_chrome_trace beside `prof export`, on one core of one machine.

    export_speed.py --prof PROF --reader SCALE_BENCH --steps 60

The same steps are recorded by each, in a process of its own. Of torch.profiler only the export is timed, which writes
what it holds in memory; of libprof the whole command, which reads the capture first, and the export alone
(tests/lab/bench/scale_bench). Events are counted in the files: a line with "ph" is one.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import overhead


def count_events(path):
    with open(path, "rb") as file:
        return sum(line.count(b'"ph"') for line in file)


def speed(path, seconds, processor_seconds):
    events, megabytes = count_events(path), os.path.getsize(path) / 1e6
    return {
        "events": events,
        "megabytes": megabytes,
        "seconds": seconds,
        "processor_seconds": processor_seconds,
        "events_per_s": events / seconds,
        "megabytes_per_s": megabytes / seconds,
    }


def train(steps):
    sys.path.insert(0, str(overhead.ROOT / "examples"))
    import train

    training = train.Training(train.parse_options(overhead.WORKLOADS["launch-bound"][0]))
    overhead.window_ms(training, 5, 0)
    return lambda: overhead.window_ms(training, steps, 0)


def export_by_torch(steps, folder):
    from torch.profiler import ProfilerActivity, profile

    run = train(steps)
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        run()
    path = os.path.join(folder, "torch.json")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    began, processor_began = time.perf_counter(), time.process_time()
    profiler.export_chrome_trace(path)
    return speed(path, time.perf_counter() - began, time.process_time() - processor_began)


def on_one_core(command):
    """Seconds of a command, and those of the processor; and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    first = min(os.sched_getaffinity(0))
    printed = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {first})
    ).stdout
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, printed


def export_by_prof(capture, options, folder):
    path = os.path.join(folder, "prof.json")
    result = {"command": [], "gzip": [], "reader": []}
    for _ in range(3):
        seconds, processor, _ = on_one_core([options.prof, "export", capture, "-o", path])
        result["command"].append(speed(path, seconds, processor))
        os.unlink(path)
    seconds, processor, _ = on_one_core([options.prof, "export", capture, "-o", path + ".gz"])
    result["gzip"].append({"seconds": seconds, "processor_seconds": processor, "megabytes": os.path.getsize(path + ".gz") / 1e6})
    if options.reader:
        for _ in range(3):
            *_, printed = on_one_core([options.reader, "--capture", capture, "--trace", "plain", "--trace", "gzip", "--directory", folder])
            result["reader"].append(printed.splitlines())
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prof", metavar="FILE", help="the prof command")
    parser.add_argument("--reader", metavar="FILE", help="scale_bench")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--json", metavar="FILE", help="write all figures here")
    parser.add_argument("--torch", metavar="DIR", help=argparse.SUPPRESS)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("export_speed.py: skipped, there is no PyTorch")
        return overhead.SKIP
    if not torch.cuda.is_available():
        print("export_speed.py: skipped, there is no GPU")
        return overhead.SKIP
    steps = ["--steps", str(options.steps)]
    if options.train:
        train(options.steps)()
        return 0
    if options.torch:
        print(json.dumps(export_by_torch(options.steps, options.torch)))
        return 0

    with tempfile.TemporaryDirectory() as folder:
        own = [sys.executable, __file__, *steps]
        kineto = json.loads(subprocess.run([*own, "--torch", folder], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
        recorded = pathlib.Path(folder, "recorded")
        environment = os.environ | {"PROF_EXPORT": "none"}
        subprocess.run([options.prof, "run", "-o", recorded, "--", *own, "--train"], check=True, env=environment, stdout=subprocess.DEVNULL)
        (capture,) = recorded.rglob("*.prof")
        ours = export_by_prof(str(capture), options, folder)
    result = {"torch": torch.__version__, "steps": options.steps, "kineto": kineto, "prof": ours}
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1))
    best = max(ours["command"], key=lambda run: run["events_per_s"])
    for name, run in (("torch.profiler, export alone", kineto), ("prof export, reading included", best)):
        print(f"{name}: {run['events'] / 1e6:.2f} M events, {run['megabytes']:.0f} MB, {run['seconds']:.2f} s: "
              f"{run['events_per_s'] / 1e6:.2f} M events/s, {run['megabytes_per_s']:.0f} MB/s")
    for lines in ours["reader"][-1:]:
        print("\n".join(lines))
    print(f"ratio {best['events_per_s'] / kineto['events_per_s']:.1f} in events a second, reading included")
    return 0


if __name__ == "__main__":
    sys.exit(main())
