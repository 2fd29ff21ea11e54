#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/guide/notes.md and the code agree: each sentence that a report can print as a note is found there, and each that
stands there is in the code.

A page's phrase is what its tables have in the first column, cut at "…" and ";". A sentence of the code is a string
literal, with its neighbours.
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/guide/notes.md"
# Whose sentences are all notes.
NOTES = ["analysis/quality/capture_notes.cpp", "report/tables/projection_notes.cpp", "timeline/tick_clock.cpp",
         "timeline/kineto/trace_finish.cpp"]
# Parts of one, or of a report's title.
PARTS = [
    ": {:.3f} s recorded, {}",
    "; so GPU work is in no range",
    "; times of waiting are those of the calls that were recorded",
    " that the GPU did later",
    "{} that {} left out above",
    " (CUDA {}, driver {})",
    "autograd::engine::evaluate_function: ",
    "byte of the file is damaged and was",
    "recorded {} of {}{} steps, {}: step{} {}",
]
LITERALS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')
WORDS_OF_A_NOTE = 4


def literals(path):
    text = re.sub(r"^\s*(//|#include).*$", "", path.read_text(), flags=re.MULTILINE)
    for run in LITERALS.findall(text):
        yield "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run)).replace('\\"', '"')


def phrases():
    """Of the first column of all tables but that of the drop reasons, which another test reads."""
    page = re.sub(r"^## Drop reasons.*?(?=^## )", "", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    for row in re.findall(r"^\|(.+?)\|.*\|$", page, re.MULTILINE):
        if row.strip("-:") in ("", "note", "line"):
            continue
        for phrase in re.split("…|;", row):
            phrase = phrase.replace("`", "").strip(" ,:()")
            if phrase:
                yield phrase


class Notes(unittest.TestCase):
    def test_each_note_is_on_the_page(self):
        known = [phrase for phrase in phrases() if " " in phrase]
        for name in NOTES:
            for text in literals(ROOT / "src" / name):
                if text in PARTS or len(text.split()) < WORDS_OF_A_NOTE:
                    continue
                with self.subTest(f"{name}: {text}"):
                    self.assertTrue(any(phrase in text for phrase in known))

    def test_what_is_on_the_page_is_in_the_code(self):
        code = "\n".join(text for path in [*ROOT.glob("src/**/*.[ch]pp"), *ROOT.glob("src/**/*.py")]
                         for text in literals(path))
        for phrase in phrases():
            with self.subTest(phrase):
                self.assertIn(phrase, code)


if __name__ == "__main__":
    unittest.main()
