# SPDX-License-Identifier: Apache-2.0
"""libprof's own reports beside gpu-projection: kernels, copies, death, pytorch_ops. Rows in no order."""
import collections
import statistics

from program import printable
from rows import communicates, path_of
from symbols import KERNEL_NAME, copy_name, op_name


def durations_columns(values, total):
    return {
        "share": sum(values) / total if total else 0,
        "instances": len(values),
        "total_ns": sum(values),
        "min_ns": min(values),
        "median_ns": statistics.median(values),
        "mean_ns": sum(values) / len(values),
        "max_ns": max(values),
        "stddev_ns": statistics.stdev(values) if len(values) > 1 else 0,
    }


def kernels(program, style="full"):
    groups = collections.defaultdict(list)
    for op in program.ops:
        if op.kind in ("kernel", "graph"):
            groups[op_name(op, style)].append(op)
    total = sum(op.duration for ops in groups.values() for op in ops)
    rows = []
    for name, ops in groups.items():
        symbols = {op.given.get("name", "") for op in ops}
        rows.append(
            {
                "name": name,
                "symbol": symbols.pop() if len(symbols) == 1 else "",
                **durations_columns([op.duration for op in ops], total),
                "registers_per_thread": ops[0].given.get("registers", 0),
                "class": "communication" if communicates(ops[0]) else "compute",
            }
        )
    communication = sum(row["total_ns"] for row in rows if row["class"] == "communication")
    return rows, {"total_ns": total, "communication_ns": communication}


def copies(program):
    groups = collections.defaultdict(list)
    for op in program.ops:
        if op.kind in ("memcpy", "memset"):
            groups[copy_name(op.given)].append(op)
    total = sum(op.duration for ops in groups.values() for op in ops)
    rows = []
    for name, ops in groups.items():
        sizes, length = [op.given["bytes"] for op in ops], sum(op.duration for op in ops)
        rows.append(
            {
                "operation": name,
                **durations_columns([op.duration for op in ops], total),
                "bytes": sum(sizes),
                "min_bytes": min(sizes),
                "max_bytes": max(sizes),
                "gigabytes_per_s": sum(sizes) / length if length else 0,
            }
        )
    return rows, {"total_ns": total}


ENDED = {
    "exited": "the recording was closed in good order",
    "died": "the process ended without exit handlers (os._exit), or was killed",
    "none": "the process ended, or is still running, without closing this capture",
}


def path_in(attribution, r):
    """Start/end ranges stand in no tree."""
    return path_of(attribution.row_of(r)) if r.style == "push_pop" else attribution.program.segment(r, fold=False)


def death(program, attribution, style="full"):
    """Paths as in the projection, with their digits: `attribution` does not fold them."""
    last = program.windows[-1]["end"] or program.end
    rows = []
    for r in program.ranges:
        if r.open_at_end and r.end >= last and not r.is_operator and attribution.keeps(r):
            rows.append(
                {
                    "what": "open range",
                    "range": printable(path_in(attribution, r)),
                    "kernel": "",
                    "count": 1,
                    **thread_columns(program, r.thread),
                    "before_end_ns": program.end - r.start,
                }
            )
    unfinished = [
        call for call in program.calls.values() if call.given["kernel"] and not call.ops and not call.is_captured
    ]
    groups = collections.defaultdict(list)
    for call in unfinished:
        around = attribution.kept(call.own)
        path = path_in(attribution, around[0]) if around else b""
        groups[call.thread, path, op_name_of(call, style)].append(call.time)
    for (thread, path, kernel), times in groups.items():
        rows.append(
            {
                "what": "unfinished launch",
                "range": printable(path),
                "kernel": kernel,
                "count": len(times),
                **thread_columns(program, thread),
                "before_end_ns": program.end - min(times),
            }
        )
    totals = {"ended": ENDED[program.given["ending"]], "launches_without_completion": len(unfinished)}
    return rows, totals


def thread_columns(program, thread):
    return {"tid": program.threads[thread].tid, "thread": program.threads[thread].name}


def op_name_of(call, style):
    return KERNEL_NAME[style][call.given["kernel"]]


class Operators:
    """docs/guide/pytorch.md: ranges of PyTorch's observer, and which operator made which backward node."""

    ENGINE = b"autograd::engine::evaluate_function: "

    def __init__(self, program):
        self.program = program
        self.ranges = [r for r in program.ranges if r.is_torch]
        self.parent = {r: r.torch_around[0] if r.torch_around else None for r in self.ranges}
        self.gpu = collections.Counter()
        self.inside = collections.Counter(parent for parent in self.parent.values() if parent is not None)
        for call in program.calls.values():
            if call.torch:
                self.inside[call.torch[0]] += 1
            for r in call.torch:
                self.gpu[r] += sum(op.duration for op in call.ops)
        self._link_nodes()

    def is_repeated(self, r):
        """All that is in its parent, under the parent's name: the two are one call."""
        parent = self.parent[r]
        return parent is not None and self.inside[parent] == 1 and parent.name == r.name

    def is_node(self, r):
        parent = self.parent[r]
        return r.sequence is not None and parent is not None and parent.name == self.ENGINE + r.name

    def _link_nodes(self):
        self.nodes, self.unlinked, self.ambiguous = 0, 0, 0
        self.made = []  # (operator, node)
        shown = collections.defaultdict(dict)  # sequence → thread → the latest operator that shows it
        has_node = set()
        for r in self.ranges:
            if not r.is_operator or r.sequence is None:
                continue
            if not self.is_node(r):
                shown[r.sequence][r.thread] = r
                continue
            self.nodes += 1
            makers = list(shown[r.sequence].values())
            fresh = [maker for maker in makers if maker not in has_node]
            meant = fresh or makers
            if len(meant) == 1:
                has_node.add(meant[0])
                self.made.append((meant[0], r))
            elif meant:
                self.ambiguous += 1
            else:
                self.unlinked += 1

    def table(self):
        rows = collections.defaultdict(collections.Counter)
        columns = ("calls", "cpu_total_ns", "cpu_self_ns", "gpu_total_ns", "gpu_self_ns", "gpu_ops")
        columns += ("backward_gpu_ns", "backward_calls")
        for r in self.ranges:
            row = rows[r.name]
            if self.is_repeated(r):
                continue
            row["calls"] += 1
            row["cpu_total_ns"] += r.duration
            row["cpu_self_ns"] += r.duration
            row["gpu_total_ns"] += self.gpu[r]
            if self.parent[r] is not None:
                rows[self.parent[r].name]["cpu_self_ns"] -= r.duration
        for call in self.program.calls.values():
            if call.torch:
                rows[call.torch[0].name]["gpu_self_ns"] += sum(op.duration for op in call.ops)
                rows[call.torch[0].name]["gpu_ops"] += len(call.ops)
        for maker, node in self.made:
            while maker is not None and maker.is_operator:
                if not self.is_repeated(maker):
                    rows[maker.name]["backward_gpu_ns"] += self.gpu[node]
                    rows[maker.name]["backward_calls"] += 1
                maker = self.parent[maker]
        totals = {
            "backward_nodes": self.nodes,
            "unlinked_nodes": self.unlinked,
            "ambiguous_nodes": self.ambiguous,
        }
        return [{"name": printable(name), **{c: row[c] for c in columns}} for name, row in rows.items()], totals
