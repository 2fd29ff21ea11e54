# SPDX-License-Identifier: Apache-2.0
"""A plain reading of a trace of torch.profiler, for comparison: json.load, and what the definitions say in the fewest
words. Nothing of it is shared with the reader in src/timeline/kineto."""
import collections
import fractions
import gzip
import json

KERNELS = {"kernel", "Kernel"}
COPIES = {"gpu_memcpy", "Memcpy"}
SETS = {"gpu_memset", "Memset"}
CALLS = {"cuda_runtime", "Runtime", "cuda_driver", "Driver"}
ANNOTATIONS = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)#")


def ns(number):
    """Microseconds as the file writes them, in whole nanoseconds."""
    return int(fractions.Fraction(number) * 1000 + fractions.Fraction(1, 2) if not number.startswith("-")
               else fractions.Fraction(number) * 1000 - fractions.Fraction(1, 2))  # fmt: skip


class PlainTrace:
    def __init__(self, path):
        data = open(path, "rb").read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        trace = json.loads(data, parse_float=str, parse_int=str)
        self.events = trace if isinstance(trace, list) else trace["traceEvents"]
        self.spans = []
        for event in self.events:
            if event.get("ph") == "X" and "ts" in event and "dur" in event:
                start, length = ns(event["ts"]), ns(event["dur"])
                if length >= 0:
                    self.spans.append((event.get("cat"), event["name"], start, start + length, event))

    def of(self, categories):
        return [span for span in self.spans if span[0] in categories]

    def gpu(self):
        """Category, name, start, end, correlation; each once."""
        seen = {}
        for category, name, start, end, event in self.of(KERNELS | COPIES | SETS):
            args = event["args"]
            key = (category, name, start, end, args.get("correlation"), args.get("device"), args.get("stream"))
            seen.setdefault(key, event)
        return [(*key[:4], int(key[4] or 0)) for key in seen]

    def totals(self, categories):
        """Name: number and time in ns."""
        out = collections.defaultdict(lambda: [0, 0])
        for category, name, start, end, _ in self.gpu():
            if category in categories:
                out[name][0] += 1
                out[name][1] += end - start
        return {name: tuple(value) for name, value in out.items()}

    def annotations(self):
        """Name with its numbers as they are: how many, and host time."""
        out = collections.defaultdict(lambda: [0, 0])
        for category, name, start, end, _ in self.spans:
            if category == "user_annotation" or (category == "cpu_op" and name.startswith(ANNOTATIONS)):
                out[name][0] += 1
                out[name][1] += end - start
        return {name: tuple(value) for name, value in out.items()}

    def operators(self):
        out = collections.Counter()
        for category, name, _, _, _ in self.spans:
            out[name] += category == "cpu_op" and not name.startswith(ANNOTATIONS)
        return +out

    def launches(self):
        """Correlation: the call (start, thread) under which its operations were launched: the runtime's, else the
        driver's."""
        out = {}
        for category, _, start, _, event in self.of(CALLS):
            correlation = int(event["args"].get("correlation", 0))
            is_driver = category in ("cuda_driver", "Driver")
            known = out.get(correlation)
            if known is None or (known[2] and not is_driver):
                out[correlation] = (start, (event["pid"], event["tid"]), is_driver)
        return out

    def work_in_annotations(self):
        """Name: GPU time of operations whose launch lies in an annotation of that name on the same thread. No
        adoption."""
        launches = self.launches()
        by_thread = collections.defaultdict(list)
        for category, name, start, end, event in self.spans:
            if category == "user_annotation" or (category == "cpu_op" and name.startswith(ANNOTATIONS)):
                by_thread[event["pid"], event["tid"]].append((start, end, name))
        out = collections.Counter()
        for _, _, start, end, correlation in self.gpu():
            if correlation not in launches:
                out["(unmatched)"] += end - start
                continue
            called, thread, _ = launches[correlation]
            for name in {name for begin, until, name in by_thread[thread] if begin <= called < until}:
                out[name] += end - start
        return +out

