# SPDX-License-Identifier: Apache-2.0
"""<prof/session.hpp> as compilers and linkers see it.

Usage: session_header_test.py <libprof.so> <include folder of NVTX> <compiler>...
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
LIBRARY = NVTX = ""
COMPILERS = []

# Each way of writing two options gives these two, or does not compile.
BRACES = [
    '{{{"output_dir", "a"}, {"export", "none"}}}',
    '({{"output_dir", "a"}, {"export", "none"}})',
    '({{{"output_dir", "a"}, {"export", "none"}}})',
    '{{{{"output_dir", "a"}, {"export", "none"}}}}',
    '({{{{"output_dir", "a"}, {"export", "none"}}}})',
    '(prof::session_options().set("output_dir", std::string("a")).set("export", std::string_view("none")))',
]
PROGRAM = """
#include <prof/session.hpp>
#include <cstdio>
int main() {
    prof::session_options options OPTIONS;
    for (const prof::setting& each : options.settings()) std::puts(each.line().c_str());
}
"""
# A program and a shared object, each with functions of the header that are not inlined.
READER = """
#include <prof/session.hpp>
extern "C" std::size_t NAME() {
    prof::session session({{"export", "none"}});
    return session.summary().rows.size() + session.summary().steps.rows.size();
}
"""


class SessionHeader(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compiled(self, compiler, text, *arguments, include=INCLUDE):
        source = self.folder / "a.cpp"
        source.write_text(text)
        return subprocess.run([compiler, "-Wall", "-Wextra", "-Wpedantic", f"-I{include}", "-isystem", NVTX, source,
                               *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def test_every_way_to_write_options_means_the_same(self):
        for compiler in COMPILERS:
            accepted = 0
            for braces in BRACES:
                program = self.folder / "a"
                built = self.compiled(compiler, PROGRAM.replace("OPTIONS", braces), "-std=c++20", "-o", program,
                                      "-Werror")
                if built.returncode:
                    continue
                accepted += 1
                output = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
                self.assertEqual(output, "output_dir=a\nexport=none\n", (compiler, braces))
            self.assertGreaterEqual(accepted, 3)

    def test_a_session_that_ends_at_once_is_a_warning(self):
        for compiler in COMPILERS:
            built = self.compiled(compiler, "#include <prof/session.hpp>\nvoid f() { prof::session{}; }", "-std=c++17",
                                  "-fsyntax-only")
            self.assertEqual(built.returncode, 0, built.stdout)
            self.assertRegex(built.stdout, "warning: .*nodiscard")

    def test_says_that_it_needs_exceptions(self):
        for compiler in COMPILERS:
            built = self.compiled(compiler, "#include <prof/session.hpp>", "-std=c++17", "-fno-exceptions",
                                  "-fsyntax-only")
            self.assertNotEqual(built.returncode, 0)
            self.assertIn("use prof/prof.h where they are disabled", built.stdout)

    # Objects of two versions of the headers in one process: the linker must not take one's functions for the other's.
    def test_versions_share_no_symbol(self):
        later = self.folder / "later"
        (later / "prof").mkdir(parents=True)
        for header in (INCLUDE / "prof").iterdir():
            text = header.read_text()
            text = re.sub(r"(#define PROF_INLINE_NAMESPACE) \w+", r"\1 v9_9", text)
            (later / "prof" / header.name).write_text(text)
        for compiler in COMPILERS:
            symbols = {}
            for include in (INCLUDE, later):
                library = self.folder / f"{include.name}.so"
                built = self.compiled(compiler, READER.replace("NAME", include.name), "-std=c++17", "-O0", "-shared",
                                      "-fPIC", "-o", library, LIBRARY, include=include)
                self.assertEqual(built.returncode, 0, built.stdout)
                names = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE,
                                       text=True).stdout
                symbols[include] = {line.split()[-1] for line in names.splitlines() if "4prof" in line}
                self.assertTrue(any("summary" in name for name in symbols[include]))
            self.assertEqual(symbols[INCLUDE] & symbols[later], set())


if __name__ == "__main__":
    LIBRARY = os.path.abspath(sys.argv.pop(1))
    NVTX = sys.argv.pop(1)
    COMPILERS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
