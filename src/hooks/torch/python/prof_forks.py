# SPDX-License-Identifier: Apache-2.0
"""Ends libprof's recording in a child of multiprocessing. Such a child ends by os._exit, so none of libprof's exit
handlers run. Nothing is put into multiprocessing's own registries, whose lengths a program can see."""
import functools
import os

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
is_own, has_recorded = globals()["is_own"], globals()["has_recorded"]  # of sitecustomize.py


def end_recording():
    try:
        if not has_recorded():
            return
        import ctypes

        ctypes.CDLL(SETTINGS["NVTX_INJECTION64_PATH"]).prof_stop()
    except Exception as failure:
        if not is_own(failure):
            raise


def follow(util):
    """Called in a child. The function that multiprocessing calls at the child's end also runs the program's finalizers,
    which may make ranges."""
    original = util._exit_function

    @functools.wraps(original)
    def _exit_function(*arguments, **options):
        try:
            return original(*arguments, **options)
        finally:
            end_recording()

    util._exit_function = _exit_function
