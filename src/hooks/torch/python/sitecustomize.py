# SPDX-License-Identifier: Apache-2.0
"""`prof run` makes every Python program run this file first. It watches imports. After torch PyTorch passes its ranges
to NVTX; after jax its annotations become ranges; after Triton's profiler libprof pauses while that runs. A forked
child of multiprocessing ends its recording. When the program ends, libprof does its work before Python does.

Before these imports this file only checks the name of each module that is imported. Then Python goes on as if this
file did not exist: a sitecustomize of the user's is run, and without one the name stays free. Old Pythons must also
be able to read this file, because every Python that the command starts runs it.
"""
import atexit
import os
import sys


def is_own(failure):
    """Whether an exception is of libprof's making: one of Python's own kinds, raised by libprof's code, or by what that
    calls in the frameworks and in ctypes. Any other is the program's: Python may run a signal handler in any function,
    and raise there what another thread has asked for, which has no arguments."""
    if sys.version_info < (3, 4):
        return True
    kind = type(failure)
    if not any(kind is each for each in vars(sys.modules["builtins"]).values()):
        return False
    if not failure.args and kind is not MemoryError:
        return False
    where = failure.__traceback__
    while where.tb_next is not None:
        where = where.tb_next
    file = where.tb_frame.f_code.co_filename
    return file.startswith(shown_file("")[:-1]) or any(file.startswith(folder) for folder in folders_observed())


def folders_observed():
    for name in ("torch", "jax", "jaxlib", "triton", "ctypes"):
        file = getattr(sys.modules.get(name), "__file__", None)
        if type(file) is str:
            yield os.path.join(os.path.dirname(file), "")


def has_recorded():
    """Whether the process has libprof's drain thread, without which it has recorded nothing. No file object is made:
    Python can warn of these."""
    tasks = "/proc/self/task/"
    for task in os.listdir(tasks):
        try:
            file = os.open(tasks + task + "/comm", os.O_RDONLY)
        except OSError as failure:  # the thread has ended
            if not is_own(failure):
                raise
            continue
        try:
            name = os.read(file, 16)
        finally:
            os.close(file)
        if name == b"prof-drain\n":
            return True
    return False


def before_exit(library, ctypes_mode):
    """Brings what was recorded until now into the capture. This is the last of Python's exit handlers, because it is
    registered first. In an exit handler of the process it would run after Python has ended. In the time from then to
    the end of the process, Python ends a daemon thread that returns from a blocking call. If that thread has a
    noexcept C++ function on its stack the process aborts. So that time should be short.

    A process without recorded data does not need to load ctypes."""
    try:
        if not has_recorded():
            return
        import ctypes

        ctypes.CDLL(library, ctypes_mode).prof_before_exit()
    except Exception as failure:
        if not is_own(failure):
            raise


def warn(line):
    """Writes one line to stderr if that does not block, as it would on a full pipe. sys.stderr may be an object of the
    program's."""
    try:
        import select

        if select.select([], [2], [], 0)[1]:
            os.write(2, ("libprof: " + line + "\n").encode("utf-8", "replace"))
    except Exception as failure:
        if not is_own(failure):
            raise


def text_of(failure):
    return str(failure).split("\n")[0]


COMPILERS = ("torch._dynamo.convert_frame", "torch._inductor.runtime.triton_heuristics", "triton.compiler.compiler")


class ModuleWatch:
    """A finder that is first on sys.meta_path until all of `scripts` have run. It finds their modules through the other
    finders, and acts when one is loaded."""

    def __init__(self, folder, settings):
        asked = settings.get("PROF_PYTORCH", "")
        self.folder, self.settings, self.mode, self.was_asked = folder, settings, asked or "ranges", bool(asked)
        self.scripts = {"torch": "prof_torch.py", "triton._C.libproton": "prof_proton.py",
                        "jax.profiler": "prof_jax.py"}
        self.scripts.update(dict.fromkeys(COMPILERS, "prof_phases.py"))
        self.watch_compiler = None  # of prof_phases.py, once that has started
        self.compilers = []  # loaded before that

    def find_spec(self, name, path=None, target=None):
        if name not in self.scripts:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                self.follow(name, spec.loader)
                return spec
        return None

    def follow(self, name, loader):
        """Replaces the loader's exec_module for one call. If the loader cannot be changed it loads the module, which is
        then not observed."""
        load = getattr(loader, "exec_module", None)
        if load is None or type(loader).__setattr__ is not object.__setattr__:
            return

        def exec_module(module):
            del loader.exec_module
            load(module)
            self.act(name, module)

        try:
            # Python recognises its own import code by the file name, and omits it from tracebacks. With this name
            # errors during the import of torch have the usual traceback.
            exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
            loader.exec_module = exec_module
        except Exception as failure:
            if not is_own(failure):
                raise

    def act(self, name, module):
        try:
            script = self.scripts.pop(name, None)
            if not self.scripts and self in sys.meta_path:
                sys.meta_path.remove(self)
            if script is None:
                return
            if name == "jax.profiler":
                return self.observe_annotations(script, module)
            if name in COMPILERS:
                return self.observe_compiler(name, module)
            self.run(script)["start"](module, self.mode, self.run("prof_recording.py")["Recording"]())
        except Exception as failure:
            if not is_own(failure):
                raise
            if self.was_asked and name == "torch":
                warn("PyTorch's ranges are not observed: " + text_of(failure))
        if name == "torch":
            self.observe_phases(module)

    def observe_phases(self, torch):
        asked = self.settings.get("PROF_PHASES", "")
        if asked == "off":
            return
        try:
            self.watch_compiler = self.run("prof_phases.py")["start"](
                torch, warn, self.run("prof_modules.py"), self.run)
        except Exception as failure:
            if not is_own(failure):
                raise
            if asked or hasattr(torch, "nn"):  # without torch.nn it is not PyTorch
                warn("PyTorch's phases are not observed: " + text_of(failure))

        for compiler in self.compilers:
            self.observe_compiler(*compiler)

    def observe_compiler(self, name, module):
        if self.watch_compiler is None:
            self.compilers.append((name, module))
            return
        try:
            self.watch_compiler(name, module)
        except Exception as failure:
            if not is_own(failure):
                raise
            if self.settings.get("PROF_PHASES", ""):
                warn(name + " is not observed: " + text_of(failure))

    def observe_annotations(self, script, profiler):
        asked = self.settings.get("PROF_PHASES", "")
        if asked == "off" or not hasattr(profiler, "StepTraceAnnotation"):
            return
        try:
            self.run(script)["start"](profiler)
        except Exception as failure:
            if not is_own(failure):
                raise
            if asked:
                warn("JAX's annotations are not observed: " + text_of(failure))

    def run(self, script):
        return run(self.folder, script, self.settings)


def shown_file(script):
    """The name for tracebacks. It is not a path, so that tools that measure a program's files, such as coverage, ignore
    libprof's."""
    return "<libprof/" + script + ">"


def run(folder, script, settings):
    scope = {"__name__": script[:-3], "SETTINGS": settings, "OBSERVERS": getattr(sys, "_libprof_observers", []),
             "is_own": is_own, "has_recorded": has_recorded}
    with open(os.path.join(folder, script), encoding="utf-8") as source:
        exec(compile(source.read(), shown_file(script), "exec"), scope)
    return scope


def hide_file(scope):
    """Gives the code of this file a name as from shown_file()."""
    for value in scope:
        if isinstance(value, type):
            hide_file(list(vars(value).values()))
        elif hasattr(getattr(value, "__code__", None), "replace"):
            value.__code__ = renamed(value.__code__)


def renamed(code):
    constants = tuple(renamed(each) if isinstance(each, type(code)) else each for each in code.co_consts)
    return code.replace(co_filename=shown_file("sitecustomize.py"), co_consts=constants)


class ForkWatch:
    """Reads and imports nothing before a fork, and acts only if multiprocessing is in use."""

    def __init__(self, folder, settings):
        self.folder, self.settings, self.util = folder, settings, None
        register = getattr(os, "register_at_fork", None)
        if register is not None:
            register(after_in_child=self.in_child)

    def in_child(self):
        """Raises what is the program's; Python then reports it as ignored, as it does for the program's functions."""
        util = sys.modules.get("multiprocessing.util")
        if util is None or util is self.util:
            return
        try:
            run(self.folder, "prof_forks.py", self.settings)["follow"](util)
            self.util = util
        except Exception as failure:
            if not is_own(failure):
                raise


def observe(folder, settings):
    """From here on, once in a process. The settings are PROF_PYTORCH and so on, and where libprof.so lies. Each observer
    is detached while a program that starts and stops recordings itself has none (the package's _frameworks.py)."""
    sys._libprof_observers = []
    library = settings.get("PROF_IMAGE_LIBRARY")
    if library and hasattr(os, "RTLD_NOLOAD"):
        atexit.register(before_exit, library, os.RTLD_NOLOAD | os.RTLD_NOW)
    if sys.version_info < (3, 4):  # before 3.4 finders are different, and PyTorch never ran there
        return
    if settings.get("PROF_PYTORCH") == "off" or not settings.get("NVTX_INJECTION64_PATH"):
        return
    ForkWatch(folder, settings)
    watch = ModuleWatch(folder, settings)
    sys.meta_path.insert(0, watch)
    for name in list(watch.scripts):
        if name in sys.modules:
            watch.act(name, sys.modules[name])


def begin():
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    observe(folder, os.environ)


try:
    hide_file([value for value in list(globals().values()) if getattr(value, "__module__", None) == __name__])
except Exception:
    pass
if __name__ == "sitecustomize":  # else the package libprof has read this file, for the program that starts a recording
    try:
        begin()
    except Exception:
        pass
    # The next sitecustomize replaces this one. If there is none the import fails as it does without this file. Python
    # expects that failure and goes on.
    sys.modules.pop("sitecustomize", None)
    import sitecustomize  # noqa: E402, F401
