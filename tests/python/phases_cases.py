# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs without ranges of their own, for phases_test.py. They print what must be the same with libprof and
without: losses to the last bit, what was caught, dynamo's counters.

    phases_cases.py CASE...
    phases_cases.py --forked FOLDER    what the standard input names, each in a child (forked_cases.py)
"""
import contextlib
import sys
import threading
import time

import forked_cases
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

STEPS = 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.body(x))


def data(count=3 * 4):
    torch.manual_seed(7)
    return TensorDataset(torch.randn(count, 4), torch.randint(0, 2, (count,)))


def model():
    torch.manual_seed(1)
    return Net()


def show(loss):
    print(loss.detach().double().item().hex())


loss_of = nn.functional.cross_entropy


def train(net, optimizer, batches):
    for x, y in batches:
        optimizer.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        show(loss)


def plain():
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(2):
        train(net, optimizer, DataLoader(data(), batch_size=4))
        net.eval()
        with torch.no_grad():
            for x, _ in DataLoader(data(8), batch_size=4):
                show(net(x).sum())
        net.train()
    print(net.__dict__.keys(), nn.Module.__call__ is getattr(nn.Module, "_wrapped_call_impl", nn.Module.__call__))


def no_loader():
    net = model()
    x, y = data().tensors
    train(net, torch.optim.SGD(net.parameters(), 0.1), [(x, y)] * STEPS)


def slow_step():
    """Of 24 steps the 21st takes two seconds longer."""
    net = model()
    x, y = data().tensors

    def batches():
        for i in range(24):
            if i == 20:
                time.sleep(2)
            yield x, y

    train(net, torch.optim.SGD(net.parameters(), 0.1), batches())


def many_steps():
    net = model()
    x, y = data().tensors
    train(net, torch.optim.SGD(net.parameters(), 0.1), [(x, y)] * 400)


def captured():
    """A step that is captured in a CUDA graph and replayed. There is no GPU: what is called fails, on a stand-in."""
    def call(function):
        try:
            function(graph)
        except TypeError as failure:
            print(type(failure).__name__)

    class Graph:
        pass

    graph = Graph()
    net = model()
    x, y = data().tensors
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    train(net, optimizer, [(x, y)] * STEPS)
    call(torch.cuda.CUDAGraph.capture_begin)
    train(net, optimizer, [(x, y)])
    call(torch.cuda.CUDAGraph.capture_end)
    for _ in range(4):
        call(torch.cuda.CUDAGraph.replay)


def accumulation():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    for index, (x, y) in enumerate(DataLoader(data(24), batch_size=4)):
        loss = loss_of(net(x), y) / 2
        loss.backward()
        if index % 2:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        show(loss)


def two_optimizers():
    """As a GAN does, without a DataLoader."""
    nets = [model(), model()]
    optimizers = [torch.optim.Adam(net.parameters()) for net in nets]
    x, y = data().tensors
    for _ in range(STEPS):
        for net, optimizer in zip(nets, optimizers):
            optimizer.zero_grad()
            loss = loss_of(net(x), y)
            loss.backward()
            optimizer.step()
            show(loss)


def lbfgs():
    net = model()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=2, max_eval=2)
    for x, y in DataLoader(data(), batch_size=4):
        def closure():
            optimizer.zero_grad()
            loss = loss_of(net(x), y)
            loss.backward()
            return loss

        show(optimizer.step(closure))


def lightning():
    """Forward, zero_grad and backward in the closure of an ordinary optimizer."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    for x, y in DataLoader(data(), batch_size=4):
        def closure():
            loss = loss_of(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            return loss

        show(optimizer.step(closure))


def scaler():
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    scale = torch.amp.GradScaler("cpu", init_scale=8.0)
    for index, (x, y) in enumerate(DataLoader(data(), batch_size=4)):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(net(x).float(), y)
        if index == 1:
            loss = loss * float("inf")  # the scaler passes this step over
        scale.scale(loss).backward()
        scale.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scale.step(optimizer)
        scale.update()
        show(loss)


class Checkpointed(Net):
    def __init__(self, use_reentrant):
        super().__init__()
        self.use_reentrant = use_reentrant

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint

        return self.head(checkpoint(self.body, x, use_reentrant=self.use_reentrant))


def checkpointing(use_reentrant=False):
    torch.manual_seed(1)
    net = Checkpointed(use_reentrant)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    train(net, optimizer, [(x.requires_grad_(), y) for x, y in DataLoader(data(), batch_size=4)])


def reentrant_checkpointing():
    checkpointing(True)


def inference():
    net = model().eval()
    for _ in range(STEPS):
        show(net(torch.ones(2, 4)).sum())


def exceptions():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in DataLoader(data(), batch_size=4):
        try:
            net(torch.ones(2, 5))
        except RuntimeError as failure:
            print(type(failure).__name__)
        train(net, optimizer, [(x, y)])


class Endless(IterableDataset):
    def __iter__(self):
        torch.manual_seed(3)
        while True:
            yield torch.randn(4), 1


def generator():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def batches():
        for index, batch in enumerate(DataLoader(Endless(), batch_size=4)):
            if index == STEPS:
                return
            yield batch

    train(net, optimizer, batches())


def double_backward():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x, _ in DataLoader(data(), batch_size=4):
        x.requires_grad_()
        gradient, = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        loss = gradient.square().sum()
        loss.backward()
        optimizer.step()
        show(loss)
    func = torch.func.grad(lambda w, x: torch.func.functional_call(net, {"head.weight": w}, (x,)).sum())
    show(func(net.head.weight.detach(), torch.ones(2, 4)).sum())


def threads():
    """Another thread calls modules meanwhile; its phases are its own."""
    net = model()
    stop = threading.Event()

    def serve():
        with torch.no_grad():
            for _ in range(5):
                net(torch.ones(2, 4))
        stop.wait()

    thread = threading.Thread(target=serve)
    optimizer = torch.optim.SGD(net.parameters(), 0.0)
    batches = DataLoader(data(), batch_size=4)
    train(net, optimizer, batches)
    thread.start()
    stop.set()
    thread.join()


class Transforming(TensorDataset):
    def __init__(self):
        super().__init__(*data().tensors)
        self.transform = nn.Identity()

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return self.transform(x), y


def workers(context):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    train(net, optimizer, DataLoader(Transforming(), batch_size=4, num_workers=2, multiprocessing_context=context))


def forked_workers():
    workers("fork")


def spawned_workers():
    workers("spawn")


def own_ranges():
    from torch.profiler import record_function

    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in DataLoader(data(), batch_size=4):
        with record_function("mine"):
            with record_function("forward"):
                time.sleep(0.03)  # most of the range is no part of the phase, so that it is not the same thing
                loss = loss_of(net(x), y)
            loss.backward()
        optimizer.step()
        show(loss)


def train_by_twos(batches, range_of=None, after=lambda: None):
    """The optimizer steps with every second batch."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for index, (x, y) in enumerate(batches):
        with range_of(index) if range_of else contextlib.nullcontext():
            loss = loss_of(net(x), y)
            loss.backward()
            if index % 2:
                optimizer.step()
                optimizer.zero_grad()
        show(loss)
        after()


def profiled():
    """With a schedule torch.profiler makes ranges ProfilerStep#N. While it records, no other tool gets them."""
    from torch.profiler import ProfilerActivity, profile, schedule

    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=2, warmup=1, active=2, repeat=1)) as profiler:
        train_by_twos(DataLoader(data(24), batch_size=4), after=profiler.step)
    print(profiler.step_num, {event.name for event in profiler.events() if event.name.startswith("ProfilerStep")})


def profiled_in_between():
    """Without a schedule there are no such ranges. Before and after it, the optimizer's steps."""
    from torch.profiler import ProfilerActivity, profile

    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    batch = data().tensors
    train(net, optimizer, [batch] * 2)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(3):
            train(net, optimizer, [batch])
            profiler.step()
    train(net, optimizer, [batch] * 2)


def own_steps():
    from torch.profiler import record_function

    train_by_twos(DataLoader(data(24), batch_size=4), lambda index: record_function(f"ProfilerStep#{index}"))


def monitored():
    """Another tool of sys.monitoring goes on beside ours, on the same code."""
    seen = []
    monitoring = sys.monitoring
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "coverage")
    monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.PY_START,
                                 lambda code, _: seen.append(code.co_name))
    monitoring.set_local_events(monitoring.COVERAGE_ID, Net.forward.__code__, monitoring.events.PY_START)
    monitoring.set_local_events(monitoring.COVERAGE_ID, nn.Module._wrapped_call_impl.__code__,
                                monitoring.events.PY_START)
    net = model()
    train(net, torch.optim.SGD(net.parameters(), 0.1), DataLoader(data(), batch_size=4))
    print(len(seen), seen.count("forward"))
    monitoring.set_local_events(monitoring.COVERAGE_ID, nn.Module._wrapped_call_impl.__code__, 0)
    monitoring.free_tool_id(monitoring.COVERAGE_ID)


def compiled(backend="aot_eager"):
    import torch._dynamo
    from torch._dynamo.utils import counters

    class Broken(Net):
        def forward(self, x):
            x = self.body(x)
            torch._dynamo.graph_break()
            return self.head(x)

    for kind in (Net, Broken):
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(1)
        net = kind()
        run = torch.compile(net, backend=backend)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        train(run, optimizer, DataLoader(data(14), batch_size=4))  # the last batch is smaller: compiled anew
        print({name: dict(values) for name, values in sorted(counters.items())
               if name in ("stats", "graph_break", "frames", "recompiles", "unimplemented")})


def recompiled():
    """What torch.compile compiles, how often, why, and who is asked around it."""
    import torch._dynamo
    from torch._dynamo.callback import callback_handler
    from torch._dynamo.utils import compile_times, counters, guard_failures

    def scaled(x):
        return x.sin() * 2

    def backend(graph, _):
        print([str(node) for node in graph.graph.nodes], sys._getframe().f_back is not None)
        return graph.forward

    def failing(graph, _):
        raise ValueError("no kernel")

    def lazy(x):
        return x.cos().sum()

    def broken(x):
        return x + 1

    torch._dynamo.reset()
    counters.clear()
    run = torch.compile(scaled, backend=backend, dynamic=False)
    for count in (2, 3, 3, 4, 2):
        show(run(torch.ones(count)).sum())
    torch._dynamo.reset()  # forgets all, also callbacks
    show(run(torch.ones(2)).sum())
    x = torch.ones(4, requires_grad=True)
    torch.compile(lazy, backend="aot_eager", dynamic=True)(x).backward()
    show(x.grad.sum())
    for _ in range(2):
        try:
            torch.compile(broken, backend=failing)(torch.ones(2))
        except Exception as failure:
            print(type(failure).__name__, type(failure.__cause__).__name__)
    torch.compile(model(), backend="eager")(torch.ones(1, 4))
    workers = [threading.Thread(target=torch.compile(each, backend="eager"), args=(torch.ones(2),))
               for each in (lambda x: x * 2, lambda x: x * 3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(len(callback_handler.start_callbacks), len(callback_handler.end_callbacks), dict(counters["stats"]),
          dict(counters["recompiles"]), sorted(map(len, guard_failures.values())), "compile" in compile_times())


def cached():
    """By inductor. Prints to stderr whether its cache has the functions, which it finds by the hash of all inputs."""
    import torch._dynamo
    from torch._dynamo.utils import counters

    run = torch.compile(lambda x: (x.sin() * 2 + 1).relu(), dynamic=False)
    for count in (8, 16):
        show(run(torch.ones(count)).sum())
    print(counters["inductor"]["fxgraph_cache_miss"], counters["inductor"]["fxgraph_cache_hit"], file=sys.stderr)


def kernels():
    """What compiles outside torch.compile, without a GPU: inductor's kernels, which fail, and a stand-in for Triton."""
    import pathlib
    import tempfile

    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    class Tuner(CachingAutotuner):
        def __init__(self):
            pass

    for method in ("precompile", "autotune_to_one_config"):
        try:
            getattr(Tuner(), method)()
        except AttributeError as failure:
            print(failure)
    known = set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder, "triton", "compiler")
        place.mkdir(parents=True)
        (place.parent / "__init__.py").touch()
        (place / "__init__.py").touch()
        (place / "compiler.py").write_text("""
class Source:
    def __init__(self, name):
        self.name = name
def compile(src, target=None, options=None):
    return src.name.upper()
""")
        sys.path.insert(0, folder)
        from triton.compiler import compiler
        sys.path.remove(folder)
    print(compiler.compile(compiler.Source("add_kernel")), compiler.compile(compiler.Source("add_kernel"), "other"))
    try:
        compiler.compile(None)
    except AttributeError as failure:
        print(failure)
    for name in set(sys.modules) - known:
        del sys.modules[name]


def run(case):
    print("==", case, flush=True)
    globals()[case]()


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1] == "--forked":
        with contextlib.suppress(ImportError):  # the first optimizer would import it, in each child
            import torch._dynamo  # noqa: F401
        forked_cases.serve(sys.argv[2], run)
    else:
        for case in sys.argv[1:]:
            run(case)
    sys.exit(3)
