# SPDX-License-Identifier: Apache-2.0
"""Steps of small models on the CPU, for flop_counter_test.py: of each the operations that torch.utils.flop_counter
counts, and a trace of torch.profiler with shapes.

    flop_counter_cases.py FOLDER        writes FOLDER/CASE.json and prints {CASE: FLOPs of a step}
"""
import json
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import flop_counter
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

STEPS = 4
aten = torch.ops.aten
# The CPU's operators of attention have the arguments of the GPU's.
flop_counter.flop_registry |= {
    aten._scaled_dot_product_flash_attention_for_cpu: flop_counter.sdpa_flop,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: flop_counter.sdpa_backward_flop,
}


class Block(nn.Module):
    def __init__(self, width, heads, bias=True):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width, bias=bias), nn.GELU(), nn.Linear(4 * width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        batch, places, width = x.shape
        parts = self.project(self.norm(x)).view(batch, places, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(found.transpose(1, 2).reshape(batch, places, width))
        return x + self.mlp(x)


def transformer(backend=SDPBackend.FLASH_ATTENTION, bias=True, recompute=False):
    model = nn.ModuleList([Block(48, 3, bias) for _ in range(2)])
    head = nn.Linear(48, 101)

    def step():
        x = torch.randn(2, 17, 48, requires_grad=True)
        # An operator at which recomputation stops early is in the trace, and runs nothing.
        with sdpa_kernel(backend), set_checkpoint_early_stop(False):
            for block in model:
                x = checkpoint(block, x, use_reentrant=False) if recompute else block(x)
            head(x).square().mean().backward()

    return step


def convolutions():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 7, stride=2, padding=3), nn.ReLU(), nn.Conv2d(8, 12, (3, 5), padding=(1, 2), dilation=(2, 1)),
        nn.BatchNorm2d(12), nn.ConvTranspose2d(12, 6, 4, stride=3, padding=1), nn.AdaptiveAvgPool2d(3), nn.Flatten(),
        nn.Linear(54, 10))  # fmt: skip
    return lambda: model(torch.randn(5, 3, 33, 41)).square().mean().backward()


def other_dimensions():
    line, room = nn.Conv1d(4, 6, 5, stride=3), nn.Conv3d(2, 4, 3, padding=1)

    def step():
        line(torch.randn(3, 4, 50, requires_grad=True)).mean().backward()
        room(torch.randn(2, 2, 5, 6, 7)).mean().backward()

    return step


def grouped():
    model = nn.Sequential(nn.Conv2d(8, 16, 3, groups=4), nn.Conv2d(16, 16, 3, padding=1, groups=16))

    def step():
        with torch.no_grad():
            model(torch.randn(2, 8, 12, 12))

    return step


def products():
    weight = torch.randn(4, 11, 13, requires_grad=True)

    def step():
        x = torch.randn(4, 7, 11)
        y = torch.baddbmm(torch.randn(4, 7, 13), x, weight) + torch.matmul(x, weight)
        y = torch.einsum("bij,bkj->bik", y, torch.randn(4, 5, 13))
        (y.sum() + torch.matmul(x, weight[0]).sum()).backward()

    return step


CASES = {
    "transformer": transformer(),
    "attention_of_products": transformer(SDPBackend.MATH),
    "without_bias": transformer(bias=False),
    "recomputed": transformer(recompute=True),
    "convolutions": convolutions(),
    "other_dimensions": other_dimensions(),
    "grouped": grouped(),
    "products": products(),
}


def main():
    torch.set_num_threads(1)
    counted = {}
    for name, step in CASES.items():
        step()
        with flop_counter.FlopCounterMode(display=False) as counter:
            step()
        counted[name] = counter.get_total_flops()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
            for number in range(STEPS):
                with torch.profiler.record_function(f"ProfilerStep#{number}"):
                    step()
        profiler.export_chrome_trace(str(pathlib.Path(sys.argv[1], f"{name}.json")))
    print(json.dumps(counted))


if __name__ == "__main__":
    main()
