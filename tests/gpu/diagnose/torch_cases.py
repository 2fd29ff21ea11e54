# SPDX-License-Identifier: Apache-2.0
"""Training steps in PyTorch with one flaw each: eager, or compiled by torch.compile.

    torch_cases.py eager|compile OUT ROUNDS

Runs on the CPU, too, to test the program itself: there are no flaws of the GPU then.
"""

import itertools
import sys
import time

import torch
from rounds import Case, Rounds, busy
from torch import nn

import libprof

HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU else "cpu"
SHRINK = 1 if HAS_GPU else 32
MB = 2**20 // (1 if HAS_GPU else 1024)


class Model:
    def __init__(self, compiled, batch=4096, width=4096, dtype=torch.bfloat16):
        batch, width = batch // SHRINK, width // SHRINK
        self.layers = nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(4)))
        self.layers.to(DEVICE, dtype)
        self.net = torch.compile(self.layers) if compiled else self.layers
        self.optimizer = torch.optim.SGD(self.layers.parameters(), lr=1e-6, foreach=True)
        self.x = torch.randn(batch, width, device=DEVICE, dtype=dtype)

    def train(self):
        loss = self.net(self.x).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss


class SlowData(torch.utils.data.Dataset):
    def __init__(self, milliseconds):
        self.milliseconds = milliseconds

    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        time.sleep(self.milliseconds / 1e3)
        return torch.ones(16)


def memory(megabytes, pinned):
    out = torch.empty(megabytes * MB // 4)
    return out.pin_memory() if pinned and HAS_GPU else out


def graph_of(work):
    if not HAS_GPU:
        return work
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


class Limiter:
    """Waits for the work of the step before the latest."""

    def __init__(self):
        self.events = [torch.cuda.Event(), torch.cuda.Event()] if HAS_GPU else []
        self.number = 0

    def __call__(self):
        if not self.events:
            return
        self.events[self.number % 2].record()
        self.number += 1
        self.events[self.number % 2].synchronize()


class Cases:
    def __init__(self, compiled):
        self.compiled = compiled
        self.model = Model(compiled)

    def clean(self):
        return Case("clean", [], self.model.train, forbidden=["*"])

    def sleep(self, ms):
        def step():
            self.model.train()
            with libprof.range("flaw"):
                time.sleep(ms / 1e3)

        return Case(f"sleep {ms} ms", ["host_code"], step, self.model.train, place="flaw")

    def busy(self, ms):
        def step():
            with libprof.range("augment"):
                busy(ms)
            self.model.train()

        return Case(f"busy Python {ms} ms", ["host_code"], step, self.model.train, place="augment")

    def loader(self, ms):
        slow, fast = (iter(torch.utils.data.DataLoader(SlowData(each), batch_size=1)) for each in (ms, 0))

        def step(batches):
            next(batches)
            self.model.train()

        return Case(f"data loader {ms} ms", ["data_loader"], lambda: step(slow), lambda: step(fast))

    def waits(self, ms, call):
        model = Model(self.compiled, 16384)

        def step(waiting):
            loss = model.train()
            if waiting:
                loss.item() if call == "item" else (torch.cuda.synchronize() if HAS_GPU else None)
            with libprof.range("prepare"):
                busy(ms)

        return Case(f"{call}, then {ms} ms of host code", ["synchronization"], lambda: step(True), lambda: step(False))

    def pageable(self, megabytes):
        pageable, pinned, labels = memory(megabytes, False), memory(megabytes, True), memory(2, True)

        def step(batch, non_blocking):
            labels.to(DEVICE, non_blocking=True)
            batch.to(DEVICE, non_blocking=non_blocking)
            self.model.train()

        return Case(f"pageable copy {megabytes} MB", ["pageable_copies"], lambda: step(pageable, False),
                    lambda: step(pinned, True))

    def blocking(self, ms):
        pinned, model = memory(16, True), Model(False, 16384)

        def step(non_blocking):
            model.train()
            pinned.to(DEVICE, non_blocking=non_blocking)
            with libprof.range("prepare"):
                busy(ms)

        return Case(f"blocking copy 16 MB, then {ms} ms of host code", ["blocking_copies"], lambda: step(False),
                    lambda: step(True), forbidden=["copy_overlap"])

    def one_stream(self, megabytes):
        pinned = memory(megabytes, True)
        if not HAS_GPU:
            return Case("copy in the compute stream", ["copy_overlap"], self.model.train, self.model.train)
        side = torch.cuda.Stream()
        batches = [torch.empty_like(pinned, device=DEVICE) for _ in range(2)]
        copied, used = torch.cuda.Event(), torch.cuda.Event()

        def flawed():
            batches[0].copy_(pinned, non_blocking=True)
            self.model.train()

        def fixed():
            torch.cuda.current_stream().wait_event(copied)
            with torch.cuda.stream(side):
                side.wait_event(used)
                batches[1].copy_(pinned, non_blocking=True)
                copied.record()
            self.model.train()
            used.record()

        return Case(f"pinned copy {megabytes} MB in the compute stream", ["copy_overlap"], flawed, fixed)

    def pieces(self, count):
        parts = [torch.ones(1000) for _ in range(count)]
        whole = torch.ones(1000 * count)

        def step(sources):
            for source in sources:
                source.to(DEVICE)
            self.model.train()

        return Case(f"{count} small copies", ["small_copies"], lambda: step(parts), lambda: step([whole]))

    def tiny(self, count):
        values = torch.ones(256, device=DEVICE)

        def work():
            for _ in range(count):
                values.add_(1)

        replay = graph_of(work)

        def step(do):
            with libprof.range("small"):
                do()
            self.model.train()

        return Case(f"{count} tiny kernels", ["launch_bound"], lambda: step(work), lambda: step(replay))

    def cache(self, count):
        def step(empties):
            self.model.train()
            for _ in range(count):
                large = torch.empty(256 * MB, dtype=torch.uint8, device=DEVICE)
                large[:1024].fill_(1)
                del large
                if empties and HAS_GPU:
                    torch.cuda.empty_cache()

        return Case(f"empty_cache {count} times", ["allocation"], lambda: step(True), lambda: step(False))

    def precision(self, batch):
        model = Model(False, batch, 2048, torch.float32)

        def step(allow):
            torch.backends.cuda.matmul.allow_tf32 = allow
            model.train()
            torch.backends.cuda.matmul.allow_tf32 = False

        return Case(f"FP32, batch {batch}", ["precision"], lambda: step(False), lambda: step(True))

    def recompiled(self, depth):
        def of(x):
            for _ in range(depth):
                x = torch.nn.functional.gelu(x) * 1.01 + x.mean()
            return x

        torch._dynamo.config.recompile_limit = 10_000
        torch._dynamo.config.accumulated_recompile_limit = 10_000
        function = torch.compile(of, dynamic=False)
        data = torch.ones(4096, 64, device=DEVICE)
        sizes = itertools.count(64)

        def step(size):
            function(data[:size])
            self.model.train()

        return Case(f"new shape each step, depth {depth}", ["compilation"], lambda: step(next(sizes)),
                    lambda: step(2048), steps=4, turns=1, before=2)

    # Combinations and decoys.
    def sleep_and_pieces(self):
        parts, whole = [torch.ones(1000) for _ in range(128)], torch.ones(128_000)

        def step(sources, ms):
            for source in sources:
                source.to(DEVICE)
            self.model.train()
            with libprof.range("flaw"):
                time.sleep(ms / 1e3)

        return Case("sleep 5 ms and 128 small copies", ["host_code"], lambda: step(parts, 5), lambda: step([whole], 0),
                    place="flaw", second=["small_copies"])

    def loader_and_item(self):
        slow, fast = (iter(torch.utils.data.DataLoader(SlowData(each), batch_size=1)) for each in (5, 0))

        def step(batches, waiting):
            next(batches)
            loss = self.model.train()
            if waiting:
                loss.item()

        return Case("data loader 5 ms and item", ["data_loader"], lambda: step(slow, True), lambda: step(fast, False),
                    second=["synchronization"])

    def hidden_sleep(self):
        model = Model(self.compiled, 16384)

        def step():
            model.train()
            with libprof.range("flaw"):
                time.sleep(2e-3)

        return Case("decoy: sleep 2 ms that the GPU hides", [], step, forbidden=["host_code"])

    def hidden_wait(self):
        model = Model(self.compiled, 16384)
        event = torch.cuda.Event() if HAS_GPU else None

        def step():
            model.train()
            if event:
                event.record()
            model.train()
            if event:
                event.synchronize()

        return Case("decoy: a wait with enough queued", [], step, forbidden=["synchronization"])

    def hidden_copy(self):
        case = self.one_stream(16)
        return Case("decoy: pinned copy 16 MB in a side stream", [], case.fixed, forbidden=["copy_overlap"])

    def list(self):
        always = [self.clean, *(lambda ms=ms: self.sleep(ms) for ms in (4, 8)),
                  *(lambda ms=ms: self.loader(ms) for ms in (4, 8)),
                  *(lambda ms=ms: self.waits(ms, "item") for ms in (2, 5)),
                  *(lambda size=size: self.pageable(size) for size in (8, 64)),
                  *(lambda count=count: self.tiny(count) for count in (500, 2000))]
        if self.compiled:
            return always + [*(lambda depth=depth: self.recompiled(depth) for depth in (1, 8)), self.hidden_sleep]
        return always + [
            *(lambda ms=ms: self.busy(ms) for ms in (4, 8)),
            *(lambda ms=ms: self.waits(ms, "synchronize") for ms in (2, 5)),
            *(lambda ms=ms: self.blocking(ms) for ms in (2, 5)),
            *(lambda size=size: self.one_stream(size) for size in (16, 64)),
            *(lambda count=count: self.pieces(count) for count in (64, 256)),
            *(lambda count=count: self.cache(count) for count in (1, 4)),
            *(lambda batch=batch: self.precision(batch) for batch in (2048, 4096)),
            self.sleep_and_pieces, self.loader_and_item, self.hidden_sleep, self.hidden_wait, self.hidden_copy]


def main():
    kind, out, rounds = sys.argv[1:]
    finish = torch.cuda.synchronize if HAS_GPU else lambda: None
    Rounds(kind, out, int(rounds), finish, Limiter()).run_all(Cases(kind == "compile").list())


if __name__ == "__main__":
    main()
