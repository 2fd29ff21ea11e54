# SPDX-License-Identifier: Apache-2.0
"""Finds libprof.so, or loads the one of this package, and describes its functions to ctypes.

One process has one libprof: under `prof run`, LD_PRELOAD or a CUDA injection it is there already, and that one is used.
"""
from __future__ import annotations

import builtins
import ctypes
import os
import sys
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

SONAME = "libprof.so.0"
_NOLOAD = 4  # RTLD_NOLOAD of Linux: a handle only if the library is loaded


class Error(RuntimeError):
    """What libprof refused, in one line: what failed, where, and what to do."""


class InvalidArgument(Error, ValueError):
    """A name, value or setting that does not exist."""


class WrongState(Error):
    """The call does not fit the state of the recording; nothing was changed."""


class Failed(Error):
    """The system, the disk or CUPTI refused."""


class RecordingWarning(RuntimeWarning):
    """A recording ended badly, or a trainer's did not begin: the program goes on without it, or with less of it."""


_ERRORS: dict[int, type[Error]] = {1: InvalidArgument, 2: WrongState, 3: Failed}


class Attributes(ctypes.Structure):
    """prof_attributes; its union is `payload`, whose bytes are those of an integer or a double."""

    _fields_ = [("size", c_size_t), ("color", c_uint32), ("category", c_uint32), ("payload_type", c_uint32),
                ("reserved", c_uint32), ("payload", c_uint64)]  # fmt: skip


class Status(ctypes.Structure):
    _fields_ = [("state", c_uint32), ("records_gpu", c_uint32), ("state_ns", c_uint64), ("steps", c_uint64),
                ("windows", c_uint64), ("records", c_uint64), ("bytes", c_uint64), ("dropped", c_uint64),
                ("memory", c_uint64)]  # fmt: skip


class Option(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("variable", c_char_p), ("accepts", c_char_p), ("help", c_char_p),
                ("default_value", c_char_p), ("change", c_uint32), ("reserved", c_uint32)]  # fmt: skip


class Drop(ctypes.Structure):
    _fields_ = [("cause", c_char_p), ("count", c_uint64), ("what", c_char_p), ("remedy", c_char_p)]


class SummaryRow(ctypes.Structure):
    _fields_ = [("path", c_char_p), ("depth", c_uint32), ("captured", c_uint32), ("instances", c_uint64),
                ("host_ns", c_int64), ("gpu_sum_ns", c_int64), ("gpu_self_ns", c_int64), ("gpu_child_ns", c_int64),
                ("gpu_busy_ns", c_int64), ("gpu_span_ns", c_int64), ("ops", c_uint64), ("self_ops", c_uint64),
                ("adopted_ops", c_uint64), ("adopted_ns", c_int64), ("communication_ns", c_int64),
                ("wait_ns", c_int64), ("payload_bytes", c_uint64), ("kind", c_uint32), ("parent", c_uint32),
                ("name", c_char_p)]  # fmt: skip


class ReportTable(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("heading", c_char_p), ("rows", c_uint64), ("columns", c_uint64),
                ("totals", c_uint64)]  # fmt: skip


class ReportColumn(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("title", c_char_p), ("type", c_uint32), ("unit", c_uint32)]


class ReportCell(ctypes.Structure):
    _fields_ = [("type", c_uint32), ("reserved", c_uint32), ("integer", c_int64), ("real", c_double),
                ("text", c_void_p), ("text_size", c_size_t)]  # fmt: skip


_SETTINGS = POINTER(c_char_p)
# Of each function what it returns, and its parameters (prof/prof.h, prof/annotate.h, prof/read.h).
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "prof_version": (c_char_p, []),
    "prof_last_error": (c_char_p, []),
    "prof_start": (c_int, [_SETTINGS]),
    "prof_stop": (c_int, []),
    "prof_pause": (c_int, []),
    "prof_resume": (c_int, []),
    "prof_sync": (c_int, []),
    "prof_step": (c_int, []),
    "prof_keep_text": (c_int, [c_char_p, c_char_p]),
    "prof_dump_to": (c_int, [c_char_p, c_char_p, c_size_t]),
    "prof_is_recording": (c_int, []),
    "prof_capture_path": (c_size_t, [c_char_p, c_size_t]),
    "prof_get_status": (c_int, [POINTER(Status), c_size_t]),
    "prof_status_json": (c_size_t, [c_char_p, c_size_t]),
    "prof_get_option": (c_int, [c_char_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "prof_set_options": (c_int, [_SETTINGS]),
    "prof_option_count": (c_size_t, []),
    "prof_describe_option": (c_int, [c_size_t, POINTER(Option), c_size_t]),
    "prof_range_start": (c_uint64, [c_char_p, POINTER(Attributes)]),
    "prof_range_end": (c_int, [c_uint64]),
    "prof_range_push": (c_int, [c_char_p]),
    "prof_range_push_with": (c_int, [c_char_p, POINTER(Attributes)]),
    "prof_range_pop": (c_int, []),
    "prof_mark": (c_int, [c_char_p, POINTER(Attributes)]),
    "prof_counter": (c_int, [c_char_p, c_double]),
    "prof_name_category": (c_int, [c_uint32, c_char_p]),
    "prof_capture_open": (c_void_p, [c_char_p]),
    "prof_capture_close": (None, [c_void_p]),
    "prof_capture_title": (c_char_p, [c_void_p]),
    "prof_capture_windows": (c_char_p, [c_void_p]),
    "prof_capture_property": (c_char_p, [c_void_p, c_char_p]),
    "prof_capture_property_count": (c_size_t, [c_void_p]),
    "prof_capture_property_key": (c_char_p, [c_void_p, c_size_t]),
    "prof_capture_note_count": (c_size_t, [c_void_p]),
    "prof_capture_note": (c_char_p, [c_void_p, c_size_t]),
    "prof_capture_drop_count": (c_size_t, [c_void_p]),
    "prof_capture_get_drop": (c_int, [c_void_p, c_size_t, POINTER(Drop), c_size_t]),
    "prof_capture_summary": (c_void_p, [c_void_p, _SETTINGS]),
    "prof_summary_open": (c_void_p, []),
    "prof_summary_close": (None, [c_void_p]),
    "prof_summary_total_gpu_ns": (c_int64, [c_void_p]),
    "prof_summary_row_count": (c_size_t, [c_void_p]),
    "prof_summary_get_row": (c_int, [c_void_p, c_size_t, POINTER(SummaryRow), c_size_t]),
    "prof_summary_drop_count": (c_size_t, [c_void_p]),
    "prof_summary_get_drop": (c_int, [c_void_p, c_size_t, POINTER(Drop), c_size_t]),
    "prof_report_count": (c_size_t, []),
    "prof_report_name": (c_char_p, [c_size_t]),
    "prof_report_purpose": (c_char_p, [c_size_t]),
    "prof_report_open": (c_void_p, [c_void_p, c_char_p, _SETTINGS]),
    "prof_report_close": (None, [c_void_p]),
    "prof_report_note_count": (c_size_t, [c_void_p]),
    "prof_report_note": (c_char_p, [c_void_p, c_size_t]),
    "prof_report_table_count": (c_size_t, [c_void_p]),
    "prof_report_get_table": (c_int, [c_void_p, c_size_t, POINTER(ReportTable), c_size_t]),
    "prof_report_get_column": (c_int, [c_void_p, c_size_t, c_size_t, POINTER(ReportColumn), c_size_t]),
    "prof_report_total_key": (c_char_p, [c_void_p, c_size_t, c_size_t]),
    "prof_report_get_total": (c_int, [c_void_p, c_size_t, c_size_t, POINTER(ReportCell), c_size_t]),
    "prof_report_read_integers": (
        c_int, [c_void_p, c_size_t, c_size_t, c_size_t, c_size_t, POINTER(c_int64), POINTER(c_uint8)]),
    "prof_report_read_reals": (
        c_int, [c_void_p, c_size_t, c_size_t, c_size_t, c_size_t, POINTER(c_double), POINTER(c_uint8)]),
    "prof_report_read_texts": (
        c_int, [c_void_p, c_size_t, c_size_t, c_size_t, c_size_t, POINTER(c_void_p), POINTER(c_size_t)]),
    "prof_report_render": (c_void_p, [c_void_p, c_char_p, POINTER(c_size_t)]),
    "prof_free_text": (None, [c_void_p]),
    "prof_capture_export": (c_int, [c_void_p, c_char_p, _SETTINGS]),
}  # fmt: skip


def prefix() -> str:
    """The folder with the package's bin, lib, include and share: for CMAKE_PREFIX_PATH, and for pkg-config."""
    return os.path.dirname(os.path.abspath(__file__))


def is_own(failure: BaseException) -> bool:
    """Whether an exception was not raised by the program: one of Python's own kinds, out of the code of this package, of
    the observers, or of what these call. Any other came through it: Python may run a signal handler in any function, and
    raise there what another thread has asked for, which has no arguments."""
    kind = type(failure)
    if not any(kind is each for each in vars(builtins).values()) or not (failure.args or kind is MemoryError):
        return False
    where = failure.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    if where is None:
        return False
    file = where.tb_frame.f_code.co_filename
    known = [__file__, *(getattr(sys.modules.get(name), "__file__", None) for name in ("ctypes", "torch", "jax", "jaxlib"))]
    folders = [os.path.join(os.path.dirname(each), "") for each in known if type(each) is str]
    return file.startswith(("<libprof/", *folders))


def _open() -> ctypes.CDLL:
    everything = ctypes.CDLL(None)
    if hasattr(everything, "prof_version"):  # preloaded, or linked by the program
        return everything
    try:
        return ctypes.CDLL(SONAME, mode=os.RTLD_NOW | _NOLOAD)  # injected
    except OSError as failure:
        if not is_own(failure):
            raise
    path = os.path.join(prefix(), "lib", SONAME)
    try:
        return ctypes.CDLL(path)
    except OSError as failure:
        if not is_own(failure):
            raise
        raise ImportError(f"libprof: {path} cannot be loaded: {failure}") from None


def _described(library: ctypes.CDLL) -> Any:
    for name, (returned, parameters) in _FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError as failure:
            if not is_own(failure):
                raise
            raise ImportError(
                f"libprof: the libprof.so that is loaded in this process, {_version_of(library)}, is older than this "
                f"package and has no {name}: run the program by this package's prof command"
            ) from None
        function.restype = returned
        function.argtypes = parameters
    return library


def _version_of(library: ctypes.CDLL) -> str:
    library.prof_version.restype = c_char_p
    return str(library.prof_version().decode())


def version() -> str:
    """Of libprof.so."""
    return _version_of(lib)


lib = _described(_open())


def with_errno(name: str) -> Any:
    """The function of that name, whose errno is in ctypes.get_errno() after a call."""
    returned, parameters = _FUNCTIONS[name]
    return ctypes.CFUNCTYPE(returned, *parameters, use_errno=True)((name, lib))


def text_of(function: Any) -> bytes:
    """What a function copies that takes a buffer and its size; it may grow between two calls."""
    size = 4096
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = function(buffer, size)
        if length < size:
            return buffer.value
        size = length + 1024


def last_error() -> str:
    return str(lib.prof_last_error().decode(errors="replace"))


def error_of(result: int) -> Error:
    """What a result other than PROF_OK stands for."""
    return _ERRORS.get(result, Error)(last_error())


def check(result: int) -> None:
    """Raises what the result of a function stands for, if it is a failure."""
    if result != 0:
        raise error_of(result)


def check_handle(handle: int | None, refused: type[Error] = Failed) -> int:
    """An object of prof/read.h, or the reason why there is none."""
    if not handle:
        raise refused(last_error())
    return handle


def file_error(path: str) -> Exception:
    """After a function of with_errno() has failed: what the system refused, else why the file is none of libprof's."""
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), path) if number else Failed(last_error())


def encoded(text: object, what: str, errors: str = "surrogateescape") -> bytes:
    """A text for a C function, which would end it at a NUL."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: a str is expected, not {type(text).__name__}")
    out = str.encode(text, "utf-8", errors)  # a subclass may have methods of its own
    if b"\0" in out:
        raise InvalidArgument(f"{what}: it has a NUL character")
    return out


def path_of(path: str | bytes | os.PathLike[str] | os.PathLike[bytes], what: str = "path") -> str:
    """Absolute: the program may change its directory later."""
    text = os.fsdecode(path)
    if "\0" in text:
        raise InvalidArgument(f"{what}: it has a NUL character")
    return os.path.abspath(text)


def settings(values: Mapping[str, object] | Iterable[tuple[str, object]]) -> Any:
    """"name=value" for each, as the C functions take it. Lists are joined by commas; True and False are 1 and 0; what is
    None is left to the environment and the defaults."""
    pairs = values.items() if hasattr(values, "items") else values
    texts = [encoded(f"{name}={text_of_value(name, value)}", name) for name, value in pairs if value is not None]
    return (c_char_p * (len(texts) + 1))(*texts, None)


def text_of_value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(text_of_value(name, each) for each in value)
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    if hasattr(type(value), "__index__") or hasattr(type(value), "__float__"):
        return str(value)
    raise TypeError(f"{name}: a text, number, path or list of them is expected, not {type(value).__name__}")


def decode(text: bytes) -> str:
    """A name is bytes of the process, almost always UTF-8; others are kept as surrogates."""
    return text.decode("utf-8", "surrogateescape")
