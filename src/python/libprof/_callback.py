# SPDX-License-Identifier: Apache-2.0
"""What the callbacks for trainers share: a recording around a training, and a range around each of its steps."""
from __future__ import annotations

import sys
import weakref

from . import _frameworks
from ._library import Error, InvalidArgument
from ._ranges import range_pop, range_push
from .recording import is_recording, latest_start, start, step, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Run:
    """Nothing here raises into a training, except for an option or value that does not exist."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.path: str | None = None
        self.own: object = None  # the recording that this training has started
        self.has_range = False

    def begin(self, callback: object) -> None:
        """A recording that ends with the callback, if nothing ends it before: a training that fails need not say so."""
        self.end()
        self.path = None
        if not is_recording():
            self._start(callback)
        _frameworks.leave_steps(True)

    def _start(self, callback: object) -> None:
        try:
            start(**self.options)
        except InvalidArgument:
            raise
        except Error as failure:
            _say(f"the training is not recorded: {failure}")
            return
        self.own = latest_start()
        weakref.finalize(callback, self.end)

    def begin_step(self, number: int) -> None:
        self._leave_range()
        range_push(f"train step {number}")
        self.has_range = True

    def end_step(self) -> None:
        """prof_step is called at the end, so that the first step is step 0 of a schedule."""
        if self._leave_range():
            step()

    def _leave_range(self) -> bool:
        had_range, self.has_range = self.has_range, False
        if had_range:
            range_pop()
        return had_range

    def end(self) -> None:
        self._leave_range()
        _frameworks.leave_steps(False)
        is_own = self.own is not None and self.own is latest_start() and is_recording()
        self.own = None
        if not is_own:
            return
        try:
            self.path = stop()
        except Error as failure:
            _say(str(failure))
            return
        if self.path is not None:
            _say(f"recorded to {self.path}; see: prof report {self.path}")


def _say(line: str) -> None:
    print(f"libprof: {line}", file=sys.stderr)
