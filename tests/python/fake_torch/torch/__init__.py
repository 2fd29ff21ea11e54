"""The part of PyTorch 2.11 that has to do with profilers, in Python: what the tests of `prof run --pytorch` import.

FAKE_TORCH: "no_cuda", built without CUDA; "broken", fails to be imported at first.
"""
import os

if os.environ.get("FAKE_TORCH") == "broken":
    os.environ["FAKE_TORCH"] = ""
    raise ImportError("libsomething.so: cannot open shared object file", name="libsomething")

from . import _C, autograd, ops, profiler  # noqa: E402, F401

__version__ = "2.11.0+fake"
