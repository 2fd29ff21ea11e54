#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch process that takes turns, for residue.py: a line in, a line out. launch_cost/turns.cpp does the same in C++.

    residue_server.py CHANGE WORKLOAD,… LIBPROF CLIENT_LIBRARY      CHANGE: none, join, start-stop, torch

    WORKLOAD STEPS SETTLE   milliseconds a step: the mean of so many and the least, each waited for
    change                  what is to be compared with the time before; "done"
    ranges                  how many ranges a step of each workload has, as libprof counts them in a short recording
    subscribe               "free" if CUPTI has no subscriber, else what it said
"""

import contextlib
import ctypes
import gc
import statistics
import sys
import threading
import time

import overhead

RECORDINGS = 3


class TwoThreads:
    """Two threads that launch small kernels at the same time, each on a stream of its own."""

    def __init__(self, launches=400):
        import torch

        self.torch, self.launches = torch, launches
        self.turn = threading.Barrier(3)
        for _ in range(2):
            threading.Thread(target=self._launch, daemon=True).start()

    def _launch(self):
        torch = self.torch
        data = torch.zeros(1000, device="cuda")
        with torch.cuda.stream(torch.cuda.Stream()):
            while True:
                self.turn.wait()
                for _ in range(self.launches):
                    data.add_(1)
                self.turn.wait()

    def step(self):
        self.turn.wait()
        self.turn.wait()

    def wait(self):
        self.torch.cuda.synchronize()


def make_workload(name):
    import train

    if name == "two-threads":
        return TwoThreads()
    training = train.Training(train.parse_options(overhead.WORKLOADS[name][0]))
    return overhead.GraphReplay(training) if name == "graph-replay" else training


def window_ms(workload, steps, settle):
    gc.collect()
    for _ in range(settle):
        workload.step()
    workload.wait()
    times = [time.perf_counter()]
    for _ in range(steps):
        workload.step()
        workload.wait()
        times.append(time.perf_counter())
    each = [1000 * (after - before) for before, after in zip(times, times[1:])]
    return statistics.fmean(each), min(each)


@contextlib.contextmanager
def launching(workload):
    """Its threads launch meanwhile, whatever this one does."""
    over = threading.Event()

    def launch():
        while not over.is_set():
            workload.step()

    thread = threading.Thread(target=launch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def make_changer(change, library):
    """The tool that is started and stopped, or a stand-in for one."""
    if change == "start-stop":
        return overhead.make_tool("prof")
    if change == "torch":
        return overhead.make_tool("torch-cpu-cuda")
    if change == "join":
        # It is told of CUDA, as if it had been loaded at the start. NVTX has searched for its tool long before.
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL).InitializeInjection()
    return overhead.NoTool()


def make_change(change, workloads, library):
    """What processes of a change do; the other processes do as many steps."""
    tool = make_changer(change, library)
    two = workloads.get("two-threads")
    for _ in range(1 if change == "torch" else RECORDINGS):
        with launching(two) if two else contextlib.nullcontext():
            with overhead.on_other_cores():
                tool.start()
            for workload in workloads.values():
                if workload is not two:
                    window_ms(workload, 3, 0)
            tool.stop()


class Row(ctypes.Structure):
    """prof_summary_row, the 128 bytes of its first version."""

    _fields_ = [("path", ctypes.c_char_p), ("depth", ctypes.c_uint32), ("captured", ctypes.c_uint32),
                ("instances", ctypes.c_uint64), ("others", ctypes.c_char * 104)]


def ranges_a_step(workload, steps=4):
    """In each of them libprof is called twice, whether or not it records."""
    tool = overhead.make_tool("prof:activities=none")
    library, row, count = tool.library, Row(), 0
    library.prof_summary_open.restype = ctypes.c_void_p
    library.prof_summary_row_count.restype = ctypes.c_size_t
    tool.start()
    for _ in range(steps):
        library.prof_step()  # a mark: there is something to sum up in a workload without ranges, too
        workload.step()
    workload.wait()
    summary = ctypes.c_void_p(library.prof_summary_open())
    for at in range(library.prof_summary_row_count(summary)):
        library.prof_summary_get_row(summary, ctypes.c_size_t(at), ctypes.byref(row), ctypes.sizeof(row))
        count += row.instances
    library.prof_summary_close(summary)
    tool.stop()
    return count / steps


def subscribe(client_library):
    client = ctypes.CDLL(client_library)
    client.client_problem.restype = ctypes.c_char_p
    return client.client_problem().decode() if client.client_start(0) else "free"


def answer(line, workloads, change, library, client_library):
    if line == "change":
        make_change(change, workloads, library)
        return "done"
    if line == "ranges":
        return ", ".join(f"{ranges_a_step(workload):g} in {name}" for name, workload in workloads.items())
    if line == "subscribe":
        return subscribe(client_library)
    name, steps, settle = line.split()
    return "{} {}".format(*window_ms(workloads[name], int(steps), int(settle)))


def main():
    change, names, library, client_library = sys.argv[1:]
    sys.path.insert(0, str(overhead.ROOT / "examples"))
    # What takes seconds is done on all cores: several of these processes begin at once.
    import torch
    import train  # noqa: F401

    torch.zeros(1, device="cuda")
    overhead.launch_on_one_core()
    workloads = {name: make_workload(name) for name in names.split(",")}
    for workload in workloads.values():
        window_ms(workload, 3, 3)
    gc.disable()
    gc.collect()
    gc.freeze()  # what a window's collection need not look at: it would take longer than the window
    print("ready", flush=True)
    for line in sys.stdin:
        print(answer(line.strip(), workloads, change, library, client_library), flush=True)


if __name__ == "__main__":
    main()
