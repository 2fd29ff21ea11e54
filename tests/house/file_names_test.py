# SPDX-License-Identifier: Apache-2.0
"""No two files of src/ have one name, in whatever rooms they lie: a reader, or a tool, takes one for the other."""
import collections
import pathlib
import unittest

SRC = pathlib.Path(__file__).resolve().parents[2] / "src"


def twins(paths):
    by_name = collections.defaultdict(list)
    for path in paths:
        if path.suffix in {".cpp", ".hpp", ".inl", ".py"} and path.name != "__init__.py":
            by_name[path.stem, path.suffix == ".py"].append(path.with_suffix("").as_posix())
    return sorted(sorted(set(found)) for found in by_name.values() if len(set(found)) > 1)


class FileNames(unittest.TestCase):
    def test_are_of_one_file_each(self):
        self.assertEqual(twins(path.relative_to(SRC) for path in SRC.rglob("*")), [])

    def test_the_check_notices_twins_of_either_ending(self):
        paths = map(pathlib.PurePath, ["a/seal.hpp", "a/seal.cpp", "b/seal.cpp", "c/other.hpp", "d/seal.txt"])
        self.assertEqual(twins(paths), [["a/seal", "b/seal"]])


if __name__ == "__main__":
    unittest.main()
