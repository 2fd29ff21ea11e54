# SPDX-License-Identifier: Apache-2.0
"""A callback for Hugging Face's Trainer.

    from libprof.huggingface import ProfCallback

    trainer = Trainer(..., callbacks=[ProfCallback()])
"""
from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from ._callback import Run
from ._library import Error


class ProfCallback(TrainerCallback):
    """Records a training: a range `train step N` for each step of the optimizer, PyTorch's phases, and what they cost on
    the GPU.

    The options are those of libprof.start(); schedule="wait=5,active=3" records three steps after five. The recording
    ends with the training, and one line on standard error names the capture. After an exception, of which the Trainer
    does not inform its callbacks, it ends with the Trainer, its next training or the program. In a process that records
    already, as under `prof run`, the callback adds its ranges and steps to that recording. Each rank of a distributed
    training has a recording of its own.
    """

    def __init__(self, **options: Any) -> None:
        self.run: Run = Run(options)

    @property
    def path(self) -> str | None:
        """The capture's path after the training; None before, and in a recording that the callback did not start."""
        return self.run.path

    @property
    def error(self) -> Error | None:
        """Why the recording did not begin or ended badly; None if all went well. It is warned of (RecordingWarning); with
        strict=True it is raised."""
        return self.run.error

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.run.begin(self)

    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.run.begin_step(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.run.end_step()

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.run.end()
