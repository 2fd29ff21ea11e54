# SPDX-License-Identifier: Apache-2.0
"""Observes PyTorch and JAX in a process that starts a recording itself, as `prof run` does for every Python program."""
from __future__ import annotations

import ctypes
import os
import sys

from ._library import is_own, prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def observe(asked: dict[str, str], **options: str | None) -> None:
    """From the first call on, for the rest of the process: also where torch or jax is imported later. Nothing of
    libprof's is raised here: a program without these observations is recorded all the same."""
    is_off = asked.get("pytorch") == "off"
    if _observers() is not None:
        (detach if is_off else _attach)()
        return
    if is_off:
        return
    settings = dict(os.environ)
    for name, value in {**asked, **options}.items():
        if value is not None:
            settings["PROF_" + name.upper()] = value
    # The library has set the first in the environment of the C library, unless it names another tool.
    nvtx = _of_c_environment("NVTX_INJECTION64_PATH")
    settings["PROF_IMAGE_LIBRARY"] = settings["NVTX_INJECTION64_PATH"] = nvtx
    if not os.path.basename(nvtx).startswith("libprof.so"):
        return
    folder = os.path.join(prefix(), "share", "prof", "python")
    scope: dict[str, Any] = {"__name__": "prof_observer"}
    try:
        with open(os.path.join(folder, "sitecustomize.py"), encoding="utf-8") as source:
            exec(compile(source.read(), "<libprof/sitecustomize.py>", "exec"), scope)
        scope["observe"](folder, settings)
    except Exception as failure:
        if not is_own(failure):
            raise
        from .recording import warn_of

        warn_of(f"PyTorch and JAX are not observed: {failure}")


def _observers() -> list[Any] | None:
    return getattr(sys, "_libprof_observers", None)


def _call_each(method: str, *arguments: object) -> None:
    for observer in _observers() or ():
        try:
            getattr(observer, method, lambda *_: None)(*arguments)
        except Exception as failure:  # of a framework's new version, say; the program goes on
            if not is_own(failure):
                raise


def _attach() -> None:
    _call_each("attach")


def detach() -> None:
    """Before a recording ends: what is open ends with it. Without a recording nothing is observed."""
    _call_each("detach")


def leave_steps(to_program: bool) -> None:
    """Whether the program counts steps, so that no step is observed."""
    _call_each("leave_steps", to_program)


def _of_c_environment(name: str) -> str:
    get = ctypes.CDLL(None).getenv
    get.restype = ctypes.c_char_p
    value: bytes | None = get(name.encode())
    return os.fsdecode(value or b"")
