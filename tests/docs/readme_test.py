#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md shows works: its C++ compiles, its commands and options are the prof command's, its links lead
somewhere (those of CONTRIBUTING.md and docs/ too).

    readme_test.py COMPILER NVTX_INCLUDE_DIR [PROF]
"""
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER, NVTX, *PROF = sys.argv[1:]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands():
    """Lines that call the prof command, without what it runs."""
    lines = [line.split("#")[0] for block in blocks("sh") for line in block.splitlines()]
    lines += re.findall(r"`(prof (?:run|report|export) [^`]*)`", README)
    words = [shlex.split(line) for line in lines if line.startswith("prof ")]
    return [line[:line.index("--")] if "--" in line else line for line in words]


def anchors(text):
    """Those that a document's headings have on GitHub."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Readme(unittest.TestCase):
    def test_cpp_compiles(self):
        self.assertEqual(len(blocks("cpp")), 2)
        for code in blocks("cpp"):
            subprocess.run(
                [COMPILER, "-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                 "-I", str(ROOT / "include"), "-isystem", NVTX, "-"],
                input=code, text=True, check=True)

    @unittest.skipUnless(PROF, "the prof command is not built")
    def test_commands_have_the_options_shown(self):
        self.assertGreaterEqual(len(commands()), 5)
        for _, command, *arguments in commands():
            done = subprocess.run([*PROF, command, "--help"], capture_output=True, text=True, check=True)
            for option in (argument for argument in arguments if argument.startswith("-")):
                self.assertRegex(done.stdout, rf"(?m)^ +(-\w, )?{re.escape(option)}\b", f"prof {command}")

    def test_the_python_example_names_what_is_missing(self):
        """-S: no installed packages, so no PyTorch."""
        done = subprocess.run([sys.executable, "-S", ROOT / "examples/train.py"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^train\.py needs PyTorch 2: python3 -m pip install torch numpy .*\n$")

    def test_links_lead_somewhere(self):
        """To files that are there, and to headings of them."""
        for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md",
                         *(ROOT / "docs").rglob("*.md")]:
            for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", document.read_text()):
                if "://" in target:
                    continue
                leads_to = document.parent / target if target else document
                self.assertTrue(leads_to.exists(), f"{document.name}: {target}")
                if anchor:
                    self.assertIn(anchor[1:], anchors(leads_to.read_text()), f"{document.name}: {target}{anchor}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
