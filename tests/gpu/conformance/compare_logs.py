#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare two logs of cupti_conformance, section by section: a recording from a GPU, and the simulated GPU's.

Prints a verdict for each section, and the lines that differ. Exit status 0 if all agree, 1 if one differs, and 77, said
in one line, if there is no recording.
"""

import argparse
import difflib
import pathlib
import sys

SKIPPED = 77


def sections(path):
    """Name → lines, in the log's order."""
    found = {}
    for line in path.read_text().splitlines():
        if line.startswith("== "):
            lines = found.setdefault(line[3:], [])
        elif line:
            lines.append(line)
    return found


def compare(recorded, simulated):
    """Names of the sections that differ; prints as it goes."""
    differing = []
    for name in list(recorded) + [name for name in simulated if name not in recorded]:
        real, fake = recorded.get(name), simulated.get(name)
        if real == fake:
            print(f"agrees   {name} ({len(real)} lines)")
            continue
        differing.append(name)
        print(f"DIFFERS  {name}")
        if real is None or fake is None:
            print(f"    only in the {'simulation' if real is None else 'recording'}")
            continue
        for line in difflib.unified_diff(real, fake, "recorded", "simulated", lineterm="", n=1):
            print("    " + line)
    return differing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recorded", type=pathlib.Path)
    parser.add_argument("simulated", type=pathlib.Path)
    options = parser.parse_args()
    if not options.recorded.exists():
        print(f"SKIPPED: there is no recording {options.recorded} from a GPU to compare with")
        return SKIPPED
    differing = compare(sections(options.recorded), sections(options.simulated))
    if differing:
        print(f"{len(differing)} sections differ: {', '.join(differing)}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
