#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How PyTorch programs with a thread that pins memory end, with libprof and without, on a loaded machine.

    exits.py PROF [--exits 500] [--at-once 32] [--limit SECONDS] [--work DIR] [--json FILE]

PROF is the command of an installed libprof. Needs a GPU and PyTorch. The program (this file, --program) copies batches of
a DataLoader with pin_memory=True to the GPU and ends while the loader's daemon thread, which pins them, still runs. It is
started --exits times bare and as often under `prof run`, in turn, --at-once of them at any time, which is more than the
machine has cores.

It passes if the profiled ones ended by a signal or with another status no more often than the bare ones, their output
is the same, and each capture, also of those that were killed, has every GPU operation of the program.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

STEPS = 20
AHEAD = 16  # batches that each worker makes ahead: the thread still pins them when the program ends
OPERATIONS = 3 * STEPS  # a copy and two kernels a step


def program():
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __len__(self):
            return 1 << 20

        def __getitem__(self, index):
            return torch.full((1 << 14,), float(index))

    batches = iter(DataLoader(Rows(), batch_size=64, pin_memory=True, num_workers=2, prefetch_factor=AHEAD))
    total = torch.zeros((64, 1 << 14), device="cuda")  # its fill is an operation outside the steps
    for _ in range(STEPS):
        batch = next(batches)
        with torch.cuda.nvtx.range("step"):
            total.add_(batch.to("cuda", non_blocking=True).mul_(2.0))
    sys.stdout.write("the loop has ended\n")
    sys.stdout.flush()
    # No synchronisation, and the iterator with its daemon thread is alive: the interpreter ends with both.
    globals()["alive"] = batches


def run_one(prof, number, work):
    """One program: (is profiled, status, its output, operations in its capture's step ranges; None: no capture)."""
    command = [sys.executable, "-B", os.path.abspath(__file__), "--program"]
    if prof is None:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        return False, ended.returncode, ended.stdout, None
    with tempfile.TemporaryDirectory(dir=work, prefix=f"{number}-") as directory:
        ended = subprocess.run([prof, "run", "-o", directory, "--export", "none", "--", *command],
                               capture_output=True, text=True, check=False)
        operations = None
        # The loader's workers may have captures of their own.
        for capture in pathlib.Path(directory).glob("*.prof"):
            report = subprocess.run([prof, "report", str(capture), "--format", "json"],
                                    capture_output=True, text=True, check=False)
            if report.returncode == 0:
                rows = json.loads(report.stdout)["rows"]
                of_steps = sum(row["ops"] for row in rows if row["path"] == "step")
                operations = max(operations or 0, of_steps)
        return True, ended.returncode, ended.stdout, operations


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prof", nargs="?")
    parser.add_argument("--program", action="store_true")
    parser.add_argument("--exits", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--limit", type=float, default=540, help="start no further program after so many seconds")
    parser.add_argument("--work", default=None)
    parser.add_argument("--json", default=None)
    args = parser.parse_args()
    if args.program:
        return program()
    if subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode != 0:
        print("exits.py: skipped, there is no GPU")
        return 77

    begin = time.monotonic()
    ends = {False: collections.Counter(), True: collections.Counter()}
    wrong_output = 0
    operations = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
        def turn(number):
            if time.monotonic() - begin > args.limit:
                return None
            return run_one(args.prof if number % 2 else None, number, args.work)

        for result in pool.map(turn, range(2 * args.exits)):
            if result is None:
                continue
            profiled, status, output, found = result
            ends[profiled][status] += 1
            wrong_output += output != "the loop has ended\n"
            if profiled:
                operations[found] += 1

    figures = {
        "seconds": round(time.monotonic() - begin),
        "at once": args.at_once,
        "bare": dict(ends[False]),
        "profiled": dict(ends[True]),
        "other output": wrong_output,
        "operations in the steps of a capture": {str(k): v for k, v in operations.items()},
        "expected operations": OPERATIONS,
    }
    print(json.dumps(figures, indent=1))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(figures), encoding="utf-8")
    failed = {profiled: sum(n for status, n in ends[profiled].items() if status != 0) for profiled in ends}
    holds = failed[True] <= failed[False] and set(operations) == {OPERATIONS} and wrong_output == 0
    print("PASS" if holds else "FAIL")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
