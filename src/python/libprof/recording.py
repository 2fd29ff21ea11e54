# SPDX-License-Identifier: Apache-2.0
"""Starts, steps and stops the recording of this process."""
from __future__ import annotations

import ctypes
import os

from . import _library
from ._library import Error, WrongState, check, lib, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .captures import Capture, Summary

# How PyTorch and JAX are observed: settings of the Python files, which libprof.so does not have.
_OF_FRAMEWORKS = ("pytorch", "phases", "modules")


def start(*, output_dir: str | os.PathLike[str] | None = None, schedule: str | None = None,
          step_range: str | None = None, budget: str | None = None, keep: str | None = None,
          memory: str | int | None = None, export: str | list[str] | None = None, pytorch: str | None = None,
          phases: str | None = None, modules: str | int | None = None, **options: Any) -> None:  # fmt: skip
    """Starts a recording: from here on ranges are recorded, and GPU work where CUDA is used.

    The keywords are the options of docs/reference/options.md, in lower case; options() lists them. What is not given is
    what the environment says (PROF_...), else the default. pytorch, phases and modules are as the flags of `prof run`
    of these names, and are read at the first start of a process. export=[] exports nothing. A recording that began by itself, as under `prof run`,
    is completed first, and keeps its capture.

    Raises InvalidArgument for an option or value that does not exist, Failed if the directory cannot be written, and
    WrongState if a recording of start() is running; nothing is started then.
    """
    # Absolute: the program may change its directory before it reads the capture.
    folder = os.path.abspath(os.fspath(output_dir or get_option("output_dir")))
    options.update(output_dir=folder, schedule=schedule, step_range=step_range, budget=budget, keep=keep,
                   memory=memory, export="none" if export in ("", [], ()) else export)  # fmt: skip
    of_frameworks = dict(zip(_OF_FRAMEWORKS, (pytorch, phases, modules)))
    from . import _frameworks

    _frameworks.check(of_frameworks)
    check(lib.prof_start(settings(options)))
    global _latest
    _latest = (os.getpid(), object())
    _frameworks.observe(of_frameworks, step_range=step_range)


_latest: tuple[int, object] | None = None


def latest_start() -> object:
    """Of this package: distinguishes the recording from those before it and from a forked child's."""
    return _latest if _latest and _latest[0] == os.getpid() else None


def stop() -> str | None:
    """Ends the recording; its capture and exports are complete on return. The capture's path, or None if nothing was
    recorded. Raises WrongState if no recording is running, and Failed if the capture could not be written."""
    from . import _frameworks

    _frameworks.detach()
    check(lib.prof_stop())
    return capture_path()


class recording:
    """A recording as long as a block runs, with the options of start().

    >>> with recording(export=[]) as run:
    ...     with range("forward"):
    ...         pass
    >>> [row.name for row in run.summary if row.count]
    ['forward']

    Afterwards `path` is the capture's path (None if nothing was recorded), `capture` what load() makes of it, and
    `summary` its Summary.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self.path: str | None = None

    def __enter__(self) -> recording:
        start(**self._options)
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            self.path = stop()
        except Error:
            if kind is None:  # else the program's own exception goes on
                raise

    @property
    def capture(self) -> Capture:
        if self.path is None:
            raise WrongState("nothing was recorded: there was no range and no use of CUDA between start and stop")
        from .captures import load

        return load(self.path)

    @property
    def summary(self) -> Summary:
        from .captures import Summary

        return self.capture.summary() if self.path else Summary.of_recording()


def step() -> None:
    """Marks the beginning of the next step. Does nothing while nothing is recorded."""
    lib.prof_step()


def pause() -> None:
    """Ends the window in which everything is recorded; resume() opens the next. Raises WrongState if there is none, or
    if options decide when to record."""
    check(lib.prof_pause())


def resume() -> None:
    """Opens the next window after pause()."""
    check(lib.prof_resume())


def sync() -> None:
    """Brings everything that was recorded until now into the capture."""
    check(lib.prof_sync())


def dump(path: str | os.PathLike[str] | None = None) -> str:
    """Writes what was recorded until now as a capture of its own, while recording goes on; with the option keep, what
    that has kept. Returns its path at once: a thread of libprof's writes the file."""
    buffer = ctypes.create_string_buffer(4096)
    check(lib.prof_dump_to(None if path is None else os.fsencode(path), buffer, len(buffer)))
    return os.fsdecode(buffer.value)


def is_recording() -> bool:
    """Between start and stop, also while paused."""
    return bool(lib.prof_is_recording())


def capture_path() -> str | None:
    """Of the current recording, or of the last; None while there is no file, which the first range or launch makes."""
    return os.fsdecode(_library.text_of(lib.prof_capture_path)) or None


def status() -> dict[str, Any]:
    """What the recording does now: state, steps, records, bytes, drops by cause, and why GPU work is not recorded."""
    import json

    return json.loads(_library.text_of(lib.prof_status_json))


def keep_text(key: str, text: str) -> None:
    """Stores a text with the capture, as its property "text." and the key: a configuration, a commit."""
    check(lib.prof_keep_text(key.encode(), text.encode("utf-8", "surrogateescape")))


class Option:
    """An option, as docs/reference/options.md has it."""

    __slots__ = ("name", "variable", "accepts", "help", "default", "value")

    name: str
    variable: str
    accepts: str
    help: str
    default: str
    value: str  # now; "": not set

    def __init__(self, described: _library.Option) -> None:
        self.name, self.variable, self.accepts, self.help, self.default = (
            each.decode() for each in (described.name, described.variable, described.accepts, described.help,
                                       described.default_value))  # fmt: skip
        self.value = get_option(self.name)

    def __repr__(self) -> str:
        return f"Option({self.name}={self.value!r}: {self.accepts})"


def options() -> list[Option]:
    """All options that start() takes, with their values now.

    >>> next(each.variable for each in options() if each.name == "output_dir")
    'PROF_OUTPUT_DIR'
    """
    out = []
    described = _library.Option()
    for index in range(lib.prof_option_count()):
        check(lib.prof_describe_option(index, described, ctypes.sizeof(described)))
        out.append(Option(described))
    return out


def get_option(name: str) -> str:
    """The value of an option as text: of the recording while one runs, else what the next would get."""
    length = ctypes.c_size_t()
    check(lib.prof_get_option(name.encode(), None, 0, length))
    buffer = ctypes.create_string_buffer(length.value + 1)
    check(lib.prof_get_option(name.encode(), buffer, len(buffer), None))
    return _library.decode(buffer.value)


def set_options(**values: Any) -> None:
    """Sets options for the recordings to come and, while one runs, those that are read at its end; all, or none."""
    check(lib.prof_set_options(settings(values)))
