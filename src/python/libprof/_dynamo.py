# SPDX-License-Identifier: Apache-2.0
"""Ranges in what torch.compile compiles: nothing there, so that a range breaks no graph and fullgraph=True compiles.

torch._dynamo asks two tables how to represent an object that it meets while it traces: by the object's type, and by its
identity. Ranges get entries in them once it is imported: before, PyTorch need not be there at all. A version of PyTorch
with other tables breaks the graph at a range, and records it, as at any object that it does not know.
"""
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_MODULE = "torch._dynamo"


def leave_out(ranges: type, functions: Sequence[Callable[..., Any]]) -> None:
    """Of ranges of that type, and of functions that return None."""
    module = sys.modules.get(_MODULE)
    if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
        sys.meta_path.insert(0, _Import(ranges, functions))
    else:
        _enter(ranges, functions)


def _enter(ranges: type, functions: Sequence[Callable[..., Any]]) -> None:
    try:
        from torch._dynamo.guards import GuardBuilder
        from torch._dynamo.variables import ConstantVariable, LambdaVariable
        from torch._dynamo.variables.builder import VariableBuilder
        from torch._dynamo.variables.ctx_manager import NullContextVariable

        by_identity = VariableBuilder._id_dispatch()
        if hasattr(VariableBuilder, "_type_dispatch_impl"):  # one table for each value of config.trace_numpy
            by_type = [VariableBuilder._type_dispatch_impl(each) for each in (True, False)]
        else:
            by_type = [VariableBuilder._type_dispatch()]
    except (ImportError, AttributeError, TypeError):
        return

    def of_object(builder: Any, value: object) -> Any:
        builder.install_guards(GuardBuilder.TYPE_MATCH)
        return NullContextVariable(source=builder.source)

    def always(made: Callable[[], Any]) -> Callable[[Any, object], Any]:
        def of_callable(builder: Any, value: object) -> Any:
            builder.install_guards(GuardBuilder.ID_MATCH)
            return LambdaVariable(lambda *arguments, **keywords: made(), source=builder.source)

        return of_callable

    for table in by_type:
        table[ranges] = of_object
    by_identity[id(ranges)] = always(NullContextVariable)
    for function in functions:
        by_identity[id(function)] = always(lambda: ConstantVariable.create(None))


class _Import:
    """In sys.meta_path until torch._dynamo is imported."""

    def __init__(self, ranges: type, functions: Sequence[Callable[..., Any]]) -> None:
        self._ranges, self._functions = ranges, functions

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _MODULE or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            loader: Any = _Loader(spec.loader, self._ranges, self._functions)
            spec.loader = loader
        return spec


class _Loader:
    """The module's own loader, and then the entries. It leaves no trace in the module."""

    def __init__(self, of: Any, ranges: type, functions: Sequence[Callable[..., Any]]) -> None:
        self._of, self._ranges, self._functions = of, ranges, functions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._of.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._of
        if module.__spec__ is not None:
            module.__spec__.loader = self._of
        self._of.exec_module(module)
        _enter(self._ranges, self._functions)
