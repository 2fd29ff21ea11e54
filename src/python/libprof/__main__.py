# SPDX-License-Identifier: Apache-2.0
"""The prof command, as `prof` and as `python -m libprof`: replaces this process by the program of the package."""
import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "prof")
    try:
        os.execv(program, ["prof", *sys.argv[1:]])
    except OSError as failure:
        sys.exit(f"prof: cannot run {program}: {failure.strerror}; install the package again: pip install --force-reinstall libprof")


if __name__ == "__main__":
    main()
