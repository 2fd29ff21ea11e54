#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NCCL's collectives as libprof records them by NCCL's profiler plugin, against what a program called.

    nccl.py PROF OUT [--rounds N]

Runs four programs with one rank for each GPU. On one GPU there are two ranks that NCCL takes for two hosts, and that
talk over sockets.

known   calls collectives of known functions, sizes and peers, and notes them: each of them is on a kernel's slice in the
        trace, with its bytes, and with the sequence that it has in its communicator.
models  trains with DistributedDataParallel and with FSDP2: all ranks have the same collectives (communicator, function,
        sequence, bytes), sequences have no gaps, and each kernel of NCCL's has at least one.
graph   captures a collective into a CUDA graph: the kernel of each replay has it.
cost    times the host's part of all-reduces while libprof records with the plugin, without it, and not at all,
        alternating in one process. Prints ratios of medians, and asserts that all results are right.
"""

import argparse
import collections
import ctypes
import gzip
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

FUNCTIONS = ("allreduce", "allgather", "reduce_scatter", "broadcast", "reduce", "send", "recv")


# --- the programs -----------------------------------------------------------------------------------------------------


def begin():
    import torch
    import torch.distributed as distributed

    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    gpus = torch.cuda.device_count()
    if gpus < size:
        os.environ.update({"NCCL_HOSTID": f"host{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"})
    torch.cuda.set_device(rank % gpus)
    distributed.init_process_group("nccl", device_id=torch.device("cuda", rank % gpus))
    return torch, distributed, rank, size


def known(out):
    torch, distributed, rank, size = begin()
    called = []

    def note(group, function, tensor, peer=None):
        called.append([group, function, tensor.numel() * tensor.element_size(), peer])

    def numbers(count, kind=torch.float32):
        return torch.ones(count, dtype=kind, device="cuda")

    right = True
    for i in range(20):
        tensor = numbers(1000 + 317 * i)
        distributed.all_reduce(tensor)
        note("world", "allreduce", tensor)
        right = right and bool((tensor == size).all())
    for kind in (torch.bfloat16, torch.int64):
        tensor = numbers(512, kind)
        distributed.all_reduce(tensor)
        note("world", "allreduce", tensor)
        part, whole = numbers(300, kind), numbers(300 * size, kind)
        distributed.all_gather_into_tensor(whole, part)
        note("world", "allgather", part)
        distributed.reduce_scatter_tensor(part, whole)
        note("world", "reduce_scatter", part)
    tensor = numbers(77)
    distributed.broadcast(tensor, src=1)
    note("world", "broadcast", tensor)
    distributed.reduce(tensor, dst=0)
    note("world", "reduce", tensor)
    after, before = (rank + 1) % size, (rank - 1) % size
    for count in (10, 20_000):
        sent, received = numbers(count), numbers(count)
        requests = distributed.batch_isend_irecv([distributed.P2POp(distributed.isend, sent, after),
                                                  distributed.P2POp(distributed.irecv, received, before)])
        for request in requests:
            request.wait()
        note("world", "send", sent, after)
        note("world", "recv", received, before)
    group = distributed.new_group(list(range(size)))
    for i in range(5):
        tensor = numbers(64 + i)
        distributed.all_reduce(tensor, group=group)
        note("group", "allreduce", tensor)
    torch.cuda.synchronize()
    (pathlib.Path(out) / f"called.{rank}.json").write_text(json.dumps({"called": called, "right": right}))
    distributed.destroy_process_group()


def models(_):
    torch, distributed, rank, _ = begin()
    from torch.distributed.fsdp import fully_shard

    for shard in (False, True):
        torch.manual_seed(0)
        model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4))).cuda()
        if shard:
            for layer in model:
                fully_shard(layer)
            fully_shard(model)
        else:
            model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for _ in range(5):
            loss = model(torch.ones(8, 512, device="cuda") * (rank + 1)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.cuda.synchronize()
    distributed.destroy_process_group()


def graph(_):
    torch, distributed, _, size = begin()
    tensor = torch.ones(300, device="cuda")
    distributed.all_reduce(tensor)
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        distributed.all_reduce(tensor)
    tensor.fill_(1)
    for _ in range(4):
        captured.replay()
    torch.cuda.synchronize()
    assert bool((tensor == size**4).all())
    distributed.all_reduce(tensor)
    torch.cuda.synchronize()
    captured.reset()  # a communicator waits at its end for the graphs that use it
    distributed.destroy_process_group()


def cost(out, rounds):
    torch, distributed, rank, _ = begin()
    library = ctypes.CDLL(os.environ["PROF_IMAGE_LIBRARY"])
    tensor = torch.zeros(1024, device="cuda")
    times = collections.defaultdict(list)
    library.prof_stop()
    for turn in range(rounds + 1):
        for way in ("plugin", "no plugin", "nothing"):
            if way != "nothing":
                settings = (ctypes.c_char_p * 2)(b"nccl=on" if way == "plugin" else b"nccl=off", None)
                assert library.prof_start(settings) == 0
            for _ in range(5):
                distributed.all_reduce(tensor)
            torch.cuda.synchronize()
            begun = time.perf_counter()
            for _ in range(40):
                distributed.all_reduce(tensor)
            ended = time.perf_counter()
            torch.cuda.synchronize()
            if turn != 0:
                times[way].append((ended - begun) / 40 * 1e6)
            if way != "nothing":
                assert library.prof_stop() == 0
    (pathlib.Path(out) / f"cost.{rank}.json").write_text(json.dumps(times))
    distributed.destroy_process_group()


# --- the checks -------------------------------------------------------------------------------------------------------


def run(prof, out, program, ranks, *words, settings=None):
    folder = out / program
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([prof, "run", "--output-dir", folder, "--export", "trace", "--", sys.executable, "-m",
                           "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), __file__, prof, out,
                           "--program", program, *words],
                          env=os.environ | {"NCCL_TEST_OUT": str(folder)} | (settings or {}), check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=400)
    (folder / "output.txt").write_text(done.stdout)
    if done.returncode != 0:
        sys.exit(f"FAIL {program}: status {done.returncode}\n{done.stdout[-3000:]}")
    return folder


def trace_of(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        return json.load(file)["traceEvents"]


def traces(folder):
    """Of each rank that used the GPU: the slices of NCCL's kernels, by rank."""
    found = {}
    for path in folder.glob("*.trace.json*"):
        rank = re.search(r"\.(\d+)\.[^.]+\.trace\.json", path.name)
        kernels = [event for event in trace_of(path)
                   if event.get("cat") == "kernel" and "nccl" in event["name"].lower()]
        if kernels:
            found[int(rank[1]) if rank else len(found)] = sorted(kernels, key=lambda event: event["ts"])
    return found


def collectives(kernels):
    """(communicator, function, sequence, bytes, peer) of each, in the order of the kernels."""
    out = []
    for kernel in kernels:
        args = kernel["args"]
        if "Collective name" not in args:
            continue
        peer = args.get("Dst Rank", args.get("Src Rank"))
        communicator = args["communicator"]
        out.append((communicator, args["Collective name"], args.get("Seq"), args["message bytes"], peer))
        for line in filter(None, args.get("grouped with", "").split("\n")):
            match = re.fullmatch(r"(\w+)(?:, Seq (\d+))?, (\d+) bytes(?:, peer (\d+))?", line)
            out.append((communicator, match[1], int(match[2]) if match[2] else None, int(match[3]),
                        int(match[4]) if match[4] else None))
    return out


def whole(value):
    return None if value is None else int(value)


def check_known(folder, ranks):
    problems = []
    found = traces(folder)
    if len(found) != ranks:
        problems.append(f"{len(found)} traces have kernels of NCCL's, not {ranks}")
    total = 0
    for rank, kernels in found.items():
        noted = json.loads((folder / f"called.{rank}.json").read_text())
        if not noted["right"]:
            problems.append(f"rank {rank}: a sum is wrong")
        recorded = [(c, f, whole(s), int(b), whole(p)) for c, f, s, b, p in collectives(kernels)]
        sequences, expected, groups = collections.Counter(), [], {}
        for group, function, size, peer in noted["called"]:
            sequence = None
            if peer is None:
                sequence = sequences[group, function]
                sequences[group, function] += 1
            expected.append((group, function, sequence, size, peer))
        # Communicators have no names that the program knows: the first that has a collective is the world's.
        for row in recorded:
            groups.setdefault(row[0], ("world", "group")[len(groups)] if len(groups) < 2 else "more")
        named = [(groups[row[0]], *row[1:]) for row in recorded]
        total += len(expected)
        if sorted(named, key=repr) != sorted(expected, key=repr):
            missing = collections.Counter(expected) - collections.Counter(named)
            extra = collections.Counter(named) - collections.Counter(expected)
            problems.append(f"rank {rank}: missing {list(missing.elements())[:8]}, not called "
                            f"{list(extra.elements())[:8]}")
    return problems, f"{total} collectives on {len(found)} ranks"


def check_models(folder, ranks):
    problems = []
    found = traces(folder)
    if len(found) != ranks:
        problems.append(f"{len(found)} traces have kernels of NCCL's, not {ranks}")
    rows = {}
    for rank, kernels in found.items():
        bare = [kernel["name"] for kernel in kernels if "Collective name" not in kernel["args"]]
        if bare:
            problems.append(f"rank {rank}: {len(bare)} of {len(kernels)} kernels have no collective: {set(bare)}")
        rows[rank] = collections.Counter(row[:4] for row in collectives(kernels))
        sequences = collections.defaultdict(list)
        for communicator, function, sequence, _, _ in collectives(kernels):
            if sequence is not None:
                sequences[communicator, function].append(int(sequence))
        for key, numbers in sequences.items():
            if sorted(numbers) != list(range(len(numbers))):
                problems.append(f"rank {rank}: {key} has gaps in its sequence: {sorted(numbers)[:20]}")
    for rank, of_rank in rows.items():
        if of_rank != next(iter(rows.values())):
            problems.append(f"rank {rank} has others than the first: {list((of_rank - next(iter(rows.values()))).items())[:5]}")
    return problems, f"{sum(sum(of_rank.values()) for of_rank in rows.values())} collectives on {len(rows)} ranks"


def check_graph(folder, ranks):
    problems = []
    found = traces(folder)
    if len(found) != ranks:
        problems.append(f"{len(found)} traces have kernels of NCCL's, not {ranks}")
    for rank, kernels in found.items():
        rows = [(whole(row[2]), int(row[3])) for row in collectives(kernels)]
        if rows != [(0, 1200), *4 * [(None, 1200)], (1, 1200)]:
            problems.append(f"rank {rank}: {rows} on {len(kernels)} kernels")
    return problems, "four replays of an all-reduce, and one before and after them"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("prof", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--program", choices=("known", "models", "graph", "cost"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.program:
        folder = os.environ["NCCL_TEST_OUT"]
        return {"known": known, "models": models, "graph": graph}[given.program](folder) if given.program != "cost" else \
            cost(folder, given.rounds)
    import torch

    if not torch.cuda.is_available():
        print("skipped: no GPU")
        return 77
    ranks = max(2, torch.cuda.device_count())
    failed = False
    for program, check in (("known", check_known), ("models", check_models), ("graph", check_graph)):
        if program == "graph" and torch.cuda.device_count() < ranks:
            print("skipped graph: replays of two ranks on one GPU wait for each other for ever, without libprof, too")
            continue
        problems, what = check(run(given.prof.resolve(), given.out.resolve(), program, ranks), ranks)
        print(f"{'FAIL' if problems else 'PASS'} {program}: {what}" + "".join(f"\n  {line}" for line in problems))
        failed = failed or bool(problems)
    folder = run(given.prof.resolve(), given.out.resolve(), "cost", ranks, "--rounds", str(given.rounds))
    for path in sorted(folder.glob("cost.*.json")):
        times = {way: statistics.median(each) for way, each in json.loads(path.read_text()).items()}
        print(f"{path.name}: an all-reduce's call takes the host {times['nothing']:.2f} us, recorded {times['no plugin']:.2f} "
              f"us, with the plugin {times['plugin']:.2f} us: {times['plugin'] / times['no plugin']:.3f} times")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
