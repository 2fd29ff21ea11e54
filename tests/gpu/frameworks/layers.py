#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A layer's backward in the table of modules beside the time that CUDA events measure around the same layer alone.

    layers.py PROF OUT

Trains a network under `prof run --modules`, and in the same process sends gradients back through a copy of each of its
layers by itself, in turn with the steps. The two must agree within 2 %. What else their times depend on is alike for
both: the GPU has rested, a kernel has just written the gradient, and the layer's input has a node, which is not
measured. The layers are large, so that gaps between kernels take no part in what the events measure. None hands on a
gradient that another has to copy first.
"""
import copy
import json
import pathlib
import statistics
import subprocess
import sys
import time

LIMIT = 0.02
STEPS = 40
BATCH = 64


def program(path):
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = nn.ModuleDict({
        "up": nn.Linear(2048, 8192), "act": nn.GELU(), "norm": nn.LayerNorm(8192), "down": nn.Linear(8192, 2048),
        "attn": nn.MultiheadAttention(2048, 16)})

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            for name, layer in self.layers.items():
                x = layer(x, x, x, need_weights=False)[0] if name == "attn" else layer(x)
            return x

    net = Net().cuda().to(torch.bfloat16)
    alone = {name: copy.deepcopy(layer) for name, layer in net.layers.items()}
    x = torch.randn(BATCH, 1024, 2048, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    times = {name: [] for name in alone}

    def rest():
        torch.cuda.synchronize()
        time.sleep(0.02)
        torch.cuda._sleep(20_000_000)  # the host runs ahead of what is measured

    def measure(name, layer):
        wide = 8192 if name in ("act", "norm", "down") else 2048
        leaf = torch.randn(BATCH, 1024, wide, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        value = leaf.view_as(leaf)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        value.register_hook(lambda _: end.record())
        out = layer(value, value, value, need_weights=False)[0] if name == "attn" else layer(value)
        gradient = torch.randn_like(out)
        rest()
        gradient.neg_()
        begin.record()
        out.backward(gradient)
        torch.cuda.synchronize()
        layer.zero_grad(set_to_none=True)
        times[name].append(begin.elapsed_time(end))

    for _ in range(STEPS):
        out = net(x)
        gradient = torch.ones_like(out)
        rest()
        out.backward(gradient)
        net.zero_grad(set_to_none=True)
        for name, layer in alone.items():
            measure(name, layer)
    pathlib.Path(path).write_text(json.dumps({name: statistics.median(of[5:]) for name, of in times.items()}))


def main():
    prof, out = sys.argv[1], pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([prof, "run", "--modules", "-o", out, "--name", "layers", "--export", "none", "--", sys.executable,
                    __file__, "program", out / "events.json"], check=True, stderr=subprocess.DEVNULL)
    capture = next(out.glob("layers.*.prof"))
    found = subprocess.run([prof, "report", "--report", "modules", "--format", "json", capture], check=True,
                           capture_output=True, text=True).stdout
    rows = {row["path"]: row for row in json.loads(found)["rows"]}
    for path, row in rows.items():
        if path.startswith("("):
            print(f"{path}: backward {row['backward_gpu_ns'] / STEPS / 1e6:.4f} ms a step")
    failed = False
    for name, milliseconds in json.loads((out / "events.json").read_text()).items():
        row = rows[f"Net.layers.{name}"]
        ours = row["backward_gpu_ns"] / row["calls"] / 1e6
        failed |= abs(ours / milliseconds - 1) > LIMIT
        print(f"{name}: backward {ours:.4f} ms a call, events {milliseconds:.4f} ms: {ours / milliseconds:.4f}")
    print("FAILED" if failed else "ok")
    return failed


if __name__ == "__main__":
    sys.exit(program(sys.argv[2]) if sys.argv[1] == "program" else main())
