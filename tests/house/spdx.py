#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The licence line, with which each tracked text file begins that can have a comment.

    spdx.py            names the files without it; exit status 1 if there are any
    spdx.py --add      adds it to them
"""
import fnmatch
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINE = "SPDX-License-Identifier: Apache-2.0"

# How a comment begins and ends, by the end of the file's name. `.in` is left off before.
COMMENTS = {
    ("// ", ""): (".cpp", ".hpp", ".cu", ".cuh", ".inc", ".inl", ".js", ".go", ".rs"),
    ("/* ", " */"): (".c", ".h", ".css"),  # C89 has no other comments
    ("# ", ""): (".py", ".pyi", ".sh", ".cmake", ".txt", ".map", ".pc", ".toml", ".yml", ".yaml", ".cfg", ".ini",
                 ".supp", ".shellcheckrc", ".gitignore", ".gitattributes", ".clang-format", ".clang-tidy", ".dict", ".abignore",
                 ".lintian-overrides", "ci/run"),
    ("<!-- ", " -->"): (".md", ".html", ".xml"),
    ("-- ", ""): (".sql",),
}
# These have no comments, are made by a program, or are read byte for byte by a test; or they are licences.
WITHOUT = ("*.json", "*.ipynb", "*.svg", "*.png", "*.csv", "*.log", "*.prof", "*.abi", "*.gz",
           "tests/symbols/symbols.txt", "tests/analysis/xla_names.txt", "examples/pages/*.html",
           "LICENSE", "cmake/licences/*", "*/py.typed")
# A line that has to be the first one of its file.
FIRST_LINES = ("#!", "<?xml", "<!DOCTYPE", "<!doctype")


def comment_of(path):
    """What the line looks like in the file `path`; None if it has none."""
    if any(fnmatch.fnmatch(path, pattern) for pattern in WITHOUT):
        return None
    name = path.removesuffix(".in")
    for (begin, end), endings in COMMENTS.items():
        if name.endswith(endings):
            return begin + LINE + end
    raise ValueError(f"{path}: add the kind of this file to COMMENTS or WITHOUT in tests/house/spdx.py")


def position(text):
    """Where the line has to be: an index into `text`."""
    return text.index("\n") + 1 if text.startswith(FIRST_LINES) and "\n" in text else 0


def has_line(path, text):
    line = comment_of(path)
    return line is None or text[position(text):].split("\n", 1)[0] == line


def with_line(path, text):
    at = position(text)
    return text if has_line(path, text) else text[:at] + comment_of(path) + "\n" + text[at:]


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file()]


def missing():
    return [path for path in tracked() if comment_of(path) is not None
            and not has_line(path, (ROOT / path).read_text(encoding="utf-8"))]


def main(arguments):
    if arguments not in ([], ["--add"]):
        print(__doc__, file=sys.stderr)
        return 2
    paths = missing()
    for path in paths:
        if arguments:
            (ROOT / path).write_text(with_line(path, (ROOT / path).read_text(encoding="utf-8")), encoding="utf-8")
        else:
            print(path)
    return 1 if paths and not arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
