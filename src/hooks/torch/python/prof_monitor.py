# SPDX-License-Identifier: Apache-2.0
"""Observes PyTorch's code objects in Python 3.12 and newer, for prof_phases.py.

sys.monitoring observes a few dozen of them and no others. PyTorch is not changed, and dynamo does not notice.
"""
import ctypes
import sys
import types


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
        events = self.native.events
        optimizer, loader = torch.optim.Optimizer, torch.utils.data.dataloader._BaseDataLoaderIter
        graph = getattr(torch.cuda, "CUDAGraph", None)
        record_function = getattr(torch.autograd.profiler, "record_function", None)
        profile = getattr(getattr(torch, "profiler", None), "profile", None)
        samplers = torch.utils.data.sampler
        for name in ("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler"):
            self.watch(getattr(samplers, name).__iter__, events.SAMPLER)
        self.watch(samplers.BatchSampler.__iter__, events.BATCH_SAMPLER)
        scaler = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
        self.watch(torch.nn.Module.__call__, events.MODULE_CALL)
        self.watch_code(step_code(optimizer), events.OPTIMIZER)
        for function, event in (
                (loader.__next__, events.DATA), (backward_of(torch), events.BACKWARD),
                (optimizer.zero_grad, events.ZERO_GRAD),
                (optimizer.__init__, events.MAKE_OPTIMIZER), (torch.nn.Module.__init__, events.MAKE_MODULE),
                (torch.nn.Module._apply, events.MOVE_MODULE),
                (torch.nn.Module.parameters if with_modules else None, events.ASK_FOR_PARAMETERS),
                (torch.utils.data._utils.worker._worker_loop, events.WORK_FOR_LOADER),
                (getattr(torch.nn.utils, "clip_grad_norm_", None), events.CLIP_GRAD),
                (getattr(torch.nn.utils, "clip_grad_value_", None), events.CLIP_GRAD),
                (getattr(graph, "capture_begin", None), events.CAPTURE_GRAPH),
                (getattr(graph, "capture_end", None), events.END_CAPTURE),
                (getattr(graph, "replay", None), events.REPLAY_GRAPH),
                (getattr(record_function, "__enter__", None), events.ENTER_RANGE),
                (getattr(profile, "step", None), events.STEP_PROFILER),
                (getattr(profile, "stop", None), events.STOP_PROFILER),
                (scaler.step, events.SCALED_STEP), (scaler.unscale_, events.LOSS_SCALING),
                (scaler.update, events.LOSS_SCALING)):
            self.watch(function, event)

    def start(self):
        monitoring = sys.monitoring
        # Tools 0 to 2 are meant for debuggers, coverage and profilers, and 3 and 4 are what programs choose.
        tool = next((number for number in (5, 4, 3, 2, 1, 0) if monitoring.get_tool(number) is None), None)
        if tool is None:
            raise RuntimeError("all tools of sys.monitoring are in use")
        functions = [getattr(monitoring, name, None) for name in self.native.monitoring_functions]
        callbacks = [self.native.builtin(name) for name in ("start", "end", "unwind")]
        events = [getattr(monitoring.events, name) for name in ("PY_START", "PY_RETURN", "PY_UNWIND")]
        name = "libprof"
        self.native.KEPT.append((functions, callbacks, name))

        def array(of):
            return (ctypes.c_void_p * len(of))(*map(id, of))

        use = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                                ctypes.c_void_p)(self.native.functions.use_tool)
        events = (ctypes.c_int * len(events))(*events)
        use(tool, array(functions), id(name), array(callbacks), events)  # raises what Python's functions raise
        self.native.set_events(True)
        # To the program its tools are free: where it takes libprof's, libprof takes another.
        for name, function in zip(self.native.monitoring_functions, functions):
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
        self.watch_later(convert_frame._compile, self.native.events.COMPILATION)
        callback = sys.modules.get("torch._dynamo.callback")
        handler = getattr(callback, "CompilationCallbackHandler", None)
        self.watch_later(getattr(handler, "install_callbacks", None), self.native.events.COMPILE_OTHER)
        tracer = getattr(sys.modules.get("torch._dynamo.variables.optimizer"), "OptimizerVariable", None)
        self.watch_later(getattr(tracer, "call_method", None), self.native.events.COMPILE_STEP)
        context = getattr(sys.modules.get("torch._dynamo.eval_frame"), "_TorchDynamoContext", None)
        for constant in getattr(getattr(context, "__call__", None), "__code__", (lambda: None).__code__).co_consts:
            if isinstance(constant, types.CodeType) and "fn" in constant.co_freevars:
                self.watch_code(constant, self.native.events.COMPILED)
        self.native.set_events(True)
        guards = getattr(sys.modules.get("torch._guards"), "_TLS", None)
        if guards is not None:
            self.native.kept.append(guards)
            ctypes.PYFUNCTYPE(None, ctypes.py_object)(self.native.functions.set_compiler)(guards)

    def watch_autotuning(self, triton_heuristics):
        """What inductor does at the first call of a kernel."""
        tuner = getattr(triton_heuristics, "CachingAutotuner", None)
        self.watch_later(getattr(tuner, "precompile", None), self.native.events.PRECOMPILE)
        self.watch_later(getattr(tuner, "autotune_to_one_config", None), self.native.events.AUTOTUNE)

    def watch_triton(self, compiler):
        """Kernels of the program's own."""
        self.watch_later(getattr(compiler, "compile", None), self.native.events.COMPILE_TRITON)


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
