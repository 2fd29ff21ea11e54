#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks which CUDA calls wait for the GPU's work, as docs/reference/diagnose.md has it: cudaMalloc does not, cudaFree does.

    allocation_waits.py

A kernel of some 50 ms is under way at each call. Exits with 77 without a GPU.
"""
import ctypes
import glob
import pathlib
import sys
import time

SIZES = (1 << 10, 1 << 21, 1 << 26, 1 << 30)
ROUNDS = 3


def timed(function):
    begin = time.perf_counter()
    function()
    return 1000 * (time.perf_counter() - begin)


def main():
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("skipped: no PyTorch with a GPU")
        return 77
    torch.zeros(1, device="cuda")
    packages = pathlib.Path(torch.__path__[0]).parent / "nvidia"
    found = glob.glob("/usr/local/cuda*/lib64/libcudart.so*") + [str(path) for path in packages.rglob("libcudart.so*")]
    runtime = ctypes.CDLL(found[0])
    faults = 0
    for size in SIZES:
        for _ in range(ROUNDS):
            torch.cuda.synchronize()
            torch.cuda._sleep(100_000_000)
            memory = ctypes.c_void_p()
            malloc_ms = timed(lambda: runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(size)))
            waited_in_malloc = torch.cuda.current_stream().query()
            free_ms = timed(lambda: runtime.cudaFree(memory))
            waited_in_free = torch.cuda.current_stream().query()
            right = not waited_in_malloc and waited_in_free
            faults += not right
            print(f"{size:10} bytes: cudaMalloc {malloc_ms:.3f} ms, cudaFree {free_ms:.3f} ms: {'ok' if right else 'NOT SO'}")
    print("FAIL" if faults else "PASS")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
