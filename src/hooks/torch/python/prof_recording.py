# SPDX-License-Identifier: Apache-2.0
"""Pauses libprof's recording while a profiler of the program uses CUPTI, which allows one subscriber."""
import ctypes
import os

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)


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
            self.is_paused = self.library.prof_pause() == 0 or self.was_not_resumed
            if self.is_paused:
                self.library.prof_sync()
        except Exception:
            pass
        return self.is_paused

    def resume(self):
        if self.is_paused:
            self.is_paused = False
            self.was_not_resumed = self.library.prof_resume() != 0
