#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of examples/train.py in the ways that profilers find hard.

    train_variants.py --variant eager|amp|compile|reduce-overhead|graph|streams
                      [--profile-with none|torch|prof] [--profile-output FILE]

eager, amp         as examples/train.py, without and with bf16 autocast
compile            torch.compile of the model
reduce-overhead    torch.compile(mode="reduce-overhead"): CUDA graphs that torch makes by itself
graph              the whole step, optimizer included, captured once and replayed
streams            two models, each trained on a stream of its own

For comparison with torch.profiler the same kernels must be seen by both. eager, amp, graph and
streams do the same in each process from beginning to end: profile them whole (`prof run`, or
--profile-with torch). What torch.compile runs before its first compiled step varies from process
to process (it times candidates), so `compile` and `reduce-overhead` are profiled in a window of
steps after the warm-up: --profile-with torch, or --profile-with prof under `prof run --autostart 0`.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "examples")]

VARIANTS = ("eager", "amp", "compile", "reduce-overhead", "graph", "streams")
WINDOWED = ("compile", "reduce-overhead")


def training_options(options):
    """Those of examples/train.py's Training."""
    return types.SimpleNamespace(
        seed=options.seed,
        device=options.device,
        batch=options.batch,
        seq=options.seq,
        amp=options.variant not in ("eager", "streams"),
        layers=options.layers,
        width=768,
        foreach=True,
    )


def make_plain(options):
    import train

    return train.Training(training_options(options))


def make_compiled(options):
    import torch

    training = make_plain(options)
    mode = "reduce-overhead" if options.variant == "reduce-overhead" else None
    training.model = torch.compile(training.model, mode=mode)
    return training


def make_graphed(options):
    """One CUDA graph of forward, backward and optimizer; a step copies its batch in and replays it."""
    import torch
    import train

    class Graphed(train.Training):
        def __init__(self, arguments):
            super().__init__(arguments)
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4, capturable=True)
            self.tokens = train.make_batch(self.batch, self.sequence, self.generator).to(self.device)
            self.graph = torch.cuda.CUDAGraph()
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for _ in range(3):
                    self.work()
            torch.cuda.current_stream().wait_stream(aside)
            with self.range("capture"), torch.cuda.graph(self.graph):
                with self.range("captured_step"):
                    self.loss = self.work()

        def work(self):
            self.optimizer.zero_grad(set_to_none=True)
            with self.range("forward"):
                # The cache of casts would hold tensors of another capture.
                with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.amp, cache_enabled=False):
                    loss = self.model(self.tokens[:, :-1], self.tokens[:, 1:])
            with self.range("backward"):
                loss.backward()
            with self.range("optimizer_step"):
                self.optimizer.step()
            return loss

        def step(self):
            with self.range(f"iteration {self.steps_taken}"):
                batch = train.make_batch(self.batch, self.sequence, self.generator)
                with self.range("data_to_device"):
                    self.tokens.copy_(batch)
                with self.range("replay"):
                    self.graph.replay()
            self.steps_taken += 1
            return self.loss.detach().clone()

    return Graphed(training_options(options))


def make_streams(options):
    import torch
    import train

    class TwoStreams:
        def __init__(self, arguments):
            self.parts = [train.Training(arguments) for _ in range(2)]
            self.streams = [torch.cuda.Stream() for _ in self.parts]
            self.wait()

        def step(self):
            losses = []
            for part, stream in zip(self.parts, self.streams):
                with torch.cuda.stream(stream):
                    losses.append(part.step())
            for stream in self.streams:
                torch.cuda.current_stream().wait_stream(stream)
            return torch.stack(losses).mean()

        def wait(self):
            torch.cuda.synchronize()

    return TwoStreams(training_options(options))


MAKERS = {
    "eager": make_plain,
    "amp": make_plain,
    "compile": make_compiled,
    "reduce-overhead": make_compiled,
    "graph": make_graphed,
    "streams": make_streams,
}


@contextlib.contextmanager
def under_torch(options, steps):
    """The body under torch.profiler; its kernel table into --profile-output."""
    import train
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        yield
    handle, path = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    profiler.export_chrome_trace(path)
    with open(path) as file:
        trace = json.load(file)
    os.unlink(path)
    with open(options.profile_output, "w") as file:
        json.dump(train.kernel_table(trace, steps), file, indent=1)


@contextlib.contextmanager
def under_prof(options, steps):
    from overhead import Prof

    tool = Prof()
    tool.start()
    yield
    tool.stop()


def run(options):
    tool = {"torch": under_torch, "prof": under_prof}.get(options.profile_with)
    windowed = options.variant in WINDOWED
    steps = options.steps + (0 if windowed else options.warmup)
    whole = tool(options, steps) if tool and not windowed else contextlib.nullcontext()
    window = tool(options, steps) if tool and windowed else contextlib.nullcontext()
    losses = []
    with whole:
        training = MAKERS[options.variant](options)
        for _ in range(options.warmup):
            losses.append(float(training.step()))
        training.wait()
        with window:
            started = time.perf_counter()
            # No value is read in between: nothing but the step is to be in the window.
            kept = [training.step() for _ in range(options.steps)]
            training.wait()
            elapsed = time.perf_counter() - started
    losses += [float(loss) for loss in kept]
    print(
        f"{options.variant}: loss {losses[0]:.4f} -> {losses[-1]:.4f} in {len(losses)} steps, "
        f"{1000 * elapsed / options.steps:.3f} ms a step"
    )


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--variant", choices=VARIANTS, required=True)
    parser.add_argument("--batch", type=int, default=4, help="sequences a step (%(default)s)")
    parser.add_argument("--seq", type=int, default=512, help="tokens a sequence (%(default)s)")
    parser.add_argument("--layers", type=int, default=4, help="transformer blocks (%(default)s)")
    parser.add_argument("--steps", type=int, default=20, help="steps after the warm-up (%(default)s)")
    parser.add_argument("--warmup", type=int, default=6, help="steps before them (%(default)s)")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--profile-with", choices=["none", "torch", "prof"], default="none")
    parser.add_argument("--profile-output", default="torch-kernels.json", metavar="FILE")
    options = parser.parse_args(arguments)
    if options.profile_with == "prof" and options.variant not in WINDOWED:
        parser.error("--profile-with prof is for windows (compile, reduce-overhead); use `prof run` for the others")
    return options


if __name__ == "__main__":
    run(parse_options())
    sys.exit(0)
