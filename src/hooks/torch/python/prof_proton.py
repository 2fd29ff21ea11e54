"""Makes way for Triton's profiler, Proton, which fails where it cannot subscribe to CUPTI."""
import functools


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
