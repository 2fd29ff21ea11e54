# SPDX-License-Identifier: Apache-2.0
"""Programs whose modules are known by hand, for modules_test.py. What they print does not depend on libprof."""
import sys
import time

import forked_cases
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


def shared():
    """As named_modules() gives them: by their first paths."""
    class Shares(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.block = nn.Linear(4, 4), nn.Sequential(nn.Tanh())
            self.head, self.again = self.embedding, self.block

        def forward(self, value):
            return self.head(self.again(self.embedding(self.block(value))))

    net = Shares()
    net(torch.ones(2, 4))
    print(sorted(name for name, _ in net.named_modules()))


def recursive():
    class Recursive(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(2, 2)

        def forward(self, value, times):
            return self.up(value) if times == 0 else self(self.up(value), times - 1)

    Recursive()(torch.ones(2), 5)


def wrapped():
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    net = nn.Sequential(checkpoint_wrapper(nn.Linear(2, 2)), nn.Tanh())
    with torch.no_grad():
        for _ in range(4):
            net(torch.ones(2))
        net[0]._checkpoint_wrapped_module(torch.ones(2))  # without its wrapper


def moved_before_it_is_a_part():
    net = nn.Sequential(nn.Linear(2, 2))
    net.to("cpu")
    head = nn.Tanh().to("cpu")  # a tree of its own, still
    head(torch.ones(2))
    net.append(head)
    for _ in range(3):
        net(torch.ones(2))


def not_a_part():
    """A module that calls one which it does not have, and which is called by itself later."""
    teacher = nn.Linear(4, 4)

    class Student(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.others = nn.Linear(4, 4), [teacher]

        def forward(self, value):
            return self.up(value) + self.others[0](value)

    Student()(torch.ones(2, 4))
    for _ in range(7):
        teacher(torch.ones(2, 4))


def no_code_of_the_programs():
    class Watched(nn.Module):
        used = []

        def __init__(self):
            super().__init__()
            self.up = nn.Linear(1, 1)

        def __getattribute__(self, name):
            Watched.used.append(name)
            return super().__getattribute__(name)

        def forward(self, value):
            return value

    net = Watched()
    del Watched.used[:]
    net(1)
    print(Watched.used)


def signals():
    """What a signal's handler raises reaches the program as it is, whatever runs meanwhile."""
    import signal

    class OfTheHandler(Exception):
        pass

    def handle(*_):
        raise OfTheHandler

    signal.signal(signal.SIGALRM, handle)
    many = nn.Sequential(*(nn.Identity() for _ in range(2000))).to("cpu")
    caught = 0
    for _ in range(100):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.003)
            while True:
                nn.Identity()(1)
        except OfTheHandler:
            caught += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    many(1)
    print("caught", caught)
    train(Net())


def made_anew():
    """Modules made at each call, and many that stay."""
    net = nn.Sequential(*(nn.Sequential(nn.Linear(2, 2)) for _ in range(300)))
    kept = []
    for _ in range(3000):
        kept.append(nn.Identity())
        kept[-1](1)
    start = time.perf_counter()
    for _ in range(3000):
        nn.Tanh()(torch.ones(1))
        kept.append(nn.ReLU())
        kept[-1](torch.ones(1))
    took = time.perf_counter() - start
    net(torch.ones(2))
    print("slow" if took > 3 else "made")  # a search through all for each would take a minute


def compiled():
    train(torch.compile(Net(), backend="aot_eager"))


def run(case):
    torch.manual_seed(0)
    globals()[case]()


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1] == "--forked":
        forked_cases.serve(sys.argv[2], run)
    else:
        run(sys.argv[1])
    sys.exit(3)
