#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a second copy of CUPTI's library can be used in a process after the first was finalized.

    cupti_copies.py FIRST SECOND        two different files, as …/nvidia/cu13/lib/libcupti.so.13

The first subscribes, records a memset by its activity records, unsubscribes and is finalized and unloaded; then the
second subscribes. Prints the versions of both and the answer to the second. Exit status 0 if it may subscribe, 1 if
not, 77 without a GPU.
"""

import _ctypes
import ctypes
import sys

DEVICE, MEMSET = 8, 2  # CUpti_ActivityKind
on_callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(lambda *_: None)
memory = ctypes.create_string_buffer(1 << 20)


sizes = ctypes.POINTER(ctypes.c_size_t)


@ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), sizes, sizes)
def requested(buffer, size, most_records):
    buffer[0] = -(-ctypes.addressof(memory) // 8) * 8
    size[0] = len(memory) - 8
    most_records[0] = 0


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
def completed(context, stream, buffer, size, valid):
    pass


def expect(library, function, *arguments):
    result = getattr(library, function)(*arguments)
    if result != 0:
        raise SystemExit(f"cupti_copies.py: {function} gives error {result}")


def version(library):
    number = ctypes.c_uint32()
    expect(library, "cuptiGetVersion", ctypes.byref(number))
    return number.value


def has_context(driver):
    context, device = ctypes.c_void_p(), ctypes.c_int()
    return (driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), 0) == 0
            and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
            and driver.cuCtxSetCurrent(context) == 0)


def set_memory(driver):
    place = ctypes.c_uint64()
    expect(driver, "cuMemAlloc_v2", ctypes.byref(place), 1024)
    expect(driver, "cuMemsetD8_v2", place, 0, 1024)
    expect(driver, "cuCtxSynchronize")
    expect(driver, "cuMemFree_v2", place)


def record_and_let_go(library, driver):
    handle = ctypes.c_void_p()
    expect(library, "cuptiSubscribe", ctypes.byref(handle), on_callback, None)
    expect(library, "cuptiActivityRegisterCallbacks", requested, completed)
    for kind in DEVICE, MEMSET:
        expect(library, "cuptiActivityEnable", kind)
    set_memory(driver)
    expect(library, "cuptiActivityFlushAll", 1)
    for kind in DEVICE, MEMSET:
        expect(library, "cuptiActivityDisable", kind)
    expect(library, "cuptiUnsubscribe", handle)
    expect(library, "cuptiFinalize")


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        driver = None
    if driver is None or not has_context(driver):
        print("cupti_copies.py: skipped, there is no GPU")
        return 77
    first, second = map(ctypes.CDLL, sys.argv[1:])
    versions = version(first), version(second)
    record_and_let_go(first, driver)
    _ctypes.dlclose(first._handle)
    answer = second.cuptiSubscribe(ctypes.byref(ctypes.c_void_p()), on_callback, None)
    print(f"after CUPTI {versions[0]} a copy of {versions[1]} is answered {answer}")
    return 1 if answer else 0


if __name__ == "__main__":
    sys.exit(main())
