"""What `prof run` has Python programs begin with: once they have imported torch, PyTorch gives its ranges to NVTX; once they
have imported jax, its annotations are ranges; once they have imported Triton's profiler, libprof makes way for that; a
forked child of multiprocessing's ends its recording. And when they end, libprof does its work before Python does.

Nothing is done before that but to look at the name of each module that is imported. Then Python goes on as if this file
were not there: a sitecustomize of the user's own is run, and without one the name stays free. Any Python must be able
to read this file, old ones too: it is met by every Python that the command starts.
"""
import atexit
import os
import sys


def before_exit(library, ctypes_mode):
    """The last of Python's exit handlers, since it is the first to be registered: what was recorded until now goes into the
    capture. In the exit handlers of the process it would be done when Python has ended. Until the process ends after that, a
    daemon's thread that comes back from a blocking call is ended by Python, which a C++ function on its stack that is
    noexcept turns into an abort: the shorter that takes, the better.

    A process with nothing to be taken in has no thread of libprof's, and need not load ctypes."""
    try:
        tasks = "/proc/self/task/"
        for task in os.listdir(tasks):
            with open(tasks + task + "/comm") as name:
                if name.read() == "prof-drain\n":
                    break
        else:
            return
        import ctypes

        ctypes.CDLL(library, ctypes_mode).prof_before_exit()
    except Exception:
        pass


def say(line):
    """Where that needs no wait, as for who reads a full pipe."""
    try:
        import select

        if select.select([], [sys.stderr], [], 0)[1]:
            sys.stderr.write("libprof: " + line + "\n")
    except Exception:
        pass


class ModuleWatch:
    """First on sys.meta_path until all of `scripts` have run: finds their modules as the others do, and acts when one is
    ready."""

    def __init__(self, folder, mode, was_asked):
        self.folder, self.mode, self.was_asked = folder, mode, was_asked
        self.scripts = {"torch": "prof_torch.py", "triton._C.libproton": "prof_proton.py",
                        "jax.profiler": "prof_jax.py"}

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
        """Its exec_module is ours for one call. A loader that cannot be changed loads the module, which is not observed."""
        load = getattr(loader, "exec_module", None)

        def exec_module(module):
            del loader.exec_module
            load(module)
            self.act(name, module)

        try:
            # Python leaves its own import machinery out of tracebacks, by the name of the file: what goes wrong while
            # torch is imported is to look as ever.
            exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
            if load is not None:
                loader.exec_module = exec_module
        except Exception:
            pass

    def act(self, name, module):
        try:
            script = self.scripts.pop(name, None)
            if not self.scripts and self in sys.meta_path:
                sys.meta_path.remove(self)
            if script is None:
                return
            if name == "jax.profiler":
                return self.observe_annotations(script, module)
            self.run(script)["start"](module, self.mode, self.run("prof_recording.py")["Recording"]())
        except Exception as failure:
            if self.was_asked and name == "torch":
                say("PyTorch's ranges are not observed: " + str(failure).split("\n")[0])
        if name == "torch":
            self.observe_phases(module)

    def observe_phases(self, torch):
        asked = os.environ.get("PROF_PHASES", "")
        if asked == "off":
            return
        try:
            self.run("prof_phases.py")["start"](torch, say, self.run("prof_modules.py"))
        except Exception as failure:
            if asked or hasattr(torch, "nn"):  # else it is no PyTorch
                say("PyTorch's phases are not observed: " + str(failure).split("\n")[0])

    def observe_annotations(self, script, profiler):
        asked = os.environ.get("PROF_PHASES", "")
        if asked == "off" or not hasattr(profiler, "StepTraceAnnotation"):
            return
        try:
            self.run(script)["start"](profiler)
        except Exception as failure:
            if asked:
                say("JAX's annotations are not observed: " + str(failure).split("\n")[0])

    def run(self, script):
        return run(self.folder, script)


def shown_file(script):
    """For tracebacks. It is no file's name, so that tools that measure a program's files, as coverage does, leave ours out."""
    return "<libprof/" + script + ">"


def run(folder, script):
    scope = {"__name__": script[:-3]}
    with open(os.path.join(folder, script), encoding="utf-8") as source:
        exec(compile(source.read(), shown_file(script), "exec"), scope)
    return scope


def hide_file(scope):
    """As shown_file, for what is in this one."""

    def renamed(code):
        constants = tuple(renamed(each) if isinstance(each, type(code)) else each for each in code.co_consts)
        return code.replace(co_filename=shown_file("sitecustomize.py"), co_consts=constants)

    for value in scope:
        if isinstance(value, type):
            hide_file(list(vars(value).values()))
        elif hasattr(getattr(value, "__code__", None), "replace"):
            value.__code__ = renamed(value.__code__)


def watch_forks(folder):
    """Nothing is read or imported before a fork, and only where multiprocessing is in use."""
    state = {}

    def in_child():
        try:
            util = sys.modules.get("multiprocessing.util")
            if util is not None and not state:
                state["followed"] = True
                run(folder, "prof_forks.py")["follow"](util)
        except Exception:
            pass

    register = getattr(os, "register_at_fork", None)
    if register is not None:
        register(after_in_child=in_child)


def begin():
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    library = os.environ.get("PROF_IMAGE_LIBRARY")
    if library and hasattr(os, "RTLD_NOLOAD"):
        atexit.register(before_exit, library, os.RTLD_NOLOAD | os.RTLD_NOW)
    asked = os.environ.get("PROF_PYTORCH", "")
    if sys.version_info < (3, 4):  # its finders are others, and PyTorch never ran there
        return
    if asked == "off" or not os.environ.get("NVTX_INJECTION64_PATH"):
        return
    watch_forks(folder)
    watch = ModuleWatch(folder, asked or "ranges", bool(asked))
    sys.meta_path.insert(0, watch)
    for name in list(watch.scripts):
        if name in sys.modules:
            watch.act(name, sys.modules[name])


try:
    hide_file([value for value in list(globals().values()) if getattr(value, "__module__", None) == __name__])
except Exception:
    pass
try:
    begin()
except Exception:
    pass
# The next sitecustomize takes this one's name. If there is none, the import fails as it does without this file, and
# Python, which knows that case, goes on.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402, F401
