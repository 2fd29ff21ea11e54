#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs that were captured at another time than they are replayed, on a GPU; and what listening for them costs.

    idle_graphs.py [--prof BUILD/bin/prof] [--work DIR] [--json VERDICT.json] [--only RUN]…

Trains the model of graphs.py under `prof run --autostart 0`:

    eager    each step launched kernel by kernel: what the others are compared with
    before   captured before prof_start, with idle_graph_nodes=1
    windows  captured in the first window, replayed in the second: CUPTI was finalized in between
    again    captured in the first recording, replayed in the second, with idle_graph_nodes=1; there another graph is
             made, too, with other ranges: no node is taken for another
    gone     captured and destroyed 20 times before prof_start, with idle_graph_nodes=1: how many nodes are remembered
    cost     eager steps that wait for launches, while nothing is recorded: with idle_graph_nodes off and on in turn

Holds that the shares of forward, backward and optimizer_step in a replay are within 5 % of those of `eager`, and that
every replayed operation found its capture. `gone` and `cost` are printed, not judged. Exit status 0 if so, 1 if not, 77
without a GPU or without PyTorch.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lab"))

import capture_chunks
import graphs
import overhead

ROUNDS = 40  # of `cost`, each off and on
COST_STEPS = 12


# --- the program that is profiled -----------------------------------------------------------------------------------


class Library:
    """The libprof in this process."""

    def __init__(self):
        self.library = ctypes.CDLL(None)

    def start(self, *settings):
        array = (ctypes.c_char_p * (len(settings) + 1))(*(s.encode() for s in settings), None)
        assert self.library.prof_start(array) == 0

    def __getattr__(self, name):
        def call():
            assert getattr(self.library, f"prof_{name}")() == 0
        return call


def iterate(torch, what, count=graphs.STEPS, name="iteration"):
    for number in range(count):
        with torch.cuda.nvtx.range(f"{name} {number}"):
            what()
    torch.cuda.synchronize()


def other_graph(torch, step):
    """Of the same model, under a range that no other graph has."""
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.nvtx.range("capture"), torch.cuda.graph(graph), torch.cuda.nvtx.range("other"):
        step.model(step.tokens, step.targets)
    return graph


def measure_cost(torch, library, step):
    """Medians of a step's host time in ms, nothing recorded: [off, on] of each round."""
    rounds = []
    for _ in range(ROUNDS):
        pair = []
        for setting in ("0", "1"):
            library.start(f"idle_graph_nodes={setting}", "export=none")
            step()
            library.stop()
            for _ in range(5):
                step()
            times = []
            for _ in range(COST_STEPS):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                step()
                torch.cuda.synchronize()
                times.append((time.perf_counter() - begin) * 1e3)
            pair.append(statistics.median(times))
        rounds.append(pair)
    return rounds


def train_once(run, cost_file):
    import torch

    library = Library()
    step = graphs.Step(compiled=False)
    step.warm_up()
    if run == "cost":
        pathlib.Path(cost_file).write_text(json.dumps(measure_cost(torch, library, step)))
        return
    if run in ("windows", "again"):
        library.start()
    if run == "gone":
        for _ in range(20):
            graph = step.captured()
            graph.reset()
    graph = step.captured() if run != "eager" else None
    if run == "windows":
        library.pause()
        library.resume()
    elif run == "again":
        library.stop()
        library.start()
        other = other_graph(torch, step)
        iterate(torch, other.replay, name="other")
    else:
        library.start()
    iterate(torch, step if graph is None else graph.replay)
    library.stop()


# --- what is held ---------------------------------------------------------------------------------------------------


def remembered_nodes(capture):
    """(nodes, copies) in the capture's earlier records."""
    counts = {9: 0, 10: 0}
    for payload in capture_chunks.chunks(capture, capture_chunks.EARLIER):
        for record in struct.iter_unpack("<2Q3IH2B", payload[8:]):
            if record[6] in counts:
                counts[record[6]] += 1
    return counts[9], counts[10]


def other_faults(report):
    """The other graph's operations stand below its own range, all of them."""
    rows = [row for row in report["rows"] if row["path"].startswith("other #")]
    own = [row for row in rows if row["path"] == "other #"]
    captured = [row for row in rows if row["path"] == "other #/other" and row["captured"]]
    if len(own) != 1 or len(captured) != 1 or own[0]["self_ops"] or captured[0]["self_ops"] != own[0]["ops"]:
        return [f"the other graph's rows are {[(row['path'], row['self_ops'], row['ops']) for row in rows]}"]
    return []


def check(prof, work, run, eager):
    """(faults, figures that are not judged)"""
    folder = work / run
    options = ["--idle-graph-nodes", "1"] if run in ("before", "again", "gone") else []
    cost_file = work / "cost.json"
    command = [prof, "run", "-o", str(folder), "--name", run, "--export", "none", "--autostart", "0", *options, "--",
               sys.executable, __file__, "--train", run, "--cost-file", str(cost_file)]
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=200, check=False)
    (work / f"{run}.stderr.txt").write_text(result.stderr)
    if result.returncode != 0:
        raise RuntimeError(f"status {result.returncode}: {' / '.join(result.stderr.splitlines()[-5:])}")
    if run == "cost":
        rounds = json.loads(cost_file.read_text())
        off, on = (statistics.median(pair[i] for pair in rounds) for i in (0, 1))
        differences = [pair[1] / pair[0] - 1 for pair in rounds]
        return [], {"off_ms": off, "on_ms": on, "cost": overhead.median_with_interval(differences)}
    capture = max(folder.glob("*.prof"), key=lambda path: path.stat().st_mtime_ns)
    out = subprocess.run([prof, "report", str(capture), "--report", "gpu-projection", "--format", "json"],
                         capture_output=True, text=True, check=True)
    report = json.loads(out.stdout)
    facts = {"shares": graphs.shares(report), "remembered": remembered_nodes(capture),
            "ops_of_unseen_captures": report["ops_of_unseen_captures"]}
    if run == "eager":
        return graphs.common_faults(report), facts | {"report": report}
    faults = graphs.replay_faults(eager, report) if eager else graphs.common_faults(report)
    return faults + (other_faults(report) if run == "again" else []), facts


RUNS = ("eager", "before", "windows", "again", "gone", "cost")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    build = pathlib.Path(os.environ.get("PROF_BUILD", graphs.ROOT / "build"))
    parser.add_argument("--prof", default=str(build / "bin/prof"))
    parser.add_argument("--work", type=pathlib.Path, help="keep captures and output here")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures here")
    parser.add_argument("--only", action="append", choices=RUNS, help="this run; may be repeated")
    parser.add_argument("--train", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--cost-file", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.train:
        train_once(options.train, options.cost_file)
        return 0
    try:
        has_gpu = subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).stdout.startswith(b"GPU")
        import torch  # noqa: F401
    except (OSError, ImportError) as missing:
        print(f"idle_graphs.py: skipped, {missing}")
        return graphs.SKIPPED
    if not has_gpu:
        print("idle_graphs.py: skipped, there is no GPU")
        return graphs.SKIPPED

    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or pathlib.Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        verdicts, eager = {}, None
        for run in options.only or RUNS:
            try:
                faults, facts = check(options.prof, work, run, eager)
            except (RuntimeError, subprocess.SubprocessError, AssertionError, OSError, ValueError) as failure:
                faults, facts = [f"{type(failure).__name__}: {failure}"], {}
            eager = facts.pop("report", eager)
            verdicts[run] = {"faults": faults} | facts
            print(f"{run:8} {'FAILED' if faults else 'ok'}  {facts}", *(f"    {fault}" for fault in faults), sep="\n",
                  flush=True)
        if options.json:
            options.json.write_text(json.dumps(verdicts, indent=1))
    return 1 if any(verdict["faults"] for verdict in verdicts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
