#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares libprof's kernel table of a run with torch.profiler's of the same run made again.

    compare_torch.py --prof KERNELS.json --torch TORCH.json [--json VERDICT.json]

KERNELS.json is `prof report FILE --report kernels --format json`; TORCH.json is what
examples/train.py writes with --profile-with torch. Both cover the whole process, so the steps
compared are the same ones, warm-up included. The verdict is `equal` when each kernel name has
equal counts and the total kernel time per step agrees within the tolerance.
"""

import argparse
import json
import subprocess
import sys

SHOWN = 15  # names in the printed table, most time first


def demangled(names):
    """Maps each name to its C++ form; a name that is not mangled stands for itself."""
    mangled = [name for name in names if name.startswith("_Z")]
    answer = {name: name for name in names}
    if mangled:
        try:
            run = subprocess.run(
                ["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True
            )
            answer.update(zip(mangled, run.stdout.splitlines()))
        except (OSError, subprocess.CalledProcessError):
            pass
    return answer


def by_name(rows):
    """{name without blanks: (printable name, instances, total_ns)}; demanglers differ in blanks."""
    # Both sides' symbols go through one demangler, where they have any: torch leaves those beyond a kilobyte mangled.
    symbols = [row.get("symbol") or row["name"] for row in rows]
    plain = demangled(symbols)
    table = {}
    for row, symbol in zip(rows, symbols):
        name = plain[symbol]
        key = "".join(name.split())
        _, instances, total_ns = table.get(key, (name, 0, 0))
        table[key] = (name, instances + row["instances"], total_ns + row["total_ns"])
    return table


def compare(prof_rows, torch_rows, steps, tolerance):
    ours, theirs = by_name(prof_rows), by_name(torch_rows)
    names = []
    for key in ours.keys() | theirs.keys():
        name = (ours.get(key) or theirs.get(key))[0]
        _, our_count, our_ns = ours.get(key, (name, 0, 0))
        _, their_count, their_ns = theirs.get(key, (name, 0, 0))
        names.append(
            {
                "name": name,
                "prof_instances": our_count,
                "torch_instances": their_count,
                "prof_ns": our_ns,
                "torch_ns": their_ns,
            }
        )
    names.sort(key=lambda row: (-max(row["prof_ns"], row["torch_ns"]), row["name"]))
    prof_ns = sum(row["prof_ns"] for row in names)
    torch_ns = sum(row["torch_ns"] for row in names)
    differing = [row for row in names if row["prof_instances"] != row["torch_instances"]]
    time_ratio = prof_ns / torch_ns if torch_ns else None
    counts_equal = not differing and bool(names)
    times_equal = time_ratio is not None and abs(time_ratio - 1) <= tolerance
    return {
        "verdict": "equal" if counts_equal and times_equal else "different",
        "steps": steps,
        "kernel_names": len(names),
        "counts_equal": counts_equal,
        "prof_instances": sum(row["prof_instances"] for row in names),
        "torch_instances": sum(row["torch_instances"] for row in names),
        "prof_ns_per_step": prof_ns / steps,
        "torch_ns_per_step": torch_ns / steps,
        "time_ratio": time_ratio,
        "time_tolerance": tolerance,
        "differing": differing,
        "kernels": names,
    }


def text(result):
    def line(row):
        mark = " " if row["prof_instances"] == row["torch_instances"] else "!"
        return (
            f"{mark} {row['prof_instances']:>9} {row['torch_instances']:>9} "
            f"{row['prof_ns'] / 1e6:>11.3f} {row['torch_ns'] / 1e6:>11.3f}  {row['name'][:90]}"
        )

    shown = result["kernels"][:SHOWN]
    shown += [row for row in result["differing"] if row not in shown]
    ratio = "none" if result["time_ratio"] is None else f"{result['time_ratio']:.4f}"
    return "\n".join(
        [
            f"  {'libprof':>9} {'torch':>9} {'libprof ms':>11} {'torch ms':>11}  kernel",
            *(line(row) for row in shown),
            f"{result['kernel_names']} kernel names, {len(result['differing'])} with differing counts; "
            f"{result['prof_instances']} and {result['torch_instances']} kernels",
            f"kernel time a step: libprof {result['prof_ns_per_step'] / 1e6:.3f} ms, "
            f"torch.profiler {result['torch_ns_per_step'] / 1e6:.3f} ms, ratio {ratio}",
            f"verdict: {result['verdict']}",
        ]
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prof", required=True, metavar="FILE")
    parser.add_argument("--torch", required=True, metavar="FILE")
    parser.add_argument("--json", metavar="FILE", help="write the verdict and all figures here")
    parser.add_argument("--tolerance", type=float, default=0.03, help="of the kernel time (%(default)s)")
    options = parser.parse_args(arguments)
    with open(options.prof) as file:
        prof_report = json.load(file)
    with open(options.torch) as file:
        torch_report = json.load(file)
    result = compare(
        prof_report["rows"], torch_report["kernels"], torch_report["steps"], options.tolerance
    )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)
    print(text(result))
    return 0 if result["verdict"] == "equal" else 1


if __name__ == "__main__":
    sys.exit(main())
