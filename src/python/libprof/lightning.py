# SPDX-License-Identifier: Apache-2.0
"""A callback for Lightning's Trainer.

    from libprof.lightning import ProfCallback

    trainer = Trainer(..., callbacks=[ProfCallback()])
"""
from __future__ import annotations

import sys
from typing import Any

# Lightning has two names, each with classes of its own; a program uses one.
_of_old_name = "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules
try:
    if _of_old_name:
        raise ImportError
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback  # type: ignore[no-redef]

from ._callback import Run
from ._library import Error


class ProfCallback(Callback):
    """Records a fit: a range `train step N` for each step of the optimizer, PyTorch's phases, and what they cost on the
    GPU. With accumulate_grad_batches a step has several batches.

    The options are those of libprof.start(); schedule="wait=5,active=3" records three steps after five. The recording
    ends with the fit, also after an exception, and one line on standard error names the capture. In a process that records already, as under
    `prof run`, the callback adds its ranges and steps to that recording. Each rank of a distributed training has a
    recording of its own.
    """

    def __init__(self, **options: Any) -> None:
        self.run: Run = Run(options)
        self.first: int = 0  # global_step at the step's first batch

    @property
    def path(self) -> str | None:
        """The capture's path after the fit; None before, and in a recording that the callback did not start."""
        return self.run.path

    @property
    def error(self) -> Error | None:
        """Why the recording did not begin or ended badly; None if all went well. It is warned of (RecordingWarning); with
        strict=True it is raised."""
        return self.run.error

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self.run.begin(self)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if not self.run.has_range:
            self.first = trainer.global_step
            self.run.begin_step(trainer.global_step)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.accumulate_grad_batches == 1 or trainer.global_step != self.first:
            self.run.end_step()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self.run.end_step()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self.run.end_step()

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self.run.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.run.end()
