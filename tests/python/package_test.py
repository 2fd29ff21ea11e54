# SPDX-License-Identifier: Apache-2.0
"""The package libprof of the build tree: its mirror of the C interface, ranges, recordings, reports and examples.

Usage: package_test.py <prof> <folder with the package> <C compiler>    with FAKE_CUDA and FAKE_CUPTI in the environment
"""
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from clean_environment import clean_environment
from scratch_case import ScratchCase

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAPTURE = ROOT / "examples/captures/h200_trainer.prof"
PROF = PACKAGE = COMPILER = ""


def environment(**more):
    return clean_environment(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1", **more)


class Package(ScratchCase):
    def python(self, code, *command, expect=0, **more):
        """What the code prints, as JSON; `command` stands before Python."""
        done = subprocess.run([*command, sys.executable, "-c", code], env=environment(OUT=str(self.folder / "out"), **more),
                              capture_output=True, text=True, timeout=100, cwd=self.folder)
        self.assertEqual(done.returncode, expect, done.stderr)
        self.stderr = done.stderr
        return json.loads(done.stdout) if done.stdout else None


class Mirror(Package):
    """_library.py has the layouts and the functions of the headers."""

    def test_structs_are_laid_out_as_the_compiler_lays_them_out(self):
        names = {"Attributes": "prof_attributes", "Status": "prof_status", "Option": "prof_option", "Drop": "prof_drop",
                 "SummaryRow": "prof_summary_row", "ReportTable": "prof_report_table",
                 "ReportColumn": "prof_report_column", "ReportCell": "prof_report_cell"}
        mirrored = self.python(f"""
import ctypes, json
from libprof import _library
print(json.dumps({{name: [ctypes.sizeof(getattr(_library, name)),
                          {{field: getattr(getattr(_library, name), field).offset for field, _ in getattr(_library, name)._fields_}}]
                  for name in {list(names)!r}}}))""")
        lines = []
        for name, struct in names.items():
            lines.append(f'printf("{name} sizeof %zu\\n", sizeof({struct}));')
            lines += [f'printf("{name} {field} %zu\\n", offsetof({struct}, {field}));' for field in mirrored[name][1]]
        program = self.folder / "layout.c"
        program.write_text("#include <prof/prof.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n")
        subprocess.run([COMPILER, f"-I{ROOT / 'include'}", program, "-o", self.folder / "layout"], check=True)
        found = {}
        for line in subprocess.run([self.folder / "layout"], check=True, capture_output=True, text=True).stdout.splitlines():
            name, field, number = line.split()
            size, fields = found.setdefault(name, [0, {}])
            if field == "sizeof":
                found[name][0] = int(number)
            else:
                fields[field] = int(number)
        self.assertEqual(mirrored, found)

    def test_functions_have_the_headers_parameters(self):
        given = self.python("""
import json
from libprof import _library
print(json.dumps({name: len(parameters) for name, (_, parameters) in _library._FUNCTIONS.items()}))""")
        headers = "".join((ROOT / "include/prof" / name).read_text() for name in ("prof.h", "annotate.h", "read.h", "version.h"))
        headers = re.sub(r"/\*.*?\*/", "", headers, flags=re.S)
        declared = {}
        for name, parameters in re.findall(r"\b(prof_\w+)\(([^()]*)\);", headers):
            declared[name] = 0 if parameters.strip() == "void" else parameters.count(",") + 1
        self.assertEqual(given, {name: declared.get(name) for name in given})


RANGES = """
import asyncio, json, os, sys, threading
if os.environ.get("NO_NATIVE"):
    sys.modules["libprof._native"] = None
import libprof

@libprof.range("function")
def function(x, *, y):
    "doc"
    return x + y

@libprof.range("coroutine")
async def coroutine(n):
    await asyncio.sleep(0)
    return n

@libprof.range("generator")
def generator():
    sent = yield 1
    yield sent
    return 5

class Failure(Exception):
    pass

with libprof.recording(output_dir=os.environ["OUT"], export="trace") as run:
    twice = libprof.range("twice")
    with twice, twice:
        assert function(1, y=2) == 3 and function.__doc__ == "doc" and function.__name__ == "function"
    async def both():
        return await asyncio.gather(coroutine(1), coroutine(2))
    assert asyncio.run(both()) == [1, 2]
    walk = generator()
    assert next(walk) == 1 and walk.send(7) == 7
    try:
        next(walk)
    except StopIteration as end:
        assert end.value == 5
    try:
        with libprof.range("raises"):
            raise Failure
    except Failure:
        pass
    with libprof.range("attributes", color=0xff00ff00, category=4, payload=-7):
        pass
    with libprof.range("real", payload=2.5):
        pass
    with libprof.range("large", payload=2**64 - 1):
        pass
    with libprof.range("caf\\u00e9 \\ud800"):
        pass
    libprof.name_category(4, "four")
    libprof.mark("here", payload=1)
    libprof.counter("loss", 0.5)
    libprof.range_push("pushed"); libprof.range_pop()
    def work():
        for _ in range(100):
            with twice:
                pass
    threads = [threading.Thread(target=work) for _ in range(4)]
    [each.start() for each in threads]
    [each.join() for each in threads]
refused = []
for make in (lambda: libprof.range(3), lambda: libprof.range("x", color=-1), lambda: libprof.range("x", color=1 << 32),
             lambda: libprof.range("x", payload="y"), lambda: libprof.range("x", payload=1 << 64),
             lambda: libprof.range("x", 3), lambda: libprof.range("x", colour=3), lambda: libprof.range()):
    try:
        make()
        refused.append(None)
    except (TypeError, ValueError, OverflowError) as failure:
        refused.append(type(failure).__name__)
try:
    @libprof.range("async generator")
    async def steps():
        yield 1
    refused.append(None)
except TypeError as failure:
    refused.append("async generator" in str(failure))
report = run.capture.report()
print(json.dumps({"native": libprof.range.__mro__[1].__module__, "path": run.path, "refused": refused,
                  "rows": {row.path: row.count for row in run.summary if row.count},
                  "process": {row["name"]: row["instances"] for row in report.tables["process_ranges"].to_dicts()}}))
"""


PAYLOADS = """
import fractions, json, os, sys
if os.environ.get("NO_NATIVE"):
    sys.modules["libprof._native"] = None
import libprof
class Counts:
    calls = 0
    def __index__(self):
        Counts.calls += 1
        raise RuntimeError
    __float__ = __int__ = __bool__ = __len__ = __eq__ = __index__
    __hash__ = None
class Tensor(Counts): pass
class Text(str):
    def encode(self, *_): raise RuntimeError
    __len__ = __eq__ = encode
    __hash__ = None
class Number(int):
    def __index__(self): raise RuntimeError
    __float__ = __int__ = __bool__ = __index__
class Real(float):
    def __float__(self): raise RuntimeError
    __int__ = __bool__ = __float__
values = dict(int=3, true=True, real=2.5, number=Number(4), own_real=Real(1.5), tensor=Tensor(), counts=Counts(),
              fraction=fractions.Fraction(1, 3), complex=1j)
try:
    import numpy as np
    values.update(f16=np.float16(1.5), f32=np.float32(0.5), f64=np.float64(2), i8=np.int8(-3), u64=np.uint64(2**64 - 1), b=np.bool_(True),
                  zero_d=np.array(7), real_d=np.array(0.25), several=np.arange(3))
except ImportError:
    pass
found = {}
with libprof.recording(output_dir=os.environ["OUT"], export=[]):
    for name, value in values.items():
        made = libprof.range(Text(name), payload=value)
        found[name] = made._given()[3]
        with made, libprof.range(Text("inner")):
            libprof.range_push(Text("pushed")); libprof.range_pop()
print(json.dumps([found, Counts.calls]))
"""


class Payloads(Package):
    EXPECTED = {"int": 3, "true": 1, "real": 2.5, "number": 4, "own_real": 1.5, "tensor": None, "counts": None,
                "fraction": None, "complex": None}
    NUMPY = {"f16": 1.5, "f32": 0.5, "f64": 2.0, "i8": -3, "u64": 2**64 - 1, "b": 1, "zero_d": 7, "real_d": 0.25, "several": None}

    def test_numbers_are_taken_and_nothing_of_the_programs_is_called(self):
        for more in ({}, {"NO_NATIVE": "1"}):
            found, calls = self.python(PAYLOADS, **more)
            self.assertEqual((found, calls), (self.EXPECTED | {name: self.NUMPY[name] for name in set(found) - set(self.EXPECTED)}, 0))
            if len(found) == len(self.EXPECTED):
                print("not tried: no numpy", file=sys.stderr)


class Ranges(Package):
    def check(self, **more):
        found = self.python(RANGES, **more)
        self.assertEqual(found["rows"], {
            "twice": 401, "twice/twice": 1, "twice/twice/function": 1, "raises": 1, "attributes": 1, "real": 1, "large": 1,
            "caf\u00e9 ?": 1, "pushed": 1})
        self.assertEqual(found["process"], {"coroutine": 2, "generator": 1})
        self.assertEqual(found["refused"], ["TypeError", "ValueError", "ValueError", "TypeError", "OverflowError",
                                            "TypeError", "TypeError", "TypeError", True])
        trace = found["path"][:-len(".prof")] + ".trace.json.gz"
        events = [each for each in json.loads(gzip.decompress(pathlib.Path(trace).read_bytes()))["traceEvents"] if each.get("ph") == "X"]
        payloads = {each["name"]: each["args"]["payload"] for each in events if "payload" in each.get("args", {})}
        self.assertEqual(payloads, {"attributes": -7, "real": 2.5, "large": str(2**64 - 1)})
        return found

    def test_native(self):
        self.assertEqual(self.check()["native"], "libprof._native")

    def test_by_ctypes(self):
        self.assertEqual(self.check(NO_NATIVE="1")["native"], "libprof._fallback")


GPU = """
import ctypes, json, os
import libprof
cuda = ctypes.CDLL(os.environ["FAKE_CUDA"])
def train():
    for step in range(4):
        libprof.step()
        with libprof.range("forward"):
            cuda.fake_cuda_launch(b"matmul", ctypes.c_uint64(10_000), None)
        with libprof.range("backward"):
            for _ in range(2):
                cuda.fake_cuda_launch(b"matmul_grad", ctypes.c_uint64(20_000), None)
    cuda.cudaDeviceSynchronize()
"""


@unittest.skipUnless("FAKE_CUDA" in os.environ, "the simulated GPU was not built")
class Recordings(Package):
    def gpu(self, code, *command, **more):
        return self.python(GPU + code, *command, PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"], **more)

    def test_gpu_work_of_ranges(self):
        found = self.gpu("""
with libprof.recording(output_dir=os.environ["OUT"]) as run:
    train()
    live = libprof.summary()
    status = libprof.status()
    during = libprof.is_recording()
s = run.summary
print(json.dumps({"total": s.total_gpu_ns, "sum": sum(row.gpu_self_ns for row in s), "live": live["backward"].gpu_sum_ns,
                  "rows": [[row.path, row.kind, row.count, row.ops, row.gpu_sum_ns] for row in s],
                  "steps": status["steps"], "during": during, "after": libprof.is_recording(),
                  "kernels": run.capture.report("kernels").table.column("instances")}))""")
        self.assertEqual(found["total"], 4 * 10_000 + 8 * 20_000)
        self.assertEqual(found["sum"], found["total"])
        self.assertEqual(found["live"], 160_000)
        self.assertEqual(found["rows"][:2], [["forward", "range", 4, 4, 40_000], ["backward", "range", 4, 8, 160_000]])
        self.assertEqual([row[1] for row in found["rows"][2:]], ["no_range", "ambiguous", "unmatched"])
        self.assertEqual((found["steps"], found["during"], found["after"]), (4, True, False))
        self.assertEqual(sorted(found["kernels"]), [4, 8])

    def test_under_prof_run_it_is_the_same_library(self):
        found = self.gpu("train(); print(json.dumps({'recording': libprof.is_recording(), 'live': libprof.summary().total_gpu_ns,"
                         "'loaded': sorted({line.split()[-1] for line in open('/proc/self/maps') if 'libprof.so' in line})}))",
                         PROF, "run", "-o", self.folder / "run", "--export", "none", "--")
        self.assertTrue(found["recording"])
        self.assertEqual(found["live"], 200_000)
        self.assertEqual(len(found["loaded"]), 1)
        capture, = (self.folder / "run").glob("*.prof")
        self.assertIn("forward", subprocess.run([PROF, "report", capture], capture_output=True, text=True, check=True).stdout)

    def test_schedule_and_dump(self):
        found = self.gpu("""
libprof.start(output_dir=os.environ["OUT"], schedule="wait=1,active=2", export=[])
train()
dump = libprof.dump(os.environ["OUT"] + "/now.prof")
path = libprof.stop()
print(json.dumps({"dump": libprof.load(dump).summary()["forward"].count, "all": libprof.load(path).summary()["forward"].count,
                  "schedule": next(each.value for each in libprof.options() if each.name == "schedule"), "text": libprof.load(path).title}))""")
        self.assertEqual((found["dump"], found["all"]), (3, 3))  # without the work before the first step, and step 3

    def test_what_is_refused(self):
        found = self.python("""
import json, os
import libprof
out = []
def refused(call):
    try:
        call()
        out.append("accepted")
    except (libprof.Error, OSError) as failure:
        out.append(f"{type(failure).__name__}: {failure}")
refused(lambda: libprof.start(colour="red"))
refused(lambda: libprof.start(schedule="soon"))
refused(lambda: libprof.start(pytorch="all"))
refused(lambda: libprof.start(output_dir="/proc/none"))
refused(lambda: libprof.stop())
refused(lambda: libprof.load("none.prof"))
refused(lambda: libprof.load(libprof.__file__))
refused(lambda: libprof.load(os.environ["CAPTURE"]).report("kernel"))
refused(lambda: libprof.load(os.environ["CAPTURE"]).report(fold="x"))
refused(lambda: libprof.load(os.environ["CAPTURE"]).report().render("html5"))
libprof.start(output_dir=os.environ["OUT"])
refused(lambda: libprof.start())
libprof.stop()
with libprof.recording(output_dir=os.environ["OUT"]) as run:
    pass
refused(lambda: run.capture)
print(json.dumps([out, libprof.is_recording()]))""", CAPTURE=str(CAPTURE))
        kinds = [each.split(":")[0] for each in found[0]]
        self.assertEqual(kinds, ["InvalidArgument", "InvalidArgument", "InvalidArgument", "Failed", "WrongState",
                                 "FileNotFoundError", "Failed", "InvalidArgument", "InvalidArgument", "InvalidArgument", "WrongState",
                                 "WrongState"], found)
        self.assertTrue(all("\n" not in each and len(each) > 25 for each in found[0]), found)

    def test_names_paths_and_types(self):
        """Bytes are paths as they are elsewhere; a NUL is refused, which would end a name; what is no text is a TypeError."""
        found = self.python("""
import json, os, pathlib
import libprof
out = {}
def tried(what, call):
    try:
        out[what] = call()
    except Exception as failure:
        kinds = [kind.__name__ for kind in (ValueError, TypeError) if isinstance(failure, kind)]
        out[what] = "/".join(kinds) if "NUL" in str(failure) or kinds == ["TypeError"] else repr(failure)
def started(**options):
    libprof.start(export=[], **options)
    with libprof.range("x"):
        pass
    path = libprof.stop(strict=True)
    return os.path.relpath(path, os.getcwd()).split(".")[0]
folder = os.fsdecode(b"of bytes \\xff")
for name, value in dict(bytes=os.fsencode(folder), path=pathlib.Path("of a Path"), text="of a str").items():
    tried("output_dir " + name, lambda: os.path.dirname(started(output_dir=value, name="n")) == os.fsdecode(value))
tried("name", lambda: started(output_dir="o", name="name"))
for what, value in dict(str="a\\0b", bytes=b"a\\0b", path=pathlib.Path("a\\0b")).items():
    tried("output_dir NUL " + what, lambda: started(output_dir=value))
tried("name NUL", lambda: started(output_dir="o", name="a\\0b"))
tried("list NUL", lambda: started(output_dir="o", nvtx_domain_include=["a", "b\\0"]))
for what, value in dict(int=3, none={}, object=object()).items():
    tried("output_dir " + what, lambda: started(output_dir=value))
    tried("name " + what, lambda: started(name=value, output_dir="o") if what != "int" else "TypeError")
for name in (None, 3, b"x", ["a"]):
    what = type(name).__name__
    for function in (libprof.range, libprof.range_push, libprof.range_start, libprof.mark, libprof.get_option,
                     lambda name: libprof.counter(name, 1), lambda name: libprof.keep_text(name, "x"),
                     lambda name: libprof.keep_text("x", name), lambda name: libprof.name_category(1, name),
                     lambda name: libprof.range("x")(name)):
        tried(f"{len(out)} {what}", lambda: function(name))
for function in (libprof.range, libprof.range_push, libprof.range_start, libprof.mark, libprof.get_option,
                 lambda name: libprof.counter(name, 1), lambda name: libprof.keep_text(name, "x"),
                 lambda name: libprof.keep_text("x", name), lambda name: libprof.name_category(1, name), libprof.dump, libprof.load,
                 lambda name: libprof.set_options(nvtx_domain_include=name)):
    tried(f"{len(out)} NUL", lambda: function("a\\0b"))
print(json.dumps(out))""")
        wrong = {what: said for what, said in found.items() if said != (
            "o/name" if what == "name" else "ValueError" if "NUL" in what else
            True if what in ("output_dir bytes", "output_dir path", "output_dir text") else "TypeError")}
        self.assertEqual(wrong, {})
        self.assertEqual(len(found), 67)

    def test_frameworks_options_are_those_of_prof_run(self):
        """Their limits, too; True and False are what they mean."""
        cases = {"modules": ["off", "all", 0, 1, 100, "7", 101, -1, "some", 1.5, True, False], "phases": ["on", "off", "yes", True, False],
                 "pytorch": ["ranges", "ops", "off", "all", False]}
        found = self.python(f"""
import json
import libprof
out = {{}}
for name, values in {cases!r}.items():
    for value in values:
        try:
            libprof.start(export=[], output_dir="o", **{{name: value}})
            out[f"{{name}}={{value}}"] = libprof.get_option(name)
            libprof.stop()
        except libprof.InvalidArgument:
            out[f"{{name}}={{value}}"] = None
print(json.dumps(out))""")
        words = {"modules": ("all", "off"), "phases": ("on", "off"), "pytorch": ("ranges", "off")}
        for name, values in cases.items():
            for value in values:
                text = words[name][not value] if isinstance(value, bool) else str(value)
                done = subprocess.run([PROF, "run", "-q", "-o", self.folder / "run", f"--{name}={text}", "--", "true"],
                                      env=environment(), capture_output=True, text=True)
                expected = text if done.returncode == 0 else None
                self.assertEqual(found[f"{name}={value}"], expected, (name, value, done.stderr))

    def test_an_exception_of_the_program_goes_on(self):
        self.python("""
import libprof, os
with libprof.recording(output_dir=os.environ["OUT"]):
    with libprof.range("x"):
        raise SystemExit(7)""", expect=7)
        self.assertEqual(len(list((self.folder / "out").glob("*.prof"))), 1)

    def test_observed_steps_give_way_in_the_recording_that_counts_its_own(self):
        """prof_phase_push is what observes PyTorch's steps."""
        found = self.python("""
import json, os
import libprof
push, pop = libprof._library.lib.prof_phase_push, libprof._library.lib.prof_phase_pop
out = []
for counts in (False, True, False):
    with libprof.recording(output_dir=os.environ["OUT"], export=[]) as run:
        if counts:
            libprof.step()
        with libprof.range("x"):
            if push(b"step", 1) == 0:
                pop()
    out.append(sorted(row.name for row in run.summary if row.count))
print(json.dumps(out))""")
        self.assertEqual(found, [["step", "x"], ["x"], ["step", "x"]])

    def test_fifty_threads_start_and_stop(self):
        found = self.python("""
import json, os, threading
import libprof
results = []
def work():
    for _ in range(4):
        try:
            libprof.start(output_dir=os.environ["OUT"], export=[])
            with libprof.range("x"):
                pass
            libprof.stop()
            results.append(True)
        except libprof.WrongState:
            results.append(False)
threads = [threading.Thread(target=work) for _ in range(50)]
[each.start() for each in threads]
[each.join() for each in threads]
print(json.dumps([len(results), libprof.is_recording()]))""")
        self.assertEqual(found, [200, False])


class Times(Package):
    def test_a_recording_begins_when_it_was_started(self):
        """Not when the process made what all its recordings share."""
        found = self.python("""
import json, time
import libprof
out = []
for _ in range(2):
    began = time.perf_counter_ns()
    with libprof.recording(export=[]) as run:
        with libprof.range("x"):
            time.sleep(0.05)
    around = time.perf_counter_ns() - began
    recorded = json.loads(run.capture.report().render("json"))["process"]["recorded_ns"]
    out.append([recorded, around])
print(json.dumps(out))""")
        for recorded, around in found:
            self.assertTrue(50_000_000 <= recorded <= around, found)


class Paths(Package):
    def test_a_program_may_change_its_directory(self):
        found = self.python("""
import json, os
import libprof
with libprof.recording() as run:
    with libprof.range("x"):
        os.chdir("/")
print(json.dumps([run.path, run.summary["x"].count]))""")
        self.assertEqual(found[1], 1)
        self.assertTrue(found[0].startswith(str(self.folder.resolve() / "prof-captures") + "/"), found)


def as_cell(value):
    """A value of JSON as the package has it: a list is lines."""
    return "\n".join(value) if isinstance(value, list) else value


class Reports(Package):
    def test_every_report_is_that_of_the_command(self):
        """The command writes the same document as JSON by other code: every value, of every column."""
        found = self.python("""
import json, os
import libprof
capture = libprof.load(os.environ["CAPTURE"])
print(json.dumps({name: [[each.key for each in capture.report(name).table.columns], capture.report(name).to_dicts()]
                  for name in libprof.reports()}))""", CAPTURE=str(CAPTURE))
        self.assertGreater(len(found), 15)
        for name, (keys, rows) in found.items():
            text = subprocess.run([PROF, "report", "--report", name, "--format", "json", CAPTURE], check=True,
                                  capture_output=True, text=True).stdout
            expected = json.loads(text)["rows"]
            self.assertEqual([{key: row.get(key) for key in keys} for row in rows],
                             [{key: as_cell(row.get(key)) for key in keys} for row in expected], name)
            self.assertTrue(not expected or set(expected[0]) - {"places"} == set(keys), name)

    def test_answer_is_that_of_the_command(self):
        found = self.python("""
import json, os
import libprof
capture = libprof.load(os.environ["CAPTURE"])
print(json.dumps([capture.report().answer, capture.report("kernels").answer]))""", CAPTURE=str(CAPTURE))
        text = subprocess.run([PROF, "report", "--format", "json", CAPTURE], check=True, capture_output=True, text=True).stdout
        self.assertEqual(found, [json.loads(text)["answer"], None])
        self.assertGreater(len(found[0]["idle"]), 3)

    def test_frames(self):
        for package in ("pandas", "polars", "pyarrow"):
            try:
                __import__(package)
            except ImportError:
                print(f"not tried: no {package}", file=sys.stderr)
                continue
            code = f"""
import json, os
import libprof
capture = libprof.load(os.environ["CAPTURE"])
method = "to_" + {package!r}.replace("pyarrow", "arrow")
out = {{}}
for name in libprof.reports():
    report = capture.report(name)
    frame = getattr(report, method)()
    columns = list(frame.columns) if {package!r} != "pyarrow" else frame.column_names
    values = (lambda key: frame[key].tolist()) if {package!r} == "pandas" else (
              lambda key: frame[key].to_list()) if {package!r} == "polars" else (lambda key: frame[key].to_pylist())
    for key in columns:
        got = [None if value is None or str(value) in ("<NA>", "nan") else value for value in values(key)]
        assert got == [None if value != value else value for value in report.table.column(key)], (name, key)
    out[name] = [columns == [each.key for each in report.table.columns], len(frame) if {package!r} != "pyarrow" else frame.num_rows]
summary = getattr(capture.summary(), method)()
out["summary"] = [True, len(summary) if {package!r} != "pyarrow" else summary.num_rows]
out["rows"] = len(capture.summary())
print(json.dumps(out))"""
            found = self.python(code, CAPTURE=str(CAPTURE))
            self.assertEqual(found.pop("rows"), found["summary"][1])
            self.assertTrue(all(same for same, _ in found.values()), (package, found))
            self.assertGreater(found["kernels"][1], 20)

    def test_html_is_well_formed_and_escapes(self):
        found = self.python("""
import json, os
import libprof
with libprof.recording(output_dir=os.environ["OUT"]) as run:
    with libprof.range("<script>alert()</script> & \\ud800"):
        pass
    with libprof.range("outer"), libprof.range("inner"):
        pass
print(json.dumps([run.capture._repr_html_()] + [libprof.load(os.environ["CAPTURE"]).report(name)._repr_html_() for name in libprof.reports()]))
""", CAPTURE=str(CAPTURE))
        from html.parser import HTMLParser

        for page in found:
            stack, texts = [], []

            class Parser(HTMLParser):
                def handle_starttag(self, tag, attributes):
                    stack.append(tag)

                def handle_endtag(self, tag):
                    assert stack.pop() == tag

                def handle_data(self, data):
                    texts.append(data)

            parser = Parser()
            parser.feed(page)
            parser.close()
            self.assertEqual(stack, [])
        self.assertNotIn("<script", found[0])
        self.assertIn("&lt;script&gt;alert()&lt;/script&gt; &amp; ?", found[0])
        self.assertLess(found[0].index("outer"), found[0].index("inner"))


class Guide(Package):
    def test_examples_of_the_page(self):
        page = (ROOT / "docs/guide/python.md").read_text()
        in_readme, = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
        done = subprocess.run([sys.executable, "-c", in_readme], env=environment(), capture_output=True, text=True, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^forward +1 ")
        blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
        self.assertEqual(len(blocks), 7)
        (self.folder / "run.prof").write_bytes(CAPTURE.read_bytes())
        code = "\n".join(blocks[:4]) + """
import asyncio
asyncio.run(fetch())
assert run.summary["forward"].count == 3 and capture.summary()["iteration #/forward"].gpu_sum_ns > 0
for text in (capture, kernels, kernels.table):
    assert "<table>" in text._repr_html_()"""
        done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        self.assertRegex(done.stdout, r"^3 \S+/runs/today/\S+\.prof\n")


class Import(Package):
    def test_it_brings_no_framework(self):
        found = self.python("""
import json, sys
before = set(sys.modules)
import libprof
libprof.load
print(json.dumps(sorted({each.split(".")[0] for each in set(sys.modules) - before})))""")
        self.assertFalse(set(found) & {"numpy", "pandas", "polars", "pyarrow", "torch", "typing", "dataclasses"}, found)

    def test_it_records_nothing(self):
        self.python("""
import json, libprof
with libprof.range("x"):
    pass
print(json.dumps(libprof.is_recording()))""")
        self.assertEqual([each.name for each in self.folder.iterdir()], [])

    def test_doctests(self):
        found = self.python("""
import doctest, importlib, json, os
import libprof
results = {}
for name in ("_ranges", "recording", "captures"):
    module = importlib.import_module("libprof." + name)
    scope = {**vars(libprof), "load": libprof.load, "reports": libprof.reports, "example_capture": os.environ["CAPTURE"]}
    results[name] = list(doctest.testmod(module, globs=scope))
print(json.dumps(results))""", CAPTURE=str(CAPTURE), PROF_OUTPUT_DIR=str(self.folder / "doctest"))
        self.assertTrue(all(failed == 0 and tried > 0 for failed, tried in found.values()), found)

    def test_module_is_the_command(self):
        done = subprocess.run([sys.executable, "-m", "libprof", "--version"], env=environment(), capture_output=True, text=True)
        self.assertEqual(done.stdout, subprocess.run([PROF, "--version"], capture_output=True, text=True).stdout)


if __name__ == "__main__":
    PROF, PACKAGE, COMPILER = (sys.argv.pop(1) for _ in range(3))
    PROF, PACKAGE = os.path.abspath(PROF), os.path.abspath(PACKAGE)
    unittest.main()
