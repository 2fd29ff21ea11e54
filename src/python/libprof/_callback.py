# SPDX-License-Identifier: Apache-2.0
"""What the callbacks for trainers share: a recording around a training, and a range around each of its steps."""
from __future__ import annotations

import weakref

from . import _frameworks
from ._library import Error, InvalidArgument
from ._ranges import range_pop, range_push
from .recording import Started, is_recording, latest_start, say, start, step, warn_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Run:
    """Nothing here raises into a training, except for an option or value that does not exist, and with strict=True."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options: dict[str, Any] = dict(options)
        self.strict: bool = self.options.pop("strict", False)
        self.path: str | None = None
        self.error: Error | None = None  # why the training's recording did not begin, or ended badly
        self.own: Started | None = None  # the recording that this training has started
        self.has_range: bool = False

    def begin(self, callback: object) -> None:
        """A recording that ends with the callback, if nothing ends it before: a training that fails need not say so."""
        self.end()
        self.path = self.error = None
        if not is_recording():
            self._start(callback)
        _frameworks.leave_steps(True)

    def _start(self, callback: object) -> None:
        try:
            start(**self.options)
        except InvalidArgument:
            raise
        except Error as failure:
            self.error = failure
            if self.strict:
                raise
            line = f"the training is not recorded: {failure}"
            say(line)
            warn_of(line)
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
        started, self.own = self.own, None
        if started is None or started is not latest_start():
            return
        if not started.is_over:
            started.end()
        self.path, self.error = started.path, started.error
        if self.error is not None:
            if self.strict:
                raise self.error
            warn_of(str(self.error))  # libprof.so has said it, too
        elif self.path is not None:
            say(f"recorded to {self.path}; see: prof report {self.path}")
