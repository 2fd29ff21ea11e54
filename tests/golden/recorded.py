# SPDX-License-Identifier: Apache-2.0
"""The captures that the repository ships, as the prof command exports and reports them.

Every check of this folder is called with the prof command and, if wanted, a folder of captures:

    CHECK PROF [CAPTURES]        CAPTURES is examples/captures unless said
"""
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
CALL_CATEGORIES = ("cuda_runtime", "cuda_driver")
# The counts that `prof export` prints.
ANNOUNCED = {
    "host ranges": "host ranges?",
    "CUDA calls": "CUDA calls?",
    "GPU operations": "GPU operations?",
    "ranges on the GPU": "ranges? on the GPU",
    "arrows": "arrows?",
}


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def captures():
    # Those in examples/captures/observed have phases and modules, which the checks here do not know of.
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "examples/captures"
    found = sorted(folder.rglob("*.prof") if len(sys.argv) > 2 else folder.glob("*.prof"))
    if not found:
        skip(f"no capture in {folder}")
    return found


def prof(*arguments):
    done = subprocess.run([sys.argv[1], *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"prof {arguments[0]} ended with {done.returncode}: {done.stderr}"
    return done.stdout


def report(capture, name):
    return json.loads(prof("report", capture, "--report", name, "--format", "json"))


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def parse_trace(raw):
    """Strictly: UTF-8 that is whole, no NaN, no key twice."""

    def without_duplicates(pairs):
        assert len(dict(pairs)) == len(pairs), f"a key twice in {pairs}"
        return dict(pairs)

    return json.loads(raw.decode("utf-8"), parse_constant=refuse_constant, object_pairs_hook=without_duplicates)


class Export:
    """The trace of a capture: its file, its content, and the counts that the command announced."""

    def __init__(self, capture):
        self._folder = tempfile.TemporaryDirectory(prefix="prof_golden_")
        self.path = pathlib.Path(self._folder.name, capture.stem + ".trace.json.gz")
        line = prof("export", capture, "-o", self.path)
        self.announced = {
            what: int(re.search(rf"([\d,]+) {pattern}\b", line)[1].replace(",", ""))
            for what, pattern in ANNOUNCED.items()
        }
        self.trace = parse_trace(gzip.decompress(self.path.read_bytes()))


def ns(microseconds):
    """Of a trace's times, which have three decimals."""
    return round(microseconds * 1000)


def gpu_operations(trace):
    return [event for event in trace["traceEvents"] if event.get("cat") in GPU_CATEGORIES]


def calls(trace):
    return [event for event in trace["traceEvents"] if event.get("cat") in CALL_CATEGORIES]


def union_ns(intervals):
    """The length of what (start, end) pairs cover together."""
    total, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            total += end - start
            reached = end
        elif end > reached:
            total += end - reached
            reached = end
    return total
