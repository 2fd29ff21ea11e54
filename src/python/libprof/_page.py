# SPDX-License-Identifier: Apache-2.0
"""Pages of runs, as `prof report --html` writes them: the program of the package makes them, since libprof.so has none."""
from __future__ import annotations

import html
import os
import subprocess

from ._library import Failed, InvalidArgument, path_of, prefix, text_of_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_OPTIONS = ("adopt", "communication", "fold", "from", "nvtx_domain_exclude", "nvtx_domain_include", "range", "skip_first",
            "step_range", "steps", "to")  # fmt: skip


class Page:
    """A page on disk. In a notebook it shows itself."""

    __slots__ = ("path",)

    path: str

    def __init__(self, path: str) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<libprof page: {self.path}>"

    def _repr_html_(self) -> str:
        # A document of its own, which may run its script and nothing else.
        with open(self.path, encoding="utf-8") as file:
            page = html.escape(file.read())
        return f'<iframe sandbox="allow-scripts allow-downloads" style="width:100%;height:48em;border:0" srcdoc="{page}"></iframe>'


def _flags(options: dict[str, Any]) -> list[str]:
    flags = []
    for option, value in options.items():
        name = option.rstrip("_")
        if name not in _OPTIONS:
            raise InvalidArgument(f"a page has no option {option!r}; there are {', '.join(_OPTIONS)}")
        values = value if name == "range" and isinstance(value, (list, tuple)) else [value]
        flags += [f"--{name.replace('_', '-')}={text_of_value(option, one)}" for one in values if one is not None]
    return flags


def to_html(captures: Any, path: Path | None = None, **options: Any) -> Page:
    files = captures if isinstance(captures, (list, tuple)) else [captures]
    if not files:
        raise InvalidArgument("a page needs a capture")
    names = [str(of.path) if hasattr(of, "notes") else path_of(of) for of in files]
    place = os.path.splitext(names[0])[0] + ".html" if path is None else path_of(path)
    # A name that begins with - is no option.
    words = [name if os.path.isabs(name) else os.path.join(os.curdir, name) for name in names]
    program = os.path.join(prefix(), "bin", "prof")
    try:
        done = subprocess.run([program, "report", "--html", os.path.abspath(place), *_flags(options), *words],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    except OSError as failure:
        raise Failed(f"cannot run {program}: {failure.strerror}") from None
    if done.returncode != 0:
        text = done.stderr.decode("utf-8", "replace").strip().removeprefix("prof: ")
        raise (InvalidArgument if done.returncode == 2 else Failed)(text or "the page could not be made")
    return Page(place)
