# SPDX-License-Identifier: Apache-2.0
"""Enables PyTorch's NVTX observer. With it record_function pushes an NVTX range, and in the mode `ops` every operator
and backward node does.

The observer is a profiler state of the thread, and of autograd's threads while they work for that thread. A thread
can have only one profiler state. So when the program starts a profiler of its own (torch.profiler, emit_nvtx, …),
libprof's state is removed, and restored when that profiler has ended. The program does not notice libprof's state:
torch.autograd._profiler_enabled() returns what it would return without it.
"""
import atexit
import ctypes
import functools
import os
import sys
import threading

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
OBSERVERS = globals().get("OBSERVERS", [])  # what is attached and detached with recordings


class Observer:
    def __init__(self, torch, mode):
        api = torch._C._autograd
        self.switch_on, self.switch_off, self.any_is_on = (
            api._enable_profiler, api._disable_profiler, api._profiler_enabled)
        kinds = torch._C._profiler
        self.config = kinds.ProfilerConfig(
            kinds.ProfilerState.NVTX, False, False, False, False, False, kinds._ExperimentalConfig())
        self.scopes = set() if mode == "ops" else {kinds.RecordScope.USER_SCOPE}
        if self.scopes and SETTINGS.get("PROF_MODULES", "off") not in ("", "off"):
            self.scopes.add(kinds.RecordScope.BACKWARD_FUNCTION)  # their sequence numbers lead to modules' calls
        self.threads = threading.local()
        self.has_ended = self.is_idle = False

    def here(self):
        """This thread's state; None if libprof's observer was never on this thread."""
        return getattr(self.threads, "state", None)

    def attach(self):
        """Puts the observer on this thread, for the rest of its life."""
        if self.here() is None:
            self.threads.state = ThreadState(self.switch_off)
        self.put_on()

    def detach(self):
        self.give_way()
        self.threads.state = None

    def put_on(self):
        state = self.here()
        if state is not None and not (self.has_ended or self.is_idle or self.any_is_on()):
            self.switch_on(self.config, set(), self.scopes)
            state.is_on = True

    def put_back(self):
        try:
            self.put_on()
        except Exception:
            pass

    def give_way(self):
        state = self.here()
        if state is not None:
            state.take_off()

    def end(self):
        self.has_ended = True
        self.give_way()

    def set_idle(self, is_idle):
        """On this thread; the states of other threads stay on."""
        self.is_idle = is_idle
        if is_idle:
            self.give_way()
        elif self.here() is not None:
            self.put_back()
        elif not threading.current_thread().daemon:
            self.attach()

    def is_on(self):
        state = self.here()
        return state is not None and state.is_on


class Attachment:
    def __init__(self, observer):
        self.observer = observer

    def attach(self):
        self.observer.set_idle(False)

    def detach(self):
        self.observer.set_idle(True)


class ThreadState:
    """Stored in thread-local storage, so that it is removed when the thread ends: PyTorch complains about a state left
    on then."""

    def __init__(self, switch_off):
        self.switch_off = switch_off
        self.is_on = False

    def take_off(self):
        if not self.is_on:
            return
        self.is_on = False
        try:
            self.switch_off()
        except Exception:
            pass

    def __del__(self):
        self.take_off()


class CudaProfilers:
    """The program's own profilers that record CUDA. libprof pauses while one runs."""

    def __init__(self, torch, recording):
        self.cuda = getattr(getattr(torch._C._profiler, "ProfilerActivity", None), "CUDA", None)
        self.recording = recording

    def give_way(self, config=None, activities=(), *_, **__):
        """Pauses for a profiler that begins with these arguments. Returns True if this call has paused libprof."""
        return self.cuda is not None and self.cuda in activities and self.recording.pause()

    def come_back(self):
        self.recording.resume()


def preparing(_, profilers, prepare):
    """Wraps the preparation of a profiler of the program: its warm-up already uses CUPTI."""

    @functools.wraps(prepare)
    def prepare_profiler(*arguments, **options):
        has_given_way = profilers.give_way(*arguments, **options)
        try:
            return prepare(*arguments, **options)
        except BaseException:
            if has_given_way:
                profilers.come_back()
            raise

    return prepare_profiler


def giving_way(observer, profilers, begin):
    """Wraps the start of a profiler of the program. If that fails, libprof's observer is restored."""

    @functools.wraps(begin)
    def begin_profiler(*arguments, **options):
        has_given_way = profilers.give_way(*arguments, **options)
        observer.give_way()
        try:
            return begin(*arguments, **options)
        except BaseException:
            observer.put_back()
            if has_given_way:
                profilers.come_back()
            raise

    return begin_profiler


def coming_back(observer, profilers, end):
    """Wraps the end of a profiler. Without a running profiler the call must fail as usual, and not end libprof's state.
    """

    @functools.wraps(end)
    def end_profiler(*arguments, **options):
        observer.give_way()
        try:
            return end(*arguments, **options)
        finally:
            observer.put_back()
            profilers.come_back()

    return end_profiler


def wrap(observer, profilers):
    def unseen(any_is_on):
        @functools.wraps(any_is_on)
        def profiler_enabled():
            return any_is_on() and not observer.is_on()

        return profiler_enabled

    wrappers = {
        "_prepare_profiler": preparing,
        "_enable_profiler": giving_way, "_enable_profiler_legacy": giving_way,
        "_disable_profiler": coming_back, "_disable_profiler_legacy": coming_back,
        "_profiler_enabled": lambda _, __, function: unseen(function),
    }
    for module in ("torch.autograd", "torch.autograd.profiler", "torch.autograd.profiler_legacy"):
        for name, wrapper in wrappers.items():
            function = getattr(sys.modules.get(module), name, None)
            if function is not None:
                setattr(sys.modules[module], name, wrapper(observer, profilers, function))


def attach_new_threads(observer):
    """Attaches each new thread, except daemon threads: these may be ended in the middle of their work, with the state
    on."""
    bootstrap = threading.Thread._bootstrap_inner

    @functools.wraps(bootstrap)
    def bootstrap_inner(self):
        if self.daemon:
            return bootstrap(self)
        try:
            observer.attach()
        except Exception:
            pass
        try:
            return bootstrap(self)
        finally:
            observer.detach()

    threading.Thread._bootstrap_inner = bootstrap_inner


def on_main_thread(action):
    """Runs `action` at once on the main thread; from another thread the main thread runs it between two of its
    instructions."""
    if threading.current_thread() is threading.main_thread():
        action()
        return

    def call(_):
        try:
            action()
        except Exception:
            pass
        return 0

    calls.append(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(call))
    ctypes.pythonapi.Py_AddPendingCall(calls[-1], None)


calls = []  # kept alive until they are called


def start(torch, mode, recording):
    """Called once, when torch has been imported, on the importing thread. Raises if this PyTorch has no such observer.
    """
    observer = Observer(torch, mode)
    if not threading.current_thread().daemon:
        observer.attach()  # raises here, with nothing changed, if PyTorch was built without CUDA
    wrap(observer, CudaProfilers(torch, recording))
    attach_new_threads(observer)
    atexit.register(observer.end)
    on_main_thread(observer.attach)
    OBSERVERS.append(Attachment(observer))
