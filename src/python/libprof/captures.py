# SPDX-License-Identifier: Apache-2.0
"""Reads captures: every report of `prof report` as plain values or as a data frame."""
from __future__ import annotations

import ctypes
import os
import sys

from . import _diff, _library, _page
from ._diff import Comparison
from ._library import (InvalidArgument, WrongState, check, check_handle, decode, encoded, file_error, is_own, lib,
                       path_of, settings, text_of_value, with_errno)  # fmt: skip
from ._page import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Any, Literal, TypeVar

    import pandas
    import polars
    import pyarrow

    Format = Literal["table", "csv", "json", "markdown", "html"]
    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Self = TypeVar("Self", bound="_Closable")

_open = with_errno("prof_capture_open")
_export = with_errno("prof_capture_export")
_ENDINGS: dict[str, Format] = {".csv": "csv", ".html": "html", ".json": "json", ".md": "markdown", ".txt": "table"}


class _Object:
    """An object of prof/read.h. It lives as long as something refers to this: so no thread's close() frees what another
    thread is reading."""

    __slots__ = ("handle", "_close")

    def __init__(self, handle: int, close: Callable[[int], None]) -> None:
        self.handle, self._close = handle, close

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        close = getattr(self, "_close", None)  # None: what the program raised meanwhile has ended __init__
        if close is not None and not is_finalizing():
            close(self.handle)


class _Closable:
    """What has an object of prof/read.h. It never changes, so that a copy is the same object."""

    __slots__ = ("_object", "__weakref__")

    _object: _Object | None

    @property
    def _of(self) -> _Object:
        """For the caller to hold while it uses the handle."""
        of = self._object
        if of is None:
            raise WrongState(f"this {type(self).__name__.lower()} is closed")
        return of

    def close(self) -> None:
        """Frees its memory, once no other thread reads it and nothing was made of it that needs it. Using it later raises
        WrongState; what was read before stays."""
        self._object = None

    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self: Self, memo: object) -> Self:
        return self

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:  # fmt: skip
        self.close()


def load(path: Path) -> Capture:
    """Reads a capture file, also of a process that died or still records; or a trace of torch.profiler.

    >>> capture = load(example_capture)
    >>> capture.report("kernels").to_dicts()[0]["name"][:9]
    'sm90_xmma'

    Raises OSError, such as FileNotFoundError, if the file cannot be opened, and Error if it is no capture.
    """
    return Capture(path)


def _write(path: str, text: str) -> None:
    """The file appears whole or not at all; one that exists is replaced. A terminal, pipe or device is written in
    place."""
    data = text.encode("utf-8", "surrogateescape")
    in_place = os.path.exists(path) and not os.path.isfile(path)
    written = path if in_place else f"{path}.tmp-{os.getpid()}"
    try:
        with open(written, "wb") as file:
            file.write(data)
        if not in_place:
            os.replace(written, path)
    except OSError as failure:
        if not in_place and os.path.lexists(written):
            os.unlink(written)
        if not is_own(failure):
            raise
        raise OSError(failure.errno, failure.strerror, path) from None


def _format_of(path: str, format: str | None) -> str:
    """What the ending of the file's name says, if nothing else does."""
    if format is not None:
        return format
    ending = os.path.splitext(path)[1]
    if ending not in _ENDINGS:
        raise InvalidArgument(f"{path}: the name ends in none of {', '.join(_ENDINGS)}; give a format")
    return _ENDINGS[ending]


class Drop:
    """Records that could not be kept, of one cause, and what to do about it."""

    __slots__ = ("cause", "count", "what", "remedy")

    cause: str
    count: int
    what: str
    remedy: str

    def __init__(self, given: _library.Drop) -> None:
        self.cause, self.count = given.cause.decode(), given.count
        self.what, self.remedy = given.what.decode(), given.remedy.decode()

    def __repr__(self) -> str:
        return f"Drop({self.count} {self.what}: {self.remedy})"


class Capture(_Closable):
    """A capture file, read into memory. A copy is the same object. Pickled it is its path, so that the file is read
    where it is unpickled."""

    __slots__ = ("path",)

    path: str  # absolute

    def __init__(self, path: Path) -> None:
        self.path = path_of(path)
        handle = _open(os.fsencode(self.path))
        if not handle:
            raise file_error(self.path)
        self._object = _Object(handle, lib.prof_capture_close)

    def __reduce__(self) -> tuple[Callable[[str], Capture], tuple[str]]:
        return load, (self.path,)

    @property
    def title(self) -> str:
        """Which process it is, for how long it was recorded, and its GPUs."""
        of = self._of
        return decode(lib.prof_capture_title(of.handle))

    @property
    def properties(self) -> dict[str, str]:
        """Command, host, pid, rank and so on: docs/reference/capture-format.md."""
        of = self._of
        keys = [lib.prof_capture_property_key(of.handle, index)
                for index in range(lib.prof_capture_property_count(of.handle))]  # fmt: skip
        return {decode(key): decode(lib.prof_capture_property(of.handle, key)) for key in keys}

    @property
    def notes(self) -> list[str]:
        """What to know before trusting the numbers, one line each: docs/guide/notes.md."""
        of = self._of
        return [decode(lib.prof_capture_note(of.handle, index))
                for index in range(lib.prof_capture_note_count(of.handle))]  # fmt: skip

    @property
    def drops(self) -> list[Drop]:
        """Records that could not be kept, by cause."""
        of = self._of
        return _drops(of.handle, lib.prof_capture_drop_count, lib.prof_capture_get_drop)

    def report(self, name: str = "gpu-projection", **options: Any) -> Report:
        """The report of that name, with the options of `prof report`: fold, adopt, communication,
        nvtx_domain_include, nvtx_domain_exclude, kernel_names, rows, depth, width, sort, limit; of a part: range (one or
        a list), steps ("3:8"), skip_first, from_, to, step_range; whole_run: text, Markdown and HTML are of all that was
        recorded, as rows and tables are, and not of one step. reports() names them all."""
        return Report(self, name, _pairs(options))

    def summary(self, **options: Any) -> Summary:
        """The GPU projection as plain objects, with the options fold, adopt and nvtx_domain_... of report()."""
        of = self._of
        return Summary(check_handle(lib.prof_capture_summary(of.handle, settings(options)), InvalidArgument))

    def export(self, path: Path | None = None, **options: Any) -> str:
        """Writes the capture as a Chrome trace for Perfetto, as `prof export` does, with the options adopt, range, steps,
        skip_first, from_, to and step_range of report(). The path must end in .json or .json.gz; without one the trace
        lies beside the capture. Returns its path.

        Raises OSError if the file cannot be written; a file that exists is replaced only by a whole trace.
        """
        of = self._of
        if path is None:
            place = os.path.splitext(self.path)[0] + ".trace.json.gz"
        else:
            place = path_of(path)
        if not place.endswith((".json", ".json.gz")):
            raise InvalidArgument(f"{place}: the name of a trace ends in .json or .json.gz"
                                  " (tables are written by the command: prof export --format parquet)")
        if os.path.exists(place) and os.path.exists(self.path) and os.path.samefile(place, self.path):
            raise InvalidArgument(f"{place}: the trace would replace what it is made of")
        result = _export(of.handle, os.fsencode(place), settings(_pairs(options)))
        if result == 3:  # PROF_FAILED
            raise file_error(place)
        check(result)
        return place

    def to_html(self, path: Path | None = None, **options: Any) -> Page:
        """The page of `prof report --html` (to_html())."""
        return to_html(self, path, **options)

    def __repr__(self) -> str:
        return f"<libprof capture: {self.path if self._object is None else self.title}>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def to_html(captures: Capture | Path | list[Capture | Path], path: Path | None = None, **options: Any) -> Page:
    """Writes the page of a run, one HTML file that needs no network, as `prof report --html` does: of a capture, of the
    captures of a job, or of a directory of them. Without a path it lies beside the first capture. The options are those of
    Capture.report() that choose ranges and a part: adopt, fold, communication, nvtx_domain_..., range, steps, skip_first,
    from_, to, step_range. In a notebook the page shows itself.

    Raises Failed if a file cannot be read or written.
    """
    return _page.to_html(captures, path, **options)


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


class Summary:
    """The GPU projection: which GPU work each range cost. Parents come before their children; the rows (no range),
    (ambiguous) and (unmatched) come last. gpu_self_ns over all rows is total_gpu_ns. It is a value: it can be copied and
    pickled."""

    __slots__ = ("rows", "drops", "total_gpu_ns")

    rows: list[Row]
    drops: list[Drop]
    total_gpu_ns: int

    def __init__(self, handle: int) -> None:
        try:
            self.total_gpu_ns = lib.prof_summary_total_gpu_ns(handle)
            self.drops = _drops(handle, lib.prof_summary_drop_count, lib.prof_summary_get_drop)
            given = _library.SummaryRow()
            self.rows = []
            for index in range(lib.prof_summary_row_count(handle)):
                check(lib.prof_summary_get_row(handle, index, given, ctypes.sizeof(given)))
                self.rows.append(Row(given))
        finally:
            lib.prof_summary_close(handle)

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

    def export(self, path: Path, format: Literal["csv", "json"] | None = None) -> str:
        """Writes the rows as a file, whose ending, .csv or .json, decides the format if none is given. In JSON they are
        "rows", beside "total_gpu_ns" and "dropped" by cause. Returns the path. Raises OSError if it cannot be
        written."""
        place = path_of(path)
        kind = _format_of(place, format)
        if kind == "csv":
            import csv
            import io

            out = io.StringIO()
            writer = csv.DictWriter(out, Row.__slots__, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.to_dicts())
            text = out.getvalue()
        elif kind == "json":
            import json

            dropped = {drop.cause: drop.count for drop in self.drops}
            text = json.dumps({"total_gpu_ns": self.total_gpu_ns, "dropped": dropped, "rows": self.to_dicts()}, indent=1)
        else:
            raise InvalidArgument(f"format={kind}: a summary is written as csv or json")
        _write(place, text + ("\n" if kind == "json" else ""))
        return place

    def __repr__(self) -> str:
        return f"<libprof summary: {len(self.rows)} rows, {self.total_gpu_ns} ns of GPU work>"


class Column:
    """A column of a table: key as in CSV, title as in tables for people ("": those leave it out), unit of its numbers
    ("ns", "bytes", "share", "percent", "count", "identity", "time_ns" or "")."""

    __slots__ = ("key", "title", "unit", "_index", "_type")

    key: str
    title: str
    unit: str
    _index: int
    _type: int

    _UNITS = ("", "count", "identity", "ns", "time_ns", "bytes", "share", "percent")

    def __init__(self, index: int, given: _library.ReportColumn) -> None:
        self.key, self.title, self.unit = given.key.decode(), given.title.decode(), self._UNITS[given.unit]
        self._index, self._type = index, given.type

    def __repr__(self) -> str:
        return f"Column({self.key!r}, {self.unit or 'no unit'})"


_INTEGER, _UNSIGNED, _REAL, _BOOLEAN, _TEXT = 1, 2, 3, 4, 5


class Table:
    """A table of a report, with typed columns and exact values: nothing is rounded. Pickled it is its values."""

    __slots__ = ("key", "heading", "columns", "totals", "_report", "_index", "_rows", "_kept")

    key: str
    heading: str
    columns: list[Column]
    totals: dict[str, Any]
    _report: Report | None
    _index: int
    _rows: int
    _kept: list[list[Any]] | None  # of an unpickled table: the columns

    def __init__(self, report: Report, index: int) -> None:
        of = report._of
        given = _library.ReportTable()
        check(lib.prof_report_get_table(of.handle, index, given, ctypes.sizeof(given)))
        self.key, self.heading = given.key.decode(), decode(given.heading)
        self._report, self._index, self._rows, self._kept = report, index, int(given.rows), None
        self.columns = []
        described = _library.ReportColumn()
        for column in range(given.columns):
            check(lib.prof_report_get_column(of.handle, index, column, described, ctypes.sizeof(described)))
            self.columns.append(Column(column, described))
        self.totals = {lib.prof_report_total_key(of.handle, index, total).decode(): self._total(of, total)
                       for total in range(given.totals)}  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        values = [self._values(column) for column in self.columns]
        return _table, (self.key, self.heading, self.columns, self.totals, self._rows, values)

    def __copy__(self) -> Table:
        return self

    def __deepcopy__(self, memo: object) -> Table:
        return self

    def __len__(self) -> int:
        return self._rows

    def _total(self, of: _Object, index: int) -> Any:
        cell = _library.ReportCell()
        check(lib.prof_report_get_total(of.handle, self._index, index, cell, ctypes.sizeof(cell)))
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
        if self._report is None:
            assert self._kept is not None
            return list(self._kept[column._index])
        of = self._report._of
        where = (of.handle, self._index, column._index, 0, self._rows)
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
        if column._type == _BOOLEAN:
            return [bool(value) if there else None for value, there in zip(integers, present)]
        wraps = 2**64 if column._type == _UNSIGNED else 0
        return [(value % wraps if wraps else value) if there else None for value, there in zip(integers, present)]

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


def _table(key: str, heading: str, columns: list[Column], totals: dict[str, Any], rows: int,
           values: list[list[Any]]) -> Table:  # fmt: skip
    """An unpickled table."""
    out = Table.__new__(Table)
    out.key, out.heading, out.columns, out.totals = key, heading, columns, totals
    out._report, out._index, out._rows, out._kept = None, 0, rows, values
    return out


class Report(_Closable):
    """One report of a capture. `tables` has its tables by their keys; the methods of a table that a report has, too, are
    those of its first. In a notebook it shows itself; print() shows what `prof report` shows.

    A copy is the same object. Pickled it is its tables and notes; an unpickled report reads its capture again when it is
    rendered or exported.
    """

    __slots__ = ("name", "title", "path", "tables", "notes", "_options")

    name: str
    title: str
    path: str  # of the capture
    tables: dict[str, Table]
    notes: list[str]  # what to know before trusting the numbers, one line each
    _options: list[tuple[str, str]]

    def __init__(self, capture: Capture, name: str, options: list[tuple[str, str]]) -> None:
        self.name, self.title, self.path, self._options = name, capture.title, capture.path, options
        self._object = of = self._opened(capture)
        tables = [Table(self, index) for index in range(lib.prof_report_table_count(of.handle))]
        self.tables = {table.key: table for table in tables}
        self.notes = [decode(lib.prof_report_note(of.handle, index))
                      for index in range(lib.prof_report_note_count(of.handle))]  # fmt: skip

    def _opened(self, capture: Capture) -> _Object:
        of = capture._of
        handle = lib.prof_report_open(of.handle, encoded(self.name, "report"), settings(self._options))
        return _Object(check_handle(handle, InvalidArgument), lib.prof_report_close)

    def __reduce__(self) -> tuple[Any, ...]:
        return _report, (self.name, self.title, self.path, self.tables, self.notes, self._options)

    @property
    def table(self) -> Table:
        """The first table: the report's own."""
        return next(iter(self.tables.values()))

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

    def render(self, format: Format = "table") -> str:
        """The report as `prof report` writes it: "table", "csv", "json", "markdown" or "html"."""
        of, size = self._of, ctypes.c_size_t()
        text = lib.prof_report_render(of.handle, encoded(format, "format"), size)
        if not text:
            raise InvalidArgument(_library.last_error())
        try:
            return decode(ctypes.string_at(text, size.value))
        finally:
            lib.prof_free_text(text)

    def export(self, path: Path, format: Format | None = None) -> str:
        """Writes what render() returns as a file, whose ending decides the format if none is given: .csv, .html, .json,
        .md or .txt. Returns the path. Raises OSError if it cannot be written."""
        place = path_of(path)
        _write(place, self.render(_format_of(place, format)))  # type: ignore[arg-type]
        return place

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<libprof report {self.name!r}: {', '.join(f'{key} ({len(table)} rows)' for key, table in self.tables.items())}>"

    def _repr_html_(self) -> str:
        return self.render("html")


class _UnpickledReport(Report):
    __slots__ = ()

    @property
    def _of(self) -> _Object:
        if self._object is _UNREAD:
            self._object = self._opened(load(self.path))
        return super()._of


_UNREAD = _Object(0, lambda handle: None)


def _report(name: str, title: str, path: str, tables: dict[str, Table], notes: list[str],
            options: list[tuple[str, str]]) -> Report:  # fmt: skip
    out = _UnpickledReport.__new__(_UnpickledReport)
    out.name, out.title, out.path, out.tables, out.notes, out._options = name, title, path, tables, notes, options
    out._object = _UNREAD
    return out


def _pairs(options: dict[str, Any]) -> list[tuple[str, str]]:
    """The settings of a report: `range` may be given several times."""
    return [(option.rstrip("_"), text_of_value(option, one)) for option, value in options.items() if value is not None
            for one in (value if option == "range" and isinstance(value, (list, tuple)) else [value])]  # fmt: skip


def diff(base: Path | Capture, new: Path | Capture, *, fail_over: str | Iterable[str] = (), any_machine: bool = False,
         **options: Any) -> Comparison:  # fmt: skip
    """Compares two captures, traces, baselines or directories, whose runs are groups: `prof diff` (docs/guide/compare.md).
    fail_over has limits as "2%" or "range:backward=3%", which any_machine tests although a baseline is of another machine;
    options are its flags: margin, steps, skip_first, step_range and others."""
    return _diff.diff(base, new, fail_over=fail_over, any_machine=any_machine, **options)


def baseline(runs: Path | Capture | list[Path | Capture], path: Path, *, any_host: bool = False, **options: Any) -> str:
    """Keeps runs as a small file that diff() takes in their place: `prof baseline`. Returns the file's path, which ends in
    .json. any_host: it is valid for each machine with the same GPU."""
    return _diff.baseline(runs, path, any_host=any_host, **options)


def _drops(handle: int, count: Any, get: Any) -> list[Drop]:
    given, out = _library.Drop(), []
    for index in range(count(handle)):
        check(get(handle, index, given, ctypes.sizeof(given)))
        out.append(Drop(given))
    return out
