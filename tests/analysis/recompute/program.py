# SPDX-License-Identifier: Apache-2.0
"""A random program as its generator describes it: what was open where, and what each call led to.

All is worked out from the events in the order in which they happened, by the written rules
(docs/reference/attribution.md, docs/reference/reports.md). No code of the library's is used, nor any capture read.
"""
import collections
import dataclasses
import functools
import json
import re

UNNAMED = b"(unnamed)"
FIXED_NAMES = (b"(no range)", b"(ambiguous)", b"(unmatched)", UNNAMED)


def raw(text):
    """The bytes of a name: JSON has each byte as the character of its number."""
    return text.encode("latin-1")


@dataclasses.dataclass(eq=False)
class Range:
    number: int  # in the order of opening, over all threads
    style: str  # push_pop or start_end
    thread: int
    domain: int
    name: bytes
    start: int
    window: int
    payload: tuple | None = None
    color: int | None = None
    category: int | None = None
    sequence: int | None = None
    end: int | None = None
    end_thread: int | None = None
    open_at_end: bool = False
    opened: int = 0  # number of the event
    is_torch: bool = False  # of PyTorch's observer
    is_operator: bool = False
    is_collective: bool = False
    around: tuple = ()  # push/pop ranges that counted when it was pushed, innermost first
    open_around: tuple = ()  # all that were open on its thread then, innermost first
    torch_around: tuple = ()
    place: int | None = None  # the place that its thread worked for, if it is a root

    @property
    def parent(self):
        return self.around[0] if self.around else None

    @property
    def root(self):
        return self.parent.root if self.around else self

    @property
    def duration(self):
        return self.end - self.start


@dataclasses.dataclass(eq=False)
class Moment:
    """What held on a thread at a call, a node's capture or a place."""

    thread: int
    time: int
    own: tuple  # the push/pop ranges that count, innermost first
    open: tuple  # all that are open, whether set aside or not
    torch: tuple
    place: int | None  # that the thread works for


@dataclasses.dataclass(eq=False)
class Call(Moment):
    given: dict = None
    end: int | None = None
    is_captured: bool = False  # a node was made instead of carrying it out
    ops: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Op:
    number: int
    kind: str
    start: int
    end: int
    device: int
    context: int
    stream: int
    call: Call | None
    node: Moment | str | None  # "unseen": of a graph whose capture was not seen
    given: dict = None

    @property
    def duration(self):
        return self.end - self.start

    @property
    def order(self):
        """Of two that begin and end together the one of the earlier call comes first, then by device and stream."""
        return (self.start, self.end, self.given["correlation"], self.device, self.context, self.stream)


class Thread:
    def __init__(self, given):
        self.tid, self.name = given["tid"], given["name"]
        self.stack = []  # open push/pop ranges in the order of opening
        self.adoptions = []  # (place, number of the event); a place of None changes nothing
        self.window = 0
        self.calls = []  # that have not returned, the innermost last

    def open_ranges(self):
        return tuple(r for r in reversed(self.stack) if not r.is_operator)

    def torch_ranges(self):
        return tuple(r for r in reversed(self.stack) if r.is_torch)

    def place(self):
        return next((place for place, _ in reversed(self.adoptions) if place is not None), None)

    def own_ranges(self):
        """The latest opened since the adoption that holds began, and those open around it."""
        since = max((number for place, number in self.adoptions if place is not None), default=-1)
        latest = next((r for r in self.open_ranges() if r.opened > since), None)
        if latest is None:
            return ()
        return (latest, *(r for r in chain(latest.parent) if r.end is None))


def chain(of):
    while of is not None:
        yield of
        of = of.parent


class Program:
    def __init__(self, path):
        given = self.given = json.loads(path.read_text())
        self.domains = [raw(name) for name in given["domains"]]
        self.threads = [Thread(each) for each in given["threads"]]
        self.windows = given["windows"]
        self.ranges, self.calls, self.marks = [], {}, []
        self.places, self.nodes = {}, {}
        self.graph_begins = []  # (time, thread)
        self.dropped = collections.Counter()
        self._starts = collections.defaultdict(list)
        self._ends = collections.defaultdict(list)
        self._known_places = {event["place"] for event in given["events"] if event["do"] == "here"}
        self._node_links = collections.defaultdict(list)  # id → (time, the node it stands for)
        for number, event in enumerate(given["events"]):
            self._window_of(event)
            getattr(self, "_" + event["do"].replace(" ", "_"))(self.threads[event["thread"]], event, number)
        self._take_ops()
        self.end = self._last_moment()
        for thread in self.threads:
            self._end_open(thread)
        self._pair_starts_and_ends()
        if given.get("untimed"):
            self.dropped["cupti_no_timestamp"] = given["untimed"]

    # What happened

    def _window_at(self, time):
        return max(i for i, window in enumerate(self.windows) if window["begin"] <= time)

    def _window_of(self, event):
        thread, window = self.threads[event["thread"]], self._window_at(event["t"])
        if window != thread.window:
            self._end_open(thread)
            thread.adoptions.clear()
            thread.window = window
            thread.calls.clear()
        event["window"] = window

    def window_end(self, window):
        return self.windows[window]["end"] or None

    def _end_open(self, thread):
        """Ranges that are open at the end of a window end there."""
        for r in thread.stack:
            end = self.window_end(thread.window)
            r.end = self.end if end is None else end
            r.open_at_end = True
        thread.stack.clear()

    def _new_range(self, style, event, number):
        r = Range(
            len(self.ranges), style, event["thread"], event["domain"], raw(event["name"]), event["t"], event["window"]
        )
        r.payload = tuple(event["payload"]) if "payload" in event else None
        r.color, r.category, r.sequence = event.get("color"), event.get("category"), event.get("sequence")
        r.opened = number
        r.is_collective = self.domains[r.domain] in COLLECTIVE_DOMAINS or (
            r.domain == 0 and r.name.startswith(COLLECTIVE_OPERATORS)
        )
        self.ranges.append(r)
        return r

    def _push(self, thread, event, number):
        r = self._new_range("push_pop", event, number)
        r.end_thread = r.thread
        r.is_torch = r.payload is not None and r.payload[0] == "torch"
        r.torch_around = thread.torch_ranges()
        r.is_operator = r.is_torch and self.given["operators"] and is_operator(r)
        r.around, r.open_around = thread.own_ranges(), thread.open_ranges()
        if not r.around:
            r.place = thread.place()
        thread.stack.append(r)

    def _pop(self, thread, event, number):
        for r in reversed(thread.stack):
            if r.domain == event["domain"]:
                r.end = event["t"]
                thread.stack.remove(r)
                if "bytes" in event and r.payload is None:
                    r.payload = ("bytes", event["bytes"])
                return
        self.dropped["pop_without_push"] += 1

    def _start(self, thread, event, number):
        self._starts[event["window"], event["id"]].append(self._new_range("start_end", event, number))

    def _end(self, thread, event, number):
        self._ends[event["window"], event["id"]].append(event)

    def _pair_starts_and_ends(self):
        """In order of time; of another window's starts an end knows nothing."""
        for (window, id_), starts in self._starts.items():
            ends = self._ends.pop((window, id_), [])
            for r, event in zip(starts, ends):
                r.end, r.end_thread = event["t"], event["thread"]
            for r in starts[len(ends) :]:
                end = self.window_end(window)
                r.end, r.open_at_end = self.end if end is None else end, True
            self.dropped["end_without_start"] += len(ends[len(starts) :])
        self.dropped["end_without_start"] += sum(map(len, self._ends.values()))

    def _mark(self, thread, event, number):
        self.marks.append(event)

    def _moment(self, kind, thread, event, **more):
        return kind(
            event["thread"],
            event["t"],
            thread.own_ranges(),
            thread.open_ranges(),
            thread.torch_ranges(),
            thread.place(),
            **more,
        )

    def _here(self, thread, event, number):
        self.places[event["place"]] = self._moment(Moment, thread, event)

    def _adopt(self, thread, event, number):
        known = event["place"] in self._known_places
        self.dropped["unknown_parent"] += not known
        thread.adoptions.append((event["place"] if known else None, number))

    def _leave(self, thread, event, number):
        if thread.adoptions:
            thread.adoptions.pop()

    def _call(self, thread, event, number):
        call = self.calls[event["call"]] = self._moment(Call, thread, event, given=event)
        thread.calls.append(call)
        if event["begins_graph_capture"]:
            self.graph_begins.append((event["t"], event["thread"]))

    def _return(self, thread, event, number):
        call = self.calls[event["call"]]
        call.end = event["t"]
        del thread.calls[thread.calls.index(call) :]

    def _node(self, thread, event, number):
        self.nodes[event["node"]] = self._moment(Moment, thread, event)
        if thread.calls:
            thread.calls[-1].is_captured = True

    def _copy_node(self, thread, event, number):
        self._node_links[event["node"]].append((event["t"], event["of"]))
        if thread.calls:
            thread.calls[-1].is_captured = True

    def _update_node(self, thread, event, number):
        self._node_links[event["node"]].append((event["t"], event["of"]))

    def _captured_node(self, id_, time):
        """The node that was captured, of which one with this id is a copy at the time."""
        links = [of for when, of in self._node_links.get(id_, ()) if when <= time]
        if links:
            return self._captured_node(links[-1], time)
        node = self.nodes.get(id_)
        return node if node is not None and node.time <= time else "unseen"

    @staticmethod
    def _is_copied_by_the_cpu(given):
        """From host to host, one of them pageable: no time of the GPU."""
        return given["kind"] == "memcpy" and given["direction"] == 9 and {given["from"], given["to"]} in ({1}, {1, 2})

    def _take_ops(self):
        self.ops = []
        for number, given in enumerate(self.given["ops"]):
            call = None if given["call"] is None else self.calls[given["call"]]
            node = None
            if given["node"]:
                node = self._captured_node(given["node"], given["start"] if call is None else call.time)
            op = Op(
                number,
                given["kind"],
                given["end"] if self._is_copied_by_the_cpu(given) else given["start"],
                given["end"],
                given["device"],
                given["context"],
                given["stream"],
                call,
                node,
                given,
            )
            self.ops.append(op)
        self.ops.sort(key=lambda op: op.order)
        for op in self.ops:
            if op.call is not None:
                op.call.ops.append(op)

    def _last_moment(self):
        ends = [event["t"] for event in self.given["events"]] + [op.end for op in self.ops]
        return max([self.given["last"], *ends, *(window["end"] for window in self.windows)])

    # Names

    def segment(self, r, fold=True):
        """A range's part of a path, in which what would read like something else is escaped."""
        name = folded(r.name) if fold else r.name
        if r.domain == 0 or self.domains[r.domain] == b"prof":
            return self._escaped(name, FIXED_NAMES) if name else UNNAMED
        prefix = self._escaped(self.domains[r.domain]) + b":"
        return prefix + (b"\\" * (name == UNNAMED) + escaped(name) if name else UNNAMED)

    def folded_texts(self, r):
        """What patterns of folded names are matched with: the name, and the name with its domain."""
        name = folded(r.name)
        return name, name if r.domain == 0 else self.domains[r.domain] + b":" + name

    def _escaped(self, text, fixed=()):
        """Its colons, too, if what stands before one is a domain's name."""
        named = {name for name in self.domains[1:] if name != b"prof"}
        colons = [at for at, byte in enumerate(text) if byte == ord(":")]
        out = b"\\" * (text in fixed) + escaped(text)
        return out.replace(b":", b"\\:") if any(text[:at] in named for at in colons) else out

    def nsight_name(self, r):
        return self.domains[r.domain] + b":" + (r.name or b"(unnamed)")


# docs/reference/communication.md, the last of its rules
COLLECTIVE_DOMAINS = (b"NCCL", b"RCCL", b"NVSHMEM", b"UCC")
COLLECTIVE_OPERATORS = (b"c10d::", b"record_param_comms", b"nccl:", b"rccl:")
TORCH_NAMESPACES = (b"aten::", b"autograd::", b"c10d::")


def is_operator(r):
    """docs/guide/pytorch.md, "Operators"."""
    if r.sequence is not None:
        return True
    outer = r.torch_around[0] if r.torch_around else None
    if outer is None or not outer.is_operator:
        return r.name.startswith(TORCH_NAMESPACES)
    return b"::" in r.name or outer.name == b"aten::" + r.name


NUMBER_FORMATS = (b"fp", b"bf", b"tf", b"int", b"uint", b"float")
WIDTHS = (b"4", b"8", b"16", b"32", b"64")


def folded(name):
    """Each run of digits is one `#`, but for those that tell kinds of things apart: `conv2d`, `fp16`."""

    def fold(digits):
        before, behind = name[: digits.start()], name[digits.end() :]
        word = re.search(rb"(?:^|[^0-9A-Za-z])([A-Za-z]+)$", before)
        if len(digits[0]) <= 2 and re.search(rb"[A-Za-z]$", before) and re.match(rb"[A-Za-z]", behind):
            return digits[0]
        is_format = word is not None and word[1].lower() in NUMBER_FORMATS and digits[0] in WIDTHS
        return digits[0] if is_format else b"#"

    return re.sub(rb"[0-9]+", fold, name)


def escaped(text):
    return text.replace(b"\\", b"\\\\").replace(b"/", b"\\/")


def unescaped(segment):
    return re.sub(rb"\\(.)", rb"\1", segment, flags=re.DOTALL)


@functools.lru_cache(maxsize=None)
def printable(name):
    """docs/reference/chrome-trace.md, "Names": what is no UTF-8 as the text \\xNN, and what would look like that."""
    out, at = "", 0
    while at < len(name):
        if re.match(rb"\\x[0-9A-Fa-f]{2}", name[at:]):
            out, at = out + "\\x5C", at + 1
            continue
        for length in (1, 2, 3, 4):
            try:
                out, at = out + name[at : at + length].decode("utf-8"), at + length
                break
            except UnicodeDecodeError:
                continue
        else:
            out, at = out + f"\\x{name[at]:02X}", at + 1
    return out
