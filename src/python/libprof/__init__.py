# SPDX-License-Identifier: Apache-2.0
"""libprof: what a training step costs on the GPU, recorded inside the process.

    import libprof

    with libprof.recording():
        for batch in loader:
            libprof.step()
            with libprof.range("forward"):
                ...

    print(libprof.load("prof-captures/train.0.node7-4711.prof").report())

`prof run -- python train.py` records a program without any change to it. This package works in such a process, in any
other, and without a GPU: ranges are recorded everywhere, GPU work where CUDA is used.
"""
from __future__ import annotations

from ._library import Error, Failed, InvalidArgument, RecordingWarning, WrongState, prefix, version
from ._ranges import counter, mark, name_category, range, range_end, range_pop, range_push, range_start
from .recording import (Option, capture_path, dump, get_option, is_recording, keep_text, options, pause, recording,
                        recording_error, resume, set_options, start, status, step, stop, sync)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._diff import Comparison
    from ._page import Page
    from .captures import Capture, Column, Drop, Report, Row, Summary, Table, baseline, diff, load, reports, to_html

__version__ = version()

_IN_CAPTURES = ("Capture", "Column", "Comparison", "Drop", "Page", "Report", "Row", "Summary", "Table", "baseline", "diff",
                "load", "reports", "to_html")  # fmt: skip

# Names one by one, for tools that do not run this.
__all__ = ["Capture", "Column", "Comparison", "Drop", "Error", "Failed", "InvalidArgument", "Option", "Page",
           "RecordingWarning", "Report", "Row", "Summary", "Table", "WrongState", "baseline", "capture_path", "counter", "diff", "dump", "get_option", "is_recording",
           "keep_text", "load", "mark", "name_category", "options", "pause", "prefix", "range", "range_end",
           "range_pop", "range_push", "range_start", "recording", "recording_error", "reports", "resume",
           "set_options", "start", "status", "step", "stop", "summary", "sync", "to_html"]  # fmt: skip


def summary() -> Summary:
    """Of what this process has recorded until now, while it goes on: which GPU work each range cost."""
    from .captures import Summary as loaded

    return loaded.of_recording()


if not TYPE_CHECKING:

    def __getattr__(name):
        """What reads captures is imported at its first use."""
        if name in _IN_CAPTURES:
            from . import captures

            globals().update({each: getattr(captures, each) for each in _IN_CAPTURES})
            return globals()[name]
        raise AttributeError(f"module 'libprof' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_IN_CAPTURES])
