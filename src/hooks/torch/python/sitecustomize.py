"""What `prof run` has Python programs begin with: once they have imported torch, PyTorch says its ranges to NVTX; once they
have imported Triton's profiler, libprof makes way for that.

Nothing is done before that but to look at the name of each module that is imported. Then Python goes on as if this file
were not there: a sitecustomize of the user's own is run, and without one the name stays free. Any Python must be able
to read this file, old ones too: it is met by every Python that the command starts.
"""
import os
import sys


class ModuleWatch:
    """First on sys.meta_path until all of `scripts` have run: finds their modules as the others do, and acts when one is
    ready."""

    def __init__(self, folder, mode, was_asked):
        self.folder, self.mode, self.was_asked = folder, mode, was_asked
        self.scripts = {"torch": "prof_torch.py", "triton._C.libproton": "prof_proton.py"}

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
        """Its exec_module is ours for one call. A loader that cannot be changed loads the module unheard."""
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
            self.run(script)["start"](module, self.mode, self.run("prof_recording.py")["Recording"]())
        except Exception as failure:
            if self.was_asked and name == "torch":
                sys.stderr.write("libprof: PyTorch's ranges are not heard: " + str(failure).split("\n")[0] + "\n")

    def run(self, script):
        scope = {"__name__": script[:-3]}
        path = os.path.join(self.folder, script)
        with open(path, encoding="utf-8") as source:
            exec(compile(source.read(), path, "exec"), scope)
        return scope


def begin():
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    asked = os.environ.get("PROF_PYTORCH", "")
    if asked == "off" or not os.environ.get("NVTX_INJECTION64_PATH"):
        return
    watch = ModuleWatch(folder, asked or "ranges", bool(asked))
    sys.meta_path.insert(0, watch)
    for name in list(watch.scripts):
        if name in sys.modules:
            watch.act(name, sys.modules[name])


try:
    begin()
except Exception:
    pass
# The next sitecustomize takes this one's name. If there is none, the import fails as it does without this file, and
# Python, which knows that case, goes on.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402, F401
