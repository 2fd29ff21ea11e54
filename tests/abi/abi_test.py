# SPDX-License-Identifier: Apache-2.0
"""The recorded interface of each release of this SONAME is still there (abi.py)."""
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import abi

RELEASES = sorted((abi.ROOT / "tests/abi").glob("libprof-*.abi"))


class Abi(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def changed(self, header, before, after, count=0):
        """A library of headers in which `before`, a regular expression, became `after`."""
        include = self.folder / "include"
        shutil.copytree(abi.ROOT / "include", include)
        text = (include / "prof" / header).read_text()
        self.assertRegex(text, before)
        (include / "prof" / header).write_text(re.sub(before, after, text, count=count))
        return abi.build(include, abi.VERSION_SCRIPT, self.folder)[0]

    def test_interfaces_of_releases_are_there(self):
        library, functions = abi.build(abi.ROOT / "include", abi.VERSION_SCRIPT, self.folder)
        self.assertGreater(len(functions), 25)
        self.assertTrue(RELEASES)
        for release in RELEASES:
            with self.subTest(release.name):
                status, report = abi.differences(release, library)
                self.assertEqual(status, 0, report)

    def test_every_listed_function_is_compared(self):
        _, functions = abi.build(abi.ROOT / "include", abi.VERSION_SCRIPT, self.folder)
        self.assertEqual(set(re.findall(r"\bprof_\w+(?=;)", abi.VERSION_SCRIPT.read_text())), functions)

    def test_removed_function_is_detected(self):
        status, report = abi.differences(RELEASES[0], self.changed("prof.h", r"\bprof_sync\b", "prof_synchronize"))
        self.assertTrue(status & abi.INCOMPATIBLE, report)
        self.assertIn("prof_sync", report)

    def test_changed_parameter_is_detected(self):
        status, report = abi.differences(RELEASES[0], self.changed(
            "prof.h", r"int prof_dump\(const char\* path\)", "int prof_dump(const char* path, int flags)"))
        self.assertTrue(status & abi.CHANGED, report)
        self.assertIn("prof_dump", report)

    def test_changed_struct_is_detected(self):
        for before, after in ((r"uint64_t instances;", "uint32_t instances; uint32_t more;"),
                              (r"(uint64_t instances;)", r"uint64_t inserted; \1"),
                              (r"uint64_t payload_bytes;", "")):
            with self.subTest(before):
                self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
                status, report = abi.differences(RELEASES[0], self.changed("read.h", before, after))
                self.assertTrue(status & abi.CHANGED, report)
                self.assertIn("prof_summary_row", report)

    def test_row_that_grows_at_its_end_is_accepted(self):
        status, report = abi.differences(RELEASES[0], self.changed(
            "read.h", r"(\} prof_summary_row;)", r"uint64_t later; uint64_t latest; \1"))
        self.assertEqual(status, 0, report)

    def test_added_function_is_accepted(self):
        status, report = abi.differences(RELEASES[0], self.changed(
            "prof.h", r"(int prof_sync\(void\);)", r"\1 int prof_added(void);"))
        self.assertEqual(status, 0, report)


if __name__ == "__main__":
    if not shutil.which("abidiff") or not shutil.which("gcc"):
        print("SKIPPED: no abidiff (Debian: abigail-tools) or no gcc")
        sys.exit(77)
    unittest.main()
