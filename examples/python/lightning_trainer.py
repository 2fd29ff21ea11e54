#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lightning's Trainer with libprof's callback: one import and one line.

    python3 lightning_trainer.py

Needs lightning (or pytorch-lightning). The callback records the fit, and one line on standard error names the capture.
"""
import libprof
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    import lightning.pytorch as lightning
except ImportError:
    import pytorch_lightning as lightning
from libprof.lightning import ProfCallback

EPOCHS, STEPS, BATCH = 2, 6, 16  # steps of an epoch


class Regression(lightning.LightningModule):
    def __init__(self, width=128):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))

    def training_step(self, batch, _):
        x, y = batch
        return nn.functional.mse_loss(self.layers(x), y)

    def validation_step(self, batch, _):
        self.log("validation_loss", self.training_step(batch, _))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-3)


def batches(count):
    x = torch.randn(count * BATCH, 8)
    return DataLoader(TensorDataset(x, x.square().sum(1, keepdim=True)), batch_size=BATCH)


def main():
    torch.manual_seed(1)
    profiling = ProfCallback()
    trainer = lightning.Trainer(max_epochs=EPOCHS, accelerator="auto", devices=1, callbacks=[profiling], logger=False,
                                enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Regression(), batches(STEPS), batches(2))

    print(f"validation loss {trainer.callback_metrics['validation_loss']:.4f} after {trainer.global_step} steps")
    if profiling.path:  # under `prof run` the recording goes on until the program ends
        print(libprof.load(profiling.path).report())


if __name__ == "__main__":
    main()
