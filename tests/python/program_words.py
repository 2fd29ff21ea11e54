# SPDX-License-Identifier: Apache-2.0
"""What random programs (program_grammar.py) are made of: classes and functions that need no PyTorch."""
import asyncio
import atexit
import contextlib
import functools
import gc
import itertools
import multiprocessing
import os
import signal
import sys
import threading
import traceback
import warnings
import weakref

MAIN = [os.getpid()]
AFTER_FORK = []  # not empty: a child must not end by Python's ways, as with Kineto it hangs, libprof or not
TIMED = []  # not empty: what the program has done in all depends on time
KEPT = []  # what is alive when the program ends


def note(*what):
    print(*what, flush=True)


class Odd(Exception):
    pass


class OddKey(KeyError):
    def __bool__(self):
        raise Odd("an exception was asked for its truth")

    def __eq__(self, other):
        raise Odd("an exception was compared")

    __hash__ = None


class OddBase(BaseException):
    pass


class Late(Exception):
    pass


ERRORS = {"Odd": Odd, "OddKey": OddKey, "OddBase": OddBase, "ValueError": ValueError, "StopIteration": StopIteration,
          "GeneratorExit": GeneratorExit, "KeyboardInterrupt": KeyboardInterrupt}


class Guard:
    """A context that notes what passes it."""

    def __init__(self, tag, swallows=False, raises=None):
        self.tag, self.swallows, self.raises = tag, swallows, raises

    def __enter__(self):
        note("enter", self.tag)
        return self

    def __exit__(self, kind, value, trace):
        note("exit", self.tag, kind and kind.__name__)
        if self.raises:
            raise self.raises("exit")
        return self.swallows


@contextlib.contextmanager
def guard(tag):
    note("begin", tag)
    try:
        yield tag
    except Odd as odd:
        note("guarded", tag, odd.args)
    finally:
        note("end", tag)


class Dropped:
    def __init__(self, tag):
        self.tag, self.circle = tag, self

    def __del__(self):
        note("dropped", self.tag)


def run_part(name, part):
    """A child of fork that leaves its part leaves the program."""
    note("part", name)
    try:
        note("part", name, "gave", part(3))
    except SystemExit:
        raise
    except BaseException as failure:
        if os.getpid() != MAIN[0]:
            raise
        note("part", name, "raised", type(failure).__name__, [str(each) for each in failure.args][:2],
             [frame.name for frame in traceback.extract_tb(failure.__traceback__)][:30])
        if failure.__context__ is not None:
            note("context", type(failure.__context__).__name__)


def fork(body, end, n):
    """A child that ends in some way is waited for."""
    if os.getpid() != MAIN[0]:
        return note("no fork in a child")
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            note("child gave", body(n))
        except BaseException:
            if not AFTER_FORK:
                raise
            traceback.print_exc()
            os._exit(9)
        if end == "_exit" or AFTER_FORK:
            os._exit(n % 7)
        if end == "exit":
            sys.exit(n % 7)
        if end == "text":
            sys.exit("the child's text")
        if end == "signal":
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        raise Odd("child")
    note("child ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def process(body, how, n):
    if os.getpid() != MAIN[0] or (how == "fork" and not callable(body)):
        return note("no process in a child")
    context = multiprocessing.get_context(how)
    it = context.Process(target=body if how == "fork" else print, args=(n,))
    sys.stdout.flush()
    try:
        it.start()
    except (AssertionError, RuntimeError) as failure:
        return note("no process", type(failure).__name__)
    it.join()
    note("process ended", it.exitcode)


def on_thread(body, n, count=1):
    results = []
    threads = [threading.Thread(target=lambda k=k: results.append(body(n + k))) for k in range(count)]
    if count == 1:
        threads[0].start()
        threads[0].join()
    else:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    note("threads gave", sorted(map(str, results)))


def raised(number, raises):
    """A signal whose handler raises, or counts, at a known place."""
    count = []

    def handler(number, frame):
        count.append(number)
        if raises:
            raise raises("handler")

    before = signal.signal(number, handler)
    try:
        signal.raise_signal(number)
        for _ in range(3):
            pass
    finally:
        signal.signal(number, before)
        note("handled", len(count))


def ticking(body, ticks):
    """The body, over and over, until a timer has expired so often."""
    TIMED.append(True)
    count = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: count.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        while len(count) < ticks:
            body()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    note("ticks")


def interrupted(body, seconds):
    """The body, over and over, until a handler raises somewhere in it."""
    TIMED.append(True)
    done = []

    def handler(number, frame):
        if not done:
            raise Late

    before = signal.signal(signal.SIGALRM, handler)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
            while True:
                body()
        except Late:
            done.append(True)
            note("late")
    finally:
        done.append(True)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_own(code):
    return code.co_filename.startswith("<random program") or "random_program" in code.co_filename


def is_with_stack():
    """Whether PyTorch's profiler has set its function of C, which cannot be set again."""
    return sys.getprofile() is not None and not callable(sys.getprofile())


@contextlib.contextmanager
def observed(how):
    """settrace, setprofile or a tool of sys.monitoring, which counts the calls of the program's functions."""
    calls = {}

    def count(code):
        if is_own(code) and code.co_name != "<lambda>":  # those of timed bodies
            calls[code.co_name] = calls.get(code.co_name, 0) + 1

    def trace(frame, event, argument):
        if event == "call":
            count(frame.f_code)
        return trace

    if how == "settrace":
        before = sys.gettrace()
        note("a tracer", before is not None)
        sys.settrace(trace)
    elif how == "setprofile" and is_with_stack():
        how = "none"
    elif how == "setprofile":
        before = sys.getprofile()
        note("a profiler", before is not None)
        sys.setprofile(trace)
    elif how != "none" and hasattr(sys, "monitoring"):
        monitoring, tool = sys.monitoring, int(how)
        note("tools", [monitoring.get_tool(each) for each in range(6)])
        try:
            monitoring.use_tool_id(tool, "mine")
        except ValueError as failure:
            note(failure)
            tool = None
        else:
            def start(code, offset):
                count(code)
                return monitoring.DISABLE if how == "3" else None

            monitoring.register_callback(tool, monitoring.events.PY_START, start)
            monitoring.set_events(tool, monitoring.events.PY_START)
    try:
        yield
    finally:
        if how == "settrace":
            sys.settrace(before)
        elif how == "setprofile":
            sys.setprofile(before)
        elif how != "none" and hasattr(sys, "monitoring") and tool is not None:
            monitoring.set_events(tool, 0)
            monitoring.register_callback(tool, monitoring.events.PY_START, None)
            monitoring.free_tool_id(tool)
        note("calls", sorted(calls.items()))


def all_calls(body, n):
    """Every function of Python that the body enters, whoever's it is."""
    calls = {}

    def profile(frame, event, argument):
        if event == "call":
            key = os.path.basename(frame.f_code.co_filename), frame.f_code.co_name
            calls[key] = calls.get(key, 0) + 1

    if is_with_stack():
        return body(n)
    gc.collect()
    gc.disable()
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        return body(n)
    finally:
        sys.setprofile(before)
        gc.enable()
        note("all calls", sorted(calls.items()))


def tree(depth):
    if depth:
        yield from tree(depth - 1)
        yield depth
        yield from tree(depth - 1)


async def waits(tag, n):
    for k in range(n % 3 + 1):
        await asyncio.sleep(0)
        note("awaited", tag, k)
    if n % 5 == 0:
        raise Odd("coroutine")
    return n


async def counted(n):
    try:
        for k in range(n):
            yield k
    finally:
        note("async generator ends")


async def gathers(n):
    results = await asyncio.gather(*(waits(k, n + k) for k in range(3)), return_exceptions=True)
    note("gathered", [str(each) for each in results])
    async for k in counted(4):
        if k == n % 5:
            break
    return n
