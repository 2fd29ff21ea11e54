# SPDX-License-Identifier: Apache-2.0
"""The part of PyTorch 2.11 that has to do with profilers, in Python: what the tests of `prof run --pytorch` import.

FAKE_TORCH: "no_observers", libtorch has no global callbacks; "broken", fails to be imported at first.
"""
import os

if os.environ.get("FAKE_TORCH") == "broken":
    os.environ["FAKE_TORCH"] = ""
    raise ImportError("libsomething.so: cannot open shared object file", name="libsomething")

from . import _C, autograd, ops, profiler, training  # noqa: E402, F401

nn = training.package("nn", Module=training.Module, utils=training.package(
    "nn.utils", clip_grad_norm_=training.clip_grad, clip_grad_value_=training.clip_grad))
optim = training.package("optim", Optimizer=training.Optimizer)
amp = training.package("amp", GradScaler=training.GradScaler)
utils = training.package("utils", data=training.package("utils.data", dataloader=training.package(
    "utils.data.dataloader", _BaseDataLoaderIter=training._BaseDataLoaderIter)))
autograd.graph = training.package("autograd.graph", _engine_run_backward=training._engine_run_backward)
autograd._engine_run_backward = training._engine_run_backward


def is_grad_enabled():
    return True


__version__ = "2.11.0+fake"
