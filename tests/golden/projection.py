# SPDX-License-Identifier: Apache-2.0
"""The GPU projection once more, from nothing but the exported trace: what was open when a kernel was launched is read
off the times of slices on a thread's rows, where libprof goes by the order of its records.

It does with less than libprof: of the threads that work for others only those that the trace marks are known, and a
process may have one training thread only. That is enough for the captures that the repository ships.
"""
import bisect
import collections
import re

from recorded import calls, gpu_operations, ns, union_ns

SPILL_ROW_STEP = 10_000_000  # rows beside a thread's own have its number and a multiple of this


class Range:
    def __init__(self, event):
        domain = event["args"].get("domain", "prof")
        self.name = event["name"] if domain == "prof" else f"{domain}:{event['name']}"
        self.start, self.end = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
        self.thread = (event["pid"], event["tid"] % SPILL_ROW_STEP)
        self.path = ()


class Row:
    def __init__(self):
        self.ranges = []
        self.operations = collections.defaultdict(list)  # by range
        self.self_ns = self.self_ops = 0
        self.adopted_ns = self.adopted_ops = 0


# Numbers that distinguish kinds of things: in conv2d, fp16.
KEPT = r"(?<=[A-Za-z])[0-9]{1,2}(?=[A-Za-z])|(?<![A-Za-z0-9])(?i:fp|bf|tf|int|uint|float)(?:4|8|16|32|64)(?![A-Za-z0-9])"


def folded(name):
    return escaped(re.sub(rf"({KEPT})|[0-9]+", lambda found: found[1] or "#", name))


def escaped(name):
    return name.replace("\\", "\\\\").replace("/", "\\/")


def are_different_things(ranges):
    """Of ranges whose folded names are equal: whether their numbers name things, and do not count them."""
    by_thread = collections.Counter((found.name, found.thread) for found in ranges)
    most = collections.Counter()
    for (name, _), count in by_thread.items():
        most[name] = max(most[name], count)
    least = min(most.values())
    return 2 <= len(most) <= 64 and least >= 3 and len(most) <= max(8, least)


def ranges_by_thread(trace):
    threads = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] == "user_annotation":
            found = Range(event)
            threads[found.thread].append(found)
    for ranges in threads.values():
        ranges.sort(key=lambda found: (found.start, -found.end))
    return threads


def open_at(threads, thread, time):
    """Outermost first."""
    ranges = threads.get(thread, [])
    begun = bisect.bisect_right(ranges, time, key=lambda found: found.start)
    return [found for found in ranges[:begun] if time < found.end]


def parents(threads, workers):
    """The stack in which each range was opened: its own thread's and, for one that works for another, that one's."""
    masters = [thread for thread in threads if thread not in workers]
    stacks, rows = {}, collections.defaultdict(list)
    for thread, ranges in threads.items():
        for found in ranges:
            outer = open_at(threads, masters[0], found.start) if thread in workers and masters else []
            outer += [other for other in open_at(threads, thread, found.start)
                      if other is not found and other.end >= found.end]
            stacks[found] = [*outer, found]
            rows[tuple(folded(other.name) for other in stacks[found])].append(found)
    segments = {}
    for ranges in rows.values():
        name_of = escaped if are_different_things(ranges) else folded
        segments |= {found: name_of(found.name) for found in ranges}
    for found, stack in stacks.items():
        found.path = tuple(segments[other] for other in stack)
    return masters


def project(trace):
    """Path to Row; the operations in no range stand under (no range), those without a call under (unmatched)."""
    call_of = {call["args"]["correlation"]: call for call in calls(trace)}
    operations = gpu_operations(trace)
    thread_of = lambda call: (call["pid"], call["tid"] % SPILL_ROW_STEP)
    workers = {thread_of(call_of[operation["args"]["correlation"]])
               for operation in operations if operation["args"].get("adopted")}
    threads = ranges_by_thread(trace)
    masters = parents(threads, workers)
    assert not workers or len(masters) == 1, f"who works for whom, of {masters}?"

    rows = collections.defaultdict(Row)
    for ranges in threads.values():
        for found in ranges:
            rows["/".join(found.path)].ranges.append(found)
    for operation in operations:
        start = ns(operation["ts"])
        interval = (start, start + ns(operation["dur"]))
        duration = ns(operation["dur"])
        call = call_of.get(operation["args"]["correlation"])
        stack = []
        if call is not None:
            thread, time = thread_of(call), ns(call["ts"])
            if thread in workers:
                stack = open_at(threads, masters[0], time)
            stack += open_at(threads, thread, time)
        for found in stack:
            row = rows["/".join(found.path)]
            row.operations[found].append(interval)
            if operation["args"].get("adopted"):
                row.adopted_ops += 1
                row.adopted_ns += duration
        own = rows["/".join(stack[-1].path) if stack else "(no range)" if call is not None else "(unmatched)"]
        own.self_ns += duration
        own.self_ops += 1
        if not stack:
            own.operations[None].append(interval)
    return rows


def figures(row):
    """The columns of the report that can be computed from the trace."""
    every = [interval for intervals in row.operations.values() for interval in intervals]
    sum_ns = sum(end - start for start, end in every)
    of_ranges = [intervals for found, intervals in row.operations.items() if found is not None]
    instance_ns = sorted(sum(end - start for start, end in row.operations.get(found, ())) for found in row.ranges)
    out = {
        "instances": len(row.ranges),
        "host_ns": sum(found.end - found.start for found in row.ranges),
        "gpu_sum_ns": sum_ns,
        "gpu_self_ns": row.self_ns,
        "gpu_child_ns": sum_ns - row.self_ns,
        "gpu_busy_ns": union_ns(every),
        "gpu_span_ns": sum(max(end for _, end in of) - min(start for start, _ in of) for of in of_ranges),
        "ops": len(every),
        "self_ops": row.self_ops,
        "adopted_ops": row.adopted_ops,
        "adopted_ns": row.adopted_ns,
    }
    if instance_ns:
        half = len(instance_ns) // 2
        middle = (instance_ns[half] + instance_ns[~half]) / 2
        out |= {"instance_min_ns": instance_ns[0], "instance_median_ns": middle, "instance_max_ns": instance_ns[-1]}
    return out
