#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a person sees of `prof report` on terminals of 80x24 and 120x40 and through a pipe, as a page of Markdown.

    panes.py PROF [--before OLDER_PROF] NAME=FILE_OR_FOLDER... > docs/lab/screens.md

Each command runs on an emulated terminal (pyte); a pane is what is visible when it has ended, so that what has scrolled
away is not there. Of a pipe's text the first lines stand here, and how many there are.
"""
import argparse
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from emulated_terminal import run_on_terminal

SIZES = ((80, 24), (120, 40))
PIPE_LINES = 12


def environment():
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PROF_", "LESS", "PAGER"))}
    return kept | {"TERM": "xterm", "NO_COLOR": "1", "LANG": "C.UTF-8"}


def pane(text):
    while text and not text[-1]:
        text = text[:-1]
    return "\n".join(["```text", *text, "```", ""])


def shown(prof, path, columns, lines):
    return pane(run_on_terminal([prof, "report", path.name], columns, lines, environment(), cwd=path.parent).text)


def piped(prof, path):
    done = subprocess.run([prof, "report", path.name], env=environment(), cwd=path.parent, capture_output=True, text=True)
    lines = done.stdout.split("\n")[:-1]
    more = len(lines) - PIPE_LINES
    return pane([*lines[:PIPE_LINES], *([f"[{more} more lines]"] if more > 0 else [])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("prof")
    parser.add_argument("--before")
    parser.add_argument("captures", nargs="+")
    options = parser.parse_args()
    versions = ([("before", os.path.abspath(options.before))] if options.before else []) + \
        [("now", os.path.abspath(options.prof))]  # fmt: skip
    print("<!-- SPDX-License-Identifier: Apache-2.0 -->\n# Screens\n")
    print("Made by [`tests/lab/panes.py`](../../tests/lab/panes.py): what is visible after `prof report FILE` on terminals of "
          "two sizes, and\nwhat comes through a pipe.", end="")
    if options.before:
        print(" *Before* is the command before it had a first screen.", end="")
    print("\n")
    for each in options.captures:
        name, _, place = each.partition("=")
        path = pathlib.Path(place).resolve()
        print(f"## {name}\n")
        for columns, lines in SIZES:
            for version, prof in versions:
                print(f"{columns}x{lines}, {version}:\n\n{shown(prof, path, columns, lines)}")
        for version, prof in versions:
            print(f"A pipe, {version}:\n\n{piped(prof, path)}")


if __name__ == "__main__":
    main()
