#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training loop in plain PyTorch that records itself, and prints what its parts cost.

    python3 plain_pytorch.py

The steps and their phases (data, forward, backward, optimizer) are observed, and need no code. `augment` is a range of
the program's own. Without a GPU the table has host times.
"""
import libprof
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS, BATCH = 12, 32


class Classifier(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.head = nn.Linear(16 * width, 10)

    def forward(self, images):
        return self.head(self.features(images))


@libprof.range("augment")
def augment(images):
    return torch.where(torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5, images.flip(-1), images)


def main():
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = TensorDataset(torch.randn(STEPS * BATCH, 3, 32, 32), torch.randint(10, (STEPS * BATCH,)))
    model = Classifier().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    with libprof.recording() as run:
        for images, labels in DataLoader(data, batch_size=BATCH):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(augment(images.to(device))), labels.to(device))
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())

    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    print(run.capture.report())
    backward = run.summary["backward"]
    print(f"backward: {backward.host_ns / STEPS / 1e6:.3f} ms a step on the host, "
          f"{backward.gpu_sum_ns / STEPS / 1e6:.3f} ms on the GPU; the capture: {run.path}")


if __name__ == "__main__":
    main()
