# SPDX-License-Identifier: Apache-2.0
"""Names the modules of a PyTorch program for libprof, which records their calls (hooks/python/python_calls.hpp). A name is
the class of the root of the module's tree, the module's attribute path in that tree, and its class, as in
`GPT2LMHeadModel.transformer.h.0 (GPT2Block)`.

No module is kept alive. This file walks the trees itself instead of using PyTorch's functions: dynamo skips the
functions of this file, and may be compiling meanwhile.
"""
import collections
import ctypes
import os
import weakref

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
is_own = globals().get("is_own", lambda failure: True)  # of sitecustomize.py

# Attributes of wrappers that hold the wrapped module. The user does not regard them as modules, and PyTorch leaves them
# out of its own names, too.
WRAPPERS = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}


IS_ROOT, IS_WRAPPED = 1, 2  # enum prof_python_module

class_name = type.__dict__["__name__"].__get__  # the real name, even if a metaclass changes it
own_attributes = None  # a module's, even if its class changes how they are read: set by names()


def gone():
    return None


class Tree:
    def __init__(self, root):
        self.root = weakref.ref(root)  # also cleared when the root has become a part of another tree
        self.label = None
        self.searches = Searches()


class Searches:
    """Limits the searches for modules without a name. The more searches in a row have failed, the fewer of the next are
    done, since a program may create modules at each call."""

    def __init__(self):
        self.failed = self.to_leave_out = 0

    def is_due(self):
        if self.to_leave_out == 0:
            return True
        self.to_leave_out -= 1
        return False

    def end(self, has_found):
        self.failed = 0 if has_found else self.failed + 1
        self.to_leave_out = 2 ** max(0, min(self.failed, 40) - 4) - 1


class Labels:
    """The labels of the trees whose roots have one class. The number of a tree that is gone is used again."""

    def __init__(self, name):
        self.name = name
        self.trees, self.free, self.new = [], [], 0  # `new`: since the last search for free numbers
        self.latest = collections.deque(maxlen=8)

    def is_free(self, number):
        return self.trees[number].root() is None

    def free_number(self):
        """A free number, or None if all that were checked are in use. Only after many new numbers are all of them
        checked."""
        if 2 * self.new >= len(self.trees):
            self.free = [number for number in range(len(self.trees)) if self.is_free(number)]
            self.free.reverse()
            self.new = 0
        for number in self.latest:
            if self.is_free(number):
                return number
        while self.free:
            number = self.free.pop()
            if self.is_free(number):
                return number
        return None

    def give(self, tree):
        number = self.free_number()
        if number is None:
            number = len(self.trees)
            self.trees.append(tree)
            self.new += 1
        self.trees[number] = tree
        self.latest.append(number)
        tree.label = self.name if number == 0 else self.name + "#" + str(number + 1)


class ModuleNames:
    def __init__(self, depth):
        self.depth = depth
        self.named = {}  # id -> (weak reference, tree or None); some references are dead
        self.most_named = 1000
        self.texts = {}  # kept for ever, because libprof has their addresses
        self.labels = {}  # name of a class -> Labels
        self.searches = Searches()  # searches in all trees

    def use(self, functions, forget_module):
        self.name_module = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p,
                                             ctypes.c_uint32)(functions.name_module)
        self.forget_module = forget_module  # no Python function: it would lose the exception of a signal handler

    def entry(self, address):
        """The entry of a module that is alive, or None."""
        entry = self.named.get(address)
        return None if entry is None or entry[0]() is None else entry

    def meet(self, module):
        """Called when the program moves the module or asks for its parameters: it may be a root."""
        if self.entry(id(module)) is None:
            self.add_tree(module)

    def on_call(self, module, around):
        """Called at a call of a module that has no name, or that is a root and is called by another module. `around`:
        the address of the module whose call is the outermost; None: this module's own call is the outermost."""
        entry = self.entry(id(module))
        if around is None:
            if not self.searches.is_due():
                self.add_tree(module)
                return
            trees = {each[1] for each in list(self.named.values()) if each[1] is not None}
            has_found = any(self.add_if_part(tree, module) for tree in trees)
            self.searches.end(has_found)
            if not has_found:
                self.add_tree(module)
            return
        outermost = self.entry(around)
        tree = None if outermost is None else outermost[1]
        is_root = entry is not None and entry[1] is not None
        has_found = False
        if tree is not None and (is_root or tree.searches.is_due()):
            has_found = self.add_if_part(tree, module)
            tree.searches.end(has_found)
        if not has_found and is_root:
            self.name(module, self.text(entry[1], (), module), entry[1], 0)
        elif not has_found:
            self.name(module, None, None, 0)

    def add_if_part(self, tree, module):
        root = tree.root()
        if root is None or root is module:
            return False
        path = next((path for path, part in walk(root) if part is module), None)
        if path is not None:
            self.add_part(tree, path, module)
        return path is not None

    def add_tree(self, root):
        tree = Tree(root)
        name = shown_class(root)
        if name not in self.labels:
            self.labels[name] = Labels(name)
        self.labels[name].give(tree)
        self.add_part(tree, (), root)

    def add_part(self, tree, path, module):
        for within, part in walk(module):
            entry = self.entry(id(part))
            if entry is not None and entry[1] not in (None, tree) and entry[1].root() is part:
                entry[1].root = gone
            at = path + within
            what = IS_ROOT if not at else IS_WRAPPED if is_wrapper(at[-1]) else 0
            self.name(part, self.text(tree, at, part), tree, what)

    def text(self, tree, path, module):
        parts = [str.__str__(part) for part in path if not is_wrapper(part)]
        if len(parts) > self.depth:
            return ""
        return ".".join([tree.label, *parts]) + " (" + shown_class(module) + ")"

    def name(self, module, text, tree, what):
        """Passes the name to libprof. None: the module is in no known tree. "": it is too deep in its tree."""
        key = id(module)
        entry = self.entry(key)
        reference = weakref.ref(module, self.forget_module) if entry is None else entry[0]
        self.named[key] = (reference, tree)
        self.name_module(key, None if text is None else self.texts.setdefault(text, text.encode()), id(reference), what)
        if len(self.named) > self.most_named:
            self.named = {key: entry for key, entry in self.named.items() if entry[0]() is not None}
            self.most_named = 2 * len(self.named) + 1000


def parts_of(module):
    """The submodules by their names. Runs no code of the program."""
    parts = own_attributes(module).get("_modules")
    return list(dict.items(parts)) if issubclass(type(parts), dict) else []


def is_wrapper(name):
    return type(name) is str and name in WRAPPERS


def shown_class(module):
    """The name of a module's class; for a wrapper that of the wrapped module."""
    while True:
        within = next((part for name, part in parts_of(module) if is_wrapper(name) and part is not None), None)
        if within is None:
            return class_name(type(module))
        module = within


def walk(root):
    """Yields each module of the tree once, as (path, module), in the order of named_modules()."""
    seen, waiting = set(), [((), root)]
    while waiting:
        path, module = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield path, module
        waiting.extend(((*path, name), part) for name, part in reversed(parts_of(module)) if part is not None)


def sequence_function(torch):
    """The address of the C++ function that returns autograd's next sequence number; None if there is none."""
    try:
        library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
        return ctypes.cast(library._ZN2at15sequence_number4peekEv, ctypes.c_void_p).value
    except (OSError, AttributeError, TypeError) as failure:
        if not is_own(failure):
            raise
        return None


def names(torch):
    """The ModuleNames of this process; None if modules are not to be observed, or a str that says why they cannot be."""
    asked = SETTINGS.get("PROF_MODULES", "off")
    if asked in ("", "off"):
        return None
    if asked != "all" and not asked.isdecimal():
        return "modules=" + asked
    global own_attributes
    own_attributes = torch.nn.Module.__dict__["__dict__"].__get__
    return ModuleNames(1000 if asked == "all" else int(asked))
