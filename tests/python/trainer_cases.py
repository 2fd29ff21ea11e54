# SPDX-License-Identifier: Apache-2.0
"""Trainings by Hugging Face's and Lightning's trainers, for gallery_test.py. Prints a JSON object with what each case
has found.

    trainer_cases.py hugging_face|lightning CASE...      "bare" alone imports nothing of libprof
"""
import gc
import json
import os
import shutil
import sys
import tempfile
import warnings

import torch
from torch import nn

STEPS, BATCH = 4, 4


class Broken(Exception):
    pass


class Net(nn.Module):
    """Fails in the forward of that number."""

    def __init__(self, fails_at):
        super().__init__()
        self.fails_at, self.calls = fails_at, 0
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x, labels):
        if self.training:
            if self.calls == self.fails_at:
                raise Broken
            self.calls += 1
        predicted = self.layers(x)
        return {"loss": nn.functional.mse_loss(predicted, labels), "predicted": predicted}


def data(count):
    torch.manual_seed(7)
    x = torch.randn(count, 4)
    return [{"x": each, "labels": each.sum(0, keepdim=True)} for each in x]


def weights(net):
    return [each.double().sum().item().hex() for each in net.parameters()]


def hugging_face(callbacks, accumulated=1, validates=False, fails_at=None, keep=None):
    from transformers import Trainer, TrainingArguments

    torch.manual_seed(1)
    net = Net(fails_at)
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            folder, num_train_epochs=2, per_device_train_batch_size=BATCH, gradient_accumulation_steps=accumulated,
            eval_strategy="epoch" if validates else "no", save_strategy="no", logging_strategy="no", report_to="none",
            disable_tqdm=True)
        trainer = Trainer(net, options, train_dataset=data(STEPS * BATCH * accumulated // 2), eval_dataset=data(2 * BATCH),
                          callbacks=callbacks)
        if keep is not None:
            keep.append(trainer)
        trainer.train()
    return weights(net)


def lightning(callbacks, accumulated=1, validates=False, fails_at=None, keep=None):
    import pytorch_lightning

    class Module(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net(fails_at)

        def training_step(self, batch, _):
            return self.net(**batch)["loss"]

        if validates:
            def validation_step(self, batch, _):
                self.net(**batch)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), 1e-3)

    torch.manual_seed(1)
    module = Module()
    trainer = pytorch_lightning.Trainer(
        max_epochs=2, devices=1, callbacks=callbacks, accumulate_grad_batches=accumulated, logger=False,
        num_sanity_val_steps=0, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    loaders = [torch.utils.data.DataLoader(data(count), batch_size=BATCH)
               for count in (STEPS * BATCH * accumulated // 2, 2 * BATCH)]
    trainer.fit(module, loaders[0], loaders[1] if validates else None)
    return weights(module.net)


class Cases:
    def __init__(self, train, callback):
        self.train, self.callback = train, callback

    def with_callback(self, options=None, **how):
        import libprof

        callback = self.callback(export=[], **(options or {}))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", libprof.RecordingWarning)
            found = {"weights": self.train([callback], **how), "recording": libprof.is_recording()}
        found["warned"] = [each.category.__name__ for each in warned if issubclass(each.category, libprof.RecordingWarning)]
        return {**found, "failure": type(callback.error).__name__, **counts(callback.path)}

    def once(self):
        return self.with_callback()

    def accumulated(self):
        return self.with_callback(accumulated=2)

    def validated(self):
        return self.with_callback(validates=True)

    def scheduled(self):
        return self.with_callback({"schedule": "wait=1,active=2,repeat=1"})

    def same_callback_twice(self):
        callback = self.callback(export=[])
        out = []
        for _ in range(2):
            self.train([callback])
            out.append(counts(callback.path))
        return out

    def failed(self):
        """In the third step. What a notebook does: the trainer is still there, and is then made anew."""
        import libprof

        callback, keep, caught = self.callback(export=[]), [], False
        try:
            self.train([callback], fails_at=2, keep=keep)
        except Broken:
            caught = True
        found = {"caught": caught, "recording": libprof.is_recording()}
        run = callback.run
        del callback
        keep.clear()
        gc.collect()
        return {**found, "recording_later": libprof.is_recording(), **counts(run.path)}

    def failed_and_again(self):
        """The next training of the same callback has a recording of its own."""
        callback, keep = self.callback(export=[]), []
        try:
            self.train([callback], fails_at=2, keep=keep)
        except Broken:
            pass
        self.train([callback])
        return counts(callback.path)

    def refused(self):
        import libprof

        try:
            self.train([self.callback(bad="x")])
        except libprof.InvalidArgument as failure:
            return {"error": str(failure), "recording": libprof.is_recording()}

    def not_written(self):
        return self.with_callback({"output_dir": "/proc/none"})

    def removed(self, **options):
        """By a clean-up script in the last step, say. With warnings that are errors."""
        import libprof

        hook = "on_train_end" if hasattr(self.callback, "on_step_end") else "on_fit_end"
        end = getattr(self.callback, hook)

        def removes(*arguments, **more):
            libprof.sync()
            shutil.rmtree("removed")
            return end(*arguments, **more)

        callback = type("Removes", (self.callback,), {hook: removes})(export=[], output_dir="removed", **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error", libprof.RecordingWarning)
            try:
                found = {"weights": self.train([callback])}
            except libprof.Failed as failure:
                found = {"raised": str(failure)}
        return {**found, "path": callback.path, "failure": str(callback.error), "recording": libprof.is_recording()}

    def removed_strictly(self):
        return self.removed(strict=True)

    def of_the_program(self):
        """A recording of the program's own goes on."""
        import libprof

        with libprof.recording(export=[]) as run:
            callback = self.callback(export=[])
            self.train([callback])
            found = {"recording": libprof.is_recording(), "callback": callback.path}
        return {**found, **counts(run.path)}

    def plain_later(self):
        """A loop without the callback has observed steps again."""
        import libprof

        net = Net(None)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        with libprof.recording(export=[]) as run:
            for batch in torch.utils.data.DataLoader(data(STEPS * BATCH), batch_size=BATCH):
                net(**batch)["loss"].backward()
                optimizer.step()
        return counts(run.path)

    def uncaught(self):
        self.train([self.callback(export=[])], fails_at=2)


def counts(path):
    import libprof

    if path is None:
        return {"path": None}
    capture = libprof.load(path)
    return {"path": path, "notes": capture.notes,
            "rows": {row.path: row.count for row in capture.summary() if row.count and not row.path.count("#_")},
            "steps": sorted(row.name for row in capture.summary(fold="none") if row.name.startswith("train step"))}


def main():
    train = {"hugging_face": hugging_face, "lightning": lightning}[sys.argv[1]]
    out = {}
    if "bare" in sys.argv:
        out = {"bare": train([]), "bare_accumulated": train([], accumulated=2)}
    else:
        if sys.argv[1] == "hugging_face":
            from libprof.huggingface import ProfCallback
        else:
            import pytorch_lightning  # noqa: F401  (the name of Lightning that this program uses)

            from libprof.lightning import ProfCallback
        for name in sys.argv[2:]:
            out[name] = getattr(Cases(train, ProfCallback), name)()
            print(f"== {name}", file=sys.stderr)
    with open(os.environ["RESULT"], "w") as file:
        json.dump(out, file)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
