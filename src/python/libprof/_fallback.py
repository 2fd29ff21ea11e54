# SPDX-License-Identifier: Apache-2.0
"""The names of _native by ctypes, for interpreters that cannot load that: free-threaded ones, and other implementations."""
import ctypes

from ._library import Attributes, lib

_push, _push_with, _pop = lib.prof_range_push, lib.prof_range_push_with, lib.prof_range_pop
_NONE, _U64, _I64, _F64 = 0, 1, 2, 3


def _utf8(name):
    if not isinstance(name, str):
        raise TypeError("range: a str is expected")
    return name.encode("utf-8", "replace")


def _number(value, what):
    if value is None:
        return 0
    if not isinstance(value, int) or not 0 <= value <= 0xFFFFFFFF:
        raise ValueError(what + ": an integer from 0 to 0xFFFFFFFF is expected")
    return value


def _payload(value):
    """Its type, and its 64 bits."""
    if value is None:
        return _NONE, 0
    if isinstance(value, float):
        return _F64, ctypes.c_uint64.from_buffer_copy(ctypes.c_double(value)).value
    if not hasattr(value, "__index__"):
        raise TypeError("payload: a number is expected, int or float")
    number = value.__index__()
    if not -(1 << 63) <= number < 1 << 64:
        raise OverflowError("payload: the integer needs more than 64 bits")
    return _U64 if number >= 1 << 63 else _I64, number & (1 << 64) - 1


class Range:
    __slots__ = ("name", "_text", "_given")

    def __new__(cls, name, *, color=None, category=None, payload=None):
        self = object.__new__(cls)
        self.name, self._text = name, _utf8(name)
        kind, bits = _payload(payload)
        given = Attributes(ctypes.sizeof(Attributes), _number(color, "color"), _number(category, "category"), kind, 0, bits)
        self._given = given if given.color or given.category or kind != _NONE else None
        return self

    def __enter__(self):
        if self._given is None:
            _push(self._text)
        else:
            _push_with(self._text, self._given)
        return self

    def __exit__(self, *failure):
        _pop()

    @property
    def _attributes(self):
        return None if self._given is None else bytes(self._given)


def range_push(name):
    _push(_utf8(name))


def range_pop():
    _pop()
