#!/usr/bin/env python3
"""Measures what a profiler that is not recording leaves in a step's time.

    residue.py --library libprof.so --rounds 40

What was loaded cannot be unloaded, so processes take turns: several of each role are started, and in each round every
one of them runs one window of steps, in a random order, while the others wait for their turn. All threads of all of them
are kept on one core: on their way between cores, and between the cores' neighbours, lies most of the noise. Roles:

    plain         nothing; the base that the others are divided by
    control       nothing either: its interval is the noise of the method
    idle          libprof is in the process (LD_PRELOAD), and was never started
    listening     the same, and it waits for cudaProfilerStart, which does not come
    stopped       libprof was started and stopped three times
    torch-stopped torch.profiler with CPU and CUDA activities was, once

A process may be slow or fast by the luck of its memory layout, so the interval is a bootstrap in two levels: over the
processes of both roles, and over the rounds.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import overhead

ROLES = {"plain": 3, "control": 3, "idle": 3, "listening": 3, "stopped": 3, "torch-stopped": 1}  # processes
LIBPROF = {  # the roles with libprof in the process: how it is set
    "idle": {"PROF_AUTOSTART": "0"},
    "listening": {"PROF_CAPTURE_RANGE": "cudaProfilerApi"},
    "stopped": {"PROF_AUTOSTART": "0"},
}
GOALS = {"idle": 0.005, "stopped": 0.01}
WORKLOADS = {  # steps a window, and before it uncounted
    "launch-bound": (4, 1), "two-threads": (4, 1), "gpu-bound": (3, 1), "graph-replay": (8, 1)
}
LEAST_ROUNDS = 40


class TwoThreads:
    """Two threads that launch small kernels at the same time, each on a stream of its own."""

    def __init__(self, launches=400):
        import torch

        self.torch, self.launches = torch, launches
        self.turn = threading.Barrier(3)
        for _ in range(2):
            threading.Thread(target=self._launch, daemon=True).start()

    def _launch(self):
        torch = self.torch
        data = torch.zeros(1000, device="cuda")
        with torch.cuda.stream(torch.cuda.Stream()):
            while True:
                self.turn.wait()
                for _ in range(self.launches):
                    data.add_(1)
                self.turn.wait()

    def step(self):
        self.turn.wait()
        self.turn.wait()

    def wait(self):
        self.torch.cuda.synchronize()


def make_workload(name):
    import train

    if name == "two-threads":
        return TwoThreads()
    training = train.Training(train.parse_options(overhead.WORKLOADS[name][0]))
    return overhead.GraphReplay(training) if name == "graph-replay" else training


def serve(role, names):
    """A process that takes turns: a line `WORKLOAD STEPS SETTLE` in, a line with the milliseconds a step out."""
    import gc

    sys.path.insert(0, str(overhead.ROOT / "examples"))
    overhead.launch_on_one_core()
    workloads = {name: make_workload(name) for name in names}
    for workload in workloads.values():
        overhead.window_ms(workload, 3, 3)
    if role in ("stopped", "torch-stopped"):
        for _ in range(3 if role == "stopped" else 1):
            tool = overhead.make_tool("prof" if role == "stopped" else "torch-cpu-cuda")
            tool.start()
            for workload in workloads.values():
                overhead.window_ms(workload, 3, 0)
            tool.stop()
    gc.disable()
    gc.collect()
    gc.freeze()  # what a window's collection need not look at: it would take longer than the window
    print("ready", flush=True)
    for line in sys.stdin:
        name, steps, settle = line.split()
        print(overhead.window_ms(workloads[name], int(steps), int(settle)), flush=True)


class Turn:
    """One of the processes."""

    def __init__(self, role, library, folder, names=(), command=None):
        self.role = role
        environment = dict(os.environ)
        if role in LIBPROF:
            environment |= {"LD_PRELOAD": library, "PROF_EXPORT": "none", **LIBPROF[role]}
        self.process = subprocess.Popen(
            command or [sys.executable, __file__, "--serve", role, "--workloads", ",".join(names)],
            env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"residue.py: the process '{self.role}' has ended with {self.process.wait()}")
        return line.strip()

    def window_ms(self, workload, steps, settle):
        print(workload, steps, settle, file=self.process.stdin, flush=True)
        return float(self.read())

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def take_turns(turns, workload, steps, settle, rounds, seed=1):
    """Milliseconds by role, process and round."""
    source = random.Random(seed)
    windows = {}
    order = list(enumerate(turns))
    for _ in range(rounds):
        source.shuffle(order)
        for place, turn in order:
            windows.setdefault(turn.role, {}).setdefault(place, []).append(turn.window_ms(workload, steps, settle))
    return {role: list(processes.values()) for role, processes in windows.items()}


def share(processes, base, source=None):
    """The median over the rounds of a role's mean beside the base's; with `source` of a resampling."""
    rounds = range(len(base[0]))
    if source is not None:
        processes = source.choices(processes, k=len(processes))
        base = source.choices(base, k=len(base))
        rounds = source.choices(rounds, k=len(rounds))
    return statistics.median(
        statistics.fmean(process[r] for process in processes) / statistics.fmean(process[r] for process in base) - 1
        for r in rounds
    )


def cost(processes, base, resamplings=4000):
    return {
        "median": share(processes, base),
        "interval95": overhead.interval(lambda source: share(processes, base, source), rounds=resamplings),
        "processes": len(processes),
        "rounds": len(base[0]),
    }


def verdict(figure, goal):
    return overhead.verdict(figure, goal) if figure["rounds"] >= LEAST_ROUNDS else "inconclusive"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--serve", metavar="ROLE", help=argparse.SUPPRESS)
    parser.add_argument("--library", metavar="FILE", help="libprof.so")
    parser.add_argument("--roles", default=",".join(ROLES), help="%(default)s; plain is needed")
    parser.add_argument("--processes", type=int, default=3, help="of a role, at most (%(default)s)")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", metavar="FILE", help="write all figures here")
    parser.add_argument("--workloads", default="launch-bound,two-threads", help=f"of {', '.join(WORKLOADS)} (%(default)s)")
    options = parser.parse_args(arguments)
    names = options.workloads.split(",")
    if not set(names) <= WORKLOADS.keys():
        raise SystemExit(f"residue.py: --workloads={options.workloads}: there are {', '.join(WORKLOADS)}")
    if options.serve:
        return serve(options.serve, names)
    try:
        import torch
    except ImportError:
        print("residue.py: skipped, there is no PyTorch")
        return overhead.SKIP
    if not torch.cuda.is_available():
        print("residue.py: skipped, there is no GPU")
        return overhead.SKIP
    if options.library is None:
        raise SystemExit("residue.py: --library says where libprof.so lies")

    results = {"torch": torch.__version__, "goals": GOALS}
    with tempfile.TemporaryDirectory() as folder:
        library = str(pathlib.Path(options.library).resolve())
        began = time.perf_counter()
        roles = [role for role in options.roles.split(",") for _ in range(min(ROLES[role], options.processes))]
        turns = [Turn(role, library, folder, names) for role in roles]
        for turn in turns:
            turn.read()  # ready
        print(f"{len(turns)} processes, ready after {time.perf_counter() - began:.0f} s", flush=True)
        for workload in names:
            steps, settle = WORKLOADS[workload]
            windows = take_turns(turns, workload, steps, settle, options.rounds)
            figures = {role: cost(processes, windows["plain"]) for role, processes in windows.items() if role != "plain"}
            base_ms = statistics.median(ms for process in windows["plain"] for ms in process)
            results[workload] = {"plain_ms": base_ms, "cost": figures, "windows": windows}
            print(f"{workload}: {base_ms:.3f} ms a step, {options.rounds} rounds of {steps} steps", flush=True)
            for role, figure in figures.items():
                goal = f"; within {100 * GOALS[role]:.1f} %: {verdict(figure, GOALS[role])}" if role in GOALS else ""
                print(f"  {role}: {overhead.percent(figure)}{goal}", flush=True)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(results))
        for turn in turns:
            turn.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
