#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the captures of a DDP run (train_ddp.py), one for each rank.

    check_ranks.py DIR [--ranks N] [--steps N]

DIR holds `rankR.projection.json`, `rankR.kernels.json` and `rankR.trace.json` for each rank R. In
each rank self times add up, nothing is ambiguous, unmatched or dropped, and all kernels are on the
rank's own GPU. NCCL's kernels are as many in each rank; in the trace those of every step's
all-reduces belong to a range inside `backward`, those of its broadcast to one inside `share_loss`.
"""

import argparse
import json
import pathlib
import re
import sys

import check_projection


def load(folder, rank, what):
    return json.loads((folder / f"rank{rank}.{what}.json").read_text())


def nccl_kernels(kernels):
    """{name: instances} of NCCL's device functions."""
    return {row["name"]: row["instances"] for row in kernels["rows"] if "nccl" in row["name"].lower()}


def steps_with_communication(trace):
    """{"backward": {step: NCCL kernels}, "share_loss": kernels, "elsewhere": kernels}, by the kernels' owners.

    A kernel's owner is the host's range with its External id; NCCL has ranges of its own, on
    autograd's thread, so what counts is whether the owner lies in `backward` in time.
    """
    ranges = [event for event in trace["traceEvents"] if event.get("cat") == "user_annotation" and event["ph"] == "X"]
    owners = {event["args"]["External id"]: event for event in ranges if "External id" in event["args"]}

    def enclosing(owner, pattern):
        for event in ranges:
            match = re.fullmatch(pattern, event["name"])
            if match and event["ts"] <= owner["ts"] and owner["ts"] + owner["dur"] <= event["ts"] + event["dur"]:
                return match
        return None

    found = {"backward": {}, "share_loss": 0, "elsewhere": 0}
    for event in trace["traceEvents"]:
        if event.get("cat") != "kernel" or "nccl" not in event["name"].lower():
            continue
        owner = owners.get(event["args"].get("External id"))
        iteration = enclosing(owner, r"iteration (\d+)") if owner else None
        if iteration and enclosing(owner, "backward"):
            step = int(iteration[1])
            found["backward"][step] = found["backward"].get(step, 0) + 1
        elif owner and enclosing(owner, "share_loss"):
            found["share_loss"] += 1
        else:
            found["elsewhere"] += 1
    return found


def faults(folder, ranks, steps):
    found = []
    kernels_of_first = None
    for rank in range(ranks):
        try:
            projection, kernels, trace = (load(folder, rank, what) for what in ("projection", "kernels", "trace"))
        except (OSError, ValueError) as problem:
            found.append(f"rank {rank}: {problem}")
            continue
        found += [f"rank {rank}: {fault}" for fault in check_projection.faults(projection, adopted=True)]
        nccl = nccl_kernels(kernels)
        kernels_of_first = nccl if kernels_of_first is None else kernels_of_first
        if not nccl or nccl != kernels_of_first:
            found.append(f"rank {rank}: NCCL kernels {nccl}, of rank 0 {kernels_of_first}")
        if str(trace["distributedInfo"]["rank"]) != str(rank):
            found.append(f"rank {rank}: the trace says it is of rank {trace['distributedInfo']['rank']}")
        devices = {event["args"]["device"] for event in trace["traceEvents"] if event.get("cat") == "kernel"}
        if devices != {rank}:
            found.append(f"rank {rank}: kernels on devices {sorted(devices)}")
        where = steps_with_communication(trace)
        if sorted(where["backward"]) != list(range(steps)):
            found.append(f"rank {rank}: communication in backward of steps {sorted(where['backward'])}, of {steps}")
        if len(set(where["backward"].values())) > 2:  # DDP rebuilds its buckets once, after the first step
            found.append(f"rank {rank}: kernels in backward by step: {where['backward']}")
        if where["share_loss"] != steps:
            found.append(f"rank {rank}: {where['share_loss']} kernels in share_loss, {steps} broadcasts")
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args(arguments)
    found = faults(options.folder, options.ranks, options.steps)
    for fault in found:
        print(fault)
    if not found:
        first = nccl_kernels(load(options.folder, 0, "kernels"))
        where = steps_with_communication(load(options.folder, 0, "trace"))
        print(
            f"ok: {options.ranks} ranks, {sum(first.values())} NCCL kernels each; of rank 0 "
            f"{sum(where['backward'].values())} in backward, {where['share_loss']} in share_loss, "
            f"{where['elsewhere']} outside the steps"
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
