# SPDX-License-Identifier: Apache-2.0
"""Ranges, marks and counters of a Python program."""
from __future__ import annotations

import ctypes
import functools

from . import _dynamo
from ._library import Attributes, encoded, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, SupportsFloat, SupportsIndex, TypeVar

    from . import _native

    Function = TypeVar("Function", bound=Callable[..., Any])
else:
    try:
        from . import _native

        _native.bind(*(ctypes.cast(each, ctypes.c_void_p).value for each in (lib.prof_range_push_with, lib.prof_range_pop)))
    except ImportError:
        from . import _fallback as _native

range_push: Callable[[str], None] = _native.range_push
range_pop: Callable[[], None] = _native.range_pop
_enter = _native.range_enter


class range(_native.Range):
    """A range of the calling thread, as a context manager or as a decorator.

    Its name is that of the rows in tables and of the slices in traces. GPU work launched inside counts for it. It costs
    a C call and one record while something is recorded, and a C call otherwise.

    >>> with range("forward"):
    ...     pass
    >>> @range("validate")
    ... def validate():
    ...     return 7
    >>> validate()
    7

    A decorated ``async def`` function or generator gives up its thread while it waits, so its range is one of the
    process: it stands in the table of start/end ranges, from the call's begin to its end. Do not await inside a
    ``with range(...)``: other tasks of the thread would run in it.

    color is 0xAARRGGBB; category a number, named by name_category(); payload a number of the program's, such as bytes
    or tokens, of Python's or NumPy's types: of others, such as tensors, whose value would have to be waited for, there is
    no payload. One object may be used any number of times, also nested and by several threads. It can be copied and
    pickled. What torch.compile compiles has no such ranges: they break no graph, and are not recorded there.
    """

    __slots__ = ()

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        name, color, category, payload = self._given()
        return (name,), {"color": color, "category": category, "payload": payload}

    def __call__(self, function: Function) -> Function:
        if not callable(function):
            raise TypeError(f"range: a function is expected, not {type(function).__name__}")
        called: Any = function
        while isinstance(called, functools.partial):
            called = called.func
        code = getattr(called, "__code__", None) or getattr(getattr(type(called), "__call__", None), "__code__", None)
        flags = getattr(code, "co_flags", 0)
        is_generator, is_coroutine, is_async_generator = flags & 0x20, flags & 0x80, flags & 0x200
        if is_async_generator:
            raise TypeError("range: an async generator has no range of its own; give one to the function that iterates it")
        if is_coroutine:

            @functools.wraps(function)
            async def inside(*arguments: Any, **keywords: Any) -> Any:
                number = range_start(self)
                try:
                    return await function(*arguments, **keywords)
                finally:
                    range_end(number)

        elif is_generator:

            @functools.wraps(function)
            def inside(*arguments: Any, **keywords: Any) -> Any:
                number = range_start(self)
                try:
                    return (yield from function(*arguments, **keywords))
                finally:
                    range_end(number)

        else:

            @functools.wraps(function)
            def inside(*arguments: Any, **keywords: Any) -> Any:
                _enter(self)
                try:
                    return function(*arguments, **keywords)
                finally:
                    range_pop()

        return inside  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"libprof.range({self.name!r})"


def range_start(name: range | str) -> int:
    """Begins a range of the process, which may overlap others and end on another thread. The number for range_end().

    >>> number = range_start("prefetch")
    >>> range_end(number)
    """
    number: int = lib.prof_range_start(*_described(name if isinstance(name, range) else range(name)))
    return number


def range_end(number: int) -> None:
    """Ends a range of range_start()."""
    lib.prof_range_end(number)


def mark(name: str, *, color: int | None = None, category: int | None = None,
         payload: SupportsFloat | SupportsIndex | None = None) -> None:  # fmt: skip
    """An instant in the trace."""
    lib.prof_mark(*_described(range(name, color=color, category=category, payload=payload)))


def counter(name: str, value: SupportsFloat | SupportsIndex) -> None:
    """The value of a counter from now on: a track in traces, and a row of the report "counters"."""
    lib.prof_counter(encoded(name, "counter", "replace"), value)


def name_category(category: int, name: str) -> None:
    """Gives the ranges' category of that number a name."""
    if not isinstance(category, int) or not 0 <= category <= 0xFFFFFFFF:
        raise ValueError("category: an integer from 0 to 0xFFFFFFFF is expected")
    lib.prof_name_category(category, encoded(name, "name_category", "replace"))


def _described(named: range) -> tuple[bytes, Attributes | None]:
    """Arguments of a C function that takes a name and attributes."""
    attributes = named._attributes
    return str.encode(named.name, "utf-8", "replace"), None if attributes is None else Attributes.from_buffer_copy(attributes)


_dynamo.leave_out(range, (_enter, range_push, range_pop))
