#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages for man(1) say what --help says, and groff has nothing to say about them.

    manual_pages_test.py PROF
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROF = str(pathlib.Path(sys.argv[1]).resolve())


def output_of(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, **more).stdout


def words_of(text):
    return re.findall(r"\S+", text)


class ManualPages(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="prof_manual_")
        self.addCleanup(scratch.cleanup)
        output_of(PROF, "__share", scratch.name)
        self.pages = {path.stem: path for path in pathlib.Path(scratch.name, "man/man1").iterdir()}

    def test_there_is_a_page_for_each_command(self):
        commands = re.findall(r"^    prof (\w+)$", output_of(PROF, "--help"), re.MULTILINE)
        self.assertEqual(set(self.pages), {"prof"} | {"prof-" + command for command in commands})

    def test_a_page_has_the_words_of_help(self):
        for name, path in self.pages.items():
            shown = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", "-rLL=200n", path],
                                   capture_output=True, text=True, timeout=60)  # fmt: skip
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), name)
            command = [PROF] + name.split("-")[1:] + ["--help"]
            body = shown.stdout.split("\n", 1)[1].rsplit("\n\n", 1)[0]  # between the header and the footer
            if name != "prof":
                body = body.rsplit("SEE ALSO", 1)[0]
            self.assertEqual(words_of(body), words_of(output_of(*command)), name)

    def test_a_page_has_a_section_for_each_of_help(self):
        for name, path in self.pages.items():
            help_page = output_of(PROF, *name.split("-")[1:], "--help")
            sections = re.findall(r"^\.SH (.*)$", path.read_text(), re.MULTILINE)
            self.assertEqual([title for title in sections if title != "SEE ALSO"],
                             re.findall(r"^(\S.*)$", help_page, re.MULTILINE))  # fmt: skip


if __name__ == "__main__":
    if shutil.which("groff") is None:
        print("SKIPPED: no groff (apt-get install groff)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
