# SPDX-License-Identifier: Apache-2.0
"""Makes ranges of JAX's annotations: docs/guide/jax.md. jax.profiler.TraceAnnotation and its derived classes report to a
recorder of XLA's only. Under `prof run` they also push and pop a range, and a StepTraceAnnotation is a step, too.
The class and its behaviour stay the same: its three replaced methods call the original ones.

While JAX traces, lowers or compiles a function there is a phase `compilation`; XLA has ranges of its own only for the
last. The names of operations that are missing in XLA's own ranges are stored with the capture.
"""
import atexit
import ctypes
import functools
import os
import re
import sys
import threading
import time

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
OBSERVERS = globals().get("OBSERVERS", [])  # what is attached and detached with recordings

BY_ANNOTATION = 3  # enum prof_step_witness
KEY = "_libprof_range"  # in an annotation's __dict__


class Library:
    """libprof's functions. They are short, so the interpreter's lock is kept."""

    def __init__(self):
        path = SETTINGS.get("NVTX_INJECTION64_PATH") or SETTINGS["PROF_IMAGE_LIBRARY"]
        waits = any(SETTINGS.get("PROF_" + name) for name in ("STEP_RANGE", "NVTX_CAPTURE"))  # for a window to open
        library = (ctypes.CDLL if waits else ctypes.PyDLL)(path)  # another tool's library lacks these functions
        self.push, self.pop = library.prof_range_push, library.prof_range_pop
        self.keep_text = library.prof_keep_text
        self.push_phase, self.pop_phase = library.prof_phase_push, library.prof_phase_pop
        self.has_step_range = SETTINGS.get("PROF_STEP_RANGE", "step") not in ("", "step", "step@prof.phases")
        self.witness = ctypes.c_uint32(BY_ANNOTATION)


class Range:
    """The range of one annotation."""

    __slots__ = ("name", "is_step", "open")

    def __init__(self, name, is_step):
        self.name, self.is_step = name, is_step
        self.open = []  # the thread, and what to pop there; the latest is the last

    def begin(self, library):
        has_step = self.is_step and library.push_phase(b"step", library.witness) == 0
        self.open.append((threading.get_ident(), library.push(self.name) == 0, has_step))

    def end(self, library):
        thread, has_range, has_step = self.open.pop()
        if thread != threading.get_ident():
            return  # it was pushed on another thread's stack
        if has_range:
            library.pop()
        if has_step:
            library.pop_phase()


def text_of(name, options, is_step):
    if isinstance(name, bytes):
        text = name
    else:
        text = str(name).encode("utf-8", "replace")
    if is_step and "step_num" in options:
        text += b" " + str(options["step_num"]).encode("utf-8", "replace")
    return text


def is_of_jax(frame, own):
    """Whether JAX made the annotation itself (for compilation, for its calls), and not the program."""
    module = ""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != own:
            break
        function = frame.f_locals.get("func")  # of annotate_function
        if function is not None:
            module = getattr(function, "__module__", "")
            break
        frame = frame.f_back
    return module.split(".")[0] in ("jax", "jaxlib")


# --- names of operations --------------------------------------------------------------------------------------------

MOST_BYTES_READ, MOST_BYTES_KEPT, MOST_SECONDS = 16 << 20, 1 << 20, 2.0  # limits for the whole process
COMPUTATION = re.compile(r"(?:ENTRY )?%?([\w.-]+) .*\{$")
INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([\w.-]+) = ")
NAME = re.compile(r'metadata=\{[^}]*?op_name="([^"]*)"')
CALLED = re.compile(r"\b(calls|to_apply)=%?([\w.-]+)")


def split(name):
    """Splits at each '/' outside parentheses."""
    parts, depth = [""], 0
    for letter in name:
        depth += (letter in "([") - (letter in ")]")
        if letter == "/" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def common(names):
    shared = None
    for name in names:
        parts = split(name)
        if shared is None:
            shared = parts
        while parts[:len(shared)] != shared:
            shared = shared[:-1]
    return "/".join(shared or [])


def names_left_out(text):
    """Yields the instructions of an HLO module that get no name from XLA, each with the common prefix of its parts'
    names. XLA itself uses the prefix that all parts share; a reduction's function has a name of its own, which hides
    the prefix."""
    computations, here = {}, None  # name -> its instructions: name, own name, computations that it calls
    for line in text.split("\n"):
        if here is None or not line.startswith(" "):
            found = COMPUTATION.match(line)
            if found:
                here = computations[found.group(1)] = []
            continue
        found = INSTRUCTION.match(line)
        if found:
            own = NAME.search(line)
            here.append((found.group(1), own.group(1) if own else "", CALLED.findall(line)))
    known = {}

    def names_in(instruction, depth=0):
        """The names of an instruction's parts, and of the functions that these apply."""
        parts, applied = {instruction[1]} - {""}, set()
        for how, called in instruction[2]:
            if called not in known and depth < 8:
                known[called] = (set(), set())
                for inner in computations.get(called, ()):
                    for to, names in zip(known[called], names_in(inner, depth + 1)):
                        to |= names
            inner_parts, inner_applied = known.get(called, (set(), set()))
            (parts if how == "calls" else applied).update(inner_parts)
            applied |= inner_applied
        return parts, applied

    for instructions in computations.values():
        for instruction in instructions:
            if instruction[2]:
                parts, applied = names_in(instruction)
                of_functions = [name for name in parts if "(" in name.split("/")[0]]
                if of_functions and not common(parts | applied):
                    yield instruction[0], common(of_functions)


class Names:
    """Collects the names that XLA leaves out, when a program is compiled: an executable may be gone when the program
    ends."""

    def __init__(self):
        self.kept, self.bytes_read, self.seconds = {}, 0, 0.0

    def take(self, only_newest):
        bridge = sys.modules.get("jax._src.xla_bridge")
        for client in list(getattr(bridge, "_backends", {}).values()):  # the backends that the program uses
            executables = client.live_executables()  # the newest comes first
            for executable in executables[:1] if only_newest else executables:
                for module in executable.hlo_modules():
                    self.read(module)

    def read(self, module):
        if self.seconds > MOST_SECONDS:
            return
        begin = time.monotonic()
        text = module.to_string()
        if self.bytes_read + len(text) > MOST_BYTES_READ:
            return
        self.bytes_read += len(text)
        for instruction, name in names_left_out(text):
            key = module.name + "\t" + instruction
            self.kept[key] = common([self.kept.get(key, name), name])
        self.seconds += time.monotonic() - begin

    def save(self, library):
        text = "\n".join(key + "\t" + name for key, name in self.kept.items() if name).encode("utf-8", "replace")
        if len(text) > MOST_BYTES_KEPT:
            text = text[:text.rindex(b"\n", 0, MOST_BYTES_KEPT)]
        if text:
            library.keep_text(b"xla_operations", text)


class Compilation:
    """Used instead of a Range for JAX's annotation of a compilation."""

    def __init__(self, names):
        self.names = names

    def begin(self, library):
        pass

    def end(self, library):
        self.names.take(only_newest=True)


class Methods:
    """The methods of a class that are replaced while a recording runs."""

    def __init__(self, of, replaced, names, library):
        self.of, self.names, self.library = of, names, library
        self.replaced = {name: (vars(of).get(name), method) for name, method in replaced.items()}

    def attach(self):
        for name, (_, method) in self.replaced.items():
            setattr(self.of, name, method)

    def detach(self):
        """The names belong to the recording that ends."""
        self.names.take(only_newest=False)
        self.names.save(self.library)
        for name, (original, _) in self.replaced.items():
            if original is None:  # it is inherited
                delattr(self.of, name)
            else:
                setattr(self.of, name, original)


# --- compilation ----------------------------------------------------------------------------------------------------

STAGES = {"jaxpr_trace_duration": "tracing ", "jaxpr_to_mlir_module_duration": "lowering ",
          "backend_compile_duration": "compiling "}


class Stage:
    """A context manager of JAX's, with the phase around it. The outermost of a thread has one."""

    __slots__ = ("of", "name", "library", "thread", "pushed")

    def __init__(self, of, name, library, thread):
        self.of, self.name, self.library, self.thread, self.pushed = of, name, library, thread, 0

    def __enter__(self):
        try:
            self.begin()
            return self.of.__enter__()
        except BaseException:  # of JAX, or of a signal handler of the program
            self.end()
            raise

    def __exit__(self, *raised):
        try:
            return self.of.__exit__(*raised)
        finally:
            self.end()

    def begin(self):
        self.thread.depth = getattr(self.thread, "depth", 0) + 1
        if self.thread.depth > 1:
            return
        for name in (b"compilation", self.name.encode("utf-8", "replace").replace(b"\0", b"")):
            if self.library.push_phase(name, 0) == 0:
                self.pushed += 1

    def end(self):
        self.thread.depth -= 1
        while self.pushed > 0:
            self.pushed -= 1
            self.library.pop_phase()


class Stages:
    """JAX measures these stages for its listeners (jax.monitoring), which are called at a stage's end; libprof needs
    its beginning, too. It replaces the function that makes the context manager around each stage."""

    NAME = "log_elapsed_time"

    def __init__(self, dispatch, library):
        self.dispatch, self.original = dispatch, getattr(dispatch, self.NAME)
        thread = threading.local()

        @functools.wraps(self.original, updated=())
        def log_elapsed_time(*arguments, **options):
            of = self.original(*arguments, **options)
            try:
                given = dict(zip(("fmt", "fun_name", "event"), arguments), **options)
                stage = STAGES[str(given["event"]).rsplit("/", 1)[-1]]
                return Stage(of, stage + str(given["fun_name"]), library, thread)
            except Exception:
                return of

        self.observed = log_elapsed_time

    def attach(self):
        setattr(self.dispatch, self.NAME, self.observed)

    def detach(self):
        setattr(self.dispatch, self.NAME, self.original)


def observe_stages(library):
    dispatch = sys.modules.get("jax._src.dispatch")
    if hasattr(dispatch, Stages.NAME):
        stages = Stages(dispatch, library)
        stages.attach()
        OBSERVERS.append(stages)


def start(profiler):
    """Called once, when jax.profiler has been imported. Raises if this JAX cannot be observed."""
    annotation, step = profiler.TraceAnnotation, profiler.StepTraceAnnotation
    library, own, names = Library(), annotation.__module__, Names()
    make, enter, leave = annotation.__init__, annotation.__enter__, annotation.__exit__

    def like(method):
        return functools.wraps(method, [name for name in functools.WRAPPER_ASSIGNMENTS if hasattr(method, name)])

    @like(make)
    def __init__(self, *arguments, **options):
        make(self, *arguments, **options)
        try:
            name, is_step = arguments[0] if arguments else options["name"], isinstance(self, step)
            if is_of_jax(sys._getframe(1), own):
                if name.startswith("backend_compile"):
                    self.__dict__[KEY] = Compilation(names)
                return
            self.__dict__[KEY] = Range(text_of(name, options, is_step), is_step and not library.has_step_range)
        except Exception:
            pass

    @like(enter)
    def __enter__(self):
        result = enter(self)
        try:
            if KEY in self.__dict__:
                self.__dict__[KEY].begin(library)
        except Exception:
            pass
        return result

    @like(leave)
    def __exit__(self, *raised):
        try:
            return leave(self, *raised)
        finally:
            try:
                if KEY in self.__dict__:
                    self.__dict__[KEY].end(library)
            except Exception:
                pass

    @atexit.register
    def end():
        try:
            names.take(only_newest=False)
            names.save(library)
        except Exception:
            pass

    methods = Methods(annotation, {"__init__": __init__, "__enter__": __enter__, "__exit__": __exit__}, names, library)
    methods.attach()
    OBSERVERS.append(methods)
    observe_stages(library)
