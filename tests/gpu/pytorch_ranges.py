#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what `prof run` records of PyTorch by itself: a training run with record_function ranges and no NVTX.

    pytorch_ranges.py PROF [--json FILE]

The same run is made bare, with --pytorch off, ranges, ops, and under torch.profiler. The ranges must be there with their
GPU work, autograd's under `backward`; the table by operator must have torch.profiler's names and counts, and its GPU times
within the tolerance, in all and for each operator with a share that matters. What the modes cost a step is printed.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
RANGES = ("data_to_device", "forward", "backward", "optimizer_step")
SHARE = 0.05  # of the GPU time, from which on an operator's own time is compared
SKIP = 77
# Rows of key_averages() that are no operators: CUDA's calls, CUPTI's own events.
FOREIGN = ("cuda", "cu", "Memcpy", "Memset", "Activity Buffer", "Buffer Flush", "Command Buffer", "INVALID",
           "Instrumentation", "Lazy ", "Resource", "Runtime ", "[", "ProfilerStep")


# ---- the program

def train(steps, result):
    sys.path.insert(0, str(EXAMPLES))
    import torch
    from torch.profiler import record_function
    from train import GPT, make_batch

    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(1)
    with torch.device("cuda"):  # not copied there: such a copy takes as long as the host's memory has it
        model = GPT(layers=4, width=256, heads=4, hidden=1024, longest=256)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    times = []
    for step in range(steps):
        begin = time.perf_counter()
        with record_function(f"iteration {step}"):
            with record_function("data_to_device"):
                batch = make_batch(8, 256, generator).cuda()
            with record_function("forward"), torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(batch[:, :-1], batch[:, 1:])
            with record_function("backward"):
                loss.backward()
            with record_function("optimizer_step"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    result["step_ms"] = 1000 * statistics.median(times[steps // 4:])


def train_under_torch_profiler(steps, result):
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=True) as profiler:
        train(steps, result)
    result["rows"] = [
        {"name": row.key, "calls": row.count, "gpu_self_ns": 1000 * row.self_device_time_total,
         "gpu_total_ns": 1000 * row.device_time_total}
        for row in profiler.key_averages() if row.device_type == DeviceType.CPU
    ]


# ---- what it is compared with

def compare(ours, theirs, tolerance):
    """Faults of our table (rows of the report pytorch_ops) against key_averages()'s."""
    ours = {row["name"]: row for row in ours}
    theirs = {row["name"]: row for row in theirs if not row["name"].startswith(FOREIGN)}
    faults = [f"{name}: torch.profiler has no such row" for name in sorted(ours.keys() - theirs.keys())]
    faults += [f"{name}: missing" for name in sorted(theirs.keys() - ours.keys())]
    both = sorted(ours.keys() & theirs.keys())
    if not both:
        faults.append("no row in common")
    for name in both:
        if ours[name]["calls"] != theirs[name]["calls"]:
            faults.append(f"{name}: {ours[name]['calls']} calls, torch.profiler has {theirs[name]['calls']}")
    total_ns = sum(theirs[name]["gpu_self_ns"] for name in both)

    def times(what, our_ns, their_ns):
        if abs(our_ns - their_ns) > tolerance * their_ns:
            faults.append(f"{what}: {our_ns / 1e6:.3f} ms, torch.profiler has {their_ns / 1e6:.3f} ms")

    times("GPU time in all", sum(ours[name]["gpu_self_ns"] for name in both), total_ns)
    if total_ns == 0:
        faults.append("no GPU time")
    for name in both:
        if theirs[name]["gpu_self_ns"] >= SHARE * total_ns:
            times(f"{name}, self", ours[name]["gpu_self_ns"], theirs[name]["gpu_self_ns"])
    return faults


def range_faults(report, steps):
    faults = []
    rows = {row["path"]: row for row in report["rows"]}
    if sum(row["gpu_self_ns"] for row in rows.values()) != report["total_gpu_ns"]:
        faults.append("the self column does not add up")
    for name in RANGES:
        row = rows.get(f"iteration #/{name}")
        if row is None or row["instances"] != steps or row["ops"] == 0:
            faults.append(f"{name}: {row}")
    backward = rows.get("iteration #/backward", {"ops": 0, "adopted_ops": 0})
    if backward["adopted_ops"] == 0 or backward["adopted_ops"] < 0.95 * backward["ops"]:
        faults.append(f"backward has adopted {backward['adopted_ops']} of {backward['ops']} operations")
    for path in ("(ambiguous)", "(unmatched)"):
        if rows[path]["ops"]:
            faults.append(f"{rows[path]['ops']} operations are {path}")
    if report["dropped"]:
        faults.append(f"dropped: {report['dropped']}")
    if any("op_id" in path for path in rows):
        faults.append("names with op_id")
    return faults


# ---- the check

class Runs:
    def __init__(self, prof, folder, steps):
        self.prof, self.folder, self.steps = prof, folder, steps

    def run(self, name, before, *arguments):
        result = self.folder / f"{name}.json"
        command = [*before, sys.executable, __file__, "--train", str(self.steps), "--result", str(result), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        if done.returncode != 0:
            raise SystemExit(f"{name} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return json.loads(result.read_text())

    def profiled(self, mode):
        out = self.folder / mode
        before = [self.prof, "run", "-o", str(out), "--export", "none", "--pytorch", mode, "--"]
        result = self.run(mode, before)
        result["captures"] = [str(path) for path in out.glob("*.prof")]
        return result

    def report(self, capture, name):
        text = subprocess.run([self.prof, "report", "--report", name, "--format", "json", capture], check=True,
                              capture_output=True, text=True).stdout
        return json.loads(text)


def check(prof, steps, tolerance):
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(prof, pathlib.Path(folder), steps)
        bare = runs.run("bare", [])
        modes = {mode: runs.profiled(mode) for mode in ("off", "ranges", "ops")}
        torch = runs.run("torch", [], "--profile")
        (ranges,), (ops,) = modes["ranges"]["captures"], modes["ops"]["captures"]
        by_range = {mode: runs.report(capture, "gpu-projection") for mode, capture in
                    (("ranges", ranges), ("ops", ops))}
        for mode, report in by_range.items():
            faults += [f"--pytorch {mode}: {fault}" for fault in range_faults(report, steps)]
        paths = [[(row["path"], row["instances"], row["ops"]) for row in report["rows"]] for report in by_range.values()]
        if paths[0] != paths[1]:
            faults.append("the projection differs between ranges and ops")
        table = runs.report(ops, "pytorch_ops")
        faults += compare(table["rows"], torch["rows"], tolerance)
        linked = table["backward_nodes"] - table["unlinked_nodes"] - table["ambiguous_nodes"]
        if linked < 0.99 * table["backward_nodes"] or linked == 0:
            faults.append(f"{linked} of {table['backward_nodes']} backward nodes have their operator")
    cost = {mode: result["step_ms"] / modes["off"]["step_ms"] for mode, result in modes.items()}
    result = {"faults": faults, "step_ms": {"bare": bare["step_ms"], "torch.profiler": torch["step_ms"],
                                            **{mode: each["step_ms"] for mode, each in modes.items()}},
              "ratio_to_off": cost, "rows": len(table["rows"]), "backward_nodes": table["backward_nodes"],
              "operators": table["rows"][:15]}
    print(json.dumps({name: value for name, value in result.items() if name != "operators"}, indent=1))
    for row in result["operators"]:
        print(f"{row['calls']:>8} {row['gpu_self_ns'] / 1e6:>10.3f} ms {row['gpu_total_ns'] / 1e6:>10.3f} ms "
              f"backward {row['backward_gpu_ns'] / 1e6:>10.3f} ms  {row['name']}")
    return result


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("prof", nargs="?", metavar="PROF", help="the prof command")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--tolerance", type=float, default=0.03, help="of GPU times (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write all figures here")
    parser.add_argument("--train", type=int, metavar="STEPS", help=argparse.SUPPRESS)
    parser.add_argument("--profile", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--result", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.train is not None:
        result = {}
        (train_under_torch_profiler if options.profile else train)(options.train, result)
        pathlib.Path(options.result).write_text(json.dumps(result))
        return 0
    if subprocess.run(["sh", "-c", "nvidia-smi -L"], capture_output=True, check=False).returncode != 0:
        print("pytorch_ranges.py: skipped, there is no GPU")
        return SKIP
    if options.prof is None:
        parser.error("PROF is missing")
    result = check(options.prof, options.steps, options.tolerance)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1))
    print("verdict:", "ok" if not result["faults"] else "wrong")
    return 1 if result["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
