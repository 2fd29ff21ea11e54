#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of others, such as NVIDIA's CUDA samples, run bare and under `prof run`, and what they do is compared.

    programs.py PROF [--jobs N] [--limit SECONDS] [--recorded N] FOLDER...

Each executable file below a FOLDER runs in its own folder without arguments: three times bare, then N times (2) under
`prof run -q --export none`. Compared are how it ends and each line that it prints. A line that is not the same in the
bare runs is compared without its numbers; one that differs even so, or comes in another order, is unsteady and not
compared. A program that ends in two ways bare, or is not at its end after SECONDS (60), is named and not compared.

Prints a line for each program that differs, and the sums. Exits with 1 if one differs, with 77 if none was found.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

NUMBER = re.compile(r"0x[0-9a-fA-F]+|[-+]?\d+(\.\d+)?([eE][-+]?\d+)?|\b(nan|inf)\b")


@dataclasses.dataclass
class Run:
    end: str
    lines: list
    wall_s: float
    captures: int = 0


@dataclasses.dataclass
class Verdict:
    program: pathlib.Path
    kind: str  # "same", "differs" or "not compared"
    why: str = ""
    end: str = ""
    lines: int = 0
    bare_s: float = 0.0
    recorded_s: float = 0.0
    captured: bool = False


def masked(line):
    return " ".join(NUMBER.sub("#", line).split())


def run(command, folder, limit_s):
    with tempfile.TemporaryDirectory(prefix="programs-") as place:
        environment = {**os.environ, "PROF_OUTPUT_DIR": place}
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Run("endless", [], limit_s)
        status = process.returncode
        # Of prof run the status is what a shell has.
        number = -status if status < 0 else status - 128 if status > 128 else 0
        # What prof itself says is not the program's.
        lines = [line for line in output.decode(errors="backslashreplace").splitlines()
                 if not line.startswith(("prof: ", "libprof: "))]
        return Run(f"signal {number}" if number else f"status {status}", lines, time.monotonic() - begin,
                   len(list(pathlib.Path(place).glob("*.prof"))))


def steady_lines(bare):
    """What is the same in all bare runs: whole lines, and lines without their numbers, each with how often it comes."""
    whole = [collections.Counter(one.lines) for one in bare]
    plain = [collections.Counter(map(masked, one.lines)) for one in bare]
    return ({line: count for line, count in whole[0].items() if all(other[line] == count for other in whole)},
            {line: count for line, count in plain[0].items() if all(other[line] == count for other in plain)})


def difference(bare, recorded):
    """What a recorded run does that no bare run does, or does not do what all of them do; empty if nothing."""
    if recorded.end != bare[0].end:
        last = recorded.lines[-1] if recorded.lines else ""
        return f"ends with {recorded.end} instead of {bare[0].end}; its last line is: {last}"
    for steady, lines in zip(steady_lines(bare), (recorded.lines, list(map(masked, recorded.lines)))):
        found = collections.Counter(lines)
        for line, count in steady.items():
            if found[line] != count:
                return f"prints {found[line]} times instead of {count}: {line}"
    steady_output = all(one.lines == bare[0].lines for one in bare)
    if steady_output and recorded.lines != bare[0].lines:
        return "prints its lines in another order, or others"
    known = {masked(line) for one in bare for line in one.lines}
    counts = {len(one.lines) for one in bare}
    if len(counts) == 1 and len(recorded.lines) not in counts:
        more = [line for line in recorded.lines if masked(line) not in known]
        return f"prints {len(recorded.lines)} lines instead of {len(bare[0].lines)}: {(more or [''])[0]}"
    return ""


def compare(prof, program, arguments):
    command = [str(program)]
    folder = program.parent
    bare = [run(command, folder, arguments.limit) for _ in range(3)]
    if any(one.end == "endless" for one in bare):
        return Verdict(program, "not compared", f"is not at its end after {arguments.limit} s")
    if len({one.end for one in bare}) > 1:
        return Verdict(program, "not compared", "ends in several ways bare: " + ", ".join(one.end for one in bare))
    recorded = [run([prof, "run", "-q", "--export", "none", "--", *command], folder, 2 * arguments.limit)
                for _ in range(arguments.recorded)]
    found = [difference(bare, one) for one in recorded]
    whole, plain = steady_lines(bare)
    verdict = Verdict(program, "differs" if any(found) else "same", next(filter(None, found), ""), bare[0].end,
                      sum(plain.values()), min(one.wall_s for one in bare), min(one.wall_s for one in recorded),
                      all(one.captures for one in recorded))
    if verdict.kind == "differs" and not all(found):
        verdict.why += f" (in {sum(map(bool, found))} of {len(found)} recorded runs)"
    return verdict


def programs_below(folders):
    for folder in folders:
        for path in sorted(folder.resolve().rglob("*")):
            if path.is_file() and os.access(path, os.X_OK) and "CMakeFiles" not in path.parts:
                with open(path, "rb") as file:
                    # A program, not a library: 2 is executable, 3 is either.
                    head = file.read(18)
                if head[:4] == b"\x7fELF" and head[16] in (2, 3) and ".so" not in path.name:
                    yield path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--recorded", type=int, default=2)
    parser.add_argument("prof", type=pathlib.Path)
    parser.add_argument("folders", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    programs = list(programs_below(arguments.folders))
    if not programs:
        print("programs.py: no executable file in", *arguments.folders)
        return 77
    prof = str(arguments.prof.resolve())
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        verdicts = list(pool.map(lambda program: compare(prof, program, arguments), programs))
    for verdict in verdicts:
        if verdict.kind != "same":
            print(f"{verdict.kind}: {verdict.program.name}: {verdict.why}")
    same = [verdict for verdict in verdicts if verdict.kind != "not compared"]
    print(f"{len(verdicts)} programs: {sum(v.kind == 'same' for v in verdicts)} the same, "
          f"{sum(v.kind == 'differs' for v in verdicts)} differ, {len(verdicts) - len(same)} not compared; "
          f"{sum(v.end == 'status 0' for v in same)} end with status 0, {sum(v.captured for v in same)} have a capture, "
          f"{sum(v.lines for v in same)} lines compared; "
          f"{sum(v.bare_s for v in same):.0f} s bare, {sum(v.recorded_s for v in same):.0f} s recorded")
    return int(any(verdict.kind == "differs" for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
