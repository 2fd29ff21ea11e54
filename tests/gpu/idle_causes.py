#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the causes of idle time against programs that keep the GPU idle for a known time.

    idle_causes.py PROF [OUT]

Each program trains a small model and synchronizes at a step's end, so that the GPU is idle when the flaw begins. It
measures how long each flaw took. PROF's report `breakdown` must give the same median to the right cause and place,
within 2 %. Prints a table; exit status 1 if any figure is off, 77 without a GPU.
"""

import ctypes
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

STEPS = 30
TOLERANCE = 0.02
# Name of the flaw: what the row of the breakdown is called, or begins with.
ROWS = {
    "sleep": lambda row: row["cause"] == "host code" and row["part"].endswith("flaw"),
    "lock": lambda row: row["cause"] == "host code" and row["part"].endswith("flaw"),
    "loader": lambda row: row["cause"] == "data loader",
    "synchronize": lambda row: row["cause"] == "waiting" and row["part"].endswith("flaw"),
}


def train(flaw, milliseconds):
    import torch
    from torch import nn

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 4 * STEPS

        def __getitem__(self, index):
            if flaw == "loader":
                time.sleep(milliseconds / 1e3)
            return torch.ones(512)

    lock, wanted, held = threading.Lock(), threading.Event(), threading.Event()

    def hold():
        while True:
            wanted.wait()
            wanted.clear()
            with lock:
                held.set()
                time.sleep(milliseconds / 1e3)

    threading.Thread(target=hold, daemon=True).start()
    c = ctypes.CDLL(None)
    runtime = ctypes.CDLL("libcudart.so." + torch.version.cuda.split(".")[0])
    microseconds = ctypes.c_void_p(int(milliseconds * 1000))

    def spoil():
        if flaw == "sleep":
            with torch.cuda.nvtx.range("flaw"):
                begin = time.perf_counter_ns()
                time.sleep(milliseconds / 1e3)
                return time.perf_counter_ns() - begin
        if flaw == "lock":
            wanted.set()
            held.wait()
            held.clear()
            with torch.cuda.nvtx.range("flaw"):
                begin = time.perf_counter_ns()
                with lock:
                    return time.perf_counter_ns() - begin
        if flaw == "synchronize":
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            with torch.cuda.nvtx.range("flaw"):
                runtime.cudaLaunchHostFunc(stream, ctypes.cast(c.usleep, ctypes.c_void_p), microseconds)
                begin = time.perf_counter_ns()
                torch.cuda.synchronize()
                return time.perf_counter_ns() - begin
        return 0

    model = nn.Sequential(*(nn.Linear(512, 512) for _ in range(8))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batches = iter(torch.utils.data.DataLoader(Data(), batch_size=1))
    lengths = []
    for _ in range(STEPS):
        begin = time.perf_counter_ns()
        batch = next(batches)
        length = time.perf_counter_ns() - begin if flaw == "loader" else 0
        loss = model(batch.cuda()).sum()
        torch.cuda.synchronize()
        length = spoil() or length
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        lengths.append(length)
    print(json.dumps(lengths))


def check(prof, flaw, milliseconds, out):
    directory = pathlib.Path(out, f"{flaw}_{milliseconds:g}")
    command = [prof, "run", "-o", str(directory), "--", sys.executable, __file__, "--train", flaw, str(milliseconds)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    measured = statistics.median(json.loads(ran.stdout.splitlines()[-1]))
    (capture,) = directory.glob("*.prof")
    report = subprocess.run([prof, "report", str(capture), "--report", "breakdown", "--format", "json"],
                            capture_output=True, text=True, check=True)
    answer = json.loads(report.stdout)
    rows = [row for row in answer["rows"] if row["use"] == "idle" and ROWS[flaw](row)]
    found = sum(row["median_ns"] for row in rows)
    total = sum(row["total_ns"] for row in answer["rows"])
    idle = [row for row in answer["rows"] if row["use"] == "idle"]
    residual = sum(row["total_ns"] for row in idle if row["cause"] in ("launched, not started", "launch not recorded"))
    share = residual / max(1, sum(row["total_ns"] for row in idle))
    passed = abs(found / measured - 1) <= TOLERANCE and total == answer["wall_ns"] and share < 0.01
    print(f"{flaw:12} {milliseconds:5.1f} ms asked  {measured / 1e6:8.3f} ms measured  {found / 1e6:8.3f} ms in the "
          f"breakdown  ratio {found / measured:6.4f}  residual {share:7.3%} of idle  {'PASS' if passed else 'FAIL'}")
    return passed


def main():
    if sys.argv[1] == "--train":
        train(sys.argv[2], float(sys.argv[3]))
        return 0
    import torch

    if not torch.cuda.is_available():
        print("SKIPPED: no GPU")
        return 77
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    with tempfile.TemporaryDirectory() as scratch:
        out = sys.argv[2] if len(sys.argv) > 2 else scratch
        results = [check(sys.argv[1], flaw, ms, out) for flaw in ROWS for ms in (2, 5)]
    print(f"{sum(results)} of {len(results)} passed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
