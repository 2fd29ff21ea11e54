# SPDX-License-Identifier: Apache-2.0
"""Nsight Systems' reports, as docs/reference/reports.md defines them. Each is a list of rows (columns by name), in no
order."""
import collections
import statistics

from program import printable
from symbols import function_of, nsight_copy_name, op_name


def statistic_columns(values, prefix="", unit=" (ns)", scale=1):
    if not values:
        return {prefix + name + unit: None for name in ("Avg", "Med", "Min", "Max", "StdDev")}
    return {
        prefix + "Avg" + unit: sum(values) / len(values) / scale,
        prefix + "Med" + unit: statistics.median(values) / scale,
        prefix + "Min" + unit: min(values) / scale,
        prefix + "Max" + unit: max(values) / scale,
        prefix + "StdDev" + unit: (statistics.stdev(values) if len(values) > 1 else 0) / scale,
    }


def time_summary(named, count, name):
    """`named`: pairs of a name and a duration."""
    groups = collections.defaultdict(list)
    for text, duration in named:
        groups[text].append(duration)
    total = sum(map(sum, groups.values()))
    return [
        {
            "Time (%)": 100 * sum(values) / total if total else 0,
            "Total Time (ns)": sum(values),
            count: len(values),
            **statistic_columns(values),
            name: text,
        }
        for text, values in groups.items()
    ]


def kernels(program):
    return [op for op in program.ops if op.kind == "kernel"]


def copies(program):
    return [op for op in program.ops if op.kind in ("memcpy", "memset")]


def cuda_api_sum(program):
    returned = [call for call in program.calls.values() if call.end is not None]
    return time_summary([(function_of(call), call.end - call.time) for call in returned], "Num Calls", "Name")


def cuda_gpu_kern_sum(program, style="full"):
    return time_summary([(op_name(op, style), op.duration) for op in kernels(program)], "Instances", "Name")


def cuda_gpu_mem_time_sum(program):
    return time_summary([(nsight_copy_name(op.given), op.duration) for op in copies(program)], "Count", "Operation")


def cuda_gpu_mem_size_sum(program):
    groups = collections.defaultdict(list)
    for op in copies(program):
        groups[nsight_copy_name(op.given)].append(op.given["bytes"])
    return [
        {
            "Total (MB)": sum(values) / 1e6,
            "Count": len(values),
            **statistic_columns(values, unit=" (MB)", scale=1e6),
            "Operation": text,
        }
        for text, values in groups.items()
    ]


def cuda_kern_exec_sum(program, style="full"):
    groups = collections.defaultdict(list)
    for op in kernels(program):
        call = op.call
        if call is None or call.end is None:
            continue
        groups[program.threads[call.thread].tid, op.device, function_of(call), op_name(op, style)].append((call, op))
    rows = []
    for (tid, device, function, kernel), both in groups.items():
        waited = [op.start - call.end for call, op in both if op.start > call.end]
        rows.append(
            {
                "PID": program.given["pid"],
                "TID": tid,
                "DevId": device,
                "Count": len(both),
                "QCount": len(waited),
                **statistic_columns([max(call.end, op.end) - call.time for call, op in both], "T"),
                **statistic_columns([call.end - call.time for call, _ in both], "A"),
                **statistic_columns(waited, "Q"),
                **statistic_columns([op.duration for _, op in both], "K"),
                "API Name": function,
                "Kernel Name": kernel,
            }
        )
    return rows


def nvtx_pushpop_sum(program, keeps):
    ranges = [r for r in program.ranges if r.style == "push_pop" and not r.is_operator and keeps(r)]
    return time_summary([(printable(program.nsight_name(r)), r.duration) for r in ranges], "Instances", "Range")


class Projection:
    """The operations launched inside each range, on its own thread."""

    def __init__(self, program, keeps):
        self.program = program
        self.ops = collections.defaultdict(list)
        started = collections.defaultdict(list)
        for r in program.ranges:
            if r.style == "start_end" and r.thread == r.end_thread and keeps(r):
                started[r.thread].append(r)
        for call in program.calls.values():
            if not call.ops:
                continue
            last = call.time if call.end is None else call.end
            around = [r for r in call.open if keeps(r)]
            around += [r for r in started[call.thread] if r.start <= call.time and last <= r.end]
            for r in around:
                self.ops[r] += call.ops
        self.ranges = sorted(self.ops, key=lambda r: r.start)
        self.parent = {r: self._parent(r, keeps) for r in self.ranges}

    @staticmethod
    def _parent(r, keeps):
        """The innermost that was open when it was pushed and is not closed before it."""
        return next((other for other in r.open_around if keeps(other) and other.end >= r.end), None)

    def stack(self, r):
        """The range and those around it, outermost first."""
        stack = []
        while r is not None:
            stack.insert(0, r)
            r = self.parent[r]
        return stack

    def start(self, r):
        return min(op.start for op in self.ops[r])

    def duration(self, r):
        return max(op.end for op in self.ops[r]) - self.start(r)

    def children(self, r):
        return sum(parent is r for parent in self.parent.values())


STYLE = {"push_pop": "PushPop", "start_end": "StartEnd"}


def nvtx_gpu_proj_sum(projection):
    groups = collections.defaultdict(list)
    for r in projection.ranges:
        groups[printable(projection.program.nsight_name(r)), STYLE[r.style]].append(r)
    rows = []
    for (name, style), ranges in groups.items():
        durations = [projection.duration(r) for r in ranges]
        ops = [len(projection.ops[r]) for r in ranges]
        rows.append(
            {
                "Range": name,
                "Style": style,
                "Total Proj Time (ns)": sum(durations),
                "Total Range Time (ns)": sum(r.duration for r in ranges),
                "Range Instances": len(ranges),
                **statistic_columns(durations, "Proj "),
                "Total GPU Ops": sum(ops),
                "Avg GPU Ops": sum(ops) / len(ops),
                "Avg Range Lvl": sum(len(projection.stack(r)) - 1 for r in ranges) / len(ranges),
                "Avg Num Child": sum(map(projection.children, ranges)) / len(ranges),
            }
        )
    return rows


def nvtx_gpu_proj_trace(projection, id_of):
    program = projection.program
    rows = []
    for r in projection.ranges:
        parent = projection.parent[r]
        rows.append(
            {
                "Name": printable(program.nsight_name(r)),
                "Projected Start (ns)": projection.start(r) - program.given["begin"],
                "Projected Duration (ns)": projection.duration(r),
                "Orig Start (ns)": r.start - program.given["begin"],
                "Orig Duration (ns)": r.duration,
                "Style": STYLE[r.style],
                "PID": program.given["pid"],
                "TID": program.threads[r.thread].tid,
                "NumGPUOps": len(projection.ops[r]),
                "Lvl": len(projection.stack(r)) - 1,
                "NumChild": projection.children(r),
                "RangeId": id_of[r],
                "ParentId": None if parent is None else id_of[parent],
                "RangeStack": "".join(f":{id_of[each]}" for each in projection.stack(r)),
            }
        )
    return rows


def nvtx_kern_sum(projection, style="full"):
    program = projection.program
    groups = collections.defaultdict(list)
    for r in projection.ranges:
        for op in projection.ops[r]:
            if op.kind == "kernel":
                key = (
                    printable(program.nsight_name(r)),
                    STYLE[r.style],
                    program.threads[r.thread].tid,
                    op_name(op, style),
                )
                groups[key].append((r, op.duration))
    return [
        {
            "NVTX Range": name,
            "Style": range_style,
            "PID": program.given["pid"],
            "TID": tid,
            "NVTX Inst": len({r for r, _ in launched}),
            "Kern Inst": len(launched),
            "Total Time (ns)": sum(duration for _, duration in launched),
            **statistic_columns([duration for _, duration in launched]),
            "Kernel Name": kernel,
        }
        for (name, range_style, tid, kernel), launched in groups.items()
    ]
