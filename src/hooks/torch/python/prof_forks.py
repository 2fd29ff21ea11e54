# SPDX-License-Identifier: Apache-2.0
"""Ends libprof's recording in a child of multiprocessing. Such a child ends by os._exit, so none of libprof's exit
handlers run."""
import ctypes
import os

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)

LAST = -1_000_000  # after the program's own finalizers, which may make ranges


def end_recording():
    try:
        threads = "/proc/self/task"
        for thread in os.listdir(threads):
            with open(os.path.join(threads, thread, "comm")) as name:
                if name.read() != "prof-drain\n":
                    continue
            ctypes.CDLL(SETTINGS["NVTX_INJECTION64_PATH"]).prof_stop()
            break
    except Exception:
        pass


def follow(util):
    """Registers a finalizer in each child: a child forgets its parent's finalizers when it begins, but keeps those that
    this function registers."""
    util.register_after_fork(follow, lambda _: util.Finalize(None, end_recording, exitpriority=LAST))
