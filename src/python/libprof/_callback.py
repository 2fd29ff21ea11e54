# SPDX-License-Identifier: Apache-2.0
"""What the callbacks for trainers share: a recording around a training, and a range around each of its steps."""
from __future__ import annotations

import sys

from . import recording
from ._library import Error
from ._ranges import range_pop, range_push

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Run:
    """Nothing here raises into a training, except for an option that does not exist."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.path: str | None = None
        self.is_own = self.has_range = False

    def begin(self) -> None:
        self.path = None
        if recording.is_recording():
            return
        recording.start(**self.options)
        self.is_own = True

    def step(self, number: int) -> None:
        self.end_step()
        recording.step()
        range_push(f"train step {number}")
        self.has_range = True

    def end_step(self) -> None:
        if self.has_range:
            range_pop()
            self.has_range = False

    def end(self) -> None:
        self.end_step()
        if not self.is_own:
            return
        self.is_own = False
        try:
            self.path = recording.stop()
        except Error as failure:
            print(f"libprof: {failure}", file=sys.stderr)
            return
        if self.path is not None:
            print(f"libprof: recorded to {self.path}; see: prof report {self.path}", file=sys.stderr)
