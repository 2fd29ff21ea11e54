#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks which CUDA calls wait for the GPU's work, as docs/reference/diagnose.md has it: cudaMalloc does not, cudaFree
does, and then does its own work.

    allocation_waits.py

A kernel of some 50 ms is under way at each call, then one of some 1 ms at calls of cudaFree, whose own work takes as
long where the GPU has nothing to do. Exits with 77 without a GPU.
"""
import ctypes
import glob
import pathlib
import sys
import time

SIZES = (1 << 10, 1 << 21, 1 << 26, 1 << 30)
ROUNDS = 3
FREE_SIZES = (1 << 26, 1 << 30, 1 << 33)
FREE_ROUNDS = 31
SHORT_CYCLES = 2_000_000


def timed(function):
    begin = time.perf_counter()
    function()
    return 1000 * (time.perf_counter() - begin)


def own_work_of_free(torch, runtime):
    """Whether the work of cudaFree comes after its wait, by medians: the time from before a kernel's launch until
    cudaFree has returned is that of the kernel and that of a cudaFree on an idle GPU together, not the longer one."""
    faults = 0
    median = lambda values: sorted(values)[len(values) // 2]

    def allocated(size):
        memory = ctypes.c_void_p()
        if runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(size)) != 0:
            raise MemoryError(size)
        torch.cuda.synchronize()
        return memory

    def kernel():
        torch.cuda._sleep(SHORT_CYCLES)

    def kernel_and_wait():
        kernel()
        torch.cuda.synchronize()

    for size in FREE_SIZES:
        idle, busy, alone = [], [], []
        for _ in range(FREE_ROUNDS):
            memory = allocated(size)
            idle.append(timed(lambda: runtime.cudaFree(memory)))
            alone.append(timed(kernel_and_wait))
            memory = allocated(size)
            busy.append(timed(lambda: (kernel(), runtime.cudaFree(memory))))
        idle_ms, busy_ms, alone_ms = median(idle), median(busy), median(alone)
        share = (busy_ms - max(idle_ms, alone_ms)) / min(idle_ms, alone_ms)  # 1: one after the other; 0: beside
        faults += share < 0.5
        print(f"{size:10} bytes: cudaFree {idle_ms:.3f} ms, a kernel {alone_ms:.3f} ms, both {busy_ms:.3f} ms: "
              f"{share:.2f} of the shorter comes after the other")
    return faults


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
    faults += own_work_of_free(torch, runtime)
    print("FAIL" if faults else "PASS")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
