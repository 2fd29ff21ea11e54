# SPDX-License-Identifier: Apache-2.0
"""Captures, reports, tables and summaries as Python's objects: copied, pickled, closed, written to files, and typed.

Usage: package_values_test.py <prof> <folder with the package>
"""
import csv
import gzip
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import unittest

from clean_environment import clean_environment
from scratch_case import ScratchCase

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from torch_trace import TorchTrace  # noqa: E402

CAPTURE = ROOT / "examples/captures/h200_trainer.prof"
PROF = PACKAGE = ""

BEGIN = """
import copy, errno, gc, json, os, pickle, sys, threading
import libprof
FILE = os.environ["CAPTURE"]
def values(report):
    return {key: [table.heading, len(table), table.totals, table.to_dict(), [[each.key, each.title, each.unit] for each in table.columns]]
            for key, table in report.tables.items()}
def raised(call):
    try:
        call()
    except Exception as failure:
        return failure
"""


class Values(ScratchCase):
    maxDiff = None

    def python(self, code, *options, **more):
        """What the code prints, as JSON. It prints nothing on standard error."""
        program = self.folder / "program.py"
        program.write_text(BEGIN + code)
        environment = clean_environment(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1", CAPTURE=str(CAPTURE), **more)
        done = subprocess.run([sys.executable, *options, program.name], cwd=self.folder, capture_output=True, text=True,
                              timeout=200, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout) if done.stdout else None

    def command(self, *arguments):
        return subprocess.run([PROF, *arguments], capture_output=True, text=True, check=True).stdout


class Lines(Values):
    def test_lines_of_the_program(self):
        """A trace with a wait of 768 us a step in compute() of loss.py, as objects, JSON and a data frame; and in the
        findings' places."""
        trace = TorchTrace()
        for number in range(12):
            at = 1000 + 2000 * number
            trace.step(number, at, at + 2000)
            trace.row("python_function", "loss.py(20): compute", at + 100, at + 1200)
            trace.kernel(at + 120, at + 1000, at + 100)
            trace.call("cudaStreamSynchronize", at + 262, at + 1030)
            trace.kernel(at + 1210, at + 1990, at + 1205)
        path = trace.write(self.folder / "trace.json")
        found = self.python("""
try:
    import pandas
except ImportError:
    pandas = None
with libprof.load(os.environ["TRACE"]) as capture:
    lines, places = capture.report("lines"), capture.report("diagnose_places")
    frame = lines.to_pandas() if pandas else None
    waits = None if frame is None else frame[(frame["line"] == "loss.py") & (frame["cause"] == "waiting")]
    print(json.dumps({"rows": lines.to_dicts(), "json": json.loads(lines.render("json"))["rows"], "places": places.to_dicts(),
                      "diagnosis": json.loads(capture.report("diagnose").render("json")),
                      "frame": None if frame is None else [len(frame), waits["cost_ns"].tolist(), waits["count"].tolist()]}))""",
                            TRACE=str(path))  # fmt: skip
        (row,) = (row for row in found["rows"] if (row["line"], row["cause"]) == ("loss.py", "waiting"))
        self.assertEqual((row["cost_ns"], row["count"], row["longest_ns"], row["code"]),
                         (768000, 1, 768000, "compute (from line 20)"))
        self.assertIn("loss.py compute (from line 20)", row["stack"])
        self.assertEqual(found["rows"], found["json"])
        self.assertEqual(found["rows"], json.loads(self.command("report", "--report", "lines", "--format", "json", str(path)))["rows"])
        if found["frame"] is not None:
            self.assertEqual(found["frame"], [len(found["rows"]), [768000], [1]])
        (place,) = (place for place in found["places"] if place["rule"] == "synchronization")
        self.assertEqual((place["line"], place["code"]), ("loss.py", "compute (from line 20)"))
        (finding,) = (each for each in found["diagnosis"]["rows"] if each["rule"] == "synchronization")
        self.assertEqual([(each["line"], each["code"]) for each in finding["places"]], [("loss.py", "compute (from line 20)")])


class Copies(Values):
    def test_copies_outlive_what_they_were_copied_of(self):
        found = self.python("""
capture = libprof.load(FILE)
report, summary = capture.report(), capture.summary()
table = report.table
things = dict(capture=capture, report=report, table=table, summary=summary, row=summary.rows[0], column=table.columns[0])
expected = [capture.title, values(report), summary.to_dicts()]
copies = [{name: how(thing) for name, thing in things.items()} for how in (copy.copy, copy.deepcopy)]
copies.append(copy.deepcopy(things))
del capture, report, table, things, summary
gc.collect()
out = []
for each in copies:
    out.append([each["capture"].title, values(each["report"]), each["summary"].to_dicts()] == expected)
    out.append(each["table"].to_dict() == list(expected[1].values())[0][3])
    out.append([each["row"].path, each["column"].key, len(each["capture"].report("kernels").to_dicts()) > 10])
print(json.dumps(out))""")
        self.assertEqual(found, [True, True, ["iteration #", "name" if found[2][1] == "name" else found[2][1], True]] * 3)

    def test_pickles_are_values(self):
        """A report's tables are there without the capture; a capture is read again."""
        found = self.python("""
import shutil
shutil.copy(FILE, "run.prof")
os.mkdir("elsewhere")
capture = libprof.load("run.prof")
report = capture.report("kernels", limit=7, kernel_names="short")
full, summary = capture.report(), capture.summary()
expected = [values(report), report.notes, report.title, summary.to_dicts(), summary.total_gpu_ns, capture.title, str(report)]
out = []
for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
    data = pickle.dumps([capture, report, summary, report.table, full], protocol)
    os.chdir("elsewhere")
    again, of_report, of_summary, table, of_full = pickle.loads(data)
    os.chdir("..")
    out.append([values(of_report), of_report.notes, of_report.title, of_summary.to_dicts(), of_summary.total_gpu_ns, again.title,
                str(of_report)] == expected and values(of_full) == values(full))
    out.append(of_full.answer == full.answer and of_full.gains == full.gains and table.to_dicts() == report.to_dicts())
    out.append(isinstance(of_report, libprof.Report) and of_report._repr_html_() == report._repr_html_())
    out.append(values(pickle.loads(pickle.dumps(of_report))) == expected[0])
data = pickle.dumps([report, summary])
of_capture = pickle.dumps(capture)
os.unlink("run.prof")
of_report, of_summary = pickle.loads(data)
out.append(values(of_report) == expected[0] and of_summary.to_dicts() == expected[3])
print(json.dumps([out, type(raised(of_report.render)).__name__, type(raised(lambda: pickle.loads(of_capture))).__name__]))""")
        self.assertEqual(found, [[True] * len(found[0]), "FileNotFoundError", "FileNotFoundError"])

    def test_pools_of_processes(self):
        found = self.python("""
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
if __name__ == "__main__":
    out = []
    for method in ("fork", "spawn", "forkserver"):
        with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
            captures = list(pool.map(libprof.load, [FILE] * 3))
            out.append([len(capture.report().to_dicts()) for capture in captures])
            out.append([len(each.rows) for each in pool.map(libprof.Capture.summary, captures)])
            out.append([len(each.to_dicts()) for each in pool.map(libprof.Capture.report, captures)])
    print(json.dumps(out))""")
        self.assertTrue(all(each == [each[0]] * 3 and each[0] > 5 for each in found) and len(found) == 9, found)

    def test_dataclasses(self):
        found = self.python("""
import dataclasses
@dataclasses.dataclass
class Run:
    capture: libprof.Capture
    report: libprof.Report
capture = libprof.load(FILE)
there = dataclasses.asdict(Run(capture, capture.report()))
del capture
gc.collect()
print(json.dumps([there["capture"].title == libprof.load(FILE).title, len(there["report"].to_dicts()) > 5]))""")
        self.assertEqual(found, [True, True])


class Closing(Values):
    def test_what_is_closed_says_so(self):
        found = self.python("""
capture = libprof.load(FILE)
report, summary = capture.report(), capture.summary()
rows = report.to_dicts()
capture.close()
capture.close()
out = [report.to_dicts() == rows, "gpu_sum_ns" in summary.to_dicts()[0], repr(capture)]
calls = [lambda: capture.title, lambda: capture.properties, lambda: capture.notes, lambda: capture.drops, capture.report,
         capture.summary, lambda: capture.export("t.json"), capture._repr_html_]
failures = [raised(call) for call in calls]
table = report.table
report.close()
failures += [raised(call) for call in (report.render, table.to_dicts, lambda: table.column(table.columns[0].key),
                                       lambda: pickle.dumps(report), lambda: report.export("r.csv"))]
with libprof.load(FILE) as capture:
    title = capture.title
failures.append(raised(lambda: capture.title))
again = pickle.loads(pickle.dumps(libprof.load(FILE).report()))
again.close()
failures.append(raised(again.render))
print(json.dumps([out, [f"{type(each).__name__}: {each}" for each in failures], report.notes, os.listdir()]))""")
        (same, has_column, shown), failures, notes, files = found
        self.assertTrue(same and has_column)
        self.assertIn("h200_trainer.prof", shown)
        self.assertEqual(set(failures[:8]) | {failures[13]}, {"WrongState: this capture is closed"})
        self.assertEqual(set(failures[8:13]), {"WrongState: this report is closed"})
        self.assertRegex(failures[14], "^WrongState: this .*report is closed")
        self.assertEqual(files, ["program.py"])

    def test_threads_read_what_another_closes(self):
        found = self.python("""
out = []
def read(capture, report):
    try:
        while True:
            assert capture.title and capture.properties and report.to_dicts() and report.render("csv")
    except libprof.WrongState:
        out.append("closed")
for _ in range(5):
    capture = libprof.load(FILE)
    report = capture.report("kernels")
    threads = [threading.Thread(target=read, args=(capture, report)) for _ in range(4)]
    [each.start() for each in threads]
    report.render(); capture.report("steps")
    report.close()
    capture.close()
    [each.join() for each in threads]
print(json.dumps(out))""")
        self.assertEqual(found, ["closed"] * 20)

    def test_memory_is_given_back(self):
        """By close(), and where nothing refers to a capture any more."""
        found = self.python("""
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def cycle(closes):
    capture = libprof.load(FILE)
    report = capture.report()
    if closes:
        report.close(); capture.close()
        return [capture, report]
kept, sizes = [], []
for number in range(60):
    kept.append(cycle(True))
    cycle(False)
    gc.collect()
    sizes.append(resident())
print(json.dumps(sizes))""")
        self.assertLess(found[-1] - found[19], 20e6, found)

    def test_ends_of_interpreters(self):
        """Objects that live in modules, cycles and threads until the interpreter is gone."""
        for _ in range(5):
            self.python("""
class Cycle: pass
cycle = Cycle()
cycle.capture, cycle.own = libprof.load(FILE), cycle
cycle.report = cycle.capture.report()
cycle.bound = cycle.report.table.column
sys.modules["kept"] = cycle
libprof.kept = [cycle.capture.summary(), cycle.report]
threading.Thread(target=lambda: [cycle.report.to_dicts() for _ in range(10 ** 6)], daemon=True).start()
class AtEnd:
    def __init__(self, capture): self.capture = capture
    def __del__(self): self.capture.title
end = AtEnd(cycle.capture)""")

    def test_forked_children(self):
        found = self.python("""
capture = libprof.load(FILE)
report = capture.report()
expected = report.to_dicts()
statuses = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        same = report.to_dicts() == expected and capture.title and len(capture.report("kernels").to_dicts()) > 5
        report.close(); capture.close()
        os._exit(0 if same and isinstance(raised(report.to_dicts), libprof.WrongState) else 3)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps([statuses, report.to_dicts() == expected]))""")
        self.assertEqual(found, [[0, 0, 0], True])


class Files(Values):
    def test_files_that_cannot_be_opened(self):
        found = self.python("""
open("text.prof", "w").write("no capture")
open("empty.prof", "w").close()
os.mkdir("folder")
os.symlink("loop", "loop")
os.mkfifo("pipe")
out = {}
for name in ("none.prof", "folder", "loop", "x" * 300, "text.prof/x", b"none.prof", "text.prof", "empty.prof", "pipe", "a\\0b", 3, None):
    failure = raised(lambda: libprof.load(name))
    number = getattr(failure, "errno", None)
    out[str(name)] = [type(failure).__name__, number and errno.errorcode[number],
                      isinstance(failure, OSError) and failure.filename == os.path.abspath(os.fsdecode(name)), isinstance(failure, ValueError)]
print(json.dumps(out))""")
        self.assertEqual(found, {
            "none.prof": ["FileNotFoundError", "ENOENT", True, False], "folder": ["IsADirectoryError", "EISDIR", True, False],
            "loop": ["OSError", "ELOOP", True, False], "x" * 300: ["OSError", "ENAMETOOLONG", True, False],
            "text.prof/x": ["NotADirectoryError", "ENOTDIR", True, False],
            "b'none.prof'": ["FileNotFoundError", "ENOENT", True, False], "text.prof": ["Failed", None, False, False],
            "empty.prof": ["Failed", None, False, False], "pipe": ["Failed", None, False, False],
            "a\0b": ["InvalidArgument", None, False, True], "3": ["TypeError", None, False, False],
            "None": ["TypeError", None, False, False]})

    def test_traces_are_those_of_the_command(self):
        found = self.python("""
capture = libprof.load(FILE)
paths = [capture.export("all.json"), capture.export(b"packed.json.gz"), capture.export("part.json", range="forward", steps="2:4"),
         capture.export("own.json", adopt="off")]
print(json.dumps(paths))""")
        self.assertEqual([pathlib.Path(path).name for path in found], ["all.json", "packed.json.gz", "part.json", "own.json"])
        self.assertTrue(all(os.path.dirname(path) == os.path.realpath(self.folder) for path in found), found)
        for path, flags in zip(found, ([], [], ["--range", "forward", "--steps", "2:4"], ["--adopt", "off"])):
            expected = pathlib.Path(path).parent / "expected" / pathlib.Path(path).name
            expected.parent.mkdir(exist_ok=True)
            self.command("export", *flags, "-o", expected, CAPTURE)
            unpack = gzip.decompress if path.endswith("gz") else bytes
            self.assertEqual(*(unpack(each.read_bytes()).replace(bytes(each), b"the trace's own name")
                               for each in (pathlib.Path(path), expected)))

    def test_a_trace_lies_beside_its_capture_by_default(self):
        found = self.python("""
import shutil
shutil.copy(FILE, "run.prof")
print(json.dumps(libprof.load("run.prof").export()))""")
        self.assertEqual(found, os.path.realpath(self.folder / "run.trace.json.gz"))
        self.assertGreater(len(json.loads(gzip.decompress(pathlib.Path(found).read_bytes()))["traceEvents"]), 100)

    def test_pages_are_those_of_the_command(self):
        found = self.python("""
capture = libprof.load(FILE)
page = capture.to_html("own.html")
job = libprof.to_html([capture, FILE], path="job.html", steps="2:6")
shown = page._repr_html_()
failures = [raised(lambda: libprof.to_html([])), raised(lambda: capture.to_html("x.html", color="always")),
            raised(lambda: capture.to_html("nowhere/x.html")), raised(lambda: libprof.to_html("nowhere.prof"))]
print(json.dumps([[os.path.basename(page), os.path.basename(job)], shown[:29], "&lt;script&gt;" in shown, "<script" in shown,
                  [type(each).__name__ for each in failures], os.path.exists("x.html")]))""")
        self.assertEqual(found, [["own.html", "job.html"], '<iframe sandbox="allow-script', True, False,
                                 ["InvalidArgument", "InvalidArgument", "Failed", "Failed"], False])
        self.command("report", CAPTURE, "--html", self.folder / "wanted.html")
        self.assertEqual(*((self.folder / name).read_bytes() for name in ("own.html", "wanted.html")))

    def test_comparisons_are_those_of_the_command(self):
        found = self.python("""
capture = libprof.load(FILE)
made = libprof.diff(capture, FILE, margin=0.5)
gated = libprof.diff(FILE, FILE, fail_over=["2%", "gpu=1", "memory=2%"])
failures = [raised(lambda: libprof.diff(FILE, FILE, color="always")), raised(lambda: libprof.diff(FILE, FILE, fail_over="x")),
            raised(lambda: libprof.diff(FILE, "nowhere.prof"))]
print(json.dumps([made.verdict, made.gate, made.step["change"], gated.gate, [row["limit"] for row in gated.tables["diff_gate"]],
                  "prof run --allocations on" in gated.tables["diff_gate"][2]["why"],
                  [type(each).__name__ for each in failures], made.tables, str(made)]))""")
        *values, tables, text = found
        self.assertEqual(values, ["do not differ", None, 0, "inconclusive", ["2%", "gpu=1", "memory=2%"], True,
                                  ["InvalidArgument", "InvalidArgument", "Failed"]])
        expected = json.loads(self.command("diff", "--format", "json", "--margin", "0.5", CAPTURE, CAPTURE))
        self.assertEqual(tables, {document["report"]: document["rows"] for document in expected})
        self.assertIn("these two do not differ measurably", text)

    def test_baselines_and_pages_of_comparisons(self):
        found = self.python("""
capture = libprof.load(FILE)
kept = libprof.baseline([capture, FILE], "kept.json", any_host=True)  # one run id, so that it is one run
made = libprof.diff("kept.json", FILE, fail_over="50%")
page = made.to_html("difference.html")
failures = [raised(lambda: libprof.baseline(FILE, "kept.json", margin=2)), raised(lambda: libprof.baseline("nowhere.prof", "x.json")),
            raised(lambda: libprof.baseline(FILE, "x.txt"))]
print(json.dumps([os.path.basename(kept), made.step["base_runs"], [row["side"] for row in made.tables["diff_runs"]], made.gate, os.path.basename(page),
                  [type(each).__name__ for each in failures]]))""")
        self.assertEqual(found, ["kept.json", 1, ["base", "new"], "inconclusive", "difference.html",
                                 ["InvalidArgument", "Failed", "InvalidArgument"]])
        kept = json.loads((self.folder / "kept.json").read_text())
        self.assertNotIn("host", kept["machine"])
        self.assertIn("<h1", (self.folder / "difference.html").read_text(encoding="utf-8"))

    def test_reports_are_those_of_the_command(self):
        self.python("""
capture = libprof.load(FILE)
for ending in ("csv", "html", "json", "md", "txt"):
    capture.report("kernels").export(f"kernels.{ending}")
capture.report("kernels").export("kernels", "csv")
""")
        for ending, name in (("csv", "csv"), ("html", "html"), ("json", "json"), ("md", "markdown"), ("txt", "table")):
            expected = self.command("report", "--report", "kernels", "--format", name, CAPTURE)
            self.assertEqual((self.folder / f"kernels.{ending}").read_text(), expected)
        self.assertEqual((self.folder / "kernels").read_text(), (self.folder / "kernels.csv").read_text())

    def test_summaries(self):
        rows, total = self.python("""
summary = libprof.load(FILE).summary()
summary.export("rows.csv")
summary.export("rows.json")
print(json.dumps([summary.to_dicts(), summary.total_gpu_ns]))""")
        document = json.loads((self.folder / "rows.json").read_text())
        self.assertEqual((document["rows"], document["total_gpu_ns"], document["dropped"]), (rows, total, {}))
        written = list(csv.DictReader(io.StringIO((self.folder / "rows.csv").read_text())))
        self.assertEqual([{key: "" if value is None else str(value) for key, value in row.items()} for row in rows], written)

    def test_files_that_cannot_be_written(self):
        found = self.python("""
import resource, shutil
shutil.copy(FILE, "run.prof")
capture = libprof.load("run.prof")
report, summary = capture.report(), capture.summary()
os.mkdir("folder.json")
for name in ("old.json", "old.csv"):
    open(name, "w").write("old")
out = []
def refused(call, name):
    failure = raised(call)
    number = getattr(failure, "errno", None)
    out.append([type(failure).__name__, number and errno.errorcode[number],
                getattr(failure, "filename", None) == os.path.abspath(os.fsdecode(name)) if number else isinstance(failure, ValueError)])
for thing in (capture, report, summary):
    for name in ("none/x.json", "folder.json", "/proc/x.json", "x.xml", "a\\0.json"):
        refused(lambda: thing.export(name), name)
    out.append(type(raised(lambda: thing.export(3))).__name__)
refused(lambda: capture.export("x.json", range="no such range"), "")
refused(lambda: capture.export("x.json", colour="red"), "")
refused(lambda: report.export("x.json", "yaml"), "")
os.link("run.prof", "same.json")
refused(lambda: capture.export("same.json"), "")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
refused(lambda: capture.export("old.json"), "old.json")
refused(lambda: report.export("old.json"), "old.json")
refused(lambda: summary.export("old.csv"), "old.csv")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(json.dumps([out, [open(name).read() for name in ("old.json", "old.csv")], sorted(os.listdir())]))""")
        each = [["FileNotFoundError", "ENOENT", True], ["IsADirectoryError", "EISDIR", True],
                ["FileNotFoundError", "ENOENT", True], ["InvalidArgument", None, True], ["InvalidArgument", None, True],
                "TypeError"]
        self.assertEqual(found[0], each * 3 + [["InvalidArgument", None, True]] * 4 + [["OSError", "EFBIG", True]] * 3)
        self.assertEqual(found[1:], [["old", "old"], ["folder.json", "old.csv", "old.json", "program.py", "run.prof", "same.json"]])


EXAMPLE = """
from __future__ import annotations
import libprof
from libprof.recording import Started

with libprof.recording(output_dir="runs", schedule="wait=5,active=3", modules=2, phases=False, export=["trace"]) as run:
    with libprof.range("forward", payload=4096) as inner:
        name: str = inner.name
reveal_type(run)
reveal_type(run.error)
reveal_type(libprof.stop(strict=True))
reveal_type(libprof.load(b"run.prof"))
capture = libprof.load("run.prof")
reveal_type(capture.report("kernels"))
reveal_type(capture.report().tables["rows"].column("name"))
reveal_type(capture.summary()["forward"].gpu_sum_ns)
reveal_type([row.parent for row in capture.summary()])
reveal_type(capture.export("x.json"))
reveal_type(libprof.range_start("x"))
with libprof.load("x") as opened:
    reveal_type(opened)

@libprof.range("validate")
def validate(rows: int, *, scale: float = 1) -> str:
    return str(rows * scale)

reveal_type(validate)

@libprof.range("fetch")
async def fetch() -> int:
    return 3

async def main() -> None:
    reveal_type(await fetch())
"""
REVEALED = ["recording", "Error | None", "str | None", "Capture", "Report", "list[Any]", "int", "list[int | None]", "str",
            "int", "Capture", "def (rows: int, *, scale: float =) -> str", "int"]
# Each line is refused.
WRONG = """
from __future__ import annotations
import libprof
libprof.start(pytorch="all")
libprof.start(output_dir=3)
libprof.range(3)
libprof.range("x", colour=3)
libprof.load(3)
libprof.load("x").report().render("html5")
libprof.load("x").report(3)
libprof.load("x").summary()[3]
libprof.stop(True)
libprof.no_such_name
"""


class Typing(Values):
    def check_code(self, name, code):
        (self.folder / name).write_text(code)
        return self.check(name)

    def check(self, *files):
        environment = {**os.environ, "MYPYPATH": "", "PYTHONPATH": os.pathsep.join(
            filter(None, [PACKAGE, os.environ.get("PYTHONPATH", "")]))}
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.folder / "cache", *files],
                              cwd=self.folder, capture_output=True, text=True, timeout=300, env=environment)
        return done.returncode, done.stdout + done.stderr

    def setUp(self):
        super().setUp()
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("NOT CHECKED: no mypy; pip install -r tests/requirements.txt")

    def test_a_program_is_checked_strictly(self):
        status, said = self.check_code("example.py", EXAMPLE)
        revealed = [line.split('Revealed type is "')[1].rstrip('"') for line in said.splitlines() if "Revealed type" in line]
        plain = [each.replace(" = 1)", " =)").replace("builtins.", "").replace("libprof.captures.", "").replace("libprof.recording.", "")
                 .replace("libprof._library.", "") for each in revealed]
        self.assertEqual((status, plain), (0, REVEALED), said)

    def test_mistakes_are_found(self):
        status, said = self.check_code("wrong.py", WRONG)
        found = {int(line.split(":")[1]) for line in said.splitlines() if ": error:" in line}
        self.assertEqual((status, found), (1, set(range(4, 4 + 10))), said)

    def test_the_package_itself(self):
        """But for packages that are not installed here."""
        sources = sorted(pathlib.Path(PACKAGE).glob("libprof*/*.py"))
        status, said = self.check(*sources)
        foreign = ("import-not-found", "import-untyped", "Callback", "unused-ignore")
        own = [line for line in said.splitlines() if ": error:" in line and not any(each in line for each in foreign)]
        self.assertEqual(own, [], said)
        self.assertIn(f"checked {len(sources)} source files", said)

    def test_every_public_name_is_annotated(self):
        found = self.python("""
import inspect
missing = []
def check(name, thing):
    if isinstance(thing, property):
        thing = thing.fget
    if not inspect.isfunction(thing):
        return
    parameters = list(inspect.signature(thing).parameters.values())
    for each in parameters:
        if each.annotation is each.empty and each.name != "self" and each.name != "cls":
            missing.append(f"{name}({each.name})")
    if "return" not in thing.__annotations__:
        missing.append(name)
for name in libprof.__all__:
    thing = getattr(libprof, name)
    check(name, thing)
    for key, value in vars(thing).items() if inspect.isclass(thing) else ():
        if not key.startswith("_") or key in ("__init__", "__call__", "__getitem__", "__enter__", "__exit__"):
            check(f"{name}.{key}", getattr(value, "__func__", value))
print(json.dumps(missing))""")
        self.assertEqual(found, [])


if __name__ == "__main__":
    PROF, PACKAGE = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    unittest.main()
