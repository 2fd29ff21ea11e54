# SPDX-License-Identifier: Apache-2.0
"""Observes the phases of a PyTorch program from outside and records them with libprof: docs/guide/phases.md defines them.

Python 3.12 and newer: sys.monitoring observes a dozen of PyTorch's code objects and no others. PyTorch is not
changed, and dynamo does not notice. Older Pythons: a few functions that dynamo does not trace are wrapped, and calls
of modules are not observed.

Nothing here raises into the program, and no module or tensor is kept alive.
"""
import atexit
import ctypes
import functools
import os
import sys
import threading
import types
import weakref

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
is_own = globals().get("is_own", lambda failure: True)  # of sitecustomize.py
OBSERVERS = globals().get("OBSERVERS", [])  # what is attached and detached with recordings

# Kinds of calls; these are also the names of their phases.
DATA, FORWARD, EVALUATION, BACKWARD, RECOMPUTE, OPTIMIZER, ZERO_GRAD, CLIP_GRAD, LOSS_SCALING, COMPILATION = (
    "data", "forward", "evaluation", "backward", "recompute", "optimizer", "zero_grad", "clip_grad", "loss_scaling",
    "compilation")
IN_CLOSURE = {FORWARD, EVALUATION, BACKWARD, ZERO_GRAD, CLIP_GRAD}  # they end the calling optimizer's phase
BY_OPTIMIZER, BY_CALL, BY_PROFILER = 1, 2, 4  # enum prof_step_witness
STEP_NAMES = 5
SAME_AGAIN = 8  # after so many steps of one optimizer, those that have not stepped are no longer waited for


MAKES_GRAPH = 1  # the category of a backward that builds a graph (record/label.hpp)
# All phases with their categories.
NAMES = (*(("step", witness) for witness in range(STEP_NAMES)), (BACKWARD, MAKES_GRAPH),
         *((name, 0) for name in ("startup", DATA, FORWARD, EVALUATION, BACKWARD, RECOMPUTE, OPTIMIZER, ZERO_GRAD,
                                  CLIP_GRAD, LOSS_SCALING, COMPILATION)))


SELF = "self"


class Library:
    """libprof's functions for phases. They are short, so the interpreter's lock is kept, unless a window may open."""

    def __init__(self):
        path = SETTINGS.get("NVTX_INJECTION64_PATH") or SETTINGS["PROF_IMAGE_LIBRARY"]
        self.waits = any(SETTINGS.get("PROF_" + name) for name in ("STEP_RANGE", "NVTX_CAPTURE"))
        self.library = (ctypes.CDLL if self.waits else ctypes.PyDLL)(path)
        push, pop = self.library.prof_phase_push, self.library.prof_phase_pop  # another tool's library lacks them
        self.pushes = {(name, category): functools.partial(push, ctypes.c_char_p(name.encode()), ctypes.c_uint32(category))
                       for name, category in NAMES}
        self.is_good, self.pop = 0, pop
        self.push_other = lambda name: push(name, 0)
        self.keep_text = self.library.prof_keep_text


class MethodDefinition(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


class Runtime(ctypes.Structure):
    """The struct prof_python_runtime of session/python_calls.hpp; the next classes mirror that header, too."""

    _fields_ = [("none", ctypes.c_void_p), ("yes", ctypes.c_void_p), ("no", ctypes.c_void_p),
                ("module_call", ctypes.c_void_p), ("codes", ctypes.c_void_p), ("code_count", ctypes.c_size_t),
                ("names", ctypes.c_void_p), ("texts", ctypes.c_void_p), ("categories", ctypes.c_void_p),
                ("name_count", ctypes.c_size_t),
                ("on_start", ctypes.c_void_p), ("on_end", ctypes.c_void_p), ("call", ctypes.c_void_p),
                ("number", ctypes.c_void_p), ("error_is", ctypes.c_void_p), ("no_room", ctypes.c_void_p),
                ("release", ctypes.c_void_p), ("clear_error", ctypes.c_void_p),
                ("save_thread", ctypes.c_void_p), ("restore_thread", ctypes.c_void_p), ("frame", ctypes.c_void_p),
                ("variable", ctypes.c_void_p), ("self", ctypes.c_void_p), ("address", ctypes.c_void_p),
                ("on_module", ctypes.c_void_p), ("next_sequence", ctypes.c_void_p)]


class Functions(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("start", "end", "unwind", "push", "pop", "forget_calls",
                                                     "name_module", "forget_module")]


class Native:
    """libprof's functions as builtins of the interpreter: a call takes a tenth of the time of one by ctypes."""

    FASTCALL = 0x80
    LATER = 8  # room for code objects that are watched later

    def __init__(self, library, module_call, codes, on_start, on_end, on_module, next_sequence):
        python = ctypes.pythonapi
        names = [[name] for name, _ in NAMES]  # distinguished by identity
        no_room = (RecursionError, MemoryError)
        self.kept = [module_call, codes, on_start, on_end, names, on_module, no_room, SELF]

        def array(of, values):
            self.kept.append((of * len(values))(*values))
            return ctypes.addressof(self.kept[-1])

        def address(function):
            return ctypes.cast(function, ctypes.c_void_p).value

        self.later = len(codes)
        watched = array(ctypes.c_void_p, list(map(id, codes)) + [None] * self.LATER)
        self.watched = self.kept[-1]
        runtime = Runtime(
            id(None), id(True), id(False), id(module_call), watched, len(self.watched),
            array(ctypes.c_void_p, list(map(id, names))), array(ctypes.c_char_p, [name.encode() for name, _ in NAMES]),
            array(ctypes.c_uint32, [category for _, category in NAMES]),
            len(NAMES), id(on_start), id(on_end), address(python.PyObject_CallFunctionObjArgs),
            address(python.PyLong_FromSsize_t), address(python.PyErr_ExceptionMatches), id(no_room),
            address(python.Py_DecRef), address(python.PyErr_Clear),
            address(python.PyEval_SaveThread) if library.waits else None,
            address(python.PyEval_RestoreThread) if library.waits else None,
            address(python.PyEval_GetFrame), address(python.PyFrame_GetVar), id(SELF),
            address(python.PyLong_FromVoidPtr), None if on_module is None else id(on_module), next_sequence)
        prepare = library.library.prof_python_calls
        prepare.restype = ctypes.POINTER(Functions)
        self.functions = prepare(ctypes.byref(runtime)).contents
        # Bound to this object, so that the interpreter keeps it alive with them.
        self.start, self.end, self.unwind = (self.builtin(name, self) for name in ("start", "end", "unwind"))
        library.pushes = {key: self.builtin("push", name) for key, name in zip(NAMES, names)}
        library.pop, library.is_good = self.builtin("pop"), True
        self.forget_calls = ctypes.PYFUNCTYPE(None)(self.functions.forget_calls)

    def watch_end(self, code):
        self.watched[self.later] = id(code)  # the interpreter's lock orders it
        self.later += 1

    def builtin(self, name, bound_to=None):
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        definition = MethodDefinition(b"libprof_" + name.encode(), getattr(self.functions, name), self.FASTCALL, None)
        self.kept.append(definition)
        return make(ctypes.addressof(definition), bound_to, None)


class Thread(threading.local):
    def __init__(self):
        self.calls = []  # calls under way that may be phases


class Call:
    __slots__ = ("kind", "is_open", "has_suspended", "compiled")

    def __init__(self, kind):
        self.kind = kind
        self.is_open = self.has_suspended = False
        self.compiled = None  # the Compiled whose compilation this call is


class Steps:
    """Decides where steps begin. Works for one thread: the first that creates, calls or trains a module."""

    def __init__(self, library, are_the_programs):
        self.library, self.are_the_programs = library, are_the_programs
        self.owner = None
        self.open = None  # "startup", "step"
        self.is_recorded = self.has_begun = False
        self.are_marked = False  # the program marks its steps, so nothing else begins them
        self.made, self.cycle = weakref.WeakSet(), weakref.WeakSet()  # optimizers: all; those of each step
        self.is_optimizer_due = False  # there were some before this recording, which may be of another training
        self.is_cycle_known = self.zero_grad_leads = False
        self.of_evaluation = set()  # ids of datasets
        self.graphs = {}  # id of a CUDA graph -> the ids of the optimizers whose steps were captured in it
        self.capturing = None  # id of the graph that is being captured
        self.clear()

    def clear(self):
        self.stepped = {}  # id of an optimizer -> how often it has stepped in this step
        self.dataset = None  # the id of the latest
        self.has_data = self.has_trained = self.has_evaluated = self.has_called = self.met_end = False

    def is_owner(self):
        here = threading.get_ident()
        if self.owner is None:
            self.owner = here
        return self.owner == here

    def leave(self):
        """Until the next step begins there is none."""
        if self.is_recorded and self.is_owner():
            self.replace(None)
        self.open, self.is_recorded = None, False
        self.clear()

    def start_over(self):
        """For the next recording, whose ranges have nothing to do with those of the last."""
        self.is_recorded, self.owner = False, None
        self.leave()
        self.is_optimizer_due = self.is_optimizer_due or bool(self.made)
        self.made, self.cycle, self.is_cycle_known = weakref.WeakSet(), weakref.WeakSet(), False

    def replace(self, name, witness=0):
        if self.is_recorded:
            self.is_recorded = False
            self.library.pop()
        self.open = name
        if name is not None and not (name == "step" and self.are_the_programs):
            push = self.library.pushes[name, witness]
            self.is_recorded = True
            if push() != self.library.is_good:
                self.is_recorded = False

    def begin(self, witness):
        self.replace("step", witness if self.has_begun else 0)
        self.has_begun = True
        self.clear()

    def prepare(self):
        """Called when the program creates or moves a module, or creates an optimizer."""
        if self.open is None and not self.has_begun and threading.current_thread() is threading.main_thread():
            if self.is_owner():
                self.replace("startup")

    def make(self, optimizer):
        was_first = not self.made
        self.made.add(optimizer)
        if was_first and self.has_begun and self.is_owner() and not self.are_marked:
            self.replace("startup")  # what was taken for steps were none
            self.has_begun = False
        else:
            self.prepare()

    def trains(self):
        return bool(self.made) or self.is_optimizer_due

    def is_complete(self):
        """Whether all optimizers that step in each step have stepped."""
        if not self.stepped:
            return False
        waited_for = self.cycle if self.is_cycle_known else self.made
        missing = any(id(optimizer) not in self.stepped for optimizer in waited_for)
        return not missing or max(self.stepped.values()) >= (SAME_AGAIN if self.is_cycle_known else 2)

    def begin_next(self):
        if self.stepped and not (self.is_cycle_known and self.stepped.keys() == set(map(id, self.cycle))):
            self.cycle = weakref.WeakSet(each for each in self.made if id(each) in self.stepped)
            self.is_cycle_known = True
        self.begin(BY_OPTIMIZER)

    def fetch(self, iterator, trains):
        if self.owner is None and threading.current_thread() is not threading.main_thread():
            return  # this thread fetches for another one
        if not self.is_owner() or self.are_marked:
            return
        dataset = id(getattr(iterator, "_dataset", None))
        if not self.trains():
            if self.open != "step" or self.has_called:
                self.begin(BY_CALL)
            return
        if not trains or dataset in self.of_evaluation:
            return
        if self.has_evaluated and not self.has_trained and self.dataset == dataset and self.open == "step":
            self.of_evaluation.add(dataset)
            self.replace(None)
            self.clear()
            return
        if is_at_end(iterator):
            self.met_end = True
            return
        if self.open != "step" or self.is_complete():
            self.begin_next()
        self.has_data, self.dataset = True, dataset

    def call(self, evaluates):
        if not self.is_owner() or self.are_marked or self.capturing is not None:
            return
        if not self.trains():
            if self.open != "step" or self.has_called:
                self.begin(BY_CALL)
            self.has_called = True
        elif evaluates:
            self.has_evaluated = True
        else:
            self.train()

    def mark(self):
        """The program marks the beginning of a step. The first such mark keeps the current step if that has not trained
        yet."""
        if not self.is_owner() or self.capturing is not None:
            return
        if self.are_marked or self.open != "step" or self.stepped or self.has_called:
            self.begin(BY_PROFILER)
        self.are_marked = True

    def end_marking(self):
        if self.is_owner():
            self.are_marked = False

    def train(self):
        if not self.are_marked:
            if self.open != "step" or (self.is_complete() and (not self.has_data or self.met_end)):
                self.begin_next()
        self.has_trained = True

    def capture(self, graph):
        """The capture of `graph` begins; None: it ends. Nothing runs during a graph capture, so it is no step."""
        if self.is_owner():
            self.capturing = graph
            if graph is not None:
                self.graphs[graph] = set()

    def replay(self, graph):
        """Counts a replay of a graph in which optimizers step: it counts as their steps at the capture."""
        optimizers = self.graphs.get(graph)
        if optimizers and self.is_owner():
            self.train()
            for optimizer in optimizers:
                self.stepped[optimizer] = self.stepped.get(optimizer, 0) + 1

    def zero_grad(self):
        if not self.trains() or not self.is_owner() or self.are_marked or self.capturing is not None:
            return
        if not self.has_begun:
            self.zero_grad_leads = True
            self.begin_next()
        elif self.zero_grad_leads and not self.has_data and self.is_complete():
            self.begin_next()

    def step(self, optimizer, is_nested):
        """`is_nested`: inside the step of another optimizer or of a GradScaler."""
        if not self.is_owner():
            return
        if self.capturing is not None:
            self.graphs[self.capturing].add(id(optimizer))
        else:
            count = self.stepped.get(id(optimizer), 0)
            if not count:
                self.made.add(optimizer)
                self.is_optimizer_due = False
            self.stepped[id(optimizer)] = max(1, count) if is_nested else count + 1
            self.has_trained = True


def is_at_end(iterator):
    """Whether a DataLoader with an indexed dataset has fetched all, so that the next call raises StopIteration."""
    try:
        return iterator._dataset_kind == 0 and iterator._num_yielded >= len(iterator._index_sampler)
    except Exception:
        return False


class Compiled:
    """A function that is compiled. In the phase `compilation` there is one with its name."""

    def __init__(self, name, line, frame):
        self.name, self.line, self.frame, self.has_range = name, line, frame, False

    def reason(self):
        """Why it was compiled before but not for this call, as PyTorch's compiler has found out."""
        reason = None if self.frame is None else self.frame.f_locals.get("recompile_reason")
        self.frame = None
        return reason if isinstance(reason, str) else None


def compiled_code(code, frame, local=None):
    """`local`: the variables of the function. Dynamo puts a function of its own around a module's call."""
    if code.co_filename.endswith("external_utils.py") and local is not None:
        inner = local.get("fn")
        inner = getattr(inner, "__func__", inner) if isinstance(inner, types.MethodType) else inner
        if isinstance(inner, types.FunctionType):
            code = inner.__code__
        elif inner is not None:
            return Compiled(type(inner).__qualname__, 0, frame)
    name = getattr(code, "co_qualname", code.co_name).replace("<locals>.", "")
    return Compiled(name + " (" + os.path.basename(code.co_filename) + ")", code.co_firstlineno, frame)


class Recompilations:
    """Why functions were compiled again. Kept with the capture as lines: function, line, count, reason."""

    MOST, LONGEST = 32, 300

    def __init__(self, library):
        self.library, self.counts = library, {}

    def add(self, compiled):
        reason = compiled.reason()
        if reason is None:
            return
        line = " ".join(reason.split())[:self.LONGEST]
        key = (compiled.name, compiled.line, line)
        if key in self.counts or len(self.counts) < self.MOST:
            self.counts[key] = self.counts.get(key, 0) + 1
            text = "\n".join("%s\t%d\t%d\t%s" % (name, line, count, why)
                             for (name, line, why), count in self.counts.items())
            self.library.keep_text(b"torch_recompilations", text.encode("utf-8", "replace").replace(b"\0", b""))


class Phases:
    def __init__(self, torch, library):
        self.library = library
        self.recompilations = Recompilations(library)
        self.are_the_programs = SETTINGS.get("PROF_STEP_RANGE", "step") not in ("", "step", "step@prof.phases")
        self.thread = Thread()
        self.steps = Steps(library, self.are_the_programs)
        self.trains = torch.is_grad_enabled
        self.graph_task = getattr(torch._C, "_current_graph_task_id", lambda: -1)
        self.is_off = False
        self.forget_calls = self.watch = self.unwatch = lambda: None
        OBSERVERS.append(self)
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self.forget)

    def forget(self):
        """For a forked child: what was open belongs to the parent."""
        self.thread = Thread()
        self.steps = Steps(self.library, self.are_the_programs)
        self.forget_calls()

    def detach(self):
        """Before a recording ends: what is open ends with it, and what follows costs nothing."""
        self.steps.leave()
        self.unwatch()

    def attach(self):
        """A recording has begun. What was open before it does not belong to it."""
        self.steps.start_over()
        self.thread = Thread()
        self.recompilations.counts = {}
        self.forget_calls()
        self.watch()

    def leave_steps(self, to_program):
        """Whether the program counts the steps (the package's callbacks for trainers), so that none is observed."""
        self.steps.are_the_programs = to_program or self.are_the_programs

    def end(self):
        self.is_off = True
        if self.steps.is_recorded and self.steps.owner == threading.get_ident():
            self.steps.replace(None)

    def leave_out(self, *_):
        """Called in a DataLoader's worker process, whose modules transform data."""
        self.is_off = True

    def is_compiling(self):
        """Whether this thread is compiling: a call is traced then, and does not run."""
        guards = sys.modules.get("torch._guards")
        return guards is not None and guards.TracingContext.try_get() is not None

    def begin(self, kind, subject=None, category=0):
        """Begins a call. A module's call inside another module's does not come here.

        A signal handler may raise an exception after any function call. So what is open is stored before the call
        that opens it."""
        thread = self.thread
        around = thread.calls[-1] if thread.calls else None
        call = Call(kind)
        thread.calls.append(call)
        if self.is_off:
            return
        outer = around.kind if around is not None else None
        if outer == COMPILATION:
            return  # the compiler traces: what it calls does not run
        if kind == COMPILATION:
            call.compiled = subject
        elif kind in (FORWARD, EVALUATION, BACKWARD) and (outer in (BACKWARD, RECOMPUTE) or self.graph_task() != -1):
            if kind == BACKWARD:
                return  # a part of the backward under way
            kind = call.kind = RECOMPUTE
        elif outer is None:
            self.mark_steps(kind, subject)
        elif outer == OPTIMIZER and kind in IN_CLOSURE:
            if around.is_open:
                self.library.pop()
                around.is_open = False
                call.has_suspended = True
        elif kind != BACKWARD or outer not in (FORWARD, EVALUATION) or self.is_compiling():
            return  # a part of the phase around it
        push = self.library.pushes[kind, category if kind == BACKWARD else 0]
        call.is_open = True
        if push() != self.library.is_good:
            call.is_open = False
        elif call.compiled is not None:
            call.compiled.has_range = True
            if self.library.push_other(call.compiled.name.encode("utf-8", "replace")) != 0:
                call.compiled.has_range = False

    def prepare(self):
        calls = self.thread.calls
        if not self.is_off and not (calls and calls[-1].kind == COMPILATION):  # the compiler makes modules of its own
            self.steps.prepare()

    def mark_steps(self, kind, subject):
        if kind == DATA:
            self.steps.fetch(subject, self.trains())
        elif kind in (FORWARD, EVALUATION):
            self.steps.call(kind == EVALUATION)
        elif kind == ZERO_GRAD:
            self.steps.zero_grad()

    def replay(self, graph):
        if not self.thread.calls:
            self.steps.replay(graph)

    def mark_step(self):
        if not self.thread.calls and not self.is_off:
            self.steps.mark()

    def begin_step(self, optimizer):
        calls = self.thread.calls
        is_nested = bool(calls) and calls[-1].kind == OPTIMIZER
        self.begin(OPTIMIZER)
        self.steps.step(optimizer, is_nested)

    def finish(self):
        thread = self.thread
        if not thread.calls:
            return  # it began before the observation
        call = thread.calls[-1]
        if call.compiled is not None:
            self.finish_compilation(call)
        if call.is_open:
            call.is_open = False
            self.library.pop()
        thread.calls.pop()
        if call.has_suspended:
            around, push = thread.calls[-1], self.library.pushes[OPTIMIZER, 0]
            around.is_open = True
            if push() != self.library.is_good:
                around.is_open = False

    def finish_compilation(self, call):
        compiled, call.compiled = call.compiled, None
        if compiled.has_range:
            compiled.has_range = False
            self.library.pop()
        self.recompilations.add(compiled)

    def finish_until(self, count):
        """Ends calls until `count` are under way. A call whose beginning was not stored has failed there."""
        calls = self.thread.calls
        while len(calls) > count:
            self.finish()
        while len(calls) < count:
            calls.append(Call(None))


class Monitor:
    """Observes PyTorch's code objects by sys.monitoring."""

    def __init__(self, torch, phases, modules):
        self.phases, self.modules = phases, modules
        self.module_call = torch.nn.Module._wrapped_call_impl.__code__
        self.begins = {}  # id of a code object -> the function to call at its beginning
        self.codes = [self.module_call]  # keeps the ids valid
        self.with_end = []  # the other code objects whose end matters
        self.tool = self.native = None
        self.are_on = False

    def watch(self, function, begin, has_end=True):
        self.watch_code(getattr(unwrapped(function), "__code__", None), begin, has_end)

    def watch_code(self, code, begin, has_end=True):
        if code is None:
            return
        self.codes.append(code)
        self.begins[id(code)] = begin
        if has_end:
            self.with_end.append(code)

    def watch_all(self, torch):
        phases = self.phases

        def begin(kind):
            return lambda frame: phases.begin(kind)

        def fetch(frame):
            phases.begin(DATA, frame.f_locals["self"])

        def go_backward(frame):
            arguments = frame.f_locals.get("args", ())  # gradients, retain_graph, create_graph, …
            phases.begin(BACKWARD, None, MAKES_GRAPH if len(arguments) > 2 and arguments[2] is True else 0)

        def step(frame):
            phases.begin_step(frame.f_locals["args"][0])

        def scaled_step(frame):
            optimizer = frame.f_locals["optimizer"]
            phases.begin_step(own_attributes(optimizer).get("optimizer", optimizer))

        def make(frame):
            phases.steps.make(frame.f_locals["self"])

        def prepare(frame):
            phases.prepare()
            return sys.monitoring.DISABLE

        def move(frame):
            self.modules.meet(frame.f_locals["self"])
            phases.prepare()

        def meet(frame):
            self.modules.meet(frame.f_locals["self"])

        def enter_range(frame):
            if frame.f_locals["self"].name.startswith("ProfilerStep#"):
                phases.mark_step()

        def step_profiler(frame):
            if not frame.f_locals["self"].record_steps:  # else there is a range of that name
                phases.mark_step()

        def stop_profiler(frame):
            phases.steps.end_marking()

        optimizer = torch.optim.Optimizer
        self.watch(torch.autograd.graph._engine_run_backward, begin(BACKWARD) if self.modules is None else go_backward)
        self.watch_code(optimizer.profile_hook_step(lambda: None).__code__, step)
        self.watch(optimizer.zero_grad, begin(ZERO_GRAD))
        self.watch(optimizer.__init__, make, False)
        self.watch(torch.nn.Module.__init__, prepare, False)
        self.watch(torch.nn.Module._apply, prepare if self.modules is None else move, False)
        if self.modules is not None:
            self.watch(torch.nn.Module.parameters, meet, False)
        self.watch(torch.utils.data.dataloader._BaseDataLoaderIter.__next__, fetch)
        self.watch(torch.utils.data._utils.worker._worker_loop, phases.leave_out, False)
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            self.watch(getattr(torch.nn.utils, name, None), begin(CLIP_GRAD))
        graph = getattr(torch.cuda, "CUDAGraph", None)
        self.watch(getattr(graph, "capture_begin", None), lambda frame: phases.steps.capture(id(frame.f_locals["self"])),
                   False)
        self.watch(getattr(graph, "capture_end", None), lambda _: phases.steps.capture(None), False)
        self.watch(getattr(graph, "replay", None), lambda frame: phases.replay(id(frame.f_locals["self"])), False)
        record_function = getattr(torch.autograd.profiler, "record_function", None)
        self.watch(getattr(record_function, "__enter__", None), enter_range, False)
        profile = getattr(getattr(torch, "profiler", None), "profile", None)
        self.watch(getattr(profile, "step", None), step_profiler, False)
        self.watch(getattr(profile, "stop", None), stop_profiler, False)
        scaler = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
        self.watch(scaler.step, scaled_step)
        self.watch(scaler.unscale_, begin(LOSS_SCALING))
        self.watch(scaler.update, begin(LOSS_SCALING))

    def on_start(self, code, around):
        try:
            phases = self.phases
            if len(phases.thread.calls) != around:
                phases.finish_until(around)
            if code is not self.module_call:
                self.begins[id(code)](sys._getframe(1))
                return
            evaluates = not phases.trains() or not own_attributes(sys._getframe(1).f_locals["self"]).get("training", True)
            phases.begin(EVALUATION if evaluates else FORWARD)
        except Exception as failure:
            if not is_own(failure):
                raise

    def on_end(self, around):
        try:
            self.phases.finish_until(around)
        except Exception as failure:
            if not is_own(failure):
                raise

    def on_module(self, module, around):
        try:
            self.modules.on_call(module, around)
        except Exception as failure:
            if not is_own(failure):
                raise

    def start(self, next_sequence):
        monitoring = sys.monitoring
        # Tool numbers 0 to 2 and 5 are meant for debuggers, coverage, profilers and optimizers.
        tool = next((number for number in (4, 3, 5) if monitoring.get_tool(number) is None), None)
        if tool is None:
            raise RuntimeError("all tools of sys.monitoring are in use")
        monitoring.use_tool_id(tool, "libprof")
        events = monitoring.events
        self.tool = tool
        native = self.native = Native(self.phases.library, self.module_call, self.with_end, self.on_start, self.on_end,
                        None if self.modules is None else self.on_module, next_sequence)
        if self.modules is not None:
            self.modules.use(native.functions, native.builtin("forget_module"))
        self.phases.forget_calls = native.forget_calls
        self.phases.watch = lambda: self.set_events(True)
        self.phases.unwatch = lambda: self.set_events(False)
        monitoring.register_callback(tool, events.PY_START, native.start)
        monitoring.register_callback(tool, events.PY_RETURN, native.end)
        monitoring.register_callback(tool, events.PY_UNWIND, native.unwind)
        self.set_events(True)

    def set_events(self, are_on):
        self.are_on = are_on
        for code in self.codes:
            self.set_events_of(code)
        events = sys.monitoring.events
        sys.monitoring.set_events(self.tool, events.PY_UNWIND if are_on else 0)  # there is no local event of this kind

    def set_events_of(self, code):
        events = sys.monitoring.events
        has_end = code is self.module_call or code in self.with_end
        of_code = events.PY_START | (events.PY_RETURN if has_end else 0)
        sys.monitoring.set_local_events(self.tool, code, of_code if self.are_on else 0)

    def watch_later(self, function, begin):
        """As watch(), after start()."""
        code = getattr(unwrapped(function), "__code__", None)
        if code is not None and code not in self.codes:
            self.watch_code(code, begin)
            self.native.watch_end(code)
            self.set_events_of(code)

    def watch_compiler(self, name, module):
        """Called when a module that compiles has been imported."""
        watch = {"torch._dynamo.convert_frame": self.watch_dynamo, "triton.compiler.compiler": self.watch_triton,
                 "torch._inductor.runtime.triton_heuristics": self.watch_autotuning}
        watch[name](module)

    def watch_dynamo(self, convert_frame):
        """The function that compiles, and the one around what is compiled outside it: a backward at its first call, the
        recording of a CUDA graph."""
        phases = self.phases

        def compile_function(frame):
            given = frame.f_locals
            phases.begin(COMPILATION, compiled_code(given["code"], frame, given.get("locals")))

        def compile_other(frame):
            trigger = getattr(frame.f_locals.get("trigger"), "name", "compilation")
            phases.begin(COMPILATION, Compiled(trigger.lower().replace("_", " "), 0, None))

        self.watch_later(convert_frame._compile, compile_function)
        callback = sys.modules.get("torch._dynamo.callback")
        handler = getattr(callback, "CompilationCallbackHandler", None)
        self.watch_later(getattr(handler, "install_callbacks", None), compile_other)

    def watch_autotuning(self, triton_heuristics):
        """What inductor does at the first call of a kernel."""
        tuner = getattr(triton_heuristics, "CachingAutotuner", None)
        for method, name in (("precompile", "Triton kernels"), ("autotune_to_one_config", "Triton autotuning")):
            self.watch_later(getattr(tuner, method, None), self.compile_as(name))

    def compile_as(self, name):
        return lambda frame: self.phases.begin(COMPILATION, Compiled(name, 0, None))

    def watch_triton(self, compiler):
        """Kernels of the program's own."""

        def compile_kernel(frame):
            try:
                name = own_attributes(frame.f_locals["src"])["name"]
            except (AttributeError, KeyError):
                name = None
            self.phases.begin(COMPILATION, Compiled(name if isinstance(name, str) else "Triton kernel", 0, None))

        self.watch_later(getattr(compiler, "compile", None), compile_kernel)


def own_attributes(of):
    """An object's own attributes. Runs no code of the program."""
    return object.__getattribute__(of, "__dict__")


def unwrapped(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def hide_from_dynamo(torch, scope):
    """Makes dynamo skip libprof's functions, which may run inside code that is being compiled."""
    skip = getattr(getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None), "skip_code", None)
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


def wrap(torch, phases, warn):
    """For Pythons without sys.monitoring: wraps functions. If dynamo reaches a wrapper it compiles the original
    function alone."""
    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)

    def around(function, begin):
        @functools.wraps(function)
        def observed(*arguments, **options):
            if is_compiling is not None and is_compiling():
                return function(*arguments, **options)
            try:
                begin(*arguments)
            except Exception:
                pass
            try:
                return function(*arguments, **options)
            finally:
                phases.finish()

        return observed

    has_warned = []

    def begin_backward(*_):
        if not has_warned:
            has_warned.append(True)
            warn("modules' calls are not observed before Python 3.12: there is no phase forward or evaluation")
        phases.begin(BACKWARD)

    graph = getattr(torch.autograd, "graph", None)
    names = ("_engine_run_backward",) if hasattr(graph, "_engine_run_backward") else ("backward", "grad")
    for module in (torch.autograd, graph):
        for name in names:
            if module is not None and hasattr(module, name):
                setattr(module, name, around(getattr(module, name), begin_backward))
    optimizer = torch.optim.Optimizer
    hook = getattr(optimizer, "profile_hook_step", None)
    hook_class = getattr(optimizer, "_hook_for_profile", None)  # before PyTorch 2, profile_hook_step is part of it

    def around_step(step):
        return around(step, lambda self, *_: phases.begin_step(self))

    def hook_for_profile(self):
        was_hooked = getattr(type(self).step, "hooked", False)
        hook_class(self)
        if not was_hooked:
            type(self).step = around_step(type(self).step)

    if hook is not None:
        optimizer.profile_hook_step = staticmethod(lambda function: around_step(hook(function)))
    elif hook_class is not None:
        optimizer._hook_for_profile = hook_for_profile
    iterator = torch.utils.data.dataloader._BaseDataLoaderIter
    iterator.__next__ = around(iterator.__next__, lambda self: phases.begin(DATA, self))


def wrap_compiler(phases, name, convert_frame):
    """For Pythons without sys.monitoring: dynamo alone."""
    if name != "torch._dynamo.convert_frame":
        return
    compile_frame = convert_frame._compile
    has_skip = "skip" in compile_frame.__code__.co_varnames

    @functools.wraps(compile_frame)
    def observed(*arguments, **options):
        if has_skip and "skip" in options:
            options["skip"] += 1  # frames that PyTorch leaves out when it logs the caller
        try:
            phases.begin(COMPILATION, compiled_code(arguments[0], None, arguments[2]))
        except Exception:
            pass
        try:
            return compile_frame(*arguments, **options)
        finally:
            phases.finish()

    convert_frame._compile = observed


def start(torch, warn, modules=None):
    """Called once, when torch has been imported. `modules`: the scope of prof_modules.py. Raises if this PyTorch cannot
    be observed. Returns the function to be called with the name and the module of each compiler that is imported.
    """
    library = Library()
    names = None
    try:
        names = modules["names"]()
    except Exception as failure:
        if not is_own(failure):
            raise
        warn("PyTorch's modules are not observed: " + str(failure))
    if hasattr(sys, "monitoring"):
        phases = Phases(torch, library)
        monitor = Monitor(torch, phases, names)
        monitor.watch_all(torch)
        hide_from_dynamo(torch, {name: value for name, value in globals().items() if name != "start"})
        if names is not None:
            hide_from_dynamo(torch, modules)
        monitor.start(None if names is None else modules["sequence_function"](torch))
        return monitor.watch_compiler
    phases = Phases(torch, library)
    wrap(torch, phases, warn)
    return functools.partial(wrap_compiler, phases)
