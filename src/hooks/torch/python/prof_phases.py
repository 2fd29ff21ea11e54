# SPDX-License-Identifier: Apache-2.0
"""Observes the phases of a PyTorch program from outside and records them with libprof: docs/guide/phases.md defines them.

Python 3.12 and newer: sys.monitoring observes a few dozen of PyTorch's code objects and no others. PyTorch is not
changed, and dynamo does not notice. Older Pythons: prof_watch.py.

What happens at an event is C++ (session/python_calls.hpp): no Python code of libprof's runs while the program trains,
but that which names modules. This file prepares it.
"""
import atexit
import ctypes
import opcode
import os
import sys
import types

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
is_own = globals().get("is_own", lambda failure: True)  # of sitecustomize.py
OBSERVERS = globals().get("OBSERVERS", [])  # what is attached and detached with recordings

# enum python_event of session/python_calls.hpp
(MODULE_CALL, DATA, BACKWARD, OPTIMIZER, SCALED_STEP, ZERO_GRAD, CLIP_GRAD, LOSS_SCALING, COMPILATION,
 COMPILE_OTHER, COMPILE_TRITON, PRECOMPILE, AUTOTUNE, COMPILED, MAKE_OPTIMIZER, MAKE_MODULE, MOVE_MODULE,
 ASK_FOR_PARAMETERS, WORK_FOR_LOADER, CAPTURE_GRAPH, END_CAPTURE, REPLAY_GRAPH, ENTER_RANGE, STEP_PROFILER,
 STOP_PROFILER, COMPILE_STEP, SAMPLER, BATCH_SAMPLER, NO_EVENT) = range(29)

# The next classes mirror session/python_runtime.hpp and session/python_calls.hpp.
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

    def __init__(self, torch, on_module=None, on_meeting=None, next_sequence=None):
        path = SETTINGS.get("NVTX_INJECTION64_PATH") or SETTINGS["PROF_IMAGE_LIBRARY"]
        self.library = ctypes.PyDLL(path)
        may_wait = any(SETTINGS.get("PROF_" + name) for name in ("STEP_RANGE", "NVTX_CAPTURE"))
        self.codes, self.count = (Code * self.MOST_CODES)(), 0
        for code in self.codes:
            code.event = NO_EVENT
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
        KEPT.append((definition, self))
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


KEPT = []  # what builtins need, for ever


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


class Monitor:
    """Observes PyTorch's code objects by sys.monitoring."""

    def __init__(self, native):
        self.native, self.codes = native, set()

    def watch(self, function, event):
        self.watch_code(getattr(unwrapped(function), "__code__", None), event)

    def watch_code(self, code, event):
        if code is not None and id(code) not in self.codes and self.native.add(code, event):
            self.codes.add(id(code))

    def watch_all(self, torch, with_modules):
        optimizer, loader = torch.optim.Optimizer, torch.utils.data.dataloader._BaseDataLoaderIter
        graph = getattr(torch.cuda, "CUDAGraph", None)
        record_function = getattr(torch.autograd.profiler, "record_function", None)
        profile = getattr(getattr(torch, "profiler", None), "profile", None)
        samplers = torch.utils.data.sampler
        for name in ("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler"):
            self.watch(getattr(samplers, name).__iter__, SAMPLER)
        self.watch(samplers.BatchSampler.__iter__, BATCH_SAMPLER)
        scaler = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
        self.watch(torch.nn.Module.__call__, MODULE_CALL)
        self.watch_code(step_code(optimizer), OPTIMIZER)
        for function, event in (
                (loader.__next__, DATA), (backward_of(torch), BACKWARD),
                (optimizer.zero_grad, ZERO_GRAD),
                (optimizer.__init__, MAKE_OPTIMIZER), (torch.nn.Module.__init__, MAKE_MODULE),
                (torch.nn.Module._apply, MOVE_MODULE),
                (torch.nn.Module.parameters if with_modules else None, ASK_FOR_PARAMETERS),
                (torch.utils.data._utils.worker._worker_loop, WORK_FOR_LOADER),
                (getattr(torch.nn.utils, "clip_grad_norm_", None), CLIP_GRAD),
                (getattr(torch.nn.utils, "clip_grad_value_", None), CLIP_GRAD),
                (getattr(graph, "capture_begin", None), CAPTURE_GRAPH), (getattr(graph, "capture_end", None), END_CAPTURE),
                (getattr(graph, "replay", None), REPLAY_GRAPH),
                (getattr(record_function, "__enter__", None), ENTER_RANGE),
                (getattr(profile, "step", None), STEP_PROFILER), (getattr(profile, "stop", None), STOP_PROFILER),
                (scaler.step, SCALED_STEP), (scaler.unscale_, LOSS_SCALING), (scaler.update, LOSS_SCALING)):
            self.watch(function, event)

    def start(self):
        monitoring = sys.monitoring
        # Tools 0 to 2 are meant for debuggers, coverage and profilers, and 3 and 4 are what programs choose.
        tool = next((number for number in (5, 4, 3, 2, 1, 0) if monitoring.get_tool(number) is None), None)
        if tool is None:
            raise RuntimeError("all tools of sys.monitoring are in use")
        functions = [getattr(monitoring, name, None) for name in MONITORING_FUNCTIONS]
        callbacks = [self.native.builtin(name) for name in ("start", "end", "unwind")]
        events = [getattr(monitoring.events, name) for name in ("PY_START", "PY_RETURN", "PY_UNWIND")]
        name = "libprof"
        KEPT.append((functions, callbacks, name))

        def array(of):
            return (ctypes.c_void_p * len(of))(*map(id, of))

        use = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                                ctypes.c_void_p)(self.native.functions.use_tool)
        events = (ctypes.c_int * len(events))(*events)
        use(tool, array(functions), id(name), array(callbacks), events)  # raises what Python's functions raise
        self.native.set_events(True)
        # To the program its tools are free: where it takes libprof's, libprof takes another.
        for name, function in zip(MONITORING_FUNCTIONS, functions):
            if function is not None:
                text = ("%s%s\n--\n\n%s" % (name, function.__text_signature__, function.__doc__ or "")).encode()
                setattr(monitoring, name, self.native.builtin("monitoring_" + name, name, text, monitoring))

    def watch_later(self, function, event):
        """As watch(), after start()."""
        before = len(self.codes)
        self.watch(function, event)
        if len(self.codes) != before:
            self.native.set_events(True)

    def watch_compiler(self, name, module):
        """Called when a module that compiles has been imported."""
        watch = {"torch._dynamo.convert_frame": self.watch_dynamo, "triton.compiler.compiler": self.watch_triton,
                 "torch._inductor.runtime.triton_heuristics": self.watch_autotuning}
        watch[name](module)

    def watch_dynamo(self, convert_frame):
        """The function that compiles, and the one around what is compiled outside it: a backward at its first call, the
        recording of a CUDA graph. And the calls of compiled functions, since what they do is not seen."""
        self.watch_later(convert_frame._compile, COMPILATION)
        callback = sys.modules.get("torch._dynamo.callback")
        handler = getattr(callback, "CompilationCallbackHandler", None)
        self.watch_later(getattr(handler, "install_callbacks", None), COMPILE_OTHER)
        tracer = getattr(sys.modules.get("torch._dynamo.variables.optimizer"), "OptimizerVariable", None)
        self.watch_later(getattr(tracer, "call_method", None), COMPILE_STEP)
        context = getattr(sys.modules.get("torch._dynamo.eval_frame"), "_TorchDynamoContext", None)
        for constant in getattr(getattr(context, "__call__", None), "__code__", (lambda: None).__code__).co_consts:
            if isinstance(constant, types.CodeType) and "fn" in constant.co_freevars:
                self.watch_code(constant, COMPILED)
        self.native.set_events(True)
        guards = getattr(sys.modules.get("torch._guards"), "_TLS", None)
        if guards is not None:
            self.native.kept.append(guards)
            ctypes.PYFUNCTYPE(None, ctypes.py_object)(self.native.functions.set_compiler)(guards)

    def watch_autotuning(self, triton_heuristics):
        """What inductor does at the first call of a kernel."""
        tuner = getattr(triton_heuristics, "CachingAutotuner", None)
        self.watch_later(getattr(tuner, "precompile", None), PRECOMPILE)
        self.watch_later(getattr(tuner, "autotune_to_one_config", None), AUTOTUNE)

    def watch_triton(self, compiler):
        """Kernels of the program's own."""
        self.watch_later(getattr(compiler, "compile", None), COMPILE_TRITON)


def backward_of(torch):
    """The function that runs each backward; before PyTorch 2 one of those that do."""
    return getattr(getattr(torch.autograd, "graph", None), "_engine_run_backward", None) or torch.autograd.backward


def step_code(optimizer):
    """The code around each optimizer's step."""
    if hasattr(optimizer, "profile_hook_step"):
        return optimizer.profile_hook_step(lambda: None).__code__
    code = optimizer._hook_for_profile.__code__  # before PyTorch 2 it is a function within a function of this one
    for name in ("profile_hook_step", "wrapper"):
        code = next(each for each in code.co_consts if getattr(each, "co_name", None) == name)
    return code


def unwrapped(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


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


def start(torch, warn, modules=None, run=None):
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
    if names is None:
        native = Native(torch)
    else:
        native = Native(torch, names.on_call, names.meet, modules["sequence_function"](torch))
        hide_from_dynamo(torch, modules)
        names.use(native.functions, native.builtin("forget_module"))
    if hasattr(sys, "monitoring"):
        monitor = Monitor(native)
    else:
        monitor = run("prof_watch.py")["make"](globals())(torch, native)
    monitor.watch_all(torch, names is not None)
    monitor.start()
    phases = Phases(native)
    if not getattr(torch.__spec__, "_initializing", False):
        phases.attach()  # torch was imported before: there may be models and optimizers
    return monitor.watch_compiler
