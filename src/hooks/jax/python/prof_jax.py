# SPDX-License-Identifier: Apache-2.0
"""Makes ranges of JAX's annotations: docs/guide/jax.md. jax.profiler.TraceAnnotation and its derived classes report to a
recorder of XLA's only. Under `prof run` they also push and pop a range, and a StepTraceAnnotation is a step, too.
The class and its behaviour stay the same: its three replaced methods are builtins that call the original ones
(hooks/python/python_annotations.cpp).

While JAX traces, lowers or compiles a function there is a phase `compilation`; XLA has ranges of its own only for the
last. JAX measures these stages for its listeners (jax.monitoring), which are called at a stage's end. libprof needs the
beginning, too, so it replaces the function that makes the context manager around each stage.

The names of operations that are missing in XLA's own ranges, and the phases of what XLA fused across them, are stored
with the capture; with the option `allocations` also what JAX says of its memory.
"""
import atexit
import ctypes
import os
import re
import sys
import time
import types
import zlib

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
OBSERVERS = globals().get("OBSERVERS", [])  # what is attached and detached with recordings
# Whether an exception is of libprof's own making (sitecustomize.py).
is_own = globals().get("is_own", lambda failure: True)

# The struct prof_annotation_runtime of hooks/python/python_annotations.hpp: these functions of Python's C API …
FUNCTIONS = """Py_IncRef Py_DecRef PyObject_Vectorcall PyObject_Type PyType_IsSubtype PyErr_Clear PyErr_ExceptionMatches
PyErr_NoMemory PyEval_GetFrame PyObject_GetAttrString PyObject_SetAttrString PyMapping_GetItemString PyFunction_GetModule
PyObject_GenericGetDict PyDict_GetItemString PyDict_SetItemString PyDict_DelItemString PyCapsule_New PyCapsule_GetPointer
PyUnicode_AsEncodedString PyUnicode_CompareWithASCIIString PyBytes_AsString PyBytes_Size PyObject_Str PyTuple_Size
PyTuple_GetItem PyEval_SaveThread PyEval_RestoreThread""".split()
# … these objects, and then what Native adds.
OBJECTS = (None, str, bytes, int, types.FunctionType, types.MethodType, (RecursionError, MemoryError))
# The struct prof_annotation_methods: the methods' names.
METHODS = ("__init__", "__enter__", "__exit__", "log_elapsed_time", "__enter__", "__exit__", "libprof_attempt")


class MethodDefinition(ctypes.Structure):
    """Of Python's C API."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


class Stage:
    """Used instead of JAX's context manager around a stage, `of`. Its methods are set below."""

    __slots__ = ("of", "state")


class Native:
    """libprof's functions as builtins of the interpreter. The interpreter's lock is kept, unless a window may open."""

    FASTCALL, KEYWORDS = 0x80, 0x02

    def __init__(self, annotation, step, stage, on_compiled):
        python = ctypes.pythonapi
        # Another tool's library lacks the functions.
        self.library = ctypes.CDLL(SETTINGS.get("NVTX_INJECTION64_PATH") or SETTINGS["PROF_IMAGE_LIBRARY"])
        self.keep_text = self.library.prof_keep_text
        waits = any(SETTINGS.get("PROF_" + name) for name in ("STEP_RANGE", "NVTX_CAPTURE"))
        has_steps = SETTINGS.get("PROF_STEP_RANGE", "step") in ("", "step", "step@prof.phases")
        replaced = (annotation.__init__, annotation.__enter__, annotation.__exit__)
        texts = [ctypes.c_char_p(text.encode()) for text in (annotation.__module__, "jax:jaxlib", "backend_compile")]
        given = [None if "Thread" in name and not waits else address(getattr(python, name)) for name in FUNCTIONS]
        given += [id(one) for one in OBJECTS]
        given += [id(step), id(step) if has_steps else None, *(address(text) for text in texts), id(on_compiled)]
        given += [*(id(one) for one in replaced), None if stage is None else id(stage), id(Stage)]
        self.kept = [annotation, step, stage, on_compiled, replaced, texts]
        runtime = (ctypes.c_void_p * len(given))(*given)

        methods = self.library.prof_python_annotations
        methods.restype = ctypes.POINTER(ctypes.c_void_p)
        functions = methods(runtime)
        flags = [self.FASTCALL | self.KEYWORDS] * 6 + [self.FASTCALL]
        docs = [method.__doc__.encode() if method.__doc__ else None for method in replaced] + [None] * 4
        self.definitions = [MethodDefinition(name.encode(), function, flag, doc)
                            for name, function, flag, doc in zip(METHODS, functions, flags, docs)]

        def method(of, index):
            make = python.PyDescr_NewMethod
            make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
            return make(of, ctypes.addressof(self.definitions[index]))

        def builtin(index):
            make = python.PyCFunction_NewEx
            make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
            return make(ctypes.addressof(self.definitions[index]), self, None)

        self.of_annotation = {METHODS[index]: method(annotation, index) for index in range(3)}
        self.stage = builtin(3)
        Stage.__enter__, Stage.__exit__ = method(Stage, 4), method(Stage, 5)
        self.attempt = builtin(6)  # calls a builtin: None if that fails


def address(pointer):
    return ctypes.cast(pointer, ctypes.c_void_p).value


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


def phase_of(name):
    """As libprof reads a name (analysis/projection/xla_names.cpp)."""
    parts = split(name)[1:]
    if "rematted_computation" in parts:
        return "recompute"
    if any("transpose(" in part and "jvp(" in part for part in parts):
        return "backward"
    return "forward" if any("jvp(" in part for part in parts) else "other"


def instructions_of(text):
    """Yields the fusions, and what else calls computations, of an HLO module: the instruction, the names of its parts,
    those of the functions that these apply."""
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
    known = {}  # of a computation: the names in it, and those of the functions that it applies
    for instructions in computations.values():
        for instruction in instructions:
            if instruction[2]:
                yield instruction[0], *names_in(instruction, computations, known)


def names_left_out(instructions):
    """Yields those that get no name from XLA, each with the common prefix of its parts' names. XLA itself uses the prefix
    that all parts share; a reduction's function has a name of its own, which hides the prefix."""
    for instruction, parts, applied in instructions:
        of_functions = [name for name in parts if "(" in name.split("/")[0]]
        if of_functions and not common(parts | applied):
            yield instruction, common(of_functions)


def phases_left_out(instructions):
    """Yields those whose common prefix has no phase, each with the phases of its parts."""
    for instruction, parts, _ in instructions:
        of_functions = [name for name in parts if "(" in name.split("/")[0]]
        if of_functions and phase_of(common(of_functions)) == "other":
            yield instruction, {phase_of(name) for name in of_functions}


def names_in(instruction, computations, known, depth=0):
    """The names of an instruction's parts, and of the functions that these apply."""
    # XLA joins the names of operations of which it made one.
    parts, applied = set(instruction[1].split(";")) - {""}, set()
    for how, called in instruction[2]:
        if called not in known and depth < 8:
            known[called] = (set(), set())
            for inner in computations.get(called, ()):
                for to, names in zip(known[called], names_in(inner, computations, known, depth + 1)):
                    to |= names
        inner_parts, inner_applied = known.get(called, (set(), set()))
        (parts if how == "calls" else applied).update(inner_parts)
        applied |= inner_applied
    return parts, applied


class Names:
    """Collects the names that XLA leaves out, when a program is compiled: an executable may be gone when the program
    ends."""

    def __init__(self):
        self.kept, self.phases, self.bytes_read, self.seconds = {}, {}, 0, 0.0
        self.native = None

    def on_compiled(self):
        self.take(True)

    def take(self, only_newest):
        """Raises what a signal handler of the program raises meanwhile."""
        try:
            bridge = sys.modules.get("jax._src.xla_bridge")
            for client in list(getattr(bridge, "_backends", {}).values()):  # the backends that the program uses
                executables = self.attempt(client, "live_executables")  # the newest comes first
                for executable in executables[:1] if only_newest else executables:
                    for module in self.attempt(executable, "hlo_modules"):
                        self.read(module)
        except Exception as failure:
            if not is_own(failure):
                raise

    def attempt(self, of, method):
        return self.native.attempt(getattr(of, method, list)) or []

    def read(self, module):
        if self.seconds > MOST_SECONDS:
            return
        begin = time.monotonic()
        text = self.attempt(module, "to_string") or ""
        if self.bytes_read + len(text) > MOST_BYTES_READ:
            return
        self.bytes_read += len(text)
        instructions = list(instructions_of(text))
        for instruction, name in names_left_out(instructions):
            key = module.name + "\t" + instruction
            self.kept[key] = common([self.kept.get(key, name), name])
        for instruction, phases in phases_left_out(instructions):
            self.phases.setdefault(module.name + "\t" + instruction, set()).update(phases)
        self.seconds += time.monotonic() - begin

    def save(self):
        self.keep(b"xla_operations", self.kept)
        self.keep(b"xla_fusions", {key: ",".join(sorted(phases)) for key, phases in self.phases.items()})

    def keep(self, what, lines):
        text = "\n".join(key + "\t" + name for key, name in lines.items() if name).encode("utf-8", "replace")
        if len(text) > MOST_BYTES_KEPT:
            text = text[:text.rindex(b"\n", 0, MOST_BYTES_KEPT)]
        if text:
            self.native.keep_text(what, text)

    def complete(self):
        """The names belong to the recording that ends."""
        self.take(False)
        self.save()


# --- memory ---------------------------------------------------------------------------------------------------------

MOST_HOLDERS = 200  # places that hold memory
OF_LIBRARIES = re.compile(r"/site-packages/|/dist-packages/|/lib/python3\.|^<")


def fields_of(data):
    """Yields the fields of a message of protocol buffers: the number, and its value or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        elif key & 7 == 2:
            size = number()
            at += size
            yield key >> 3, data[at - size:at]
        else:
            at += {1: 8, 5: 4}[key & 7]


def numbers_of(value):
    """A repeated field's numbers, which may be packed into bytes."""
    if isinstance(value, int):
        return [value]
    out, one, shift = [], 0, 0
    for byte in value:
        one |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(one)
            one = shift = 0
    return out


def holders_of(profile):
    """Yields of a heap profile (pprof) what is alive: kind, device, bytes, count, and the innermost frame of the program's
    own code, else of any: file, line, function."""
    samples, locations, functions, texts = [], {}, {}, []
    for field, value in fields_of(profile):
        if field == 2:
            samples.append(value)
        elif field == 4:
            inner = list(fields_of(value))
            lines = [dict(fields_of(line)) for number, line in inner if number == 4]
            locations[dict(inner).get(1, 0)] = lines
        elif field == 5:
            function = dict(fields_of(value))
            functions[function.get(1, 0)] = (function.get(2, 0), function.get(4, 0))
        elif field == 6:
            texts.append(value.decode("utf-8", "replace"))
    for sample in samples:
        places, values, labels = [], [], {}
        for field, value in fields_of(sample):
            if field == 1:
                places += numbers_of(value)
            elif field == 2:
                values += numbers_of(value)
            elif field == 3:
                label = dict(fields_of(value))
                labels[texts[label.get(1, 0)]] = texts[label.get(2, 0)]
        frames = []
        for place in places:
            for line in locations.get(place, ()):
                name, file = functions.get(line.get(1, 0), (0, 0))
                frames.append((texts[file], line.get(2, 0), texts[name]))
        own = next((frame for frame in frames if not OF_LIBRARIES.search(frame[0])), frames[0] if frames else ("", 0, ""))
        count, size = (values + [0, 0])[:2]
        yield (labels.get("kind", ""), labels.get("device", ""), *own), size, count


def memory_error():
    """The error for want of memory that ended the program, and the innermost line of the program's own code that raised
    it: message, file, line, function, between tabs. The interpreter keeps the exception that nobody caught."""
    failure = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    kind = type(failure)
    if type(kind) is not type or not str(kind.__module__).startswith("jax"):  # a class of the program's own has code
        return ""
    message = failure.args[0] if failure.args else None
    if type(message) is not str or not message.startswith("RESOURCE_EXHAUSTED"):
        return ""
    place, trace = ("", 0, ""), failure.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not OF_LIBRARIES.search(code.co_filename):
            place = (code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    first_line = message.strip().split("\n")[0].replace("\t", " ")
    return "\t".join(map(str, (first_line, *place)))


class Memory:
    """What JAX's own allocators say, and its heap profile, which is always on: asked for when a recording ends."""

    def __init__(self, native):
        self.native = native

    def attempt(self, of, method):
        return self.native.attempt(getattr(of, method, list))

    def complete(self):
        """Raises what a signal handler of the program raises meanwhile."""
        try:
            devices, holders = [], {}
            bridge = sys.modules.get("jax._src.xla_bridge")
            for client in list(getattr(bridge, "_backends", {}).values()):
                for device in self.attempt(client, "local_devices") or []:
                    stats = self.attempt(device, "memory_stats")
                    stats = stats if type(stats) is dict else {}
                    devices.append("\t".join([str(device), *(str(stats.get(key, "")) for key in (
                        "bytes_in_use", "peak_bytes_in_use", "bytes_limit", "bytes_reserved", "num_allocs"))]))
                profile = self.attempt(client, "heap_profile")
                if type(profile) is not bytes:
                    continue
                if profile[:2] == b"\x1f\x8b":
                    profile = zlib.decompress(profile, 31)
                for holder, size, count in holders_of(profile):
                    known = holders.setdefault(holder, [0, 0])
                    known[0] += size
                    known[1] += count
            self.native.keep_text(b"jax_devices", "\n".join(devices).encode("utf-8", "replace"))
            largest = sorted(holders.items(), key=lambda item: -item[1][0])[:MOST_HOLDERS]
            lines = ["\t".join(map(str, (*sizes, *holder))).replace("\n", " ") for holder, sizes in largest]
            self.native.keep_text(b"jax_memory", "\n".join(lines).encode("utf-8", "replace"))
            error = memory_error()
            if error:
                self.native.keep_text(b"jax_memory_error", error.encode("utf-8", "replace"))
        except Exception as failure:
            if not is_own(failure):
                raise


class Replaced:
    """What is replaced in JAX while a recording runs."""

    def __init__(self, names, memory):
        self.names = names
        self.memory = memory
        self.attributes = []  # of what, the name, the original or None where it is inherited, what replaces it

    def add(self, of, name, value):
        self.attributes.append((of, name, vars(of).get(name), value))

    def attach(self):
        for of, name, _, value in self.attributes:
            setattr(of, name, value)

    def detach(self):
        for of, name, original, _ in self.attributes:
            if original is None:
                delattr(of, name)
            else:
                setattr(of, name, original)
        self.names.complete()
        if self.memory is not None:
            self.memory.complete()


def start(profiler):
    """Called once, when jax.profiler has been imported. Raises if this JAX cannot be observed."""
    names, annotation = Names(), profiler.TraceAnnotation
    dispatch = sys.modules.get("jax._src.dispatch")
    stage = getattr(dispatch, "log_elapsed_time", None)
    native = names.native = Native(annotation, profiler.StepTraceAnnotation, stage, names.on_compiled)
    memory = Memory(native) if SETTINGS.get("PROF_ALLOCATIONS") == "on" else None
    replaced = Replaced(names, memory)
    for name, method in native.of_annotation.items():
        replaced.add(annotation, name, method)
    if stage is not None:
        replaced.add(dispatch, "log_elapsed_time", native.stage)
    replaced.attach()
    OBSERVERS.append(replaced)
    atexit.register(names.complete)
    if memory is not None:
        atexit.register(memory.complete)
