#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Modules of traces of torch.profiler: the report `modules` and the critical path, against what the rows of the trace
say by themselves.

    trace_modules_test.py PROF STUB_LIBPROF [TEST...]
"""
import collections
import json
import random
import sys
import unittest

from cli_test import CommandLine
from torch_trace import ENGINE, HOST, TorchTrace

EVALUATE = "autograd::engine::evaluate_function: "
STEPS = 12


class RandomTrainer:
    """Steps of a tree of modules. The host launches all of a step before its kernels, which follow each other."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.trace = TorchTrace()
        self.number = 0
        self.made = []  # numbers of the nodes of a step
        self.launches = []  # of a step: when, on which thread
        self.counts = collections.Counter()
        self.tree = (self.new_module(0)[0], [self.new_module(1) for _ in range(3)])
        self.gpu = 0.0
        for step in range(STEPS):
            self.step(step)

    def new_module(self, depth):
        of_class = self.random.choice("ABC")
        name = f"{of_class}_{self.counts[of_class]}"
        self.counts[of_class] += 1
        return name, [self.new_module(depth + 1) for _ in range(self.random.randrange(4) if depth < 3 else 0)]

    def operator(self, thread=HOST):
        """An operator that makes a node, or none, and launches, or does not."""
        start, number = self.now, None
        if self.random.random() < 0.8:
            number = self.number
        self.now += 1
        if self.random.random() < 0.7:
            self.launch(thread)
        if number is not None and self.random.random() < 0.8:
            self.made.append(number)
            self.number += 1
        self.now += 1
        self.trace.operator("aten::op", start, self.now, thread, number)

    def launch(self, thread):
        self.launches.append((self.now, thread))
        self.now += 2

    def call(self, module):
        name, within = module
        start = self.now
        for each in within:
            if self.random.random() < 0.5:
                self.operator()
            self.call(each)
        for _ in range(self.random.randrange(3)):
            self.operator()
        self.now += 1
        self.trace.module(name, start, self.now)
        self.now += 1

    def node(self, number):
        start = self.now
        if self.random.random() < 0.3:
            self.now += 1
            self.launch(ENGINE)
        inner = self.now = self.now + 1
        self.launch(ENGINE)
        self.now += 1
        args = {"number": number, "forward_thread": 1}
        self.trace.operator("OpBackward0", inner, self.now, ENGINE, **args)
        if self.random.random() < 0.3:
            self.now += 1
            self.launch(ENGINE)
        self.now += 1
        self.trace.operator(EVALUATE + "OpBackward0", start, self.now, ENGINE, **args)
        self.now += 1

    def step(self, number):
        start = self.now = self.gpu
        self.made, self.launches = [], []
        self.launch(HOST)
        self.call(self.tree)
        self.operator()
        for made in reversed(self.made):
            self.node(made)
        self.operator()
        # The first kernel begins soon after its launch, and all last until the step's end.
        at = self.launches[0][0] + 4
        for when, thread in self.launches:
            end = max(at + self.random.randrange(5, 40), when + 45)
            self.trace.kernel(at, end, when, 2, thread)
            at = end
        self.gpu = at + 10
        wait = self.now + 1
        self.trace.call("cudaDeviceSynchronize", wait, at + 5)
        self.trace.step(number, start, self.gpu)


def enclosing(rows, thread, time):
    found = [row for row in rows if row["tid"] == thread and row["ts"] <= time < row["ts"] + row["dur"]]
    return sorted(found, key=lambda row: (row["ts"], -row["dur"]))


def nanoseconds_by_module(events, of_steps=slice(None)):
    """(path, column) → ns, by which rows enclose a launch, or the operator that made the node that launched."""
    rows = collections.defaultdict(list)
    for event in events:
        rows[event["cat"]].append(event)
    engine = [row for row in rows["cpu_op"] if row["name"].startswith(EVALUATE)]
    made = {}
    for row in sorted(rows["cpu_op"], key=lambda row: row["ts"]):
        if row["args"].get("Fwd thread id") == 0:
            made[row["args"]["Sequence number"]] = row  # the last one of a number makes the node
    calls = {row["args"]["correlation"]: row for row in rows["cuda_runtime"]}
    steps = rows["user_annotation"][of_steps]
    begin, end = steps[0]["ts"], steps[-1]["ts"] + steps[-1]["dur"]

    def path(thread, time):
        names = [row["name"] for row in enclosing(rows["python_function"], thread, time)]
        return ".".join(name.removeprefix("nn.Module: ") for name in names)

    out = collections.Counter()
    for kernel in rows["kernel"]:
        call = calls[kernel["args"]["correlation"]]
        if not begin <= call["ts"] < end:
            continue
        node = enclosing(engine, call["tid"], call["ts"])
        if node:
            maker = made[node[-1]["args"]["Sequence number"]]
            key = (path(maker["tid"], maker["ts"]) or "(outside modules)", "backward_gpu_ns")
        else:
            key = (path(call["tid"], call["ts"]), "forward_gpu_ns")
        out[key] += round(1000 * kernel["dur"])
    return out


class TraceModules(CommandLine):
    def report(self, name, trace):
        result = self.prof("report", "--report", name, "--fold", "none", "--rows", "all", "--format", "json", str(trace))
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_random_trainers(self):
        for seed in range(4):
            trainer = RandomTrainer(seed)
            trace = trainer.trace.write(self.dir / f"random{seed}.json")
            expected = nanoseconds_by_module(trainer.trace.events)
            in_modules = {key: ns for key, ns in expected.items() if key[0]}
            self.assertGreater(len(in_modules), 10)
            with self.subTest(seed=seed):
                self.assertEqual(self.self_times(self.report("modules", trace)["rows"]), in_modules)
                # The first is warm-up, and the last may go on after the trace.
                self.assertEqual(self.report("diagnose", trace)["steps"], STEPS - 2)
                self.check_path(trace, nanoseconds_by_module(trainer.trace.events, slice(1, -1)))

    @staticmethod
    def self_times(rows):
        out = collections.Counter()
        for row in rows:
            for column in ("forward_gpu_ns", "backward_gpu_ns"):
                out[row["path"], column] += row[column]
                out[row["path"].rpartition(".")[0], column] -= row[column]
        return {key: ns for key, ns in out.items() if key[0] and ns}

    def check_path(self, trace, expected):
        """The GPU is always busy, so that a module's share of the path is that of its kernels; numbers are folded."""
        of_modules = collections.Counter()
        for (path, _), ns in expected.items():
            # What is outside modules has no name on the path.
            of_modules["" if path == "(outside modules)" else folded(path)] += ns
        found = collections.Counter()
        for row in self.report("critical_path", trace)["rows"]:
            if row["kind"] == "kernels":
                found[folded(row["module"])] += row["share"]
        on_path = sum(found.values())
        self.assertGreater(on_path, 0.9)
        for path in set(found) | set(of_modules):
            share = of_modules[path] / sum(of_modules.values())
            self.assertAlmostEqual(found[path] / on_path, share, delta=0.001, msg=path)


def folded(path):
    """Classes only: A_1.B_*.C → A.B.C"""
    return ".".join(part.partition("_")[0] for part in path.split("."))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
