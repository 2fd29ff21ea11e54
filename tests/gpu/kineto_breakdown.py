#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the breakdown of a program from torch.profiler's trace with that from libprof's capture of another run.

    kineto_breakdown.py PROF [OUT]

The program is bound by the GPU, since torch.profiler slows the host down. Per step, compute as a whole and in forward
and backward must agree within 1 %, and so must the step. Exit status 1 if any is off, 77 without a GPU.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

STEPS = 40
TOLERANCE = 0.01


def train(trace):
    import torch
    from torch import nn
    from torch.profiler import ProfilerActivity, profile, record_function, schedule

    width = 2048
    model = nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)) for _ in range(12)))
    model = model.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    batch = torch.randn(8192, width, device="cuda")

    def step():
        with record_function("my_forward"):
            loss = model(batch).square().mean()
        with record_function("my_backward"):
            loss.backward()
        with record_function("my_optimizer"):
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.synchronize()

    for _ in range(5):
        step()
    plan = schedule(wait=0, warmup=2, active=STEPS)
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    if trace:
        with profile(activities=activities, schedule=plan,
                     on_trace_ready=lambda made: made.export_chrome_trace(trace)) as running:
            for _ in range(STEPS + 2):
                step()
                running.step()
    else:
        for _ in range(STEPS + 2):
            step()


def breakdown(prof, path):
    made = subprocess.run([prof, "report", str(path), "--report", "breakdown", "--format", "json"], capture_output=True,
                          text=True, check=True)
    return json.loads(made.stdout)


def figures(report):
    def compute(part):
        return sum(row["total_ns"] for row in report["rows"] if row["use"] == "compute" and part in row["part"])

    steps = report["steps"]
    return {"step": report["wall_ns"] / steps, "compute": compute("") / steps, "forward": compute("forward") / steps,
            "backward": compute("backward") / steps, "optimizer": compute("optimizer") / steps}


def main():
    if sys.argv[1] == "--train":
        train(sys.argv[2] if len(sys.argv) > 2 else None)
        return 0
    import torch

    if not torch.cuda.is_available():
        print("SKIPPED: no GPU")
        return 77
    prof = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else scratch)
        out.mkdir(parents=True, exist_ok=True)
        trace = out / "torch.json.gz"
        subprocess.run([sys.executable, __file__, "--train", str(trace)], check=True, capture_output=True)
        subprocess.run([prof, "run", "-o", str(out / "own"), "--", sys.executable, __file__, "--train"], check=True,
                       capture_output=True)
        (capture,) = (out / "own").glob("*.prof")
        theirs, ours = figures(breakdown(prof, trace)), figures(breakdown(prof, capture))
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    passed = True
    for name, ns in ours.items():
        ratio = theirs[name] / ns
        fits = abs(ratio - 1) <= TOLERANCE or name == "optimizer"
        passed &= fits
        print(f"{name:10} torch.profiler {theirs[name] / 1e6:8.3f} ms  libprof {ns / 1e6:8.3f} ms  ratio {ratio:6.4f}  "
              f"{'PASS' if fits else 'FAIL'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
