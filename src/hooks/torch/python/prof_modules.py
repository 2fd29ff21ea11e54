"""Names the modules of a PyTorch program for libprof, which records their calls (session/python_calls.hpp): the class of
the root of their tree, and their attribute path in there, as `GPT2LMHeadModel.transformer.h.0 (GPT2Block)`.

No module is kept. Trees are walked here, not by PyTorch: dynamo does not look at this file's functions, and may be at work.
"""
import ctypes
import os
import sys
import weakref

# What wraps a module without being one to the user; PyTorch leaves them out of its own names, too.
WRAPPERS = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}


class ModuleNames:
    def __init__(self, depth):
        self.depth = depth
        self.named = {}  # id -> weak reference
        self.texts = {}  # each for ever, for libprof has its address
        self.roots = {}  # label -> weak reference

    def use(self, functions):
        self.name_module = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(functions.name_module)
        self.forget_module = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(functions.forget_module)

    def meet(self, module):
        """The program moves it, or asks for its parameters: it may be a root."""
        if id(module) not in self.named:
            self.add_tree(module)

    def on_call(self, module, is_outermost):
        """It is called, and has no name."""
        try:
            root = self.find_root(module)
            if root is not None:
                self.add_tree(root)  # it is new there
            elif is_outermost:
                self.add_tree(module)
            if id(module) not in self.named:
                self.name(module, None)
        except Exception:
            pass

    def find_root(self, module):
        for reference in list(self.roots.values()):
            root = reference()
            if root is not None and any(part is module for _, part in walk(root)):
                return root
        return None

    def add_tree(self, root):
        label = self.label_of(root)
        for path, module in walk(root):
            parts = [part for part in path if part not in WRAPPERS]
            if len(parts) > self.depth:
                self.name(module, None)
            else:
                self.name(module, ".".join([label, *parts]) + " (" + class_of(module) + ")")
            if module is not root:
                self.end_root(module)

    def label_of(self, root):
        name, number = class_of(root), 1
        while True:
            label = name if number == 1 else name + "#" + str(number)
            owner = self.roots[label]() if label in self.roots else None
            if owner is None or owner is root:
                self.roots[label] = weakref.ref(root)
                return label
            number += 1

    def end_root(self, module):
        for label, reference in list(self.roots.items()):
            if reference() is module:
                del self.roots[label]

    def name(self, module, text):
        key = id(module)
        if key not in self.named:
            self.named[key] = weakref.ref(module, lambda _: self.forget(key))
        self.name_module(key, None if text is None else self.texts.setdefault(text, text.encode()))

    def forget(self, key):
        if self.named.pop(key, None) is not None:
            self.forget_module(key)


def class_of(module):
    """Of what it wraps, if it does."""
    while True:
        within = next((part for name, part in module._modules.items() if name in WRAPPERS), None)
        if within is None:
            return type(module).__name__
        module = within


def walk(root):
    """Each module of the tree once, as the path to it and the module; parents before what they contain."""
    found, seen, waiting = [], {id(root)}, [((), root)]
    while waiting:
        path, module = waiting.pop()
        found.append((path, module))
        for name, part in reversed(list(module._modules.items())):
            if part is not None and id(part) not in seen:
                seen.add(id(part))
                waiting.append(((*path, name), part))
    return found


def sequence_function(torch):
    """The address of the C++ function that says which number autograd gives to the next node; None where there is none."""
    try:
        library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
        return ctypes.cast(library._ZN2at15sequence_number4peekEv, ctypes.c_void_p).value
    except Exception:
        return None


def names():
    """None if modules are not asked for."""
    asked = os.environ.get("PROF_MODULES", "off")
    if asked in ("", "off"):
        return None
    if not hasattr(sys, "monitoring"):
        raise RuntimeError("that needs Python 3.12 or newer")
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise RuntimeError("that needs the interpreter's lock")
    return ModuleNames(1000 if asked == "all" else int(asked))
