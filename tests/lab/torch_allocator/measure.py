#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libprof records of PyTorch's own caching allocator, without a GPU: the libraries of a release are taken from its
wheel, and run on a CUDA runtime whose GPU is address space. Each step's peak and reserved memory must be those that the
allocator states, to the byte; and the program must print the same with and without libprof.

    tests/lab/torch_allocator/measure.py [VERSION...]     (2.11.0; each downloads some 500 MB into build/)

Needs a built tree (build/ci), CUDA's headers and g++. Prints pass or fail.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / "build/ci"
CUDA = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def taken_from_wheel(version, folder):
    if not list(folder.glob("*.whl")):
        run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, f"torch=={version}")
    (wheel,) = folder.glob("*.whl")
    wanted = re.compile(r"torch/lib/libc10(_cuda)?\.so|torch/include/(c10|torch/headeronly)/")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if wanted.match(name)])
    return folder / "torch"


def made(torch, folder):
    """The program, and the folder of its runtime."""
    libraries = torch / "lib"
    (soname,) = re.findall(r"\[(libcudart\.so\.\d+)\]", run("readelf", "-d", libraries / "libc10_cuda.so"))
    imported = set(re.findall(r" U (cuda\w+)@", run("nm", "-D", libraries / "libc10_cuda.so")))
    known = set(re.findall(r"(cuda\w+)\(", (HERE / "runtime.c").read_text()))
    (folder / "rest.c").write_text("".join(f"int {name}(void) {{ return 0; }}\n" for name in sorted(imported - known)))
    (folder / "versions").write_text(f"{soname} {{ global: *; }};\n")
    (folder / "runtime").mkdir(exist_ok=True)
    run("gcc", "-shared", "-fPIC", "-O1", f"-I{CUDA}/include", HERE / "runtime.c", folder / "rest.c",
        f"-Wl,--version-script={folder}/versions", f"-Wl,-soname,{soname}", "-o", folder / "runtime" / soname)  # fmt: skip
    run("g++", "-std=c++20", "-O1", "-w", f"-I{torch}/include", f"-I{CUDA}/include", HERE / "program.cpp", f"-L{libraries}",
        "-lc10_cuda", "-lc10", "-ldl", f"-Wl,-rpath,{libraries}", f"-Wl,-rpath-link,{folder}/runtime",
        "-o", folder / "program")  # fmt: skip
    return folder / "program", folder / "runtime"


def numbers(text):
    return [
        [int(number) for number in re.findall(r"\d+", line)] for line in text.splitlines() if line.startswith("step")
    ]


def rows_of(value):
    if isinstance(value, dict):
        return [value] if "peak_bytes" in value else [row for each in value.values() for row in rows_of(each)]
    return [row for each in value for row in rows_of(each)] if isinstance(value, list) else []


def check(version):
    folder = ROOT / "build" / f"torch-allocator-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    program, runtime = made(taken_from_wheel(version, folder), folder)
    captures = folder / "captures"
    subprocess.run(["rm", "-rf", captures], check=True)
    bare = {**os.environ, "LD_LIBRARY_PATH": str(runtime)}
    profiled = {**bare, "LD_PRELOAD": str(BUILD / "lib/libprof.so"), "PROF_OUTPUT_DIR": str(captures), "PROF_EXPORT": "none", "PROF_ALLOCATIONS": "on",
                "PROF_CUPTI_LIBRARY": str(BUILD / "tests/fakes/libcupti_fake.so")}  # fmt: skip
    alone, text = run(program, "steps", env=bare), run(program, "steps", env=profiled)
    faults = [] if alone == text else ["the program prints something else under libprof"]
    (capture,) = captures.glob("*.prof")
    report = json.loads(
        run(
            BUILD / "bin/prof",
            "report",
            capture,
            "--report",
            "memory_steps",
            "--step-range",
            "step",
            "--format",
            "json",
        )
    )
    rows = {row["step"]: row for row in rows_of(report)}
    compared = 0
    for step, _, peak, reserved in numbers(text):
        row = rows.get(step)
        if row is None:
            continue  # warm-up, and the last
        compared += 1
        if (row["peak_bytes"], row["reserved_bytes"]) != (peak, reserved):
            faults.append(
                f"step {step}: {row['peak_bytes']} and {row['reserved_bytes']}, and PyTorch says {peak} and {reserved}"
            )
    if compared < 15:
        faults.append(f"only {compared} steps were compared")
    for fault in faults:
        print(f"{version}: {fault}")
    print(f"{version}: {'fail' if faults else 'pass'}, {compared} steps, {text.count('out of memory')} errors; "
          f"{run(program, 'cost', env={**profiled, 'PROF_OUTPUT_DIR': str(folder / 'cost')}).strip()}")  # fmt: skip
    return not faults


if __name__ == "__main__":
    sys.exit(0 if all([check(version) for version in sys.argv[1:] or ["2.11.0"]]) else 1)
