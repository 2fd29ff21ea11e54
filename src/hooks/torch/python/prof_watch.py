# SPDX-License-Identifier: Apache-2.0
"""Observes PyTorch's functions in Pythons without sys.monitoring (3.10, 3.11), for prof_phases.py.

No function is replaced. A Python function has a field with the C function that calls it, and a builtin has a definition
with its C function; libprof replaces these (session/python_watch.hpp). So tracebacks, warnings, profilers and dynamo
see what they see without libprof.

Python 3.11 does not use that field where Python code calls a Python function by plain arguments. What PyTorch itself
calls within the function is then observed instead: the range of `Optimizer.step` and `zero_grad`, the function that
runs the backward, and some more builtins.
"""
import atexit
import ctypes
import sys
import types

IS_CALLED_DIRECTLY = sys.version_info >= (3, 11)  # by Python code, without the function's field
CALL, EVENT, CALLER, END = 1, 2, 4, 8  # enum prof_python_watch
GENERATOR, VALUES, NAMED_VALUES = 0x20, 0x04, 0x08  # of co_flags
POINTER = ctypes.sizeof(ctypes.c_void_p)

# Offsets in the interpreter's structs.
CALL_OFFSET_OF_TYPE = 7 * POINTER  # PyTypeObject.tp_vectorcall_offset
DEFINITION_OF_BUILTIN = 2 * POINTER  # PyCFunctionObject.m_ml
DEFINITION_OF_METHOD = 5 * POINTER  # PyMethodDescrObject.d_method
TRACING, CFRAME = 44, 48  # of Python 3.10's PyThreadState


class Interpreter(ctypes.Structure):
    """The struct prof_python_interpreter of session/python_watch.hpp."""

    FUNCTIONS = {"keep": "Py_IncRef", "release": "Py_DecRef", "make_tuple": "PyTuple_New", "size": "PyTuple_Size",
                 "fill_tuple": "PyTuple_SetItem", "frame": "PyEval_GetFrame", "code_of": "PyFrame_GetCode",
                 "fetch_error": "PyErr_Fetch", "restore_error": "PyErr_Restore",
                 "chain_error": "_PyErr_ChainExceptions", "clear_error": "PyErr_Clear",
                 "attribute": "PyObject_GetAttrString", "text": "PyUnicode_AsUTF8", "thread": "PyThreadState_Get",
                 "enter_tracing": "PyThreadState_EnterTracing", "leave_tracing": "PyThreadState_LeaveTracing"}
    _fields_ = [("none", ctypes.c_void_p), *((name, ctypes.c_void_p) for name in FUNCTIONS),
                ("tracing_offset", ctypes.c_size_t), ("cframe_offset", ctypes.c_size_t),
                ("call_offset", ctypes.c_size_t)]


class WatchFunctions(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("watch_function", "watch_builtin", "await_code", "set",
                                                     "arguments")]


def address_of(name):
    function = getattr(ctypes.pythonapi, name, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def interpreter():
    """Raises if this interpreter is not as expected."""
    call_offset = ctypes.c_size_t.from_address(id(types.FunctionType) + CALL_OFFSET_OF_TYPE).value
    if not 0 < call_offset < types.FunctionType.__basicsize__ or caller_of(interpreter, call_offset) != address_of(
            "_PyFunction_Vectorcall"):
        raise RuntimeError("this Python calls functions in another way")
    offsets = (TRACING, CFRAME) if sys.version_info[:2] == (3, 10) else (0, 0)
    return Interpreter(id(None), *map(address_of, Interpreter.FUNCTIONS.values()), *offsets, call_offset)


def caller_of(function, offset):
    return ctypes.c_void_p.from_address(id(function) + offset).value


class Given:
    """Stands for the frame of a call that is about to begin."""

    def __init__(self, code, values, named):
        count = 0 if type(named) is not tuple else len(named)
        positional = values[:len(values) - count]
        local = dict(zip(code.co_varnames[:code.co_argcount], positional))
        if code.co_flags & VALUES:
            local[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]] = positional[code.co_argcount:]
        if type(named) is tuple:
            named = zip(named, values[len(values) - count:])
        elif type(named) is dict:
            named = named.items()
        for name, value in named or ():
            if type(name) is str:  # nothing of the program's is called
                local[name] = value
        self.f_locals = local


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
# What calls the second one with a frame of its own: it tells the beginning of its caller.
WITNESSES = {
    "nn.Module.__init__": "_C._log_api_usage_once",
    "optim.Optimizer.__init__": "_C._log_api_usage_once",
    "autograd.profiler.record_function.__enter__": "_ops.OpOverloadPacket.__call__",
}


def make(phases):
    """The class of the observer. `phases`: the scope of prof_phases.py."""
    unwrapped = phases["unwrapped"]

    def code_of(function):
        return getattr(unwrapped(function), "__code__", None)

    class CallMonitor(phases["Monitor"]):
        """As Monitor. A call whose beginning is not seen is not observed at all."""

        def __init__(self, torch, *arguments):
            super().__init__(torch, *arguments)
            self.watches = []  # functions and builtins: (object, code whose call begins, how)
            self.awaited = []  # codes whose calls begin with the call of another function: (code, has_end)
            self.library = None  # once it watches
            self.interpreter = interpreter()
            record_function = torch.autograd.profiler.record_function
            self.with_range = [code_of(torch.optim.Optimizer.zero_grad), phases["step_code"](torch.optim.Optimizer)]
            engine = type(attribute(torch, "autograd.Variable._execution_engine"))
            self.within = {code_of(phases["backward_of"](torch)): attribute(engine, "run_backward")}
            self.witnesses = {}
            if IS_CALLED_DIRECTLY:
                self.within.update((code_of(attribute(torch, outer)), attribute(torch, inner))
                                   for outer, inner in CALLED_WITHIN.items())
                self.witnesses.update((code_of(attribute(torch, outer)), attribute(torch, inner))
                                      for outer, inner in WITNESSES.items())
            self.add(torch.nn.Module.__call__, self.module_call, CALL)
            self.add(record_function.__enter__, None, CALLER)
            self.add(record_function.__exit__, None, END)

        def frame(self, depth):
            given = self.arguments()
            return sys._getframe(depth + 1) if given is None else Given(*given)

        def watch(self, function, begin, has_end=True):
            super().watch(function, begin, has_end)
            self.watch_calls(function, has_end)

        def watch_code(self, code, begin, has_end=True):
            super().watch_code(code, begin, has_end)
            if code in self.with_range:
                self.awaited.append((code, True))

        def watch_calls(self, function, has_end):
            function = unwrapped(function)
            code = getattr(function, "__code__", None)
            if code is None or code in self.with_range or code.co_flags & GENERATOR:
                return
            if code in self.witnesses:
                self.add(self.witnesses[code], None, CALLER)
                self.awaited.append((code, False))
                return
            within = self.within.get(code)
            self.add(function if within is None else within, code, CALL if has_end else EVENT)

        def add(self, function, code, how):
            if function is not None:
                self.watches.append((function, code, how))
                if self.library is not None:
                    self.pass_on(*self.watches[-1])

        def pass_on(self, function, code, how):
            given = None if code is None else id(code), how
            if type(function) is types.FunctionType:
                self.library.watch_function(id(function), *given)
            elif definition_of(function) is not None:
                self.library.watch_builtin(definition_of(function), *given)

        def start(self, next_sequence):
            native = self.native = phases["Native"](
                self.phases.library, self.module_call, self.with_end, self.on_start, self.on_end,
                None if self.modules is None else self.on_module, next_sequence)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(native))  # libprof calls its functions until the process ends
            self.library = Library(native.functions.watch, self.interpreter)
            self.arguments = native.builtin("arguments", None, self.library.functions)
            if self.modules is not None:
                self.modules.use(native.functions, native.builtin("forget_module"))
            self.phases.forget_calls = native.forget_calls
            self.phases.watch = lambda: self.set_events(True)
            self.phases.unwatch = lambda: self.set_events(False)
            for watch in self.watches:
                self.pass_on(*watch)
            for code, has_end in self.awaited:
                self.library.await_code(id(code), has_end)
            self.set_events(True)
            atexit.register(self.set_events, False)

        def set_events(self, are_on):
            self.library.set(are_on)

        def set_events_of(self, code):
            pass

        def watch_later(self, function, begin):
            has_come = code_of(function) not in self.codes
            super().watch_later(function, begin)
            if has_come:
                self.watch_calls(function, True)

    return CallMonitor


class Library:
    """The functions of struct prof_python_watch_functions."""

    def __init__(self, make, interpreter):
        make = ctypes.PYFUNCTYPE(ctypes.POINTER(WatchFunctions), ctypes.c_void_p)(make)
        self.functions = make(ctypes.addressof(interpreter)).contents

        def function(name, *arguments):
            return ctypes.PYFUNCTYPE(ctypes.c_int, *arguments)(getattr(self.functions, name))

        self.watch_function = function("watch_function", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
        self.watch_builtin = function("watch_builtin", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
        self.await_code = function("await_code", ctypes.c_void_p, ctypes.c_int)
        self.set = ctypes.PYFUNCTYPE(None, ctypes.c_int)(self.functions.set)
