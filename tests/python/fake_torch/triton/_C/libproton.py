# SPDX-License-Identifier: Apache-2.0
"""Proton's sessions, as of Triton 3.9: one that records by CUPTI subscribes to it, or fails. The first that is finalized
finalizes CUPTI for all. It loads the CUPTI that it is given, by the environment or as Triton 3.5 by a last argument, at
its first such session; what that finds is error 39 where libprof has subscribed to another copy, as with CUPTI 13.0."""
import ctypes
import itertools
import os
import types

library = None
observed = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(lambda *_: None)
handle = ctypes.c_void_p()
numbers = itertools.count()
sessions = {}  # number: whether it records by CUPTI


def has_cupti():
    return bool(handle.value)


def another_copy_is_in_use(path):
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return os.environ["FAKE_CUPTI"] in maps.read() and not os.path.samefile(path, os.environ["FAKE_CUPTI"])


def load(folder):
    global library
    if library is None:
        path = os.path.join(folder or os.environ["TRITON_CUPTI_LIB_PATH"], "libcupti.so")
        library = None if another_copy_is_in_use(path) else ctypes.CDLL(path)
    return library is not None


def start(name, context, data, backend, mode="", folder=None):
    if backend == "cupti" and not has_cupti():
        result = library.cuptiSubscribe(ctypes.byref(handle), observed, None) if load(folder) else 39
        if result != 0:
            handle.value = None
            raise RuntimeError(f"[PROTON] Failed to execute cuptiSubscribe with error {result}")
    number = next(numbers)
    sessions[number] = backend == "cupti"
    return number


def finalize(session, output_format):
    if sessions.pop(session) and has_cupti():
        library.cuptiUnsubscribe(handle)
        library.cuptiFinalize()
        handle.value = None


def finalize_all(output_format):
    for session in list(sessions):
        finalize(session, output_format)


proton = types.ModuleType("triton._C.libproton.proton")
proton.start, proton.finalize, proton.finalize_all = start, finalize, finalize_all
