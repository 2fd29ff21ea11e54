# SPDX-License-Identifier: Apache-2.0
"""What random programs (program_grammar.py) are made of, with PyTorch on the CPU."""
import copy
import io
import os
import pickle
import threading

import torch
from program_words import AFTER_FORK, KEPT, MAIN, TIMED, Odd, note
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, IterableDataset

torch.set_num_threads(1)


def show(*what):
    note(*([round(float(each), 3) for each in it.detach().flatten()[:4]] if isinstance(it, torch.Tensor) else it
           for it in what))


class Block(nn.Module):
    def __init__(self, fails_at=None):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.ModuleList([nn.Linear(4, 4), nn.Tanh()])
        self.calls, self.fails_at = 0, fails_at

    def forward(self, x):
        self.calls += 1
        if self.calls == self.fails_at:
            raise Odd("forward")
        x = self.a(x)
        for each in self.b:
            x = each(x)
        return x


class Hostile(Block):
    """Its special methods say no."""

    def __eq__(self, other):
        raise Odd("a module was compared")

    def __len__(self):
        raise Odd("a module was measured")

    def __bool__(self):
        raise Odd("a module was asked for its truth")

    def __getattr__(self, name):
        if name.startswith("_prof") or name == "name":
            raise Odd(name)
        return super().__getattr__(name)

    __hash__ = object.__hash__


class OwnCall(Block):
    def __call__(self, *arguments):
        note("own call")
        return super().__call__(*arguments)


class Generating(Block):
    def forward(self, x):
        for each in self.b:
            yield each(x)


class Checkpointed(Block):
    def forward(self, x):
        return checkpoint(super().forward, x, use_reentrant=False)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        if gradient.sum() > 3:
            raise Odd("backward")
        return gradient * 2


class WithFunction(Block):
    def forward(self, x):
        return Scaled.apply(super().forward(x))


def make_net(kind, n=0):
    torch.manual_seed(n)
    if kind == "sequential":
        return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Dropout(0.1), Block())
    if kind == "fails":
        return Block(fails_at=n % 4 + 1)
    if kind == "hooks":
        net = Block()
        net.register_forward_pre_hook(lambda module, inputs: note("before", type(module).__name__))
        net.a.register_forward_hook(lambda module, inputs, output: output * 1.5)
        net.register_full_backward_hook(lambda module, *gradients: note("backward of", type(module).__name__))
        return net
    if kind == "raising hook":
        net = Block()

        def hook(module, *values):
            net.calls += 1
            if net.calls > n % 5 + 1:
                raise Odd("hook")

        (net.a.register_forward_hook if n % 2 else net.a.register_full_backward_hook)(hook)
        return net
    if kind == "normed":
        net = Block()
        nn.utils.parametrizations.weight_norm(net.a)
        return net
    if kind == "shared":
        net = Block()
        net.b[0] = net.a
        return net
    return {"block": Block, "hostile": Hostile, "own call": OwnCall, "checkpointed": Checkpointed,
            "function": WithFunction}[kind]()



class HostileSGD(torch.optim.SGD):
    def __eq__(self, other):
        raise Odd("an optimizer was compared")

    def __bool__(self):
        raise Odd("an optimizer was asked for its truth")

    def __len__(self):
        raise Odd("an optimizer was measured")

    __hash__ = None


class SlottedSGD(torch.optim.SGD):
    __slots__ = ("kept",)


class Duck:
    """Looks like an optimizer."""
    __slots__ = ("parameters",)

    def __init__(self, parameters):
        self.parameters = list(parameters)

    def zero_grad(self):
        for each in self.parameters:
            each.grad = None

    def step(self, closure=None):
        with torch.no_grad():
            for each in self.parameters:
                if each.grad is not None:
                    each -= 0.1 * each.grad


class Wrapper:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def __getattr__(self, name):
        if name == "optimizer":
            raise AttributeError(name)
        return getattr(self.optimizer, name)


class Failing(torch.optim.SGD):
    count = 0

    def step(self, closure=None):
        self.count += 1
        if self.count == 2:
            raise Odd("step")
        return super().step(closure)


def make_optimizer(kind, net):
    parameters = list(net.parameters())
    if kind == "hooked":
        it = torch.optim.SGD(parameters, lr=0.1)
        it.register_step_pre_hook(lambda *_: note("before the step"))
        it.register_step_post_hook(lambda *_: note("after the step"))
        return it
    if kind == "scheduled":
        it = torch.optim.SGD(parameters, lr=0.1)
        KEPT.append(torch.optim.lr_scheduler.StepLR(it, 2))
        return it
    if kind == "replaced":
        it = torch.optim.SGD(parameters, lr=0.1)
        step = it.step
        it.step = lambda *a: (note("replaced step"), step(*a))[1]
        return it
    if kind == "copied":
        return copy.deepcopy(torch.optim.SGD(parameters, lr=0.1))
    if kind == "pickled":
        return pickle.loads(pickle.dumps(torch.optim.Adam(parameters)))
    if kind == "wrapped":
        return Wrapper(torch.optim.SGD(parameters, lr=0.1))
    make = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "hostile": HostileSGD, "slotted": SlottedSGD,
            "duck": Duck, "failing": Failing, "lbfgs": torch.optim.LBFGS}[kind]
    return make(parameters) if kind == "duck" else make(parameters, lr=0.1)



class Rows(Dataset):
    def __init__(self, count, fails_at=None):
        self.count, self.fails_at = count, fails_at

    def __len__(self):
        return self.count

    def __getitem__(self, k):
        if k == self.fails_at:
            raise Odd("row")
        return torch.full((4,), float(k))


class Stream(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        try:
            for k in range(self.count):
                yield torch.full((4,), float(k))
        finally:
            pass


def make_loader(kind, count, workers):
    if workers and threading.current_thread() is not threading.main_thread():
        workers = 0
    if is_child():
        workers = 0
    rows = {"rows": Rows(count), "fails": Rows(count, fails_at=count // 2), "stream": Stream(count)}[kind]
    return DataLoader(rows, batch_size=2, num_workers=workers, generator=torch.Generator().manual_seed(count))


def is_child():
    return os.getpid() != MAIN[0]


class Range:
    """A record_function of which `Profiler` knows."""
    open = []

    def __init__(self, name):
        self.range, self.of = record_function(name), Profiler.number()

    def __enter__(self):
        Range.open.append(self.of)
        self.range.__enter__()
        return self

    def __exit__(self, *failure):
        Range.open.remove(self.of)
        return self.range.__exit__(*failure)


class Profiler:
    """One at most, and none while a range is open that began under the one before: both damage memory without libprof
    (profiler_orders.py)."""
    on, count, is_allowed = None, 0, [True]

    @classmethod
    def number(cls):
        return cls.count if cls.on else 0

    @classmethod
    def begin(cls, kind):
        if cls.on or any(Range.open) or not cls.is_allowed[0] or is_child() \
                or threading.current_thread() is not threading.main_thread():
            return note("no profiler")
        cls.count += 1
        AFTER_FORK.append(True)
        steps = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1) if kind == "steps" else None
        cls.on = profile(activities=[ProfilerActivity.CPU], with_stack=kind == "stack", record_shapes=kind == "shapes",
                         schedule=steps)
        cls.on.start()
        note("profiler begins")

    @classmethod
    def step(cls):
        if cls.on and not is_child():
            cls.on.step()

    @classmethod
    def end(cls):
        if not cls.on or is_child() or threading.current_thread() is not threading.main_thread():
            return note("no profiler")
        profiler, cls.on = cls.on, None
        profiler.stop()
        try:
            rows = sorted((row.key, row.count) for row in profiler.key_averages())
            rows = bool(rows) if TIMED else rows
        except (AssertionError, AttributeError) as failure:
            rows = type(failure).__name__
        note("profiler ends", rows)


class profiled:
    def __init__(self, kind):
        self.kind = kind

    def __enter__(self):
        Profiler.begin(self.kind)

    def __exit__(self, *failure):
        Profiler.end()


def copies(net, how):
    if how == "deepcopy":
        return copy.deepcopy(net)
    if how == "pickle":
        return pickle.loads(pickle.dumps(net))
    stream = io.BytesIO()
    torch.save(net.state_dict(), stream)
    stream.seek(0)
    net.load_state_dict(torch.load(stream))
    return net


def train(net, kind, steps):
    optimizer = make_optimizer(kind, net)
    for batch in make_loader("rows", 2 * steps, 0):
        optimizer.zero_grad()
        net(batch).sum().backward()
        optimizer.step()
