#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small training programs of the frameworks that people use, as their documentations write them, on one GPU.

    programs.py PROGRAM [--hand] [--profile FILE] [--steps N]

With --hand the program has ranges of its own, put in where its framework calls the model, backward and the optimizer:
hand.forward, hand.backward, hand.optimizer. With --profile it is recorded by torch.profiler instead, from beginning to
end, and FILE gets the GPU time of the autograd nodes (autograd::engine::evaluate_function), in ns. Each prints its loss.
"""
import argparse
import contextlib
import functools
import json
import os
import socket
import sys
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = 30
HAND = False


@contextlib.contextmanager
def hand(name):
    if HAND:
        torch.cuda.nvtx.range_push("hand." + name[0])  # a name for the phase would give both one row
    try:
        yield
    finally:
        if HAND:
            torch.cuda.nvtx.range_pop()


def within(name, function):
    @functools.wraps(function)
    def annotated(*arguments, **options):
        with hand(name):
            return function(*arguments, **options)

    return annotated


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Gives its loss, as most language models' modules do."""

    def __init__(self, width=512, layers=6, checkpointed=False):
        super().__init__()
        self.checkpointed = checkpointed
        self.embed = nn.Embedding(1000, width)
        self.h = nn.ModuleList(Block(width, 8) for _ in range(layers))
        self.head = nn.Linear(width, 1000)

    def forward(self, tokens):
        from torch.utils.checkpoint import checkpoint

        x = self.embed(tokens)
        for block in self.h:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return nn.functional.cross_entropy(self.head(x).flatten(0, 1), tokens.flatten())


def batches(count, batch=16, length=256):
    data = TensorDataset(torch.randint(1000, (count * batch, length)))
    return DataLoader(data, batch_size=batch, pin_memory=True)


def loop(model, call=None, steps=None, scaler=None, clip=False, accumulate=1):
    """A hand-written one."""
    call = model if call is None else call
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    enabled = scaler is not None
    for number, (tokens,) in enumerate(batches((steps or STEPS) * accumulate)):
        tokens = tokens.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.float16, enabled=enabled):
            with hand("forward"):
                loss = call(tokens)
        with hand("backward"):
            (scaler.scale(loss) if enabled else loss).backward()
        if (number + 1) % accumulate:
            continue
        if enabled:
            scaler.unscale_(optimizer)
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with hand("optimizer"):
            scaler.step(optimizer) if enabled else optimizer.step()
        if enabled:
            scaler.update()
        optimizer.zero_grad()
    return loss


def plain():
    return loop(Transformer().cuda())


def accumulation():
    return loop(Transformer().cuda(), accumulate=4)


def amp():
    return loop(Transformer().cuda(), scaler=torch.amp.GradScaler(), clip=True)


def checkpointing():
    return loop(Transformer(checkpointed=True).cuda())


def compiled():
    model = Transformer().cuda()
    return loop(model, torch.compile(model))


def reduce_overhead():
    model = Transformer().cuda()
    return loop(model, torch.compile(model, mode="reduce-overhead"))


def graph():
    """The whole step, captured once and replayed."""
    model = Transformer().cuda()
    tokens = torch.randint(1000, (16, 256), device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=True)

    def step():
        with hand("forward"):
            loss = model(tokens)
        with hand("backward"):
            loss.backward()
        with hand("optimizer"):
            optimizer.step()
        optimizer.zero_grad()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        loss = step()
    for _ in range(STEPS):
        tokens.random_(1000)
        captured.replay()
    return loss


def distributed():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK="0", WORLD_SIZE="1")
    torch.distributed.init_process_group("nccl")


def ddp():
    distributed()
    model = nn.parallel.DistributedDataParallel(Transformer().cuda())
    loss = loop(model)
    torch.distributed.destroy_process_group()
    return loss


def fsdp2():
    from torch.distributed.fsdp import fully_shard

    distributed()
    model = Transformer().cuda()
    for block in model.h:
        fully_shard(block)
    fully_shard(model)
    loss = loop(model)
    torch.distributed.destroy_process_group()
    return loss


def trainer():
    """Hugging Face's."""
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    class Tokens(torch.utils.data.Dataset):
        def __len__(self):
            return 16 * STEPS * 2

        def __getitem__(self, index):
            tokens = torch.randint(1000, (256,), generator=torch.Generator().manual_seed(index))
            return {"input_ids": tokens, "labels": tokens}

    model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_positions=256, n_embd=512, n_layer=6, n_head=8,
                                       bos_token_id=0, eos_token_id=0))
    model.forward = within("forward", model.forward) if HAND else model.forward
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, max_steps=STEPS, per_device_train_batch_size=16, bf16=True,
                                      gradient_accumulation_steps=2, logging_steps=10, save_strategy="no",
                                      report_to=[], disable_tqdm=True)
        training = Trainer(model=model, args=arguments, train_dataset=Tokens())
        if HAND:
            training.accelerator.backward = within("backward", training.accelerator.backward)
            torch.optim.AdamW.step = within("optimizer", torch.optim.AdamW.step)
        return torch.tensor(training.train().training_loss)


def accelerate():
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, data = accelerator.prepare(model, optimizer, batches(2 * STEPS))
    for (tokens,) in data:
        with accelerator.accumulate(model):
            with hand("forward"):
                loss = model(tokens)
            with hand("backward"):
                accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            with hand("optimizer"):
                optimizer.step()
            optimizer.zero_grad()
    return loss


def lightning():
    import logging

    import lightning as L

    logging.getLogger("lightning").setLevel(logging.ERROR)

    class Training(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = Transformer()

        def training_step(self, batch, _):
            with hand("forward"):
                self.loss = self.model(batch[0])
            return self.loss

        def backward(self, loss, *arguments, **options):
            with hand("backward"):
                super().backward(loss, *arguments, **options)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-4)

    if HAND:  # the step calls a closure, which is none of it
        adam = sys.modules["torch.optim.adam"]
        adam.adam = within("optimizer", adam.adam)
        adam.Adam._init_group = within("optimizer", adam.Adam._init_group)
    training = Training()
    trainer = L.Trainer(max_steps=STEPS, precision="bf16-mixed", gradient_clip_val=1.0, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(training, batches(STEPS))
    return training.loss


def timm():
    import timm as models

    model = models.create_model("resnet50", num_classes=10).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scaler = torch.amp.GradScaler()
    criterion = nn.CrossEntropyLoss()
    images = TensorDataset(torch.randn(64 * STEPS // 4, 3, 224, 224), torch.randint(10, (64 * STEPS // 4,)))
    for _ in range(4):
        for image, target in DataLoader(images, batch_size=64, num_workers=2, pin_memory=True, drop_last=True):
            image = image.cuda(non_blocking=True).to(memory_format=torch.channels_last)
            target = target.cuda(non_blocking=True)
            with torch.autocast("cuda", dtype=torch.float16):
                with hand("forward"):
                    output = model(image)
                loss = criterion(output, target)
            optimizer.zero_grad()
            with hand("backward"):
                scaler.scale(loss).backward()
            with hand("optimizer"):
                scaler.step(optimizer)
            scaler.update()
    return loss


def geometric():
    from torch_geometric.data import Data
    from torch_geometric.nn import GCNConv

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = GCNConv(128, 256), GCNConv(256, 16)

        def forward(self, data):
            x = self.conv1(data.x, data.edge_index).relu()
            return self.conv2(nn.functional.dropout(x, training=self.training), data.edge_index)

    nodes = 20000
    data = Data(x=torch.randn(nodes, 128), edge_index=torch.randint(nodes, (2, 200000)),
                y=torch.randint(16, (nodes,))).to("cuda")
    model = Net().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        model.train()
        optimizer.zero_grad()
        with hand("forward"):
            out = model(data)
        loss = nn.functional.cross_entropy(out, data.y)
        with hand("backward"):
            loss.backward()
        with hand("optimizer"):
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model(data).argmax(dim=1)
    return loss


def generate():
    """Inference only."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_positions=256, n_embd=512, n_layer=6, n_head=8,
                                       bos_token_id=0, eos_token_id=0)).cuda().eval()
    out = model.generate(torch.randint(1, 1000, (4, 16), device="cuda"), max_new_tokens=STEPS, do_sample=False,
                         pad_token_id=0)
    return out.float().mean()


PROGRAMS = {function.__name__: function for function in (
    plain, accumulation, amp, checkpointing, compiled, reduce_overhead, graph, ddp, fsdp2, trainer, accelerate, lightning,
    timm, geometric, generate)}


def backward_by_torch(action, path):
    """GPU time of kernels and copies that were launched in autograd's nodes, as torch.profiler has it."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        result = action()
        torch.cuda.synchronize()
    nodes = [event for event in profiler.key_averages()
             if event.key.startswith("autograd::engine::evaluate_function: ")]
    with open(path, "w") as out:
        json.dump({"nodes": sum(event.count for event in nodes),
                   "gpu_ns": round(1000 * sum(event.device_time_total for event in nodes))}, out)
    return result


def main():
    global HAND, STEPS
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--hand", action="store_true")
    parser.add_argument("--profile", metavar="FILE")
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    HAND, STEPS = options.hand, options.steps
    torch.manual_seed(1)
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    action = PROGRAMS[options.program]
    loss = backward_by_torch(action, options.profile) if options.profile else action()
    torch.cuda.synchronize()
    counters = {}
    if "torch._dynamo" in sys.modules:
        from torch._dynamo.utils import counters as all_counters

        counters = {name: dict(all_counters[name]) for name in ("stats", "graph_break", "recompile_limit")}
        counters = {name: values for name, values in counters.items() if values}
    print(f"loss {loss.detach().float().item().hex()}", json.dumps(counters, sort_keys=True))


if __name__ == "__main__":
    main()
