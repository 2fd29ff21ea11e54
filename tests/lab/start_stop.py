#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts and stops libprof many times in one process: how long both take, and what grows.

    LD_PRELOAD=libprof.so PROF_AUTOSTART=0 PROF_EXPORT=none start_stop.py --cycles 100

Each cycle records one step of a small network. Afterwards torch.profiler profiles a step in the same process, and must
find as many kernels of each name as it does in a process without libprof (`--kernels`, run as a child).
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys

import overhead


class Network:
    def __init__(self):
        import torch

        torch.manual_seed(0)
        self.torch = torch
        self.model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(8))).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.data = torch.randn(64, 256, device="cuda")

    def step(self):
        self.model(self.data).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def wait(self):
        self.torch.cuda.synchronize()

    def kernels_by_torch_profiler(self):
        from torch.autograd import DeviceType
        from torch.profiler import ProfilerActivity, profile

        for _ in range(3):
            self.step()
        self.wait()
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            for _ in range(3):
                self.step()
            self.wait()
        on_gpu = (event for event in profiler.events() if event.device_type == DeviceType.CUDA)
        return dict(sorted(collections.Counter(event.name for event in on_gpu).items()))


def size_of_process():
    """What a cycle must not make grow."""
    status = pathlib.Path("/proc/self/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return {
        "resident_kb": int(fields["VmRSS"].split()[0]),
        "threads": int(fields["Threads"]),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "mappings": len(pathlib.Path("/proc/self/maps").read_text().splitlines()),
    }


def growth(sizes, first, last):
    return {key: sizes[last][key] - sizes[first][key] for key in sizes[first]}


def without_libprof():
    environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD",)}
    environment = {key: value for key, value in environment.items() if not key.endswith("_INJECTION64_PATH")}
    command = [sys.executable, __file__, "--kernels"]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--tool", default="prof", help="another of overhead.py's, to compare with")
    parser.add_argument("--client-library", metavar="FILE", help="the discarding client")
    parser.add_argument("--kernels", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", metavar="FILE", help="write all figures here")
    options = parser.parse_args()
    if not overhead.has_gpu("start_stop.py"):
        return overhead.SKIP

    network = Network()
    if options.kernels:
        print(json.dumps(network.kernels_by_torch_profiler()))
        return 0

    overhead.Client.library_path = options.client_library
    tool = overhead.make_tool(options.tool)
    overhead.window_ms(network, 5, 5)
    start_ms, stop_ms, sizes = [], [], [size_of_process()]
    for _ in range(options.cycles):
        start_ms.append(overhead.timed_ms(tool.start))
        overhead.window_ms(network, 1, 0)
        stop_ms.append(overhead.timed_ms(tool.stop))
        sizes.append(size_of_process())
    found, expected = network.kernels_by_torch_profiler(), without_libprof()
    tenth = options.cycles // 10
    result = {
        "cycles": options.cycles,
        "first_start_ms": start_ms[0],
        "first_stop_ms": stop_ms[0],
        "start_ms": statistics.median(start_ms[1:]),
        "stop_ms": statistics.median(stop_ms[1:]),
        "longest_start_ms": max(start_ms[1:]),
        "longest_stop_ms": max(stop_ms[1:]),
        "growth_in_the_first_tenth": growth(sizes, 0, tenth),
        "growth_after_that": growth(sizes, tenth, options.cycles),
        "kernels_after": sum(found.values()),
        "kernels_without": sum(expected.values()),
        "kernels_are_equal": found == expected and sum(found.values()) > 0,
        "sizes": sizes,
        "start_all_ms": start_ms,
        "stop_all_ms": stop_ms,
    }
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result))
    print(f"start {result['start_ms']:.2f} ms (first {start_ms[0]:.1f}), stop {result['stop_ms']:.2f} ms, {options.cycles} times")
    print(f"growth over the first tenth: {result['growth_in_the_first_tenth']}; after that: {result['growth_after_that']}")
    print(f"torch.profiler afterwards: {sum(found.values())} kernels, without libprof {sum(expected.values())}; equal: {result['kernels_are_equal']}")
    return 0 if result["kernels_are_equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
