# SPDX-License-Identifier: Apache-2.0
"""libprof.so as the dynamic linker sees it: what it needs, what it shows, how it is loaded.

Usage: shared_library_test.py <libprof.so> <folder with the rooms' archives>
(with readelf and objdump on the path)
"""

import pathlib
import re
import subprocess
import sys
import unittest
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include/prof").glob("*.h"))
VERSION_SCRIPT = ROOT / "cmake/libprof.map"
LIBRARY = ""
ARCHIVES = pathlib.Path()

NEWEST_GLIBC = (2, 35)
GLIBC_LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-[a-z0-9-]+)\.so\.\d+")
# The names by which the CUDA driver and NVTX look up a tool.
INJECTION_POINTS = {"InitializeInjection", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension"}
# The tables by which NCCL finds a profiler plugin.
NCCL_TABLES = {"ncclProfiler_v4", "ncclProfiler_v5", "ncclProfiler_v6"}


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def without_comments(text):
    return re.sub(r"^#[^\n]*|//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL | re.MULTILINE)


def documented_symbols():
    text = "".join(without_comments(header.read_text()) for header in HEADERS)
    return set(re.findall(r"\b(prof_\w+)\s*\(", text)) | INJECTION_POINTS | NCCL_TABLES


class Symbol(NamedTuple):
    name: str
    version: str
    is_defined: bool
    is_weak: bool


def dynamic_symbols():
    symbols = []
    for line in output_of("objdump", "-T", LIBRARY).splitlines():
        match = re.match(r"[0-9a-f]{8,16} (.{7}) (\S+)\s+[0-9a-f]{8,16}\s+(.*)$", line)
        if match:
            *version, name = match[3].replace(".hidden ", "").split()
            symbols.append(Symbol(name, "".join(version).strip("()"), match[2] != "*UND*", "w" in match[1]))
    return symbols


class SharedLibrary(unittest.TestCase):
    def test_needs_only_glibc(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", LIBRARY))
        self.assertTrue(needed)
        self.assertEqual([name for name in needed if not GLIBC_LIBRARIES.fullmatch(name)], [])

    def test_needs_no_newer_glibc_than_promised(self):
        versions = {symbol.name: tuple(map(int, symbol.version[len("GLIBC_"):].split(".")))
                    for symbol in dynamic_symbols()
                    if not symbol.is_defined and symbol.version.startswith("GLIBC_2")}
        self.assertTrue(versions)
        self.assertEqual({name: v for name, v in versions.items() if v > NEWEST_GLIBC}, {})

    def test_imports_symbols_only_from_glibc(self):
        # A weak one may stay unresolved; the compiler and libstdc++ have such for tools that are rarely there.
        self.assertEqual([symbol for symbol in dynamic_symbols()
                          if not symbol.is_defined and not symbol.version.startswith("GLIBC_")
                          and not (symbol.is_weak and re.match("_ITM_|_ZGTt|__gmon_start__", symbol.name))], [])

    def test_exports_exactly_the_documented_symbols(self):
        # A version is a symbol, too.
        self.assertEqual({symbol.name for symbol in dynamic_symbols()
                          if symbol.is_defined and not symbol.name.startswith("PROF_")}, documented_symbols())

    def test_version_script_lists_the_documented_symbols(self):
        text = without_comments(VERSION_SCRIPT.read_text())
        nodes = re.findall(r"(PROF_\d+\.\d+) \{\s*global:(.*?)(?:local:\s*\*;)?\s*\}", text, re.DOTALL)
        versions = {name: node for node, names in nodes for name in names.replace(";", " ").split()}
        self.assertEqual(set(versions), documented_symbols())
        self.assertEqual(versions, {symbol.name: symbol.version for symbol in dynamic_symbols()
                                    if symbol.is_defined and not symbol.name.startswith("PROF_")})

    def test_is_never_unloaded_and_bound_at_load(self):
        flags = output_of("readelf", "-dW", LIBRARY)
        self.assertRegex(flags, r"FLAGS_1\).*\bNOW\b.*\bNODELETE\b")
        self.assertNotIn("TEXTREL", flags)
        self.assertIn("GNU_RELRO", output_of("readelf", "-lW", LIBRARY))

    def test_uses_initial_exec_thread_storage(self):
        # libstdc++'s own thread state is reached the slow way, so it is our objects that are asked.
        archives = [str(archive) for archive in ARCHIVES.rglob("libprof_*.a")]
        self.assertTrue(archives)
        slow = re.findall(r"^.*(?:TLSGD|TLSLD|TLSDESC).*$", output_of("readelf", "-rW", *archives),
                          re.MULTILINE)
        self.assertEqual(slow, [])

    def test_takes_a_small_part_of_the_static_thread_storage(self):
        # A program may load two copies late, beside other libraries that take from the same 1,664 bytes.
        sizes = re.findall(r"^\s+TLS(?:\s+0x[0-9a-f]+){4}\s+0x([0-9a-f]+)", output_of("readelf", "-lW", LIBRARY),
                           re.MULTILINE)
        self.assertEqual(len(sizes), 1)
        self.assertLess(int(sizes[0], 16), 400)


if __name__ == "__main__":
    LIBRARY = sys.argv.pop(1)
    ARCHIVES = pathlib.Path(sys.argv.pop(1))
    unittest.main()
