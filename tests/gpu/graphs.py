#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs of PyTorch on a GPU: does a replayed step split as the same step does eagerly?

    graphs.py [--prof BUILD/bin/prof] [--work DIR] [--json VERDICT.json] [--only RUN]…

Trains the model of examples/train.py several times under `prof run`, reads `prof report --format json`:

    eager     each step launched kernel by kernel
    replay    the whole step captured as one torch.cuda.CUDAGraph, then replayed
    compiled  torch.compile(mode="reduce-overhead"), which captures and replays by itself
    whole     as replay, with cuda_graphs=graphs: one operation a launch
    late      graphs captured before the recording, which then asks for cuda_graphs=graphs
    stopped   as whole; recording stops and starts again between replays

Holds that the shares of forward, backward and optimizer_step in `replay` are within 5 % of those in `eager`; that all
work of all replays found the ranges of its capture; that nothing is ambiguous, unmatched or dropped; that the self
column adds up; that no run crashes. Exit status 0 if so, 1 if not, 77 without a GPU or without PyTorch.
"""

import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = ("forward", "backward", "optimizer_step")
WARM_UP = 4
STEPS = 20
TOLERANCE = 0.05  # of a share
SKIPPED = 77


# --- the program that is profiled -----------------------------------------------------------------------------------


class Step:
    """A training step on tensors that stay where they are, as a capture wants it."""

    def __init__(self, compiled):
        sys.path.insert(0, str(ROOT / "examples"))
        import torch
        import train

        self.torch = torch
        torch.manual_seed(0)
        model = train.GPT(layers=6, width=512, heads=8, hidden=2048).cuda()
        self.model = torch.compile(model, mode="reduce-overhead") if compiled else model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=True)
        batch = train.make_batch(8, 256, torch.Generator().manual_seed(0)).cuda()
        self.tokens, self.targets = batch[:, :-1].contiguous(), batch[:, 1:].contiguous()

    def __call__(self):
        ranges = self.torch.cuda.nvtx.range
        with ranges("forward"):
            loss = self.model(self.tokens, self.targets)
        with ranges("backward"):
            loss.backward()
        with ranges("optimizer_step"):
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)

    def warm_up(self):
        """Away from the default stream, as a capture is."""
        stream = self.torch.cuda.Stream()
        stream.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(stream), self.torch.cuda.nvtx.range("warm-up"):
            for _ in range(WARM_UP):
                self()
        self.torch.cuda.current_stream().wait_stream(stream)
        self.torch.cuda.synchronize()

    def captured(self):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.nvtx.range("capture"), self.torch.cuda.graph(graph):
            self()
        return graph


def train_once(run):
    import torch

    step = Step(compiled=run == "compiled")
    if run == "compiled":
        for number in range(WARM_UP):
            with torch.cuda.nvtx.range(f"warm-up {number}"):
                torch.compiler.cudagraph_mark_step_begin()
                step()
    else:
        step.warm_up()
    graph = step.captured() if run not in ("eager", "compiled") else None

    def iterate(count):
        for number in range(count):
            with torch.cuda.nvtx.range(f"iteration {number}"):
                if graph is not None:
                    graph.replay()
                    continue
                if run == "compiled":
                    torch.compiler.cudagraph_mark_step_begin()
                step()
        torch.cuda.synchronize()

    if run in ("late", "stopped"):
        library = ctypes.CDLL(None)
        for cycle in range(2):
            if run == "late" or cycle != 0:
                assert library.prof_start(None) == 0
            iterate(STEPS)
            assert library.prof_stop() == 0
            iterate(STEPS)  # while nothing is recorded
    else:
        iterate(STEPS)


# --- what is held ---------------------------------------------------------------------------------------------------


def part_rows(report):
    """{part: its row below `iteration #`}; of two, the captured one."""
    rows = {}
    for row in sorted(report["rows"], key=lambda row: row["captured"]):
        for part in PARTS:
            if row["path"] == f"iteration #/{part}":
                rows[part] = row
    return rows


def shares(report):
    sums = {part: row["gpu_sum_ns"] for part, row in part_rows(report).items()}
    whole = sum(sums.values())
    return {part: sums.get(part, 0) / whole if whole else 0.0 for part in PARTS}


def iteration_row(report):
    found = [row for row in report["rows"] if row["path"] == "iteration #" and not row["captured"]]
    return found[0] if found else {"ops": 0, "self_ops": 0, "gpu_sum_ns": 0, "instances": 0}


def common_faults(report):
    faults = []
    self_ns = sum(row["gpu_self_ns"] for row in report["rows"])
    if self_ns != report["total_gpu_ns"]:
        faults.append(f"self rows add up to {self_ns} ns, the total is {report['total_gpu_ns']} ns")
    for row in report["rows"]:
        if row["path"] in ("(ambiguous)", "(unmatched)") and row["ops"]:
            faults.append(f"{row['ops']} operations are {row['path']}")
    faults += [f"{count} dropped: {cause}" for cause, count in report["dropped"].items() if count]
    faults += [note for note in report["notes"] if "no GPU record" in note]
    if iteration_row(report)["instances"] != STEPS:
        faults.append(f"{iteration_row(report)['instances']} iterations of {STEPS}")
    return faults


def replay_faults(eager, replay):
    """What is wrong with the replay's report, beside the same steps run eagerly."""
    faults = common_faults(replay)
    unseen = replay["ops_of_unseen_captures"] + replay["ops_of_ambiguous_captures"]
    if unseen:
        faults.append(f"{unseen} replayed operations did not find their capture")
    whole = iteration_row(replay)
    if whole["ops"] == 0 or whole["self_ops"]:
        faults.append(f"{whole['self_ops']} of {whole['ops']} replayed operations found no captured range")
    rows = part_rows(replay)
    for part in PARTS:
        if not rows.get(part, {}).get("captured"):
            faults.append(f"there is no captured row for {part}")
        elif rows[part]["instances"] != STEPS or rows[part]["host_ns"] != 0:
            faults.append(f"{part}: {rows[part]['instances']} instances, {rows[part]['host_ns']} ns on the host")
    expected, found = shares(eager), shares(replay)
    for part in PARTS:
        if expected[part] == 0 or abs(found[part] / expected[part] - 1) > TOLERANCE:
            faults.append(f"{part}: {found[part]:.1%} of the replay, {expected[part]:.1%} of the eager step")
    return faults


def compiled_faults(report):
    faults = common_faults(report)
    if report["ops_of_unseen_captures"]:
        faults.append(f"{report['ops_of_unseen_captures']} replayed operations did not find their capture")
    rows = part_rows(report)
    return faults + [f"{part} has no GPU work" for part in PARTS if not rows.get(part, {}).get("ops")]


def whole_faults(report, kernels):
    faults = common_faults(report)
    graphs = [row for row in kernels["rows"] if row["name"].startswith("CUDA graph ")]
    if [row["instances"] for row in graphs] != [STEPS]:
        faults.append(f"{STEPS} launches of one graph are shown as {[row['instances'] for row in graphs]}")
    if iteration_row(report)["ops"] != STEPS:
        faults.append(f"iterations have {iteration_row(report)['ops']} operations, not one each")
    return faults


# --- running --------------------------------------------------------------------------------------------------------


class Runner:
    def __init__(self, prof, work):
        self.prof, self.work = prof, work

    def run(self, name):
        """Profiles one training; returns its captures, the one with the most in it last."""
        folder = self.work / name
        options = ["-o", str(folder), "--name", name, "--export", "none"]
        if name in ("whole", "late", "stopped"):
            options += ["--cuda-graphs", "graphs"]
        if name == "late":
            options += ["--autostart", "0"]
        command = [self.prof, "run", *options, "--", sys.executable, str(HERE / "graphs.py"), "--train", name]
        result = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=280, check=False)
        (self.work / f"{name}.stderr.txt").write_text(result.stderr)
        if result.returncode != 0:
            raise RuntimeError(f"status {result.returncode}: {' / '.join(result.stderr.splitlines()[-5:])}")
        return sorted(folder.glob("*.prof"), key=lambda path: path.stat().st_size), result.stderr

    def report(self, capture, name="gpu-projection"):
        out = subprocess.run([self.prof, "report", str(capture), "--report", name, "--format", "json"],
                             capture_output=True, text=True, check=True)
        return json.loads(out.stdout)


def check(runner, name, eager):
    """(faults, report) of one run."""
    captures, printed = runner.run(name)
    if name in ("late", "stopped"):
        faults = [] if len(captures) == 2 else [f"{len(captures)} captures, not 2"]
        reports = [runner.report(capture) for capture in captures]
        by_node = [report for report in reports if iteration_row(report)["ops"] > STEPS]
        # A recording that begins after the graph was made has it by nodes, and reports that.
        if len(by_node) != (2 if name == "late" else 1) or "node by node" not in printed:
            faults.append(f"{len(by_node)} of {len(reports)} recordings are by nodes")
        for report in reports:
            faults += common_faults(report)
        return faults, reports[-1]
    report = runner.report(captures[-1])
    if name == "eager":
        return common_faults(report), report
    if name == "replay":
        return (replay_faults(eager, report) if eager else common_faults(report)), report
    if name == "compiled":
        return compiled_faults(report), report
    return whole_faults(report, runner.report(captures[-1], "kernels")), report


RUNS = ("eager", "replay", "compiled", "whole", "late", "stopped")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prof", default=str(pathlib.Path(os.environ.get("PROF_BUILD", ROOT / "build")) / "bin/prof"))
    parser.add_argument("--work", type=pathlib.Path, help="keep captures and output here")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures here")
    parser.add_argument("--only", action="append", choices=RUNS, help="this run; may be repeated")
    parser.add_argument("--train", choices=RUNS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.train:
        train_once(options.train)
        return 0
    try:
        has_gpu = subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).stdout.startswith(b"GPU")
        import torch  # noqa: F401
    except (OSError, ImportError) as missing:
        print(f"graphs.py: skipped, {missing}")
        return SKIPPED
    if not has_gpu:
        print("graphs.py: skipped, there is no GPU")
        return SKIPPED

    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or pathlib.Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        runner = Runner(options.prof, work)
        verdicts, eager, failed = {}, None, False
        for name in options.only or RUNS:
            try:
                faults, report = check(runner, name, eager)
            except (RuntimeError, subprocess.SubprocessError, AssertionError, OSError, IndexError) as failure:
                faults, report = [f"{type(failure).__name__}: {failure}"], None
            if name == "eager":
                eager = report
            failed |= bool(faults)
            line = f"{name:9} {'FAILED' if faults else 'ok'}"
            if report:
                row = iteration_row(report)
                split = "  ".join(f"{part} {share:.1%}" for part, share in shares(report).items())
                line += (f"  {row['ops'] / STEPS:.1f} operations and {row['gpu_sum_ns'] / STEPS / 1e6:.3f} ms a step; "
                         f"{split}; captures unseen {report['ops_of_unseen_captures']}, "
                         f"ambiguous {report['ops_of_ambiguous_captures']}")
                verdicts[name] = {"faults": faults, "shares": shares(report), "ops_per_step": row["ops"] / STEPS,
                                  "gpu_ns_per_step": row["gpu_sum_ns"] / STEPS}
            else:
                verdicts[name] = {"faults": faults}
            print(line, *(f"    {fault}" for fault in faults), sep="\n", flush=True)
        if options.json:
            options.json.write_text(json.dumps(verdicts, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
