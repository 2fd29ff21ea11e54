#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A delay of known size on one rank of a job, and what the job gains without it.

    ranks.py PROF OUT [--kinds none,host,gpu,loader,layer,exposed] [--parallel ddp,fsdp2,tp]

Trains a small model with DistributedDataParallel, or a larger one with FSDP2 or tensor parallelism, one rank for each
GPU (on one GPU there are two ranks that NCCL takes for two hosts, and that share it). Rank 1 is late: by a sleep of the host in `loss_of`, by a kernel of its own, by its
data loader, or by one layer. Forty steps are recorded by `prof run`, in OUT/<kind>. Then windows of steps with the delay
and without it alternate, in another recording of the same process, since what a launch costs is part of a step: the
difference of their steps is what the job gains. `prof report` of the forty steps must name rank 1, and price it within
10 % or 0.2 ms of that, and the error of the measured gain (of a median of windows); without a delay it must name no rank.
`exposed` is a larger model with DistributedDataParallel that waits for its all-reduces; the windows alternate with ones in
which a communication hook reduces a single number instead, and the price of exposed communication must be right as exactly.
OUT/gains.json has the figures, in milliseconds a step.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

KINDS = ("none", "host", "gpu", "loader", "layer", "exposed")
RECORDED, WINDOW, ROUNDS, DELAY_S = 43, 10, 12, 0.004
CYCLES = int(DELAY_S * 1.7e9)


def distribute(model, parallel, large):
    """The model, divided or copied as `parallel` says."""
    import torch

    if parallel == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=64 if large else 4,
                                                         gradient_as_bucket_view=large)
    if parallel == "fsdp2":
        from torch.distributed.fsdp import fully_shard

        for layer in model:
            fully_shard(layer)
        return fully_shard(model)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cuda", (torch.distributed.get_world_size(),))
    return parallelize_module(model, mesh, {f"{number}.linear": (RowwiseParallel if number % 2 else ColwiseParallel)()
                                            for number in range(len(model))})


def train(kind, parallel):
    import torch
    import torch.distributed as distributed

    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    gpus = torch.cuda.device_count()
    if gpus < size:
        os.environ.update({"NCCL_HOSTID": f"host{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"})
    torch.cuda.set_device(rank % gpus)
    distributed.init_process_group("nccl", device_id=torch.device("cuda", rank % gpus))
    late = None
    large = kind == "exposed"
    width, batch, layers = (8192, 512, 6) if large else (1024, 256, 6)
    # What these do on the host takes longer than the small model on the GPU. Where multiplications are all of a step,
    # the GPU's clock depends on how long it rests, so that a delay is not what a step gains without it.
    waves = 0
    if parallel == "tp":
        width, batch, layers = 8192, 8192, 4
    if parallel == "fsdp2":
        width, batch, layers, waves = 4096, 8192, 4, 30
    torch.set_float32_matmul_precision("high" if width > 1024 else "highest")

    class Layer(torch.nn.Module):
        def __init__(self, number):
            super().__init__()
            self.number = number
            self.linear = torch.nn.Linear(width, width)

        def forward(self, x):
            if late == "layer" and self.number == layers // 2:
                torch.cuda._sleep(CYCLES)
            x = torch.relu(self.linear(x))
            for _ in range(waves):
                x = torch.sin(x)
            return x

    class Batches(torch.utils.data.IterableDataset):
        def __iter__(self):
            example = torch.ones(batch, 1 if batch > 1024 else width)  # a copy of all would be most of the step
            while True:
                if late == "loader":
                    time.sleep(DELAY_S)
                yield example

    def loss_of(model, x):
        if late == "host":
            time.sleep(DELAY_S)
        if late == "gpu":
            torch.cuda._sleep(CYCLES)
        return model(x).square().mean()

    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Layer(number) for number in range(layers))).cuda()
    model = distribute(model, parallel, large)
    if large:
        def reduce(_, bucket):
            buffer = bucket.buffer()
            reduced = buffer[:1] if late == "exposed" else buffer  # the call stays, and its transfer takes no time
            return distributed.all_reduce(reduced, async_op=True).get_future().then(lambda future: buffer)

        model.register_comm_hook(None, reduce)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batches = iter(torch.utils.data.DataLoader(Batches(), batch_size=None))

    def steps(count):
        begin = time.perf_counter()
        for _ in range(count):
            x = next(batches).cuda().repeat(1, 1 if batch <= 1024 else width)
            optimizer.zero_grad()
            loss = loss_of(model, x)
            loss.backward()
            optimizer.step()
            loss.item()
        return (time.perf_counter() - begin) / count

    seeded = kind if rank == 1 else None
    before, after = seeded, None  # what the forty steps have, and what is compared with them
    if large:
        before, after = None, "exposed"
    late = before
    steps(RECORDED)
    library = ctypes.CDLL(os.environ["PROF_IMAGE_LIBRARY"])
    assert library.prof_stop() == 0
    folder = os.environ["RANKS_TEST_OUT"] + "-gain"
    settings = (ctypes.c_char_p * 3)(f"output_dir={folder}".encode(), b"export=none", None)
    assert library.prof_start(settings) == 0
    without, with_delay = [], []
    for _ in range(ROUNDS):
        for late, times in ((after, without), (before, with_delay)):
            steps(2)
            distributed.barrier()
            times.append(steps(WINDOW) * 1e3)
    if rank == 0:
        gains = [b - a for a, b in zip(without, with_delay)]
        gain, error = statistics.median(gains), 1.25 * 1.96 * statistics.stdev(gains) / len(gains) ** 0.5
        place = pathlib.Path(os.environ["RANKS_TEST_OUT"]) / "gain.json"
        place.write_text(json.dumps({"gain_ms": gain, "error_ms": error, "without_ms": without, "with_ms": with_delay}))
    distributed.destroy_process_group()


def priced(told, gain):
    return abs(told - gain["gain_ms"]) <= max(0.1 * gain["gain_ms"], 0.2) + gain["error_ms"]


def check_exposed(prof, folder, gain):
    done = subprocess.run([prof, "report", "--report", "ranks", "--format", "json", folder], check=True,
                          capture_output=True, text=True)
    told = json.loads(done.stdout)["exposed_communication_ns"] / 1e6
    gain["told"] = told
    holds = priced(told, gain)
    print("PASS" if holds else "FAIL", f"exposed: the job gains {gain['gain_ms']:.3f} ± {gain['error_ms']:.3f} ms of "
          f"{statistics.median(gain['with_ms']):.3f} without its communication; told are {told:.3f}")
    return holds


def check(prof, folder, kind, gain):
    if kind == "exposed":
        return check_exposed(prof, folder, gain)
    told = subprocess.run([prof, "report", "--report", "stragglers", "--format", "json", folder], check=True,
                          capture_output=True, text=True)
    rows = [row for row in json.loads(told.stdout)["rows"] if row["kind"] == "rank"]
    gain["told"] = [{key: row[key] for key in ("name", "gain_ns", "gain_error_ns", "cause")} for row in rows]
    text = (f"{kind}: the job gains {gain['gain_ms']:.3f} ± {gain['error_ms']:.3f} ms of {statistics.median(gain['with_ms']):.3f}; named is " +
            (", ".join(f"{row['name']}, {row['gain_ns'] / 1e6:.3f} ± {row['gain_error_ns'] / 1e6:.3f} ms, {row['cause']}"
                       for row in rows) or "none"))
    if kind == "none":
        holds = not rows
    else:
        holds = len(rows) == 1 and rows[0]["name"] == "rank 1" and \
            priced(rows[0]["gain_ns"] / 1e6, gain)
    print("PASS" if holds else "FAIL", text)
    return holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("prof")
    parser.add_argument("out")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--parallel", default="ddp")
    parser.add_argument("--program", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        return train(options.kinds, options.parallel)
    import torch

    ranks = max(2, torch.cuda.device_count())
    out = pathlib.Path(options.out).resolve()
    gains, failed = {}, False
    for parallel in options.parallel.split(","):
        for kind in options.kinds.split(","):
            if kind == "exposed" and parallel != "ddp":
                continue  # only there can a hook leave communication out
            folder = out / parallel / kind
            folder.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(
                [options.prof, "run", "--compress", "1", "--export", "none", "-o", folder, "--", sys.executable, "-m",
                 "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), __file__, options.prof, out,
                 "--kinds", kind, "--parallel", parallel, "--program"],
                env=os.environ | {"RANKS_TEST_OUT": str(folder)}, check=False, text=True, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=400)  # fmt: skip
            (folder / "output.txt").write_text(done.stdout)
            name = f"{parallel} {kind}"
            if done.returncode:
                failed = True
                print(f"{name}: status {done.returncode}\n{done.stdout[-2000:]}")
                continue
            gains[name] = json.loads((folder / "gain.json").read_text())
            print(f"{parallel}: ", end="")
            failed |= not check(options.prof, folder, kind, gains[name])
            (out / "gains.json").write_text(json.dumps(gains, indent=1))
    return failed


if __name__ == "__main__":
    sys.exit(main())
