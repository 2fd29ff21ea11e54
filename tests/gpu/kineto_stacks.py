#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a trace of torch.profiler with with_stack names the function of a flaw (docs/guide/kineto.md).

    kineto_stacks.py PROF [TRACE]    TRACE: where the trace is kept

Two functions of a training step have a flaw each: one reads a value of the GPU's, one runs other code for 3 ms. The
dearest rows of `prof report --report lines` must name them. Exits with 77 without a GPU and PyTorch.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

STEPS = 12


def read_the_loss(loss):
    return loss.item()


def write_the_log():
    end = time.perf_counter() + 0.003
    while time.perf_counter() < end:
        pass


def record(torch, path):
    torch.manual_seed(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048) for _ in range(6))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(8192, 2048, device="cuda")

    def step():
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        read_the_loss(loss)
        write_the_log()

    for _ in range(3):
        step()
    with torch.profiler.profile(with_stack=True,
                                schedule=torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1)) as profiler:
        for _ in range(STEPS + 1):
            step()
            profiler.step()
    profiler.export_chrome_trace(str(path))


def main():
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("skipped: no PyTorch with a GPU")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else f"{folder}/trace.json")
        record(torch, trace)
        done = subprocess.run([sys.argv[1], "report", str(trace), "--report", "lines", "--format", "json"],
                              capture_output=True, text=True, check=True)
        rows = json.loads(done.stdout)["rows"]
    found = {}
    for row in rows[:6]:
        print(row["line"], "|", row["code"], "|", row["cause"], "|", row["cost_ns"])
        found.setdefault(row["cause"], row)
    faults = 0
    for function, words in (("read_the_loss", "Tensor.item"), ("write_the_log", "")):
        right = any(function in row["code"] and words in row["code"] and row["line"].endswith("kineto_stacks.py")
                    for row in found.values())
        print("PASS" if right else "FAIL", function)
        faults += not right
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
