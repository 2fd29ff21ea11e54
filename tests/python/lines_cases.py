# SPDX-License-Identifier: Apache-2.0
"""Programs of known lines, for lines_test.py: each line that is to be found ends with a comment, its name.

Usage: lines_cases.py CASE   with FAKE_CUDA in the environment
"""
import asyncio
import ctypes
import functools
import os
import sys
import threading
import time

cuda = ctypes.CDLL(os.environ["FAKE_CUDA"])
launch = cuda.fake_cuda_launch
wait = cuda.cudaDeviceSynchronize
LONG = ctypes.c_uint64(10_000_000)


class Tensor:
    def __bool__(self):
        launch(b"kernel", LONG, None)
        wait()  # in __bool__
        return True


def condition():
    if Tensor():  # if
        return 1
    return 0


def several_lines():
    for _ in range(3):
        launch(b"kernel", LONG, None)
        _ = [1,
             wait(),  # element
             2]


def two_flaws():
    for _ in range(3):
        launch(b"kernel", LONG, None)
        wait()  # first flaw
        time.sleep(0.01)  # which the GPU could work through
        launch(b"kernel", LONG, None)
        wait()  # second flaw
        time.sleep(0.01)


def comprehension():
    return [(launch(b"kernel", LONG, None),
             wait())  # comprehension
            for _ in range(2)]


def values():
    launch(b"kernel", LONG, None)
    yield 1
    wait()  # generator
    yield 2


def generator():
    return sum(values())  # sum


async def coroutine():
    launch(b"kernel", LONG, None)
    await asyncio.sleep(0)
    wait()  # coroutine


def run_async():
    asyncio.run(coroutine())  # run


def recursion(depth=150):
    if depth == 0:
        launch(b"kernel", LONG, None)
        wait()  # deepest
    else:
        recursion(depth - 1)


def decorated(function):
    @functools.wraps(function)
    def call(*arguments):
        return function(*arguments)  # decorator

    return call


@decorated
def decorated_function():
    launch(b"kernel", LONG, None)
    wait()  # decorated


def in_thread():
    launch(b"kernel", LONG, None)
    wait()  # thread


def thread():
    other = threading.Thread(target=in_thread)
    other.start()
    other.join()


def handler():
    try:
        raise ValueError
    except ValueError:
        launch(b"kernel", LONG, None)
        wait()  # handler
    finally:
        launch(b"kernel", LONG, None)
        wait()  # finally


def with_statement():
    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            launch(b"kernel", LONG, None)
            wait()  # exit

    with Manager():  # with
        pass


def stretch():
    launch(b"kernel", ctypes.c_uint64(1000), None)
    time.sleep(0.003)
    launch(b"kernel", ctypes.c_uint64(1000), None)  # after the stretch
    launch(b"kernel", ctypes.c_uint64(1000), None)


def slow():
    time.sleep(0.005)  # slow


def slow_function():
    for _ in range(40):
        launch(b"kernel", LONG, None)
        wait()
        slow()
        launch(b"kernel", LONG, None)


def generated():
    code = "\n" * 4 + "def made(launch, wait, long):\n    launch(b'kernel', long, None)\n    wait()\n"
    scope = {}
    exec(compile(code, "/somewhere/généré 程序.py", "exec"), scope)
    scope["made"](launch, wait, LONG)


def short():
    for _ in range(100):
        launch(b"kernel", ctypes.c_uint64(1000), None)


def long_function():
    pass


# A function with a table of lines of some kilobytes.
exec(compile("\n" * 1000 + "def long_function():\n" + "    x = 1 + len('a')\n" * 3000 +
             "    launch(b'kernel', LONG, None)\n    wait()\n", "/somewhere/long.py", "exec"), globals())

if __name__ == "__main__":
    globals()[sys.argv[1]]()
