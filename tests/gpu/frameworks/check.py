#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the phases that `prof run` observes of frameworks' programs (programs.py), each unchanged, on a GPU.

    check.py PROF OUT [--beside-torch] [PROGRAM…]

For each: the share of the GPU time in named phases; the GPU time of forward, backward and optimizer beside that of ranges
put in by hand in the same run, and of backward beside torch.profiler's in another; that the modules' sums are those of the
phases, and how much of backward is no module's; and that the loss is bit-equal and dynamo's counters are the same as in a
run without libprof. OUT/NAME.txt has the table, OUT/NAME.modules.txt that of the modules.

With --beside-torch only backward beside torch.profiler, within 1 %: two runs, whose GPU times can be compared where
nothing else uses the GPU.
"""
import bisect
import collections
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHARE = 0.99
BESIDE_HAND = 0.01
BESIDE_TORCH = 0.01
NAMED = {"data", "forward", "evaluation", "backward", "recompute", "optimizer", "zero_grad", "clip_grad", "loss_scaling"}
COMPILED = {"compiled", "reduce_overhead"}  # the first run on a machine also tries out what it compiles
WITHOUT_NODES = {"graph", "generate"}  # what a graph replays is in no phase of the trace, and in no node


def run(command, **variables):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | variables, timeout=300, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done


def loss_line(done):
    return next(line for line in done.stdout.splitlines() if line.startswith("loss "))


def record(prof, folder, program, *options, modules=False):
    folder.mkdir(parents=True, exist_ok=True)
    done = run([prof, "run", "-o", folder, "--name", program, "--export", "none", *["--modules"] * modules, "--",
                sys.executable, HERE / "programs.py", program, *options])
    captures = sorted(folder.glob(program + ".*.prof"), key=lambda path: path.stat().st_size)
    return loss_line(done), captures[-1], done.stderr


def report(prof, capture, form="json"):
    out = run([prof, "report", "--format", form, capture]).stdout
    return json.loads(out) if form == "json" else out


def modules_of(prof, capture, rows):
    """Ratios of the modules' sums to their phases, and shares that are reported as in no module or as unknown."""
    modules = json.loads(run([prof, "report", "--report", "modules", "--format", "json", capture]).stdout)
    phases = {name: gpu_of(rows, name, True) for name in ("forward", "backward", "recompute", "evaluation")}
    phases["backward"] -= phases["recompute"]
    figures = {}
    for phase, expected in phases.items():
        tops = [row for row in modules["rows"] if "." not in row["path"]]
        found = sum(row[phase + "_gpu_ns"] for row in tops)
        if expected or found:
            figures[phase] = found / expected if expected else None
    backward = phases["backward"] or 1
    for row in modules["rows"]:
        if row["path"].startswith("("):
            figures[row["path"]] = row["backward_gpu_ns"] / backward
    return {name: value if value is None else round(value, 4) for name, value in figures.items()}


def gpu_of(rows, name, observed):
    """Of the outermost rows of that name."""
    total = 0
    for row in rows:
        parts = row["path"].split("/")
        if row["name"] == name and row["observed"] == observed and name not in parts[:-1]:
            total += row["gpu_sum_ns"]
    return total


def share_in_trace(prof, capture):
    """By the trace alone: of the GPU time launched in steps, which share was launched in a phase. Without the last step,
    which has what comes after the loop. Autograd's threads work for the one that is in backward."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace.json")
        run([prof, "export", capture, "-o", trace])
        events = json.loads(trace.read_text())["traceEvents"]
    calls, spans = {}, {"step": [], "phase": []}
    for event in events:
        arguments = event.get("args", {})
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in arguments:
            calls[arguments["correlation"]] = event["ts"]
        elif arguments.get("domain") == "prof.phases" and event.get("ph") == "X" and event["cat"] == "user_annotation":
            kind = "step" if event["name"] == "step" else "phase" if event["name"] in NAMED else None
            if kind:
                spans[kind].append((event["ts"], event["ts"] + event["dur"]))
    steps = sorted(spans["step"])[:-1]
    edges = sorted([(begin, 1) for begin, _ in spans["phase"]] + [(end, -1) for _, end in spans["phase"]])
    times, depths = [time for time, _ in edges], list(itertools.accumulate(change for _, change in edges))
    of_steps = of_phases = 0
    outside = collections.Counter()
    for event in events:
        at = calls.get(event.get("args", {}).get("correlation"))
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset") or at is None or not steps:
            continue
        if not steps[0][0] <= at < steps[-1][1]:
            continue
        of_steps += event["dur"]
        place = bisect.bisect_right(times, at)
        if place and depths[place - 1] > 0:
            of_phases += event["dur"]
        else:
            outside[event["name"][:60]] += event["dur"]
    if not of_steps:
        return 0, []
    return of_phases / of_steps, [f"{name} {time / of_steps:.1%}" for name, time in outside.most_common(2)]


def check(prof, out, program):
    figures, faults = {}, []
    bare = loss_line(run([sys.executable, HERE / "programs.py", program]))
    loss, capture, error_output = record(prof, out / "plain", program)
    if loss != bare:
        faults.append(f"bare: {bare}; recorded: {loss}")
    faults += [line for line in error_output.splitlines() if line.startswith("libprof: ")]
    unchanged = report(prof, capture)
    (out / f"{program}.txt").write_text(report(prof, capture, "table"))
    figures["steps"] = sum(row["instances"] for row in unchanged["rows"] if row["path"] == "step")
    if program not in WITHOUT_NODES:
        figures["named"], outside = share_in_trace(prof, capture)
        if figures["named"] < SHARE:
            faults.append(f"{100 * figures['named']:.2f} % in named phases; outside: {', '.join(outside)}")
    loss, capture, error_output = record(prof, out / "hand", program, "--hand", modules=True)
    if loss != bare:
        faults.append(f"bare: {bare}; with modules: {loss}")
    faults += [line for line in error_output.splitlines() if line.startswith("libprof: ")]
    rows = report(prof, capture)["rows"]
    figures["modules"] = modules_of(prof, capture, rows)
    (out / f"{program}.modules.txt").write_text(run([prof, "report", "--report", "modules", capture]).stdout)
    if any(abs((figures["modules"].get(phase, 1) or 0) - 1) > 1e-9 for phase in ("forward", "backward", "recompute")):
        faults.append(f"modules: {figures['modules']}")
    for phase in ("forward", "backward", "optimizer"):
        by_hand, observed = gpu_of(rows, "hand." + phase[0], False), gpu_of(rows, phase, True)
        if program == "generate":
            continue
        figures[phase] = observed / by_hand if by_hand else None
        if not by_hand or abs(observed / by_hand - 1) > BESIDE_HAND:
            faults.append(f"{phase}: {observed} ns, by hand {by_hand}")
    if program not in WITHOUT_NODES:
        figures["backward/torch"] = beside_torch(out, program, unchanged["rows"])
    return printed(program, figures, faults)


def beside_torch(out, program, rows):
    """Backward's GPU time over that of autograd's nodes by torch.profiler, in a run of its own; None without nodes."""
    path = out / f"{program}.torch.json"
    run([sys.executable, HERE / "programs.py", program, "--profile", path])
    of_nodes = json.loads(path.read_text())["gpu_ns"]
    return gpu_of(rows, "backward", True) / of_nodes if of_nodes else None


def check_beside_torch(prof, out, program):
    if program in WITHOUT_NODES:
        return True
    if program in COMPILED:
        run([sys.executable, HERE / "programs.py", program])
    _, capture, _ = record(prof, out / "plain", program)
    ratio = beside_torch(out, program, report(prof, capture)["rows"])
    faults = [] if ratio and abs(ratio - 1) <= BESIDE_TORCH else [f"backward over torch.profiler's: {ratio}"]
    return printed(program, {"backward/torch": ratio}, faults)


def printed(program, figures, faults):
    print(program, json.dumps({name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()}),
          *(["FAILED"] if faults else ["ok"]), flush=True)
    for fault in faults:
        print("   ", fault, flush=True)
    return not faults


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(HERE))
    import programs

    only = "--beside-torch" in sys.argv[3:]
    failed = 0
    for program in [name for name in sys.argv[3:] if name != "--beside-torch"] or programs.PROGRAMS:
        try:
            failed += not (check_beside_torch if only else check)(os.path.abspath(sys.argv[1]), out, program)
        except (Exception, SystemExit) as failure:
            failed += 1
            print(program, "FAILED", str(failure)[-3000:], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
