#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose threads are in CUDA at the moments when libprof attaches to CUPTI, detaches from it and finalizes it.

    quiescence.py --library libprof.so --prof PROF --plugin libgpu_slow_plugin.so [--windows 60] [--runs 5] [--rounds 20]

Needs a GPU and PyTorch. Each part has processes of its own:

finalize  A thread loads a library again and again, whose initialiser takes 30 ms. Another records events on 32 streams.
          Windows end and begin meanwhile, each with a cuptiFinalize. Freed memory is overwritten (MALLOC_PERTURB_), so
          that a thread that goes on with CUPTI's memory dies soon. Each program must end by itself.
loader    The library's initialiser takes three seconds. Meanwhile an event is recorded on 40 streams that the thread has
          not used before, and a window ends: neither may take a second. How long the next window takes to begin is
          printed and not judged, since CUPTI itself may ask the loader when it is finalized and subscribed to.
warm-up   A DataLoader whose thread pins memory, which calls CUDA all the time, under a schedule with a warm-up before
          each window. No GPU operation of the capture is without its launch.

Prints a line for each part. Exit status 0 if all hold, 1 if not, 77 without a GPU or without PyTorch.
"""

import argparse
import ctypes
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lab"))

import overhead

RTLD_NOW = 2
SLOW_MS = {"finalize": 30, "loader": 3000, "warm-up": 0}
LONGEST_S = 1.0
SCHEDULE = "wait=1,warmup=1,active=1"


# --- the programs, each in a process of its own


def c_function(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


class Cuda:
    """Streams, and an event that is recorded on them, without Python's global lock."""

    def __init__(self, streams):
        import torch

        torch.ones(1, device="cuda")
        driver = ctypes.CDLL("libcuda.so.1")
        make_stream = c_function(driver, "cuStreamCreate", ctypes.c_int, ctypes.c_void_p, ctypes.c_uint)
        make_event = c_function(driver, "cuEventCreate", ctypes.c_int, ctypes.c_void_p, ctypes.c_uint)
        self._record = c_function(driver, "cuEventRecord", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self.streams = []
        for _ in range(streams):
            stream = ctypes.c_void_p()
            assert make_stream(ctypes.byref(stream), 1) == 0
            self.streams.append(stream)
        self._event = ctypes.c_void_p()
        assert make_event(ctypes.byref(self._event), 2) == 0
        self._torch = torch

    def record(self, number):
        assert self._record(self._event, self.streams[number % len(self.streams)]) == 0

    def work(self):
        (self._torch.ones(1 << 16, device="cuda") * 2).sum().item()


def load_and_unload(plugin):
    c = ctypes.CDLL(None)
    handle = c_function(c, "dlopen", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)(plugin.encode(), RTLD_NOW)
    assert handle, plugin
    c_function(c, "dlclose", ctypes.c_int, ctypes.c_void_p)(handle)


def finalize(options, prof):
    cuda = Cuda(32)
    cuda.work()
    ends = threading.Event()

    def load():
        while not ends.is_set():
            load_and_unload(options.plugin)
            time.sleep(random.random() * 0.003)

    def record():
        number = 0
        while not ends.is_set():
            for _ in range(8):
                cuda.record(number)
                number += 1
            time.sleep(0.0005)

    threads = [threading.Thread(target=each) for each in (load, record)]
    for thread in threads:
        thread.start()
    for _ in range(options.windows):
        time.sleep(0.02)
        prof.prof_pause()
        time.sleep(random.random() * 0.06)
        prof.prof_resume()
        cuda.work()
    ends.set()
    for thread in threads:
        thread.join()
    print(f"{options.windows} windows")


def loader(options, prof):
    cuda = Cuda(40)
    cuda.work()
    cuda.record(0)
    loading = threading.Thread(target=load_and_unload, args=(options.plugin,))
    loading.start()
    time.sleep(0.2)
    took = {}

    def timed(name, action):
        began = time.monotonic()
        action()
        took[name] = time.monotonic() - began

    timed("cuEventRecord", lambda: [cuda.record(number) for number in range(40)])
    timed("prof_pause", prof.prof_pause)
    was_loading = loading.is_alive()
    timed("prof_resume", prof.prof_resume)
    loading.join()
    print(", ".join(f"{name} {seconds:.3f} s" for name, seconds in took.items()))
    sys.exit(0 if was_loading and max(took["cuEventRecord"], took["prof_pause"]) < LONGEST_S else 3)


def warm_up(options, prof):
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __len__(self):
            return 1 << 20

        def __getitem__(self, index):  # each batch is larger than the one before: its memory is pinned anew
            return torch.full((64, 1024 + 64 * index), float(index))

    batches = iter(DataLoader(Rows(), batch_size=1, pin_memory=True, num_workers=2, prefetch_factor=8))
    weights = torch.ones((1024, 1024), device="cuda")
    for _ in range(3 * options.rounds + 1):
        batch = next(batches).to("cuda", non_blocking=True)
        with torch.cuda.nvtx.range("step"):
            for _ in range(20):
                weights = torch.tanh(weights @ weights)
            batch.mul_(2.0)
        torch.cuda.synchronize()
        prof.prof_step()
    print(f"{options.rounds} windows")


PARTS = {"finalize": finalize, "loader": loader, "warm-up": warm_up}


# --- the parts


def start(part, options, folder, variables):
    environment = os.environ | {
        "LD_PRELOAD": str(pathlib.Path(options.library).resolve()), "PROF_OUTPUT_DIR": folder, "PROF_EXPORT": "none",
        "PYTHONFAULTHANDLER": "1", "SLOW_PLUGIN_MS": str(SLOW_MS[part]),
    } | variables
    command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--program", part]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def ending(status):
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"status {status}"


def program_faults(done):
    lines = [line for line in done.stderr.splitlines() if line.startswith(("libprof", "free()", "malloc", "double free"))]
    last = [] if lines else done.stderr.splitlines()[-1:]
    return [" ".join([ending(done.returncode), *lines, *last])] if done.returncode != 0 else []


def unmatched(report):
    """(operations without a launch, all operations) of a projection."""
    rows = report["rows"]
    return sum(row["ops"] for row in rows if row["path"] == "(unmatched)"), sum(row["ops"] for row in rows)


def run_finalize(options):
    found = []
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            found += program_faults(start("finalize", options, folder, {"MALLOC_PERTURB_": "165"}))
    return found, f"{options.runs} programs with {options.windows} windows each"


def run_loader(options):
    with tempfile.TemporaryDirectory() as folder:
        done = start("loader", options, folder, {})
        return program_faults(done), done.stdout.strip()


def run_warm_up(options):
    with tempfile.TemporaryDirectory() as folder:
        done = start("warm-up", options, folder, {"PROF_SCHEDULE": f"{SCHEDULE},repeat={options.rounds}"})
        found = program_faults(done)
        without, operations = 0, 0
        for capture in pathlib.Path(folder).glob("*.prof"):
            command = [options.prof, "report", "--format", "json", str(capture)]
            report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            some_without, some = unmatched(report)
            without, operations = without + some_without, operations + some
        if operations == 0:
            found.append("nothing was recorded")
        if without != 0:
            found.append(f"{without} of {operations} operations have no launch")
        return found, f"{options.rounds} windows, {operations} operations"


RUNS = {"finalize": run_finalize, "loader": run_loader, "warm-up": run_warm_up}


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", metavar="FILE", required=True, help="libprof.so")
    parser.add_argument("--prof", metavar="FILE", required=True, help="the prof command")
    parser.add_argument("--plugin", metavar="FILE", required=True, help="libgpu_slow_plugin.so of the build")
    parser.add_argument("--windows", type=int, default=60, help="of each program of finalize (%(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="programs of finalize (%(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="windows of warm-up (%(default)s)")
    parser.add_argument("--parts", default=",".join(RUNS), help="%(default)s")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.plugin = str(pathlib.Path(options.plugin).resolve())
    return options


def main(arguments=None):
    options = parse_options(arguments)
    if options.program:
        PARTS[options.program](options, ctypes.CDLL(os.environ["LD_PRELOAD"]))
        return 0
    if not overhead.has_gpu("quiescence.py"):
        return overhead.SKIP
    is_right = True
    for part in options.parts.split(","):
        found, figures = RUNS[part](options)
        print(f"{part}: {'FAIL' if found else 'PASS'}: {'; '.join([figures, *found])}", flush=True)
        is_right = is_right and not found
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
