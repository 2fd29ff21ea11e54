# SPDX-License-Identifier: Apache-2.0
"""Loops of PyTorch programs, each with the number of its iterations as a person counts them, for loops_test.py. Where
libprof finds another number, that number stands beside it, and docs/guide/phases.md says why.

    loop_shapes.py FOLDER [SHAPE...]     prints a line of JSON for each: name, iterations, steps that are expected, rows
"""
import copy
import itertools
import json
import os
import random
import sys
import threading
import traceback

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

SHAPES = {}
loss_of = nn.functional.cross_entropy


def shape(iterations, found=None):
    def keep(function):
        SHAPES[function.__name__] = (function, iterations, iterations if found is None else found)
        return function

    return keep


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x).relu())


def tensors(count=40):
    return TensorDataset(torch.ones(count, 4), torch.zeros(count, dtype=torch.long))


def loader(count=40, **options):
    return DataLoader(tensors(count), batch_size=4, **options)


def batches(count=10):
    return [(torch.ones(4, 4), torch.zeros(4, dtype=torch.long))] * count


def made(count=1):
    nets = [Net() for _ in range(count)]
    pairs = [(net, torch.optim.SGD(net.parameters(), 0.01)) for net in nets]
    return pairs[0] if count == 1 else pairs


def update(net, optimizer, x, y):
    optimizer.zero_grad()
    loss_of(net(x), y).backward()
    optimizer.step()


def evaluate(net, data, no_grad=True):
    net.eval()
    with torch.set_grad_enabled(not no_grad):
        for x, _ in data:
            net(x)
    net.train()


# ---- One optimizer ----

@shape(10)
def plain():
    net, optimizer = made()
    for x, y in loader():
        update(net, optimizer, x, y)


@shape(10)
def plain_in_a_frame():
    net, optimizer = made()
    for x, y in loader():
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()


@shape(20)
def shuffled_epochs():
    net, optimizer = made()
    data = loader(shuffle=True)
    for _ in range(2):
        for x, y in data:
            update(net, optimizer, x, y)


@shape(6)
def dropped_last():
    net, optimizer = made()
    for _ in range(2):
        for x, y in loader(14, drop_last=True, shuffle=True):
            update(net, optimizer, x, y)


@shape(10)
def weighted_sampler():
    net, optimizer = made()
    sampler = torch.utils.data.WeightedRandomSampler([1.0] * 40, 40)
    for x, y in loader(sampler=sampler):
        update(net, optimizer, x, y)


@shape(10)
def subset_sampler():
    net, optimizer = made()
    for x, y in loader(sampler=torch.utils.data.SubsetRandomSampler(list(range(40)))):
        update(net, optimizer, x, y)


@shape(10)
def distributed_sampler():
    net, optimizer = made()
    for x, y in loader(sampler=torch.utils.data.DistributedSampler(tensors(), num_replicas=1, rank=0)):
        update(net, optimizer, x, y)


class Batches(torch.utils.data.Sampler):
    def __init__(self):
        pass

    def __iter__(self):
        for at in range(10):
            yield [at, at + 1]


@shape(20)
def sampler_of_the_program():
    net, optimizer = made()
    data = DataLoader(tensors(), batch_sampler=Batches())
    for _ in range(2):
        for x, y in data:
            update(net, optimizer, x, y)
        evaluate(net, loader(12))


@shape(10)
def without_batches():
    net, optimizer = made()
    for x, y in DataLoader(tensors(10), batch_size=None):
        update(net, optimizer, x[None], y[None])


@shape(10)
def zero_after():
    net, optimizer = made()
    for x, y in batches():
        loss_of(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


@shape(10)
def zero_first_list():
    net, optimizer = made()
    for x, y in batches():
        update(net, optimizer, x, y)


@shape(10)
def manual_zero():
    net, optimizer = made()
    for x, y in batches():
        for each in net.parameters():
            each.grad = None
        loss_of(net(x), y).backward()
        optimizer.step()


@shape(10)
def model_zero_grad():
    net, optimizer = made()
    for x, y in batches():
        net.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()


@shape(5)
def accumulation_list():
    net, optimizer = made()
    for index, (x, y) in enumerate(batches(20)):
        loss_of(net(x), y).backward()
        if index % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


@shape(5)
def accumulation_loader():
    net, optimizer = made()
    for index, (x, y) in enumerate(loader(80)):
        loss_of(net(x), y).backward()
        if index % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


@shape(5)
def accumulation_inner():
    net, optimizer = made()
    data = iter(loader(80))
    for _ in range(5):
        optimizer.zero_grad()
        for _ in range(4):
            x, y = next(data)
            loss_of(net(x), y).backward()
        optimizer.step()


@shape(5)
def accumulation_upfront():
    net, optimizer = made()
    data = iter(loader(40))
    for _ in range(5):
        parts = [next(data) for _ in range(2)]
        optimizer.zero_grad()
        for x, y in parts:
            loss_of(net(x), y).backward()
        optimizer.step()


@shape(10)
def while_loop():
    net, optimizer = made()
    count, (x, y) = 0, batches()[0]
    while count < 10:
        count += 1
        update(net, optimizer, x, y)


@shape(10)
def while_true():
    net, optimizer = made()
    count, (x, y) = 0, batches()[0]
    while True:
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()
        count += 1
        if count == 10:
            break


@shape(10)
def try_and_except():
    net, optimizer = made()
    for x, y in batches():
        try:
            update(net, optimizer, x, y)
            raise ValueError
        except ValueError:
            continue


@shape(10)
def with_a_context():
    net, optimizer = made()
    for x, y in batches():
        with torch.autocast("cpu", enabled=False):
            loss = loss_of(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        with torch.no_grad():
            optimizer.step()


@shape(10)
def function_for_a_batch():
    def one(x, y):
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()

    net, optimizer = made()
    for x, y in loader():
        one(x, y)


@shape(10)
def step_in_another_function():
    def backward(loss):
        loss.backward()

    def step():
        optimizer.step()

    net, optimizer = made()
    for x, y in batches():
        loss = loss_of(net(x), y)
        backward(loss)
        step()
        optimizer.zero_grad()


@shape(10)
def loader_through_generators():
    def moved(data):
        for x, y in data:
            yield x * 1, y

    net, optimizer = made()
    for x, y in moved(moved(loader())):
        update(net, optimizer, x, y)


@shape(10)
def comprehension():
    net, optimizer = made()
    [update(net, optimizer, x, y) for x, y in loader()]


@shape(10)
def mapped():
    net, optimizer = made()
    list(map(lambda batch: update(net, optimizer, *batch), loader()))


@shape(4)
def unrolled():
    net, optimizer = made()
    x, y = batches()[0]
    update(net, optimizer, x, y)
    update(net, optimizer, x, y)
    update(net, optimizer, x, y)
    update(net, optimizer, x, y)


@shape(10)
def trainer_of_classes():
    class Trainer:
        def __init__(self):
            self.net, self.optimizer = made()

        def fit(self, data):
            for epoch in range(2):
                self.run_epoch(data)

        def run_epoch(self, data):
            for x, y in data:
                self.on_batch(x, y)

        def on_batch(self, x, y):
            loss = self.loss(x, y)
            self.optimize(loss)

        def loss(self, x, y):
            return loss_of(self.net(x), y)

        def optimize(self, loss):
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    Trainer().fit(loader(20))


@shape(10, found=11)
def events_of_a_trainer():
    hooks = {"forward": [], "after": []}

    def call(name, *given):
        for hook in hooks[name]:
            hook(*given)

    net, optimizer = made()
    hooks["forward"].append(lambda x, y: loss_of(net(x), y).backward())
    hooks["after"].extend([lambda: optimizer.step(), lambda: optimizer.zero_grad()])
    for x, y in loader():
        call("forward", x, y)
        call("after")


@shape(10)
def closures():
    net, optimizer = made()
    for x, y in loader():
        def closure():
            optimizer.zero_grad()
            loss = loss_of(net(x), y)
            loss.backward()
            return loss

        optimizer.step(closure)


@shape(10)
def closures_that_draw_their_data():
    net, optimizer = made()
    x, y = batches(1)[0]

    def closure():
        optimizer.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        return loss

    for _ in range(10):
        optimizer.step(closure)


@shape(10)
def lbfgs():
    net = Net()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)
    for x, y in loader():
        def closure():
            optimizer.zero_grad()
            loss = loss_of(net(x), y)
            loss.backward()
            return loss

        optimizer.step(closure)


@shape(10)
def scheduler_inside():
    net, optimizer = made()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for x, y in batches():
        update(net, optimizer, x, y)
        scheduler.step()


@shape(10)
def step_twice():
    net, optimizer = made()
    for x, y in loader():
        update(net, optimizer, x, y)
        update(net, optimizer, x, y)


@shape(10)
def step_twice_list():
    net, optimizer = made()
    for x, y in batches():
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()


@shape(10, found=9)
def delayed_step():
    net, optimizer = made()
    is_due = False
    for x, y in loader():
        if is_due:
            optimizer.step()
            optimizer.zero_grad()
        loss_of(net(x), y).backward()
        is_due = True


@shape(10)
def metric_after_the_step():
    net, optimizer = made()
    for x, y in batches():
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()
        net(x)


@shape(10)
def metric_without_gradients():
    net, optimizer = made()
    for x, y in batches():
        update(net, optimizer, x, y)
        with torch.no_grad():
            net(x)


@shape(10)
def tensors_only():
    weights = torch.ones(4, 2, requires_grad=True)
    optimizer = torch.optim.SGD([weights], 0.1)
    for x, y in batches():
        optimizer.zero_grad()
        loss_of(x @ weights, y).backward()
        optimizer.step()


@shape(10)
def tensors_zero_after():
    weights = torch.ones(4, 2, requires_grad=True)
    optimizer = torch.optim.SGD([weights], 0.1)
    for x, y in batches():
        loss_of(x @ weights, y).backward()
        optimizer.step()
        optimizer.zero_grad()


@shape(10)
def tensors_with_loader():
    weights = torch.ones(4, 2, requires_grad=True)
    optimizer = torch.optim.SGD([weights], 0.1)
    for x, y in loader():
        optimizer.zero_grad()
        loss_of(x @ weights, y).backward()
        optimizer.step()


@shape(10)
def scaler():
    net, optimizer = made()
    scale = torch.amp.GradScaler("cpu", init_scale=8.0)
    for index, (x, y) in enumerate(loader()):
        optimizer.zero_grad()
        loss = loss_of(net(x), y) * (float("inf") if index == 2 else 1)
        scale.scale(loss).backward()
        scale.step(optimizer)
        scale.update()


@shape(10)
def criterion_module():
    net, optimizer = made()
    criterion = nn.CrossEntropyLoss()
    for x, y in loader():
        optimizer.zero_grad()
        criterion(net(x), y).backward()
        optimizer.step()


@shape(8, found=9)
def skipped_for_nan():
    net, optimizer = made()
    for index, (x, y) in enumerate(loader()):
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        if index % 5 == 4:
            continue
        optimizer.step()


@shape(6, found=7)
def skipped_batches():
    net, optimizer = made()
    for index, (x, y) in enumerate(loader()):
        if index > 5:
            continue
        update(net, optimizer, x, y)


@shape(10, found=11)
def broken_off():
    net, optimizer = made()
    for index, (x, y) in enumerate(loader(80)):
        if index == 10:
            break
        update(net, optimizer, x, y)


@shape(10)
def next_and_stop():
    net, optimizer = made()
    data = iter(loader())
    while True:
        try:
            x, y = next(data)
        except StopIteration:
            break
        update(net, optimizer, x, y)


@shape(10)
def endless_iterator():
    net, optimizer = made()
    data = iter(loader(16))
    for _ in range(10):
        try:
            x, y = next(data)
        except StopIteration:
            data = iter(loader(16))
            x, y = next(data)
        update(net, optimizer, x, y)


@shape(10)
def cycled():
    net, optimizer = made()
    for x, y in itertools.islice(itertools.cycle(loader(16)), 10):
        update(net, optimizer, x, y)


@shape(10)
def prefetched():
    net, optimizer = made()
    data = iter(loader())
    batch = next(data, None)
    while batch is not None:
        following = next(data, None)
        update(net, optimizer, *batch)
        batch = following


@shape(10)
def prefetched_at_the_end():
    net, optimizer = made()
    data = iter(loader())
    batch = next(data, None)
    while batch is not None:
        update(net, optimizer, *batch)
        batch = next(data, None)


@shape(10)
def prefetched_in_the_middle():
    net, optimizer = made()
    data = iter(loader())
    batch = next(data, None)
    while batch is not None:
        x, y = batch
        optimizer.zero_grad()
        loss = loss_of(net(x), y)
        batch = next(data, None)
        loss.backward()
        optimizer.step()


@shape(10)
def two_loaders():
    net, optimizer = made()
    for (x, y), (u, v) in zip(loader(), loader()):
        optimizer.zero_grad()
        (loss_of(net(x), y) + loss_of(net(u), v)).backward()
        optimizer.step()


@shape(10)
def second_loader_inside():
    net, optimizer = made()
    other = iter(loader())
    for x, y in loader():
        u, v = next(other)
        optimizer.zero_grad()
        (loss_of(net(x), y) + loss_of(net(u), v)).backward()
        optimizer.step()


@shape(10)
def workers():
    net, optimizer = made()
    for x, y in loader(num_workers=1):
        update(net, optimizer, x, y)


class Endless(IterableDataset):
    def __iter__(self):
        for _ in range(40):
            yield torch.ones(4), 0


@shape(20, found=21)
def iterable_data():
    net, optimizer = made()
    for _ in range(2):
        for x, y in DataLoader(Endless(), batch_size=4):
            update(net, optimizer, x, y)


@shape(10)
def buffered_first():
    net, optimizer = made()
    for x, y in list(loader()):
        update(net, optimizer, x, y)


@shape(20)
def buffered_each_epoch():
    net, optimizer = made()
    for _ in range(2):
        for x, y in list(loader()):
            update(net, optimizer, x, y)


@shape(10)
def replay_buffer():
    net, optimizer = made()
    for x, y in loader(8):
        for _ in range(5):
            update(net, optimizer, x, y)


@shape(24)
def ppo():
    net, optimizer = made()
    for _ in range(3):
        with torch.no_grad():
            for x, _ in batches(4):
                net(x)
        for _ in range(2):
            for x, y in batches(4):
                update(net, optimizer, x, y)


@shape(10)
def contrastive():
    net, optimizer = made()
    for x, y in loader():
        optimizer.zero_grad()
        (net(x) - net(x * 2)).square().sum().backward()
        optimizer.step()


@shape(10)
def teacher():
    net, optimizer = made()
    other = Net().eval()
    for x, y in batches():
        with torch.no_grad():
            target = other(x)
        optimizer.zero_grad()
        (net(x) - target).square().sum().backward()
        optimizer.step()


@shape(10)
def sharpness_aware():
    net, optimizer = made()
    for x, y in loader():
        loss_of(net(x), y).backward()
        with torch.no_grad():
            for each in net.parameters():
                each.add_(each.grad, alpha=0.01)
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


@shape(10)
def step_in_backward():
    net = Net()
    optimizers = {each: torch.optim.SGD([each], 0.01) for each in net.parameters()}

    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for each in net.parameters():
        each.register_post_accumulate_grad_hook(step)
    for x, y in loader():
        loss_of(net(x), y).backward()


# ---- Evaluation ----

@shape(20)
def evaluated_each_epoch():
    net, optimizer = made()
    for _ in range(2):
        for x, y in loader():
            update(net, optimizer, x, y)
        evaluate(net, loader(12))


@shape(20)
def evaluated_with_gradients():
    net, optimizer = made()
    for _ in range(2):
        for x, y in loader():
            update(net, optimizer, x, y)
        evaluate(net, loader(12), no_grad=False)


@shape(20)
def evaluated_after_the_fetch():
    net, optimizer = made()
    for _ in range(2):
        for x, y in loader():
            update(net, optimizer, x, y)
        net.eval()
        for x, _ in loader(12):
            with torch.no_grad():
                net(x)
        net.train()


@shape(20)
def evaluated_on_the_same_data():
    net, optimizer = made()
    data = loader()
    for _ in range(2):
        for x, y in data:
            update(net, optimizer, x, y)
        net.eval()
        for x, _ in data:
            with torch.no_grad():
                net(x)
        net.train()


@shape(20)
def evaluated_within_the_epoch():
    net, optimizer = made()
    for _ in range(2):
        for index, (x, y) in enumerate(loader()):
            update(net, optimizer, x, y)
            if index % 4 == 3:
                evaluate(net, loader(12), no_grad=False)


@shape(20)
def evaluated_before_the_update():
    net, optimizer = made()
    for _ in range(2):
        for index, (x, y) in enumerate(loader()):
            if index % 4 == 3:
                evaluate(net, loader(12), no_grad=False)
            update(net, optimizer, x, y)


@shape(20)
def evaluated_from_lists():
    net, optimizer = made()
    for _ in range(2):
        for x, y in batches():
            update(net, optimizer, x, y)
        evaluate(net, batches(3))


@shape(10)
def evaluated_first():
    net, optimizer = made()
    evaluate(net, loader(8))
    for x, y in loader():
        update(net, optimizer, x, y)


@shape(20)
def fresh_datasets():
    net, optimizer = made()
    for _ in range(4):
        for x, y in loader(20):
            update(net, optimizer, x, y)
        evaluate(net, loader(12), no_grad=False)


@shape(20)
def early_stopping():
    net, optimizer = made()
    epoch = 0
    while epoch < 2:
        epoch += 1
        for x, y in loader():
            update(net, optimizer, x, y)
        evaluate(net, loader(8))
        copy.deepcopy(net.state_dict())


# ---- Several optimizers ----

@shape(10)
def gan():
    (one, first), (two, second) = made(2)
    for x, y in loader():
        update(one, first, x, y)
        update(two, second, x, y)


@shape(10)
def gan_list():
    (one, first), (two, second) = made(2)
    for x, y in batches():
        update(one, first, x, y)
        update(two, second, x, y)


def critics(count, from_loader=False):
    (one, first), (two, second) = made(2)
    data = iter(loader(4 * 6 * count)) if from_loader else None
    x, y = batches()[0]
    for _ in range(6):
        for _ in range(count):
            if data is not None:
                x, y = next(data)
            first.zero_grad()
            loss_of(one(x), y).backward()
            first.step()
        second.zero_grad()
        loss_of(two(x), y).backward()
        second.step()


@shape(6)
def critic_2():
    critics(2)


@shape(6)
def critic_5():
    critics(5)


@shape(6)
def critic_5_loader():
    critics(5, True)


@shape(6)
def critic_10():
    critics(10)


@shape(6)
def critic_20():
    critics(20)


@shape(6)
def critic_20_loader():
    critics(20, True)


@shape(10)
def alternating():
    (one, first), (two, second) = made(2)
    for index, (x, y) in enumerate(loader()):
        if index % 2:
            update(two, second, x, y)
        else:
            update(one, first, x, y)


@shape(10, found=5)
def alternating_list():
    (one, first), (two, second) = made(2)
    for index, (x, y) in enumerate(batches()):
        if index % 2:
            update(two, second, x, y)
        else:
            update(one, first, x, y)


@shape(10)
def unused_optimizer():
    (net, optimizer), _unused = made(2)
    for x, y in loader():
        update(net, optimizer, x, y)


@shape(10)
def unused_optimizer_list():
    (net, optimizer), _unused = made(2)
    for x, y in batches():
        update(net, optimizer, x, y)


@shape(10)
def rare_optimizer():
    (one, first), (two, second) = made(2)
    for index, (x, y) in enumerate(loader()):
        update(one, first, x, y)
        if index % 5 == 4:
            update(two, second, x, y)


@shape(10)
def rare_optimizer_list():
    (one, first), (two, second) = made(2)
    for index, (x, y) in enumerate(batches()):
        update(one, first, x, y)
        if index % 5 == 4:
            update(two, second, x, y)


@shape(10)
def ensemble():
    pairs = made(5)
    for x, y in loader():
        for net, optimizer in pairs:
            update(net, optimizer, x, y)


@shape(10)
def ensemble_list():
    pairs = made(5)
    for x, y in batches():
        for net, optimizer in pairs:
            update(net, optimizer, x, y)


@shape(15)
def population():
    for net, optimizer in made(3):
        for x, y in loader(20):
            update(net, optimizer, x, y)


@shape(20)
def two_stages():
    (one, first), (two, second) = made(2)
    for x, y in loader():
        update(one, first, x, y)
    for x, y in loader():
        update(two, second, x, y)


@shape(20)
def two_stages_list():
    (one, first), (two, second) = made(2)
    for x, y in batches():
        update(one, first, x, y)
    for x, y in batches():
        update(two, second, x, y)


@shape(20)
def new_optimizer_each_epoch():
    net = Net()
    for _ in range(2):
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for x, y in loader():
            update(net, optimizer, x, y)


@shape(20)
def new_optimizer_each_epoch_list():
    net = Net()
    for _ in range(2):
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for x, y in batches():
            update(net, optimizer, x, y)


@shape(15)
def folds():
    for _ in range(3):
        net, optimizer = made()
        for x, y in loader(20):
            update(net, optimizer, x, y)
        evaluate(net, loader(8))


@shape(8)
def maml():
    net, meta = made()
    x, y = batches()[0]
    for _ in range(8):
        meta.zero_grad()
        for _ in range(2):
            fast = copy.deepcopy(net)
            inner = torch.optim.SGD(fast.parameters(), 0.1)
            for _ in range(3):
                inner.zero_grad()
                loss_of(fast(x), y).backward()
                inner.step()
        loss_of(net(x), y).backward()
        meta.step()


@shape(10)
def two_scalers():
    (one, first), (two, second) = made(2)
    scale = torch.amp.GradScaler("cpu", init_scale=8.0)
    for x, y in loader():
        first.zero_grad()
        second.zero_grad()
        scale.scale(loss_of(two(one(x).repeat(1, 2)), y)).backward()
        scale.step(first)
        scale.step(second)
        scale.update()


# ---- No optimizer ----

@shape(10)
def no_optimizer():
    net = Net()
    for x, y in loader():
        loss_of(net(x), y).backward()


@shape(10)
def no_optimizer_list():
    net = Net()
    for x, y in batches():
        loss_of(net(x), y).backward()


@shape(10)
def criterion_without_optimizer():
    net, criterion = Net(), nn.CrossEntropyLoss()
    for x, y in batches():
        criterion(net(x), y).backward()


@shape(10)
def inference():
    net = Net().eval()
    for x, _ in batches():
        net(x)


@shape(10)
def inference_of_two_models():
    one, two = Net().eval(), Net().eval()
    for x, _ in batches():
        one(x)
        two(x)


@shape(10)
def inference_with_loader():
    one, two = Net().eval(), Net().eval()
    for x, _ in loader():
        one(x)
        two(x)


@shape(4)
def inference_unrolled():
    net = Net()
    x, _ = batches()[0]
    net(x)
    net(x)
    net(x)
    net(x)


@shape(10, found=11)  # where the recording is the program's own: there may be a model already
def statistics_before():
    for x, _ in loader():
        x.mean()
    net, optimizer = made()
    for x, y in loader():
        update(net, optimizer, x, y)


@shape(10, found=12)
def dry_run():
    net = Net()
    for x, y in batches(2):
        loss_of(net(x), y).backward()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for x, y in loader():
        update(net, optimizer, x, y)


# ---- Threads ----

@shape(10)
def trained_on_a_thread():
    net, optimizer = made()
    thread = threading.Thread(target=lambda: [update(net, optimizer, x, y) for x, y in loader()])
    thread.start()
    thread.join()


@shape(10)
def made_and_trained_on_a_thread():
    def work():
        net, optimizer = made()
        for x, y in loader():
            update(net, optimizer, x, y)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@shape(20)
def threads_one_after_another():
    def work():
        net, optimizer = made()
        for x, y in loader():
            update(net, optimizer, x, y)

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


# ---- torch.compile ----

@shape(10)
def compiled_optimizer():
    net, optimizer = made()
    step = torch.compile(optimizer.step, backend="eager")
    for x, y in loader():
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        step()


@shape(10)
def compiled_whole_step():
    net, optimizer = made()

    @torch.compile(backend="eager")
    def one(x, y):
        optimizer.zero_grad()
        loss_of(net(x), y).backward()
        optimizer.step()

    for x, y in loader():
        one(x, y)


@shape(10)
def compiled_whole_step_list():
    net, optimizer = made()

    @torch.compile(backend="eager")
    def one(x, y):
        loss_of(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()

    for x, y in batches():
        one(x, y)


@shape(10)
def compiled_model():
    net, optimizer = made()
    run = torch.compile(net, backend="eager")
    for x, y in loader():
        update(run, optimizer, x, y)


@shape(10)
def compiled_function_alone():
    net = Net().eval()
    run = torch.compile(lambda x: net(x).relu(), backend="eager")
    for x, _ in batches():
        run(x)


# ---- Random loops ----

def random_loop(seed):
    """A loop in a loop with what is found in programs, in random order."""
    choice = random.Random(seed)
    with_loader, with_evaluation, with_metric, accumulated = (choice.random() < 0.5 for _ in range(4))
    epochs, count, every = choice.randint(1, 3), choice.randint(3, 9), choice.randint(2, 3)
    zero_first, gradients, in_function = (choice.random() < 0.5 for _ in range(3))

    def program():
        def step(x, y, index):
            if zero_first and not accumulated:
                optimizer.zero_grad()
            loss_of(net(x), y).backward()
            if accumulated and index % every != every - 1:
                return
            optimizer.step()
            if not zero_first or accumulated:
                optimizer.zero_grad()

        net, optimizer = made()
        for _ in range(epochs):
            for index, (x, y) in enumerate(loader(4 * count * every) if with_loader else batches(count * every)):
                if in_function:
                    step(x, y, index)
                else:
                    if zero_first and not accumulated:
                        optimizer.zero_grad()
                    loss_of(net(x), y).backward()
                    if not accumulated or index % every == every - 1:
                        optimizer.step()
                        if not zero_first or accumulated:
                            optimizer.zero_grad()
                if with_metric:
                    with torch.no_grad():
                        net(x)
            if with_evaluation:
                evaluate(net, loader(8) if with_loader else batches(2), no_grad=not gradients)

    program.__name__ = "random_%d" % seed
    shape(epochs * count * (1 if accumulated else every))(program)


for number in range(40):
    random_loop(number)


def rows_of(name, folder):
    import libprof

    with libprof.recording(export=[], output_dir=folder, name=name) as run:
        SHAPES[name][0]()
    return {row["path"]: row["instances"] for row in run.capture.report().to_dicts() if row.get("observed")}


def main(folder, *names):
    torch.set_num_threads(1)
    compiled_optimizer()  # imports what PyTorch imports at first use
    for name in names or SHAPES:
        child = os.fork()
        if child == 0:
            try:
                function, iterations, found = SHAPES[name]
                print(json.dumps([name, iterations, found, rows_of(name, folder)]), flush=True)
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
