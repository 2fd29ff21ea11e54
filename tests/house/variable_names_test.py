# SPDX-License-Identifier: Apache-2.0
"""Variables of src/ are named by nouns, in the rooms that have come so far, and the check notices one that is not."""
import pathlib
import unittest

import variable_names

SRC = pathlib.Path(__file__).resolve().parents[2] / "src"

# A room is added when its last such name has gone.
DONE = ("base", "c_api", "capture", "cli", "collect", "control", "hooks", "options", "plan", "record", "ring", "session", "symbols")


class VariableNames(unittest.TestCase):
    def test_are_nouns_in_these_rooms(self):
        found = [(path.relative_to(SRC).as_posix(), line, name)
                 for room in DONE for path, line, name in variable_names.found_below(SRC / room)]
        self.assertEqual(found, [])

    def test_the_check_notices_each_kind_of_declaration(self):
        for line, name in (("int of = 1;", "of"), ("void f(const option& of);", "of"), ("char* at{};", "at"),
                           ("for (auto& each : all) {", "each"), ("auto [from, to] = f();", "from"),
                           ("thread_context* of_;", "of"), ("const guard here(*this);", "here"),
                           ("std::vector<int> what;", "what"), ("void f(int who, int count)", "who")):
            with self.subTest(line):
                self.assertIn((1, name), variable_names.found_in(line))

    def test_the_check_takes_functions_words_and_texts_for_what_they_are(self):
        for line in ("std::uint64_t from() const;", "header* at(std::uint32_t index);", "// the end of;", "return of;",
                     'print("of ", to_text);', 'text = R"x(what was there, and\nwhere to, "quoted")x";', "x = at + 1;"):
            with self.subTest(line):
                self.assertEqual(variable_names.found_in(line), [])


if __name__ == "__main__":
    unittest.main()
