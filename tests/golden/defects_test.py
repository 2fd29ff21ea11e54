#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of this folder object to traces with a defect: each is seeded in a good trace, and must be found."""
import copy

from perfetto_test import check_announced, check_matched, check_shown, written
from projection_test import check_against_trace, check_conservation
from recorded import GPU_CATEGORIES, Export, captures, parse_trace, report, skip


def first(trace, category, **args):
    return next(event for event in trace["traceEvents"]
                if event.get("cat") == category and all(event["args"].get(key) == args[key] for key in args))


def remove(trace, event):
    trace["traceEvents"].remove(event)


def drop_arrow(trace):
    remove(trace, next(event for event in trace["traceEvents"] if event["ph"] == "s"))


def drop_range(trace):
    remove(trace, first(trace, "user_annotation"))


def drop_kernel(trace):
    remove(trace, first(trace, "kernel"))


def lengthen_kernel(trace):
    first(trace, "kernel")["dur"] += 0.001


def rename_range(trace):
    first(trace, "user_annotation")["name"] += "x"


def lengthen_range(trace):
    """By one nanosecond at its end."""
    first(trace, "user_annotation")["dur"] += 0.001


def take_adoption_away(trace):
    del first(trace, "kernel", adopted=True)["args"]["adopted"]


def swap_correlations(trace):
    """Of a kernel in a range and of an operation in none, so that they change owners."""
    owned = next(event for event in trace["traceEvents"]
                 if event.get("cat") == "kernel" and "External id" in event["args"])
    free = next(event for event in trace["traceEvents"]
                if event.get("cat") in GPU_CATEGORIES and "External id" not in event["args"])
    a, b = owned["args"], free["args"]
    a["correlation"], b["correlation"] = b["correlation"], a["correlation"]


def objects(check, *arguments):
    try:
        check(*arguments)
    except AssertionError:
        return True
    return False


def check_projection_objects(projection, trace):
    defects = [drop_range, drop_kernel, lengthen_kernel, rename_range, lengthen_range, swap_correlations]
    if projection["adopted_ops"]:
        defects.append(take_adoption_away)
    for seed in defects:
        tampered = copy.deepcopy(trace)
        seed(tampered)
        assert objects(check_against_trace, projection, tampered), f"{seed.__name__} passed for good"
    wrong = copy.deepcopy(projection)
    wrong["rows"][1]["gpu_self_ns"] += 1
    assert objects(check_conservation, wrong), "a nanosecond too much passed for good"
    return len(defects) + 1


def check_counts_object(export):
    tampered = copy.deepcopy(export.trace)
    drop_arrow(tampered)
    assert objects(check_announced, export.announced, tampered), "a lost arrow passed for announced"
    assert objects(check_matched, tampered), "a lost arrow passed for good"
    assert objects(check_shown, dict(written(tampered)), export.trace), "a lost arrow passed for shown"
    loss = dict(written(export.trace), **{"error: json_parser_failure": 1})
    assert objects(check_shown, loss, export.trace), "an error of the importer passed for good"
    for broken in (b'{"ts": NaN}', b'{"ts": 1, "ts": 2}', b'{"name": "\xff"}', b'{"ts": 1,}'):
        try:
            parse_trace(broken)
        except (ValueError, AssertionError):
            continue
        raise AssertionError(f"{broken} passed for JSON")
    return 8


def main():
    for capture in captures():
        projection = report(capture, "gpu-projection")
        if projection["total_ops"]:
            break
    else:
        skip("no capture has GPU work")
    export = Export(capture)
    check_against_trace(projection, export.trace)  # good as it is
    seeded = check_projection_objects(projection, export.trace) + check_counts_object(export)
    print(f"{capture.name}: {seeded} defects seeded, all found")


if __name__ == "__main__":
    main()
