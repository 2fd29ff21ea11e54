#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what profilers cost a training step, in one process with their windows interleaved.

    LD_PRELOAD=libprof.so PROF_AUTOSTART=0 PROF_EXPORT=none \\
        overhead.py --tools client,client+callbacks,prof --workload launch-bound --rounds 40

A round is: off, tool 1, off, tool 2, off, … Each window of a tool is divided by the mean of the two `off` windows
beside it, so that a drifting clock cancels out. The figure is the median of these ratios over the rounds, with a 95 %
interval by bootstrap. With `--beside TOOL` the difference between each other tool and that one is taken round by round.
With `--neighbours 2` two tools stand side by side between `off` windows, in alternating order; their difference is then
the most exact. The windows before the first start show what stays behind after a stop. The tool `none` starts nothing:
its interval is the noise of the method. A goal (`--goal prof:0.015`, `--goal prof-client+callbacks:0.01`) holds if the
upper bound is under it, is missed if the lower bound is over it, and is inconclusive between.
"""

import argparse
import contextlib
import ctypes
import gc
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP = 77  # ctest's word for "not run"
ALL_CORES = os.sched_getaffinity(0)
LEAST_ROUNDS = 40  # for a goal to hold or be missed

WORKLOADS = {
    # examples/train.py's options, steps a window
    "launch-bound": (["--batch", "4", "--seq", "256", "--amp", "--no-foreach"], 12),
    "gpu-bound": (["--batch", "16", "--seq", "1024", "--amp", "--foreach"], 8),
    "graph-replay": (["--batch", "4", "--seq", "256", "--amp", "--foreach"], 40),
}


class NoTool:
    def start(self):
        pass

    def stop(self):
        pass


class Prof:
    """libprof through its C ABI, in the copy that is already in this process."""

    def __init__(self, *settings):
        with open("/proc/self/maps") as maps:
            paths = {line.split()[-1] for line in maps if "libprof.so" in line}
        if not paths:
            raise SystemExit("overhead.py: libprof.so is not in this process; set LD_PRELOAD")
        self.library = ctypes.CDLL(paths.pop())
        self.library.prof_start.argtypes = [ctypes.c_void_p]
        self.library.prof_last_error.restype = ctypes.c_char_p
        texts = [setting.encode() for setting in settings]
        self.settings = (ctypes.c_char_p * (len(texts) + 1))(*texts, None)

    def start(self):
        self._expect_zero("prof_start", self.library.prof_start(ctypes.cast(self.settings, ctypes.c_void_p)))

    def stop(self):
        self._expect_zero("prof_stop", self.library.prof_stop())

    def _expect_zero(self, function, result):
        if result != 0:
            reason = self.library.prof_last_error().decode(errors="replace")
            raise SystemExit(f"overhead.py: {function} returned {result}: {reason}")


class Phases(Prof):
    """libprof, and the phases that it observes of PyTorch under `prof run` (docs/guide/phases.md). A process has them
    once: either phases or modules."""

    modules = "off"

    def __init__(self, *settings):
        import torch

        super().__init__(*settings)
        self.observers = []
        self.hook_settings = {**os.environ, "PROF_MODULES": self.modules}
        for name in ("PROF_IMAGE_LIBRARY", "NVTX_INJECTION64_PATH"):
            self.hook_settings[name] = self.library._name
        self.observe(torch)
        self.call_observers("detach")

    def run_hook(self, name):
        import runpy

        return runpy.run_path(str(ROOT / "src/hooks/torch/python" / name),
                              {"OBSERVERS": self.observers, "SETTINGS": self.hook_settings})

    def observe(self, torch):
        self.run_hook("prof_phases.py")["start"](torch, print, self.run_hook("prof_modules.py"), self.run_hook)

    def call_observers(self, method):
        for observer in self.observers:
            getattr(observer, method)()

    def start(self):
        super().start()
        self.call_observers("attach")

    def stop(self):
        self.call_observers("detach")
        super().stop()


class Modules(Phases):
    """And the modules, as with `prof run --modules`, for which autograd's nodes are ranges."""

    modules = "all"

    def observe(self, torch):
        self.run_hook("prof_torch.py")["start"](torch, "ranges")
        super().observe(torch)


class Client:
    """tests/lab/bench/discarding_client.cpp: the floor of everything that is built on CUPTI."""

    library_path = None
    ATTRIBUTES = {"device_buffer": (0, 8, 3_200_000), "pinned": (8, 1, 0)}  # CUPTI's number, bytes, what it is else

    def __init__(self, callbacks, *settings):
        if Client.library_path is None:
            raise SystemExit("overhead.py: --client-library says where the discarding client lies")
        self.library = ctypes.CDLL(Client.library_path)
        self.library.client_problem.restype = ctypes.c_char_p
        self.library.client_bytes_discarded.restype = ctypes.c_uint64
        self.callbacks = callbacks
        self.attributes = {name: int(value) for name, _, value in (setting.partition("=") for setting in settings)}

    def start(self):
        for name, value in self.attributes.items():
            self._set(name, value)
        self._expect_zero(self.library.client_start(self.callbacks))

    def stop(self):
        before = self.library.client_bytes_discarded()
        self._expect_zero(self.library.client_stop())
        if before == 0 and self.library.client_bytes_discarded() == 0:
            raise SystemExit("overhead.py: the discarding client was given no record: it measures nothing")
        for name in self.attributes:
            self._set(name, self.ATTRIBUTES[name][2])

    def _set(self, name, value):
        number, size, _ = self.ATTRIBUTES[name]
        self._expect_zero(self.library.client_set_attribute(number, ctypes.c_size_t(size), ctypes.c_uint64(value)))

    def _expect_zero(self, result):
        if result != 0:
            raise SystemExit(f"overhead.py: the discarding client: {self.library.client_problem().decode()}")


class Torch:
    def __init__(self, with_cpu):
        from torch.profiler import ProfilerActivity

        self.activities = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if with_cpu else [])
        self.profiler = None

    def start(self):
        from torch.profiler import profile

        self.profiler = profile(activities=self.activities)
        self.profiler.start()

    def stop(self):
        self.profiler.stop()
        self.profiler = None


class Proton:
    """Triton's profiler, on CUPTI."""

    def __init__(self):
        import triton.profiler

        self.proton = triton.profiler
        self.folder = tempfile.TemporaryDirectory()

    def start(self):
        self.proton.start(str(pathlib.Path(self.folder.name, "profile")), backend="cupti")

    def stop(self):
        self.proton.finalize()


TOOLS = {
    "none": NoTool,
    "prof": Prof,
    "phases": Phases,
    "modules": Modules,
    "client": lambda: Client(0),
    "client+callbacks": lambda *settings: Client(1 + 2, *settings),
    "client+runtime": lambda: Client(1),
    "client+driver": lambda: Client(2),
    "client+once": lambda: Client(1 + 2 + 16),
    "client+records": lambda: Client(4 + 8),
    "client+runtime-records": lambda: Client(4),
    "client+driver-records": lambda: Client(8),
    # Slow the process down after they have stopped: only in a process of their own.
    "torch-cuda": lambda: Torch(with_cpu=False),
    "torch-cpu-cuda": lambda: Torch(with_cpu=True),
    "proton": Proton,
}


def split_tools(text):
    """The tools of a list. A word that names none goes with the settings before it: a setting may be a list itself."""
    names = []
    for word in text.split(","):
        if names and ":" in names[-1] and word.partition(":")[0] not in TOOLS:
            names[-1] += "," + word
        else:
            names.append(word)
    return names


def make_tool(name):
    """A tool by its name; `prof:cuda_graphs=graphs+activities=kernels,waits` is libprof with settings, and
    `client+callbacks:pinned=1+device_buffer=400000` the client with attributes of CUPTI's."""
    base, _, text = name.partition(":")
    settings = text.split("+") if text else []
    known = all(setting.partition("=")[0] in Client.ATTRIBUTES for setting in settings)
    if base not in TOOLS or (settings and base not in ("prof", "phases", "modules") and not (base == "client+callbacks" and known)):
        raise SystemExit(f"overhead.py: there is no tool '{name}'; there are {', '.join(TOOLS)}, prof:NAME=VALUE, and "
                         f"client+callbacks:NAME=VALUE with {', '.join(Client.ATTRIBUTES)}")
    return TOOLS[base](*settings)


class GraphReplay:
    """The whole training step, captured once and replayed."""

    def __init__(self, training):
        import torch

        self.wait = training.wait
        batch = torch.randint(10_000, (training.batch, training.sequence + 1), device=training.device)
        optimizer = torch.optim.AdamW(training.model.parameters(), lr=3e-4, capturable=True)

        def step():
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=training.amp, cache_enabled=False):
                loss = training.model(batch[:, :-1], batch[:, 1:])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            step()

    def step(self):
        self.graph.replay()


def window_ms(training, steps, settle, fastest=False):
    """Milliseconds a step, after `settle` steps that are not counted; or those of the window's fastest step."""
    gc.collect()
    for _ in range(settle):
        training.step()
    training.wait()
    times = [time.perf_counter()]
    for _ in range(steps):
        training.step()
        if fastest:
            training.wait()
        times.append(time.perf_counter())
    if fastest:
        return 1000 * min(after - before for before, after in zip(times, times[1:]))
    training.wait()
    return 1000 * (time.perf_counter() - times[0]) / steps


def launch_on_one_core():
    """Keeps this thread, and those that it starts from now on, on one core: autograd's thread takes turns with it, and
    their way from core to core is most of the noise of a step that waits for launches, and a quarter of its time."""
    os.sched_setaffinity(0, {max(ALL_CORES)})


@contextlib.contextmanager
def on_other_cores():
    """For the threads that a tool starts: they are not to take turns with those that launch."""
    mine = os.sched_getaffinity(0)
    if len(mine) == 1 < len(ALL_CORES):
        os.sched_setaffinity(0, ALL_CORES - mine)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)


def has_gpu(script):
    """Whether there is PyTorch and a GPU for it; where there is not, the script's line that says so is printed."""
    try:
        import torch
    except ImportError:
        print(f"{script}: skipped, there is no PyTorch")
        return False
    if not torch.cuda.is_available():
        print(f"{script}: skipped, there is no GPU")
    return torch.cuda.is_available()


def timed_ms(action):
    started = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - started)


def order(names, number, neighbours):
    """The tools of a round, in blocks with an `off` window after each; in every second round backwards."""
    blocks = [names[at : at + neighbours] for at in range(0, len(names), neighbours)]
    return [block[::-1] if number % 2 else block for block in blocks]


def measure(training, tools, rounds, steps, settle, seconds=None, fastest=False, neighbours=1):
    """Windows off, on, off, on, …: `off` has one more than there are blocks of tools, `on` is by tool."""
    windows = {
        "neighbours": neighbours,
        "before": [window_ms(training, steps, settle, fastest) for _ in range(min(20, max(4, rounds // 4)))],
        "off": [window_ms(training, steps, settle, fastest)],
        "on": {name: [] for name in tools},
        "start_ms": {name: [] for name in tools},
        "stop_ms": {name: [] for name in tools},
    }
    began = time.perf_counter()
    for number in range(rounds):
        if seconds is not None and time.perf_counter() - began > seconds:
            break
        for block in order(list(tools), number, neighbours):
            for name in block:
                with on_other_cores():
                    windows["start_ms"][name].append(timed_ms(tools[name].start))
                windows["on"][name].append(window_ms(training, steps, settle, fastest))
                windows["stop_ms"][name].append(timed_ms(tools[name].stop))
            windows["off"].append(window_ms(training, steps, settle, fastest))
    return windows


def interval(resample, seed=1, rounds=4_000):
    """The middle 95 % of `resample(random)`."""
    source = random.Random(seed)
    results = sorted(resample(source) for _ in range(rounds))
    return [results[int(0.025 * rounds)], results[int(0.975 * rounds)]]


def median_with_interval(values):
    return {
        "median": statistics.median(values),
        "interval95": interval(lambda source: statistics.median(source.choices(values, k=len(values)))),
    }


def ratio_with_interval(above, below):
    def resampled(source):
        return statistics.median(source.choices(above, k=len(above))) / statistics.median(
            source.choices(below, k=len(below))
        )

    return {
        "median": statistics.median(above) / statistics.median(below),
        "interval95": interval(resampled),
    }


def costs(windows):
    """By tool: what each of its windows costs beside the two `off` windows around it, as a share of them."""
    off, on = windows["off"], windows["on"]
    shares = {name: [] for name in on}
    at = 0
    for number in range(len(next(iter(on.values())))):
        for block in order(list(on), number, windows.get("neighbours", 1)):
            for name in block:
                shares[name].append(on[name][number] / ((off[at] + off[at + 1]) / 2) - 1)
            at += 1
    return shares


def summary(windows, beside=None):
    off = windows["off"]
    shares = costs(windows)
    result = {
        "before_ms": statistics.median(windows["before"]),
        "off_ms": statistics.median(off),
        # off[0] stands before the first start
        "after_beside_before": ratio_with_interval(off[1:], windows["before"] + off[:1]),
        "tools": {},
    }
    for name, on in windows["on"].items():
        result["tools"][name] = {
            "on_ms": statistics.median(on),
            "start_ms": statistics.median(windows["start_ms"][name]),
            "stop_ms": statistics.median(windows["stop_ms"][name]),
            "cost": median_with_interval(shares[name]),
            "on_beside_before": ratio_with_interval(on, windows["before"]),
        }
        if beside is not None and name != beside:
            difference = [own - floor for own, floor in zip(shares[name], shares[beside])]
            result["tools"][name]["above_" + beside] = median_with_interval(difference)
    return result


def verdict(figure, goal):
    low, high = figure["interval95"]
    return "holds" if high <= goal else "missed" if low > goal else "inconclusive"


def check_goals(result, goals):
    """`prof:0.015` is a goal for the cost, `prof-client:0.01` one for the difference to a floor."""
    verdicts = {}
    for text in goals:
        what, _, bound = text.rpartition(":")
        name, _, floor = what.partition("-")
        figures = result["tools"].get(name)
        figure = figures and figures.get("above_" + floor if floor else "cost")
        if figure is None:
            raise SystemExit(f"overhead.py: nothing was measured for the goal '{text}'")
        enough = result.get("rounds", LEAST_ROUNDS) >= LEAST_ROUNDS
        verdicts[text] = verdict(figure, float(bound)) if enough else "inconclusive"
    return verdicts


def percent(figure, offset=0.0):
    low, high = (100 * (bound - offset) for bound in figure["interval95"])
    return f"{100 * (figure['median'] - offset):+.2f} % [{low:+.2f}, {high:+.2f}]"


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", default="prof", help=f"one or several of {', '.join(TOOLS)} (%(default)s)")
    parser.add_argument("--beside", metavar="TOOL", help="the tool that the others are compared with")
    parser.add_argument("--goal", action="append", default=[], metavar="TOOL[-FLOOR]:SHARE")
    parser.add_argument("--workload", choices=sorted(WORKLOADS), default="launch-bound")
    parser.add_argument("--rounds", type=int, default=12, help="windows of each tool (%(default)s)")
    parser.add_argument("--seconds", type=float, help="stop after this time, with the rounds done by then")
    parser.add_argument("--steps", type=int, help="a window")
    parser.add_argument("--settle", type=int, default=2, help="uncounted steps before each window (%(default)s)")
    parser.add_argument(
        "--fastest",
        action="store_true",
        help="a window's figure is its fastest step, each waited for, instead of the mean: for noisy hosts",
    )
    parser.add_argument("--neighbours", type=int, default=1, help="tools between two off windows (%(default)s)")
    parser.add_argument("--one-core", action="store_true", help="the threads that launch share one; tools have the others")
    parser.add_argument("--client-library", metavar="FILE", help="the discarding client")
    parser.add_argument("--json", metavar="FILE", help="write all figures here")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse_options(arguments)
    if not has_gpu("overhead.py"):
        return SKIP
    import torch

    sys.path.insert(0, str(ROOT / "examples"))
    import train

    Client.library_path = options.client_library
    tools = {name: make_tool(name) for name in split_tools(options.tools)}
    if options.beside is not None and options.beside not in tools:
        raise SystemExit(f"overhead.py: --beside {options.beside} is none of --tools {options.tools}")
    settings, steps = WORKLOADS[options.workload]
    if options.one_core:
        launch_on_one_core()
    training = train.Training(train.parse_options(settings))
    if options.workload == "graph-replay":
        training = GraphReplay(training)
    steps = options.steps or steps
    window_ms(training, 10, 10)
    gc.freeze()  # what is there already need not be looked through before each window
    gc.disable()  # a collection inside a window would be charged to whatever is on
    windows = measure(training, tools, options.rounds, steps, options.settle, options.seconds, options.fastest,
                      options.neighbours)
    result = {
        "workload": options.workload,
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "rounds": len(next(iter(windows["on"].values()))),
        "steps_per_window": steps,
        "one_core": options.one_core,
        "figure_of_a_window": "fastest step" if options.fastest else "mean step",
        **summary(windows, options.beside),
    }
    result["goals"] = check_goals(result, options.goal)
    result["windows"] = windows
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1))

    print(
        f"{options.workload}: {result['off_ms']:.3f} ms a step, {result['rounds']} rounds of {steps} steps; "
        f"after stop {percent(result['after_beside_before'], 1)}"
    )
    for name, figures in result["tools"].items():
        above = f", above {options.beside} {percent(figures['above_' + options.beside])}" if name != options.beside and options.beside else ""
        print(
            f"{name}: {percent(figures['cost'])}{above}; beside before {percent(figures['on_beside_before'], 1)}; "
            f"start {figures['start_ms']:.1f} ms, stop {figures['stop_ms']:.1f} ms"
        )
    for goal, outcome in result["goals"].items():
        print(f"goal {goal}: {outcome}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
