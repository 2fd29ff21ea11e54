# SPDX-License-Identifier: Apache-2.0
"""Random programs that make CUDA calls, for lines_attack_test.py: they recurse, raise, fork, start threads and end at a
random moment. All that they print follows from their seeds. One process runs several, one after another, since the start
of an interpreter takes longer than a program; the last one ends the process.

Usage: lines_attack.py SEED [COUNT]   with FAKE_CUDA in the environment; WITHOUT_FORK: no program forks
"""
import asyncio
import ctypes
import gc
import os
import random
import sys
import threading

cuda = ctypes.CDLL(os.environ["FAKE_CUDA"])
sys.setrecursionlimit(300)


class Dying:
    """Makes CUDA calls as it is freed: while a frame is cleared, an exception passes, or Python ends."""

    def __init__(self, choice):
        self.choice = choice

    def __del__(self):
        call(self.choice)


def call(chance):
    if chance.random() < 0.5:
        cuda.fake_cuda_launch(b"kernel", ctypes.c_uint64(chance.choice((1000, 40_000, 150_000))), None)
    if chance.random() < 0.7:
        cuda.cudaDeviceSynchronize()
    if chance.random() < 0.2:
        pointer = ctypes.c_void_p()
        cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1000))
        cuda.cudaFree(pointer)


def recurse(chance, depth):
    kept = Dying(chance) if depth % 40 == 0 else None
    if depth % 50 == 0:
        call(chance)
    recurse(chance, depth + 1)
    return kept


def to_the_limit(chance):
    try:
        recurse(chance, 0)
    except RecursionError:
        call(chance)
        return "limit"


def values(chance):
    for i in range(chance.randrange(1, 5)):
        call(chance)
        if chance.random() < 0.1:
            raise ValueError(i)
        yield i


async def waiting(chance, depth=0):
    call(chance)
    await asyncio.sleep(0)
    if depth < chance.randrange(4):
        await asyncio.gather(waiting(chance, depth + 1), waiting(chance, depth + 1))
    call(chance)


def generated(chance):
    name = chance.choice(("f", "é" * chance.randrange(1, 300), "x" * chance.randrange(1, 3000)))
    code = "\n" * chance.randrange(5000) + "def made(call, chance):\n    x = [call(chance) for _ in range(2)]\n    return len(x)\n"
    scope = {}
    exec(compile(code, f"/generated/{name}.py", "exec"), scope)
    made = scope.pop("made")
    return made(call, chance)


def thread(chance):
    def run():
        action(own)

    own = random.Random(chance.random())
    other = threading.Thread(target=run)
    other.start()
    if chance.random() < 0.5:
        call(chance)
    other.join()


def fork(chance):
    """The child prints nothing, since its end is another's. It makes no calls: what another thread, of the simulated GPU
    or its driver, had locked stays locked in the child, with and without a profiler. As it ends, its frames are freed."""
    sys.stdout.flush()
    status = chance.randrange(3)
    if "WITHOUT_FORK" in os.environ:
        return status
    child = os.fork()
    if child == 0:
        try:
            globals()["call"] = lambda chance: None
            to_the_limit(chance)
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] >> 8


def through_exceptions(chance):
    try:
        kept = Dying(chance)
        call(chance)
        raise KeyError(kept)
    except KeyError as failure:
        call(chance)
        return type(failure).__name__
    finally:
        call(chance)


ACTIONS = (to_the_limit, lambda chance: sum(values(chance)), lambda chance: asyncio.run(waiting(chance)), generated, thread,
           fork, through_exceptions, lambda chance: (gc.collect(), None)[1], lambda chance: sorted([3, 1, 2], key=lambda x: call(chance) or x))


def action(chance):
    act = chance.choice(ACTIONS)
    try:
        result = act(chance)
    except ValueError as failure:
        result = failure
    if threading.current_thread() is threading.main_thread():
        print(ACTIONS.index(act), result)


def program(seed, may_end_process):
    chance = random.Random(seed)
    for _ in range(chance.randrange(2, 12)):
        action(chance)
    kept = Dying(chance)
    kept.itself = kept
    end = chance.randrange(5)
    if end == 0:
        other = threading.Thread(target=lambda: [call(random.Random(seed)) for _ in range(10_000 if may_end_process else 20)],
                                 daemon=True)
        other.start()
        if not may_end_process:
            other.join()  # a later program's fork() would leave what it has locked locked for ever
    if end == 1 and may_end_process:
        sys.stdout.flush()
        os._exit(7)
    if end == 2:
        raise SystemExit(9)
    if end == 3:
        raise LookupError(seed)
    print("end")


first, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
for number in range(first, first + count - 1):
    try:
        program(number, False)
    except (LookupError, SystemExit) as failure:
        print(type(failure).__name__, failure)
program(first + count - 1, True)
