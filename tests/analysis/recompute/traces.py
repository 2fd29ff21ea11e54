# SPDX-License-Identifier: Apache-2.0
"""A Chrome trace against the program that it shows: docs/reference/chrome-trace.md."""
import collections

from program import printable
from symbols import FULL_NAME, RUNTIME, copy_name, function_of, op_name

ROWS = 10_000_000  # rows beside one have its number and a multiple of this


def ns(microseconds):
    return round(microseconds * 1000)


class Trace:
    def __init__(self, trace, program):
        self.trace, self.program = trace, program
        self.events = trace["traceEvents"]
        self.base = trace["baseTimeNanoseconds"]
        self.thread_of = {thread.tid: number for number, thread in enumerate(program.threads)}

    def at(self, event):
        return ns(event["ts"]) + self.base

    def of(self, phase, *categories):
        return [event for event in self.events if event["ph"] == phase and event.get("cat") in categories]

    def host_ranges(self):
        return self.slices("user_annotation", "cpu_op") + self.of("b", "user_annotation")

    def slices(self, *categories):
        """Without ProfilerStep#N, which are no ranges of the program's."""
        return [event for event in self.of("X", *categories) if "source" not in event.get("args", {})]

    def ids(self):
        """Range → External id."""
        by_start = {(r.thread, r.start): r for r in self.program.ranges}
        return {
            by_start[self.thread_of[event["tid"] % ROWS], self.at(event)]: event["args"]["External id"]
            for event in self.host_ranges()
        }

    def check(self, differences, attribution):
        self.differences, self.attribution = differences, attribution
        self.id_of = self.ids()
        differences.check("External ids", len(self.id_of), len(set(self.id_of.values())))
        differences.check("baseTimeNanoseconds", self.program.given["begin"], self.base)
        self._check_ranges()
        self._check_calls()
        self._check_ops()
        self._check_marks()
        self._check_steps()
        self._check_arrows()
        self._check_projected()
        self._check_rows()
        self._check_names()

    def _compare(self, what, expected, actual):
        """Two lists of tuples."""
        expected, actual = collections.Counter(expected), collections.Counter(actual)
        for each in expected - actual:
            self.differences.found(what, each, "missing")
        for each in actual - expected:
            self.differences.found(what, "missing", each)

    # Host

    def _annotation(self, of):
        args = {}
        if of["domain"]:
            args["domain"] = printable(self.program.domains[of["domain"]])
        if of["category"]:
            args["category"] = str(of["category"])
        if of["color"]:
            args["color"] = f"#{of['color']:08X}"
        if of["payload"]:
            kind, value = of["payload"]
            key = {"bytes": "bytes", "torch": "Record function id"}.get(kind, "payload")
            is_exact = not isinstance(value, int) or abs(value) < 2**53
            args[key] = value if is_exact else str(value)
        return args

    def _range_args(self, r):
        given = {"domain": r.domain, "category": r.category, "color": r.color, "payload": r.payload}
        args = {"External id": self.id_of.get(r), **self._annotation(given)}
        if r.sequence is not None:
            args["Sequence number"] = r.sequence
        if r.open_at_end:
            args["open at end"] = True
        return args

    def _check_ranges(self):
        expected, actual = [], []
        for r in self.program.ranges:
            category = "cpu_op" if r.is_operator else "user_annotation"
            ends = (self.program.threads[r.thread].tid, r.start, r.end)
            expected.append((r.style, category, printable(r.name or b"(unnamed)"), *ends, flat(self._range_args(r))))
        for event in self.slices("user_annotation", "cpu_op"):
            start = self.at(event)
            where = (event["tid"] % ROWS, start, start + ns(event["dur"]))
            actual.append(("push_pop", event["cat"], event["name"], *where, flat(event.get("args", {}))))
        ends = {event["id"]: event for event in self.of("e", "user_annotation")}
        for event in self.of("b", "user_annotation"):
            end = ends.pop(event["id"])
            where = (event["tid"] % ROWS, self.at(event), self.at(end))
            actual.append(("start_end", event["cat"], event["name"], *where, flat(event.get("args", {}))))
        self.differences.check("ends without a beginning", [], list(ends))
        self._compare("range", expected, actual)

    def _check_calls(self):
        expected, actual, unfinished, noted = [], [], [], []
        for call in self.program.calls.values():
            args = {"cbid": call.given["function"][1], "correlation": trace_correlation(call.given["correlation"])}
            around = self.attribution.kept(call.own)
            if around:
                args["External id"] = self.id_of.get(around[0])
            if call.end is None:
                args["returned"] = False
            kernel = call.given["kernel"]
            if kernel and not call.ops:
                args["kernel"] = full_name(kernel)
            end = call.time if call.end is None else call.end
            category = "cuda_" + call.given["function"][0]
            tid = self.program.threads[call.thread].tid
            expected.append((category, function_of(call), tid, call.time, end, flat(args)))
            if kernel and not call.ops and not call.is_captured:
                unfinished.append((tid, call.time, full_name(kernel), args["correlation"]))
        for event in self.of("X", "cuda_driver", "cuda_runtime"):
            start = self.at(event)
            end = start + ns(event["dur"])
            name, args = self._observed_call(event)
            actual.append((*name, event["tid"] % ROWS, start, end, flat(args)))
        for event in self.of("i", "libprof"):
            if event["name"] == "not completed":
                args = event["args"]
                noted.append((event["tid"] % ROWS, self.at(event), args["kernel"], args["correlation"]))
        self._compare("call", expected, actual)
        self._compare("launch without completion", unfinished, noted)

    def _observed_call(self, event):
        """A driver's call may be shown by the name of the runtime's function that it stands for."""
        args = dict(event["args"])
        observed = args.pop("call", None)
        if observed is None:
            return (event["cat"], event["name"]), args
        self.differences.check(f"what {observed} is shown as", RUNTIME[observed], event["name"])
        self.differences.check(f"category of {observed}", "cuda_runtime", event["cat"])
        return ("cuda_driver", observed), args

    def _check_marks(self):
        expected = []
        for mark in self.program.marks:
            given = {key: mark.get(key) for key in ("domain", "category", "color", "payload")}
            name = printable(mark["name"].encode("latin-1") or b"(unnamed)")
            tid = self.program.threads[mark["thread"]].tid
            expected.append((name, tid, mark["t"], flat(self._annotation(given))))
        actual = [
            (event["name"], event["tid"] % ROWS, self.at(event), flat(event.get("args", {})))
            for event in self.of("i", "user_annotation")
        ]
        self._compare("mark", expected, actual)

    def _check_steps(self):
        """From each mark of prof_step's to the next, or to its window's end."""
        marks = [mark for mark in self.program.marks
                 if mark["name"] == "step" and mark["domain"] == 1 and (mark.get("payload") or [None])[0] == "u64"]
        expected = []
        for mark, following in zip(marks, [*marks[1:], None]):
            end = self.program.windows[mark["window"]]["end"] or self.program.end
            if following is not None:
                end = min(end, following["t"])
            name, tid = f"ProfilerStep#{mark['payload'][1]}", self.program.threads[mark["thread"]].tid
            expected.append((name, tid, mark["t"], end, flat({"source": "counted"})))
        actual = []
        for event in self.of("X", "user_annotation"):
            if "source" in event.get("args", {}):
                start = self.at(event)
                where = (event["tid"] % ROWS, start, start + ns(event["dur"]))
                actual.append((event["name"], *where, flat(event["args"])))
        self._compare("step", expected, actual)

    # GPU

    def _op_key(self, op):
        category = {"kernel": "kernel", "graph": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}[op.kind]
        name = copy_name(op.given) if op.kind.startswith("mem") else op_name(op)
        correlation = trace_correlation(op.given["correlation"])
        return category, name, op.device, op.context, op.stream, op.start, op.end, correlation

    def _check_ops(self):
        expected, actual = [], []
        for op in self.program.ops:
            verdict = self.attribution.verdicts[op.number]
            more = {"adopted": True} if verdict.is_adopted else {}
            if op.given["node"]:
                more["graph node id"] = op.given["node"]  # below 2^53
            if op.kind.startswith("mem"):
                more["bytes"] = op.given["bytes"]
                length = op.duration
                more["memory bandwidth (GB/s)"] = round(op.given["bytes"] / length, 3) if length else 0
            if op.kind == "kernel":
                more["registers per thread"] = op.given["registers"]
                more["grid"], more["block"] = op.given["grid"], op.given["block"]
            if not verdict.captured and verdict.open:
                more["External id"] = self.id_of[verdict.open[0]]
            if verdict.captured:
                more["External id"] = "captured"
            expected.append((*self._op_key(op), flat(more)))
        wanted = ("adopted", "graph node id", "bytes", "memory bandwidth (GB/s)", "registers per thread", "grid")
        wanted += ("block", "External id")
        host_ids = set(self.id_of.values())
        streams = {}
        for event in self.of("X", "kernel", "gpu_memcpy", "gpu_memset"):
            args, start = event["args"], self.at(event)
            place = (args["device"], args["context"], args["stream"])
            streams.setdefault(place, set()).add((event["pid"], event["tid"] % ROWS))
            more = {key: args[key] for key in wanted if key in args}
            if "memory bandwidth (GB/s)" in more:
                more["memory bandwidth (GB/s)"] = round(more["memory bandwidth (GB/s)"], 3)
            if "External id" in more and more["External id"] not in host_ids:
                more["External id"] = "captured"
            key = (event["cat"], event["name"], *place, start, start + ns(event["dur"]), args["correlation"])
            actual.append((*key, flat(more)))
        self._compare("operation", expected, actual)
        self._check_streams(streams)

    def _check_streams(self, rows):
        """Each stream has a row of its own, with its number unless a stream of an earlier context has that."""
        self.row_of = {}
        numbers = [(device, stream) for device, _, stream in rows]
        for (device, context, stream), found in sorted(rows.items()):
            self.differences.check(f"rows of stream {stream} of context {context}", 1, len(found))
            row = self.row_of[device, context, stream] = min(found)
            is_first = context == min(c for d, c, s in rows if (d, s) == (device, stream))
            if is_first:
                self.differences.check(f"row of stream {stream} of context {context}", (device, stream), row)
            elif row in numbers:
                self.differences.found(f"row of stream {stream} of context {context}", "one of its own", row)
        self.differences.check("rows of streams", len(rows), len(set(self.row_of.values())))

    def _row(self, op):
        return self.row_of.get((op.device, op.context, op.stream))

    def _check_arrows(self):
        """From the call to each of its operations."""
        expected = []
        for op in self.program.ops:
            if op.call is not None:
                tid = self.program.threads[op.call.thread].tid
                expected.append((tid, op.call.time, *self._row(op), op.start))
        ends = {event["id"]: event for event in self.of("f", "ac2g")}
        actual = []
        for event in self.of("s", "ac2g"):
            end = ends.pop(event["id"])
            actual.append((event["tid"] % ROWS, self.at(event), end["pid"], end["tid"] % ROWS, self.at(end)))
        self.differences.check("arrows without a beginning", [], list(ends))
        self._compare("arrow", expected, actual)

    def _check_projected(self):
        """A range on each stream that it used."""
        groups = collections.defaultdict(list)
        for op in self.program.ops:
            verdict = self.attribution.verdicts[op.number]
            for r in verdict.open:
                groups[r, None, self._row(op)].append(op)
            # One that was captured under others each time stands in several rows of the projection.
            first = len(verdict.row) - len(verdict.captured)
            for depth, r in enumerate(verdict.captured, first + 1):
                groups[r, (op.call, verdict.row[:depth]), self._row(op)].append(op)
        expected = []
        for (r, launch, row), ops in groups.items():
            id_ = self.id_of[r] if launch is None else "captured"
            start, end = min(op.start for op in ops), max(op.end for op in ops)
            length = sum(op.duration for op in ops)
            expected.append((printable(r.name or b"(unnamed)"), *row, start, end, id_, len(ops), length))
        actual = []
        for event in self.of("X", "gpu_user_annotation"):
            args, start = event["args"], self.at(event)
            id_ = "captured" if args.get("captured") else args["External id"]
            where = (event["pid"], event["tid"] % ROWS, start, start + ns(event["dur"]))
            actual.append((event["name"], *where, id_, args["ops"], args["gpu sum (ns)"]))
        self._compare("range on the GPU", expected, actual)

    def _check_rows(self):
        """Slices of a row nest."""
        rows = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] == "X":
                start = ns(event["ts"])
                rows[event["pid"], event["tid"]].append((start, -ns(event["dur"]), event["name"]))
        for row, slices in rows.items():
            open_until = []
            for start, negative, name in sorted(slices):
                while open_until and open_until[-1] <= start:
                    open_until.pop()
                end = start - negative
                if open_until and end > open_until[-1]:
                    self.differences.found(f"row {row}", "slices that nest", name)
                open_until.append(end)

    def _check_names(self):
        named = {
            event["tid"]: event["args"]["name"]
            for event in self.of("M", None)
            if event["name"] == "thread_name" and event["tid"] in self.thread_of
        }
        for event in self.of("X", "user_annotation", "cpu_op", "cuda_runtime", "cuda_driver"):
            tid = event["tid"] % ROWS
            name = named.get(tid, "")
            if self.program.threads[self.thread_of[tid]].name not in name:
                self.differences.found(f"name of thread {tid}", self.program.threads[self.thread_of[tid]].name, name)


def flat(args):
    def plain(value):
        return int(value) if isinstance(value, float) and value.is_integer() else value

    return repr(sorted((key, plain(value)) for key, value in args.items()))


def trace_correlation(key):
    """CUPTI's number; from the second recording on 2^32 is added for each before it."""
    return key - (1 << 32)


def full_name(symbol):
    return FULL_NAME[symbol]
