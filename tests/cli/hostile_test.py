# SPDX-License-Identifier: Apache-2.0
"""What hostile captures cost: each kind of hostile_captures.py through every report, the trace and the tables, within limits.

    hostile_test.py PROF [KIND...]

The limits are the kernel's: memory beyond RLIMIT_AS cannot be had, CPU time beyond RLIMIT_CPU ends the process, and
neither hangs on how busy the machine is. That each capture is understood, and costs what it is meant to cost, is seen
by what the reports say of damage.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

from hostile_captures import HOSTILE

MEGABYTE = 1 << 20
CAPTURE_BYTES = MEGABYTE
# Of address space. The program itself takes some ten; the heap and the stack of its second thread reserve 128.
MEMORY_BYTES = (512 + 128) * MEGABYTE
CPU_SECONDS = 30
TRACE_BYTES = 4096 * MEGABYTE
REPORTS = ("gpu-projection", "kernels", "copies", "pytorch_ops", "cuda_api_sum", "cuda_gpu_kern_sum",
           "cuda_gpu_mem_size_sum", "cuda_gpu_mem_time_sum", "cuda_kern_exec_sum", "nvtx_gpu_proj_sum",
           "nvtx_gpu_proj_trace", "nvtx_kern_sum", "nvtx_pushpop_sum")


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (TRACE_BYTES, TRACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(arguments):
    """Exit status, first line of stderr, CPU seconds, peak resident bytes."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limit)
    errors = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, errors.strip(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


# Those whose chunks are refused; of all others every byte is believed.
REFUSED = {"inflates_to_gigabytes": "inflate to more than any capture's",
           "claims_large_chunks": "a size that it cannot inflate to"}


def check_notes(prof, kind, path):
    out = subprocess.run([prof, "report", "--report", "copies", "--format", "json", path], stdout=subprocess.PIPE,
                         check=True).stdout
    notes = " ".join(json.loads(out)["notes"])
    if kind in REFUSED:
        return [] if REFUSED[kind] in notes else [f"{kind}: it is not said that it was refused: {notes}"]
    return [f"{kind}: {notes}"] if "damaged" in notes else []


def check(prof, kind, folder):
    path = os.path.join(folder, kind + ".prof")
    with open(path, "wb") as file:
        size = file.write(HOSTILE[kind](CAPTURE_BYTES))
    trace = os.path.join(folder, kind + ".trace.json.gz")
    tables = os.path.join(folder, kind)
    commands = [[prof, "report", "--report", ",".join(REPORTS), "--format", form, path]
                for form in ("json", "csv", "table")] + [[prof, "export", path, "-o", trace],
               [prof, "export", path, "-o", tables, "--format", "parquet"]]
    problems = check_notes(prof, kind, path)
    for command in commands:
        status, errors, seconds, peak = run(command)
        what = command[command.index("--format") + 1] if "--format" in command else "export"
        print(f"{kind:28} {what:7} {size / MEGABYTE:5.2f} MB: status {status}, {seconds:6.2f} s, "
              f"{peak / MEGABYTE:6.1f} MB {errors[:100]}", flush=True)
        if status != 0:
            problems.append(f"{kind}: {what} ended with {status}: {errors[:300]}")
    for name in (path, trace):
        if os.path.exists(name):
            os.unlink(name)
    shutil.rmtree(tables, ignore_errors=True)
    return problems


def main():
    prof, *kinds = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        problems = [line for kind in kinds or HOSTILE for line in check(prof, kind, folder)]
    for line in problems:
        print(line, file=sys.stderr)
    return 1 if problems else 0


sys.exit(main())
