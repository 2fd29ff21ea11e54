# SPDX-License-Identifier: Apache-2.0
"""libprof's C++ functions for the phases of PyTorch programs (hooks/python/python_calls.hpp), for prof_phases.py: what
they need of the interpreter and of PyTorch is found here, and given to them by ctypes.
"""
import ctypes
import opcode
import os
import sys
import types

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
is_own = globals().get("is_own", lambda failure: True)  # of sitecustomize.py


class Events:
    """enum python_event of hooks/python/python_calls.hpp"""

    (MODULE_CALL, DATA, BACKWARD, OPTIMIZER, SCALED_STEP, ZERO_GRAD, CLIP_GRAD, LOSS_SCALING, COMPILATION,
     COMPILE_OTHER, COMPILE_TRITON, PRECOMPILE, AUTOTUNE, COMPILED, MAKE_OPTIMIZER, MAKE_MODULE, MOVE_MODULE,
     ASK_FOR_PARAMETERS, WORK_FOR_LOADER, CAPTURE_GRAPH, END_CAPTURE, REPLAY_GRAPH, ENTER_RANGE, STEP_PROFILER,
     STOP_PROFILER, COMPILE_STEP, SAMPLER, BATCH_SAMPLER, NO_EVENT) = range(29)


# The next classes mirror hooks/python/python_runtime.hpp and hooks/python/python_calls.hpp.
INTERPRETER = (
    "Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyErr_ExceptionMatches",
    "PyObject_CallFunctionObjArgs", "PyLong_FromSsize_t", "PyLong_FromVoidPtr",
    "PyLong_AsLongLong", "PyObject_Type", "PyType_IsSubtype", "PyType_GetQualName", "PyObject_GetAttrString",
    "PyObject_GenericGetDict", "PyDict_GetItemString", "PyUnicode_AsUTF8AndSize", "PyBytes_AsString", "PyBytes_Size",
    "PyTuple_Size", "PyTuple_GetItem", "PyObject_LengthHint", "PyWeakref_NewRef", "PyMethod_Function", "PyMethod_Self", "PyFunction_GetCode",
    "PyEval_GetFrame", "PyFrame_GetBack", "PyFrame_GetCode", "PyFrame_GetLasti", "PyFrame_GetVar", "PyCode_GetCode",
    "PyUnicode_InternFromString", "PyEval_SaveThread", "PyEval_RestoreThread", "PyTuple_New", "PyTuple_SetItem", "PyErr_Fetch",
    "PyErr_Restore", "PyErr_NormalizeException", "_PyErr_ChainExceptions", "PyThreadState_Get",
    "PyThreadState_EnterTracing", "PyThreadState_LeaveTracing", "PyNumber_Index")
OBJECTS = ("none", "no", "yes", "disable", "method", "function", "number", "list", "generator", "list_iterator", "range_iterator",
           "end_of_iteration", "no_room", "optimizer", "thread_of_compiler")
INSTRUCTIONS = ("JUMP_BACKWARD", "", "FOR_ITER", "EXTENDED_ARG", "PUSH_EXC_INFO", "LOAD_ATTR")
MONITORING_FUNCTIONS = ("use_tool_id", "free_tool_id", "get_tool", "register_callback", "set_events", "set_local_events",
                        "get_events", "get_local_events", "_all_events", "clear_tool_id")


class MethodDefinition(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


class Code(ctypes.Structure):
    _fields_ = [("code", ctypes.c_void_p), ("event", ctypes.c_uint32)]


class Runtime(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_void_p) for name in INTERPRETER + OBJECTS),
                *(("instruction_%d" % index, ctypes.c_int32) for index in range(len(INSTRUCTIONS))),
                ("may_wait", ctypes.c_uint32), ("codes", ctypes.c_void_p), ("code_count", ctypes.c_size_t),
                *((name, ctypes.c_void_p) for name in ("has_gradients", "graph_task", "on_module", "on_meeting",
                                                       "next_sequence"))]


class Functions(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in (
        "start", "end", "unwind", "died", "forget_module", *("monitoring_" + name for name in MONITORING_FUNCTIONS),
        "set_on_death", "set_steps_of_program", "attach", "detach", "forget", "end_all", "use_tool", "set_events",
        "name_module", "set_compiler", "watch")]


def instruction(name):
    return opcode.opmap.get(name, -1)


def jump_caches():
    """How many units follow the instruction JUMP_BACKWARD before the place that its argument counts from."""
    caches = getattr(opcode, "_inline_cache_entries", {})
    if isinstance(caches, dict):
        return caches.get("JUMP_BACKWARD", 0)
    return caches[opcode.opmap["JUMP_BACKWARD"]] if "JUMP_BACKWARD" in opcode.opmap else 0


def torch_function(torch, symbol, library):
    """The address of a C++ function of PyTorch's; None if there is none."""
    try:
        path = os.path.join(os.path.dirname(torch.__file__), "lib", library)
        return ctypes.cast(getattr(ctypes.CDLL(path), symbol), ctypes.c_void_p).value
    except (OSError, AttributeError, TypeError) as failure:
        if not is_own(failure):
            raise
        return None


class Native:
    """libprof's functions for phases. Those of events are builtins of the interpreter: a call takes a tenth of the time
    of one by ctypes."""

    FASTCALL = 0x80
    MOST_CODES = 96
    KEPT = []  # what builtins need, for ever
    events = Events
    monitoring_functions = MONITORING_FUNCTIONS

    def __init__(self, torch, on_module=None, on_meeting=None, next_sequence=None):
        path = SETTINGS.get("NVTX_INJECTION64_PATH") or SETTINGS["PROF_IMAGE_LIBRARY"]
        self.library = ctypes.PyDLL(path)
        may_wait = any(SETTINGS.get("PROF_" + name) for name in ("STEP_RANGE", "NVTX_CAPTURE"))
        self.codes, self.count = (Code * self.MOST_CODES)(), 0
        for code in self.codes:
            code.event = Events.NO_EVENT
        monitoring = getattr(sys, "monitoring", None)
        guards = sys.modules.get("torch._guards")
        objects = (None, False, True, getattr(monitoring, "DISABLE", None), types.MethodType, types.FunctionType, int,
                   list, types.GeneratorType, type(iter([])), type(iter(range(0))), StopIteration, RecursionError,
                   torch.optim.Optimizer, getattr(guards, "_TLS", None))
        numbers = [instruction(name) if name else jump_caches() for name in INSTRUCTIONS]
        self.kept = [objects, on_module, on_meeting]
        self.runtime = Runtime(
            *map(self.interpreter, INTERPRETER), *map(id, objects[:-1]), None if objects[-1] is None else id(objects[-1]),
            *numbers, may_wait, ctypes.addressof(self.codes), self.MOST_CODES,
            torch_function(torch, "_ZN3c108GradMode10is_enabledEv", "libc10.so"),
            torch_function(torch, "_ZN5torch8autograd25get_current_graph_task_idEv", "libtorch_cpu.so"),
            None if on_module is None else id(on_module), None if on_meeting is None else id(on_meeting), next_sequence)
        prepare = self.library.prof_python_calls  # another tool's library lacks it
        prepare.restype = ctypes.POINTER(Functions)
        self.functions = prepare(ctypes.byref(self.runtime)).contents
        for name in ("attach", "detach", "forget", "end_all"):
            setattr(self, name, ctypes.PYFUNCTYPE(None)(getattr(self.functions, name)))
        for name in ("set_steps_of_program", "set_events"):
            setattr(self, name, ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)(getattr(self.functions, name)))
        self.on_death = self.builtin("died")
        ctypes.PYFUNCTYPE(None, ctypes.py_object)(self.functions.set_on_death)(self.on_death)

    @staticmethod
    def interpreter(name):
        try:
            return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        except AttributeError as failure:
            if not is_own(failure):
                raise
            return None

    def builtin(self, name, shown=None, doc=None, module=None):
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
        definition = MethodDefinition((shown or "libprof_" + name).encode(), getattr(self.functions, name), self.FASTCALL,
                                      doc)
        self.KEPT.append((definition, self))
        return make(ctypes.addressof(definition), module, None if module is None else module.__name__)

    def add(self, code, event):
        """Whether there is room for it."""
        if self.count == self.MOST_CODES:
            return False
        self.codes[self.count].event = event
        self.codes[self.count].code = id(code)  # the interpreter's lock orders it
        self.count += 1
        self.kept.append(code)
        return True
