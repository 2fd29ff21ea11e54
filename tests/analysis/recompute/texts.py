# SPDX-License-Identifier: Apache-2.0
"""The text of gpu-projection: which rows a table of at most so many has, and what those that are folded come to
(docs/reference/reports.md, "gpu-projection"); and what a step takes (docs/guide/phases.md, "What a step takes")."""
import functools
import re
import statistics

import steps
from rows import busy

FIXED = ("no_range", "ambiguous", "unmatched")


def parents(rows):
    """Per row its parent's index, or None: rows stand behind what they are part of."""
    found, above = [], []
    for index, row in enumerate(rows):
        del above[row["depth"] :]
        found.append(above[-1] if above else None)
        above.append(index)
    return found


def chosen(rows, most):
    """Indices of those that are shown, by trying the largest first."""
    parent = parents(rows)

    def with_ancestors(index):
        found = set()
        while index is not None:
            found.add(index)
            index = parent[index]
        return found

    def lines(kept):
        left_out = {parent[index] for index in range(len(rows)) if index not in kept}
        return len(kept) + len([each for each in left_out if each is None or each in kept])

    kept = set()
    for index, row in enumerate(rows):
        above = [row] if parent[index] is None else [row, rows[parent[index]]]
        if row["type"] in FIXED or (row["depth"] < 2 and all(each["observed"] for each in above)):
            kept.add(index)
    for index in sorted(range(len(rows)), key=lambda i: (-rows[i]["gpu_sum_ns"], -rows[i]["host_ns"], i)):
        more = kept | with_ancestors(index)
        if lines(more) > most:
            break
        kept = more
    for index in sorted(range(len(rows)), reverse=True):
        siblings = [i for i in range(len(rows)) if i not in kept and parent[i] == parent[index]]
        has_children = any(above == index for above in parent)
        if siblings == [index] and not has_children and (parent[index] is None or parent[index] in kept):
            kept.add(index)
    return kept


def expected(rows, most):
    """Lines as (depth, rows it stands for, count, host, GPU, self, operations)."""
    parent, kept = parents(rows), chosen(rows, most)
    folds = {}
    for index in range(len(rows)):
        at = index
        if index in kept:
            continue
        while at is not None and at not in kept:
            at = parent[at]
        folds.setdefault(at, []).append((rows[index], parent[index] == at))
    lines = []

    def fold(at):
        if at in folds:
            below = [row for row, _ in folds[at]]
            self_ns = sum(row["gpu_self_ns"] for row in below)
            host_ns = sum(row["host_ns"] for row, is_outermost in folds[at] if is_outermost)
            depth = 0 if at is None else rows[at]["depth"] + 1
            count = sum(row["instances"] for row in below)
            lines.append((depth, len(below), count, host_ns, self_ns, self_ns, sum(row["self_ops"] for row in below)))

    def walk(at):
        ranges = [i for i in sorted(kept) if parent[i] == at and rows[i]["type"] not in FIXED]
        for index in ranges + [None] + [i for i in sorted(kept) if parent[i] == at and rows[i]["type"] in FIXED]:
            if index is None:
                fold(at)
                continue
            row, is_fixed = rows[index], rows[index]["type"] in FIXED
            host = None if is_fixed or row["captured"] else row["host_ns"]
            lines.append((row["depth"], 0, None if is_fixed else row["instances"], host, row["gpu_sum_ns"],
                          row["gpu_self_ns"], row["ops"]))
            walk(index)

    walk(None)
    return lines


def number(line, columns, scale, title):
    """None where the cell has none. Times are in microseconds, with three decimals."""
    cell = line[slice(*columns[title])].strip().replace(",", "")
    return None if cell in ("", "-") else round(float(cell) * scale)


def parsed(text):
    """The tables of ranges and of start/end ranges, as the same lines, and the total's self time. None: they are in another
    unit than microseconds."""
    tables, unit, spans, total = [[], []], None, None, None
    for line in text.splitlines():
        if match := re.match(r"(GPU time by range|Start/end ranges), in (\w+)", line):
            unit, table, spans, titles = match[2], tables[match[1][0] == "S"], None, None
            if unit != "us":
                return None
        elif unit and re.match(r"(range|start/end range) +count", line):
            titles = line
        elif unit and re.fullmatch(r"[- ]+", line) and titles:
            if spans is None:
                spans = [match.span() for match in re.finditer("-+", line)]
                columns = {titles[begin:end].strip(): (begin, end) for begin, end in spans}
        elif unit and spans and not line:
            unit = spans = None
        elif unit and spans:
            ns, whole = (functools.partial(number, line, columns, scale) for scale in (1000, 1))
            if line.startswith("all GPU work"):
                total = ns("self")
                continue
            name = line[slice(*spans[0])]
            folded = re.fullmatch(r" *… ([\d,]+) more rows? *", name)
            table.append(((len(name) - len(name.lstrip(" "))) // 2, int(folded[1].replace(",", "")) if folded else 0,
                          whole("count"), ns("host"), ns("GPU"), ns("self"), whole("ops")))
    return *tables, total


def step(attribution):
    """The object `step`, of steps that prof_step counted; None if there is none that is whole."""
    program = attribution.program
    found, times, is_first = steps.that_count(program)
    if found is None:
        return {}
    if not found:
        return None
    launched = [op for op in program.ops if op.call is not None]
    ops = [op for op in launched if any(start <= op.call.time < end for start, end, _ in found)]
    lengths = [end - start for start, end, _ in found]
    of_ops = {"gpu_sum_ns": sum(op.duration for op in ops), "ops": len(ops)}
    figures = {"gpu_busy_ns": busy(ops), "devices": len({op.device for op in ops}), **of_ops}
    of_time = {} if times is None else {"total_ns": sum(times), "median_ns": statistics.median(times),
                                        "min_ns": min(times), "max_ns": max(times),
                                        "mean_ns": sum(times) / len(times)}  # fmt: skip
    return {
        **of_time,
        "steps": len(found),
        "source": "counted",
        "is_first": is_first,
        "ended_by": None,
        "host_median_ns": statistics.median(lengths),
        "host_ns": sum(lengths),
        **(figures if launched else dict.fromkeys(figures)),
        "parts": [{"phase": None, **of_ops}] if launched else [],
    }
