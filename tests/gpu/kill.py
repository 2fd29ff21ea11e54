#!/usr/bin/env python3
"""How much of a GPU-bound run survives its death.

    kill.py PROF [--kills 20] [--work DIR] [--json FILE]

PROF is the command of an installed libprof. Needs a GPU and PyTorch. The victim (this file, --victim) trains, and sees by
cuda events which of its kernels have ended; it writes each such moment into a file that it maps. It is killed after a
random time. Then prof seals the capture, and the newest GPU record in its trace is compared with the newest moment that
the victim saw: p95 of the difference must be at most 2 s. Then the other deaths: a GPU fault, _exit, SIGSEGV, SIGABRT,
an uncaught exception; each must leave a capture that reports and says how it ended.
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
ENDS = {"fault": None, "_exit": "status 5", "segv": "SIGSEGV", "abort": "SIGABRT", "throw": "status 1"}


def victim(journal, way):
    import torch

    with open(journal, "r+b") as file:
        seen = mmap.mmap(file.fileno(), 16)
    struct.pack_into("<Q", seen, 8, os.getpid())
    a = torch.randn(2048, 2048, device="cuda")
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
            struct.pack_into("<Q", seen, 0, time.time_ns())
        if len(pending) > 32:  # GPU-bound, and bounded
            pending[0].synchronize()
        step += 1
        if way != "wait" and step == 300:
            die(torch, a, way)


def die(torch, a, way):
    import ctypes

    if way == "_exit":
        os._exit(5)
    if way == "segv":
        ctypes.string_at(8)
    if way == "abort":
        os.abort()
    if way == "throw":
        # An uncaught exception of Python's ends the interpreter in good order.
        raise RuntimeError("of the program's own")
    a.index_select(0, torch.full((4,), 1 << 20, device="cuda"))  # out of bounds: an assertion on the GPU
    torch.cuda.synchronize()


def newest_gpu_ns(trace):
    with gzip.open(trace, "rt") as file:
        data = json.load(file)
    base = data["baseTimeNanoseconds"]
    ends = [round((e["ts"] + e["dur"]) * 1000) for e in data["traceEvents"]
            if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    return base + max(ends) if ends else 0


def read(journal):
    """The newest moment that the victim saw, and its pid."""
    return struct.unpack("<2Q", journal.read_bytes())


def one_death(prof, folder, way, kill_after_s):
    folder.mkdir(parents=True)
    journal = folder / "journal"
    journal.write_bytes(bytes(16))
    run = subprocess.Popen([prof, "run", "-o", str(folder / "out"), "--", sys.executable, os.path.abspath(__file__),
                            "--victim", str(journal), way], stderr=subprocess.PIPE, text=True)
    if way == "wait":
        deadline = time.monotonic() + 60
        while read(journal)[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(kill_after_s)
        os.kill(read(journal)[1], signal.SIGKILL)
    err = run.communicate(timeout=120)[1]
    (capture,) = (folder / "out").glob("*.prof")
    report = subprocess.run([prof, "report", str(capture), "--report", "death", "--format", "json"],
                            capture_output=True, text=True, check=True)
    ended = json.loads(report.stdout)
    seen_ns = read(journal)[0]
    (trace,) = (folder / "out").glob("*.trace.json.gz")
    return {"way": way, "ended": ended["ended"], "unfinished": ended["launches_without_completion"],
            "lag_s": (seen_ns - newest_gpu_ns(trace)) / 1e9, "stderr_tail": err[-400:]}


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
    wrong += [end for end in others if ENDS[end["way"]] is not None and end["way"] != "throw"
              and ENDS[end["way"]] not in end["ended"]]
    result = {"p95_lag_s": p95, "max_lag_s": lags[-1], "lags_s": lags, "others": others, "wrong": wrong}
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    print(json.dumps(result, indent=1))
    sys.exit(0 if p95 <= LIMIT_S and not wrong else 1)


if __name__ == "__main__":
    main()
