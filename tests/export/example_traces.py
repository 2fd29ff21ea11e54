# SPDX-License-Identifier: Apache-2.0
"""The example traces for the checks in this folder: written by the program named on the command line."""
import subprocess
import sys
import tempfile


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def write_traces():
    """The directory with the traces (see write_example_traces.cpp), gone when the program ends."""
    directory = tempfile.TemporaryDirectory(prefix="prof_traces_")
    subprocess.run([sys.argv[1], directory.name], check=True)
    return directory
