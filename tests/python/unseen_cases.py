# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program that looks for what observes it, for unseen_test.py. It prints what must be the same with libprof and
without. Runs with each Python, and with PyTorch from 1.13 on.

    unseen_cases.py CASE...
"""
import collections
import cProfile
import inspect
import json
import os
import pickle
import pstats
import signal
import sys
import tempfile
import traceback
import types
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def frames(failure):
    return [(frame.name, os.path.basename(frame.filename), frame.lineno)
            for frame in traceback.extract_tb(failure.__traceback__)]


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        raise KeyError("backward")


class Data(Dataset):
    def __init__(self, fails=False, warns=False):
        self.fails, self.warns = fails, warns

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if self.fails:
            raise KeyError("data")
        if self.warns:
            warnings.warn("data", stacklevel=6)
        return torch.ones(4)


class Net(nn.Linear):
    def __init__(self, does=lambda: None):
        super().__init__(4, 4)
        self.does = does

    def forward(self, x):
        self.does()
        return super().forward(x)


class Optimizer(torch.optim.SGD):
    def __init__(self, net, does=lambda: None):
        self.does = does
        super().__init__(net.parameters(), 0.1)

    def step(self, closure=None):
        self.does()
        return super().step(closure)


def fail():
    raise KeyError("failed")


def steps(count, net, optimizer):
    for _ in range(count):
        for batch in DataLoader(Data(), batch_size=2):
            optimizer.zero_grad()
            net(batch).sum().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()


def tracebacks():
    """Of what fails in each observed function: the same frames as without libprof."""
    net = Net()
    failing = Net(fail)
    ways = [lambda: Failing.apply(net(torch.ones(1, 4))).sum().backward(),
            lambda: torch.autograd.grad(Failing.apply(net(torch.ones(1, 4))).sum(), list(net.parameters())),
            lambda: torch.ones(2).sum().backward(), lambda: Optimizer(net, fail).step(),
            lambda: Optimizer(net).step(fail), lambda: next(iter(DataLoader(Data(fails=True)))),
            lambda: [None for _ in DataLoader(Data(fails=True))], lambda: failing(torch.ones(1, 4)),
            lambda: nn.Sequential(net, failing)(torch.ones(1, 4)), lambda: nn.utils.clip_grad_norm_(3, 1.0),
            lambda: torch.optim.SGD([], 0.1), lambda: nn.Linear("1", 1), lambda: Optimizer.step(),
            lambda: torch.optim.Optimizer.zero_grad(1, 2, 3), lambda: net(), lambda: Optimizer(net).step(x=1)]
    for way in ways:
        try:
            way()
        except Exception as failure:
            print(type(failure).__name__, str(failure).split("\n")[0], frames(failure))


def stacklevels():
    """The lines that warnings name."""
    def warn():
        for level in range(1, 7):
            warnings.warn("here", stacklevel=level)

    net = Net(warn)
    optimizer = Optimizer(net, warn)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net(torch.ones(1, 4)).sum().backward()
        optimizer.step()
        for _ in DataLoader(Data(warns=True)):
            pass
    print([(each.lineno, os.path.basename(each.filename)) for each in caught])


def compiled():
    """What dynamo compiles of an optimizer and of a module, and where it stops."""
    import torch._dynamo
    from torch._dynamo.utils import counters

    def show(name, function, *arguments, **options):
        torch._dynamo.reset()
        counters.clear()
        try:
            torch.compile(function, backend="eager", **options)(*arguments)
            result = "done"
        except Exception as failure:
            result = type(failure).__name__ + str(failure).split("\n")[0]
        print(name, options, result, {name: sorted(values.items()) for name, values in sorted(counters.items())
                                      if name in ("stats", "graph_break", "frames", "unimplemented")})

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net(torch.ones(1, 4)).sum().backward()

    def step():
        optimizer.zero_grad()
        net(torch.ones(1, 4)).sum().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    for fullgraph in (False, True):
        show("module", net, torch.ones(1, 4), fullgraph=fullgraph)
        show("method", optimizer.step, fullgraph=fullgraph)
        show("function", lambda: optimizer.step(), fullgraph=fullgraph)
        show("zero_grad", lambda: optimizer.zero_grad(), fullgraph=fullgraph)
        show("step", step, fullgraph=fullgraph)
    net.compile(backend="eager")
    net(torch.ones(1, 4))


def called(calls):
    return sorted((os.path.basename(file), name, count) for (file, _, name), count in calls.items())


def profiles():
    """What Python's profilers count: no function more and no call more."""
    net = Net()
    optimizer = Optimizer(net)
    steps(1, net, optimizer)
    profile = cProfile.Profile()
    profile.enable()
    steps(2, net, optimizer)
    profile.disable()
    print(called({key: value[:2] for key, value in pstats.Stats(profile).stats.items()}))
    for switch in (sys.setprofile, sys.settrace):
        calls = collections.Counter()

        def see(frame, event, _):
            if event in ("call", "return"):
                calls[frame.f_code.co_filename, event, frame.f_code.co_name] += 1
            return see

        switch(see)
        steps(2, net, optimizer)
        switch(None)
        print(called(calls), sys.getprofile(), sys.gettrace())


def stacks():
    """The Python functions in a trace of torch.profiler's. Those of the file that makes way for profilers and the builtins
    that they call are left out."""
    from torch.profiler import ProfilerActivity, profile

    net = Net()
    optimizer = Optimizer(net)
    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as profiler:
        steps(2, net, optimizer)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path) as trace:
            events = json.load(trace)["traceEvents"]
    names = collections.Counter(event["name"] for event in events if event.get("cat") == "python_function")
    print(sorted((name, count) for name, count in names.items()
                 if "<libprof/prof_torch.py>" not in name and not name.startswith("<built-in")))


def objects():
    """PyTorch's functions themselves."""
    kind = torch.optim.Optimizer
    step = torch.optim.SGD.step
    functions = [nn.Module.__call__, nn.Module._apply, kind.zero_grad, kind.__init__, step, nn.utils.clip_grad_norm_,
                 torch.autograd.backward, torch.autograd.grad, torch.autograd.profiler.record_function.__enter__,
                 torch.utils.data.dataloader._BaseDataLoaderIter.__next__, torch.cuda.CUDAGraph.replay]
    graph = getattr(torch.autograd, "graph", None)
    functions += [each for each in [getattr(graph, "_engine_run_backward", None)] if each is not None]
    for function in functions:
        print(type(function) is types.FunctionType, function.__name__, function.__qualname__, function.__module__,
              os.path.basename(function.__code__.co_filename), function.__code__.co_firstlineno, sorted(vars(function)),
              str(inspect.signature(function))[:200])
    print(pickle.dumps([nn.utils.clip_grad_norm_, kind.zero_grad, nn.Module.__call__]))
    engine = torch.autograd.Variable._execution_engine
    print(type(engine).run_backward, engine.run_backward.__name__, (engine.run_backward.__doc__ or "")[:50])


def signals():
    """What the handler of a signal raises reaches the program, and its traceback has the program's frames alone."""
    class OfTheHandler(Exception):
        pass

    raised = 0

    def handle(*_):
        nonlocal raised
        raised += 1
        raise OfTheHandler

    net = Net()
    optimizer = Optimizer(net)
    batches = DataLoader(Data(), batch_size=2)

    def small_steps():
        for batch in batches:
            for _ in range(20):
                optimizer.zero_grad(set_to_none=True)
                optimizer.step()
            net(batch).sum().backward()

    signal.signal(signal.SIGALRM, handle)
    caught = 0
    strange = set()
    for attempt in range(400):
        before = raised
        torch.set_grad_enabled(True)  # an exception may have left a no_grad() halfway
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0003 + attempt % 97 * 0.00002)
            while raised == before:
                small_steps()
        except OfTheHandler as failure:
            caught += 1
            strange.update(name for name, file, _ in frames(failure) if "libprof" in file or "prof_" in file)
            strange.update("<libprof/" for frame, _ in traceback.walk_tb(failure.__traceback__)
                           if frame.f_code.co_filename.startswith("<libprof/"))
    signal.setitimer(signal.ITIMER_REAL, 0)
    torch.set_grad_enabled(True)
    print("lost", raised - caught, sorted(strange))
    steps(1, net, optimizer)


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    for case in sys.argv[1:]:
        print("==", case, flush=True)
        globals()[case]()
    sys.exit(3)
