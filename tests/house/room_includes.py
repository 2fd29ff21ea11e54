"""The arrows between the rooms of src/: who may include whom.

`python3 room_includes.py <src>` lists every include that follows no arrow, and exits with their number.
"""

import pathlib
import re
import sys

# Each room, and what it may know besides itself. The records are the language that all rooms share.
# An entry that ends in .hpp is one header, and not the room it lies in: the tracer hands collect the completed buffers.
ARROWS = {
    "record": [],
    "ring": ["record"],
    "hooks": ["record", "ring"],
    "hooks/nvtx": ["record", "ring", "hooks"],
    "hooks/cupti": ["record", "ring", "hooks"],
    "hooks/torch": ["record", "ring", "hooks"],
    "hooks/jax": ["record", "ring", "hooks"],
    "capture": ["record", "ring"],
    "collect": ["record", "ring", "capture", "hooks/cupti/tracer.hpp"],
    "timeline": ["record", "capture"],
    "analysis": ["record", "timeline"],
    "export": ["record", "timeline", "analysis"],
    "control": ["record"],
    "session": ["record", "ring", "hooks", "hooks/nvtx", "hooks/cupti", "hooks/torch", "capture",
                "collect", "timeline", "analysis", "export", "control"],
    "cli": ["record", "ring", "capture", "collect", "timeline", "analysis", "export", "control", "session"],
}

# The public headers are the session's face: below it, and in no hook, does libprof use its own API.
MAY_INCLUDE_PUBLIC_HEADERS = {"session", "cli"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(prof/[^>]+)>)', re.MULTILINE)
SOURCES = {".hpp", ".h", ".cpp", ".c", ".cu", ".cuh", ".inl"}


def room_of(path):
    """The room of a path relative to src/: its folder, down to the first subfolder under hooks/."""
    folders = pathlib.PurePosixPath(path).parts[:-1]
    if folders[:1] == ("hooks",):
        return "/".join(folders[:2])
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
