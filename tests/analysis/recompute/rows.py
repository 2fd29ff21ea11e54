# SPDX-License-Identifier: Apache-2.0
"""The rows of the projection (docs/reference/attribution.md, "Columns"), out of which ranges each operation counts
for."""
import collections
import statistics

from attribution import AMBIGUOUS, NO_RANGE, UNMATCHED, are_different_things, most_on_a_thread
from program import chain, printable, unescaped


class Work:
    """Some operations and what they come to."""

    def __init__(self):
        self.ops = []

    def add(self, op):
        self.ops.append(op)

    @property
    def sum(self):
        return sum(op.duration for op in self.ops)

    @property
    def span(self):
        return max(op.end for op in self.ops) - min(op.start for op in self.ops) if self.ops else 0

    @property
    def busy(self):
        return busy(self.ops)


def busy(ops):
    total = 0
    for device in {op.device for op in ops}:
        reached = None
        for start, end in sorted((op.start, op.end) for op in ops if op.device == device):
            begin = start if reached is None else max(start, reached)
            total += max(0, end - begin)
            reached = end if reached is None else max(reached, end)
    return total


def communicates(op):
    """docs/reference/communication.md, for the names that random programs have."""
    if op.kind == "kernel" and ("ncclDevKernel" in op.given["name"] or "ncclKernel" in op.given["name"]):
        return True
    if op.kind not in ("kernel", "memcpy") or op.call is None:
        return False
    return any(ranges and ranges[0].is_collective for ranges in (op.call.own, op.call.torch))


def instance_columns(sums):
    return {
        "instance_min_ns": min(sums, default=0),
        "instance_median_ns": statistics.median(sums) if sums else 0,
        "instance_max_ns": max(sums, default=0),
        "instance_stddev_ns": statistics.stdev(sums) if len(sums) > 1 else 0,
    }


def host_columns(durations):
    return {
        "host_min_ns": min(durations, default=0),
        "host_median_ns": statistics.median(durations) if durations else 0,
        "host_max_ns": max(durations, default=0),
    }


def host_time_inside(attribution):
    """Of each range: how long the push/pop ranges directly inside were open, while it was."""
    inside = collections.Counter()
    for r in attribution.program.ranges:
        if r.style != "push_pop" or r.is_operator or not attribution.keeps(r):
            continue
        around = next((each for each in chain(r.parent) if attribution.keeps(each)), None)
        if around is not None:
            inside[around] += max(min(r.end, around.end) - r.start, 0)
    return inside


def merged_names(ranges):
    """How many names were folded into one row, if they may be those of different things."""
    most = most_on_a_thread(ranges)
    least = min(most.values(), default=0)
    return len(most) if 2 <= len(most) <= 64 and least >= (2 if len(most) <= 8 else 3) else 0


def path_of(row):
    return b"/".join(segment for segment, _ in row)


def kinds_of(row):
    """The row's kind, after those of the rows that it is part of."""
    fixed = {NO_RANGE: "no_range", AMBIGUOUS: "ambiguous", UNMATCHED: "unmatched"}
    kind = {False: "push_pop", True: "captured"}
    return tuple(fixed[segment] if captured is None else kind[captured] for segment, captured in row)


def kind_of(row):
    return kinds_of(row)[-1]


class Rows:
    """What counts for each row of the projection: `instances[row][instance]` is the work of one instance."""

    def __init__(self, attribution):
        self.attribution = attribution
        program = attribution.program
        self.work = collections.defaultdict(Work)
        self.own = collections.defaultdict(Work)
        self.instances = collections.defaultdict(dict)
        self.launch_rows = {}
        for name in (NO_RANGE, AMBIGUOUS, UNMATCHED):
            self.work[((name, None),)] = Work()
        for r in program.ranges:
            if r.style == "push_pop" and not r.is_operator and attribution.keeps(r):
                self.instances[attribution.row_of(r)][r] = Work()
        for op in program.ops:
            self._count(op, attribution.verdicts[op.number])

    def _count(self, op, verdict):
        self.own[verdict.row].add(op)
        rows = {}
        for r in verdict.open:
            row = self.attribution.row_of(r)
            self.instances[row][r].add(op)
            rows[row] = True
        first = len(verdict.row) - len(verdict.captured)
        for depth, r in enumerate(verdict.captured, first + 1):
            row = verdict.row[:depth]
            self.instances[row].setdefault((r, op.call), Work()).add(op)
            rows[row] = True
        if verdict.is_ambiguous:
            rows[((AMBIGUOUS, None),)] = True
        elif verdict.row[-1][1] is None:
            rows[verdict.row] = True
        for row in rows:
            self.work[row].add(op)

    def all(self):
        return set(self.work) | set(self.instances)


def projection(attribution):
    """The report gpu-projection: (kinds, path) → columns, and the totals."""
    program, rows = attribution.program, Rows(attribution)
    waits = collections.Counter()
    total_wait = 0
    for call in program.calls.values():
        if not call.given["waits"] or call.end is None:
            continue
        length = call.end - call.time
        total_wait += length
        around = attribution.kept(call.open)
        for r in around:
            waits[attribution.row_of(r)] += length
        if not around:
            waits[(NO_RANGE, None),] += length
    found = {}
    inside = host_time_inside(attribution)
    for row in rows.all():
        work, own = rows.work[row], rows.own[row]
        instances = rows.instances.get(row, {})
        adopted = [op for op in work.ops if attribution.verdicts[op.number].is_adopted]
        real = [i for i in instances if not isinstance(i, tuple)]
        found[kinds_of(row), path_of(row)] = {
            "type": kind_of(row),
            "name": printable(unescaped(row[-1][0])),
            "merged_names": merged_names([i[0] if isinstance(i, tuple) else i for i in instances]),
            "depth": len(row) - 1,
            "captured": kind_of(row) == "captured",
            "observed": False,
            "instances": len(instances),
            "host_ns": sum(r.duration for r in real),
            "gpu_sum_ns": work.sum,
            "gpu_self_ns": own.sum,
            "gpu_child_ns": work.sum - own.sum,
            "gpu_busy_ns": work.busy,
            "gpu_span_ns": sum(each.span for each in instances.values()),
            "ops": len(work.ops),
            "self_ops": len(own.ops),
            "adopted_ops": len(adopted),
            "adopted_ns": sum(op.duration for op in adopted),
            "host_self_ns": sum(r.duration - inside[r] for r in real),
            **host_columns([r.duration for r in real]),
            **instance_columns([each.sum for each in instances.values()]),
            "communication_ns": sum(op.duration for op in work.ops if communicates(op)),
            "wait_ns": waits[row],
            "payload_bytes": sum(r.payload[1] for r in real if r.payload and r.payload[0] == "bytes"),
        }
    verdicts = attribution.verdicts.values()
    totals = {
        "total_gpu_ns": sum(op.duration for op in program.ops),
        "total_busy_ns": busy(program.ops),
        "total_ops": len(program.ops),
        "adopted_ops": sum(v.is_adopted for v in verdicts),
        "ops_of_unseen_captures": sum(v.unseen_capture for v in verdicts),
        "ops_of_ambiguous_captures": sum(v.ambiguous_capture for v in verdicts),
        "communication_ns": sum(op.duration for op in program.ops if communicates(op)),
        "wait_ns": total_wait,
    }
    return found, totals


def process_ranges(attribution):
    """Start/end ranges: an operation counts for an instance if its launch began in the instance's time."""
    program, found = attribution.program, collections.defaultdict(list)
    for r in program.ranges:
        if r.style == "start_end" and attribution.keeps(r):
            found[attribution.segment(r)].append(r)
    for name in [name for name, instances in found.items() if attribution.fold == "counters"]:
        if are_different_things(found[name]):
            for r in found.pop(name):
                found[attribution.segment(r, keeps_name=True)].append(r)
    launched = sorted((op.call.time, op.number, op) for op in program.ops if op.call is not None)
    rows = {}
    for name, instances in found.items():
        work = [[op for time, _, op in launched if r.start <= time < r.end] for r in instances]
        ops = list({op.number: op for each in work for op in each}.values())
        spans = [max(op.end for op in each) - min(op.start for op in each) for each in work if each]
        rows[("start_end",), name] = {
            "type": "start_end",
            "name": printable(unescaped(name)),
            "merged_names": merged_names(instances),
            "depth": 0,
            "captured": False,
            "observed": False,
            "instances": len(instances),
            "host_ns": sum(r.duration for r in instances),
            "gpu_sum_ns": sum(op.duration for op in ops),
            "gpu_self_ns": 0,
            "gpu_child_ns": 0,
            "gpu_busy_ns": busy(ops),
            "gpu_span_ns": sum(spans),
            "ops": len(ops),
            "self_ops": 0,
            "adopted_ops": 0,
            "adopted_ns": 0,
            "host_self_ns": 0,
            **host_columns([r.duration for r in instances]),
            **instance_columns([sum(op.duration for op in each) for each in work]),
            "communication_ns": sum(op.duration for op in ops if communicates(op)),
            "wait_ns": 0,
            "payload_bytes": sum(r.payload[1] for r in instances if r.payload and r.payload[0] == "bytes"),
        }
    return rows
