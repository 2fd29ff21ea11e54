# SPDX-License-Identifier: Apache-2.0
"""Starts, steps and stops the recording of this process."""
from __future__ import annotations

import ctypes
import os
import sys
from io import TextIOWrapper

from . import _library
from ._library import (Error, RecordingWarning, WrongState, check, encoded, error_of, is_own, lib, path_of, settings,
                       text_of_value)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any, Literal

    from .captures import Capture, Path, Summary

# How PyTorch and JAX are observed; and what True and False stand for.
_OF_FRAMEWORKS = {"pytorch": ("ranges", "off"), "phases": ("on", "off"), "modules": ("all", "off")}


def start(*, output_dir: Path | None = None, schedule: str | None = None, step_range: str | None = None,
          budget: str | None = None, keep: str | None = None, memory: str | int | None = None,
          export: str | Sequence[str] | None = None, pytorch: Literal["ranges", "ops", "off"] | None = None,
          phases: Literal["on", "off"] | bool | None = None,
          modules: Literal["off", "all"] | int | str | None = None, **options: Any) -> None:  # fmt: skip
    """Starts a recording: from here on ranges are recorded, and GPU work where CUDA is used.

    The keywords are the options of docs/reference/options.md, in lower case; options() lists them. What is not given is
    what the environment says (PROF_...), else the default. pytorch, phases and modules are as the flags of `prof run`
    of these names, and are read at the first start of a process. export=[] exports nothing. A recording that began by
    itself, as under `prof run`, is completed first, and keeps its capture.

    Raises InvalidArgument for an option or value that does not exist, Failed if the directory cannot be made or written,
    and WrongState if a recording of start() is running; nothing is started then. A disk that fills up later raises
    nothing: see stop().
    """
    if output_dir is None or (isinstance(output_dir, (str, bytes)) and not output_dir):
        output_dir = get_option("output_dir")
    options.update(output_dir=path_of(output_dir, "output_dir"), schedule=schedule, step_range=step_range,
                   budget=budget, keep=keep, memory=memory,
                   export="none" if export in ("", [], ()) else export)  # fmt: skip
    given = {"pytorch": pytorch, "phases": phases, "modules": modules}
    of_frameworks = {name: _OF_FRAMEWORKS[name][0 if value else 1] if isinstance(value, bool)
                     else text_of_value(name, value) for name, value in given.items() if value is not None}  # fmt: skip
    from . import _frameworks

    check(lib.prof_start(settings({**options, **of_frameworks})))
    global _latest
    _latest = Started()
    _frameworks.observe(of_frameworks, step_range=step_range)


class Started:
    """A recording of start(), and how it ended."""

    __slots__ = ("pid", "is_over", "path", "error")

    def __init__(self) -> None:
        self.pid: int = os.getpid()
        self.is_over: bool = False
        self.path: str | None = None
        self.error: Error | None = None

    def end(self) -> None:
        """Raises nothing of libprof's: `error` has it."""
        from . import _frameworks

        self.is_over = True
        _frameworks.detach()
        result = lib.prof_stop()
        if result != 0:
            self.error = error_of(result)
        path = capture_path()
        # That of a recording that failed may never have come to be, or may be gone.
        self.path = path if self.error is None or (path is not None and os.path.exists(path)) else None


_latest: Started | None = None


def latest_start() -> Started | None:
    """The latest recording of start() in this process; a forked child has none."""
    return _latest if _latest is not None and _latest.pid == os.getpid() else None


def stop(*, strict: bool = False) -> str | None:
    """Ends the recording; its capture and exports are complete on return. The capture's path, or None if nothing was
    recorded.

    A program that has done its work does not fail for its profile: where the recording ended badly, as on a full disk or
    because `prof ctl` has ended it before, this warns of it (RecordingWarning) and returns the path of what there is, or
    None; recording_error() has the error. With strict=True it is raised: Failed, or WrongState.

    Raises WrongState if there was no start() before, or another stop() since.
    """
    started = latest_start()
    if started is None or started.is_over:
        from . import _frameworks

        _frameworks.detach()
        check(lib.prof_stop())  # one that began by itself
        return capture_path()
    started.end()
    if started.error is not None:
        if strict:
            raise started.error
        warn_of(str(started.error))
    return started.path


def recording_error() -> Error | None:
    """Why the latest recording of start() ended badly; None if it ended well, or has not ended."""
    started = latest_start()
    return None if started is None else started.error


def warn_of(line: str) -> None:
    """A RecordingWarning at the program's call of this package. Where the program makes errors of warnings, a line on
    standard error instead."""
    from warnings import warn

    package, level, frame = os.path.dirname(__file__) + os.sep, 1, sys._getframe()
    while frame.f_back is not None and _is_between(frame.f_code.co_filename, package):
        frame, level = frame.f_back, level + 1
    try:
        warn(line, RecordingWarning, stacklevel=level)
    except RecordingWarning:
        say(line)


def _is_between(file: str, package: str) -> bool:
    return file.startswith(package) or file.endswith(os.sep + "contextlib.py")


def say(line: str) -> None:
    """On standard error, if there is one."""
    if sys.stderr is None:
        return
    try:
        print(f"libprof: {line}", file=sys.stderr)
    except (OSError, ValueError) as failure:  # closed; or an object of the program's cannot write
        if type(sys.stderr) is TextIOWrapper and not is_own(failure):
            raise


class recording:
    """A recording as long as a block runs, with the options of start().

    >>> with recording(export=[]) as run:
    ...     with range("forward"):
    ...         pass
    >>> [row.name for row in run.summary if row.count]
    ['forward']

    Afterwards `path` is the capture's path (None if nothing was recorded), `capture` what load() makes of it, and
    `summary` its Summary.

    The beginning of the block raises what start() raises. Its end raises nothing of libprof's: a recording that ended
    badly is warned of (RecordingWarning), and `error` has the reason. With strict=True the reason is raised, unless the
    block itself raises.
    """

    error: Error | None  # why the recording ended badly; None if it ended well, or has not ended

    def __init__(self, *, strict: bool = False, **options: Any) -> None:
        self._strict = strict
        self._options = options
        self._started: Started | None = None
        self.path: str | None = None
        self.error = None

    def __enter__(self) -> recording:
        start(**self._options)
        self._started = latest_start()
        self.path = self.error = None
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:  # fmt: skip
        started = self._started
        if started is None:
            return
        if started.pid != os.getpid():  # a forked child that leaves its parent's block
            started = Started()
            started.end()
            if isinstance(started.error, WrongState):
                started.error = None  # it has recorded nothing
        elif not started.is_over:
            started.end()
            if started.error is not None and (not self._strict or kind is not None):
                warn_of(str(started.error))
        self.path, self.error = started.path, started.error
        if self.error is not None and self._strict and kind is None:
            raise self.error

    @property
    def capture(self) -> Capture:
        if self.path is None:
            raise self.error or WrongState(
                "nothing was recorded: there was no range and no use of CUDA between start and stop")  # fmt: skip
        from .captures import load

        return load(self.path)

    @property
    def summary(self) -> Summary:
        from .captures import Summary

        nothing = self.path is None and self.error is None
        return Summary.of_recording() if nothing else self.capture.summary()


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


def dump(path: Path | None = None) -> str:
    """Writes what was recorded until now as a capture of its own, while recording goes on; with the option keep, what
    that has kept. Returns its path at once: a thread of libprof's writes the file."""
    buffer = ctypes.create_string_buffer(4096)
    check(lib.prof_dump_to(None if path is None else os.fsencode(path_of(path)), buffer, len(buffer)))
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

    out: dict[str, Any] = json.loads(_library.text_of(lib.prof_status_json))
    return out


def keep_text(key: str, text: str) -> None:
    """Stores a text with the capture, as its property "text." and the key: a configuration, a commit."""
    check(lib.prof_keep_text(encoded(key, "key"), encoded(text, "text")))


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
    length, named = ctypes.c_size_t(), encoded(name, "name")
    check(lib.prof_get_option(named, None, 0, length))
    buffer = ctypes.create_string_buffer(length.value + 1)
    check(lib.prof_get_option(named, buffer, len(buffer), None))
    return _library.decode(buffer.value)


def set_options(**values: Any) -> None:
    """Sets options for the recordings to come and, while one runs, those that are read at its end; all, or none."""
    check(lib.prof_set_options(settings(values)))
