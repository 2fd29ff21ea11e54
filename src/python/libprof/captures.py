# SPDX-License-Identifier: Apache-2.0
"""Reads captures: every report of `prof report` as plain values or as a data frame."""
from __future__ import annotations

import ctypes
import os
import weakref

from . import _library
from ._library import InvalidArgument, check, check_handle, decode, lib, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import pandas
    import polars
    import pyarrow


class _Handle:
    """An object of prof/read.h, which is closed with this one."""

    __slots__ = ("_handle", "__weakref__")

    def __init__(self, handle: int, close: Any) -> None:
        self._handle = handle
        weakref.finalize(self, close, handle).atexit = False


def load(path: str | os.PathLike[str]) -> Capture:
    """Reads a capture file, also of a process that died or still records; or a trace of torch.profiler.

    >>> capture = load(example_capture)
    >>> capture.report("kernels").to_dicts()[0]["name"][:9]
    'sm90_xmma'

    Raises Error if there is no such file, or it is no capture.
    """
    return Capture(check_handle(lib.prof_capture_open(os.fsencode(path))))


class Drop:
    """Records that could not be kept, of one cause, and what to do about it."""

    __slots__ = ("cause", "count", "what", "remedy")

    def __init__(self, given: _library.Drop) -> None:
        self.cause, self.count = given.cause.decode(), given.count
        self.what, self.remedy = given.what.decode(), given.remedy.decode()

    def __repr__(self) -> str:
        return f"Drop({self.count} {self.what}: {self.remedy})"


class Capture(_Handle):
    """A capture file, read into memory."""

    __slots__ = ()

    def __init__(self, handle: int) -> None:
        super().__init__(handle, lib.prof_capture_close)

    @property
    def title(self) -> str:
        """Which process it is, for how long it was recorded, and its GPUs."""
        return decode(lib.prof_capture_title(self._handle))

    @property
    def properties(self) -> dict[str, str]:
        """Command, host, pid, rank and so on: docs/reference/capture-format.md."""
        keys = [lib.prof_capture_property_key(self._handle, index)
                for index in range(lib.prof_capture_property_count(self._handle))]  # fmt: skip
        return {decode(key): decode(lib.prof_capture_property(self._handle, key)) for key in keys}

    @property
    def notes(self) -> list[str]:
        """What to know before trusting the numbers, one line each: docs/guide/notes.md."""
        return [decode(lib.prof_capture_note(self._handle, index))
                for index in range(lib.prof_capture_note_count(self._handle))]  # fmt: skip

    @property
    def drops(self) -> list[Drop]:
        """Records that could not be kept, by cause."""
        return _drops(self._handle, lib.prof_capture_drop_count, lib.prof_capture_get_drop)

    def report(self, name: str = "gpu-projection", **options: Any) -> Report:
        """The report of that name, with the options of `prof report`: fold, adopt, nvtx_domain_include,
        nvtx_domain_exclude, kernel_names, rows, depth, width, sort, limit; of a part: range (one or a list), steps
        ("3:8"), skip_first, from_, to, step_range. reports() names them all."""
        pairs = [(option.rstrip("_"), one) for option, value in options.items()
                 for one in (value if option == "range" and isinstance(value, (list, tuple)) else [value])]  # fmt: skip
        return Report(check_handle(lib.prof_report_open(self._handle, name.encode(), settings(pairs)), InvalidArgument), name,
                      self.title)  # fmt: skip

    def summary(self, **options: Any) -> Summary:
        """The GPU projection as plain objects, with the options fold, adopt and nvtx_domain_... of report()."""
        return Summary(check_handle(lib.prof_capture_summary(self._handle, settings(options)), InvalidArgument))

    def __repr__(self) -> str:
        return f"<libprof capture: {self.title}>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def reports() -> dict[str, str]:
    """Every report, with its purpose in a line.

    >>> "kernels" in reports()
    True
    """
    return {lib.prof_report_name(index).decode(): lib.prof_report_purpose(index).decode()
            for index in range(lib.prof_report_count())}  # fmt: skip


class Row:
    """A row of a Summary: a range, with all its instances. Times are in nanoseconds; docs/reference/attribution.md
    defines them."""

    __slots__ = ("path", "name", "kind", "depth", "parent", "captured", "count", "host_ns", "gpu_sum_ns", "gpu_self_ns",
                 "gpu_child_ns", "gpu_busy_ns", "gpu_span_ns", "ops", "self_ops", "adopted_ops", "adopted_ns",
                 "communication_ns", "wait_ns", "payload_bytes")  # fmt: skip

    path: str
    name: str
    kind: str  # "range", "phase", "no_range", "ambiguous" or "unmatched"
    depth: int
    parent: int | None  # index of the row above
    captured: bool
    count: int
    host_ns: int
    gpu_sum_ns: int
    gpu_self_ns: int
    gpu_child_ns: int
    gpu_busy_ns: int
    gpu_span_ns: int
    ops: int
    self_ops: int
    adopted_ops: int
    adopted_ns: int
    communication_ns: int
    wait_ns: int
    payload_bytes: int

    _KINDS = ("", "range", "phase", "no_range", "ambiguous", "unmatched")
    _NO_ROW = 0xFFFFFFFF

    def __init__(self, given: _library.SummaryRow) -> None:
        for key in self.__slots__[7:]:
            setattr(self, key, getattr(given, key))
        self.path, self.name, self.depth = decode(given.path), decode(given.name), given.depth
        self.kind, self.captured, self.count = self._KINDS[given.kind], bool(given.captured), given.instances
        self.parent = None if given.parent == self._NO_ROW else given.parent

    def __repr__(self) -> str:
        return f"Row({self.path!r}: {self.count} times, host {self.host_ns} ns, GPU {self.gpu_sum_ns} ns)"


class Summary(_Handle):
    """The GPU projection: which GPU work each range cost. Parents come before their children; the rows (no range),
    (ambiguous) and (unmatched) come last. gpu_self_ns over all rows is total_gpu_ns."""

    __slots__ = ("rows", "drops", "total_gpu_ns")

    def __init__(self, handle: int) -> None:
        super().__init__(handle, lib.prof_summary_close)
        self.total_gpu_ns: int = lib.prof_summary_total_gpu_ns(handle)
        self.drops: list[Drop] = _drops(handle, lib.prof_summary_drop_count, lib.prof_summary_get_drop)
        given = _library.SummaryRow()
        self.rows: list[Row] = []
        for index in range(lib.prof_summary_row_count(handle)):
            check(lib.prof_summary_get_row(handle, index, given, ctypes.sizeof(given)))
            self.rows.append(Row(given))

    @classmethod
    def of_recording(cls) -> Summary:
        """Of what this process has recorded until now, while it goes on. Raises Error if that is too large to be read
        in the process: stop() and load() the capture then."""
        return cls(check_handle(lib.prof_summary_open()))

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Row:
        """The first row of that path, else of that name.

        >>> load(example_capture).summary()["forward"].count > 0
        True
        """
        for key in ("path", "name"):
            for row in self.rows:
                if getattr(row, key) == name:
                    return row
        raise KeyError(name)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dictionary for each row."""
        return [{key: getattr(row, key) for key in Row.__slots__} for row in self.rows]

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.to_dicts(), columns=list(Row.__slots__))

    def to_polars(self) -> polars.DataFrame:
        """As a polars.DataFrame."""
        import polars

        return polars.DataFrame(self.to_dicts(), infer_schema_length=None)

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow.Table."""
        import pyarrow

        return pyarrow.Table.from_pylist(self.to_dicts())

    def __repr__(self) -> str:
        return f"<libprof summary: {len(self.rows)} rows, {self.total_gpu_ns} ns of GPU work>"


class Column:
    """A column of a table: key as in CSV, title as in tables for people ("": those leave it out), unit of its numbers
    ("ns", "bytes", "share", "percent", "count", "identity", "time_ns" or "")."""

    __slots__ = ("key", "title", "unit", "_index", "_type")

    _UNITS = ("", "count", "identity", "ns", "time_ns", "bytes", "share", "percent")

    def __init__(self, index: int, given: _library.ReportColumn) -> None:
        self.key, self.title, self.unit = given.key.decode(), given.title.decode(), self._UNITS[given.unit]
        self._index, self._type = index, given.type

    def __repr__(self) -> str:
        return f"Column({self.key!r}, {self.unit or 'no unit'})"


_INTEGER, _UNSIGNED, _REAL, _BOOLEAN, _TEXT = 1, 2, 3, 4, 5


class Table:
    """A table of a report, with typed columns and exact values: nothing is rounded."""

    __slots__ = ("key", "heading", "columns", "totals", "_report", "_index", "_rows")

    def __init__(self, report: Report, index: int) -> None:
        given = _library.ReportTable()
        check(lib.prof_report_get_table(report._handle, index, given, ctypes.sizeof(given)))
        self.key, self.heading = given.key.decode(), decode(given.heading)
        self._report, self._index, self._rows = report, index, given.rows
        self.columns: list[Column] = []
        described = _library.ReportColumn()
        for column in range(given.columns):
            check(lib.prof_report_get_column(report._handle, index, column, described, ctypes.sizeof(described)))
            self.columns.append(Column(column, described))
        self.totals = {lib.prof_report_total_key(report._handle, index, total).decode(): self._total(total)
                       for total in range(given.totals)}  # fmt: skip

    def __len__(self) -> int:
        return self._rows

    def _total(self, index: int) -> Any:
        cell = _library.ReportCell()
        check(lib.prof_report_get_total(self._report._handle, self._index, index, cell, ctypes.sizeof(cell)))
        if cell.type == _TEXT:
            return decode(ctypes.string_at(cell.text, cell.text_size))
        return {_INTEGER: cell.integer, _UNSIGNED: cell.integer % 2**64, _REAL: cell.real,
                _BOOLEAN: bool(cell.integer)}.get(cell.type)  # fmt: skip

    def column(self, key: str) -> list[Any]:
        """The values of a column, one for each row; None where there is none."""
        for column in self.columns:
            if column.key == key:
                return self._values(column)
        raise KeyError(f"{key}: the columns are {', '.join(each.key for each in self.columns)}")

    def _values(self, column: Column) -> list[Any]:
        where = (self._report._handle, self._index, column._index, 0, self._rows)
        if column._type == _TEXT:
            texts, sizes = (ctypes.c_void_p * self._rows)(), (ctypes.c_size_t * self._rows)()
            check(lib.prof_report_read_texts(*where, texts, sizes))
            return [None if text is None else decode(ctypes.string_at(text, size)) for text, size in zip(texts, sizes)]
        present = (ctypes.c_uint8 * self._rows)()
        if column._type == _REAL:
            reals = (ctypes.c_double * self._rows)()
            check(lib.prof_report_read_reals(*where, reals, present))
            return [value if there else None for value, there in zip(reals, present)]
        if column._type not in (_INTEGER, _UNSIGNED, _BOOLEAN):
            return [None] * self._rows
        integers = (ctypes.c_int64 * self._rows)()
        check(lib.prof_report_read_integers(*where, integers, present))
        kind = {_INTEGER: int, _BOOLEAN: bool, _UNSIGNED: lambda bits: bits % 2**64}[column._type]
        return [kind(value) if there else None for value, there in zip(integers, present)]

    def to_dict(self) -> dict[str, list[Any]]:
        """The values of every column, by its key."""
        return {column.key: self._values(column) for column in self.columns}

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dictionary for each row."""
        columns = self.to_dict()
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas.DataFrame. Integers of which some are absent have pandas' type Int64."""
        import pandas

        kinds = {_INTEGER: "Int64", _UNSIGNED: "UInt64", _REAL: "float64", _BOOLEAN: "boolean", _TEXT: "object"}
        whole = {_INTEGER: "int64", _UNSIGNED: "uint64", _BOOLEAN: "bool"}
        out = {}
        for column in self.columns:
            values = self._values(column)
            kind = kinds.get(column._type, "object") if None in values else None
            out[column.key] = pandas.Series(values, dtype=kind or whole.get(column._type) or kinds.get(column._type, "object"))
        return pandas.DataFrame(out)

    def to_polars(self) -> polars.DataFrame:
        """As a polars.DataFrame."""
        import polars

        kinds = {_INTEGER: polars.Int64, _UNSIGNED: polars.UInt64, _REAL: polars.Float64, _BOOLEAN: polars.Boolean,
                 _TEXT: polars.String}  # fmt: skip
        return polars.DataFrame([polars.Series(column.key, self._values(column), dtype=kinds.get(column._type, polars.Null))
                                 for column in self.columns])  # fmt: skip

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow.Table."""
        import pyarrow

        kinds = {_INTEGER: pyarrow.int64(), _UNSIGNED: pyarrow.uint64(), _REAL: pyarrow.float64(),
                 _BOOLEAN: pyarrow.bool_(), _TEXT: pyarrow.string()}  # fmt: skip
        return pyarrow.table({column.key: pyarrow.array(self._values(column), kinds.get(column._type, pyarrow.null()))
                              for column in self.columns})  # fmt: skip

    def __repr__(self) -> str:
        return f"<libprof table {self.key!r}: {self._rows} rows of {', '.join(each.key for each in self.columns)}>"

    def _repr_html_(self) -> str:
        from ._html import of_table

        return of_table(self)


class Report(_Handle):
    """One report of a capture. `tables` has its tables by their keys; the methods of a table that a report has, too, are
    those of its first. In a notebook it shows itself; print() shows what `prof report` shows."""

    __slots__ = ("name", "title", "tables")

    def __init__(self, handle: int, name: str, title: str) -> None:
        super().__init__(handle, lib.prof_report_close)
        self.name, self.title = name, title
        tables = [Table(self, index) for index in range(lib.prof_report_table_count(handle))]
        self.tables: dict[str, Table] = {table.key: table for table in tables}

    @property
    def table(self) -> Table:
        """The first table: the report's own."""
        return next(iter(self.tables.values()))

    @property
    def notes(self) -> list[str]:
        """What to know before trusting the numbers, one line each."""
        return [decode(lib.prof_report_note(self._handle, index))
                for index in range(lib.prof_report_note_count(self._handle))]  # fmt: skip

    @property
    def gains(self) -> list[dict[str, Any]] | None:
        """The changes that would gain most, dearest first, as "gains" in JSON (docs/reference/diagnose.md). None of
        reports without a step, of parts and of large captures.

        >>> load(example_capture).report().gains[0]["gain_ns"] > 0
        True
        """
        return self.tables["gains"].to_dicts() if "gains" in self.tables else None

    @property
    def answer(self) -> dict[str, Any] | None:
        """Where a step's time goes: the figures of the lines above the table, as "answer" in JSON (docs/reference/breakdown.md).
        None of captures without GPU work, and of other reports than gpu-projection.

        >>> load(example_capture).report().answer["steps"] > 0
        True
        """
        rows = self.tables["answer"].to_dicts() if "answer" in self.tables else []
        if not rows:
            return None
        out = rows[0] | {"busy": [], "idle": [], "slowest": self.tables["answer_slowest"].to_dicts()}
        for part in self.tables["answer_parts"].to_dicts():
            out[part.pop("use")].append(part)
        return out

    def to_dict(self) -> dict[str, list[Any]]:
        """Table.to_dict of the first table."""
        return self.table.to_dict()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Table.to_dicts of the first table."""
        return self.table.to_dicts()

    def to_pandas(self) -> pandas.DataFrame:
        """Table.to_pandas of the first table."""
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Table.to_polars of the first table."""
        return self.table.to_polars()

    def to_arrow(self) -> pyarrow.Table:
        """Table.to_arrow of the first table."""
        return self.table.to_arrow()

    def render(self, format: str = "table") -> str:
        """The report as `prof report` writes it: "table", "csv", "json" or "markdown"."""
        size = ctypes.c_size_t()
        text = lib.prof_report_render(self._handle, format.encode(), size)
        if not text:
            raise InvalidArgument(_library.last_error())
        try:
            return decode(ctypes.string_at(text, size.value))
        finally:
            lib.prof_free_text(text)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<libprof report {self.name!r}: {', '.join(f'{key} ({len(table)} rows)' for key, table in self.tables.items())}>"

    def _repr_html_(self) -> str:
        from ._html import of_report

        return of_report(self)


def _drops(handle: int, count: Any, get: Any) -> list[Drop]:
    given, out = _library.Drop(), []
    for index in range(count(handle)):
        check(get(handle, index, given, ctypes.sizeof(given)))
        out.append(Drop(given))
    return out
