# SPDX-License-Identifier: Apache-2.0
"""Profiler states and record functions, as libtorch has them.

A thread has one profiler state at most; to begin a second, or to end none, is an error. A state that is still on when
its thread ends is complained of. The NVTX observer's texts are those of torch/csrc/profiler/util.cpp as seen in 2.11.
"""
import ctypes
import itertools
import os
import sys
import threading
import types

push_library = ctypes.CDLL(os.environ["NVTX_PUSH_LIBRARY"])
__file__ = os.environ["NVTX_PUSH_LIBRARY" if os.environ.get("FAKE_TORCH") == "no_observers" else "FAKE_LIBTORCH"]  # libtorch is found as a dependency of this module's file
libtorch = ctypes.PyDLL(os.environ["FAKE_LIBTORCH"])
libtorch.begin_record_function.restype = ctypes.c_void_p
op_ids = itertools.count(1)
states = {}  # by thread: a threading.local would be gone before the thread's C++ storage is


class RecordScope:
    FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = 0, 1, 7


class ProfilerState:
    Disabled, CPU, NVTX, KINETO = range(4)


class _ExperimentalConfig:
    pass


class ProfilerConfig:
    def __init__(self, state, report_input_shapes, profile_memory, with_stack, with_flops, with_modules,
                 experimental_config, trace_id=""):
        self.state = state


class State:
    def __init__(self, config, scopes):
        self.config, self.scopes, self.events = config, scopes, []


class ProfilerActivity:
    CPU, CUDA = range(2)


class Cupti:
    """What records CUDA's work: one subscriber at a time has it."""

    result = None  # of the latest subscription

    @classmethod
    def take(cls):
        cls.library = ctypes.CDLL(os.environ["PROF_CUPTI_LIBRARY"])
        cls.handle = ctypes.c_void_p()
        observed = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
        cls.observed = observed(lambda *_: None)
        cls.result = cls.library.cuptiSubscribe(ctypes.byref(cls.handle), cls.observed, None)

    @classmethod
    def give_back(cls):
        if cls.result == 0:
            cls.library.cuptiUnsubscribe(cls.handle)
        cls.is_prepared = False

    is_prepared = False


def prepare_profiler(config, activities):
    if ProfilerActivity.CUDA in activities and not Cupti.is_prepared:
        Cupti.take()
        Cupti.is_prepared = True


def current():
    return states.get(threading.get_ident())


def enable_profiler(config, activities, scopes=frozenset()):
    if current() is not None:
        raise RuntimeError("Profiler is already enabled on this thread")
    states[threading.get_ident()] = State(config, set(scopes))
    libtorch.set_state({ProfilerState.NVTX: 3, ProfilerState.KINETO: 2}[config.state])


def disable_profiler():
    state = current()
    if state is None:
        raise RuntimeError("Can't disable Kineto profiler when it's not running")
    del states[threading.get_ident()]
    if Cupti.is_prepared:
        Cupti.give_back()
    libtorch.set_state(0)
    return state.events


class RecordFunction:
    """An observed function: its end goes to the state that was current at its beginning, and to the global callbacks."""

    def __init__(self, name, scope, sequence=-1):
        self.function = libtorch.begin_record_function(name.encode(), ctypes.c_uint8(scope), ctypes.c_int64(sequence))
        self.state = current()
        if self.state is None or (self.state.scopes and scope not in self.state.scopes):
            self.state = None
            return
        if self.state.config.state == ProfilerState.NVTX:
            text = name + (f", seq = {sequence}" if sequence >= 0 else "") + f", op_id = {next(op_ids)}"
            push_library.push(text.encode())
        else:
            self.state.events.append(name)

    def end(self):
        libtorch.end_record_function(ctypes.c_void_p(self.function))
        if self.state is None:
            return
        if current() is None:
            sys.stderr.write("[W record_function.cpp] Exception in RecordFunction callback: Expected profiler state\n")
        if self.state.config.state == ProfilerState.NVTX:
            push_library.pop()
        self.state = None


_profiler = types.SimpleNamespace(ProfilerConfig=ProfilerConfig, ProfilerState=ProfilerState, RecordScope=RecordScope,
                                  ProfilerActivity=ProfilerActivity, _ExperimentalConfig=_ExperimentalConfig)
_autograd = types.SimpleNamespace(_prepare_profiler=prepare_profiler, _enable_profiler=enable_profiler,
                                  _disable_profiler=disable_profiler,
                                  _profiler_enabled=lambda: current() is not None)
