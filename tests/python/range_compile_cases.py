# SPDX-License-Identifier: Apache-2.0
"""Programs of range_compile_test.py: each prints what it found, as JSON. `before` (an argument) names the modules that
are imported before libprof."""
import copy
import io
import json
import os
import pickle
import sys

for name in filter(None, sys.argv[2].split(",")):
    __import__(name)
import libprof  # noqa: E402

if "native" not in libprof.range.__mro__[1].__module__:
    sys.exit("not the native module")
import torch  # noqa: E402
from torch import nn  # noqa: E402


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Kept(Plain):
    """A range in an attribute, as a list's element, and of a subclass."""

    def __init__(self):
        super().__init__()
        self.range = libprof.range("kept", color=0xFF00FF00, category=7, payload=-3)
        self.more = [libprof.range("in list", payload=1.5)]

    def forward(self, x):
        with self.range:
            x = torch.relu(self.first(x))
        with self.more[0], self.range:
            return self.second(x)


class Made(Plain):
    def forward(self, x):
        with libprof.range("forward", payload=2), libprof.range("inner"):
            x = torch.relu(self.first(x))
            libprof.range_push("pushed")
            x = self.second(x)
            libprof.range_pop()
        return x


class Decorated(Plain):
    @libprof.range("head", category=3)
    def head(self, x):
        return self.second(x)

    @libprof.range("decorated")
    def forward(self, x):
        return self.head(torch.relu(self.first(x)))


MODULES = (Kept, Made, Decorated)
X = torch.linspace(-1, 1, 12).reshape(3, 4)


class Graphs:
    """A backend that counts what it is given."""

    def __init__(self):
        self.count = 0

    def __call__(self, graph, inputs):
        self.count += 1
        return graph.forward


def compiled(module, **options):
    torch._dynamo.reset()
    graphs = Graphs()
    out = torch.compile(module, backend=graphs, **options)(X)
    return [torch.equal(out, Plain()(X)), graphs.count]


def fullgraph():
    """One graph, with the plain module's results."""
    found = {of.__name__: compiled(of(), fullgraph=True) for of in MODULES}
    found["function"] = compiled(libprof.range("f")(Plain().forward), fullgraph=True)
    found["aot"] = torch.equal(torch.compile(Kept(), backend="aot_eager", fullgraph=True)(X), Plain()(X))
    made = libprof.range("closed over")

    def closure(x):
        with made:
            return Plain.forward(net, x)

    net = Plain()
    found["closure"] = compiled(closure, fullgraph=True)
    module = Made()
    loss = torch.compile(module, backend="eager", fullgraph=True)(X).sum()
    loss.backward()
    found["backward"] = all(each.grad is not None for each in module.parameters())
    return found


def graph_breaks():
    """Code inside a range that breaks the graph itself: the results, and as many graphs as without ranges."""

    class Breaks(Plain):
        around = staticmethod(lambda: libprof.range("around"))

        def forward(self, x):
            with self.around():
                x = torch.relu(self.first(x))
                torch._dynamo.graph_break()
                return self.second(x)

    import contextlib

    class BreaksBare(Breaks):
        around = staticmethod(lambda: contextlib.nullcontext())

    return [compiled(Breaks()), compiled(BreaksBare())]


def recorded():
    """Calls outside of what is compiled are; those inside are not. A recording changes no graph."""
    graphs = Graphs()
    with libprof.recording(output_dir="out", export=[], phases=False) as run:
        net = torch.compile(Made(), backend=graphs, fullgraph=True)
        for _ in range(3):
            with libprof.range("step"):
                net(X)
        Made()(X)
        Decorated()(X)
    return [graphs.count, {row.path: row.count for row in run.summary if row.kind == "range"}]


def exported():
    program = torch.export.export(Kept(), (X,), strict=True)
    return torch.equal(program.module()(X), Plain()(X))


def attributes(range_):
    return [type(range_).__name__, *range_._given()]


def copies():
    """deepcopy, the average of weights, torch.save, pickle; what they make is a range that records."""
    net = Kept()
    expected = [attributes(net.range), attributes(net.more[0])]
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    made = [copy.copy(net), copy.deepcopy(net), torch.optim.swa_utils.AveragedModel(net).module,
            torch.load(file, weights_only=False)]  # fmt: skip
    made += [pickle.loads(pickle.dumps(net, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    same = [[attributes(each.range), attributes(each.more[0])] == expected and torch.equal(each(X), net(X)) for each in made]
    with libprof.recording(output_dir="out", export=[], phases=False) as run:
        for each in made:
            each(X)
    counts = {row.path: row.count for row in run.summary if row.kind == "range"}
    del net
    return [all(same), len(made), counts, [compiled(each, fullgraph=True) for each in made[:4]]]


def payloads():
    """Of NumPy's scalars; of no tensor, whose value is not asked for."""
    import numpy as np
    from torch.overrides import TorchFunctionMode

    called = []

    class Sees(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), keywords=None):
            called.append(str(function))
            return function(*arguments, **(keywords or {}))

    values = [np.float32(1.5), np.int64(-2), np.array(7), torch.tensor(3), torch.tensor(1.5), nn.Parameter(torch.ones(1))]
    with Sees():
        given = [libprof.range("x", payload=each)._given()[3] for each in values]
    return [given, called]


def traces():
    """What is left where an import was waited for."""
    import torch._dynamo

    spec = torch._dynamo.__spec__
    return [[type(each).__name__ for each in sys.meta_path if type(each).__module__.startswith("libprof")],
            type(spec.loader).__name__, type(torch._dynamo.__loader__).__name__, spec.loader is torch._dynamo.__loader__]


if __name__ == "__main__":
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.getcwd())
    print(json.dumps({name: globals()[name]() for name in sys.argv[1].split(",")}))
