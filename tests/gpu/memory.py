#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the account of GPU memory (docs/guide/memory.md) against torch.cuda.memory_stats(), to the byte.

    memory.py <prof> [--keep FOLDER] [part...]

Parts, all unless some are named:
    steps       trains a small model under `prof run`, which notes each step's statistics: plain, with a second stream,
                with expandable_segments
    leak        a block that stays in each step is found, with its line
    outside     what is in use outside the allocator is what cudaMemGetInfo says
    oom         an out-of-memory error in backward of a known layer
    kill        a process that is killed at its peak
    checkpoint  what checkpointing the layers of a transformer would save and cost, against the same with checkpoints
    cuda        CUDA's own memory: what the allocator has of it is what it has reserved, with and without
                expandable_segments; with backend:cudaMallocAsync the peaks are those of its own statistics
    graphs      CUDA graphs are captured, with private pools, while the driver is asked
    jax         JAX's allocator: in use, peak and limit are those of memory_stats(), arrays have their lines; an error
                for want of memory that ends the program is named with its line
    calls       what a recorded cudaMalloc and cudaFree cost, against the same without a recording
    devices     two GPUs, each with its own figures, and NCCL's memory by its name; left out with one GPU

Prints what was measured, and PASS or FAIL. Exits with 77 without a GPU or PyTorch. Three minutes.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

STEPS = 10

PROGRAM = '''
import json, os, signal, sys
import torch
from torch import nn

scene, notes = sys.argv[1:3]
STEPS = %d


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1024, 1024)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Greedy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        if scene == "oom" and step == 6:
            torch.empty(1 << 42, dtype=torch.uint8, device="cuda")
        if scene == "kill" and step == 6:
            torch.cuda.synchronize()
            told.append(torch.cuda.memory_allocated())
            json.dump(told, open(notes, "w"))
            os.kill(os.getpid(), signal.SIGKILL)
        return gradient


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(4))

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = layer(x)
            if number == 2:
                x = Greedy.apply(x)
        return x


model = Model().cuda()
optimizer = torch.optim.Adam(model.parameters())
other = torch.cuda.Stream()
kept, told = [], []
for step in range(STEPS):
    torch.cuda.reset_peak_memory_stats()
    optimizer.zero_grad()
    x = torch.randn(256, 1024, device="cuda")
    loss = model(x).square().mean()
    if scene == "streams":
        with torch.cuda.stream(other):
            y = x * 2
            x.record_stream(other)
    if scene == "leak":
        kept.append(torch.empty(1 << 20, dtype=torch.uint8, device="cuda"))
    try:
        loss.backward()
    except torch.OutOfMemoryError as failure:
        del failure
    optimizer.step()
    stats = torch.cuda.memory_stats()
    told.append([stats["allocated_bytes.all.peak"], stats["allocated_bytes.all.current"],
                 stats["reserved_bytes.all.current"]])
if scene == "outside":
    extra = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")  # the driver is asked
    free, total = torch.cuda.mem_get_info()
    told.append([total - free, total, torch.cuda.memory_stats()["reserved_bytes.all.current"]])
json.dump(told, open(notes, "w"))
''' % STEPS


# A transformer of equal layers, whose activations are most of the peak. Plain stochastic gradient descent: no state.
TRANSFORMER = '''
import json, sys, time
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

mode, width, batch, length, notes = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
STEPS, WARM_UP = 16, 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        heads = self.qkv(self.first(x)).view(*x.shape[:2], 3, -1, 64).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(*heads.unbind(0), is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.second(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(12))

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False, preserve_rng_state=False) if mode == "checkpoint" else layer(x)
        return x


torch.manual_seed(0)
model = Net().cuda().bfloat16()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
peaks = []
for step in range(STEPS):
    if step == WARM_UP:
        torch.cuda.synchronize()
        begin = time.perf_counter()
    optimizer.zero_grad()
    torch.cuda.reset_peak_memory_stats()
    x = torch.randn(batch, length, width, device="cuda", dtype=torch.bfloat16)
    loss = model(x).float().square().mean()
    loss.backward()
    optimizer.step()
    peaks.append(torch.cuda.max_memory_allocated())
torch.cuda.synchronize()
json.dump({"peak": max(peaks[2:]), "step_ms": (time.perf_counter() - begin) / (STEPS - WARM_UP) * 1e3},
          open(notes, "w"))
'''

# Work on each of the GPUs, of different sizes, in one process.
DEVICES = '''
import ctypes, json, sys
import torch
from torch import nn

notes = sys.argv[1]
models = [nn.Sequential(*(nn.Linear(512 * (i + 1), 512 * (i + 1)) for _ in range(4))).to(f"cuda:{i}") for i in range(2)]
optimizers = [torch.optim.Adam(model.parameters()) for model in models]
told = []
for step in range(8):
    for i in range(2):
        torch.cuda.reset_peak_memory_stats(i)
    for i, (model, optimizer) in enumerate(zip(models, optimizers)):
        optimizer.zero_grad()
        x = torch.randn(64, 512 * (i + 1), device=f"cuda:{i}")
        model(x).square().mean().backward()
        optimizer.step()
    told.append([[stats["allocated_bytes.all.peak"], stats["allocated_bytes.all.current"],
                  stats["reserved_bytes.all.current"]] for stats in map(torch.cuda.memory_stats, range(2))])
torch.cuda.nccl.all_reduce([torch.ones(1 << 20, device=f"cuda:{i}") for i in range(2)])
extra = [torch.empty((i + 1) << 30, dtype=torch.uint8, device=f"cuda:{i}") for i in range(2)]  # the driver is asked
stats = [torch.cuda.memory_stats(i) for i in range(2)]
used = [(total - free) for free, total in map(torch.cuda.mem_get_info, range(2))]
json.dump({"told": told, "end": [[each["allocated_bytes.all.current"], each["reserved_bytes.all.current"]] for each in stats],
           "outside": [used[i] - stats[i]["reserved_bytes.all.current"] for i in range(2)]}, open(notes, "w"))
for value in list(globals().values()):  # what is alive here stays so while the interpreter ends
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
'''

# Each step is a graph that is captured anew, in a private pool; what it makes is compared with the same without graphs.
GRAPHS = '''
import ctypes, json, sys
import torch
from torch import nn

notes = sys.argv[1]
torch.manual_seed(0)
model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(4))).cuda()
x = torch.randn(256, 1024, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(2):
        model(x).square().mean().backward()
torch.cuda.current_stream().wait_stream(side)
model.zero_grad(set_to_none=False)
kept, told = [], []
for step in range(4):
    graph = torch.cuda.CUDAGraph()
    # Blocks of a pool of its own, for which the allocator must ask the driver while it captures.
    torch.cuda.nvtx.range_push("capturing")
    with torch.cuda.graph(graph):
        big = torch.empty(64 << 20, dtype=torch.uint8, device="cuda").zero_()
        loss = model(x).square().mean()
        loss.backward()
    torch.cuda.nvtx.range_pop()
    model.zero_grad(set_to_none=False)
    graph.replay()
    replayed = [loss.item(), sum(p.grad.double().square().sum().item() for p in model.parameters())]
    model.zero_grad(set_to_none=False)
    plain = model(x).square().mean()
    plain.backward()
    same = [plain.item(), sum(p.grad.double().square().sum().item() for p in model.parameters())]
    model.zero_grad(set_to_none=False)
    kept.append((graph, big))
    told.append({"replayed": replayed, "plain": same, "big": int(big.sum())})
stats = torch.cuda.memory_stats()
json.dump({"told": told, "allocated": stats["allocated_bytes.all.current"],
           "reserved": stats["reserved_bytes.all.current"]}, open(notes, "w"))
for value in list(globals().values()):  # what is alive here stays so while the interpreter ends
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
'''

JAX = '''
import atexit, json, sys
import jax
import jax.numpy as jnp

scene, notes = sys.argv[1:3]
parameters = [jax.device_put(jnp.full((2048, 2048), 0.01, jnp.float32)) for _ in range(6)]  # parameters


@jax.jit
def train(parameters, x):
    def loss(parameters):
        y = x
        for each in parameters:
            y = jnp.tanh(y @ each)
        return (y * y).mean()
    gradients = jax.grad(loss)(parameters)
    return [each - 1e-3 * gradient for each, gradient in zip(parameters, gradients)]


x = jnp.ones((4096, 2048), jnp.float32)  # batch
kept = []
for step in range(10):
    with jax.profiler.StepTraceAnnotation("train", step_num=step):
        parameters = jax.block_until_ready(train(parameters, x))  # step
        kept.append(jax.device_put(jnp.ones((1 << 20,), jnp.float32)))  # kept


def note():
    stats = jax.local_devices()[0].memory_stats()
    json.dump({key: stats[key] for key in ("bytes_in_use", "peak_bytes_in_use", "bytes_limit")}, open(notes, "w"))


if scene == "oom":
    note()
    jax.block_until_ready(jnp.zeros((1 << 20, 1 << 20), jnp.float32))  # too large
note()
'''

# Pairs of cudaMalloc and cudaFree while recording and between recordings, alternating.
CALLS = '''
import ctypes, json, os, sys, time

import torch

notes = sys.argv[1]
torch.ones(1, device="cuda")
cuda = ctypes.CDLL([line.split()[-1] for line in open("/proc/self/maps") if "libcudart" in line][0])
library = ctypes.CDLL(os.environ["PROF_IMAGE_LIBRARY"])
settings = (ctypes.c_char_p * 4)(f"output_dir={notes}.captures".encode(), b"export=none", b"allocations=on", None)
pointer = ctypes.c_void_p()


def pairs(count):
    begin = time.perf_counter()
    for _ in range(count):
        assert cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(8 << 20)) == 0
        assert cuda.cudaFree(pointer) == 0
    return (time.perf_counter() - begin) / count * 1e6


library.prof_stop()
times = {"recorded": [], "not recorded": []}
for _ in range(8):
    pairs(20)
    times["not recorded"].append(pairs(200))
    assert library.prof_start(settings) == 0
    pairs(20)
    times["recorded"].append(pairs(200))
    assert library.prof_stop() == 0
json.dump(times, open(notes, "w"))
'''


def line_of(code):
    numbers = [number for number, line in enumerate(PROGRAM.split("\n"), 1) if code in line]
    assert len(numbers) == 1, code
    return f"program.py:{numbers[0]}"


class Check:
    def __init__(self, prof, folder):
        self.prof, self.folder, self.faults = prof, pathlib.Path(folder), 0
        for name, text in (("program", PROGRAM), ("transformer", TRANSFORMER), ("devices", DEVICES), ("graphs", GRAPHS),
                           ("jax_program", JAX), ("calls", CALLS)):
            (self.folder / f"{name}.py").write_text(text)

    def expect(self, holds, what):
        if not holds:
            self.faults += 1
            print("not so:", what)

    def run(self, scene, **environment):
        notes, capture = self.record(scene, "program", scene, **environment)
        return notes, self.report(capture, "memory"), capture

    def record(self, name, program, *arguments, **environment):
        """Runs a program with libprof; its notes and its capture."""
        out, notes = self.folder / name, self.folder / (name + ".json")
        done = subprocess.run([self.prof, "run", "--allocations", "on", "--modules", "-o", str(out), "--export", "none", "--",
                               sys.executable, str(self.folder / f"{program}.py"), *map(str, arguments), str(notes)],
                              cwd=self.folder, env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if not notes.exists():
            sys.exit(f"{name}: the program made no notes\n{done.stderr[-3000:]}")
        capture, = out.glob("*.prof")
        return json.loads(notes.read_text()), capture

    def alone(self, name, program, *arguments):
        """Runs a program without libprof; its notes."""
        notes = self.folder / (name + ".alone.json")
        subprocess.run([sys.executable, str(self.folder / f"{program}.py"), *map(str, arguments), str(notes)], check=True,
                       cwd=self.folder, stdout=subprocess.DEVNULL)
        return json.loads(notes.read_text())

    def report(self, capture, name):
        done = subprocess.run([self.prof, "report", "--report", name, "--format", "json", str(capture)],
                              capture_output=True, check=True)
        return json.loads(done.stdout)

    def same_as_statistics(self, scene, **environment):
        told, memory, capture = self.run(scene, **environment)
        steps = self.report(capture, "memory_steps")["rows"]
        self.expect(len(steps) > STEPS / 2, f"{scene}: there are steps")
        peaks = [peak for peak, _, _ in told]
        for row in steps:
            # The observed step may begin before the program's reset: the peak is that of one of its neighbours then.
            number = row["step"]
            near = peaks[max(0, number - 1):number + 2]
            self.expect(row["peak_bytes"] in near, f"{scene}: step {number}'s peak {row['peak_bytes']} is in {near}")
        self.expect(sum(row["peak_bytes"] for row in memory["rows"]) == memory["peak_bytes"], f"{scene}: rows add up")
        self.expect(all(row["use"] != "lost records" for row in memory["rows"]), f"{scene}: nothing is unexplained")
        uses = {row["use"] for row in memory["rows"]}  # at the peak, which is in the optimizer, activations are gone
        for use in ("parameters", "gradients", "optimizer state", "activations"):
            self.expect(use in uses, f"{scene}: {use} are there: {uses}")
        return memory, capture

    def steps(self):
        self.same_as_statistics("plain")
        self.same_as_statistics("streams")
        self.same_as_statistics("segments", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")

    def leak(self):
        _, capture = self.same_as_statistics("leak")
        found = [row for row in self.report(capture, "memory_findings")["rows"] if row["finding"] == "memory_growth"]
        self.expect(len(found) == 1 and found[0]["value"] == 1 << 20, f"the leak is found: {found}")
        self.expect(found and found[0]["line"] == line_of("kept.append("), f"with its line: {found}")
        lines = {row["line"] for row in self.report(capture, "memory_lines")["rows"]}
        for code in ("model = Model().cuda()", "optimizer.step()", "return torch.relu("):
            self.expect(line_of(code) in lines, f"{code} asks for memory: {lines}")

    def outside(self):
        told, memory, _ = self.run("outside")
        used, total, reserved = told[-1]
        self.expect(memory.get("gpu_bytes") == total, f"the GPU has {total}: {memory.get('gpu_bytes')}")
        # A step may have made cuBLAS take memory after the driver was asked.
        self.expect(memory.get("end_outside_bytes") == used - reserved, f"outside {used - reserved}: {memory}")

    def oom(self):
        _, memory, capture = self.run("oom")
        self.expect(memory["failures"] == 1 and memory["failed_bytes"] == 1 << 42, "the error is recorded once")
        self.expect("backward" in (memory.get("failed_path") or ""), f"in backward: {memory.get('failed_path')}")
        self.expect(memory["failed_line"] == line_of("torch.empty(1 << 42"), f"at its line: {memory['failed_line']}")
        self.expect(sum(row["failure_bytes"] or 0 for row in memory["rows"]) == memory["failed_allocated_bytes"],
                    "rows add up at the error")
        text = subprocess.run([self.prof, "report", str(capture)], capture_output=True, text=True, check=True).stdout
        self.expect("out of GPU memory in" in text[:600], "the report begins with it")

    def kill(self):
        told, memory, _ = self.run("kill")
        self.expect(memory["end_allocated_bytes"] == told[-1], "a killed process's capture has what was allocated")
        self.expect(sum(row["end_bytes"] for row in memory["rows"]) == told[-1], "and rows that add up to it")

    def checkpoint(self):
        """A transformer that keeps the GPU busy, and one whose steps wait for launches."""
        for name, shape, is_busy in (("busy", (2048, 8, 1024), True), ("launches", (256, 2, 128), False)):
            told, capture = self.record(f"checkpoint_{name}", "transformer", "plain", *shape)
            rows = [row for row in self.report(capture, "memory_checkpoints")["rows"] if row["module"] == "Net.layers.*"]
            self.expect(len(rows) == 1, f"{name}: Net.layers.* could be checkpointed")
            if len(rows) != 1:
                continue
            row, = rows
            plain, then = (self.alone(f"{name}_{mode}", "transformer", mode, *shape) for mode in ("plain", "checkpoint"))
            saved, cost = plain["peak"] - then["peak"], then["step_ms"] - plain["step_ms"]
            print(f"{name}: peak {plain['peak'] / 1e6:.1f} MB ({told['peak'] / 1e6:.1f} recorded), with checkpoints "
                  f"{then['peak'] / 1e6:.1f} MB, predicted {row['peak_bytes'] / 1e6:.1f}; saved {saved / 1e6:.1f} MB, predicted "
                  f"{row['saving_bytes'] / 1e6:.1f} (held {row['held_bytes'] / 1e6:.1f}, outputs {row['output_bytes'] / 1e6:.1f})")
            print(f"{name}: a step takes {plain['step_ms']:.3f} ms, with checkpoints {then['step_ms']:.3f} ms: {cost:.3f} more, "
                  f"predicted {row['cost_ns'] / 1e6:.3f} (forward: {row['forward_gpu_ns'] / 1e6:.3f} on the GPU, "
                  f"{row['forward_host_ns'] / 1e6:.3f} on the host)")
            self.expect(row["calls"] == 12, f"{name}: twelve layers: {row['calls']}")
            # Of a small model segments of 2 MB are what counts.
            self.expect(abs(row["saving_bytes"] - saved) <= max(0.1 * saved, 2e6), f"{name}: {saved} bytes are saved")
            if is_busy:  # recording costs such a step nothing; the other pays for each launch
                self.expect(abs(row["cost_ns"] / 1e6 - cost) <= 0.15 * cost, f"{name}: it costs {cost:.3f} ms")
            else:
                recorded, _ = self.record(f"checkpoint_{name}_then", "transformer", "checkpoint", *shape)
                cost = recorded["step_ms"] - told["step_ms"]
                alone = then["step_ms"] - plain["step_ms"]
                print(f"{name}: alone {alone:.3f} ms more; while recording, a step takes {told['step_ms']:.3f} ms, with checkpoints "
                      f"{recorded['step_ms']:.3f} ms: {cost:.3f} more")
                # The price has the forward, and not what the checkpoint itself does on the host for each saved tensor,
                # which is the larger part where launches hold the step up.
                self.expect(row["cost_ns"] / 1e6 <= 1.2 * cost, f"{name}: it costs {cost:.3f} ms while recording")

    def graphs(self):
        told, capture = self.record("graphs", "graphs")
        for step, each in enumerate(told["told"]):
            same = all(abs(a - b) <= 1e-4 * abs(b) for a, b in zip(each["replayed"], each["plain"]))
            self.expect(same and each["big"] == 0, f"graph {step} does what was captured: {each}")
        memory = self.report(capture, "memory")
        for key in ("allocated", "reserved"):
            self.expect(memory[f"end_{key}_bytes"] == told[key], f"{told[key]} are {key}: {memory[f'end_{key}_bytes']}")
        self.expect(all(row["use"] != "lost records" for row in memory["rows"]), "nothing is unexplained")
        # Outside the phases of a step.
        big = sum(row["end_bytes"] for row in memory["rows"] if (row["path"] or "capturing").endswith("capturing"))
        born = {row["path"]: row["end_bytes"] for row in memory["rows"] if row["end_bytes"]}
        self.expect(big >= 4 * (64 << 20), f"the pools' blocks were born in the captures: {big} of {born}")
        trace = self.folder / "graphs_trace.json"
        subprocess.run([self.prof, "export", str(capture), "-o", str(trace)], check=True, capture_output=True)
        events = json.loads(trace.read_text())["traceEvents"]
        captures = [(e["ts"], e["ts"] + e["dur"]) for e in events if e.get("ph") == "X" and e["name"] == "capturing"]
        asked = [e["ts"] for e in events if e.get("ph") == "C" and "in use" in json.dumps([e["name"], e["args"]])]
        inside = sum(any(begin <= at <= end for begin, end in captures) for at in asked)
        print(f"graphs: {len(captures)} captures, {len(asked)} questions to the driver, {inside} of them while capturing")
        self.expect(inside > 0, "the driver was asked while a graph was captured")

    def own_rows(self, capture):
        rows = self.report(capture, "memory_pieces")["rows"]
        by_caller = {}
        for row in rows:
            key = (row["kind"], row["caller"], row["use"])
            by_caller[key] = by_caller.get(key, 0) + row["end_bytes"]
        for (kind, caller, use), held in sorted(by_caller.items(), key=lambda item: -item[1]):
            print(f"    {kind:16} {caller or 'not known':28} {use:20} {held / 1e6:10.2f} MB at the end")
        self.expect(any(row["caller"] for row in rows), f"callers are known: {rows[:3]}")
        return rows

    def cuda(self):
        for name, environment in (("plain", {}), ("segments", {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})):
            told, capture = self.record(f"cuda_{name}", "program", "plain", **environment)
            print(f"cuda, {name}: {told[-1][2]} bytes are reserved")
            held = sum(row["end_bytes"] for row in self.own_rows(capture) if row["use"] == "PyTorch's allocator")
            self.expect(held == told[-1][2], f"cuda, {name}: the allocator has {told[-1][2]} of CUDA: {held}")
        told, capture = self.record("cuda_async", "program", "plain", PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
        print("cuda, cudaMallocAsync:")
        # Libraries have memory beside PyTorch's pool, from before the steps that count on.
        others = sum(row["end_bytes"] for row in self.own_rows(capture) if row["kind"] != "pool")
        peaks, steps = [peak for peak, _, _ in told], self.report(capture, "memory_steps")["rows"]
        self.expect(len(steps) > STEPS / 2, "cudaMallocAsync: there are steps")
        exact = 0
        for row in steps:
            near = peaks[max(0, row["step"] - 1):row["step"] + 2]
            of_pool = row["peak_bytes"] - others
            exact += of_pool in near
            best = min(near, key=lambda peak: abs(peak - of_pool))
            self.expect(abs(best - of_pool) <= 0.01 * best,
                        f"cudaMallocAsync: step {row['step']}'s peak {of_pool} is near one of {near}")
        print(f"    {exact} of {len(steps)} peaks are to the byte those of torch.cuda.memory_stats()")
        memory = self.report(capture, "memory")
        self.expect({"parameters", "gradients", "activations"} <= {row["use"] for row in memory["rows"]},
                    "cudaMallocAsync: uses are known")

    def devices(self):
        import torch
        if torch.cuda.device_count() < 2:
            print("devices: left out, as there is one GPU")
            return
        told, capture = self.record("devices", "devices")
        memory = self.report(capture, "memory")
        steps = self.report(capture, "memory_steps")["rows"]
        for device in range(2):
            peaks = [each[device][0] for each in told["told"]]
            rows = [row for row in steps if row["device"] == device]
            self.expect(len(rows) > 4, f"GPU {device} has steps: {rows}")
            for row in rows:
                near = peaks[max(0, row["step"] - 1):row["step"] + 2]
                self.expect(row["peak_bytes"] in near, f"GPU {device}, step {row['step']}: {row['peak_bytes']} is in {near}")
            held = sum(row["end_bytes"] for row in memory["rows"] if row["device"] == device)
            self.expect(held == told["end"][device][0], f"GPU {device}: {told['end'][device][0]} at the end: {held}")
            outside = memory.get("end_outside_bytes") if memory["peak_device"] == device else None
            if outside is not None:
                self.expect(outside == told["outside"][device], f"GPU {device}: outside {told['outside'][device]}: {outside}")
        self.expect(all(row["use"] != "lost records" for row in memory["rows"]), "nothing is unexplained")
        print("devices:")
        rows = self.own_rows(capture)
        nccl = {row["device"] for row in rows if "nccl" in (row["caller"] or "") and row["end_bytes"] > 0}
        self.expect(nccl == {0, 1}, f"NCCL's memory is known on both: {nccl}")

    def jax(self):
        line = {mark: number for number, text in enumerate(JAX.split("\n"), 1) for _, _, mark in [text.partition("  # ")] if mark}
        for scene in ("plain", "oom"):
            told, capture = self.record(f"jax_{scene}", "jax_program", scene)
            report = self.report(capture, "jax_memory")
            got = {key: report[f"{key}_bytes"] for key in ("in_use", "peak", "limit")}
            print(f"jax, {scene}: told {told}, libprof {got}")
            if scene == "plain":
                self.expect(got == {"in_use": told["bytes_in_use"], "peak": told["peak_bytes_in_use"],
                                    "limit": told["bytes_limit"]}, "jax: the figures are memory_stats()'")
            rows = report["rows"]
            for row in rows[:6]:
                print(f"    {row['end_bytes'] / 1e6:10.2f} MB, {row['end_count']} {row['kind']} of {row['line']} ({row['code']})")
            by_line = {row["line"]: row["end_bytes"] for row in rows if row["kind"] == "buffer"}
            self.expect(by_line.get(f"jax_program.py:{line['step']}") == 6 << 24, "jax: the parameters are of the step")
            self.expect(by_line.get(f"jax_program.py:{line['kept']}") == 10 << 22, "jax: what is kept has its line")
            self.expect(by_line.get(f"jax_program.py:{line['batch']}") == 4096 * 2048 * 4, "jax: the batch has its line")
            held = sum(row["end_bytes"] for row in rows if row["kind"] == "buffer")  # not the one without memory
            self.expect(held <= got["in_use"] <= 1.02 * held + (64 << 20), f"jax: buffers of {held} are in use: {got['in_use']}")
            text = subprocess.run([self.prof, "report", str(capture)], capture_output=True, text=True, check=True).stdout
            if scene == "oom":
                print("\n".join(text.split("\n")[:6]))
                self.expect(f"out of memory in JAX at jax_program.py:{line['too large']}" in " ".join(text[:900].split()),
                            "jax: the report begins with the error")
            pieces = self.report(capture, "memory_pieces")["rows"]
            print("    of CUDA:", [(row["kind"], row["caller"], row["end_bytes"]) for row in pieces[:5]])

    def calls(self):
        told, _ = self.record("calls", "calls")
        ratio = statistics.median(told["recorded"]) / statistics.median(told["not recorded"])
        print(f"calls: a pair takes {statistics.median(told['not recorded']):.2f} us, recorded {ratio:.3f} times as long "
              f"(rounds: {sorted(round(a / b, 3) for a, b in zip(told['recorded'], told['not recorded']))})")
        self.expect(ratio < 1.5, f"calls: {ratio}")


PARTS = ("steps", "leak", "outside", "oom", "kill", "checkpoint", "cuda", "graphs", "jax", "calls", "devices")


def main():
    try:
        import torch
    except ImportError:
        sys.exit(77)
    if not torch.cuda.is_available():
        sys.exit(77)
    parts, kept = sys.argv[2:], None
    if parts[:1] == ["--keep"]:
        kept, parts = pathlib.Path(parts[1]).resolve(), parts[2:]
        kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        check = Check(str(pathlib.Path(sys.argv[1]).resolve()), kept or folder)
        for part in parts or PARTS:
            if part not in PARTS:
                sys.exit(f"no part {part}: {', '.join(PARTS)}")
            getattr(check, part)()
    print("FAIL" if check.faults else "PASS")
    sys.exit(1 if check.faults else 0)


if __name__ == "__main__":
    main()
