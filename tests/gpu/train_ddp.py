#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of examples/train.py with DistributedDataParallel: one rank for each GPU.

    prof run -- python3 -m torch.distributed.run --standalone --nproc-per-node 2 train_ddp.py

Each step has the ranges of examples/train.py; DDP launches its all-reduces from autograd's thread
while `backward` runs. At the end of each step rank 0's loss is broadcast under `share_loss`.
"""

import argparse
import os
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))


def main():
    import torch
    import torch.distributed as distributed
    import train

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()

    on_gpu = torch.cuda.is_available()
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    device = f"cuda:{local_rank}" if on_gpu else "cpu"
    if on_gpu:
        torch.cuda.set_device(local_rank)
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    training = train.Training(
        types.SimpleNamespace(
            seed=1234 + rank,
            device=device,
            batch=options.batch,
            seq=options.seq,
            amp=True,
            layers=options.layers,
            width=768,
            foreach=True,
        )
    )
    training.model = torch.nn.parallel.DistributedDataParallel(
        training.model, device_ids=[local_rank] if on_gpu else None
    )
    for _ in range(options.steps):
        loss = training.step()
        with training.range("share_loss"):
            distributed.broadcast(loss, src=0)
    training.wait()
    print(f"rank {rank} on {device}: loss {loss.item():.4f} after {options.steps} steps")
    distributed.barrier()
    distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
