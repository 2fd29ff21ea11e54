# SPDX-License-Identifier: Apache-2.0
"""The steps that libprof counts in loops of many shapes, against hand counts (loop_shapes.py).

Usage: loops_test.py <folder with the package> <version of Python>
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from clean_environment import TOOLKIT, clean_environment

HERE = pathlib.Path(__file__).resolve().parent


def steps_of(rows):
    return sum(count for path, count in rows.items() if path.split("/")[-1] == "step")


def main(package, version, *shapes):
    made = subprocess.run([str(HERE / "torch_environment.sh"), version], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(made.returncode)
    environment = clean_environment(PYTHONPATH=package, LD_LIBRARY_PATH=TOOLKIT, PYTHONDONTWRITEBYTECODE="1")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([made.stdout.strip(), str(HERE / "loop_shapes.py"), folder, *shapes], env=environment,
                              capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    wrong = [(name, iterations, found, steps_of(rows), rows) for name, iterations, found, rows in lines
             if steps_of(rows) != found]
    for name, iterations, found, steps, rows in wrong:
        print(f"{name}: {steps} steps for {iterations} iterations, expected {found}: {rows}")
    exact = sum(iterations == steps_of(rows) for _, iterations, _, rows in lines)
    print(f"{len(lines)} shapes, {exact} as counted by hand, {len(wrong)} not as expected")
    if done.stderr.strip():
        print(done.stderr[-4000:])
    sys.exit(bool(wrong) or done.returncode or len(lines) < (len(shapes) or 140))


if __name__ == "__main__":
    main(*sys.argv[1:])
