# SPDX-License-Identifier: Apache-2.0
"""Circles of files in src/: files that include each other, each by way of the others. A source file counts as one with
its header, so a circle is a group of files none of which can be understood or tested without the rest.

`python3 file_circles.py <src>` lists them, and exits with their number.
"""
import pathlib
import re
import sys


def includes(src):
    """By file, without its ending: the files that it and its header include."""
    src = pathlib.Path(src)
    found = {}
    for path in sorted(src.rglob("*.[ch]pp")):
        name = path.relative_to(src).with_suffix("").as_posix()
        known = found.setdefault(name, set())
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M):
            if (src / included).exists():
                known.add(pathlib.PurePosixPath(included).with_suffix("").as_posix())
        known.discard(name)
    return found


def circles(src):
    """The largest first, each a sorted list."""
    known = includes(src)
    reached = {}

    def reach(name):
        if name not in reached:
            seen, waiting = set(), [name]
            while waiting:
                for other in known.get(waiting.pop(), ()):
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
            reached[name] = seen
        return reached[name]

    found = {tuple(sorted(other for other in reach(name) if name in reach(other)))
             for name in known if name in reach(name)}
    return sorted((list(circle) for circle in found), key=lambda circle: (-len(circle), circle))


if __name__ == "__main__":
    all_of_them = circles(sys.argv[1])
    for circle in all_of_them:
        print(len(circle), *circle)
    sys.exit(len(all_of_them))
