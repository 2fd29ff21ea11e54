# SPDX-License-Identifier: Apache-2.0
"""Variables, parameters and members whose name is a preposition or a pronoun, which says nothing of the value.

`python3 variable_names.py <folder>` lists them by file and line, and exits with their number.
"""
import pathlib
import re
import sys

NO_NOUNS = ("of", "at", "to", "from", "by", "what", "who", "why", "each", "here", "there")
# A declaration: a type, or the end of one, and the name before what can follow one. A parenthesis may also follow a
# function's name, which a constant's is not.
NAME = "(" + "|".join(NO_NOUNS) + ")"
DECLARED = re.compile(r"(?:(?:[\w>\]]|[&*])\s*[&*]*\s+[&*]*" + NAME + r"_?\s*(?:[;,=){:\[]|$)|"
                      r"\bconst [\w:<>]+ " + NAME + r"\()")
BOUND = re.compile(r"auto[&*\s]+\[([^\]]*)\]")  # structured bindings
KEYWORDS = re.compile(r"\b(?:return|else|case|co_return|throw|goto|and|or|not|delete|new)\s+[&*]*$")
SOURCES = {".hpp", ".cpp", ".h", ".inl"}


def without_comments_and_texts(text):
    """Of the same lines and columns."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    return re.sub(r'//[^\n]*|R"(\w*)\(.*?\)\1"|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', blank, text, flags=re.S)


def found_in(text):
    """(line, name) of each."""
    found = []
    code = without_comments_and_texts(text)
    for match in DECLARED.finditer(code):
        which = 1 if match.group(1) else 2
        if not KEYWORDS.search(code[:match.start(which)]):
            found.append((code.count("\n", 0, match.start(which)) + 1, match.group(which)))
    for match in BOUND.finditer(code):
        for name in match.group(1).split(","):
            if name.strip().rstrip("_") in NO_NOUNS:
                found.append((code.count("\n", 0, match.start()) + 1, name.strip()))
    return sorted(found)


def found_below(folder):
    return [(path, line, name) for path in sorted(pathlib.Path(folder).rglob("*"))
            if path.suffix in SOURCES for line, name in found_in(path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    all_of_them = found_below(sys.argv[1])
    for file, number, variable in all_of_them:
        print(f"{file}:{number}: {variable}")
    sys.exit(min(len(all_of_them), 100))
