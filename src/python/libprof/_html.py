# SPDX-License-Identifier: Apache-2.0
"""One table as HTML, for notebooks: the columns that tables for people have, one unit of time. A report is HTML by
itself (Report.render)."""
from __future__ import annotations

import html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .captures import Column, Table

MOST_ROWS = 60
_TIMES = ((1, "ns"), (1_000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s"))
_RIGHT = ' style="text-align:right"'


def of_table(table: Table) -> str:
    columns = [column for column in table.columns if column.title] or list(table.columns)
    values = {column.key: table.column(column.key) for column in columns}
    if all(column.unit for column in columns) and not table.columns[0].unit:  # a tree, whose names stand in a column of their own
        tree = next((column for column in table.columns if column.key == "name"), table.columns[0])
        depths = table.column("depth") if any(column.key == "depth" for column in table.columns) else [0] * len(table)
        values[tree.key] = ["\u2003" * depth + name for depth, name in zip(depths, table.column(tree.key))]
        columns.insert(0, tree)
    scale, unit = _unit_of_time([value for column in columns if column.unit == "ns" for value in values[column.key]])
    head = "".join(f"<th{_side(column)}>{_escaped(column.title or column.key)}</th>" for column in columns)
    rows = "".join("<tr>" + "".join(f"<td{_side(column)}>{_cell(values[column.key][row], column, scale)}</td>"
                                    for column in columns) + "</tr>"
                   for row in range(min(len(table), MOST_ROWS)))  # fmt: skip
    caption = _escaped(table.heading) + (f", in {unit}" if unit else "")
    left_out = len(table) - MOST_ROWS
    more = f"<p>{left_out:,} more rows: to_dicts(), to_pandas()</p>" if left_out > 0 else ""
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _unit_of_time(times: Iterable[Any]) -> tuple[int, str]:
    largest = max((abs(time) for time in times if time is not None), default=0)
    if not largest:
        return 1, ""
    return next(((scale, unit) for scale, unit in reversed(_TIMES) if largest >= 10 * scale), _TIMES[0])


def _cell(value: Any, column: Column, scale: int) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _escaped(value)
    if column.unit == "ns":
        return f"{value / scale:,.3f}" if scale > 1 else f"{value:,}"
    if column.unit in ("share", "percent"):
        return f"{value * (100 if column.unit == 'share' else 1):.1f} %"
    if column.unit == "identity" or isinstance(value, bool):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _side(column: Column) -> str:
    return _RIGHT if column.unit else ""


def _escaped(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))
