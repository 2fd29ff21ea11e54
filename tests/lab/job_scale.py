#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of `prof report DIRECTORY` and other commands on the captures of a job.

    job_scale.py --prof PROF --writer SCALE_BENCH [--job 8:1e6] [--job 1024:5e3] [--cores 0,1]

A job is RANKS:RECORDS of each rank, which scale_bench writes first; they are removed at the end. Of each command the
fastest of --runs counts: its time, the processor's time, and the peak of its memory (ru_maxrss).
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from report_scale import measured


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prof", metavar="FILE", required=True, help="the prof command")
    parser.add_argument("--writer", metavar="FILE", required=True, help="scale_bench")
    parser.add_argument("--job", action="append", metavar="RANKS:RECORDS", help="(8:1e6, 64:5e3, 512:5e3, 1024:5e3)")
    parser.add_argument("--command", action="append", metavar="ARGUMENTS", help="of prof, DIR for the job (report DIR)")
    parser.add_argument("--cores", metavar="LIST", help="run on these processors alone")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", type=float, default=16, metavar="GB", help="(%(default)g)")
    parser.add_argument("--directory", help="where the captures go (the temporary directory)")
    options = parser.parse_args()
    if options.cores:
        os.sched_setaffinity(0, {int(core) for core in options.cores.split(",")})
    print("| ranks | records each | command | time | a rank | processor | peak |")
    print("| ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for job in options.job or ["8:1e6", "64:5e3", "512:5e3", "1024:5e3"]:
        ranks, wanted = (int(float(number)) for number in job.split(":"))
        with tempfile.TemporaryDirectory(dir=options.directory) as folder:
            for rank in range(ranks):
                capture = pathlib.Path(folder, f"job.{rank}.host{rank // 8}-{4242 + rank}.prof")
                place = ["--rank", str(rank), "--ranks", str(ranks)]
                write = [options.writer, "--records", str(wanted), "--write", capture, *place]
                records = int(subprocess.run(write, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[0])
            for text in options.command or ["report DIR"]:
                command = [options.prof, *(folder if word == "DIR" else word for word in text.split())]
                runs = [measured(command, options.memory) for _ in range(options.runs)]
                seconds, processor, _ = min(runs)
                peak = max(run[2] for run in runs)
                print(
                    f"| {ranks:,} | {records:,} | `prof {text}` | {seconds:.2f} s | {1e3 * seconds / ranks:.2f} ms "
                    f"| {processor:.2f} s | {peak / 1e6:.0f} MB |"
                )
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
