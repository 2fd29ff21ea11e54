# SPDX-License-Identifier: Apache-2.0
"""All rooms share the namespace prof, so a type's name stands in one header only.

Two definitions in two headers compile as long as no source sees both; the linker then keeps the inline functions of
one of them for both, and memory is corrupted.
"""

import collections
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFINITION = re.compile(r"^(?:struct|class|union|enum(?: class)?) (?:\[\[[^\]]*\]\] |alignas\([^)]*\) |"
                        r"PROF_\w+(?:\([^)]*\))? )?(\w+)[^;()]*\{", re.MULTILINE)


def headers_by_type(texts):
    """The headers that define a type at the outermost level, by the type's name."""
    found = collections.defaultdict(set)
    for path, text in texts.items():
        for name in DEFINITION.findall(text):
            found[name].add(path)
    return found


def repeated(texts):
    return {name: sorted(paths) for name, paths in headers_by_type(texts).items() if len(paths) > 1}


class TypeNames(unittest.TestCase):
    def test_names_are_unique_in_headers(self):
        headers = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
                   for folder in ("src", "include") for path in (ROOT / folder).rglob("*.hpp")}
        self.assertGreater(len(headers_by_type(headers)), 20)
        self.assertEqual(repeated(headers), {})

    def test_check_detects_a_duplicate_name(self):
        twice = {"a.hpp": "struct contents {\n};\n", "b.hpp": "class contents final : public base {\n",
                 "c.hpp": "class PROF_SCOPED_CAPABILITY lock {\n", "d.hpp": "class PROF_CAPABILITY(\"m\") lock {\n"}
        self.assertEqual(repeated(twice), {"contents": ["a.hpp", "b.hpp"], "lock": ["c.hpp", "d.hpp"]})

    def test_check_ignores_declarations(self):
        self.assertEqual(repeated({"a.hpp": "struct contents {};", "b.hpp": "struct contents;\n"}), {})


if __name__ == "__main__":
    unittest.main()
