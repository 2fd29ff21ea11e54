# SPDX-License-Identifier: Apache-2.0
"""Runs compared, as `prof diff` does: the program of the package does it, since libprof.so cannot."""
from __future__ import annotations

import json
import os
import subprocess

from ._library import Failed, InvalidArgument, path_of, prefix, text_of_value
from ._page import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_OPTIONS = ("adopt", "from", "margin", "nvtx_domain_exclude", "nvtx_domain_include", "skip_first", "step_range", "steps",
            "to")  # fmt: skip
_GATE = {0: "holds", 3: "fails", 4: "inconclusive"}


class Comparison:
    """Two runs, or two groups of runs, compared. Tables are lists of rows, as `prof diff --format json` has them."""

    __slots__ = ("_flags", "_text", "_words", "gate", "tables")

    tables: dict[str, list[dict[str, Any]]]  # by name: "diff", "diff_waterfall", "diff_kernels", ...
    gate: str | None  # of all limits: "holds", "fails" or "inconclusive"; None: there were none

    def __init__(self, documents: list[dict[str, Any]], text: str, gate: str | None, flags: list[str],
                 words: list[str]) -> None:  # fmt: skip
        self.tables = {document["report"]: document["rows"] for document in documents}
        self.gate = gate
        self._text, self._flags, self._words = text, flags, words

    def to_html(self, path: Path) -> Page:
        """Writes the page for the browser, as `prof diff --html` does: the waterfall, both trees side by side, the runs."""
        place = path_of(path)
        _run("diff", [*self._flags, f"--html={place}"], self._words)
        return Page(place)

    @property
    def step(self) -> dict[str, Any]:
        """The step: base_ns, new_ns, change (0.02 is 2 % more), low and high (or None), verdict, p, more_runs."""
        return self.tables["diff"][0]

    @property
    def verdict(self) -> str:
        """Of the step: "faster", "slower", "same within 1 %", "inconclusive"; of one run on each side "differ" or "do not
        differ"."""
        verdict: str = self.step["verdict"]
        return verdict

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<libprof comparison: {self.verdict}, {100 * self.step['change']:+.1f} %>"


def _word(side: Any) -> str:
    name = str(side.path) if hasattr(side, "notes") else path_of(side)
    # A name that begins with - is no option.
    return name if os.path.isabs(name) else os.path.join(os.curdir, name)


def _flags(options: dict[str, Any], what: str, known: tuple[str, ...]) -> list[str]:
    flags = []
    for option, value in options.items():
        name = option.rstrip("_")
        if name not in known:
            raise InvalidArgument(f"{what}() has no option {option!r}; there are {', '.join(known)}")
        if value is not None:
            flags.append(f"--{name.replace('_', '-')}={text_of_value(option, value)}")
    return flags


def diff(base: Any, new: Any, *, fail_over: str | Iterable[str] = (), any_machine: bool = False,
         **options: Any) -> Comparison:  # fmt: skip
    words = [_word(side) for side in (base, new)]
    limits = [fail_over] if isinstance(fail_over, str) else list(fail_over)
    flags = [f"--fail-over={limit}" for limit in limits] + _flags(options, "diff", _OPTIONS)
    if any_machine:
        flags.append("--any-machine")
    status, found = _run("diff", [*flags, "--format=json"], words)
    text = _run("diff", [*flags, "--format=table"], words)[1]
    return Comparison(json.loads(found), text, _GATE[status] if limits else None, flags, words)


def baseline(runs: Any, path: Path, *, any_host: bool = False, **options: Any) -> str:
    place = path_of(path)
    flags = _flags(options, "baseline", tuple(name for name in _OPTIONS if name != "margin"))
    words = [_word(run) for run in (runs if isinstance(runs, (list, tuple)) else [runs])]
    _run("baseline", [*flags, *(["--any-host"] if any_host else []), f"--output={place}"], words)
    return place


def _run(command: str, flags: list[str], words: list[str]) -> tuple[int, str]:
    program = os.path.join(prefix(), "bin", "prof")
    try:
        done = subprocess.run([program, command, *flags, *words], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)  # fmt: skip
    except OSError as failure:
        raise Failed(f"cannot run {program}: {failure.strerror}") from None
    if done.returncode not in _GATE:
        text = done.stderr.decode("utf-8", "replace").strip().removeprefix("prof: ")
        raise (InvalidArgument if done.returncode == 2 else Failed)(text or f"prof {command} failed")
    return done.returncode, done.stdout.decode("utf-8", "replace")
