#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of whole commands on captures of 1, 10 and 100 million records: `prof report` and `prof export`.

    report_scale.py --prof PROF --writer SCALE_BENCH [--records 1e6 --records 1e7] [--shape training]

A record is what a thread writes to its ring, or a GPU record. The captures are scale_bench's, written by it first and
removed at the end. Of each command the fastest of three runs counts: its time, the processor's time, and the peak of its
memory (ru_maxrss), a record. PROF is given twice to compare two builds on the same captures. No command may take more
address space than --memory gigabytes.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time


def measured(command, memory_gb):
    """(seconds, processor's seconds, peak bytes) of a command."""
    limit = int(memory_gb * 2**30)
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} exits with {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def row(title, runs, records):
    seconds, processor, _ = min(runs)
    peak = max(run[2] for run in runs)
    return (
        f"| {title} | {seconds:.2f} s | {1e6 * seconds / records:.3f} µs | {1e6 * processor / records:.3f} µs "
        f"| {peak / 2**30:.2f} GiB | {peak / records:.0f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prof", metavar="FILE", action="append", required=True, help="the prof command")
    parser.add_argument("--writer", metavar="FILE", required=True, help="scale_bench")
    parser.add_argument("--records", type=float, action="append", metavar="N", help="(1e6, 1e7 and 1e8)")
    parser.add_argument("--shape", default="training", help="scale_bench's (%(default)s)")
    parser.add_argument("--export-up-to", type=float, default=1e7, metavar="N", help="records (%(default)g)")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--memory", type=float, default=16, metavar="GB", help="(%(default)g)")
    parser.add_argument("--directory", help="where the captures go (the temporary directory)")
    options = parser.parse_args()
    print("| records | command | time | a record | processor | peak | bytes a record |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        for wanted in options.records or [1e6, 1e7, 1e8]:
            capture = pathlib.Path(folder, "scale.prof")
            write = [options.writer, "--records", str(int(wanted)), "--shape", options.shape, "--write", capture]
            records = int(subprocess.run(write, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[0])
            for prof in options.prof:
                commands = {"report": [prof, "report", capture]}
                if wanted <= options.export_up_to:
                    commands["export"] = [prof, "export", capture, "-o", pathlib.Path(folder, "trace.json")]
                for name, command in commands.items():
                    title = f"{records:,} | {name}" + (f", {prof}" if len(options.prof) > 1 else "")
                    print(row(title, [measured(command, options.memory) for _ in range(options.runs)], records))
                    sys.stdout.flush()
            capture.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
