# SPDX-License-Identifier: Apache-2.0
"""How often the captures met each rule: a test that never meets one proves nothing about it."""
import collections

import steps
import tables

# At least so many of each in a hundred captures.
LEAST = 5


def met(program, attribution):
    found = collections.Counter()
    for op in program.ops:
        verdict = attribution.verdicts[op.number]
        own = op.call.own if op.call is not None else ()
        found["work inside a range"] += bool(own)
        found["work outside all ranges"] += not verdict.open
        found["work without a launch"] += op.call is None
        found["adopted work"] += verdict.is_adopted and not own
        found["adopted work inside a range of its own"] += verdict.is_adopted and bool(own)
        found["ambiguous work"] += verdict.is_ambiguous and len(verdict.row) == 1
        found["work below (ambiguous)"] += verdict.is_ambiguous and len(verdict.row) > 1
        found["work of a captured range"] += bool(verdict.captured)
        found["work of captured ranges alone"] += bool(verdict.captured) and not verdict.open
        found["work of a capture that was not seen"] += verdict.unseen_capture
        found["work of an ambiguous capture"] += verdict.ambiguous_capture
        found["range that outlived its parent"] += any(r.parent not in (None, *own) for r in own)
        found["graph recorded as a whole"] += op.kind == "graph"
    for call in program.calls.values():
        found["launch while ranges are set aside"] += bool(call.ops) and call.own != call.open
        found["wait while ranges are set aside"] += call.given["waits"] and call.own != call.open
        found["call that is not seen to return"] += call.end is None
    for r in program.ranges:
        is_cut = r.open_at_end and r.window + 1 < len(program.windows)
        found["push/pop range cut by a window"] += is_cut and r.style == "push_pop"
        found["start/end range cut by a window"] += is_cut and r.style == "start_end"
        found["range ended by another thread"] += r.end_thread not in (None, r.thread)
        found["payload that a double does not hold"] += r.payload is not None and r.payload[1] > 2**53
    operators = tables.Operators(program)
    found["backward node with its operator"] += len(operators.made)
    found["backward node of several threads' operators"] += operators.ambiguous
    found["operator that is another's repetition"] += sum(map(operators.is_repeated, operators.ranges))
    rows, _, totals = steps.steps(attribution) or ({}, None, {"windows": 0})
    found["table of steps"] += bool(rows)
    found["interval of a step's time"] += sum(bool(row["half_width_ns"]) for row in rows.values())
    found["captured row of a step"] += sum(row[-1][1] is True for row in rows)
    found["three windows with steps"] += totals["windows"] == 3
    found.update(program.dropped)
    return found


def check(found, captures):
    few = {what: count for what, count in found.items() if count < LEAST * captures // 100}
    for what, count in few.items():
        print(f"met {count} times in {captures} captures: {what}")
    return not few
