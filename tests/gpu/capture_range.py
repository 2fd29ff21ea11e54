#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""capture_range=cudaProfilerApi on a GPU, with each way in which a program can call it.

    capture_range.py --prof BUILD/bin/prof [--json VERDICT.json]

The program trains 250 steps, and calls cudaProfilerStart before steps 10 and 240, cudaProfilerStop after 14 and 241: by
torch.cuda.cudart(), as Megatron does, by torch.cuda.profiler, and by the driver's cuProfilerStart. Holds that the capture
has these steps and no others, each with the same GPU operations. Exit status 0 if so, 1 if not, 77 without a GPU or
without PyTorch.
"""

import argparse
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lab"))

import overhead
import profiler_beside

WAYS = ("cudart", "torch", "driver")
STEPS = 250
CAPTURED = (*range(10, 15), *range(240, 242))


def profiler_calls(way):
    """What starts and what stops."""
    import torch

    if way == "driver":
        driver = ctypes.CDLL("libcuda.so.1")
        return driver.cuProfilerStart, driver.cuProfilerStop
    if way == "torch":
        return torch.cuda.profiler.start, torch.cuda.profiler.stop
    return torch.cuda.cudart().cudaProfilerStart, torch.cuda.cudart().cudaProfilerStop


def train(way):
    import torch

    torch.manual_seed(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8))).cuda()
    data = torch.randn(64, 512, device="cuda")
    start, stop = profiler_calls(way)
    for number in range(STEPS):
        if number in CAPTURED and number - 1 not in CAPTURED:
            start()
        with torch.cuda.nvtx.range(f"step {number}"):
            model(data).square().mean().backward()
        torch.cuda.synchronize()
        if number in CAPTURED and number + 1 not in CAPTURED:
            stop()


def faults(steps):
    """What does not hold, of the operations by step."""
    found = []
    if tuple(sorted(steps)) != CAPTURED:
        found.append(f"the capture has steps {sorted(steps)}")
    if len(set(steps.values())) > 1 or 0 in steps.values():
        found.append(f"the steps have different numbers of operations, or none: {steps}")
    return found


def run(prof, way):
    with tempfile.TemporaryDirectory() as folder:
        command = [prof, "run", "-o", folder, "--capture-range", "cudaProfilerApi", "--capture-range-end", "repeat", "--",
                   sys.executable, __file__, "--train", way]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        captures = sorted(pathlib.Path(folder).glob("*.prof"))
        if done.returncode != 0 or len(captures) != 1:
            return {}, [f"status {done.returncode}, {len(captures)} captures: {done.stderr[-500:]}"]
        steps = profiler_beside.recorded_steps(prof, captures[0])
    return steps, faults(steps)


def main():
    if sys.argv[1:2] == ["--train"]:
        return train(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prof", required=True, metavar="FILE")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if not overhead.has_gpu("capture_range.py"):
        return overhead.SKIP
    verdict = {}
    for way in WAYS:
        steps, wrong = run(options.prof, way)
        verdict[way] = {"operations_by_step": steps, "faults": wrong}
        print(f"{way}: " + ("right" if not wrong else "; ".join(wrong)))
    if options.json:
        options.json.write_text(json.dumps(verdict, indent=1))
    return 1 if any(each["faults"] for each in verdict.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
