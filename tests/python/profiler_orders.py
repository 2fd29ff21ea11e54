# SPDX-License-Identifier: Apache-2.0
"""All orders in which ranges and profilers of a PyTorch program begin and end, up to a length, with real PyTorch on the
CPU. Prints a line an order: what each event raised, what the profilers have recorded, and whether the memory that they
have left is intact. libprof must not change a line (profiler_orders_test.py).

    profiler_orders.py [MORE]      MORE: orders longer by so much

Events: "(" begins a range, ")" ends the innermost one, "<" begins a profiler, ">" ends it. An order may leave ranges and
the profiler open: then the one that was begun first, or the other one, ends first. After each event operators run, on
this thread, in backward and on a thread of their own.
"""
import itertools
import sys
import threading

import torch
from torch.profiler import ProfilerActivity, profile, record_function


class Kineto:
    def __init__(self, **options):
        self.profiler = profile(activities=[ProfilerActivity.CPU], **options)
        self.profiler.start()

    def end(self):
        self.profiler.stop()
        return sorted(event.key for event in self.profiler.key_averages() if event.key.startswith("range"))


class AllThreads(Kineto):
    def __init__(self):
        super().__init__(experimental_config=torch._C._profiler._ExperimentalConfig(profile_all_threads=True))


class WithStack(Kineto):
    def __init__(self):
        super().__init__(with_stack=True)


class Context:
    def __init__(self, make):
        self.context = make()
        self.context.__enter__()

    def end(self):
        self.context.__exit__(None, None, None)
        return sorted({event.name for event in getattr(self.context, "function_events", None) or ()
                       if event.name.startswith("range")})


# Each with the length of its orders.
PROFILERS = {"kineto": (Kineto, 5), "all threads": (AllThreads, 5), "with_stack": (WithStack, 4),
             "autograd": (lambda: Context(torch.autograd.profiler.profile), 4),
             "emit_nvtx": (lambda: Context(torch.autograd.profiler.emit_nvtx), 4)}


def is_defined(order):
    """Whether PyTorch alone keeps its memory intact. A range that begins under one profiler and ends under the next writes
    into the memory of the first; so does, at times, a second profiler that is begun beside the first and refused."""
    ranges, profiler, is_on = [], 0, False  # of each open range: the number of the profiler in which it began; 0: none
    for event in order:
        if event == "(":
            ranges.append(profiler if is_on else 0)
        elif event == ")":
            if not ranges:
                return False
            ranges.pop()
        elif event == ">":
            if not is_on:
                return False
            is_on = False
        else:
            if is_on or any(ranges):
                return False
            profiler, is_on = profiler + 1, True
    return profiler > 0 and len(ranges) <= 2


def orders(length):
    for count in range(1, length + 1):
        yield from filter(is_defined, map("".join, itertools.product("()<>", repeat=count)))


def compute():
    def on_thread():
        with record_function("range of a thread"):
            torch.relu(weight)

    weight = torch.ones(4, requires_grad=True)
    thread = threading.Thread(target=on_thread)
    thread.start()
    with record_function("range around backward"):
        (weight * weight).sum().backward()
    thread.join()


class Order:
    def __init__(self, make):
        self.make, self.ranges, self.profilers, self.results = make, [], [], []

    def do(self, event):
        try:
            if event == "(":
                self.ranges.append(record_function(f"range {len(self.ranges)}"))
                self.ranges[-1].__enter__()
            elif event == ")":
                self.ranges.pop().__exit__(None, None, None)
            elif event == "<":
                self.profilers.append(self.make())
            elif self.profilers:
                self.results.append(self.profilers.pop().end())
        except (RuntimeError, AssertionError) as failure:
            self.results.append(type(failure).__name__)

    def close(self, ranges_first):
        left = [")"] * len(self.ranges), [">"] * len(self.profilers)
        for event in itertools.chain(*(left if ranges_first else reversed(left))):
            self.do(event)


def run(order, make, ranges_first):
    it = Order(make)
    for event in order:
        it.do(event)
        compute()
    it.close(ranges_first)
    kept = [torch.zeros(n % 64 + 1) for n in range(200)]  # takes memory that the profilers have freed
    compute()
    is_intact = all(float(each.sum()) == 0 for each in kept)
    return [*it.results, torch.autograd._profiler_enabled(), str(torch._C._autograd._profiler_type()), is_intact]


def main(more):
    torch.set_num_threads(1)
    for name, (make, length) in PROFILERS.items():
        for order in orders(length + more):
            for ranges_first in (True, False):
                print(name, order, ranges_first, run(order, make, ranges_first), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
