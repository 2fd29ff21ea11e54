#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what recording a block of GPU memory costs (--allocations on), and how many blocks a training step asks for.

    LD_PRELOAD=libprof.so PROF_AUTOSTART=0 PROF_EXPORT=none allocation_cost.py [--rounds 40]

Times pairs of torch.empty and its end in one process, while recording without allocations, with them, and with them but
without lines, in windows in random order. A figure is the median over the rounds of the difference to the windows
without allocations, with a 95 % interval by bootstrap. Exits with 77 without a GPU. Forty seconds.
"""

import argparse
import random
import statistics
import sys
import time

import overhead

PAIRS, WINDOWS = 1000, 7
SIZES = (4 << 10, 4 << 20)
TOOLS = {"off": (), "on": ("allocations=on",), "on, without lines": ("allocations=on", "lines=off")}


def pair_ns(torch, size, count=PAIRS):
    begun = time.perf_counter_ns()
    for _ in range(count):
        block = torch.empty(size, dtype=torch.uint8, device="cuda")
        del block
    return (time.perf_counter_ns() - begun) / count


def measure(torch, size, rounds):
    tools = {name: overhead.Prof(*settings) for name, settings in TOOLS.items()}
    above, bare = {name: [] for name in tools}, []
    pair_ns(torch, size, 20 * PAIRS)
    for number in range(rounds):
        order = list(tools)
        random.Random(number).shuffle(order)
        taken = {}
        for name in order:
            with overhead.on_other_cores():
                tools[name].start()
            pair_ns(torch, size)
            taken[name] = statistics.median(pair_ns(torch, size) for _ in range(WINDOWS))
            tools[name].stop()
        bare.append(statistics.median(pair_ns(torch, size) for _ in range(WINDOWS)))
        for name in tools:
            above[name].append(taken[name] - taken["off"])
    print(f"a pair of {size} bytes takes {statistics.median(bare):.0f} ns while nothing is recorded")
    for name in list(tools)[1:]:
        figure = overhead.median_with_interval(above[name])
        low, high = figure["interval95"]
        print(f"  allocations {name}: {figure['median']:.0f} ns more than off [{low:.0f}, {high:.0f}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    if not overhead.has_gpu("allocation_cost.py"):
        return overhead.SKIP
    import torch

    sys.path.insert(0, str(overhead.ROOT / "examples"))
    import train

    overhead.launch_on_one_core()
    for size in SIZES:
        measure(torch, size, rounds)
    for name in ("launch-bound", "gpu-bound"):
        settings, steps = overhead.WORKLOADS[name]
        training = train.Training(train.parse_options(settings))
        step_ms = overhead.window_ms(training, steps, 10)
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        overhead.window_ms(training, steps, 0)
        blocks = (torch.cuda.memory_stats()["allocation.all.allocated"] - before) / steps
        print(f"{name}: {step_ms:.2f} ms and {blocks:.0f} blocks a step")
    return 0


if __name__ == "__main__":
    sys.exit(main())
