"""Proton's sessions, as of Triton 3.9: one that records by CUPTI subscribes to it, or fails. The first that is finalized
finalizes CUPTI for all."""
import ctypes
import itertools
import os
import types

library = ctypes.CDLL(os.environ["PROF_CUPTI_LIBRARY"])
heard = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(lambda *_: None)
handle = ctypes.c_void_p()
numbers = itertools.count()
sessions = {}  # number: whether it records by CUPTI


def has_cupti():
    return bool(handle.value)


def start(name, context, data, backend, mode=""):
    if backend == "cupti" and not has_cupti():
        result = library.cuptiSubscribe(ctypes.byref(handle), heard, None)
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
