# SPDX-License-Identifier: Apache-2.0
"""What docs/reference says that the reports of a trace of torch.profiler have, computed from its sentences alone.

Nothing here was taken from libprof's sources: where both agree, two readings of the reference do. Each function names
the section that it follows. The algorithms are the plain ones (each operation with each range), for small traces.
"""
import bisect
import collections
import re
import statistics

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
WAITING = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize")
FORMATS = "fp|bf|tf|int|uint|float"


def length(intervals):
    """Of the union."""
    total, until = 0, None
    for start, end in sorted(intervals):
        if until is None or start > until:
            total, until = total + end - start, end
        elif end > until:
            total, until = total + end - until, end
    return total


class Range:
    def __init__(self, thread, start, end, name, order):
        self.thread, self.start, self.end, self.name, self.order = thread, start, end, name, order
        self.parent = None  # the innermost on its thread at its push, or on the thread it works for
        self.own_parent = None  # of its thread alone
        self.row = None
        self.ops = []


class Op:
    pass


def fold(name):
    """attribution.md, Folding: # for each run of digits, but for those that stay."""
    out, at = [], 0
    for run in re.finditer(r"\d+", name):
        before, after = name[:run.start()], name[run.end():]  # fmt: skip
        digits = run.group()
        letters = len(digits) <= 2 and re.search(r"[A-Za-z]$", before) and re.match(r"[A-Za-z]", after)
        number_format = (digits in ("4", "8", "16", "32", "64") and re.search(rf"(?<![A-Za-z0-9])({FORMATS})$", before)
                         and not re.match(r"[A-Za-z0-9]", after))  # fmt: skip
        out.append(name[at : run.start()] + (digits if letters or number_format else "#"))
        at = run.end()
    return "".join(out) + name[at:]


COLLECTIVE = re.compile(r"^(void )?(nccl|nvshmem)|ncclDevKernel|cross_device_reduce|one_shot_all_reduce")


def alternate(one, other):
    """(Ranges that recur) Each begins before the other's third, and for the last time after the other's third last."""
    for a, b in ((one, other), (other, one)):
        a, b = sorted(r.start for r in a), sorted(r.start for r in b)
        third = min(len(b), 3)
        if not (a[0] < b[third - 1] and a[-1] > b[-third]):
            return False
    return True


class Reading:
    """guide/kineto.md: what becomes of the events."""

    def __init__(self, document):
        self.names, self.ranges, self.calls, self.ops, operators = {}, [], [], [], []
        first, last = None, None
        for order, event in enumerate(document["traceEvents"]):
            if event["ph"] == "M":
                if event["name"] == "thread_name":
                    self.names[event["pid"], event["tid"]] = event["args"]["name"]
                continue
            start = round(event["ts"] * 1000)
            end = start + round(event["dur"] * 1000)
            first, last = min(start, first or start), max(end, last or end)
            thread = event["pid"], event["tid"]
            if event["cat"] == "user_annotation":
                self.ranges.append(Range(thread, start, end, event["name"], order))
            elif event["cat"] == "cpu_op":
                operators.append((thread, start, end, event["name"]))
            elif event["cat"] == "cuda_runtime":
                self.calls.append((thread, start, end, event["name"], event["args"].get("correlation")))
            elif event["cat"] in GPU:
                op = Op()
                pid = event["pid"]
                op.process = re.match(r"(\[.*\]) ", pid).group(1) if isinstance(pid, str) else ""
                op.start, op.end, op.name, op.category = start, end, event["name"], event["cat"]
                op.device = op.process, event["args"]["device"]
                op.stream = *op.device, event["args"]["stream"]
                op.correlation = event["args"]["correlation"]
                op.order = order
                self.ops.append(op)
        self.first, self.last = first or 0, last or 0
        by_correlation = {}
        for thread, start, end, name, correlation in self.calls:
            if correlation is not None:
                process = re.match(r"(\[.*\]) ", thread[0]).group(1) if isinstance(thread[0], str) else ""
                by_correlation[process, correlation] = (thread, start, end, name)
        for op in self.ops:
            op.launch = by_correlation.get((op.process, op.correlation))
            op.is_communication = bool(COLLECTIVE.search(op.name)) or "PtoP" in op.name
            if op.launch:
                thread, at = op.launch[:2]
                # (5.) a kernel or copy, so no memset
                op.is_communication |= op.category != "gpu_memset" and any(o[0] == thread and o[1] <= at < o[2] for o in operators)
            op.is_compute = op.category == "kernel" and not op.is_communication
        self.ops.sort(key=lambda op: (op.start, op.end, op.order))


class Projection(Reading):
    """attribution.md."""

    def __init__(self, document):
        super().__init__(document)
        self.nest()
        self.adopt()
        self.attribute()
        self.make_rows()

    def nest(self):
        """guide/kineto.md: ranges by time; one that overlaps another of its thread is process-wide."""
        self.process_wide, kept = [], []
        self.of_thread = collections.defaultdict(list)
        for one in sorted(self.ranges, key=lambda r: (r.start, -r.end, r.order)):
            stack = self.of_thread[one.thread]
            is_wide = False
            while (around := next((r for r in reversed(stack) if r.start <= one.start and r.end > one.start), None)) and one.end > around.end:
                if one.end - around.end <= 2000:
                    one.end = around.end
                elif around.end - one.start <= 2000:
                    around.end = one.start
                else:
                    is_wide = True
                    break
            if is_wide:
                self.process_wide.append(one)
                continue
            one.own_parent = one.parent = around
            stack.append(one)
            kept.append(one)
        self.ranges = kept

    def open_on(self, thread, at):
        """Outermost first."""
        return [r for r in self.of_thread[thread] if r.start <= at < r.end]

    def adopt(self):
        """Autograd: threads that work for another."""
        self.workers = {t for t, name in self.names.items() if name.startswith("pt_autograd_")}
        self.launched_on = collections.defaultdict(set)
        self.extent = {}
        for thread, ranges in self.of_thread.items():
            ranges = [one for one in ranges if one.start < one.end]
            if ranges:
                self.extent[thread] = min(r.start for r in ranges), max(r.end for r in ranges)
        for op in self.ops:
            if op.launch:
                self.launched_on[op.launch[0]] |= {op.stream, op.device}
        for one in self.ranges:
            if one.thread in self.workers and one.own_parent is None:
                inside = [op for op in self.ops if op.launch and op.launch[0] == one.thread and one.start <= op.launch[1] < one.end]
                inside.sort(key=lambda op: op.launch[1])
                one.parent = self.whose(one.start, inside[0] if inside else None, one.thread)
                one.adopted_root = True

    def whose(self, at, op, worker):
        """The innermost range of the thread worked for, None, or "ambiguous"."""
        rest = [t for t in self.names if t not in self.workers and self.process_of(t) == self.process_of(worker)]
        if op is None:
            places = [place for t in rest for place in self.launched_on[t]]
            candidates = self.candidates(rest, places, at)
        else:
            candidates = self.candidates(rest, [op.stream], at) or self.candidates(rest, [op.device], at)
        having = [t for t in candidates if self.open_on(t, at)]
        if not having:
            return None
        return self.open_on(having[0], at)[-1] if len(candidates) == 1 else "ambiguous"

    def candidates(self, threads, places, at):
        """Those that have launched there, and are between their first and last range."""
        return [t for t in threads if self.launched_on[t] & set(places) and t in self.extent
                and self.extent[t][0] <= at < self.extent[t][1]]  # fmt: skip

    @staticmethod
    def process_of(thread):
        return re.match(r"(\[.*\]) ", thread[0]).group(1) if isinstance(thread[0], str) else ""

    def attribute(self):
        """The rule: op.ranges, outermost first; op.where is a fixed row if there are none, or above them."""
        for op in self.ops:
            op.ranges, op.where, op.is_adopted = [], "no_range", False
            if not op.launch:
                op.where = "unmatched"
                continue
            thread, at = op.launch[:2]
            own = self.open_on(thread, at)
            op.ranges = own
            if thread in self.workers:
                above = own[0].parent if own else self.whose(at, op, thread)
                if above == "ambiguous":
                    op.where = "ambiguous"
                elif above is not None:
                    chain = []
                    one = above
                    while one is not None:
                        if one.start <= at < one.end:
                            chain.insert(0, one)
                        one = one.parent
                    op.is_adopted = True
                    op.ranges = chain + own
            for one in op.ranges:
                one.ops.append(op)

    def rows_by(self, name_of):
        rows = collections.defaultdict(list)

        def path(one):
            if one == "ambiguous":
                return ("(ambiguous)",)
            if one is None:
                return ()
            return path(one.parent) + (name_of(one),)
        for one in self.ranges:
            rows[path(one)].append(one)
        return rows

    def make_rows(self):
        """Folding; Rows and paths; Columns."""
        folded = self.rows_by(lambda r: fold(r.name))
        apart, self.may_differ = set(), {}
        for path, ranges in folded.items():
            names = collections.defaultdict(collections.Counter)
            for one in ranges:
                names[one.name][one.thread] += 1
            recurring = all(max(of.values()) >= 3 for of in names.values())
            if 2 <= len(names) <= 64 and recurring and (len(names) <= 8 or len(names) <= min(sum(n.values()) for n in names.values())):
                apart |= {id(one) for one in ranges}
        self.rows = self.rows_by(lambda r: r.name if id(r) in apart else fold(r.name))
        for ranges in self.rows.values():
            for one in ranges:
                one.has_own_name = id(one) in apart

    def busy(self, ops):
        of = collections.defaultdict(list)
        for op in ops:
            of[op.device].append((op.start, op.end))
        return sum(length(intervals) for intervals in of.values())

    def figures(self, ops, self_ops):
        total, alone = (sum(op.end - op.start for op in some) for some in (ops, self_ops))
        adopted = [op for op in ops if op.is_adopted]
        return {"gpu_sum_ns": total, "gpu_self_ns": alone, "gpu_child_ns": total - alone, "gpu_busy_ns": self.busy(ops),
                "ops": len(ops), "self_ops": len(self_ops), "adopted_ops": len(adopted),
                "adopted_ns": sum(op.end - op.start for op in adopted),
                "communication_ns": sum(op.end - op.start for op in ops if op.is_communication)}  # fmt: skip

    @staticmethod
    def spread(values, prefix, deviation):
        out = {f"{prefix}_min_ns": min(values), f"{prefix}_median_ns": statistics.median(values), f"{prefix}_max_ns": max(values)}
        if deviation:
            out[f"{prefix}_stddev_ns"] = statistics.stdev(values) if len(values) > 1 else 0
        return out

    def gpu_projection(self):
        """The rows by path; process-wide ranges by name; totals."""
        rows = {}
        for path, ranges in self.rows.items():
            ops = list({id(op): op for one in ranges for op in one.ops}.values())
            self_ops = [op for op in ops if op.ranges[-1] in ranges]
            row = self.figures(ops, self_ops)
            hosts = [r.end - r.start for r in ranges]
            children = collections.Counter()
            for one in self.ranges:
                if one.own_parent is not None:
                    children[id(one.own_parent)] += one.end - one.start
            row.update(type="push_pop", instances=len(ranges), host_ns=sum(hosts), depth=len(path) - 1, name=path[-1],
                       host_self_ns=sum(hosts) - sum(children[id(r)] for r in ranges),
                       gpu_span_ns=sum(max(o.end for o in r.ops) - min(o.start for o in r.ops) for r in ranges if r.ops),
                       wait_ns=sum(e - s for t, s, e, name, _ in self.calls if name in WAITING
                                   and any(r.thread == t and r.start <= s < r.end for r in ranges)))  # fmt: skip
            row.update(self.spread(hosts, "host", False))
            row.update(self.spread([sum(o.end - o.start for o in r.ops) for r in ranges], "instance", True))
            rows["/".join(part.replace("\\", "\\\\").replace("/", "\\/") for part in path)] = row
        for fixed in ("no_range", "ambiguous", "unmatched"):
            ops = [op for op in self.ops if op.where == fixed and (fixed == "ambiguous" or not op.ranges)]
            row = self.figures(ops, [op for op in ops if not op.ranges])
            row.update(type=fixed, instances=0, host_ns=0, gpu_span_ns=0)
            rows[{"no_range": "(no range)"}.get(fixed, f"({fixed})")] = row
        wide = {}
        for one in self.process_wide:
            # (Start/end ranges) an operation counts for instances open when its launch began
            one.ops = [op for op in self.ops if op.launch and self.process_of(op.launch[0]) == self.process_of(one.thread)
                       and one.start <= op.launch[1] < one.end]  # fmt: skip
            wide.setdefault(fold(one.name), []).append(one)
        process = {}
        for name, ranges in wide.items():
            ops = list({id(op): op for one in ranges for op in one.ops}.values())
            process[name] = {"type": "start_end", "instances": len(ranges), "host_ns": sum(r.end - r.start for r in ranges),
                             "gpu_sum_ns": sum(op.end - op.start for op in ops), "ops": len(ops), "gpu_busy_ns": self.busy(ops),
                             "gpu_self_ns": 0, "host_self_ns": 0,
                             "gpu_span_ns": sum(max(o.end for o in r.ops) - min(o.start for o in r.ops) for r in ranges if r.ops)}  # fmt: skip
        adopted = [op for op in self.ops if op.is_adopted]
        totals = {"total_gpu_ns": sum(op.end - op.start for op in self.ops), "total_busy_ns": self.busy(self.ops),
                  "total_ops": len(self.ops), "adopted_ops": len(adopted),
                  "communication_ns": sum(op.end - op.start for op in self.ops if op.is_communication)}  # fmt: skip
        return rows, process, totals


class Step:
    pass


class Breakdown(Projection):
    """guide/phases.md, What a step takes; breakdown.md."""

    def __init__(self, document):
        super().__init__(document)
        self.find_steps()
        if self.has_steps:
            self.measure_steps()
        self.devices = sorted({op.device for op in self.ops}, key=str)

    def recurring(self):
        """(Ranges that recur) The ranges with which steps begin, and whether they are the steps."""
        groups, launched = collections.defaultdict(lambda: collections.defaultdict(list)), collections.Counter()
        for op in self.ops:
            if op.launch:
                launched[op.ranges[0].thread if op.is_adopted else op.launch[0]] += 1
        for one in self.ranges:
            depth = self.own_depth(one)
            if depth <= 3:
                groups[one.thread, depth][fold(one.name)].append(one)
        best = None
        for (thread, depth), names in groups.items():
            for count in {len(ranges) for ranges in names.values() if len(ranges) >= 3}:
                longest = max((of for of in names.values() if len(of) == count), key=lambda of: sum(r.end - r.start for r in of))
                parts = {name: ranges for name, ranges in names.items() if abs(len(ranges) - count) <= 1 and len(ranges) >= 2
                         and alternate(longest, ranges)}  # fmt: skip
                every = [one for ranges in parts.values() for one in ranges]
                covered = sum(one.end - one.start for one in every)
                if covered < (max(one.end for one in every) - min(one.start for one in every)) // 2:
                    continue
                key = launched[thread], -depth, covered
                if best is None or key > best[0]:
                    first = min(parts, key=lambda name: min(one.start for one in parts[name]))
                    best = key, parts[first], len(parts) == 1
        return best[1:] if best else ([], True)

    def own_depth(self, one):
        return 0 if one.parent in (None, "ambiguous") else 1 + self.own_depth(one.parent)

    def find_steps(self):
        """(What a step takes)"""
        marked = sorted((r for r in self.ranges if re.fullmatch(r"ProfilerStep#\d+", r.name)), key=lambda r: r.start)
        marked = [r for r in marked if r.thread == marked[0].thread]
        self.source, are_steps = "profiler", True
        if not marked:
            self.source = "recurring"
            marked, are_steps = self.recurring()
            marked = sorted(marked, key=lambda r: r.start)
        self.are_steps = are_steps
        gaps = [after.start - one.end for one, after in zip(marked, marked[1:])]
        self.all_steps = []
        for number, one in enumerate(marked):
            step = Step()
            step.range, step.start, step.number = one, one.start, number
            step.number = int(one.name.split("#")[1]) if self.source == "profiler" else number
            step.has_next = number + 1 < len(marked)
            step.end = one.end
            if step.has_next:
                usual = sorted(gaps)[(len(gaps) - 1) // 2]
                step.is_followed = not are_steps or (
                    10 * gaps[number] <= one.end - one.start
                    or gaps[number] <= 2 * usual and 2 * gaps[number] <= one.end - one.start
                )
                step.end = marked[number + 1].start if step.is_followed else one.end
            self.all_steps.append(step)
        self.steps = [s for s in self.all_steps if s.has_next]
        if len(self.all_steps) == 1 and self.source == "profiler":
            self.steps = self.all_steps[:]
        self.has_steps = bool(self.steps)

    def busiest_streams(self, counts):
        """By stream: the steps that have most of their work there, and all work."""
        wins, totals = collections.Counter(), collections.Counter()
        for step in self.steps:
            of = collections.Counter()
            for op in step.ops:
                if counts(op):
                    of[op.stream] += op.end - op.start
            totals.update(of)
            if sum(of.values()):
                wins[max(of, key=lambda stream: of[stream])] += 1
        return wins, totals

    def measure_steps(self):
        """How long a step is."""
        for step in self.all_steps:
            step.ops = [op for op in self.ops if op.launch and step.start <= op.launch[1] < step.end]
        wins, totals = self.busiest_streams(lambda op: op.is_compute)
        if not wins:
            wins, totals = self.busiest_streams(lambda op: True)
        streams = {s for s in wins if wins[s] >= 2 and 4 * wins[s] >= len(self.steps)}
        if wins:
            streams.add(max(wins, key=lambda s: (wins[s], totals[s])))
        launched = sorted((op.launch[1], op.end) for op in self.ops if op.launch and op.stream in streams)

        def done(at):
            ends = [end for began, end in launched if began < at]
            return max([at, *ends])

        for step in self.all_steps:
            step.gpu_start, step.gpu_end = done(step.start), done(step.end)
            step.length = step.gpu_end - step.gpu_start
        before = len(self.steps)
        if len(self.steps) > 1:
            self.steps = [s for s in self.steps if s.number != 0]
        if len(self.steps) >= 10:
            lengths = [s.length for s in self.steps]
            median = statistics.median(lengths)
            deviation = 1.4826 * statistics.median(abs(x - median) for x in lengths)
            slow = 0
            while slow < len(lengths) // 2 and lengths[slow] > max(1.25 * median, median + 5 * deviation):
                slow += 1
            self.steps = self.steps[slow:]
        self.warm_up = before - len(self.steps)

    def step_summary(self):
        lengths = [s.length for s in self.steps]
        hosts = [s.end - s.start for s in self.steps]
        ops = [op for s in self.steps for op in s.ops]
        return {"steps": len(self.steps), "warm_up": self.warm_up, "source": self.source, "total_ns": sum(lengths),
                "mean_ns": sum(lengths) / len(lengths), "median_ns": statistics.median(lengths), "min_ns": min(lengths),
                "max_ns": max(lengths), "host_ns": sum(hosts), "host_median_ns": statistics.median(hosts),
                "gpu_sum_ns": sum(op.end - op.start for op in ops), "ops": len(ops), "gpu_busy_ns": self.busy(ops)}  # fmt: skip

    def is_step(self, one):
        if self.source == "profiler":
            return re.match(r"ProfilerStep#", one.name)
        return self.are_steps and self.all_steps and fold(one.name) == fold(self.all_steps[0].range.name)

    def part(self, op):
        """The outermost range below the step for which the kernel counts."""
        since = max((s.start for s in self.steps if op.launch and s.start <= op.launch[1]), default=0)
        below = []
        for one in reversed(op.ranges):
            if one.start < since or self.is_step(one):
                break
            below.insert(0, one)
        return fold(below[0].name) if below else ""

    def breakdown(self):
        """Rows (use, part) -> per step figures; of all devices."""
        if self.has_steps:
            spans = [(s.gpu_start, s.gpu_end) for s in self.steps]
        else:
            spans = [(self.first, self.last)]
        rows = collections.defaultdict(lambda: [0] * len(spans))
        beside = collections.Counter()
        for device in self.devices:
            ops = [op for op in self.ops if op.device == device]
            edges = sorted({t for op in ops for t in (op.start, op.end)} | {t for s in spans for t in s})
            starts = [s[0] for s in spans]
            active, waiting = [], collections.deque(ops)
            for begin, end in zip(edges, edges[1:]):
                while waiting and waiting[0].start <= begin:
                    active.append(waiting.popleft())
                active = [op for op in active if op.end > begin]
                index = bisect.bisect_right(starts, begin) - 1
                while index >= 0 and spans[index][0] == spans[index][1] and index > 0:
                    index -= 1
                if index < 0 or begin >= spans[index][1]:
                    continue
                compute = [op for op in active if op.is_compute]
                communication = [op for op in active if op.is_communication]
                copies = [op for op in active if not op.is_compute and not op.is_communication]
                if compute:
                    rows["compute", self.part(compute[0])][index] += end - begin
                if communication:
                    key = "communication", self.part(communication[0])
                    if compute:
                        beside[key] += end - begin
                        rows[key]
                    else:
                        rows[key][index] += end - begin
                if copies:
                    key = "copies", copies[0].name
                    if compute or communication:
                        beside[key] += end - begin
                        rows[key]
                    else:
                        rows[key][index] += end - begin
                if not active:
                    rows["idle", None][index] += end - begin
        return rows, beside, spans
