# SPDX-License-Identifier: Apache-2.0
"""The names of _native by ctypes, for interpreters that cannot load that: free-threaded ones, and other implementations."""
from __future__ import annotations

import ctypes
import operator

from ._library import Attributes, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_push, _push_with, _pop = lib.prof_range_push, lib.prof_range_push_with, lib.prof_range_pop
_NONE, _U64, _I64, _F64 = 0, 1, 2, 3


def _utf8(name: object) -> bytes:
    if not isinstance(name, str):
        raise TypeError("range: a str is expected")
    text = str.encode(name, "utf-8", "replace")  # a subclass may have methods of its own
    if b"\0" in text:
        raise ValueError("range: the name has a NUL character")
    return text


def _number(value: object, what: str) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or not 0 <= value <= 0xFFFFFFFF:
        raise ValueError(what + ": an integer from 0 to 0xFFFFFFFF is expected")
    return value


def _payload(value: Any) -> tuple[int, int]:
    """Its type, and its 64 bits."""
    if value is None:
        return _NONE, 0
    kind = type(value)
    if issubclass(kind, float):
        return _F64, ctypes.c_uint64.from_buffer_copy(ctypes.c_double(value)).value
    if not issubclass(kind, int):
        if not any(hasattr(kind, name) for name in ("__index__", "__float__", "__int__")) and kind is not complex:
            raise TypeError("payload: a number is expected, int or float")
        if type(kind) is not type or kind.__module__ != "numpy":
            return _NONE, 0
    try:
        number = int.__add__(operator.index(value), 0)
    except TypeError:
        try:
            return _payload(float(value))
        except (TypeError, ValueError):
            return _NONE, 0
    if not -(1 << 63) <= number < 1 << 64:
        raise OverflowError("payload: the integer needs more than 64 bits")
    return _U64 if number >= 1 << 63 else _I64, number & (1 << 64) - 1


class Range:
    __slots__ = ("name", "_text", "_struct")

    name: str
    _text: bytes
    _struct: Attributes | None

    def __new__(cls, name: str, *, color: Any = None, category: Any = None, payload: Any = None) -> Any:
        self = object.__new__(cls)
        self.name, self._text = name, _utf8(name)
        kind, bits = _payload(payload)
        given = Attributes(ctypes.sizeof(Attributes), _number(color, "color"), _number(category, "category"), kind, 0, bits)
        self._struct = given if given.color or given.category or kind != _NONE else None
        return self

    def __enter__(self) -> Any:
        if self._struct is None:
            _push(self._text)
        else:
            _push_with(self._text, self._struct)
        return self

    def __exit__(self, *failure: object) -> None:
        _pop()

    @property
    def _attributes(self) -> bytes | None:
        return None if self._struct is None else bytes(self._struct)

    def _given(self) -> tuple[str, int, int, float | None]:
        has = self._struct
        if has is None:
            return self.name, 0, 0, None
        if has.payload_type == _F64:
            return self.name, has.color, has.category, ctypes.c_double.from_buffer_copy(ctypes.c_uint64(has.payload)).value
        payload = {_NONE: None, _U64: has.payload}.get(has.payload_type, ctypes.c_int64(has.payload).value)
        return self.name, has.color, has.category, payload


def range_enter(entered: Range) -> None:
    entered.__enter__()


def range_push(name: str) -> None:
    _push(_utf8(name))


def range_pop() -> None:
    _pop()
