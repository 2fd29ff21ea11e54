#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer with libprof's callback: one import and one line.

    python3 hugging_face.py

Needs transformers and accelerate. The model is a small GPT-2 with random weights: nothing is downloaded. The callback
records the training, and one line on standard error names the capture.
"""
import tempfile

import libprof
import torch
from libprof.huggingface import ProfCallback
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

STEPS, BATCH, ACCUMULATED, TOKENS, VOCABULARY = 8, 4, 2, 64, 256


def sentences(count):
    """Token sequences that count upwards: something that can be learnt."""
    first = torch.randint(VOCABULARY, (count, 1))
    tokens = (first + torch.arange(TOKENS)) % VOCABULARY
    return [{"input_ids": each, "labels": each} for each in tokens]


def main():
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=TOKENS, n_embd=64, n_layer=2, n_head=2,
                                       bos_token_id=0, eos_token_id=0))  # fmt: skip
    profiling = ProfCallback()
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(folder, max_steps=STEPS, per_device_train_batch_size=BATCH, disable_tqdm=True,
                                    gradient_accumulation_steps=ACCUMULATED, logging_steps=STEPS // 2,
                                    save_strategy="no", report_to="none")  # fmt: skip
        trainer = Trainer(model, options, train_dataset=sentences(STEPS * BATCH * ACCUMULATED), callbacks=[profiling])
        loss = trainer.train().training_loss

    print(f"mean loss {loss:.4f}")
    if profiling.path:  # under `prof run` the recording goes on until the program ends
        print(libprof.load(profiling.path).report())


if __name__ == "__main__":
    main()
