# SPDX-License-Identifier: Apache-2.0
"""Pauses libprof's recording while a profiler of the program uses CUPTI, which allows one subscriber."""
import ctypes
import os

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
is_own = globals().get("is_own", lambda failure: True)  # of sitecustomize.py


class Recording:
    def __init__(self):
        self.is_paused = False
        self.was_not_resumed = False  # the capture's disk did not answer
        self.library = None

    def pause(self):
        """Returns True if this call has paused the recording. If options decide when to record, it is not paused."""
        if self.is_paused:
            return False
        try:
            self.library = ctypes.CDLL(SETTINGS["NVTX_INJECTION64_PATH"])  # another tool's lacks these functions
            pause = self.library.prof_pause
        except Exception as failure:
            if not is_own(failure):
                raise
            return False
        try:
            self.is_paused = True
            self.is_paused = pause() == 0 or self.was_not_resumed
            if self.is_paused:
                self.library.prof_sync()
        except BaseException:  # of a signal handler of the program, whose profiler then does not begin
            self.resume()
            raise
        return self.is_paused

    def resume(self):
        if self.is_paused:
            self.is_paused = False
            self.was_not_resumed = self.library.prof_resume() != 0
