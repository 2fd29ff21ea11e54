#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""By how much recording makes a step longer: what `prof diagnose` notes of a run with windows, beside what the program
has measured of the same steps.

    recording_cost.py PROF PYTHON_DIR OUT [--rounds N]

Trains four linear layers with none, 300 and 2000 tiny kernels a step and a window of 5 steps every 52. PYTHON_DIR has
the package libprof. Exit status 1 if there is no note where there are 300 tiny kernels or more, or if its length of an
unrecorded step is less than the program's, or more than a tenth more; 77 without a GPU.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

SKIP, WAIT, WARMUP, ACTIVE = 30, 45, 2, 5
SCHEDULE = f"wait={WAIT},warmup={WARMUP},active={ACTIVE},skip_first={SKIP}"
STEPS = {0: 1200, 300: 800, 2000: 400}


def train(kernels, steps):
    import torch

    model = torch.nn.Sequential(
        *[torch.nn.Linear(2048, 2048, device="cuda", dtype=torch.bfloat16) for _ in range(4)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    small = torch.zeros(16, device="cuda")
    done = [torch.cuda.Event() for _ in range(2)]
    begun = []
    for step in range(steps):
        begun.append(time.perf_counter_ns())
        with torch.cuda.nvtx.range("train_step"):
            model(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            for _ in range(kernels):
                small.add_(1)
            if step > 0:
                done[(step - 1) % 2].synchronize()
            done[step % 2].record()
    print("steps_ns", json.dumps([after - before for before, after in zip(begun, begun[1:])]), flush=True)


def measured(steps_ns):
    """Milliseconds of a recorded step and of one far from a window, as the program has measured them."""
    recorded, unrecorded = [], []
    for step, ns in enumerate(steps_ns):
        place = (step - SKIP) % (WAIT + WARMUP + ACTIVE)
        if step >= SKIP and place >= WAIT + WARMUP:
            recorded.append(ns / 1e6)
        elif step >= SKIP and 5 <= place < WAIT:
            unrecorded.append(ns / 1e6)
    return statistics.mean(recorded), statistics.mean(unrecorded)


def run(options, kernels, folder):
    """The steps' lengths as measured, and the diagnosis."""
    ran = subprocess.run([options.prof, "run", "--step-range", "train_step", "--schedule", SCHEDULE, "--export", "none",
                          "-o", folder, "--", sys.executable, __file__, "--train", str(kernels)],
                         env=dict(os.environ, PYTHONPATH=options.python_dir), capture_output=True, text=True,
                         check=True)
    (capture,) = folder.glob("*.prof")
    found = subprocess.run([options.prof, "diagnose", capture, "--format", "json"], capture_output=True, text=True,
                           check=True)
    return measured(json.loads(re.search(r"steps_ns (.*)", ran.stdout)[1])), json.loads(found.stdout)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prof", nargs="?")
    parser.add_argument("python_dir", nargs="?")
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--train", type=int)
    options = parser.parse_args()
    if options.train is not None:
        return train(options.train, STEPS[options.train])
    if not pathlib.Path("/dev/nvidiactl").exists():
        print("SKIPPED: no GPU")
        return 77
    faults = 0
    print("| tiny kernels | recorded | unrecorded | longer | recorded, noted | unrecorded, noted | longer, noted |")
    print("| ---: " * 7 + "|")
    for kernels in STEPS:
        for index in range(options.rounds):
            (recorded_ms, unrecorded_ms), found = run(options, kernels, options.out / f"{kernels}-{index}")
            note = re.search(r"\((\S+) %\) longer, or more: those between the windows take (\S+) ms", " ".join(found["remarks"]))
            longer = 100 * (1 - unrecorded_ms / recorded_ms)
            print(f"| {kernels} | {recorded_ms:.2f} | {unrecorded_ms:.2f} | {longer:.1f} % | "
                  f"{found['step_ns'] / 1e6:.2f} | {note[2] if note else ''} | {note[1] + ' %' if note else ''} |",
                  flush=True)
            if kernels >= 300:
                faults += not note or not 0.98 < float(note[2]) / unrecorded_ms < 1.1
    print("FAIL" if faults else "pass")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
