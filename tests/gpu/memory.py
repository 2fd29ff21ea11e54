#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the account of GPU memory (docs/guide/memory.md) against torch.cuda.memory_stats(), to the byte.

    memory.py <prof>

Trains a small model under `prof run`, which notes each step's statistics: plain, with a second stream, with
expandable_segments; compares what is in use outside the allocator with cudaMemGetInfo; then with a leak, with an out-of-memory error in backward of a known layer, and killed at its peak.
Prints PASS or FAIL. Exits with 77 without a GPU or PyTorch. A minute and a half.
"""
import json
import os
import pathlib
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


def line_of(code):
    numbers = [number for number, line in enumerate(PROGRAM.split("\n"), 1) if code in line]
    assert len(numbers) == 1, code
    return f"program.py:{numbers[0]}"


class Check:
    def __init__(self, prof, folder):
        self.prof, self.folder, self.faults = prof, pathlib.Path(folder), 0
        (self.folder / "program.py").write_text(PROGRAM)

    def expect(self, holds, what):
        if not holds:
            self.faults += 1
            print("not so:", what)

    def run(self, scene, **environment):
        out = self.folder / scene
        notes = self.folder / (scene + ".json")
        subprocess.run([self.prof, "run", "--allocations", "on", "--modules", "-o", str(out), "--export", "none", "--", sys.executable,
                        str(self.folder / "program.py"), scene, str(notes)],
                       cwd=self.folder, env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        capture, = out.glob("*.prof")
        return json.loads(notes.read_text()), self.report(capture, "memory"), capture

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

    def all(self):
        self.same_as_statistics("plain")
        self.same_as_statistics("streams")
        self.same_as_statistics("segments", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")

        _, capture = self.same_as_statistics("leak")
        found = [row for row in self.report(capture, "memory_findings")["rows"] if row["finding"] == "memory_growth"]
        self.expect(len(found) == 1 and found[0]["value"] == 1 << 20, f"the leak is found: {found}")
        self.expect(found and found[0]["line"] == line_of("kept.append("), f"with its line: {found}")
        lines = {row["line"] for row in self.report(capture, "memory_lines")["rows"]}
        for code in ("model = Model().cuda()", "optimizer.step()", "return torch.relu("):
            self.expect(line_of(code) in lines, f"{code} asks for memory: {lines}")

        told, memory, capture = self.run("outside")
        used, total, reserved = told[-1]
        self.expect(memory.get("gpu_bytes") == total, f"the GPU has {total}: {memory.get('gpu_bytes')}")
        # A step may have made cuBLAS take memory after the driver was asked.
        self.expect(memory.get("end_outside_bytes") == used - reserved, f"outside {used - reserved}: {memory}")

        _, memory, capture = self.run("oom")
        self.expect(memory["failures"] == 1 and memory["failed_bytes"] == 1 << 42, "the error is recorded once")
        self.expect("backward" in (memory.get("failed_path") or ""), f"in backward: {memory.get('failed_path')}")
        self.expect(memory["failed_line"] == line_of("torch.empty(1 << 42"), f"at its line: {memory['failed_line']}")
        self.expect(sum(row["failure_bytes"] or 0 for row in memory["rows"]) == memory["failed_allocated_bytes"],
                    "rows add up at the error")
        text = subprocess.run([self.prof, "report", str(capture)], capture_output=True, text=True, check=True).stdout
        self.expect("out of GPU memory in" in text[:600], "the report begins with it")

        told, memory, capture = self.run("kill")
        self.expect(memory["end_allocated_bytes"] == told[-1], "a killed process's capture has what was allocated")
        self.expect(sum(row["end_bytes"] for row in memory["rows"]) == told[-1], "and rows that add up to it")


def main():
    try:
        import torch
    except ImportError:
        sys.exit(77)
    if not torch.cuda.is_available():
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        check = Check(str(pathlib.Path(sys.argv[1]).resolve()), folder)
        check.all()
    print("FAIL" if check.faults else "PASS")
    sys.exit(1 if check.faults else 0)


if __name__ == "__main__":
    main()
