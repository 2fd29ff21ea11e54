# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program of objects that count every special method and every attribute that is asked of them, for
counted_objects_test.py. What it prints must be the same with libprof and without.

    counted_objects.py
"""
import collections
import dataclasses

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

COUNTS = collections.Counter()


def count(name):
    COUNTS[name] += 1


def counting(base, *, raising=()):
    """A class whose special methods count their calls, or raise."""

    def getattribute(self, name):
        count(base.__name__ + "." + name)
        return base.__getattribute__(self, name)

    def special(name, result):
        def method(self, *given):
            count(base.__name__ + name)
            if name in raising:
                raise RuntimeError(name)
            return result(self, *given) if callable(result) else result

        return method

    methods = {"__eq__": lambda self, other: self is other, "__hash__": lambda self: 7, "__bool__": True,
               "__len__": 3, "__repr__": "repr", "__str__": "str", "__index__": 1, "__int__": 1,
               "__contains__": False, "__lt__": True, "__le__": True}
    scope = {name: special(name, result) for name, result in methods.items()}
    scope["__getattribute__"] = getattribute
    scope["__class__"] = property(lambda self: (count(base.__name__ + ".__class__"), type(self))[1])
    return type("Counting" + base.__name__, (base,), scope)


class Net(counting(nn.Module)):
    def __init__(self):
        super().__init__()
        self.body = counting(nn.Linear)(4, 8)
        self.head = counting(nn.Linear)(8, 2)

    def forward(self, x):
        return self.head(self.body(x).relu())


@dataclasses.dataclass
class Lion(torch.optim.Optimizer):
    params: object
    lr: float = 0.01

    def __post_init__(self):
        super().__init__(self.params, {"lr": self.lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for each in group["params"]:
                each -= group["lr"] * each.grad.sign()


class Slotted:
    """An optimizer by its methods only, without weak references."""

    __slots__ = ("params",)
    _optimizer_step_pre_hooks = _optimizer_step_post_hooks = {}

    def __init__(self, params):
        self.params = list(params)

    def __hash__(self):
        raise RuntimeError("hash")

    def __eq__(self, other):
        raise RuntimeError("eq")

    @torch.optim.Optimizer.profile_hook_step
    def step(self):
        with torch.no_grad():
            for each in self.params:
                each -= 0.01 * each.grad

    def _optimizer_step_code(self):
        pass

    def zero_grad(self):
        for each in self.params:
            each.grad = None


class Named(torch.autograd.profiler.record_function):
    @property
    def __dict__(self):
        count("Named.__dict__")
        return {}


class Rows(counting(Dataset)):
    def __len__(self):
        count("Rows.__len__")
        return 12

    def __getitem__(self, index):
        return torch.ones(4) * index, index % 2


class Stream(counting(IterableDataset)):
    def __iter__(self):
        for index in range(12):
            yield torch.ones(4) * index, index % 2


class Buckets(counting(Sampler)):
    def __init__(self):
        pass

    def __iter__(self):
        for at in range(0, 12, 4):
            yield [at, at + 1, at + 2, at + 3]

    def __len__(self):
        count("Buckets.__len__")
        return 3


class Functions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        count("mode." + getattr(function, "__name__", str(function)))
        return function(*args, **(kwargs or {}))


def show(loss):
    print(loss.detach().double().item().hex())


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    optimizers = [lambda net: counting(torch.optim.SGD)(net.parameters(), 0.1),
                  lambda net: counting(torch.optim.Adam, raising=("__eq__", "__hash__", "__bool__", "__len__"))(
                      net.parameters(), 0.1),
                  lambda net: Lion(list(net.parameters())), lambda net: Slotted(net.parameters())]
    loaders = [lambda: DataLoader(Rows(), batch_size=4), lambda: DataLoader(Stream(), batch_size=4),
               lambda: DataLoader(Rows(), batch_sampler=Buckets()),
               lambda: DataLoader(Rows(), batch_size=4, shuffle=True, drop_last=True)]
    for make in optimizers:
        for data in loaders:
            net = Net()
            optimizer = make(net)
            with Functions():
                for _ in range(2):
                    for x, y in data():
                        with Named("ProfilerStep"):
                            optimizer.zero_grad()
                            loss = nn.functional.cross_entropy(net(x), y)
                            loss.backward()
                            optimizer.step()
                        show(loss)
            net.eval()
            with torch.no_grad():
                for x, _ in data():
                    net(x)
    for name, number in sorted(COUNTS.items()):
        print(name, number)


main()
