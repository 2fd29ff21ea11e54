# SPDX-License-Identifier: Apache-2.0
"""A program annotated with NVIDIA's nvtx package, which writes down what it annotates.

    annotated.py LOG

LOG gets one JSON object: the push/pop ranges ("ranges"), the start/end ranges ("spans") and the marks, on each thread
in the order in which they began, as the calls below have them; for a push/pop range also its path, from the outermost
open on its thread down, and the interval of the real-time clock that encloses it.
"""
import json
import sys
import threading
import time

import nvtx

THREADS = 4
ITERATIONS = 25

log = {"ranges": [], "spans": [], "marks": []}
log_lock = threading.Lock()
open_ranges = threading.local()


def write_down(kind, name, domain=None, color=None, category=None, payload=None, **more):
    entry = {"name": name, "domain": domain, "color": color, "category": category, "payload": payload,
             "tid": threading.get_native_id(), **more}
    with log_lock:
        log[kind].append(entry)
    return entry


class Logged:
    """Around one push/pop range, however it is made."""

    def __init__(self, name, **attributes):
        self.name = name
        self.attributes = attributes

    def __enter__(self):
        stack = vars(open_ranges).setdefault("stack", [])
        domain = self.attributes.get("domain")
        stack.append(f"{domain}:{self.name}" if domain else self.name)
        self.entry = write_down("ranges", self.name, **self.attributes, path="/".join(stack), begin_ns=time.time_ns())

    def __exit__(self, *_):
        open_ranges.stack.pop()
        self.entry["end_ns"] = time.time_ns()


def push_and_pop():
    with Logged("pushed", color="red"):
        nvtx.push_range("pushed", color="red")
        with Logged("inner of pushed", color="green", payload=-7):
            nvtx.push_range("inner of pushed", color="green", payload=-7)
            nvtx.pop_range()
        nvtx.pop_range()


def domain_objects():
    domain = nvtx.get_domain("loader")
    attributes = domain.get_event_attributes(message="batch", color=0x123456, category="io", payload=0.5)
    with Logged("batch", domain="loader", color=0x123456, category="io", payload=0.5):
        domain.push_range(attributes)
        domain.pop_range()


@nvtx.annotate(color="purple", domain="model", category=3)
def decorated(count):
    return sum(range(count))


def batches(count):
    """A generator: its ranges stay open while its user runs."""
    for number in range(count):
        with Logged(f"batch {number}", color="cyan"), nvtx.annotate(f"batch {number}", color="cyan"):
            yield number


@nvtx.annotate("raises")
def raises():
    raise KeyError("of the program's own")


def work(index):
    for iteration in range(ITERATIONS):
        name = f"thread {index} step {iteration}"
        attributes = {"domain": "workers", "payload": iteration}
        with Logged(name, **attributes), nvtx.annotate(name, **attributes):
            with Logged("half", color="yellow"), nvtx.annotate("half", color="yellow"):
                pass


def in_threads():
    threads = [threading.Thread(target=work, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def start_and_end():
    """Ranges of the process: they overlap without nesting, and one ends on another thread."""
    attributes = {"domain": "loader", "color": "orange", "category": "io", "payload": 11}
    write_down("spans", "prefetch", **attributes)
    first = nvtx.start_range("prefetch", **attributes)
    write_down("spans", "checkpoint")
    second = nvtx.start_range("checkpoint")
    ender = threading.Thread(target=nvtx.end_range, args=(first,))
    ender.start()
    ender.join()
    nvtx.end_range(second)


def marks():
    attributes = {"domain": "model", "color": "white", "category": "events", "payload": 3}
    write_down("marks", "epoch", **attributes)
    nvtx.mark("epoch", **attributes)
    name = "not only ASCII: \N{GREEK SMALL LETTER LAMDA} \N{ROCKET}"
    write_down("marks", name)
    nvtx.mark(name)


def main():
    push_and_pop()
    domain_objects()
    with Logged("decorated", domain="model", color="purple", category=3):
        decorated(10)
    for _ in batches(3):
        with Logged("consume"), nvtx.annotate("consume"):
            pass
    try:
        with Logged("raises"):
            raises()
    except KeyError:
        pass
    in_threads()
    start_and_end()
    marks()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(log, file)
    print("annotated")
    return 4


if __name__ == "__main__":
    sys.exit(main())
