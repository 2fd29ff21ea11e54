# SPDX-License-Identifier: Apache-2.0
"""Training steps in PyTorch on two GPUs, whose gradients are reduced with nothing beside it.

    ddp_cases.py OUT ROUNDS

Starts the second process itself. Exit status 77 on fewer GPUs. Runs on the CPU, too, to test the program itself.
"""

import os
import socket
import subprocess
import sys

import torch
from rounds import Case, Rounds
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch_cases import DEVICE, HAS_GPU, SHRINK, Limiter

RANKS = 2


class Net(nn.Module):
    """`depth` layers with gradients. What is before them computes in backward, too, but has next to none: there the
    reduction of the last layers' gradients can run beside it."""

    def __init__(self, depth, width):
        super().__init__()
        self.offset = nn.Parameter(torch.zeros(width))
        self.fixed = nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(3)))
        self.layers = nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(depth)))
        self.fixed.requires_grad_(False)

    def forward(self, x):
        return self.layers(self.fixed(x + self.offset))


class Training:
    def __init__(self, depth, megabytes, batch=4096, width=4096):
        """`megabytes`: of a bucket of DDP; None: gradients are reduced by hand after backward."""
        batch, width = batch // SHRINK, width // SHRINK
        torch.manual_seed(0)
        self.module = Net(depth, width).to(DEVICE, torch.bfloat16)
        self.by_hand = megabytes is None
        self.net = self.module if self.by_hand else DistributedDataParallel(
            self.module, bucket_cap_mb=megabytes, gradient_as_bucket_view=True)
        self.parameters = [each for each in self.module.parameters() if each.requires_grad]
        self.optimizer = torch.optim.SGD(self.parameters, lr=1e-6, foreach=True)
        self.x = torch.randn(batch, width, device=DEVICE, dtype=torch.bfloat16)

    def step(self):
        self.net(self.x).square().mean().backward()
        if self.by_hand:
            for each in self.parameters:
                distributed.all_reduce(each.grad)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


USUAL_MB, ALL_MB = 25, 10_000


def reduced(depth, megabytes, name):
    flawed, fixed = Training(depth, megabytes), Training(depth, USUAL_MB)
    return Case(f"DDP: {name}, {depth} layers", ["communication"], flawed.step, fixed.step, place="AllReduce")


def overlapped(depth):
    return Case(f"DDP: overlapped, {depth} layers", [], Training(depth, USUAL_MB).step, forbidden=["*"])


def cases():
    return [*(lambda depth=depth: overlapped(depth) for depth in (4, 8)),
            *(lambda depth=depth: reduced(depth, None, "reduced by hand after backward") for depth in (4, 8)),
            *(lambda depth=depth: reduced(depth, ALL_MB, "one bucket") for depth in (4, 8))]


def run(rank, out, rounds):
    if HAS_GPU:
        torch.cuda.set_device(rank)
    distributed.init_process_group("nccl" if HAS_GPU else "gloo", rank=rank, world_size=RANKS)

    def finish():
        distributed.barrier()
        if HAS_GPU:
            torch.cuda.synchronize()

    Rounds("ddp", out, rounds, finish, Limiter(), writes=rank == 0).run_all(cases())
    distributed.destroy_process_group()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def main():
    out, rounds = sys.argv[1:]
    if "RANK" in os.environ:
        return run(int(os.environ["RANK"]), out, int(rounds))
    if HAS_GPU and torch.cuda.device_count() < RANKS:
        print(f"SKIPPED: {torch.cuda.device_count()} of {RANKS} GPUs")
        return 77
    ranks = [subprocess.Popen([sys.executable, __file__, out, rounds],
                              env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(RANKS), LOCAL_RANK=str(rank),
                                       MASTER_ADDR="127.0.0.1", MASTER_PORT=environment_port))
             for environment_port in [free_port()] for rank in range(RANKS)]
    return max(each.wait() for each in ranks)


if __name__ == "__main__":
    sys.exit(main())
