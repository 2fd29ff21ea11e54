# SPDX-License-Identifier: Apache-2.0
"""Runs a function again and again. Each time another line of libprof's Python code is interrupted by an exception, as by a
signal handler of the program or by another thread. Prints for each kind of exception whether most runs were interrupted,
and in how many of them the exception did not reach the function's caller.

Usage: interrupted_program.py torch|jax MOST    MOST: runs for each kind
"""
import ctypes
import os
import sys
import threading


class TimeLimit(Exception):
    pass


def of_handler():
    raise TimeLimit


def of_python():
    raise TimeoutError("time limit")


def of_thread(kind):
    asked = ctypes.pythonapi.PyThreadState_SetAsyncExc
    asked(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(kind))


KINDS = {"a class of the program's": of_handler, "a class of Python's": of_python,
         "asynchronous": lambda: of_thread(TimeLimit), "asynchronous, of Python's": lambda: of_thread(RuntimeError)}


class Interruption:
    """Calls `act` at the given line of libprof's that runs, from 1."""

    def __init__(self, at, act):
        self.at, self.act, self.lines = at, act, 0

    def trace(self, frame, event, _):
        if not frame.f_code.co_filename.startswith("<libprof/"):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                sys.settrace(None)
                self.act()
        return self.trace


def count_lines(function):
    counter = Interruption(0, None)
    sys.settrace(counter.trace)
    function()
    sys.settrace(None)
    return counter.lines


def interrupted(function, at, act):
    """0: the exception came here. 1: it did not. 2: the function has fewer lines."""
    interruption = Interruption(at, act)
    try:
        sys.settrace(interruption.trace)
        function()
        for _ in range(1000):  # until what is asynchronous has come
            pass
    except (TimeLimit, TimeoutError, RuntimeError):
        return 0
    finally:
        sys.settrace(None)
    return 1 if interruption.lines >= at else 2


def in_child(run):
    """An import is done once in a process."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.write(writing, str(run()).encode())
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        text = answer.read()
    os.wait()
    return int(text)


def import_torch():
    import torch  # noqa: F401


def prepare_jax():
    import jax
    import jax.numpy as jnp
    from jax.profiler import StepTraceAnnotation

    x = jnp.arange(8.0)

    def compile_function():
        with StepTraceAnnotation("train", step_num=3):
            jax.jit(lambda y: (y * 2).sum() + 1)(x)

    return compile_function


def main(what, most):
    function, run = (prepare_jax(), lambda one: one()) if what == "jax" else (import_torch, in_child)
    lines = run(lambda: count_lines(function))
    for kind, act in KINDS.items():
        answers = [run(lambda: interrupted(function, at, act)) for at in range(1, lines + 1, max(lines // most, 1))]
        print(kind + ":", "mostly" if answers.count(0) > most // 2 else "seldom", "lost:", answers.count(1))


main(sys.argv[1], int(sys.argv[2]))
