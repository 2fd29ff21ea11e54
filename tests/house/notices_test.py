# SPDX-License-Identifier: Apache-2.0
"""THIRD_PARTY_NOTICES has a section for all that the build put into libprof.so and prof.

Usage: notices_test.py <build tree of Ninja> <folder with CUDA's headers>...

Ninja's records name the headers that each object was made from, and its commands the libraries that were linked.
"""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path()
CUDA = []

GCC = "libstdc++ and libgcc"
# What a header or a library belongs to, by its path. None: the C library and the kernel's interface, which are not
# inside.
OWNERS = ((r"/fmt/[\w-]+\.h$", "fmt"), (r"/nlohmann/", "nlohmann_json"), (r"/CLI/\w+\.hpp$", "CLI11"),
          (r"/(zlib|zconf)\.h$|/libz\.a$", "zlib"), (r"/nvtx3/", "NVTX"), (r"/c\+\+/|/lib/gcc/|/lib/clang/", GCC),
          (r"^/usr/include/([\w-]+-linux-gnu/)?(bits|sys|gnu|asm|asm-generic|linux|arpa|net|netinet)/", None),
          (r"^/usr/include/(poll|syscall)\.h$", None),
          (r"^-l(dl|m|pthread|rt|c)$|/lib(dl|m|pthread|rt)\.(so|a)$", None))


def owner(path):
    """The section that `path` needs; None if none. ValueError if it belongs to nothing that is known."""
    for pattern, name in OWNERS:
        if re.search(pattern, path):
            return name
    file = pathlib.Path(path)
    # Declarations alone, of functions that are looked up while the program runs.
    if any(file.is_relative_to(folder) for folder in CUDA):
        return None
    if re.search(r"/python3\.\d+/", path):
        return None  # of the interpreter that loads the module
    if file.suffix == ".h" and re.search(r"GNU C Library|glibc", file.read_text(errors="replace")):
        return None
    raise ValueError(f"{path}: add whose it is to tests/house/notices_test.py, and its licence to THIRD_PARTY_NOTICES")


def sections(text):
    """The text of each section, by name."""
    parts = re.split(r"^={80}\n(\S.*)\n((?:  .*\n)*)={80}\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::3], parts[3::3]))


def output_of(*command):
    return subprocess.run(["ninja", "-C", BUILD, *command], check=True, stdout=subprocess.PIPE, text=True).stdout


def used():
    paths = set()
    for block in output_of("-t", "deps").split("\n\n"):
        name, _, headers = block.partition("\n")
        if name.startswith(("src/", "CMakeFiles/prof_fmt.dir/")) and "(VALID)" in name:
            paths.update(header.strip() for header in headers.splitlines())
    for target in ("lib/libprof.so", "bin/prof"):
        name = next(BUILD.glob(target.replace("lib/", "lib*/")), None)
        if name is not None:
            command = output_of("-t", "commands", "-s", str(name.resolve().relative_to(BUILD))).splitlines()
            paths.update(word for line in command for word in line.split() if re.search(r"\.(a|so)$|^-l", word))
    mine = (str(ROOT / "src"), str(ROOT / "include"), str(ROOT / "cmake"), str(BUILD))
    resolved = {path if path.startswith("-l") else str((BUILD / path).resolve()) for path in paths}
    return {path for path in resolved if not path.startswith(mine)}


class Notices(unittest.TestCase):
    def test_every_dependency_of_the_build_has_a_section(self):
        found = {owner(path) for path in used()} - {None}
        self.assertTrue({"fmt", "nlohmann_json", "zlib", "NVTX", GCC} <= found, found)
        self.assertEqual(found - set(sections((ROOT / "cmake/licences/THIRD_PARTY_NOTICES").read_text())), set())

    def test_sections_have_the_texts_that_the_licences_ask_for(self):
        notices = sections((ROOT / "cmake/licences/THIRD_PARTY_NOTICES").read_text())
        for name, phrase in (("CLI11", "Redistributions in binary form must reproduce"),
                             ("nlohmann_json", "Niels Lohmann"),
                             ("nlohmann_json", "The above copyright notice and this permission notice"),
                             ("fmt", "Victor Zverovich"), ("zlib", "Jean-loup Gailly and Mark Adler"),
                             ("NVTX", "LLVM Exceptions to the Apache 2.0 License"),
                             (GCC, "GCC RUNTIME LIBRARY EXCEPTION")):
            self.assertIn(phrase, notices[name])
        self.assertEqual((ROOT / "cmake/licences/NVTX.txt").read_text().strip(), notices["NVTX"].strip())

    def test_check_refuses_an_unknown_dependency(self):
        for path in ("/usr/include/boost/any.hpp", "/usr/lib/libzstd.a", "-lz"):
            with self.assertRaises(ValueError):
                owner(path)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[1]).resolve()
    CUDA = [pathlib.Path(folder).resolve() for folder in sys.argv[2:]]
    if not (BUILD / "build.ninja").exists():
        print("SKIPPED: the build is not Ninja's, which has a record of the headers")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
