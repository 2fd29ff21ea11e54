# SPDX-License-Identifier: Apache-2.0
"""Pauses libprof for Triton's profiler, Proton, which fails if it cannot subscribe to CUPTI."""
import ctypes
import functools
import os
import shutil
import tempfile

# The options: of the environment, unless a program has given others (sitecustomize.py).
SETTINGS = globals().get("SETTINGS", os.environ)
is_own = globals().get("is_own", lambda failure: True)  # of sitecustomize.py

# The variables that name Proton's CUPTI folder: from Triton 3.6 on, the second for newer versions on Blackwell. Before
# 3.6 the folder is an argument.
CUPTI_FOLDERS = ("TRITON_CUPTI_LIB_PATH", "TRITON_CUPTI_LIB_BLACKWELL_PATH")
# With these versions of CUPTI, only one copy of the library in a process can be subscribed to. That holds even after
# the first copy was finalized. Measured: this holds for 13.0 to 13.2, and not for 13.5.
EXCLUSIVE = range(130000, 130500)


def cupti_in_use():
    """The path of libprof's libcupti: the chosen one, or the only one in the process. None if there are several."""
    chosen = SETTINGS.get("PROF_CUPTI_LIBRARY", "")
    if os.path.isfile(chosen):
        return os.path.abspath(chosen)
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        found = {line.split(None, 5)[5].rstrip("\n") for line in maps if "/libcupti.so" in line}
    library = found.pop() if len(found) == 1 else ""
    return library if os.path.isfile(library) else None


def cupti_to_share():
    """The same path, if Proton can subscribe to no other copy, and may finalize this one, as it does at its end. None
    if CUPTI has to stay in the process: then an error in Proton is the better outcome."""
    has_to_stay = SETTINGS.get("PROF_CUDA_GRAPHS") == "graphs" or SETTINGS.get("PROF_API_CALLS") == "runtime"
    try:
        library = None if has_to_stay else cupti_in_use()
        if library is None:
            return None
        version = ctypes.c_uint32()
        ctypes.CDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_NOW).cuptiGetVersion(ctypes.byref(version))
        return library if version.value in EXCLUSIVE else None
    except (OSError, AttributeError) as failure:
        if not is_own(failure):
            raise
        return None


def start_with_shared_cupti(start, arguments, options):
    """Starts Proton with libprof's CUPTI instead of its own, under the name that Proton searches for."""
    folder = folder_of(cupti_to_share())
    if folder is None:
        return start(*arguments, **options)
    before = {}
    try:
        replaced = [folder if has_cupti(value) else value for value in arguments]
        if not any(value is folder for value in replaced):  # Proton may just have set these variables itself
            before = {name: os.environ.get(name) for name in CUPTI_FOLDERS}
            os.environ.update(dict.fromkeys(CUPTI_FOLDERS, folder))
        return start(*replaced, **options)
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)


def folder_of(library):
    """A folder that contains only the library, as libcupti.so; None if there is no such folder."""
    folder = None
    try:
        if library is not None:
            folder = tempfile.mkdtemp(prefix="prof_cupti_")
            os.symlink(library, os.path.join(folder, "libcupti.so"))
        return folder
    except BaseException as failure:
        shutil.rmtree(folder or "", ignore_errors=True)
        if not isinstance(failure, OSError) or not is_own(failure):
            raise
        return None


def has_cupti(value):
    return type(value) is str and value != "" and os.path.isfile(os.path.join(value, "libcupti.so"))


class Sessions:
    """Proton's sessions that use CUPTI. Proton holds CUPTI from the first one's start until all are finalized."""

    def __init__(self, recording):
        self.recording = recording
        self.open = set()

    def starting(self, start):
        @functools.wraps(start)
        def start_session(*arguments, **options):
            wants_cupti = any(type(value) is str and value == "cupti" for value in (*arguments, *options.values()))
            has_given_way = wants_cupti and self.recording.pause()
            try:
                if has_given_way:
                    session = start_with_shared_cupti(start, arguments, options)
                else:
                    session = start(*arguments, **options)
            except BaseException:
                if has_given_way:
                    self.recording.resume()
                raise
            if wants_cupti:
                self.open.add(session)
            return session

        return start_session

    def finalizing(self, finalize):
        @functools.wraps(finalize)
        def finalize_session(session, *arguments, **options):
            try:
                return finalize(session, *arguments, **options)
            finally:
                self.end({session} if type(session) is int else set())

        return finalize_session

    def finalizing_all(self, finalize_all):
        @functools.wraps(finalize_all)
        def finalize_sessions(*arguments, **options):
            try:
                return finalize_all(*arguments, **options)
            finally:
                self.end(set(self.open))

        return finalize_sessions

    def end(self, sessions):
        self.open -= sessions
        if not self.open:
            self.recording.resume()


def start(libproton, _, recording):
    """Called once, when triton._C.libproton has been imported. Proton's Python code uses the functions that are
    replaced here."""
    proton = libproton.proton
    sessions = Sessions(recording)
    wrapped = (sessions.starting(proton.start), sessions.finalizing(proton.finalize),
               sessions.finalizing_all(proton.finalize_all))
    proton.start, proton.finalize, proton.finalize_all = wrapped
