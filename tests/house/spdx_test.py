# SPDX-License-Identifier: Apache-2.0
"""Each file begins with its licence (spdx.py)."""
import sys
import unittest

import spdx


class Spdx(unittest.TestCase):
    def test_every_file_begins_with_its_licence(self):
        if not (spdx.ROOT / ".git").exists():
            self.skipTest("no git checkout, so it is not known which files are tracked")
        self.assertGreater(len(spdx.tracked()), 300)
        self.assertEqual(spdx.missing(), [], "tests/house/spdx.py --add adds the line")

    def test_line_is_first_or_follows_the_first_line_that_has_to_be(self):
        for path, before, after in (
                ("a.cpp", "int a;\n", "// SPDX-License-Identifier: Apache-2.0\nint a;\n"),
                ("a.h", "", "/* SPDX-License-Identifier: Apache-2.0 */\n"),
                ("a.py", "#!/usr/bin/env python3\n\"\"\"A.\"\"\"\n",
                 "#!/usr/bin/env python3\n# SPDX-License-Identifier: Apache-2.0\n\"\"\"A.\"\"\"\n"),
                ("a.hpp.in", "x\n", "// SPDX-License-Identifier: Apache-2.0\nx\n"),
                ("x/CMakeLists.txt", "x\n", "# SPDX-License-Identifier: Apache-2.0\nx\n"),
                ("a.md", "# A\n", "<!-- SPDX-License-Identifier: Apache-2.0 -->\n# A\n"),
                (".ci/run", "#!/bin/sh\n", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")):
            self.assertFalse(spdx.has_line(path, before))
            self.assertEqual(spdx.with_line(path, before), after)
            self.assertTrue(spdx.has_line(path, after))
            self.assertEqual(spdx.with_line(path, after), after)

    def test_line_of_another_licence_or_place_does_not_count(self):
        self.assertFalse(spdx.has_line("a.cpp", "// SPDX-License-Identifier: MIT\n"))
        self.assertFalse(spdx.has_line("a.cpp", "int a;\n// SPDX-License-Identifier: Apache-2.0\n"))
        self.assertFalse(spdx.has_line("a.cpp", "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"))

    def test_data_has_none_and_an_unknown_kind_is_refused(self):
        self.assertTrue(spdx.has_line("examples/captures/a.prof", "x"))
        self.assertIsNone(spdx.comment_of("tests/abi/libprof-0.1.abi"))
        with self.assertRaises(ValueError):
            spdx.comment_of("a.unknown")


if __name__ == "__main__":
    sys.exit(unittest.main())
