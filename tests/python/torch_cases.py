# SPDX-License-Identifier: Apache-2.0
"""Programs that use PyTorch's record_function; each is to behave the same with and without `prof run`.

    torch_cases.py CASE
"""
import importlib.util
import os
import subprocess
import sys
import threading


def ranges():
    from torch.profiler import record_function

    for step in range(3):
        with record_function(f"step {step}"):
            with record_function("forward"):
                pass
            with record_function("backward, op_id = x"):
                pass


def operators():
    from torch import ops
    from torch.profiler import record_function

    with record_function("forward"):
        nodes = ops.linear()
        ops.detach()
        with record_function("Model::head"):
            nodes += ops.linear()
    with record_function("backward"):
        ops.backward(nodes)


def imported_in_thread():
    def work():
        from torch.profiler import record_function

        with record_function("in the importing thread"):
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    for _ in range(1000):
        pass  # the main thread comes to an instruction
    from torch.profiler import record_function

    with record_function("in the main thread"):
        pass


def threads():
    from torch.profiler import record_function

    def work(name):
        with record_function(name):
            pass

    for name, is_daemon in (("worker", False), ("daemon", True)):
        thread = threading.Thread(target=work, args=(name,), daemon=is_daemon)
        thread.start()
        thread.join()


def ends_elsewhere():
    """As an asynchronous operation's, which ends where its future is completed."""
    from torch.profiler import record_function

    with record_function("outer"):
        sent = record_function("sent")
        sent.__enter__()

        def receive():
            with record_function("receiving"):
                sent.__exit__(None, None, None)
                with record_function("inner"):
                    pass

        thread = threading.Thread(target=receive)
        thread.start()
        thread.join()
        with record_function("after"):
            pass


def daemon_at_exit():
    """A thread that is still there when the interpreter ends."""
    import torch  # noqa: F401

    threading.Thread(target=threading.Event().wait, daemon=True).start()


def own_profiler():
    import torch
    from torch.autograd.profiler import emit_nvtx
    from torch.profiler import profile, record_function

    print("enabled:", torch.autograd._profiler_enabled())
    with record_function("before"):
        with profile() as profiler:
            print("enabled:", torch.autograd._profiler_enabled())
            with record_function("seen by both"):
                pass
    print("events:", profiler.events)
    try:
        with profile():
            with profile():
                pass
    except RuntimeError as failure:
        print("nested:", failure)
    try:
        torch.autograd._disable_profiler()
    except RuntimeError as failure:
        print("none:", failure)
    with emit_nvtx():
        torch.ops.detach()
    print("enabled:", torch.autograd._profiler_enabled())
    with record_function("after"):
        pass


def own_cuda_profiler():
    """With CUPTI, of which there is one subscription. Without libprof it gets it; so it does with libprof."""
    import ctypes

    from torch import _C
    from torch.profiler import ProfilerActivity, profile, record_function

    cuda = ctypes.CDLL(os.environ["FAKE_CUDA"])

    def launch(kernel):
        cuda.fake_cuda_launch(kernel, ctypes.c_uint64(2000), None)
        cuda.cudaDeviceSynchronize()

    with record_function("before"):
        launch(b"before_k")
    for _ in range(2):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            print("subscribed:", _C.Cupti.result)
            with record_function("seen by the program's own"):
                launch(b"own_k")
        print("events:", profiler.events)
        with record_function("between"):
            launch(b"between_k")
    try:
        with profile(activities=[ProfilerActivity.CUDA]):
            profile(activities=[ProfilerActivity.CUDA]).__enter__()
    except RuntimeError as failure:
        print("nested:", failure)
    with profile():
        with record_function("without CUDA"):
            launch(b"without_k")
    with record_function("after"):
        launch(b"after_k")


def proton():
    """Triton's profiler, likewise: it fails where it does not get CUPTI."""
    import ctypes

    from triton._C.libproton import proton

    push = ctypes.CDLL(os.environ["NVTX_PUSH_LIBRARY"])
    cuda = ctypes.CDLL(os.environ["FAKE_CUDA"])

    def launch(name):
        push.push(name)
        cuda.fake_cuda_launch(name + b"_k", ctypes.c_uint64(2000), None)
        push.pop()
        cuda.cudaDeviceSynchronize()

    folder = [os.environ["PROTON_ARGUMENT"]] if "PROTON_ARGUMENT" in os.environ else []
    launch(b"before")
    first = proton.start("first", "shadow", "tree", "cupti", "", *folder)
    print("its CUPTI stands in", os.environ.get("TRITON_CUPTI_LIB_PATH"))
    second = proton.start("second", "shadow", "tree", "cupti")
    launch(b"Proton's")
    proton.finalize(first, "hatchet")
    launch(b"Proton's")
    proton.finalize(second, "hatchet")
    launch(b"between")
    proton.start("of the compiler's making", "shadow", "tree", "instrumentation", "")
    launch(b"beside")
    proton.start("third", "shadow", "tree", backend="cupti")
    launch(b"Proton's")
    proton.finalize_all("hatchet")
    launch(b"after")
    try:
        proton.finalize(first, "hatchet")
    except KeyError as failure:
        print("finalized again:", failure)
    launch(b"after")


def left_on():
    """The program forgets to end its profiler: it is complained of with and without us."""
    from torch.profiler import profile, record_function

    with record_function("before"):
        pass
    profile().__enter__()


class Fails(Exception):
    pass


def training():
    """A stand-in's loop: an inner module, a module that is called in backward, an exception, a closure."""
    import torch

    class Inner(torch.nn.Module):
        def forward(self):
            return 1

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, fails=False):
            if fails:
                raise Fails
            return self.inner()

    class Step(torch.optim.Optimizer):
        def step(self, closure=lambda: None):
            return closure()

    net, optimizer = Net(), Step()
    for batch in torch.utils.data.dataloader._BaseDataLoaderIter([1, 2, 3]):
        optimizer.zero_grad()
        net()
        try:
            net(True)
        except Fails:
            print("failed", batch)
        torch.training.backward(net.inner)
        optimizer.step(torch.training.backward if batch == 3 else lambda: None)


def no_torch():
    import json

    print(json.dumps([importlib.util.find_spec("torch") is not None, "torch" in sys.modules]))


def broken():
    for _ in range(2):
        try:
            from torch.profiler import record_function
        except ImportError as failure:
            print("import:", failure)
    with record_function("after the second attempt"):
        pass


def environment():
    """What a program may look at: its modules, its path, and the torch that it found."""
    own = [name for name in ("sitecustomize", "usercustomize", "prof_torch") if name in sys.modules]
    print(own, [entry for entry in sys.path if "prof" in entry.split(os.sep)[-2:]], sys.argv[1:])
    import torch

    print(type(torch.__spec__.loader).__name__, sorted(vars(torch.__spec__.loader)),
          [type(finder).__name__ for finder in sys.meta_path
           if not isinstance(finder, type) and type(finder).__name__ != "ModuleWatch"])


def children():
    from torch.profiler import record_function

    with record_function("parent"):
        pass
    sys.stdout.flush()
    for extra in ({}, {"PYTHONPATH": os.environ["TORCH_PATH"]}):
        subprocess.run([sys.executable, __file__, "child"], check=True, env={**os.environ, **extra})
    sys.stdout.flush()
    if os.fork() == 0:
        with record_function("in the fork"):
            sys.exit(0)
    print(os.wait()[1])


def child():
    from torch.profiler import record_function

    with record_function("child"):
        print("child")


def raw():
    """What PyTorch's observer pushes, and what only looks like it."""
    from torch._C import push_library

    for text in (b"a, op_id = 5", b"a, op_id = x", b"b, seq = 7, op_id = 6"):
        push_library.push(text)
    for _ in range(3):
        push_library.pop()


def many():
    from torch._C import push_library

    for number in range(1, 20001):
        push_library.push(b"forward, seq = %d, op_id = %d" % (number, number))
        push_library.pop()


def fails():
    from torch.profiler import record_function

    with record_function("doomed"):
        raise ValueError("of the program's own")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    sys.exit(3)
