#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT with plain PyTorch, on the GPU or, much smaller, on the CPU.

Nothing here knows of libprof. Run it by itself, or profile it as it is:

    prof run -- python3 train.py

On the GPU each step is an `iteration N` range of torch.cuda.nvtx with `data_to_device`, `forward`,
`backward` and `optimizer_step` inside. The batch is made on the CPU, in pageable memory, and copied
with a blocking `.to(device)`. On the CPU there are record_function ranges of the model's parts.
"""

import argparse
import contextlib
import gzip
import json
import os
import sys
import tempfile
import time
from collections import defaultdict

try:
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.nn.functional import scaled_dot_product_attention
    from torch.profiler import record_function
except ImportError as error:
    sys.exit(f"train.py needs PyTorch 2: python3 -m pip install torch numpy ({error})")

VOCABULARY = 10_000


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x):
        batch, sequence, width = x.shape
        qkv = self.qkv(self.attention_norm(x))
        q, k, v = qkv.view(batch, sequence, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(batch, sequence, width))
        return x + self.mlp(self.mlp_norm(x))


class GPT(nn.Module):
    def __init__(self, layers=12, width=768, heads=12, hidden=3072, longest=1024):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        self.apply(self._initialise)

    @staticmethod
    def _initialise(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens, targets):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_batch(batch, sequence, generator):
    """Token sequences that count upwards in steps of their own: something that can be learnt."""
    start = torch.randint(VOCABULARY, (batch, 1), generator=generator)
    stride = torch.randint(1, 8, (batch, 1), generator=generator)
    return (start + stride * torch.arange(sequence + 1)) % VOCABULARY


class Training:
    """The model, its optimizer and a source of batches: everything a step needs."""

    def __init__(self, options):
        torch.manual_seed(options.seed)
        self.device = torch.device(options.device)
        self.batch, self.sequence, self.amp = options.batch, options.seq, options.amp
        self.generator = torch.Generator().manual_seed(options.seed)
        width = options.width
        model = GPT(options.layers, width, heads=width // 64, hidden=4 * width, longest=options.seq)
        self.model = model.to(self.device)
        if self.device.type == "cpu":
            self.name_parts()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4, foreach=options.foreach)
        self.steps_taken = 0

    def name_parts(self):
        parts = {"embed": self.model.tokens, "head": self.model.head}
        parts |= {f"layer {number}": block for number, block in enumerate(self.model.blocks)}
        for name, module in parts.items():
            module.forward = record_function(name)(module.forward)

    def range(self, name):
        return torch.cuda.nvtx.range(name) if self.device.type == "cuda" else contextlib.nullcontext()

    def step(self):
        """One training step. Returns the loss, still on the device: nothing here waits for it."""
        with self.range(f"iteration {self.steps_taken}"):
            batch = make_batch(self.batch, self.sequence, self.generator)
            with self.range("data_to_device"):
                batch = batch.to(self.device)
            with self.range("forward"):
                with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.amp):
                    loss = self.model(batch[:, :-1], batch[:, 1:])
            with self.range("backward"):
                loss.backward()
            with self.range("optimizer_step"):
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)
        self.steps_taken += 1
        return loss.detach()

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def train(options):
    training = Training(options)
    losses = []
    for _ in range(options.warmup):
        losses.append(training.step())
    training.wait()
    started = time.perf_counter()
    for _ in range(options.steps):
        losses.append(training.step())
    training.wait()
    elapsed = time.perf_counter() - started

    losses = torch.stack(losses).tolist()
    print(
        f"loss {losses[0]:.4f} -> {losses[-1]:.4f} in {len(losses)} steps, "
        f"{1000 * elapsed / options.steps:.3f} ms a step "
        f"(batch {options.batch} x {options.seq}, amp {'on' if options.amp else 'off'}, "
        f"foreach {'on' if options.foreach else 'off'}, {options.layers} layers)"
    )


def train_under_torch_profiler(options):
    """The same run under torch.profiler, from before the first CUDA call to after the last."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        train(options)
        if options.device.startswith("cuda"):
            torch.cuda.synchronize()
    if options.profile_trace:
        trace_path = options.profile_trace
    else:
        handle, trace_path = tempfile.mkstemp(suffix=".json")
        os.close(handle)
    profiler.export_chrome_trace(trace_path)
    opened = gzip.open(trace_path, "rt") if trace_path.endswith(".gz") else open(trace_path)
    with opened as file:
        trace = json.load(file)
    if not options.profile_trace:
        os.unlink(trace_path)
    with open(options.profile_output, "w") as file:
        json.dump(kernel_table(trace, options.warmup + options.steps), file, indent=1)


def kernel_table(trace, steps):
    """Instances and total time for each kernel and each kind of copy in a Kineto trace."""
    tables = {"kernel": defaultdict(lambda: [0, 0]), "transfer": defaultdict(lambda: [0, 0])}
    kinds = {"kernel": "kernel", "gpu_memcpy": "transfer", "gpu_memset": "transfer"}
    for event in trace["traceEvents"]:
        kind = kinds.get(event.get("cat"))
        if kind is None or event.get("ph") != "X":
            continue
        row = tables[kind][event["name"]]
        row[0] += 1
        row[1] += round(1000 * event["dur"])  # microseconds with three decimals
    rows = {
        kind: [
            {"name": name, "instances": instances, "total_ns": total_ns}
            for name, (instances, total_ns) in sorted(table.items(), key=lambda row: -row[1][1])
        ]
        for kind, table in tables.items()
    }
    return {"steps": steps, "kernels": rows["kernel"], "transfers": rows["transfer"]}


# What the defaults are: on the CPU, a step of a fraction of a second.
SIZES = {
    "cuda": {"batch": 16, "seq": 1024, "layers": 12, "width": 768, "amp": True},
    "cpu": {"batch": 2, "seq": 128, "layers": 2, "width": 128, "amp": False},
}


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    on_or_off = argparse.BooleanOptionalAction

    def size(name):
        return f"{SIZES['cuda'][name]} on a GPU, {SIZES['cpu'][name]} on the CPU"

    parser.add_argument("--batch", type=int, help=f"sequences a step ({size('batch')})")
    parser.add_argument("--seq", type=int, help=f"tokens a sequence ({size('seq')})")
    parser.add_argument("--layers", type=int, help=f"transformer blocks ({size('layers')})")
    parser.add_argument("--width", type=int, help=f"of them, a multiple of 64 ({size('width')})")
    parser.add_argument("--steps", type=int, default=20, help="timed steps (%(default)s)")
    parser.add_argument("--warmup", type=int, default=3, help="steps before them (%(default)s)")
    parser.add_argument("--amp", action=on_or_off, help="bfloat16 autocast (on a GPU)")
    parser.add_argument("--foreach", action=on_or_off, default=True, help="AdamW in few, large launches")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument(
        "--profile-with", choices=["none", "torch"], default="none", help="run under torch.profiler"
    )
    parser.add_argument(
        "--profile-output", default="torch-kernels.json", metavar="FILE", help="its kernel table"
    )
    parser.add_argument("--profile-trace", metavar="FILE", help="keep its Chrome trace (.json or .json.gz)")
    options = parser.parse_args(arguments)
    for name, value in SIZES["cpu" if options.device == "cpu" else "cuda"].items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


def main():
    options = parse_options()
    if options.device == "cpu":
        print("no GPU is used: a small model on the CPU", file=sys.stderr)
    if options.profile_with == "torch":
        train_under_torch_profiler(options)
    else:
        train(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
