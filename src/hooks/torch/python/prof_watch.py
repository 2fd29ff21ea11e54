# SPDX-License-Identifier: Apache-2.0
"""Observes PyTorch's functions in Pythons without sys.monitoring (3.10, 3.11), for prof_phases.py.

No function is replaced. A Python function has a field with the C function that calls it, and a builtin has a definition
with its C function; libprof replaces these (hooks/python/python_watch.hpp). So tracebacks, warnings, profilers and dynamo
see what they see without libprof.

Python 3.11 does not use that field where Python code calls a Python function by plain arguments. What PyTorch itself
calls within the function is then observed instead: the range of an optimizer's `step` and `zero_grad`, the function that
runs the backward, and some more builtins.
"""
import atexit
import ctypes
import sys
import types

IS_CALLED_DIRECTLY = sys.version_info >= (3, 11)  # by Python code, without the function's field
CALL, EVENT, CALLER, END = 1, 2, 4, 8  # enum prof_python_watch
GENERATOR = 0x20  # of co_flags
POINTER = ctypes.sizeof(ctypes.c_void_p)

# Offsets in the interpreter's structs.
CALL_OFFSET_OF_TYPE = 7 * POINTER  # PyTypeObject.tp_vectorcall_offset
DEFINITION_OF_BUILTIN = 2 * POINTER  # PyCFunctionObject.m_ml
DEFINITION_OF_METHOD = 5 * POINTER  # PyMethodDescrObject.d_method
TRACING, CFRAME = 44, 48  # of Python 3.10's PyThreadState


class Fields(ctypes.Structure):
    """The struct prof_python_fields of hooks/python/python_watch.hpp."""

    _fields_ = [("call", ctypes.c_size_t), ("tracing", ctypes.c_size_t), ("cframe", ctypes.c_size_t)]


class WatchFunctions(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("watch_function", "watch_builtin", "await_code", "set")]


def fields():
    """Raises if this interpreter is not as expected."""
    offset = ctypes.c_size_t.from_address(id(types.FunctionType) + CALL_OFFSET_OF_TYPE).value
    usual = ctypes.cast(ctypes.pythonapi._PyFunction_Vectorcall, ctypes.c_void_p).value
    if not 0 < offset < types.FunctionType.__basicsize__ or (
            ctypes.c_void_p.from_address(id(fields) + offset).value != usual):
        raise RuntimeError("this Python calls functions in another way")
    return Fields(offset, *((TRACING, CFRAME) if sys.version_info[:2] == (3, 10) else (0, 0)))


def definition_of(builtin):
    """The address of the field with the builtin's definition; None if it has none."""
    offset = {types.BuiltinFunctionType: DEFINITION_OF_BUILTIN, types.MethodDescriptorType: DEFINITION_OF_METHOD}.get(
        type(builtin))
    return None if offset is None else id(builtin) + offset


def attribute(of, path):
    """Or None."""
    for name in path.split("."):
        of = getattr(of, name, None)
    return of


# Where Python 3.11 calls the first function without its field: what PyTorch calls in it, a builtin or a function.
CALLED_WITHIN = {
    "cuda.CUDAGraph.capture_begin": "_C._CUDAGraph.capture_begin",
    "cuda.CUDAGraph.capture_end": "_C._CUDAGraph.capture_end",
    "cuda.CUDAGraph.replay": "_C._CUDAGraph.replay",
    "amp.GradScaler.step": "amp.GradScaler._maybe_opt_step",
    "amp.GradScaler.unscale_": "_amp_foreach_non_finite_check_and_unscale_",
    "amp.GradScaler.update": "_amp_update_scale_",
    "profiler.profile.stop": "profiler.profile.__exit__",
}
# What calls the second one with a frame of its own: that call tells the beginning of its caller.
WITNESSES = {
    "nn.Module.__init__": "_C._log_api_usage_once",
    "optim.Optimizer.__init__": "_C._log_api_usage_once",
    "autograd.profiler.record_function.__enter__": "_ops.OpOverloadPacket.__call__",
}


class Library:
    """The functions of struct prof_python_watch_functions."""

    def __init__(self, make):
        self.fields = fields()
        make = ctypes.PYFUNCTYPE(ctypes.POINTER(WatchFunctions), ctypes.c_void_p)(make)
        functions = make(ctypes.addressof(self.fields)).contents

        def function(name, *arguments):
            return ctypes.PYFUNCTYPE(ctypes.c_int, *arguments)(getattr(functions, name))

        self.watch_function = function("watch_function", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
        self.watch_builtin = function("watch_builtin", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
        self.await_code = function("await_code", ctypes.c_void_p, ctypes.c_int)
        self.set = function("set", ctypes.c_int)


def make(monitors):
    """The class of the observer. `monitors`: the scope of prof_monitor.py."""
    unwrapped = monitors["unwrapped"]

    def code_of(function):
        return getattr(unwrapped(function), "__code__", None)

    class CallMonitor(monitors["Monitor"]):
        """As Monitor. A call whose beginning is not seen is not observed at all."""

        def __init__(self, torch, native):
            super().__init__(native)
            self.library = Library(native.functions.watch)
            native.set_events = self.library.set
            self.kept = []  # what is watched, for ever
            record_function = torch.autograd.profiler.record_function
            self.with_range = {code_of(torch.optim.Optimizer.zero_grad), monitors["step_code"](torch.optim.Optimizer)}
            engine = type(attribute(torch, "autograd.Variable._execution_engine"))
            self.within = {code_of(monitors["backward_of"](torch)): attribute(engine, "run_backward")}
            self.witnesses = {}
            if IS_CALLED_DIRECTLY:
                for path, within in CALLED_WITHIN.items():
                    self.within[code_of(attribute(torch, path))] = attribute(torch, within)
                for path, witness in WITNESSES.items():
                    self.witnesses[code_of(attribute(torch, path))] = attribute(torch, witness)
            self.add(record_function.__enter__, None, CALLER)
            self.add(record_function.__exit__, None, END)

        def watch(self, function, event):
            super().watch(function, event)
            function = unwrapped(function)
            code = getattr(function, "__code__", None)
            if code is None or code in self.with_range or code.co_flags & GENERATOR:
                return
            if code in self.witnesses:
                self.add(self.witnesses[code], None, CALLER)
                self.library.await_code(id(code), False)
                return
            within = self.within.get(code)
            has_end = event < self.native.events.MAKE_OPTIMIZER
            self.add(function if within is None else within, code, CALL if has_end else EVENT)

        def watch_code(self, code, event):
            super().watch_code(code, event)
            if code in self.with_range:
                self.library.await_code(id(code), True)

        def add(self, function, code, how):
            self.kept.append((function, code))
            given = None if code is None else id(code), how
            if type(function) is types.FunctionType:
                self.library.watch_function(id(function), *given)
            elif definition_of(function) is not None:
                self.library.watch_builtin(definition_of(function), *given)

        def start(self):
            self.native.KEPT.append(self)
            self.library.set(True)
            atexit.register(self.library.set, False)

    return CallMonitor
