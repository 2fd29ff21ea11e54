"""Makes way for Triton's profiler, Proton, which fails where it cannot subscribe to CUPTI."""
import functools
import os
import shutil
import tempfile

CUPTI_FOLDER = "TRITON_CUPTI_LIB_PATH"


def cupti_in_use():
    """The path of libprof's libcupti, which is the only one of the process if none was chosen; None if there are more."""
    chosen = os.environ.get("PROF_CUPTI_LIBRARY")
    if chosen:
        return os.path.abspath(chosen)
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        found = {line.split(None, 5)[5].rstrip("\n") for line in maps if "/libcupti.so" in line}
    return found.pop() if len(found) == 1 else None


def start_with_cupti_in_use(start, arguments, options):
    """Once a copy of CUPTI 13.0 has been subscribed to, no other copy in the process can be, not even after
    cuptiFinalize. Proton brings one of its own, which it is told of by an argument (Triton 3.3 to 3.5) or by the
    environment (since 3.6): for once that is libprof's, under the name that Proton looks for."""
    folder = None
    before = os.environ.get(CUPTI_FOLDER)
    try:
        library = cupti_in_use()
        if library is not None:
            folder = tempfile.mkdtemp(prefix="prof_cupti_")
            os.symlink(library, os.path.join(folder, "libcupti.so"))
            arguments = [folder if has_cupti(value) else value for value in arguments]
            os.environ[CUPTI_FOLDER] = folder
    except OSError:
        pass  # Proton tries its own
    try:
        return start(*arguments, **options)
    finally:
        if folder is not None:
            os.environ.pop(CUPTI_FOLDER, None)
            if before is not None:
                os.environ[CUPTI_FOLDER] = before
            shutil.rmtree(folder, ignore_errors=True)


def has_cupti(value):
    return isinstance(value, str) and value != "" and os.path.isfile(os.path.join(value, "libcupti.so"))


class Sessions:
    """Of Proton: those that are recorded by CUPTI. It holds that from the first one's start until all are finalized."""

    def __init__(self, recording):
        self.recording = recording
        self.open = set()

    def starting(self, start):
        @functools.wraps(start)
        def start_session(*arguments, **options):
            wants_cupti = "cupti" in arguments or "cupti" in options.values()
            has_given_way = wants_cupti and self.recording.pause()
            try:
                if has_given_way:
                    session = start_with_cupti_in_use(start, arguments, options)
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
                self.end({session})

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
    """Once, when triton._C.libproton has been imported. What is said there is heard by Proton's Python side, too."""
    proton = libproton.proton
    sessions = Sessions(recording)
    wrapped = (sessions.starting(proton.start), sessions.finalizing(proton.finalize),
               sessions.finalizing_all(proton.finalize_all))
    proton.start, proton.finalize, proton.finalize_all = wrapped
