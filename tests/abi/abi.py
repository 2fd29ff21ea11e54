# SPDX-License-Identifier: Apache-2.0
"""libprof's binary interface as abigail sees it: a library of the functions that the C headers declare, with the
version script. Their bodies are empty. A function that is defined otherwise than declared does not compile in libprof.

    abi.py --record FILE       writes the interface of this checkout: once a release, as tests/abi/libprof-<version>.abi
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION_SCRIPT = ROOT / "cmake/libprof.map"
INCOMPATIBLE, CHANGED = 8, 4  # bits of abidiff's exit status


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def prototypes(include, folder):
    """The functions that the C headers of `include` declare, by name, as gcc prints them: one a line, no names of
    parameters."""
    headers = sorted(path.name for path in (include / "prof").glob("*.h"))
    source, printed = folder / "headers.c", folder / "headers.txt"
    source.write_text("".join(f"#include <prof/{header}>\n" for header in headers))
    run("gcc", "-fsyntax-only", "-I", include, "-aux-info", printed, source)
    found = re.findall(r"^/\* .* \*/ extern (.*?\b(prof_\w+) \(.*\));", printed.read_text(), re.MULTILINE)
    return source, {name: prototype for prototype, name in found}


def build(include, version_script, folder):
    """A shared library that shows the functions declared in `include` that the version script names."""
    source, declared = prototypes(include, folder)
    listed = set(re.findall(r"\bprof_\w+(?=;)", version_script.read_text()))
    with open(source, "a", encoding="utf-8") as file:
        for name in sorted(listed & declared.keys()):
            file.write(f"{declared[name]} {{ __builtin_trap(); }}\n")
    library = folder / "libprof.so.0"
    run("gcc", "-std=gnu2x", "-w", "-g", "-O0", "-shared", "-fPIC", "-nostdlib", "-I", include, source, "-o", library,
        f"-fdebug-prefix-map={folder}=.", "-Wl,-soname,libprof.so.0", f"-Wl,--version-script={version_script}")
    return library, listed & declared.keys()


def members(file):
    """The structs of a recorded interface: name → (name, offset in bits) of each member."""
    return {struct.get("name"): [(member.find("var-decl").get("name"), int(member.get("layout-offset-in-bits")))
                                 for member in struct.findall("data-member")]
            for struct in xml.etree.ElementTree.parse(file).iter("class-decl")}


def differences(recorded, library):
    """abidiff's exit status and report. Additions count for nothing. A row that grows may hide another change of it from
    abidiff, so its members are also compared by name and place."""
    done = subprocess.run(["abidiff", "--no-added-syms", "--suppressions", ROOT / "tests/abi/rows_grow.abignore",
                           recorded, library], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    status, report = done.returncode, done.stdout
    with tempfile.TemporaryDirectory() as folder:
        now = pathlib.Path(folder, "now.abi")
        run("abidw", "--out-file", now, library)
        structs = members(now)
    for name, before in members(recorded).items():
        if structs.get(name, [])[:len(before)] != before:
            status |= CHANGED
            report += f"{name}: not the same members at the same places\n"
    return status, report


def record(file, include=ROOT / "include", version_script=VERSION_SCRIPT):
    with tempfile.TemporaryDirectory() as folder:
        library, _ = build(include, version_script, pathlib.Path(folder))
        run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", file, library)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "--record":
        sys.exit(__doc__)
    record(sys.argv[2])
