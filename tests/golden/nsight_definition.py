# SPDX-License-Identifier: Apache-2.0
"""Nsight Systems' projection of NVTX ranges (its report nvtx_gpu_proj_sum), from nothing but an exported trace.

An operation counts for a range if the CUDA call that launched it lies within the range in time, on the same thread.
What the times alone say is taken: libprof goes by the order of its records for push/pop ranges.
"""
import collections
import statistics

from recorded import calls, gpu_operations, ns

SPILL_ROW_STEP = 10_000_000  # rows beside a thread's own have its number and a multiple of this


class Range:
    def __init__(self, event, style, end):
        self.name = f"{event['args'].get('domain', '')}:{event['name']}"
        self.style = style
        self.id = event["args"]["External id"]
        self.start, self.end = ns(event["ts"]), end
        self.thread = thread_of(event)
        self.operations = []  # (start, end)
        self.parent = None
        self.children = 0

    def holds(self, start, end):
        return self.start <= start and end <= self.end

    def level(self):
        return 0 if self.parent is None else self.parent.level() + 1


def thread_of(event):
    return event["pid"], event["tid"] % SPILL_ROW_STEP


def interval(event):
    start = ns(event["ts"])
    return start, start + ns(event["dur"])


def ranges_of(trace):
    """Those that begin and end on one thread."""
    found, begun = [], {}
    for event in trace["traceEvents"]:
        if event.get("cat") != "user_annotation":
            continue
        if event["ph"] == "X":
            found.append(Range(event, "PushPop", interval(event)[1]))
        elif event["ph"] == "b":
            begun[event["id"]] = event
        elif event["ph"] == "e":
            begin = begun.pop(event["id"])
            if thread_of(begin) == thread_of(event) and not begin["args"].get("open at end"):
                found.append(Range(begin, "StartEnd", ns(event["ts"])))
    return found


def place_operations(trace, by_thread):
    """Into the ranges around the calls that launched them."""
    launched = collections.defaultdict(list)
    for operation in gpu_operations(trace):
        launched[operation["args"]["correlation"]].append(interval(operation))
    calls_by_thread = collections.defaultdict(list)
    for call in calls(trace):
        if call["args"]["correlation"] in launched:
            calls_by_thread[thread_of(call)].append(call)
    for thread, made in calls_by_thread.items():
        waiting = sorted(by_thread.get(thread, ()), key=lambda found: (found.start, found.id), reverse=True)
        opened = []
        for call in sorted(made, key=lambda call: call["ts"]):
            start, end = interval(call)
            while waiting and waiting[-1].start <= start:
                opened.append(waiting.pop())
            opened = [found for found in opened if found.end >= start]
            for found in opened:
                if found.holds(start, end):
                    found.operations += launched[call["args"]["correlation"]]


def place_ranges(by_thread):
    """Under the latest of the push/pop ranges around them."""
    for ranges in by_thread.values():
        opened = []
        for found in sorted(ranges, key=lambda found: (found.start, found.id)):
            if found.style != "PushPop" or not found.operations:
                continue
            opened = [other for other in opened if other.end >= found.start]
            around = [other for other in opened if other.holds(found.start, found.end)]
            if around:
                found.parent = around[-1]
                found.parent.children += 1
            opened.append(found)


def projection_sum(trace):
    """{(name, style): {column: value}}, the columns as Nsight calls them."""
    by_thread = collections.defaultdict(list)
    for found in ranges_of(trace):
        by_thread[found.thread].append(found)
    place_operations(trace, by_thread)
    place_ranges(by_thread)
    groups = collections.defaultdict(list)
    for ranges in by_thread.values():
        for found in ranges:
            if found.operations:
                groups[found.name, found.style].append(found)
    return {key: figures(group) for key, group in groups.items()}


def figures(group):
    projected = [max(end for _, end in of.operations) - min(start for start, _ in of.operations) for of in group]
    operations = sum(len(of.operations) for of in group)
    return {
        "Total Proj Time (ns)": sum(projected),
        "Total Range Time (ns)": sum(of.end - of.start for of in group),
        "Range Instances": len(group),
        "Proj Avg (ns)": sum(projected) / len(group),
        "Proj Med (ns)": statistics.median(projected),
        "Proj Min (ns)": min(projected),
        "Proj Max (ns)": max(projected),
        "Proj StdDev (ns)": statistics.stdev(projected) if len(group) > 1 else 0,
        "Total GPU Ops": operations,
        "Avg GPU Ops": operations / len(group),
        "Avg Range Lvl": sum(of.level() for of in group) / len(group),
        "Avg Num Child": sum(of.children for of in group) / len(group),
    }
