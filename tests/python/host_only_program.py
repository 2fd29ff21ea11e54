# SPDX-License-Identifier: Apache-2.0
"""A PyTorch training script for the CPU, with a flaw or without. It sleeps where others compute, so that a machine that
does other work, too, changes its times little.

    python host_only_program.py clean|loader|workers|logging|sometimes|slow
"""
import sys
import time

import torch

STEPS = 32
flaw = sys.argv[1]


class Batches(torch.utils.data.Dataset):
    def __init__(self, slow):
        self.slow = slow
        self.batch = torch.rand(16, 64), torch.zeros(16, dtype=torch.long)

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        if self.slow:
            time.sleep(0.1)
        return self.batch


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(context, inputs):
        time.sleep(0.02)
        return inputs.clone()

    @staticmethod
    def backward(context, gradients):
        time.sleep(0.02)
        return gradients


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 10)
        self.calls = 0

    def forward(self, inputs):
        self.calls += 1
        if flaw == "slow" and self.calls % 4 == 3:
            time.sleep(0.4)
        return Slow.apply(self.layer(inputs))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    workers = 1 if flaw == "workers" else 0
    loader = torch.utils.data.DataLoader(Batches(flaw in ("loader", "workers")), batch_size=None, num_workers=workers)
    for step, (inputs, labels) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if flaw == "logging":
            time.sleep(0.1)
        if flaw == "sometimes" and step % 4 == 3:
            time.sleep(0.4)


if __name__ == "__main__":
    main()
