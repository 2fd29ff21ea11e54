# SPDX-License-Identifier: Apache-2.0
"""Exceptions at random moments of a PyTorch program: of signal handlers and asynchronous ones. Each must reach the
program. For exceptions_test.py.

    raised_anywhere.py COUNT     prints how many were raised and how many were lost
"""
import ctypes
import signal
import sys
import threading
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Raised(Exception):
    pass


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.body(x))


class Batches(torch.utils.data.Sampler):
    def __init__(self):
        pass

    def __iter__(self):
        for at in range(6):
            yield [at, at + 1]

    def __len__(self):
        return 6


net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.01)
data = TensorDataset(torch.ones(12, 4), torch.zeros(12, dtype=torch.long))
raised = 0


def on_signal(*_):
    global raised
    raised += 1
    raise Raised


def work():
    for x, y in DataLoader(data, batch_sampler=Batches()):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        net.eval()(x)
    net.train()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    Net()(x)  # new modules


def by_signal(delay):
    signal.setitimer(signal.ITIMER_REAL, delay)


def by_another_thread(delay):
    """The exception is due at any instruction of the thread."""
    thread = threading.get_ident()

    def act():
        global raised
        time.sleep(delay)
        raised += ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Raised))

    threading.Thread(target=act, daemon=True).start()


def work_until_raised():
    """A function of its own: in Python 3.13.0 the jump back of a `while` is not covered by a `try` around the loop."""
    while raised == 0:
        work()
    for _ in range(200):  # what is due is raised here at the latest
        pass


def count_lost(count, begin):
    global raised
    lost = 0
    for index in range(count):
        raised = 0
        torch.set_grad_enabled(True)  # an exception may have left no_grad before its end
        net.train()
        try:
            begin(0.0003 + index % 97 * 0.00003)
            work_until_raised()
            lost += 1
        except Raised:
            pass
    return lost


torch.set_num_threads(1)
signal.signal(signal.SIGALRM, on_signal)
work()
count = int(sys.argv[1])
for begin in (by_signal, by_another_thread):
    print(begin.__name__, count, "raised", count_lost(count, begin), "lost", flush=True)
