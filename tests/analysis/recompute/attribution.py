# SPDX-License-Identifier: Apache-2.0
"""Which ranges a GPU operation belongs to, by the rules of docs/reference/attribution.md."""
import collections
import dataclasses
import fnmatch

NO_RANGE, AMBIGUOUS, UNMATCHED = b"(no range)", b"(ambiguous)", b"(unmatched)"


@dataclasses.dataclass
class Hanging:
    """Where the work of a thread that works for another hangs: the other's ranges, innermost first."""

    open: tuple = ()
    is_ambiguous: bool = False

    def at(self, time):
        return Hanging(still_open(self.open, time), self.is_ambiguous)


def still_open(ranges, time):
    return tuple(r for r in ranges if time < r.end)


@dataclasses.dataclass
class Verdict:
    open: list  # ranges that it counts for, beside captured ones
    captured: list  # outermost first
    row: tuple  # of its self time
    is_adopted: bool = False
    is_ambiguous: bool = False
    unseen_capture: bool = False
    ambiguous_capture: bool = False


def hidden_domains(program, excluded):
    def is_hidden(domain):
        name = program.domains[domain].decode() if domain else "default"
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in excluded)

    return {domain for domain in range(len(program.domains)) if is_hidden(domain)}


def most_on_a_thread(ranges):
    """Of each name the number of its instances, on the thread that has most of them."""
    counts = collections.Counter((r.name, r.thread) for r in ranges)
    most = collections.Counter()
    for (name, _), count in counts.items():
        most[name] = max(most[name], count)
    return most


def are_different_things(ranges):
    """Whether the instances of a folded name have numbers that name things, and do not count them."""
    most = most_on_a_thread(ranges)
    least = min(most.values())
    return 2 <= len(most) <= 64 and least >= 3 and (len(most) <= 8 or len(most) <= least)


class Attribution:
    """`fold`: "counters", "all", "none", or a list of patterns for folded names. `adopt`: whether threads work for
    others by their names."""

    def __init__(self, program, excluded=(), fold="counters", adopt=True):
        self.program, self.fold = program, fold
        self.whole = Attribution(program, excluded, "all", adopt) if fold == "counters" else None
        self.apart = self.whole._rows_of_different_things() if self.whole else set()
        self.hidden = hidden_domains(program, excluded)
        self.helpers = {
            i for i, thread in enumerate(program.threads) if adopt and thread.name.startswith("pt_autograd_")
        }
        self._roots, self._places, self._rows = {}, {}, {}
        self._find_launchers()
        self._find_first_work()
        self.verdicts = {op.number: self._judge(op) for op in program.ops}

    def keeps(self, r):
        return r.domain not in self.hidden

    def kept(self, ranges):
        return [r for r in ranges if self.keeps(r)]

    # For whom a thread works by its name

    def _find_launchers(self):
        """Per stream and per device the threads that may be meant: those that launched there for themselves."""
        self.on_stream, self.on_device = collections.defaultdict(set), collections.defaultdict(set)
        self.anywhere = set()
        for op in self.program.ops:
            call = op.call
            if call is None or call.thread in self.helpers:
                continue
            declared = call.own[0].root.place if call.own else call.place
            if declared is not None:
                continue
            self.on_stream[op.device, op.context, op.stream].add(call.thread)
            self.on_device[op.device].add(call.thread)
            self.anywhere.add(call.thread)
        self.own_of = collections.defaultdict(list)  # per thread: its ranges that are not for a place
        for r in self.program.ranges:
            if r.style == "push_pop" and not r.is_operator and r.root.place is None and r.start < r.end:
                self.own_of[r.thread].append(r)

    def _find_first_work(self):
        """The first work that was launched inside each root; else the first of what was captured there."""
        self.first_work = {}
        for call in sorted(self.program.calls.values(), key=lambda call: call.time):
            if call.ops and call.own:
                self.first_work.setdefault(call.own[0].root, call.ops[0])
        self.first_run = {}  # per node: the first time that it ran
        for op in self.program.ops:
            if op.call is None or op.node in (None, "unseen"):
                continue
            self.first_run.setdefault(id(op.node), op)
            if op.node.own:
                self.first_work.setdefault(op.node.own[0].root, op)

    def _is_between_ranges_of(self, thread, time):
        own = self.own_of[thread]
        return bool(own) and min(r.start for r in own) <= time < max(r.end for r in own)

    def _by_name(self, time, work):
        def annotated(threads):
            return {thread for thread in threads if self._is_between_ranges_of(thread, time)}

        if work is None:
            meant = annotated(self.anywhere)
        else:
            meant = annotated(self.on_stream[work.device, work.context, work.stream])
            meant = meant or annotated(self.on_device[work.device])
        open_on = {
            thread: tuple(r for r in reversed(self.own_of[thread]) if r.start <= time < r.end) for thread in meant
        }
        if len(meant) == 1:
            return Hanging(*open_on.values())
        return Hanging(is_ambiguous=any(open_on.values()))

    # For whom a thread says that it works

    def _at_place(self, number):
        if number not in self._places:
            place = self.program.places[number]
            if place.own:
                above = self._root_hangs(place.own[0].root)
                found = Hanging(place.own + still_open(above.open, place.time))
            elif place.place is not None:
                found = self._declared(place.place, place.time)
            elif place.thread in self.helpers:
                found = self._by_name(place.time, None)
            else:
                found = Hanging()
            self._places[number] = found
        return self._places[number]

    def _declared(self, number, time):
        return self._at_place(number).at(time)

    def _root_hangs(self, root):
        if root not in self._roots:
            if root.place is not None:
                found = self._declared(root.place, root.start)
            elif root.thread in self.helpers:
                found = self._by_name(root.start, self.first_work.get(root))
            else:
                found = Hanging()
            self._roots[root] = found
        return self._roots[root]

    def _hangs(self, moment, work):
        if moment.own:
            return self._root_hangs(moment.own[0].root)
        if moment.place is not None:
            return self._declared(moment.place, moment.time)
        if moment.thread in self.helpers:
            return self._by_name(moment.time, work)
        return Hanging()

    # Rows: tuples of segments (text, is captured); a fixed row is one of kind None

    def segment(self, r, keeps_name=False):
        if isinstance(self.fold, list):
            names = [text.decode("latin-1") for text in self.program.folded_texts(r)]
            fold = any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in self.fold)
        else:
            fold = self.fold != "none" and not keeps_name
        return self.program.segment(r, fold)

    def _rows_of_different_things(self):
        """Of those in which numbers are folded."""
        instances = collections.defaultdict(list)
        for r in self.program.ranges:
            if r.style == "push_pop" and not r.is_operator and self.keeps(r):
                instances[self.row_of(r)].append(r)
        replayed = set()
        for op in self.program.ops:
            verdict = self.verdicts[op.number]
            first = len(verdict.row) - len(verdict.captured)
            for depth, r in enumerate(verdict.captured, first + 1):
                replayed.add((verdict.row[:depth], r, op.call))
        for row, r, _ in replayed:
            instances[row].append(r)
        return {row for row, ranges in instances.items() if are_different_things(ranges)}

    def row_of(self, r):
        if r not in self._rows:
            keeps_name = self.whole is not None and self.whole.row_of(r) in self.apart
            self._rows[r] = self._parent_row(r) + ((self.segment(r, keeps_name), False),)
        return self._rows[r]

    def _parent_row(self, r):
        own = self.kept(r.around)
        if own:
            return self.row_of(own[0])
        above = self._root_hangs(r.root)
        if above.is_ambiguous:
            return ((AMBIGUOUS, None),)
        others = self.kept(still_open(above.open, r.start))
        return self.row_of(others[0]) if others else ()

    def _root_without_hidden(self, r):
        around = self.kept(r.around)
        return self._root_without_hidden(around[0]) if around else r

    def _judge(self, op):
        call = op.call
        if call is None:
            return Verdict([], [], ((UNMATCHED, None),))
        hangs = self._hangs(call, call.ops[0])
        own, others = self.kept(call.own), self.kept(still_open(hangs.open, call.time))
        verdict = Verdict(own + others, [], ())
        since = self._root_without_hidden(own[0]).start if own else call.time
        verdict.is_adopted = any(r.thread != call.thread for r in self.kept(still_open(hangs.open, since)))
        if verdict.open:
            verdict.row = self.row_of(verdict.open[0])
        elif hangs.is_ambiguous:
            verdict.row = ((AMBIGUOUS, None),)
        if op.node is not None:
            self._judge_capture(op, verdict)
        for r in verdict.captured:
            folded_row = self.whole.verdicts[op.number].row[: len(verdict.row) + 1] if self.whole else None
            verdict.row += ((self.segment(r, folded_row in self.apart), True),)
        verdict.row = verdict.row or ((NO_RANGE, None),)
        verdict.is_ambiguous = verdict.row[0] == (AMBIGUOUS, None)
        return verdict

    def _judge_capture(self, op, verdict):
        node = op.node
        if node == "unseen":
            verdict.unseen_capture = True
            return
        hangs = self._hangs(node, self.first_run[id(node)])
        if hangs.is_ambiguous:
            verdict.ambiguous_capture = True
        others = still_open(hangs.open, node.time)
        capturing = {node.thread} | ({others[0].thread} if others else set())
        begun = [time for time, thread in self.program.graph_begins if thread in capturing and time <= node.time]
        began = max(begun, default=-1)
        at_capture = self.kept([*reversed(others), *reversed(node.own)])  # outermost first
        enclosing = [r for r in at_capture if r.start <= began]
        inside = [r for r in at_capture if r.start > began]
        counting = inside if verdict.open else enclosing + inside
        verdict.captured = [r for r in counting if r not in verdict.open]
