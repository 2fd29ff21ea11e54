#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof diff on a real GPU: verdicts on equal programs, and changes that were put in, named as what they are.

    compare.py PROF [OUT] [--pairs 20] [--runs 5] [--parts changes,gpu,launches] [--seconds N]

Equal programs, GPU-bound and launch-bound, are run 2 * PAIRS * RUNS times each: none of the pairs may be called faster or
slower. (At the level of 5 % one of 20 may be, by chance: a second look is then in order, and the line says so.) Prints the
spread of runs of the step and of the GPU time. Then each change is recorded RUNS times beside the unchanged program: the
largest parts of the waterfall must be those that the change makes, and the waterfall must add up.
Each line begins with PASS or FAIL; exits with 1 if one fails, with 77 without a GPU. It makes 4 * PAIRS * RUNS + 36
recordings, of some seconds each: --pairs 5 --runs 3 is a first look, and two GPUs may share the parts. With --seconds it
begins no recording of an equal pair after that time; the same command with the same OUT goes on.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

# A program of its own process: prof run starts it.
PROGRAM = """
import sys
import torch
bound, change = sys.argv[1], sys.argv[2]
size, layers, batch = (4096, 6, 1024) if bound == "gpu" else (64, 60, 16)
if change == "batch": batch //= 2
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(size, size) for _ in range(layers)]).cuda()
optimizer = (torch.optim.SGD if change == "optimizer" else torch.optim.AdamW)(model.parameters(), lr=1e-4)
data = torch.randn(batch, size, device="cuda")
range_of = torch.cuda.nvtx.range
run = torch.compile(model) if change == "compile" else model
extra = torch.randn(4096, 4096, device="cuda")
for step in range(60):
    with range_of(f"step {step}"):
        with range_of("forward"), torch.autocast("cuda", torch.bfloat16, enabled=change == "amp"):
            loss = run(data).square().mean()
            if change == "kernel": extra @ extra
        if change == "sync":
            with range_of("log"): loss.item()
        with range_of("backward"): loss.backward()
        with range_of("optimizer"):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
torch.cuda.synchronize()
"""

# Each change with the program in which it is large, and what the largest part of the waterfall, or one of them, must be:
# (phase, beginning of the use, sign); None: any.
CHANGES = {
    "kernel": ("gpu", ("forward", "kernels", +1)),
    "sync": ("launches", (None, "idle:", +1)),
    "batch": ("gpu", (None, "kernels", -1)),
    "amp": ("gpu", (None, "kernels", -1)),
    "compile": ("launches", (None, "", 0)),
    "optimizer": ("gpu", ("optimizer", "kernels", -1)),
}
failed = False


def say(passes, text):
    global failed
    failed |= not passes
    print("PASS" if passes else "FAIL", text, flush=True)


def record(prof, program, directory, bound, change):
    subprocess.run([prof, "run", "-q", "-o", directory, "--", sys.executable, program, bound, change], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def compared(prof, base, new):
    text = subprocess.run([prof, "diff", "--format", "json", base, new], check=True, capture_output=True, text=True)
    return {document["report"]: document for document in json.loads(text.stdout)}


def captures(directory):
    return len(list(directory.glob("*.prof")))


def equal_programs(prof, program, out, bound, pairs, runs, end):
    claims, spreads = 0, {"step": [], "GPU time": []}
    for pair in range(pairs):
        sides = [out / f"equal-{bound}-{pair}-{side}" for side in ("base", "new")]
        for run in range(runs):
            for side in sides[:: 1 if run % 2 == 0 else -1]:  # each side is as often the first of two
                if captures(side) <= run and time.monotonic() < end:
                    record(prof, program, side, bound, "none")
        if min(map(captures, sides)) < runs:
            print(f"{bound}-bound: time is up after {pair} of {pairs} pairs; the same command goes on", flush=True)
            pairs = pair
            break
        for row in compared(prof, *sides)["diff"]["rows"]:
            if row["figure"] in spreads:
                spreads[row["figure"]].append(row["run_spread"])
            if row["figure"] == "step":
                print(f"     {bound}-bound pair {pair}: {100 * row['change']:+.2f} %, {row['verdict']}", flush=True)
                claims += row["verdict"] in ("faster", "slower")
    if pairs == 0:
        return
    middle = {name: sorted(values)[len(values) // 2] for name, values in spreads.items()}
    say(claims == 0, f"{bound}-bound: {claims} of {pairs} equal pairs called faster or slower, {runs} runs a side (1 in 20 "
        f"may be, by chance); spread of runs: " + ", ".join(f"{name} {100 * s:.2f} %" for name, s in middle.items()))


def seeded_change(prof, program, out, change, runs):
    bound, (phase, use, sign) = CHANGES[change]
    sides = [out / f"{change}-base", out / f"{change}-new"]
    for _ in range(runs):
        record(prof, program, sides[0], bound, "none")
        record(prof, program, sides[1], bound, change)
    found = compared(prof, *sides)
    parts, step = found["diff_waterfall"]["rows"], found["diff"]["rows"][0]
    whole = found["diff_waterfall"]["new_step_ns"] - found["diff_waterfall"]["base_step_ns"]
    say(sum(part["change_ns"] for part in parts) == whole, f"{change}: the waterfall adds up to {whole / 1e6:+.3f} ms")
    largest = max(parts, key=lambda part: abs(part["change_ns"]))
    near = [part for part in parts if abs(part["change_ns"]) >= 0.5 * abs(largest["change_ns"])]
    fits = [part for part in near if phase in (None, part["phase"]) and part["use"].startswith(use)
            and (sign == 0 or sign * part["change_ns"] > 0)]
    say(bool(fits), f"{change}: step {100 * step['change']:+.1f} %, {step['verdict']}; most in "
        f"{largest['phase']}, {largest['use']}: {largest['change_ns'] / 1e6:+.3f} ms")
    if change == "kernel":  # on a GPU that has no time left, the step grows by what the kernel takes
        kernel = max(found["diff_kernels"]["rows"], key=lambda row: row["change_ns"])["change_ns"]
        say(abs(whole - kernel) <= 0.05 * kernel, f"kernel: the step is {whole / 1e6:.3f} ms longer, the kernel takes "
            f"{kernel / 1e6:.3f} ms more: within 5 %")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("prof")
    arguments.add_argument("out", nargs="?", type=pathlib.Path)
    arguments.add_argument("--pairs", type=int, default=20)
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--parts", default="changes,gpu,launches", help="the seeded changes, or some of them by name, and equal programs (%(default)s)")
    arguments.add_argument("--seconds", type=float, default=float("inf"), help="the time for equal programs")
    given = arguments.parse_args()
    end = time.monotonic() + given.seconds
    parts = given.parts.split(",")
    try:
        import torch
    except ImportError:
        print("SKIP there is no PyTorch")
        return 77
    if not torch.cuda.is_available():
        print("SKIP there is no GPU")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        out = given.out or pathlib.Path(scratch)
        out.mkdir(parents=True, exist_ok=True)
        program = out / "program.py"
        program.write_text(PROGRAM, encoding="utf-8")
        for change in CHANGES:
            if "changes" in parts or change in parts:
                seeded_change(given.prof, program, out, change, min(given.runs, 3))
        for bound in ("gpu", "launches"):
            if bound in parts:
                equal_programs(given.prof, program, out, bound, given.pairs, given.runs, end)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
