# SPDX-License-Identifier: Apache-2.0
"""Observes the phases of a PyTorch program from outside and records them with libprof: docs/guide/phases.md defines them.

prof_monitor.py observes PyTorch's code objects, in older Pythons with prof_watch.py. What happens at an event is C++
(hooks/python/python_calls.hpp, which prof_native.py prepares; python_steps.hpp finds the steps): no Python code of
libprof's runs while the program trains, but that which names modules.
"""
import atexit
import os
import sys
import types

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
OBSERVERS = globals().get("OBSERVERS", [])  # what is attached and detached with recordings


class Phases:
    """What is observed, attached to recordings and detached from them."""

    def __init__(self, native):
        self.native = native
        self.are_the_programs = SETTINGS.get("PROF_STEP_RANGE", "step") not in ("", "step", "step@prof.phases")
        self.native.set_steps_of_program(self.are_the_programs)
        OBSERVERS.append(self)
        atexit.register(native.end_all)
        os.register_at_fork(after_in_child=native.forget)

    def detach(self):
        """Before a recording ends: what follows costs nothing."""
        self.native.detach()
        self.native.set_events(False)

    def attach(self):
        self.native.attach()
        self.native.set_events(True)

    def leave_steps(self, to_program):
        """Whether the program counts the steps (the package's callbacks for trainers), so that none is observed."""
        self.native.set_steps_of_program(bool(to_program) or self.are_the_programs)


def hide_from_dynamo(torch, scope):
    """Makes dynamo skip libprof's functions and what they call. They may run inside code that is being compiled."""
    dynamo = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    skip = getattr(dynamo, "skip_code", None)  # before PyTorch 2.7
    if hasattr(dynamo, "set_code_exec_strategy"):
        strategy = dynamo._FrameExecStrategy(dynamo._FrameAction.SKIP, dynamo._FrameAction.SKIP)
        skip = lambda code: dynamo.set_code_exec_strategy(code, strategy)  # noqa: E731
    if skip is None:
        return

    def hide(code):
        skip(code)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                hide(constant)

    for value in scope.values():
        if isinstance(value, types.FunctionType):
            hide(value.__code__)
        elif isinstance(value, type):
            for method in vars(value).values():
                if isinstance(method, types.FunctionType):
                    hide(method.__code__)


def start(torch, warn, modules, run):
    """Called once, when torch has been imported. `modules`: the scope of prof_modules.py; `run` runs another file of
    this folder and returns its scope. Raises if this PyTorch cannot be observed. Returns the function to be called with
    the name and the module of each compiler that is imported.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise RuntimeError("that needs the interpreter's lock")
    names = modules["names"](torch)
    if isinstance(names, str):
        warn("PyTorch's modules are not observed: " + names)
        names = None
    make_native = run("prof_native.py")["Native"]
    if names is None:
        native = make_native(torch)
    else:
        native = make_native(torch, names.on_call, names.meet, modules["sequence_function"](torch))
        hide_from_dynamo(torch, modules)
        names.use(native.functions, native.builtin("forget_module"))
    monitors = run("prof_monitor.py")
    if hasattr(sys, "monitoring"):
        monitor = monitors["Monitor"](native)
    else:
        monitor = run("prof_watch.py")["make"](monitors)(torch, native)
    monitor.watch_all(torch, names is not None)
    monitor.start()
    phases = Phases(native)
    if not getattr(torch.__spec__, "_initializing", False):
        phases.attach()  # torch was imported before: there may be models and optimizers
    return monitor.watch_compiler
