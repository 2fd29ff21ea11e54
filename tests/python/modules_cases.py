"""Programs whose modules are known by hand, for modules_test.py. What they print does not depend on libprof."""
import sys
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Slow(torch.autograd.Function):
    """The same value; its backward takes so many milliseconds."""

    @staticmethod
    def forward(context, value, milliseconds):
        context.milliseconds = milliseconds
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        end = time.perf_counter_ns() + context.milliseconds * 1_000_000
        while time.perf_counter_ns() < end:
            pass
        return gradient, None


class Block(nn.Module):
    def __init__(self, milliseconds):
        super().__init__()
        self.milliseconds = milliseconds
        self.up = nn.Linear(8, 8)

    def forward(self, value):
        return Slow.apply(self.up(value), self.milliseconds)


class Net(nn.Module):
    def __init__(self, checkpoints=()):
        super().__init__()
        self.h = nn.ModuleList(Block(milliseconds) for milliseconds in (2, 20, 8))
        self.head = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 1))
        self.checkpoints = dict(checkpoints)

    def forward(self, value):
        for index, block in enumerate(self.h):
            if index in self.checkpoints:
                value = checkpoint(block, value, use_reentrant=self.checkpoints[index])
            else:
                value = block(value)
        return self.head(value)


def train(net, steps=3):
    optimizer = torch.optim.SGD(net.parameters())
    loss = None
    for _ in range(steps):
        loss = nn.MSELoss()(net(torch.ones(4, 8)), torch.zeros(4, 1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("loss", loss.item().hex())


def tree():
    train(Net())


def checkpoints():
    train(Net({0: False, 1: True, 2: True}))


def parts():
    """No module holds what is called, but one that never is; and one that is made after the first call."""
    net = Net().to("cpu")
    net.head(net.h[0](torch.ones(1, 8)))
    net.late = nn.Linear(1, 1)
    net.late(torch.ones(1, 1))
    for _ in range(3):
        nn.Linear(8, 8)(torch.ones(8))  # one after the other at one address, perhaps
    print("parts")


def compiled():
    train(torch.compile(Net(), backend="aot_eager"))


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
    sys.exit(3)
