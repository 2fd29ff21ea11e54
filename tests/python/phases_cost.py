# SPDX-License-Identifier: Apache-2.0
"""What observing phases costs on the CPU, as ratios to the same without: a nested module's call, and a step.

    prof run --name with -- PYTHON phases_cost.py; prof run --phases off -- PYTHON phases_cost.py
"""
import statistics
import time

import torch
from torch import nn

torch.set_num_threads(1)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Identity()

    def forward(self, x):
        for _ in range(1000):
            self.inner(x)
        return x


def best(action, rounds=200):
    times = []
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        action()
        times.append(time.perf_counter_ns() - begin)
    return min(times), statistics.median(times)


x = torch.ones(8, 16)
outer = Outer()
net = nn.Sequential(*[nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(8)])
optimizer = torch.optim.AdamW(net.parameters())


def step():
    optimizer.zero_grad()
    net(x).sum().backward()
    optimizer.step()


print("nested call: best %.0f ns, median %.0f ns" % tuple(time / 1000 for time in best(lambda: outer(x))))
print("step: best %.1f us, median %.1f us" % tuple(time / 1000 for time in best(step, 2000)))
