# SPDX-License-Identifier: Apache-2.0
"""The end of a recording that cannot be what it should be: a program that has done its work goes on, and is told.

Usage: recording_end_test.py <folder with the package> <libnvtx_push.so> <libfake_libtorch.so>
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from clean_environment import clean_environment
from scratch_case import ScratchCase

PACKAGE = PUSH_LIBRARY = LIBTORCH = ""
FAKE_TORCH = str(pathlib.Path(__file__).resolve().parent / "fake_torch")

# Of each way in which a recording ends badly what makes it so, and what the error says.
WAYS = {
    "removed": ("shutil.rmtree('out')", "was removed while it was written"),
    "full": ("resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))", "File too large"),
    "export": ("os.mkdir(libprof.capture_path()[:-len('.prof')] + '.summary.txt')", "Is a directory"),
    "elsewhere": ("libprof._library.lib.prof_stop()", "no recording is running"),
}

PROGRAM = """
import json, os, resource, shutil, sys, warnings
import libprof

def work(spoil):
    for number in range(2000):
        libprof.range_push(f"{number} " + "x" * 200)
        libprof.range_pop()
    libprof.sync()
    exec(spoil)
    for number in range(2000):
        libprof.range_push(f"{number} " + "y" * 200)
        libprof.range_pop()

def say(**found):
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(json.dumps({"recording": libprof.is_recording(), **found}))
"""
OPTIONS = "output_dir='out', export='summary' if SPOIL.startswith('os.mkdir') else []"

BLOCK = f"""
with libprof.recording({OPTIONS}) as run:
    work(SPOIL)
say(error=type(run.error).__name__, text=str(run.error), exists=run.path is not None and os.path.exists(run.path),
    same=run.error is libprof.recording_error())
"""
STOP = f"""
libprof.start({OPTIONS})
work(SPOIL)
path = libprof.stop()
error = libprof.recording_error()
say(error=type(error).__name__, text=str(error), exists=path is not None and os.path.exists(path), same=True)
"""
# Line of `with` and of `stop`, to which the warning points.
LINES = {BLOCK: "with libprof.recording(", STOP: "path = libprof.stop()"}


class RecordingEnd(ScratchCase):
    def python(self, code, *options, expect=0, **variables):
        """What the code prints, as JSON, and its standard error."""
        program = self.folder / "program.py"
        program.write_text(PROGRAM + code)
        done = subprocess.run([sys.executable, *options, program.name], cwd=self.folder, capture_output=True, text=True,
                              timeout=100, env=clean_environment(**{"PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1", **variables}))
        self.assertEqual(done.returncode, expect, done.stderr)
        return (json.loads(done.stdout) if done.stdout else None), done.stderr

    def test_the_program_goes_on_and_is_warned(self):
        for way, (spoil, says) in WAYS.items():
            for code, line in LINES.items():
                with self.subTest(way, line=line):
                    found, stderr = self.python(f"SPOIL = {spoil!r}\n{code}")
                    self.assertIn(found["error"], ("Failed", "WrongState"))
                    self.assertIn(says, found["text"])
                    self.assertEqual((found["exists"], found["same"], found["recording"]), (way != "removed", True, False))
                    warning, = [each for each in stderr.splitlines() if "RecordingWarning" in each]
                    number = next(index for index, each in enumerate((self.folder / "program.py").read_text().splitlines(), 1)
                                  if each.startswith(line))
                    self.assertRegex(warning, rf"program\.py:{number}: RecordingWarning: ")
                    self.assertIn(says, warning)

    def test_warnings_that_are_errors_do_not_end_the_program(self):
        for code in LINES:
            found, stderr = self.python(f"SPOIL = {WAYS['removed'][0]!r}\n{code}", "-W", "error")
            self.assertEqual(found["error"], "Failed")
            self.assertIn("libprof: capture", stderr)
            self.assertNotIn("Traceback", stderr)

    def test_a_closed_standard_error_does_not_end_it_either(self):
        found, _ = self.python(f"SPOIL = {WAYS['removed'][0]!r}\nsys.stderr.close()\nwarnings.simplefilter('error')\n{BLOCK}")
        self.assertEqual(found["error"], "Failed")
        found, _ = self.python(f"SPOIL = {WAYS['removed'][0]!r}\nsys.stderr = None\nwarnings.simplefilter('error')\n{BLOCK}")
        self.assertEqual(found["error"], "Failed")

    def test_strict_raises(self):
        for way, (spoil, says) in WAYS.items():
            for code in (BLOCK.replace("recording(", "recording(strict=True, "), STOP.replace("stop()", "stop(strict=True)")):
                with self.subTest(way):
                    _, stderr = self.python(f"SPOIL = {spoil!r}\n{code}", expect=1)
                    self.assertRegex(stderr.splitlines()[-1], r"^libprof\.\S*(Failed|WrongState): .*" + says)
                    self.assertNotIn("RecordingWarning", stderr)

    def test_the_blocks_own_exception_stays(self):
        for strict in ("", "strict=True, "):
            _, stderr = self.python(f"""
SPOIL = {WAYS['removed'][0]!r}
class Broken(Exception):
    pass
try:
    with libprof.recording({strict}{OPTIONS}) as run:
        work(SPOIL)
        raise Broken("of the block")
except Broken as failure:
    assert failure.__context__ is None and failure.__cause__ is None
    assert isinstance(run.error, libprof.Failed) and libprof.recording_error() is run.error
    raise
""", "-W", "error", expect=1)
            self.assertIn("Broken: of the block", stderr.splitlines()[-1])

    def test_a_recording_that_ends_well_has_no_error(self):
        found, stderr = self.python("""
out = []
with libprof.recording(output_dir="out", export=[], strict=True) as run:
    work("")
out.append([run.error, libprof.recording_error(), run.path == libprof.capture_path()])
with run:  # once more, and ended inside of the block
    work("")
    first = libprof.stop()
out.append([run.error, run.path == first, libprof.load(first).summary().rows != []])
with libprof.recording(output_dir="out", export=[]) as outer:
    work("")
    libprof.stop()
    libprof.start(output_dir="out", export=[])  # is not the block's
say(out=out)
libprof.stop()
""", "-W", "error")
        self.assertEqual(found, {"out": [[None, None, True], [None, True, True]], "recording": True})
        self.assertEqual(stderr, "")

    def test_misuse_still_raises(self):
        """Before any work is done, or where nothing was started."""
        found, _ = self.python("""
out = []
def refused(call):
    try:
        call()
        out.append("accepted")
    except libprof.Error as failure:
        out.append(type(failure).__name__)
def block(**options):
    with libprof.recording(**options):
        out.append("ran")
refused(libprof.stop)
refused(lambda: block(colour="red"))
refused(lambda: block(output_dir="/proc/none"))
libprof.start(output_dir="out", export=[])
refused(lambda: block(output_dir="out"))
refused(libprof.stop)
refused(libprof.stop)
say(out=out)
""")
        self.assertEqual(found["out"], ["WrongState", "InvalidArgument", "Failed", "WrongState", "accepted", "WrongState"])

    def test_a_forked_child_leaves_the_block(self):
        found, stderr = self.python("""
with libprof.recording(output_dir="out", export=[]) as run:
    work("")
    child = os.fork()
if child == 0:
    os._exit(0 if run.error is None and not libprof.is_recording() else 3)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
say(status=status, error=run.error, names=len(run.summary.rows) > 3)
""")
        self.assertEqual(found, {"status": 0, "error": None, "names": True, "recording": False}, stderr)
        self.assertNotIn("RecordingWarning", stderr)

    def test_what_the_program_raises_meanwhile_reaches_it(self):
        """At each call of a function in libprof's code, from the start of a recording to its end and its export, with a
        stand-in for torch that is observed. TimeoutError is what handlers of SIGALRM raise, and is an OSError."""
        for kind in ("Limit", "TimeoutError"):
            found, stderr = self.python(f"kind = {kind}\n".replace("Limit", "type('Limit', (Exception,), {})") + """
OURS = "<libprof/", os.path.dirname(libprof.__file__) + os.sep
calls = wanted = 0

def profile(frame, event, argument):
    global calls
    if event in ("call", "c_call") and frame.f_code.co_filename.startswith(OURS) and frame.f_code.co_name != "__del__":
        calls += 1
        if calls == wanted:
            sys.setprofile(None)
            raise kind("of the program")

def work():
    import torch
    libprof.start(output_dir="out", export=[])
    with libprof.range("work"):
        pass
    path = libprof.stop()
    libprof.load(path).report().export("report.json")

work()
raised, lost = 0, []
while True:
    calls, wanted = 0, wanted + 1
    sys.setprofile(profile)
    try:
        work()
        sys.setprofile(None)
        if calls < wanted:
            break
        lost.append(wanted)
    except kind as failure:
        raised += failure.args == ("of the program",)
    sys.setprofile(None)
    if libprof.is_recording():
        libprof.stop()
say(raised=raised, lost=lost)
""", PYTHONPATH=f"{PACKAGE}:{FAKE_TORCH}", NVTX_PUSH_LIBRARY=PUSH_LIBRARY, FAKE_LIBTORCH=LIBTORCH)
            with self.subTest(kind):
                self.assertGreater(found["raised"], 100)
                self.assertEqual(found["lost"], [], stderr)


if __name__ == "__main__":
    PACKAGE, PUSH_LIBRARY, LIBTORCH = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
