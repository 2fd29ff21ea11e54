# SPDX-License-Identifier: Apache-2.0
"""Workers of multiprocessing's, forked while their parent has a range open: some make ranges, one does not, one is killed,
and all of a pool's do. Prints what each has made: "pid ranges", in the order of their numbers.

Usage: forked_program.py
"""
import multiprocessing
import os
import signal

import nvtx


def work(count):
    for _ in range(count):
        with nvtx.annotate("fetch", domain="loader"):
            pass
    return os.getpid(), count


def worker(queue, count, is_killed):
    made = work(count)
    if is_killed:
        queue.put(made)
        queue.close()
        queue.join_thread()
        os.kill(os.getpid(), signal.SIGKILL)
    queue.put(made)


def main():
    made = {}
    queue = multiprocessing.Queue()
    with nvtx.annotate("epoch"):
        workers = [multiprocessing.Process(target=worker, args=(queue, count, count == 30)) for count in (10, 20, 30, 0)]
        for process in workers:
            process.start()
        made.update(queue.get() for _ in workers)
        for process in workers:
            process.join()
        with multiprocessing.Pool(2) as pool:
            for pid, count in pool.map(work, [5] * 20, chunksize=1):
                made[pid] = made.get(pid, 0) + count
            pool.close()
            pool.join()
    for pid, count in sorted(made.items()):
        print(pid, count)


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main()
