# SPDX-License-Identifier: Apache-2.0
"""docs/reference/capture-format.md as data: its struct and enumeration tables, its example and what that prints.

As a program (format_document.py DOCUMENT OUTPUT) it writes a C++ file that asserts every table against the headers.
"""
import re
import struct
import sys

CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i", "char": "B"}
HEADERS = (
    "capture/format.hpp", "base/clock.hpp", "record/collective.hpp", "record/drop.hpp", "record/gpu_record.hpp", "record/label.hpp",
    "record/memory.hpp",
    "record/name_table.hpp", "record/passing_names.hpp", "record/record.hpp", "ring/region_layout.hpp",
)


class Struct:
    def __init__(self, name, size):
        self.name, self.size, self.fields = name, size, []  # fields: (offset, bytes, type, name)

    def check(self):
        """Every byte stands in one row, and each type fills its bytes."""
        at = 0
        for offset, size, kind, field in self.fields:
            assert offset == at, f"{self.name}: {field or 'a gap'} is said to be at {offset}, the row before ends at {at}"
            assert not field or struct.calcsize("<" + self.code(kind)) == size, f"{self.name}.{field}: {kind} is not {size} bytes"
            at += size
        assert at == self.size, f"{self.name}: its rows end at {at}, its heading says {self.size}"

    @staticmethod
    def code(kind):
        base, count = re.fullmatch(r"(\w+?)(?:\[(\d+)\])?", kind).groups()
        return (count or "") + CODES[base]

    def decode(self, data):
        assert len(data) == self.size
        values = {}
        for offset, size, kind, field in self.fields:
            if field:
                found = struct.unpack_from("<" + self.code(kind), data, offset)
                text = kind.startswith("char") or kind == "u8[16]"
                values[field] = data[offset:offset + size] if text else found if "[" in kind else found[0]
        return values


class Document:
    def __init__(self, path):
        with open(path, encoding="utf-8") as source:
            self.text = source.read()
        self.structs, self.enums = {}, {}
        for section in re.split(r"^### ", self.text, flags=re.M)[1:]:
            heading = re.match(r"`([\w:]+)`, (?:(\d+) bytes|enumeration)\n", section)
            assert heading, "a heading that names no struct: " + section.splitlines()[0]
            name, size = heading.groups()
            table = section.split("\n## ")[0]
            rows = [[cell.strip() for cell in line.strip("|").split("|")]
                    for line in table.splitlines() if re.match(r"\|\d", line)]
            if size is None:
                self.enums[name] = {row[1].strip("`"): int(row[0]) for row in rows}
            else:
                known = self.structs[name] = Struct(name, int(size))
                known.fields = [(int(row[0]), int(row[1]), row[2], row[3].strip("`")) for row in rows]
                known.check()
        self.example, = re.findall(r"^```python\n(.*?)^```", self.text, flags=re.M | re.S)
        self.printed, = re.findall(r"^```text\n(.*?)^```", self.text, flags=re.M | re.S)


def asserts(document):
    yield "// Generated from docs/reference/capture-format.md. Compiles only if its tables are true."
    yield "#include <cstddef>"
    yield from (f'#include "{header}"' for header in HEADERS)
    for known in document.structs.values():
        yield f'static_assert(sizeof({known.name}) == {known.size}, "{known.name}");'
        for offset, size, _, field in known.fields:
            if field:
                place = f"offsetof({known.name}, {field})"
                value = f"sizeof(static_cast<{known.name}*>(nullptr)->{field})"
                yield f'static_assert({place} == {offset} && {value} == {size}, "{known.name}.{field}");'
    for name, values in document.enums.items():
        for value, number in values.items():
            yield f'static_assert(static_cast<unsigned>({name}::{value}) == {number}, "{name}::{value}");'
    causes = len(document.enums["prof::drop_cause"])
    yield f'static_assert(prof::drop_cause_count == {causes}, "prof::drop_cause");'


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as output:
        print(*asserts(Document(sys.argv[1])), sep="\n", file=output)
