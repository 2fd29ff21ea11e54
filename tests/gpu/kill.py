#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of a GPU-bound run survives its death.

    kill.py PROF [--kills 20] [--work DIR] [--json FILE]

PROF is the command of an installed libprof. Needs a GPU and PyTorch. The victim (this file, --victim) trains, and sees by
cuda events which of its kernels have ended; it writes each such moment into a file that it maps. It is killed after a
random time. Then prof seals the capture, and the newest GPU record in its trace (or the victim's first launch, if it has
none) is compared with the newest moment that the victim saw: p95 of the difference must be at most 2 s. Then the other
deaths, after a second or more: a failed assertion on the GPU, an illegal address there, which Python meets as an
exception or is aborted with, _exit, SIGSEGV, SIGABRT, an uncaught exception; each must leave a capture that reports and
says how it ended, with GPU records as new.
"""
import argparse
import gzip
import json
import mmap
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import time

LIMIT_S = 2.0
IN_ORDER = "in good order"  # an uncaught exception ends the interpreter with its exit handlers
ENDS = {"assert": IN_ORDER, "illegal": IN_ORDER, "illegal+abort": "SIGABRT", "_exit": "status 5", "segv": "SIGSEGV",
        "abort": "SIGABRT", "throw": IN_ORDER}
JOURNAL = struct.Struct("<3Q")  # ns: the newest end of a kernel that was seen, the first launch; the pid
STORES_TO_ADDRESS_8 = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry stores_to_address_8() {
    .reg .b64 %address;
    .reg .b32 %value;
    mov.u64 %address, 8;
    mov.u32 %value, 1;
    st.global.u32 [%address], %value;
    ret;
}
"""


def victim(journal, way):
    import torch

    with open(journal, "r+b") as file:
        seen = mmap.mmap(file.fileno(), JOURNAL.size)
    a = torch.randn(2048, 2048, device="cuda")
    first = newest = time.time_ns()
    JOURNAL.pack_into(seen, 0, newest, first, os.getpid())
    pending = []
    step = 0
    while True:
        with torch.cuda.nvtx.range(f"step {step}"):
            for _ in range(4):
                a = torch.tanh(a @ a)
            event = torch.cuda.Event()
            event.record()
            pending.append(event)
        while pending and pending[0].query():
            pending.pop(0)
            newest = time.time_ns()
            struct.pack_into("<Q", seen, 0, newest)
        if len(pending) > 32:  # GPU-bound, and bounded
            pending[0].synchronize()
        step += 1
        if way != "wait" and newest - first > 1_500_000_000:
            die(torch, a, way)


def die(torch, a, way):
    import ctypes

    if way == "_exit":
        os._exit(5)
    if way == "segv":
        ctypes.string_at(8)
    if way == "abort":
        os.abort()
    if way.startswith("illegal"):
        launch_illegal_store()
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            if way == "illegal":
                raise
        os.abort()
    if way == "throw":
        # An uncaught exception of Python's ends the interpreter in good order.
        raise RuntimeError("of the program's own")
    a.index_select(0, torch.full((4,), 1 << 20, device="cuda"))  # out of bounds: an assertion on the GPU
    torch.cuda.synchronize()


def launch_illegal_store():
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cuModuleLoadData(ctypes.byref(module), STORES_TO_ADDRESS_8) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"stores_to_address_8") == 0
    assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0


def newest_gpu_ns(trace):
    with gzip.open(trace, "rt") as file:
        data = json.load(file)
    base = data["baseTimeNanoseconds"]
    ends = [round((e["ts"] + e["dur"]) * 1000) for e in data["traceEvents"]
            if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    return base + max(ends) if ends else 0


def read(journal):
    """The newest moment that the victim saw, its first launch, its pid."""
    return JOURNAL.unpack(journal.read_bytes())


def one_death(prof, folder, way, kill_after_s):
    folder.mkdir(parents=True)
    journal = folder / "journal"
    journal.write_bytes(bytes(JOURNAL.size))
    run = subprocess.Popen([prof, "run", "-o", str(folder / "out"), "--", sys.executable, os.path.abspath(__file__),
                            "--victim", str(journal), way], stderr=subprocess.PIPE, text=True)
    if way == "wait":
        deadline = time.monotonic() + 60
        while read(journal)[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(kill_after_s)
        os.kill(read(journal)[2], signal.SIGKILL)
    err = run.communicate(timeout=120)[1]
    (capture,) = (folder / "out").glob("*.prof")
    report = subprocess.run([prof, "report", str(capture), "--report", "death", "--format", "json"],
                            capture_output=True, text=True, check=True)
    ended = json.loads(report.stdout)
    seen_ns, first_ns, _ = read(journal)
    (trace,) = (folder / "out").glob("*.trace.json.gz")
    gpu_ns = newest_gpu_ns(trace)
    return {"way": way, "ended": ended["ended"], "unfinished": ended["launches_without_completion"],
            "age_s": (seen_ns - first_ns) / 1e9, "has_gpu_records": gpu_ns != 0,
            "lag_s": (seen_ns - max(first_ns, gpu_ns)) / 1e9, "stderr_tail": err[-400:]}


def main():
    if sys.argv[1:2] == ["--victim"]:
        victim(sys.argv[2], sys.argv[3])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prof")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("kill-work"))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if subprocess.run([sys.executable, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"],
                      capture_output=True, check=False).returncode != 0:
        print("kill.py: skipped, there is no PyTorch with a GPU here")
        sys.exit(77)
    chance = random.Random(20251122)
    kills = [one_death(options.prof, options.work / f"kill-{i}", "wait", chance.uniform(0.2, 3.0))
             for i in range(options.kills)]
    others = [one_death(options.prof, options.work / way, way, 0) for way in ENDS]
    lags = sorted(kill["lag_s"] for kill in kills)
    p95 = lags[max(0, -(-95 * len(lags) // 100) - 1)]
    wrong = [kill for kill in kills if "SIGKILL" not in kill["ended"]]
    wrong += [end for end in others if ENDS[end["way"]] not in end["ended"] or end["lag_s"] > LIMIT_S]
    result = {"p95_lag_s": p95, "max_lag_s": lags[-1], "lags_s": lags,
              "kills_without_gpu_records": sum(not kill["has_gpu_records"] for kill in kills), "others": others,
              "wrong": wrong}
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    print(json.dumps(result, indent=1))
    sys.exit(0 if p95 <= LIMIT_S and not wrong else 1)


if __name__ == "__main__":
    main()
