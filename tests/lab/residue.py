#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a profiler leaves in a step's time that cannot be taken out of the process again.

    residue.py --library libprof.so --client-library libdiscarding_client.so --launch-turns launch_turns

A loaded library cannot be unloaded, so processes alternate. Several processes of each role are started. In each round
every one of them runs one window of steps, in a random order, while the others wait. Threads that launch are kept on
one core, the same in all processes, since most of the noise comes from moving between cores. Roles:

    plain         nothing; the base that the others are divided by
    control       nothing either: its intervals are the noise of the method
    idle          libprof is in the process (LD_PRELOAD), and was never started
    quiet         the same without its thread (control=off)
    uninjected    as idle, but the driver is given no tool when it begins
    bystander     no libprof, but a library as large that does nothing is preloaded (libbystander.so)
    injected      no libprof, but the driver finds a tool when it begins, which does nothing (libsilent_tool.so)
    listening     as idle, and it waits for cudaProfilerStart, which does not come
    joined        libprof comes into the process half way (dlopen), and is never started
    stopped       libprof is in the process, and is started and stopped three times half way, while threads launch
    whole-graphs  libprof records all the time, CUDA graphs as a whole: that can begin before there are graphs only, so
                  that it cannot be switched on and off in one process
    torch-stopped torch.profiler with CPU and CUDA activities is used once half way

All processes have windows before that change and after it. A process may be slow or fast for its whole life, by the
luck of its memory layout, which the C++ program shuffles in each process. The figure of a role that changes half way is
therefore (after / before) divided by the same of `plain`: the luck is in both and cancels out. A role that does not
change has only its time divided by `plain`'s. `control` is measured in both ways. The interval is a bootstrap in two
levels: over the processes of both roles, and over the rounds of each half. If the control's interval is not within a
goal, the goal is inconclusive, or missed if the figure exceeds it by more than the control's error. The output then
states how many times as many windows would be enough.

Each window has two figures, its typical step (the mean; of the C++ program the median) and its fastest. A cost at every
step is in both. Which of them is less noisy depends on the machine. The goals are judged by the one whose control has
the narrower intervals. That choice does not depend on the figures that are judged.

The workloads `launches` and `launches-two-threads` are bursts of launches by a C++ program, with much less noise than a
training step. Their cost a launch, in nanoseconds, is also given as a share of a launch-bound training step.

What libprof does while it is idle has no noise: its threads, how often they wake up, that nothing is subscribed to
CUPTI, so that no code of libprof runs at a launch, and how many ranges a step has.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import overhead
import residue_cost

HERE = pathlib.Path(__file__).resolve().parent
ROLES = dict.fromkeys(  # processes at most
    ("plain", "control", "idle", "quiet", "uninjected", "bystander", "injected", "listening", "joined", "stopped",
     "whole-graphs"), 24
) | {"torch-stopped": 1}
LIBPROF = {  # the roles with libprof in the process: how it is set
    "idle": {"PROF_AUTOSTART": "0"},
    "quiet": {"PROF_AUTOSTART": "0", "PROF_CONTROL": "off"},
    "uninjected": {"PROF_AUTOSTART": "0", "CUDA_INJECTION64_PATH": ""},
    "listening": {"PROF_CAPTURE_RANGE": "cudaProfilerApi"},
    "joined": {"PROF_AUTOSTART": "0"},
    "stopped": {"PROF_AUTOSTART": "0"},
    "whole-graphs": {"PROF_CUDA_GRAPHS": "graphs"},
}
WAYS_IN = ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")
WORKLOADS = {  # steps a window, and before it uncounted
    "launches": (9, 2), "launches-two-threads": (9, 2), "launch-bound": (2, 1), "two-threads": (4, 1),
    "gpu-bound": (2, 1), "graph-replay": (5, 1),
}


# --- processes ----------------------------------------------------------------------------------------------------------


class Turn:
    """One of the processes."""

    def __init__(self, role, library, folder, command):
        self.role = role
        environment = {name: value for name, value in os.environ.items() if name not in WAYS_IN}
        if role in LIBPROF:
            environment |= {"PROF_EXPORT": "none", **LIBPROF[role]}
            if role != "joined":
                environment["LD_PRELOAD"] = library
        if role == "bystander":
            environment["LD_PRELOAD"] = str(pathlib.Path(library).with_name("libbystander.so"))
        if role == "injected":
            environment["CUDA_INJECTION64_PATH"] = str(pathlib.Path(library).with_name("libsilent_tool.so"))
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"residue.py: the process '{self.role}' has ended with {self.process.wait()}")
        return line.strip()

    def request(self, line):
        with contextlib.suppress(BrokenPipeError):  # it has ended, which is reported below
            print(line, file=self.process.stdin, flush=True)
        return self.read()

    def window_ms(self, workload, steps, settle):
        return [float(word) for word in self.request(f"{workload} {steps} {settle}").split()]

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def take_turns(turns, workloads, rounds, seconds=None, seed=1):
    """Milliseconds by workload, role, process and round: what the process answers with. `workloads`: with the steps of
    a window and those before it. In a round each has its windows, so that all have as many."""
    source = random.Random(seed)
    windows = {name: [[] for _ in turns] for name in workloads}
    order = list(enumerate(turns))
    began = time.perf_counter()
    for _ in range(rounds):
        for name, (steps, settle) in workloads.items():
            source.shuffle(order)
            for place, turn in order:
                windows[name][place].append(turn.window_ms(name, steps, settle))
        if seconds is not None and time.perf_counter() - began > seconds:
            break
    roles = list(dict.fromkeys(turn.role for turn in turns))
    return {
        name: {role: [own for own, turn in zip(processes, turns) if turn.role == role] for role in roles}
        for name, processes in windows.items()
    }


def expect_libprof(turns, half):
    """In each process that is to have it in this half, and in no other."""
    for turn in turns:
        wanted = turn.role in LIBPROF and (turn.role != "joined" or half == "after")
        maps = pathlib.Path(f"/proc/{turn.process.pid}/maps").read_text()
        if ("libprof.so" in maps) != wanted:
            raise SystemExit(f"residue.py: libprof is {'not ' if wanted else ''}in a process of the role '{turn.role}'")


def wake_ups(process):
    """Of libprof's threads: how often each was switched to until now, by name."""
    found = {}
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            status = (task / "status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        if name.startswith("prof-"):
            lines = (line.split() for line in status.splitlines() if "ctxt_switches" in line)
            found[name] = found.get(name, 0) + sum(int(count) for _, count in lines)
    return found


def evidence(turns, before, seconds, have_ranges):
    """What libprof did in so many seconds in which it was idle, in each process that has it."""
    result = {}
    for turn in turns:
        if turn.role not in LIBPROF or turn.role in ("listening", "whole-graphs"):
            continue
        after = wake_ups(turn.process.pid)
        entry = result.setdefault(turn.role, {"seconds": seconds, "threads": {}, "subscription": set()})
        for name, count in after.items():
            woken = count - before[turn.process.pid].get(name, 0)
            entry["threads"][name] = max(entry["threads"].get(name, 0), woken)
        try:
            entry["subscription"].add(turn.request("subscribe"))
            if have_ranges and turn.role == "idle" and "ranges" not in entry:
                entry["ranges"] = turn.request("ranges")
        except SystemExit as failure:  # the windows are measured, and are not to be lost
            entry["subscription"].add(str(failure))
    return {role: entry | {"subscription": sorted(entry["subscription"])} for role, entry in result.items()}


def lines_of(found):
    for role, entry in found.items():
        threads = ", ".join(f"{name} woke up {count} times" for name, count in entry["threads"].items()) or "no thread"
        ranges = f"; ranges a step, with two calls each: {entry['ranges']}" if "ranges" in entry else ""
        yield f"  {role}, {entry['seconds']:.0f} s: {threads}; CUPTI's subscription: {', '.join(entry['subscription'])}{ranges}"


# --- the measurement ----------------------------------------------------------------------------------------------------


def measure(turns, names, rounds, seconds):
    """The figures of each workload, and what libprof did in the second half. `seconds`: for all of it, or None."""
    halves = []
    for half in ("before", "after"):
        if half == "after":
            for turn in turns:
                turn.request("change")
            switches = {turn.process.pid: wake_ups(turn.process.pid) for turn in turns}
        expect_libprof(turns, half)
        began = time.perf_counter()
        workloads = {name: WORKLOADS[name] for name in names}
        halves.append(take_turns(turns, workloads, rounds, seconds and seconds / 2))
    done = evidence(turns, switches, time.perf_counter() - began, not set(names) & set(residue_cost.LAUNCHES))
    return {name: residue_cost.evaluated(name, *(half[name] for half in halves)) for name in names}, done


def run_group(options, names, command):
    """The workloads that one kind of process has. `command`: of a process, by its change."""
    library = str(pathlib.Path(options.library).resolve())
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        # By turns: what a process gets of the GPU depends on how many there are already.
        roles = [role for number in range(options.processes) for role in options.roles.split(",") if number < ROLES[role]]
        turns = [Turn(role, library, folder, command(residue_cost.CHANGES.get(role, "none"))) for role in roles]
        for turn in turns:
            line = turn.read()
            if line != "ready":
                print(line)
                raise SystemExit(overhead.SKIP)
        print(f"{len(turns)} processes, ready after {time.perf_counter() - began:.0f} s", flush=True)
        results, done = measure(turns, names, options.rounds, options.seconds)
        for turn in turns:
            turn.end()
    for name in names:
        print("\n".join(residue_cost.report(name, results[name], WORKLOADS[name][0])), flush=True)
    print("\n".join(["while idle:", *lines_of(done)]), flush=True)
    return results | {f"while idle: {','.join(names)}": done}


def groups(options):
    """Workloads with the command of their processes."""
    names = options.workloads.split(",")
    library, client = (str(pathlib.Path(path).resolve()) for path in (options.library, options.client_library))
    in_python = [name for name in names if name not in residue_cost.LAUNCHES]
    in_program = [name for name in names if name in residue_cost.LAUNCHES]
    if in_program:
        if not options.launch_turns:
            raise SystemExit("residue.py: --launch-turns says where the program of launch_cost/turns.cpp lies")
        program = str(pathlib.Path(options.launch_turns).resolve())
        yield in_program, lambda change: [program, change, library, client]
    if in_python:
        server = str(HERE / "residue_server.py")
        yield in_python, lambda change: [sys.executable, server, change, ",".join(in_python), library, client]


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True, metavar="FILE", help="libprof.so")
    parser.add_argument("--client-library", required=True, metavar="FILE", help="the discarding client")
    parser.add_argument("--launch-turns", metavar="FILE", help="the program of launch_cost/turns.cpp")
    parser.add_argument("--roles", default="plain,control,idle,joined,stopped", help="%(default)s; plain is needed")
    parser.add_argument("--processes", type=int, default=4, help="of a role, at most (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1000, help="of each half, at most (%(default)s)")
    parser.add_argument("--seconds", type=float, help="for the rounds of each kind of process, C++ and Python")
    parser.add_argument("--json", metavar="FILE", help="write all figures here")
    parser.add_argument("--workloads", default="launches,launches-two-threads", help=f"of {', '.join(WORKLOADS)} (%(default)s)")
    options = parser.parse_args(arguments)
    for option, known in (("workloads", WORKLOADS), ("roles", ROLES)):
        if not set(getattr(options, option).split(",")) <= known.keys():
            parser.error(f"--{option}={getattr(options, option)}: there are {', '.join(known)}")
    if "plain" not in options.roles.split(","):
        parser.error(f"--roles={options.roles}: without plain there is nothing to compare with")
    return options


def can_run(options):
    """Whether the workloads can run; prints what is missing."""
    # For the launches, the program itself checks and reports it.
    in_program = all(name in residue_cost.LAUNCHES for name in options.workloads.split(","))
    return in_program or overhead.has_gpu("residue.py")


def main(arguments=None):
    options = parse_options(arguments)
    if not can_run(options):
        return overhead.SKIP
    results = {"goals": residue_cost.GOALS}
    for names, command in groups(options):
        results |= run_group(options, names, command)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
