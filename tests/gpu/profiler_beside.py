#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that uses another profiler itself, under `prof run` on a GPU: what each records, and libprof's message.

    profiler_beside.py --prof BUILD/bin/prof [--profiler torch|proton] [--work DIR] [--json VERDICT.json]

The program trains 30 steps and has torch.profiler, with CPU and CUDA, or Triton's Proton record 10 to 19. It runs by
itself, then under `prof run`. Holds that both end with status 0 and the same output, that the other profiler counts the
same kernels name by name in both, that libprof has the ranges of the steps before and after, and every kernel of those
before; after Proton, which gives CUPTI back, also of those after. What it has after torch.profiler is only printed:
Kineto may keep CUPTI. Exit status 0 if it all holds, 1 if not, 77 without a GPU or without PyTorch.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lab"))

import overhead

STEPS, FIRST, LAST = 30, 10, 19


class TorchProfiler:
    keeps_cupti = True

    def __init__(self):
        from torch.profiler import ProfilerActivity, profile

        self.profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])

    def start(self):
        self.profiler.start()

    def stop(self):
        self.profiler.stop()

    def kernels(self):
        from torch.autograd import DeviceType

        events = self.profiler.events()
        return collections.Counter(event.name for event in events if event.device_type == DeviceType.CUDA)


class Proton(overhead.Proton):
    keeps_cupti = False

    def kernels(self):
        (profile,) = pathlib.Path(self.folder.name).glob("profile*.hatchet")
        return proton_kernels(json.loads(profile.read_text()))


PROFILERS = {"torch": TorchProfiler, "proton": Proton}


def proton_kernels(nodes):
    """Launches by name: the leaves of the trees in Proton's file."""
    counts = collections.Counter()
    for node in nodes:
        if "frame" not in node:
            continue  # what it says about devices
        counts.update(proton_kernels(node["children"]))
        if not node["children"]:
            counts[node["frame"]["name"]] += node["metrics"].get("count", 0)
    return +counts


def train(name, result):
    import torch

    torch.manual_seed(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(64, 512, device="cuda")
    profiler = PROFILERS[name]()

    def step(number):
        with torch.cuda.nvtx.range(f"step {number}"):
            optimizer.zero_grad()
            model(data).square().mean().backward()
            optimizer.step()
        torch.cuda.synchronize()

    step(0)
    for number in range(1, STEPS):
        if number == FIRST:
            profiler.start()
        step(number)
        if number == LAST:
            profiler.stop()
    pathlib.Path(result).write_text(json.dumps(profiler.kernels()))
    print(f"trained {STEPS} steps")


def operations_by_step(rows):
    """GPU operations within each `step N`, from the rows of the unfolded projection. The phase `step` may be around."""
    steps = {}
    for row in rows:
        if row["depth"] <= 1 and row["name"].startswith("step "):
            steps[int(row["name"].split()[1])] = row["ops"]
    return steps


def recorded_steps(prof, capture):
    command = [prof, "report", str(capture), "--report", "gpu-projection", "--no-fold", "--format", "json"]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return operations_by_step(json.loads(report)["rows"])


def faults(bare, beside, steps, keeps_cupti=True):
    """What does not hold: of the other profiler's kernels by name in both runs, and libprof's operations by step."""
    found = []
    if not bare:
        found.append("the other profiler has no kernel even by itself")
    if bare != beside:
        differing = sorted(name for name in bare.keys() | beside.keys() if bare.get(name) != beside.get(name))
        found.append(f"the other profiler counts other kernels beside libprof: {differing[:3]}")
    if sorted(steps) != [number for number in range(STEPS) if not FIRST <= number <= LAST]:
        found.append(f"libprof has the ranges of steps {sorted(steps)}")
    usual = steps.get(1, 0)
    whole = [*range(1, FIRST), *([] if keeps_cupti else range(LAST + 1, STEPS))]
    lacking = [number for number in whole if steps.get(number) != usual or usual == 0]
    if lacking:
        found.append(f"libprof lacks GPU operations in steps {lacking}, which the other profiler had no part in")
    return found


def main():
    if sys.argv[1:2] == ["--train"]:
        return train(*sys.argv[2:4])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prof", required=True, metavar="FILE")
    parser.add_argument("--profiler", choices=PROFILERS, default="torch")
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if not overhead.has_gpu("profiler_beside.py"):
        return overhead.SKIP
    work = options.work or pathlib.Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    prof = [options.prof, "run", "-o", str(work / "captures"), "--"]
    runs, counts = [], []
    for name, before in (("bare", []), ("beside", prof)):
        result = work / f"{name}.json"
        runs.append(subprocess.run([*before, sys.executable, __file__, "--train", options.profiler, str(result)],
                                   capture_output=True, text=True, timeout=120, check=False))
        counts.append(json.loads(result.read_text()) if result.exists() else {})
    captures = sorted((work / "captures").glob("*.prof"))
    steps = recorded_steps(options.prof, captures[0]) if captures else {}
    wrong = faults(*counts, steps, PROFILERS[options.profiler].keeps_cupti)
    if any(run.returncode != 0 for run in runs) or runs[0].stdout not in runs[1].stdout:
        wrong.append(f"status or output differ: {[(run.returncode, run.stdout[-200:]) for run in runs]}")
    verdict = {"faults": wrong, "operations_by_step": steps, "kernels": sum(counts[0].values()),
               "stderr": runs[1].stderr[-3000:]}
    if options.json:
        options.json.write_text(json.dumps(verdict, indent=1))
    print(json.dumps(verdict, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
