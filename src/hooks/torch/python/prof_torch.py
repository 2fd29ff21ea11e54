# SPDX-License-Identifier: Apache-2.0
"""Makes ranges of PyTorch's record functions: those of record_function, and in the mode `ops` every operator and backward
node. And pauses libprof while a profiler of the program records CUDA. Both are done by libprof.so
(c_api/python_torch.hpp); this file finds what that needs in PyTorch and in the interpreter.
"""
import ctypes
import os
import sys

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
OBSERVERS = globals().get("OBSERVERS", [])  # what is attached and detached with recordings

LIBTORCH = ("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", "_ZN2at14removeCallbackEm",
            "_ZNK2at14RecordFunction4nameEv", "_ZN5torch8profiler4impl12profilerTypeEv")
PYTHON = ("PyObject_Call", "PySequence_GetItem", "PyDict_GetItemString", "PyObject_Type", "PyObject_GetIter",
          "PyIter_Next", "PyObject_RichCompareBool", "Py_DecRef", "PyErr_Clear", "PyEval_SaveThread",
          "PyEval_RestoreThread")
PROFILER_CALLS = ("_prepare_profiler", "_enable_profiler", "_disable_profiler")
CONTAINERS = (set, frozenset, list, tuple)
# Of at::RecordScope; the others are no functions that a program runs.
FUNCTIONS = ("FUNCTION", "BACKWARD_FUNCTION", "TORCHSCRIPT_FUNCTION", "CUSTOM_CLASS", "LITE_INTERPRETER",
             "STATIC_RUNTIME_OP", "STATIC_RUNTIME_MODEL")


class Runtime(ctypes.Structure):
    """The struct prof_torch_runtime of c_api/python_torch.hpp; the next classes mirror that header, too."""

    _fields_ = [(name, ctypes.c_void_p) for name in (*LIBTORCH, *PYTHON, "containers")] + [
        ("container_count", ctypes.c_size_t), ("cuda", ctypes.c_void_p), ("activity_type", ctypes.c_void_p),
        ("originals", ctypes.c_void_p * len(PROFILER_CALLS))]


class Functions(ctypes.Structure):
    _fields_ = [("observe", ctypes.c_void_p), ("leave", ctypes.c_void_p), ("begin_trial", ctypes.c_void_p),
                ("end_trial", ctypes.c_void_p), ("profiler_calls", ctypes.c_void_p * len(PROFILER_CALLS))]


class MethodDefinition(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


def address(library, name):
    """Of a function; None if the library has none of that name."""
    function = getattr(library, name, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


class Observer:
    def __init__(self, torch, mode):
        self.torch, self.is_attached = torch, False
        self.kept = []  # libprof.so and builtin functions have the addresses of what is in it
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.kept))  # also when the interpreter ends
        scopes = torch._C._profiler.RecordScope

        def bits(*names):
            return sum(1 << int(getattr(scopes, name)) for name in names if hasattr(scopes, name))

        self.ranges, self.functions = bits("USER_SCOPE"), 0
        if mode == "ops":
            self.functions = bits(*FUNCTIONS)
        elif SETTINGS.get("PROF_MODULES", "off") not in ("", "off"):
            self.functions = bits("BACKWARD_FUNCTION")  # their sequence numbers lead to modules' calls
        self.functions_of_library = self.prepare()

    def prepare(self):
        library = ctypes.PyDLL(SETTINGS.get("NVTX_INJECTION64_PATH") or SETTINGS["PROF_IMAGE_LIBRARY"])
        prepare = library.prof_python_torch  # another tool's library lacks it
        prepare.restype = ctypes.POINTER(Functions)
        # Its dependencies are searched, too; PyTorch has loaded it.
        libtorch = ctypes.PyDLL(self.torch._C.__file__, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        activity = getattr(self.torch._C._profiler, "ProfilerActivity", None)
        cuda = getattr(activity, "CUDA", None)
        api = self.torch._C._autograd
        self.originals = [getattr(api, name, None) for name in PROFILER_CALLS]
        containers = (ctypes.c_void_p * len(CONTAINERS))(*map(id, CONTAINERS))
        self.kept += [containers, activity, cuda]
        runtime = Runtime(*(address(libtorch, name) for name in LIBTORCH),
                          *(address(ctypes.pythonapi, name) for name in PYTHON),
                          ctypes.addressof(containers), len(CONTAINERS), None if cuda is None else id(cuda),
                          id(activity),
                          (ctypes.c_void_p * len(PROFILER_CALLS))(*(each and id(each) for each in self.originals)))
        return prepare(ctypes.byref(runtime)).contents

    def call(self, name, *arguments):
        kinds = [ctypes.c_uint64] * len(arguments)
        return ctypes.PYFUNCTYPE(ctypes.c_int, *kinds)(getattr(self.functions_of_library, name))(*arguments)

    def attach(self):
        if self.is_attached:
            return
        if self.call("observe", self.ranges, self.functions) != 0:
            raise RuntimeError("this PyTorch has no observers of record functions")
        self.is_attached = True
        if self.functions:
            self.find_sequence()

    def find_sequence(self):
        """By a record function of libprof's own, which is not recorded. A mode of the program would see it."""
        api = self.torch._C
        if any(getattr(api, "_len_torch_" + kind + "_stack", int)() for kind in ("dispatch", "function")):
            return
        self.call("begin_trial")
        try:
            with self.torch.autograd.profiler.record_function("libprof"):
                pass
        finally:
            self.call("end_trial")

    def detach(self):
        if self.is_attached:
            self.is_attached = False
            self.call("leave")

    def observe_profilers(self):
        """Replaces the functions by which the program's profilers begin and end, wherever PyTorch has them."""
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
        api = self.torch._C._autograd
        names = ("torch.autograd", "torch.autograd.profiler", "torch.autograd.profiler_legacy", "torch.profiler.profiler")
        modules = [api, *(sys.modules[name] for name in names if name in sys.modules)]
        for name, original, function in zip(PROFILER_CALLS, self.originals, self.functions_of_library.profiler_calls):
            if original is None:
                continue
            doc = getattr(original, "__doc__", None)
            definition = MethodDefinition(name.encode(), function, 0x1 | 0x2,  # METH_VARARGS | METH_KEYWORDS
                                          None if doc is None else doc.encode())
            self.kept.append(definition)
            call = make(ctypes.addressof(definition), getattr(original, "__self__", None),
                        getattr(original, "__module__", None))
            for module in modules:
                if getattr(module, name, None) is original:
                    setattr(module, name, call)


def start(torch, mode, *_):
    """Called once, when torch has been imported. Raises if this PyTorch has no such observers."""
    observer = Observer(torch, mode)
    observer.observe_profilers()
    observer.attach()
    OBSERVERS.append(observer)
