# SPDX-License-Identifier: Apache-2.0
"""The macros of <prof/range.hpp> as compilers see them: with and without ranges, right and wrong uses.

Usage: range_macros_test.py <include folder of NVTX> <compiler>...
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
EVERY_MACRO = HERE / "range_macros.cpp"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wold-style-cast", "-Werror"]
NVTX = ""
COMPILERS = []

# Does not compile, with ranges as without.
WRONG = {
    "a name made at run time": "void f(const char* name) { PROF_RANGE(name); }",
    "a phase's name made at run time": "void f(const char* name) { PROF_PHASE(name); }",
    "a mark's name made at run time": "void f(const char* name) { PROF_MARK(name); }",
    "a counter's name made at run time": "void f(const char* name) { PROF_COUNTER(name, 1); }",
    "a name made at run time, started": "void f(const char* name) { auto r = PROF_RANGE_START(name); }",
    "a range alone after an if": "void f(bool b) { if (b) PROF_RANGE(\"x\"); }",
    "a range in a constexpr function": "constexpr int f(int x) { PROF_RANGE(\"x\"); return x; }",
    "a payload that is no number": "void f() { PROF_RANGE(\"x\", prof::payload(\"seven\")); }",
    "a site that is gone at once": "void f() { prof::scoped_range r(prof::range_site(\"x\")); }",
}
# A warning with ranges as without: the range would end at once.
TEMPORARY = {
    "scoped_range": "void f() { prof::scoped_range(\"x\"); }",
    "process_range": "void f() { prof::process_range(\"x\"); }",
    "PROF_RANGE_START": "void f() { PROF_RANGE_START(\"x\"); }",
}


def compiled(compiler, *arguments):
    return subprocess.run([compiler, *arguments, f"-I{INCLUDE}", "-isystem", NVTX], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


class RangeMacros(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def each(self):
        for compiler in COMPILERS:
            for disabled in ([], ["-DPROF_DISABLE"]):
                yield compiler, disabled

    def source(self, text):
        path = self.folder / "a.cpp"
        path.write_text(f"#include <prof/range.hpp>\n{text}\n")
        return path

    def test_compile_without_a_warning(self):
        for compiler, disabled in self.each():
            for standard in ("c++17", "c++20"):
                for extra in (["-O0"], ["-O2", "-fno-exceptions", "-fno-rtti"]):
                    result = compiled(compiler, f"-std={standard}", *WARNINGS, *extra, *disabled, "-c", "-o",
                                      self.folder / "a.o", EVERY_MACRO)
                    self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_refuse_wrong_uses(self):
        for compiler, disabled in self.each():
            for what, text in WRONG.items():
                result = compiled(compiler, "-std=c++17", *disabled, "-fsyntax-only", self.source(text))
                self.assertNotEqual(result.returncode, 0, what)
                self.assertIn("error", result.stdout, what)

    def test_warn_of_ranges_that_end_at_once(self):
        for compiler, disabled in self.each():
            for what, text in TEMPORARY.items():
                result = compiled(compiler, "-std=c++17", *disabled, "-fsyntax-only", self.source(text))
                self.assertEqual(result.returncode, 0, result.stdout)
                self.assertRegex(result.stdout, r"warning: .*nodiscard", (compiler, what))

    # Two uses of each counted() are ranges and a mark's, one is a counter's; without ranges nothing is evaluated.
    def test_evaluate_arguments_at_each_entry_or_never(self):
        for compiler, disabled in self.each():
            program = self.folder / "a"
            result = compiled(compiler, "-std=c++17", *disabled, "-o", program, EVERY_MACRO, "-ldl")
            self.assertEqual(result.returncode, 0, result.stdout)
            output = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
            self.assertEqual(output.split(), ["0" if disabled else str(3 * 5)])

    # GNU's unique symbols would keep a shared object with ranges from being unloaded.
    def test_make_no_unique_symbol(self):
        for compiler, disabled in self.each():
            for optimised in ("-O0", "-O2"):
                library = self.folder / "a.so"
                result = compiled(compiler, "-std=c++17", optimised, *disabled, "-DAS_LIBRARY", "-shared", "-fPIC",
                                  "-o", library, EVERY_MACRO)
                self.assertEqual(result.returncode, 0, result.stdout)
                symbols = subprocess.run(["nm", "-C", library], check=True, stdout=subprocess.PIPE, text=True).stdout
                self.assertEqual([line for line in symbols.splitlines() if " u " in line], [])
                if disabled:
                    self.assertNotIn("nvtx", symbols)


if __name__ == "__main__":
    NVTX = sys.argv.pop(1)
    COMPILERS = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
