# SPDX-License-Identifier: Apache-2.0
"""A callback for Lightning's Trainer.

    from libprof.lightning import ProfCallback

    trainer = Trainer(..., callbacks=[ProfCallback()])
"""
from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback  # type: ignore[no-redef]

from ._callback import Run


class ProfCallback(Callback):
    """Records a fit: its steps, and what each cost on the GPU.

    The options are those of libprof.start(); schedule="wait=5,active=3" records three steps after five. The recording
    ends with the fit, and one line on standard error names the capture. In a process that records already, as under
    `prof run`, the callback adds its ranges and steps to that recording. Each rank of a distributed training has a
    recording of its own.
    """

    def __init__(self, **options: Any) -> None:
        self.run = Run(options)

    @property
    def path(self) -> str | None:
        """The capture's path after the fit; None before, and in a recording that the callback did not start."""
        return self.run.path

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self.run.begin()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self.run.step(trainer.global_step)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.run.end_step()

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self.run.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.run.end()
