# SPDX-License-Identifier: Apache-2.0
"""Makes src/base/cell_widths.inl from Python's Unicode tables, or checks it against them.

    cell_widths.py FILE            fails if FILE differs; skips (77) if Python has another version of Unicode
    cell_widths.py --write FILE
"""
import pathlib
import sys
import unicodedata

SKIPPED = 77
HEAD = """// SPDX-License-Identifier: Apache-2.0
// Made by tests/base/cell_widths.py from Unicode {}: {{first, last, cells}} of the code points that take 0 or 2 cells.
"""
# CJK ideographs, and pictographs.
WIDE_BLOCKS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0x20000, 0x2FFFD), (0x30000, 0x3FFFD), (0x1FA70, 0x1FAFF))


def cells(code):
    if code == 0xAD:  # a soft hyphen is shown
        return 1
    text = chr(code)
    # The vowels and finals of Hangul join the initial before them.
    if 0x1160 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FF:
        return 0
    if unicodedata.category(text) in ("Mn", "Me", "Cf", "Zl", "Zp"):
        return 0
    if unicodedata.category(text) == "Cn":  # not assigned yet: wide where all that may come is so
        return 2 if any(first <= code <= last for first, last in WIDE_BLOCKS) else 1
    return 2 if unicodedata.east_asian_width(text) in ("W", "F") else 1


def ranges():
    out = []
    for code in range(0xA0, 0x110000):
        width = cells(code)
        if width == 1:
            continue
        if out and out[-1][1] == code - 1 and out[-1][2] == width:
            out[-1][1] = code
        else:
            out.append([code, code, width])
    return out


def table():
    lines = ["{{0x{:04X}, 0x{:04X}, {}}},".format(*each) for each in ranges()]
    rows = [" ".join(lines[at:at + 4]) for at in range(0, len(lines), 4)]
    return HEAD.format(unicodedata.unidata_version) + "\n".join(rows) + "\n"


def main():
    path = pathlib.Path(sys.argv[-1])
    if sys.argv[1] == "--write":
        path.write_text(table())
        return 0
    found = path.read_text()
    if f"Unicode {unicodedata.unidata_version}:" not in found:
        print(f"skipped: Python has Unicode {unicodedata.unidata_version}")
        return SKIPPED
    if found != table():
        print(f"{path} differs from Unicode {unicodedata.unidata_version}: run {sys.argv[0]} --write {path}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
