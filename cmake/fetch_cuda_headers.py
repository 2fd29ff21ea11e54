#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetch the CUDA, CUPTI and NVTX headers from NVIDIA's wheels on PyPI.

For machines without a CUDA toolkit: libprof needs the headers to build and nothing else of CUDA.
The wheels are downloaded by pip, only their include folders are unpacked, and nothing is installed.

  cmake/fetch_cuda_headers.py                         what a build without a toolkit looks for
  cmake/fetch_cuda_headers.py --version 12.4 --to DIR    the headers of another release, in DIR

A folder that already holds the release asked for is left as it is.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

DEFAULT_VERSION = "13.0"
DEFAULT_FOLDER = pathlib.Path(__file__).resolve().parent.parent / "build/third_party/cuda/include"

# The wheels that between them hold cupti.h, cuda.h, what these two include, and NVTX. Before CUDA 13
# the compiler's wheel held the crt/ headers.
WHEELS = ["nvidia-cuda-cupti", "nvidia-cuda-runtime", "nvidia-nvtx", "nvidia-cuda-crt"]
WHEELS_CUDA_12 = [
    "nvidia-cuda-cupti-cu12",
    "nvidia-cuda-runtime-cu12",
    "nvidia-nvtx-cu12",
    "nvidia-cuda-nvcc-cu12",
]

STAMP = ".cuda-headers-version"


def requirements(version, only):
    wheels = WHEELS_CUDA_12 if version.split(".")[0] == "12" else WHEELS
    return [f"{wheel}=={version}.*" for wheel in wheels if only in wheel]


def download(version, only, folder):
    # Headers are the same for every platform; naming one lets any machine fetch them.
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download",
               "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    for glibc in ("manylinux1", "manylinux2014", "manylinux_2_17", "manylinux_2_25",
                  "manylinux_2_27", "manylinux_2_28"):
        command += ["--platform", f"{glibc}_x86_64"]
    result = subprocess.run(command + requirements(version, only), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        reason = result.stdout.strip().splitlines()[-1:] or ["no output"]
        raise SystemExit(f"fetch_cuda_headers: pip could not download CUDA {version}'s wheels: "
                         f"{reason[0]} (is PyPI reachable, and python3-pip installed?)")
    return sorted(folder.glob("*.whl"))


def unpack_headers(wheel, folder):
    """Copy each .../include/<path> of the wheel to folder/<path>."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            _, found, path = name.partition("/include/")
            if not found or name.endswith("/"):
                continue
            target = (folder / path).resolve()
            if folder.resolve() not in target.parents:
                raise SystemExit(f"fetch_cuda_headers: {wheel.name} holds the path {name}: refused")
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default=DEFAULT_VERSION,
                        help="CUDA release, as 12.4 or 13.0 (default: %(default)s)")
    parser.add_argument("--to", type=pathlib.Path, default=DEFAULT_FOLDER, metavar="DIR",
                        help="folder for the headers (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="NAME",
                        help="only the wheels with NAME in their names, as cupti (default: all)")
    options = parser.parse_args()

    stamp = options.to / STAMP
    if stamp.is_file() and stamp.read_text().strip() == options.version:
        return
    with tempfile.TemporaryDirectory(prefix="cuda-headers-") as scratch:
        scratch = pathlib.Path(scratch)
        headers = scratch / "include"
        headers.mkdir()
        for wheel in download(options.version, options.only, scratch):
            unpack_headers(wheel, headers)
        (headers / STAMP).write_text(options.version + "\n")
        # Put in place whole, or not at all: an interrupted fetch must not look like a finished one.
        options.to.parent.mkdir(parents=True, exist_ok=True)
        staged = options.to.with_name(options.to.name + ".new")
        shutil.rmtree(staged, ignore_errors=True)
        shutil.rmtree(options.to, ignore_errors=True)
        shutil.move(headers, staged)
        staged.rename(options.to)
    print(f"CUDA {options.version} headers in {options.to}")


if __name__ == "__main__":
    main()
