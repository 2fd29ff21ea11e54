#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compile record_offsets.cpp against CUPTI headers: does libprof's record layout agree with theirs?

With --headers, against the headers of that folder. Without, against those of NVIDIA's wheels on PyPI, from CUDA 12.0
to the newest 13.x, kept in --cache. Exit status 77, said in one line, where PyPI cannot be reached.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
RELEASES = ["12.0", "12.1", "12.2", "12.3", "12.4", "12.6", "12.8", "12.9", "13.0", "13.1", "13.2", "13"]
# Macro of record_offsets.cpp: the structs' common name in the headers.
RECORDS = {"KERNEL": "Kernel", "MEMCPY": "Memcpy", "MEMCPY_PEER": "MemcpyPtoP", "MEMSET": "Memset", "DEVICE": "Device",
           "GRAPH_TRACE": "GraphTrace"}
SKIPPED = 77


def newest_structs(headers):
    """Macro → name of the struct with the highest number, and its number."""
    text = (headers / "cupti_activity.h").read_text(errors="replace")
    newest = {}
    for macro, name in RECORDS.items():
        numbers = [int(n or 1) for n in re.findall(rf"^}} CUpti_Activity{name}(\d*);", text, re.MULTILINE)]
        newest[macro] = f"CUpti_Activity{name}{max(numbers) if max(numbers) > 1 else ''}"
    return newest


def compile_against(headers, others, compiler):
    """Compile; return (error text or '', one line about what was compared)."""
    structs = newest_structs(headers)
    version = re.search(r"#define CUPTI_API_VERSION (\d+)", (headers / "cupti_version.h").read_text())
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'src'}", "-isystem", str(headers)]
    for folder in others:
        command += ["-isystem", folder]
    command += [f"-D{macro}={struct}" for macro, struct in structs.items()]
    result = subprocess.run(command + [str(HERE / "record_offsets.cpp")], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    names = ", ".join(struct.removeprefix("CUpti_Activity") for struct in structs.values())
    return (result.stdout if result.returncode != 0 else ""), f"API {version[1]}: {names}"


def fetch(release, cache):
    """The folder of the release's CUPTI headers, or None."""
    folder = cache / release
    command = [sys.executable, str(ROOT / "cmake/fetch_cuda_headers.py"), "--version", release, "--only", "cupti",
               "--to", str(folder)]
    return folder if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--headers", type=pathlib.Path, help="compare with this folder's headers only")
    parser.add_argument("--cache", type=pathlib.Path, help="folder for the wheels' headers")
    parser.add_argument("--include", action="append", default=[], help="folder with cuda.h; may be repeated")
    options = parser.parse_args()

    if options.headers:
        folders = {str(options.headers): options.headers}
    else:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            folders = dict(zip(RELEASES, pool.map(lambda release: fetch(release, options.cache), RELEASES)))
        if not any(folders.values()):
            print("SKIPPED: none of the CUPTI wheels could be fetched; is PyPI reachable, and pip installed?")
            return SKIPPED

    failed = False
    for release, folder in folders.items():
        error, compared = ("not fetched", "") if folder is None else compile_against(folder, options.include,
                                                                                     options.compiler)
        failed |= bool(error)
        print(f"{'DIFFERS' if error else 'agrees '} {release:>5}  {compared}")
        if error:
            print(error)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
