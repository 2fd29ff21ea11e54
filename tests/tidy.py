#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the files of a build, and not again over those that were found clean.

    tidy.py BUILD_FOLDER JOBS [CLANG_TIDY_OPTION...]

What a file was found clean as, its preprocessed text with all that it includes, is kept by its checksum in
~/.cache/libprof-tidy, beside the version of clang-tidy, its options and .clang-tidy. Prints the findings; exits with 1
if there are any.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLANG_TIDY = "clang-tidy-16"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "libprof-tidy"


def preprocessed(entry):
    """With its comments, since these may ask for exceptions; None if it does not compile."""
    command = entry.get("arguments") or shlex.split(entry["command"])
    if pathlib.Path(command[0]).name == "ccache":
        command = command[1:]
    if "-o" in command:
        at = command.index("-o")
        command = command[:at] + command[at + 2:]
    done = subprocess.run([*command, "-E", "-C", "-o", "-"], cwd=entry["directory"], capture_output=True, check=False)
    return done.stdout.replace(os.fsencode(ROOT), b"") if done.returncode == 0 else None


def check(entry, build, options, common):
    text = preprocessed(entry)
    stamp = CACHE / hashlib.sha256(common + text).hexdigest() if text is not None else None
    if stamp and stamp.exists():
        stamp.touch()  # the oldest may be thrown away
        return True, ""
    done = subprocess.run([CLANG_TIDY, "-quiet", "-p", build, *options, entry["file"]], capture_output=True, text=True,
                          check=False)
    is_clean = done.returncode == 0 and "warning:" not in done.stdout
    if is_clean and stamp:
        CACHE.mkdir(parents=True, exist_ok=True)
        stamp.touch()
    return is_clean, "" if is_clean else done.stdout + done.stderr


def main():
    build, jobs, options = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_bytes() + repr(options).encode()
    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if pathlib.Path(entry["file"]).is_relative_to(ROOT / "src")
               or pathlib.Path(entry["file"]).is_relative_to(build.resolve() / "src")]
    entries = [entry for entry in entries if pathlib.Path(entry["file"]).exists()]  # not what a build generates
    entries.sort(key=lambda entry: -pathlib.Path(entry["file"]).stat().st_size)  # those of most files first
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda entry: check(entry, build, options, common), entries))
    for _, findings in results:
        print(findings, end="")
    unclean = sum(not is_clean for is_clean, _ in results)
    print(f"{len(results)} files, {unclean} with findings")
    return 1 if unclean else 0


if __name__ == "__main__":
    sys.exit(main())
