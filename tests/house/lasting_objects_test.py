# SPDX-License-Identifier: Apache-2.0
"""libprof.so has no object whose destructor runs at the end of a thread or of the process.

Hooks, helper threads, exit handlers and destructors of the program's may use libprof until the last instruction, so
nothing that they need may be destroyed before. The compiler registers such destructors by __cxa_atexit and
__cxa_thread_atexit; this finds the functions that call them in the rooms' archives.

Usage: lasting_objects_test.py <folder with the rooms' archives>
"""

import pathlib
import re
import subprocess
import sys
import unittest

ARCHIVES = pathlib.Path()
REGISTERS = {"__cxa_atexit", "__cxa_thread_atexit", "__cxa_thread_atexit_impl"}
# The part of a function's name, and why the function may register a destructor.
ALLOWED = {}
# Rooms that only the command has: one thread is left when it ends.
OF_THE_COMMAND = {"libprof_cli.a"}


def registering_functions(disassembly):
    """The functions with a call of one of REGISTERS, from objdump -dr."""
    found = set()
    function = ""
    for line in disassembly.splitlines():
        begin = re.fullmatch(r"[0-9a-f]+ <(.*)>:", line)
        if begin:
            function = begin[1]
        relocation = re.search(r"R_\w+\s+(\w+)", line)
        if relocation and relocation[1] in REGISTERS:
            found.add(function)
    return found


class LastingObjects(unittest.TestCase):
    maxDiff = None

    def test_nothing_is_destroyed_at_the_end(self):
        archives = [path for path in ARCHIVES.rglob("libprof_*.a") if path.name not in OF_THE_COMMAND]
        self.assertGreater(len(archives), 10)
        found = {}
        for archive in archives:
            symbols = subprocess.run(["nm", "-u", archive], check=True, stdout=subprocess.PIPE, text=True).stdout
            if REGISTERS.isdisjoint(symbols.split()):
                continue
            code = subprocess.run(["objdump", "-drC", "--no-show-raw-insn", archive], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
            functions = {name for name in registering_functions(code) if not any(part in name for part in ALLOWED)}
            if functions:
                found[archive.name] = functions
        self.assertEqual(found, {}, "keep the object by a pointer that is never deleted: static auto& x = *new T")

    def test_check_detects_a_destructor(self):
        code = ("0000000000001bb0 <prof::f()>:\n    1c04:\tcall   1c09 <prof::f()+0x59>\n"
                "\t\t\t1c05: R_X86_64_PLT32\t__cxa_thread_atexit-0x4\n0000000000001ca0 <prof::g()>:\n")
        self.assertEqual(registering_functions(code), {"prof::f()"})


if __name__ == "__main__":
    ARCHIVES = pathlib.Path(sys.argv.pop(1))
    unittest.main()
