# SPDX-License-Identifier: Apache-2.0
"""Control from inside by ctypes: status, options, callbacks and the log (prof/prof.h), and NVTX used before libprof.

Usage: control_interface_test.py <prof> <libprof.so> <nvtx_push.so>
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from scratch_case import ScratchCase

PROF = LIBRARY = NVTX_PUSH = ""

# What a binding needs, in as few lines.
BINDING = """
import atexit, ctypes, json, os, sys
from ctypes import c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

nvtx = ctypes.CDLL(os.environ["NVTX_PUSH"])
nvtx.push.argtypes = [c_char_p]
if os.environ.get("NVTX_FIRST"):
    nvtx.push(b"before")
    nvtx.pop()

class Event(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("kind", c_uint32), ("result", c_int32), ("number", c_uint64), ("lost", c_uint64),
                ("path", c_char_p), ("message", c_char_p)]

class Status(ctypes.Structure):
    _fields_ = [("state", c_uint32), ("records_gpu", c_uint32), ("state_ns", c_uint64), ("steps", c_uint64),
                ("windows", c_uint64), ("records", c_uint64), ("bytes", c_uint64), ("dropped", c_uint64),
                ("memory", c_uint64), ("of_a_later_version", c_uint64)]

class Option(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("variable", c_char_p), ("accepts", c_char_p), ("help", c_char_p),
                ("default", c_char_p), ("change", c_uint32), ("reserved", c_uint32)]

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.POINTER(Event), c_void_p)
SINK = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)
prof = ctypes.CDLL(os.environ["LIBPROF"])
prof.prof_last_error.restype = prof.prof_result_text.restype = c_char_p
for name in ("prof_status_json", "prof_option_count", "prof_capture_path"):
    getattr(prof, name).restype = c_size_t
prof.prof_set_callback.argtypes = [c_void_p, c_void_p, c_uint32]
prof.prof_set_log.argtypes = [c_void_p, c_void_p]
prof.prof_describe_option.argtypes = [c_size_t, c_void_p, c_size_t]
prof.prof_dump_to.argtypes = [c_char_p, c_void_p, c_size_t]

def check(result):
    if result != 0:
        raise RuntimeError(f"{prof.prof_result_text(result).decode()}: {prof.prof_last_error().decode()}")

def status():
    out = Status()
    check(prof.prof_get_status(ctypes.byref(out), c_size_t(ctypes.sizeof(out))))
    return out

def settings(*lines):
    return (c_char_p * (len(lines) + 1))(*[line.encode() for line in lines], None)

def ranges(count, name=b"range"):
    for _ in range(count):
        nvtx.push(name)
        nvtx.pop()
"""

ALL = BINDING + """
events = []
@CALLBACK
def on_event(event, user):
    e = event.contents
    events.append([e.kind, e.number, e.result, os.path.basename(e.path.decode()), e.message.decode()])
lines = []
@SINK
def on_line(severity, line, user):
    lines.append([severity, line.decode()])

check(prof.prof_set_log(on_line, None))
check(prof.prof_set_callback(on_event, None, 127))
options = []
for index in range(prof.prof_option_count()):
    row = Option()
    check(prof.prof_describe_option(index, ctypes.byref(row), ctypes.sizeof(row)))
    options.append([row.name.decode(), row.default.decode()])
check(prof.prof_set_option(b"name", b"named"))
try:
    check(prof.prof_set_option(b"rows", b"many"))
except RuntimeError as failure:
    refusal = str(failure)
check(prof.prof_start(settings("export=none", "output_dir=captures")))
states = [status().state]
ranges(3)
check(prof.prof_step())
check(prof.prof_sync())
states.append(status().state)
text = ctypes.create_string_buffer(16384)
assert 0 < prof.prof_status_json(text, c_size_t(len(text))) < len(text)
dump = ctypes.create_string_buffer(4096)
check(prof.prof_dump_to(None, dump, len(dump)))
os.rename("captures", "elsewhere")
check(prof.prof_pause())
check(prof.prof_resume())
prof.prof_stop()
now = status()
check(prof.prof_set_callback(None, None, 0))
check(prof.prof_set_log(None, None))
print(json.dumps({"events": events, "lines": lines, "options": options, "refusal": refusal, "states": states,
                  "status": json.loads(text.value), "dump": os.path.basename(dump.value.decode()),
                  "windows": now.windows, "steps": now.steps, "later": now.of_a_later_version}))
"""

# A thread that has the interpreter's lock opens windows, and callbacks want that lock.
WITH_THE_LOCK = BINDING + """
seen = []
@CALLBACK
def on_event(event, user):
    seen.append(event.contents.kind)
check(prof.prof_set_callback(on_event, None, 127))
check(prof.prof_start(settings("export=none", "capture_range=nvtx", "nvtx_capture=capture",
                               "capture_range_end=repeat")))
held = ctypes.PyDLL(os.environ["NVTX_PUSH"])
own = ctypes.PyDLL(os.environ["LIBPROF"])
for _ in range(200):
    held.push(b"capture")
    own.prof_step()
    held.pop()
check(own.prof_stop())
check(prof.prof_set_callback(None, None, 0))
print(seen.count(1), seen.count(2) == seen.count(4) > 1, seen[0], seen[-1])
"""

# It ends while events wait.
ENDS = BINDING + """
@CALLBACK
def on_event(event, user):
    pass
atexit.register(lambda: check(prof.prof_set_callback(None, None, 0)))
check(prof.prof_set_callback(on_event, None, 127))
check(prof.prof_start(settings("export=none")))
ranges(3)
for _ in range(3000):
    check(prof.prof_step())
"""


class ControlInterface(ScratchCase):
    def run_program(self, program, **changes):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("PROF_", "NVTX_", "CUDA_INJ"))}
        environment |= {"LIBPROF": LIBRARY, "NVTX_PUSH": NVTX_PUSH, "PROF_AUTOSTART": "0", **changes}
        done = subprocess.run([sys.executable, "-c", program], cwd=self.folder, env=environment, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def report(self):
        (capture,) = self.folder.glob("prof-captures/*.prof")
        done = subprocess.run([PROF, "report", "--format", "json", str(capture)], capture_output=True, text=True,
                              check=True)
        return json.loads(done.stdout)

    def test_a_binding_has_what_it_needs(self):
        got = json.loads(self.run_program(ALL))
        self.assertEqual(got["states"], [1, 2])
        self.assertEqual((got["windows"], got["steps"], got["later"]), (2, 1, 0))
        self.assertEqual((got["status"]["state"], got["status"]["records"] >= 4, got["status"]["dropped"]),
                         ("recording", True, {}))
        self.assertIn(["memory", "64M"], got["options"])
        self.assertIn(["name", ""], got["options"])
        self.assertEqual(got["refusal"], 'invalid argument: rows: "many" is not accepted; it takes all, or a whole '
                                         'number from 1 to 1000000')
        kinds = [event[0] for event in got["events"]]
        self.assertEqual(sorted(kinds), sorted([32, 2, 1, 8, 4, 2, 4, 64]))
        self.assertEqual((kinds[0], kinds[-1]), (32, 64))
        self.assertRegex(got["dump"], r"^named\.0\..*\.dump-1\.prof$")
        self.assertEqual([event[3] for event in got["events"] if event[0] == 8], [got["dump"]])

    def test_callbacks_may_want_a_lock_that_a_recorded_thread_holds(self):
        self.assertEqual(self.run_program(WITH_THE_LOCK), "200 True 32 64\n")

    def test_a_callback_does_not_disturb_the_end(self):
        self.assertEqual(self.run_program(ENDS), "")
        self.assertEqual([(row["path"], row["instances"]) for row in self.report()["rows"] if row["instances"]],
                         [("range", 3)])

    def test_ranges_are_recorded_where_nvtx_was_used_before(self):
        program = BINDING + 'check(prof.prof_start(settings("export=none")))\nranges(3, b"after")\n'
        self.run_program(program, NVTX_FIRST="1")
        report = self.report()
        self.assertEqual([(row["path"], row["instances"]) for row in report["rows"] if row["instances"]],
                         [("after", 3)])
        name = pathlib.Path(NVTX_PUSH).name
        self.assertEqual([note for note in report["notes"] if "NVTX" in note], [
            f"NVTX was used before libprof was loaded, in {name}: its ranges are recorded from then on, but domains "
            "and registered names from before are not known, and a PROF_RANGE that was entered before is not recorded; "
            "load libprof before the first range (prof run, LD_PRELOAD, or link it)"])

    def test_there_is_no_note_where_libprof_came_first(self):
        program = BINDING + 'check(prof.prof_start(settings("export=none")))\nranges(3)\n'
        self.run_program(program)
        self.assertEqual([note for note in self.report()["notes"] if "NVTX" in note], [])


if __name__ == "__main__":
    PROF, LIBRARY, NVTX_PUSH = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
