#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks on a GPU that findings end at the seeded lines, and what recording lines costs.

    lines.py flaws BUILD [FLAW...]    each flaw under `prof run`: the first finding's dearest place is at the seeded line;
                                      those named native_… are C++, built here by nvcc (lines_native.cu)
    lines.py cost BUILD [SECONDS]     launch-bound steps without lines, with them, with as many stacks as there may be, with one
                                      for each call, and with a known delay, in turn within the recordings of one process.
                                      The library needs its symbol table (nm)

BUILD: a build folder with bin/prof and lib/libprof.so. Prints PASS or FAIL a check, and at last for all. Exits with 77
without a GPU and PyTorch.

A flaw's line ends with a comment, the flaw's name. Of host code the line is one of those that ran, or that of the next CUDA
call (docs/reference/diagnose.md); they are all marked.
"""
import atexit
import ctypes
import functools
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
STEPS = 30
GOAL = 0.002  # of a step
SEEDED = 0.004  # the share of a step by which steps are delayed, to see whether that is measured
ROUNDS_OF_RECORDING = 200
NO_LINES = 2**64 - 1
KINDS = ("off", "on", "many", "all", "seeded")

# --- the programs -----------------------------------------------------------------------------------------------------


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:  # host_code
        pass  # host_code


class Training:
    """A small model, whose steps take some milliseconds."""

    def __init__(self, layers=8, width=1024):
        import torch

        self.torch = torch
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(layers))).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.batch = torch.randn(8192, width, device="cuda")

    def step(self, model=None):
        self.optimizer.zero_grad()
        loss = (model or self.model)(self.batch).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss


def item():
    training = Training()
    total = 0.0
    for _ in range(STEPS):
        loss = training.step()
        total += loss.item()  # item


def two_lines():
    training = Training()
    for _ in range(STEPS):
        loss = training.step()
        loss.item()  # two_lines
        training.step().tolist()  # two_lines


def if_tensor():
    training = Training()
    for _ in range(STEPS):
        if training.step() > 1e9:  # if_tensor
            print("diverged")


def pageable():
    training = Training()
    torch = training.torch
    host = torch.randn(4096, 8192)
    for _ in range(STEPS):
        training.batch = host.cuda(non_blocking=True)[:2048, :1024]  # pageable
        training.step()


def synchronize():
    training = Training()
    for _ in range(STEPS):
        training.step()
        training.torch.cuda.synchronize()  # synchronize
        training.step()


def empty_cache():
    training = Training()
    for _ in range(STEPS):
        training.step()
        training.torch.cuda.empty_cache()  # empty_cache
        training.optimizer.zero_grad(set_to_none=True)


def host_code():
    training = Training()

    def tokenize():
        # Longer than the wait for the loss.
        spin(0.02)  # host_code

    for _ in range(STEPS):
        training.step().item()
        tokenize()  # host_code
        training.optimizer.zero_grad()
        training.batch.add_(0.0)  # host_code


def custom_function():
    training = Training()
    torch = training.torch

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            if gradient.abs().max().item() > 1e9:  # custom_function
                print("large")
            # The wait above keeps the GPU from computing meanwhile.
            time.sleep(0.003)  # custom_function
            return gradient * 2

    for _ in range(STEPS):
        training.optimizer.zero_grad()
        Scaled.apply(training.model(training.batch)).square().mean().backward()
        training.optimizer.step()


def collate():
    training = Training()
    torch = training.torch

    def collate_batch(rows):
        end = time.perf_counter() + 0.003
        while time.perf_counter() < end:  # collate
            pass  # collate
        return torch.stack(rows).cuda()

    data = [torch.randn(1024) for _ in range(64)] * STEPS
    for batch in torch.utils.data.DataLoader(data, batch_size=64, collate_fn=collate_batch):
        training.batch = batch.repeat(32, 1)
        training.step()


def compiled():
    training = Training()
    model = training.torch.compile(training.model)
    for _ in range(STEPS):
        loss = training.step(model)
        loss.item()  # compiled


def lightning():
    import lightning as pl

    training = Training()
    torch = training.torch

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = training.model

        def training_step(self, batch, _):
            return self.model(training.batch).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    class Watch(pl.Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, index):
            outputs["loss"].item()  # lightning

    loader = torch.utils.data.DataLoader([torch.zeros(1)] * STEPS)
    pl.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
               enable_model_summary=False, callbacks=[Watch()]).fit(Module(), loader)


FLAWS = {each.__name__: each for each in (item, two_lines, if_tensor, pageable, synchronize, empty_cache, host_code,
                                          custom_function, collate, compiled, lightning)}
NEEDS = {"lightning": "lightning"}
NATIVE = HERE.parent / "lines_native.cu"
NATIVE_FLAWS = ("native_copy", "native_wait", "native_allocation", "native_pageable", "native_host_code")
# As it is by default; optimised with a frame pointer and with the shared runtime; without debug information.
NATIVE_FLAGS = {"": ["-O2", "-g"], "+frame_pointer": ["-O3", "-g", "-Xcompiler", "-fno-omit-frame-pointer", "-cudart", "shared"],
                "+no_debug": ["-O2"]}


# --- the checks -------------------------------------------------------------------------------------------------------


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("PROF_") and name != "LD_PRELOAD"}


def seeded_lines(flaw, file=HERE, mark="  # "):
    lines = file.read_text(encoding="utf-8").split("\n")
    return {f"{file.name}:{number}" for number, line in enumerate(lines, 1) if line.endswith(mark + flaw)}


def is_installed(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


@functools.cache
def native_program(variant):
    """None without nvcc. Lives as long as this process."""
    compiler = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(compiler):
        return None
    folder = pathlib.Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    subprocess.run([compiler, *NATIVE_FLAGS[variant and "+" + variant], str(NATIVE), "-o", folder / "program"],
                   check=True)
    subprocess.run([folder / "program", "native_wait"], check=True)  # CUDA's files are read from disk once
    return folder / "program"


def check_native_flaw(build, flaw):
    """A C++ flaw, built in each way: "native_copy", "native_copy+no_debug"."""
    name, _, variant = flaw.partition("+")
    program = native_program(variant)
    if program is None:
        print(f"skip {flaw}: no nvcc", flush=True)
        return True
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([build / "bin/prof", "run", "-o", folder, "--export", "none", "--", program, name],
                             capture_output=True, text=True, check=False, timeout=280, env=environment())
        captures = list(pathlib.Path(folder).glob("*.prof"))
        if ran.returncode != 0 or not captures:
            print(f"FAIL {flaw}: the program ended with {ran.returncode}: {ran.stderr[-800:]}", flush=True)
            return False
        report = subprocess.run([build / "bin/prof", "report", "--report", "diagnose", "--format", "json",
                                 str(captures[0])], capture_output=True, text=True, check=True)
    rows = json.loads(report.stdout)["rows"]
    first = rows[0] if rows else {"finding": "none", "places": []}
    place = first["places"][0] if first["places"] else {"line": None, "code": None, "cost_ns": 0}
    if variant == "no_debug":
        wanted, found = {name}, (place["code"] or "").split(" ")[0]
    else:
        wanted, found = seeded_lines(name, NATIVE, "  // "), (place["line"] or "").rsplit("/", 1)[-1]
    is_right = found in wanted
    print(f"{'PASS' if is_right else 'FAIL'} {flaw}: {first['finding']}; wanted {sorted(wanted)}; found {found} "
          f"({place['code']}) {place['cost_ns'] / 1e6:.2f} ms", flush=True)
    if not is_right:
        print(json.dumps(rows)[:1000], flush=True)
    return is_right


def check_flaw(build, flaw):
    if flaw.startswith("native_"):
        return check_native_flaw(build, flaw)
    if flaw in NEEDS and not is_installed(NEEDS[flaw]):
        print(f"skip {flaw}: no {NEEDS[flaw]}", flush=True)
        return True
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([build / "bin/prof", "run", "-o", folder, "--export", "none", "--", sys.executable, str(HERE),
                              "program", flaw], capture_output=True, text=True, check=False, timeout=280, cwd=HERE.parent,
                             env=environment())
        captures = sorted(pathlib.Path(folder).glob("*.prof"), key=lambda path: path.stat().st_size)
        if ran.returncode != 0 or not captures:
            print(f"FAIL {flaw}: the program ended with {ran.returncode}: {ran.stderr[-800:]}", flush=True)
            return False
        report = subprocess.run([build / "bin/prof", "report", "--report", "diagnose", "--format", "json",
                                 str(captures[-1])], capture_output=True, text=True, check=True)
        rows = json.loads(report.stdout)["rows"]
        lines = subprocess.run([build / "bin/prof", "report", "--report", "lines", str(captures[-1])],
                               capture_output=True, text=True, check=True).stdout
    wanted = seeded_lines(flaw)
    first = rows[0] if rows else {"finding": "none", "places": []}
    found = [place["line"] for place in first["places"]]
    is_right = bool(found) and found[0] in wanted
    if flaw == "two_lines":
        every = {place["line"] for row in rows for place in row["places"]}
        is_right = is_right and wanted <= every
    places = ", ".join(f"{place['line']} ({place['code']}) {place['cost_ns'] / 1e6:.2f} ms" for place in first["places"])
    print(f"{'PASS' if is_right else 'FAIL'} {flaw}: {first['finding']}; wanted {sorted(wanted)}; places: {places}",
          flush=True)
    if not is_right:
        for row in rows[1:4]:
            print(f"     then: {row['finding']}: {[place['line'] for place in row['places']]}")
        print(lines, flush=True)
    return is_right


class Library:
    def __init__(self):
        with open("/proc/self/maps", encoding="utf-8") as maps:
            path = next(line.split()[-1] for line in maps if "libprof.so" in line)
        self.library = ctypes.CDLL(path)
        self.library.prof_start.argtypes = [ctypes.c_void_p]

    def start(self, *settings):
        texts = [setting.encode() for setting in settings]
        array = (ctypes.c_char_p * (len(texts) + 1))(*texts, None)
        result = self.library.prof_start(ctypes.cast(array, ctypes.c_void_p))
        if result != 0:
            raise SystemExit(f"prof_start returned {result}")

    def stop(self):
        self.library.prof_stop()


def launch_bound():
    """A training whose launches take longer than its kernels."""
    import torch

    torch.manual_seed(1)
    layers = [torch.nn.Linear(64, 64) for _ in range(100)]
    model = torch.nn.Sequential(*(part for layer in layers for part in (layer, torch.nn.ReLU()))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=False)
    batch = torch.randn(32, 64, device="cuda")

    def step():
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    return torch, step


def count_stacks(capture):
    """Of calls, and of the host code before calls (docs/reference/capture-format.md)."""
    sys.path.insert(0, str(HERE.parent.parent / "lab"))
    import capture_chunks

    records, code_line, during = 5, 18, 2
    stacks = set()
    for payload in capture_chunks.chunks(capture, records):
        for _, call, _, _, _, _, kind, flags in struct.iter_unpack("<QQIIIHBB", payload[8:]):
            if kind == code_line and flags & 3 != during:
                stacks.add((call, flags & 3))
    return len(stacks)


class LineBounds:
    """Says within a recording which calls have a stack: the bounds of hooks/lines/line_bounds.hpp, and the time in which a
    thread earns a stack, of call_lines.cpp."""

    def __init__(self, library):
        symbols = subprocess.run(["nm", "-C", library], check=True, capture_output=True, text=True).stdout
        with open("/proc/self/maps", encoding="utf-8") as maps:
            base = min(int(line.split("-")[0], 16) for line in maps if "libprof.so" in line)

        def address(name):
            return base + int(re.search(rf"^([0-9a-f]+) . {re.escape(name)}$", symbols, re.M).group(1), 16)

        self.bounds = (ctypes.c_uint64 * 2).from_address(address("prof::bounds_of_lines"))
        self.pause = ctypes.c_uint64.from_address(address("prof::(anonymous namespace)::stack_ticks"))
        self.values = None

    def learn(self):
        """In a recording of which 5 ms have passed: until then the rate of the clock is not known."""
        self.values = [*self.bounds, self.pause.value]
        if NO_LINES in self.values:
            raise SystemExit("the recording has no lines")

    def switch(self, kind):
        """on: as it is. many: every call would have a stack, and a thread has as many as it ever may. all: each has one."""
        *bounds, pause = self.values
        self.bounds[:] = bounds if kind == "on" else [0, 0] if kind in ("many", "all") else [NO_LINES, NO_LINES]
        self.pause.value = 1 if kind == "all" else pause


class Estimate:
    """By how much the steps of one kind are longer than those without lines, in a share of these, with a 95 % interval.

    Steps of all kinds take turns, in an order drawn for each round, so that what drifts goes out. The slowest fifth of each
    kind is left out, which other programs on the machine have disturbed. Rounds that follow each other depend on each
    other: blocks of them are drawn for the interval.
    """

    def __init__(self, rounds, kind):
        draws = random.Random(1)
        blocks = [rounds[first:first + 50] for first in range(0, len(rounds) - 49, 50)]
        self.middle = self.of(rounds, kind)
        values = sorted(self.of([row for block in draws.choices(blocks, k=len(blocks)) for row in block], kind)
                        for _ in range(400))
        self.low, self.high = values[10], values[-11]

    @staticmethod
    def of(rounds, kind):
        def typical(name):
            return statistics.fmean(sorted(row[name] for row in rounds)[:len(rounds) * 4 // 5])

        return typical(kind) / typical("off") - 1

    def __str__(self):
        return f"{100 * self.middle:+.3f} % [{100 * self.low:.3f}, {100 * self.high:.3f}]"


def stacks_of_a_step(folder, library, bounds, step, kind):
    """How many a step of this kind has, in recordings of their own."""
    counts = []
    for steps in (0, 50):
        library.start(f"output_dir={folder}", "export=none", "lines=on")
        for _ in range(20):
            step()
        bounds.learn()
        bounds.switch(kind)
        for _ in range(steps):
            step()
        library.stop()
        counts.append(sum(count_stacks(file) for file in pathlib.Path(folder).glob("*.prof")))
        for file in pathlib.Path(folder).glob("*"):
            file.unlink()
    return (counts[1] - counts[0]) / 50


def measure(seconds, folder, path):
    torch, step = launch_bound()
    library = Library()
    for _ in range(50):
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(20):
        step()
    delay = SEEDED * (time.perf_counter() - begin) / 20
    bounds = LineBounds(path)
    stacks = {kind: stacks_of_a_step(folder, library, bounds, step, kind) for kind in ("on", "many", "all")}
    draws = random.Random(1)
    rounds, delays = [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        library.start(f"output_dir={folder}", "export=none", "lines=on")
        for _ in range(20):
            step()
        bounds.learn()
        for _ in range(ROUNDS_OF_RECORDING):
            row = {}
            for kind in draws.sample(KINDS, len(KINDS)):
                bounds.switch(kind)
                begin = time.perf_counter()
                if kind == "seeded":
                    while time.perf_counter() - begin < delay:
                        pass
                    delays.append(time.perf_counter() - begin)
                step()
                row[kind] = time.perf_counter() - begin
            rounds.append(row)
        torch.cuda.synchronize()
        library.stop()
        for file in pathlib.Path(folder).glob("*"):
            file.unlink()
    return report_costs(rounds, stacks, statistics.median(delays))


def report_costs(rounds, stacks, delay):
    plain = statistics.median(row["off"] for row in rounds)
    print(f"a launch-bound step of {1000 * plain:.3f} ms, recorded without lines; {len(rounds)} rounds")
    seeded = Estimate(rounds, "seeded")
    is_right = seeded.low <= delay / plain <= seeded.high
    print(f"{'PASS' if is_right else 'FAIL'} method: a delay of {100 * delay / plain:.3f} % in each step is measured as {seeded}")
    for kind, meaning in (("on", "as it is"), ("many", "as many stacks as there may be"), ("all", "a stack for each call")):
        print(f"     {meaning}: {Estimate(rounds, kind)}, {stacks[kind]:.1f} stacks a step")
    # What a stack costs shows where each call has one; a step's share follows from how many it has.
    every = Estimate(rounds, "all")
    low, middle, high = (share * plain / stacks["all"] for share in (every.low, every.middle, every.high))
    print(f"     a stack costs {1e6 * middle:.2f} us [{1e6 * low:.2f}, {1e6 * high:.2f}]")
    for kind, meaning in (("on", "as it is"), ("many", "as many as there may be")):
        share, most = (stacks[kind] * seconds / plain for seconds in (middle, high))
        holds = most < GOAL
        is_right &= holds
        print(f"{'PASS' if holds else 'FAIL'} cost, {meaning}: {stacks[kind]:.1f} stacks a step are {100 * share:.3f} %, at most "
              f"{100 * most:.3f} %, of a step")
    return is_right


def check_cost(build, seconds):
    with tempfile.TemporaryDirectory() as folder:
        variables = environment() | {"LD_PRELOAD": str(build / "lib/libprof.so"), "PROF_AUTOSTART": "0"}
        done = subprocess.run([sys.executable, str(HERE), "measure", str(seconds), folder,
                               str(build / "lib/libprof.so")], env=variables, check=False)
    return done.returncode == 0


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "program":
        FLAWS[sys.argv[2]]()
        return 0
    if mode == "measure":
        return not measure(int(sys.argv[2]), *sys.argv[3:5])
    if mode not in ("flaws", "cost") or len(sys.argv) < 3:
        print(__doc__)
        return 2
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("skipped: no PyTorch with a GPU")
        return 77
    build = pathlib.Path(sys.argv[2]).resolve()
    if mode == "cost":
        is_right = check_cost(build, int(sys.argv[3]) if len(sys.argv) > 3 else 300)
    else:
        natives = [name + variant for variant in NATIVE_FLAGS for name in NATIVE_FLAWS]
        is_right = all([check_flaw(build, flaw) for flaw in sys.argv[3:] or [*FLAWS, *natives]])
    print("PASS" if is_right else "FAIL")
    return not is_right


if __name__ == "__main__":
    sys.exit(main())
