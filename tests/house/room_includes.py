# SPDX-License-Identifier: Apache-2.0
"""The arrows between the rooms of src/: which room may include which.

`python3 room_includes.py <src>` lists every include that follows no arrow, and exits with their number.
"""

import pathlib
import re
import sys

# Each room, and what it may know besides itself. A folder in a room is part of it unless it has a row of its own.
# An entry that ends in .hpp is one header, and not the room it lies in: the tracer hands collect the completed buffers.
ARROWS = {
    "base": [],
    "record": ["base"],
    "record/cupti": ["base", "record"],
    "ring": ["base", "record"],
    "plan": ["base"],
    "options": ["base", "record", "plan"],
    "hooks": ["base", "record", "ring"],
    "hooks/nvtx": ["base", "record", "ring", "hooks"],
    "hooks/lines": ["base", "record", "ring"],
    "hooks/cupti": ["base", "record", "record/cupti", "ring", "hooks", "hooks/lines"],
    "hooks/allocator": ["base", "record", "ring", "hooks", "hooks/lines"],
    "hooks/nccl": ["base", "record", "ring"],
    "hooks/torch": ["base", "record", "ring", "hooks", "hooks/nvtx"],
    "hooks/python": ["base", "record", "ring", "hooks", "hooks/nvtx"],
    "hooks/jax": ["base", "record", "ring", "hooks"],
    "capture": ["base", "record", "record/cupti", "ring"],
    "collect/history": ["base", "record", "ring", "capture"],
    "collect": ["base", "record", "ring", "capture", "collect/history", "hooks/cupti/tracer.hpp",
                "hooks/lines/stretch_samples.hpp"],
    "timeline": ["base", "record", "capture"],
    "symbols": ["base"],
    "analysis/attribution": ["base", "record", "timeline"],
    "analysis/projection": ["base", "record", "timeline", "symbols", "analysis/attribution"],
    "analysis/steps": ["base", "record", "timeline", "analysis/attribution", "analysis/projection"],
    "analysis/selection": ["base", "record", "timeline", "analysis/attribution", "analysis/projection",
                           "analysis/steps"],
    "analysis/breakdown": ["base", "record", "timeline", "analysis/attribution", "analysis/projection",
                           "analysis/steps", "analysis/selection"],
    "analysis/hta": ["base", "record", "timeline", "analysis/attribution", "analysis/projection", "analysis/steps"],
    "analysis/mfu": ["base", "record", "timeline", "analysis/attribution", "analysis/projection", "analysis/steps"],
    "analysis/modules": ["base", "record", "timeline", "analysis/attribution", "analysis/projection",
                         "analysis/selection"],
    "analysis/step_table": ["base", "record", "timeline", "analysis/attribution", "analysis/projection",
                            "analysis/steps", "analysis/selection", "analysis/breakdown", "analysis/modules"],
    "analysis/kernels": ["base", "record", "timeline", "symbols", "analysis/attribution", "analysis/projection",
                         "analysis/steps", "analysis/breakdown", "analysis/mfu", "analysis/modules",
                         "analysis/step_table"],
    "analysis/quality": ["base", "record", "timeline", "analysis/projection", "analysis/steps"],
    "memory": ["base", "record", "timeline", "analysis/attribution", "analysis/projection", "analysis/steps",
               "analysis/selection", "analysis/breakdown", "analysis/modules"],
    "diagnose": ["base", "record", "timeline", "symbols", "analysis/attribution", "analysis/projection",
                 "analysis/steps", "analysis/breakdown", "analysis/mfu", "analysis/modules", "analysis/quality"],
    "ranks": ["base", "record", "timeline", "analysis/attribution", "analysis/projection", "analysis/steps",
              "analysis/selection", "analysis/breakdown", "analysis/quality"],
    "compare": ["base", "record", "timeline", "symbols", "analysis/attribution", "analysis/projection", "analysis/steps",
                "analysis/selection", "analysis/step_table", "analysis/modules", "memory", "diagnose"],
    "report": ["base", "record", "options", "timeline", "symbols", "analysis/attribution", "analysis/projection",
               "analysis/steps", "analysis/selection", "analysis/breakdown", "analysis/hta", "analysis/mfu",
               "analysis/modules", "analysis/step_table", "analysis/quality", "memory", "diagnose", "ranks",
               "compare"],
    "export": ["base"],
    "export/layout": ["base", "record", "timeline", "analysis/attribution", "analysis/projection", "analysis/steps"],
    "export/chrome": ["base", "record", "timeline", "symbols", "analysis/attribution", "analysis/projection",
                      "analysis/steps", "analysis/quality", "export", "export/layout"],
    "export/report": ["base", "record", "timeline", "analysis/attribution", "analysis/projection", "analysis/steps",
                      "analysis/selection", "analysis/step_table", "report", "export"],
    "export/page": ["base", "record", "timeline", "symbols", "analysis/attribution", "analysis/projection",
                    "analysis/steps", "analysis/selection", "analysis/breakdown", "analysis/modules",
                    "analysis/kernels", "analysis/step_table", "analysis/quality", "diagnose", "ranks", "compare", "report", "export",
                    "export/layout", "export/report"],
    "export/parquet": ["base", "record", "timeline", "symbols", "analysis/attribution", "analysis/projection",
                       "analysis/steps", "analysis/quality", "ranks", "report", "export"],
    "export/capture_files": ["base", "options", "timeline", "analysis/attribution", "analysis/projection",
                             "analysis/selection", "report",
                             "export", "export/chrome", "export/report"],
    "control": ["base"],
    "session/process": ["base", "ring", "options", "hooks/nvtx", "hooks/cupti", "hooks/nccl",
                        "hooks/allocator", "collect/history"],
    "session/parts": ["base", "ring", "plan", "options", "hooks/allocator", "hooks/cupti", "hooks/lines", "capture", "collect", "collect/history",
                      "session/process", "export/capture_files"],
    "session": ["base", "record", "ring", "plan", "options", "hooks/allocator", "hooks/nvtx", "hooks/cupti", "hooks/nccl", "hooks/python", "collect",
                "timeline", "analysis/projection", "control", "session/process", "session/parts"],
    "c_api": ["base", "ring", "options", "hooks/nvtx", "hooks/torch", "capture", "timeline", "analysis/projection",
              "analysis/quality", "analysis/selection", "report", "export/capture_files",
              "export/report", "session", "session/process", "session/parts"],
    "python": [],
    "cli": ["base", "record", "options", "capture", "timeline", "analysis/attribution", "analysis/projection",
            "analysis/steps", "analysis/selection", "analysis/quality", "diagnose", "ranks", "compare", "report", "export",
            "export/capture_files", "export/chrome", "export/page", "export/parquet", "export/report", "control", "session"],
}

# The public headers are the session's face: below it libprof does not use its own API, but for the hooks of Python,
# which do what the program could do by that API itself.
MAY_INCLUDE_PUBLIC_HEADERS = {"session", "session/process", "c_api", "hooks/python", "cli", "python"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(prof/[^>]+)>)', re.MULTILINE)
SOURCES = {".hpp", ".h", ".cpp", ".c", ".cu", ".cuh", ".inl"}


def room_of(path):
    """The room of a path relative to src/: of its folders the innermost that is a room; else its first folder."""
    folders = pathlib.PurePosixPath(path).parts[:-1]
    for depth in range(len(folders), 0, -1):
        if "/".join(folders[:depth]) in ARROWS:
            return "/".join(folders[:depth])
    return folders[0] if folders else ""


def forbidden(path, include):
    """Why the file at path (relative to src/) may not have this include; None where it may."""
    room = room_of(path)
    if room not in ARROWS:
        return f"{path} is in no room"
    if include.startswith("prof/"):
        if room not in MAY_INCLUDE_PUBLIC_HEADERS:
            return f"{path} includes the public header <{include}>: {room}/ is below the session"
        return None
    target = room_of(include)
    if target not in ARROWS:
        return f'{path} includes "{include}", which names no room (write "room/header.hpp")'
    if target == room or target in ARROWS[room] or include in ARROWS[room]:
        return None
    return f'{path} includes "{include}", but {room}/ may know only {", ".join(ARROWS[room]) or "itself"}'


def violations(src):
    src = pathlib.Path(src)
    found = []
    for file in sorted(src.rglob("*")):
        if file.suffix not in SOURCES:
            continue
        path = file.relative_to(src).as_posix()
        for quoted, public in INCLUDE.findall(file.read_text(encoding="utf-8")):
            reason = forbidden(path, quoted or public)
            if reason:
                found.append(reason)
    return found


if __name__ == "__main__":
    found = violations(sys.argv[1])
    print("\n".join(found))
    sys.exit(min(len(found), 100))
