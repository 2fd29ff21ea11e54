#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What another language reads through libprof.so (prof/read.h), by ctypes alone, against what the prof command prints.

    reading_test.py LIBPROF PROF WRITE_RANDOM_CAPTURES [unittest's arguments]
"""
import concurrent.futures
import csv
import ctypes
import io
import json
import math
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest
from ctypes import byref, c_char_p, c_double, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p, sizeof

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/analysis/recompute"))
from program import printable  # noqa: E402

LIBRARY, PROF, WRITE_RANDOM_CAPTURES = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
HEADER = (ROOT / "include/prof/read.h").read_text()
EXAMPLES = sorted((ROOT / "examples/captures").glob("*.prof"))
OK, INVALID_ARGUMENT, WRONG_STATE, FAILED = range(4)
NO_ROW = 2**32 - 1
# Reports of all captures together.
OF_JOBS = {"processes", "ranks", "stragglers", "collectives", "clocks", "job_path", "standstill"}
KINDS = {"push_pop": 1, "captured": 1, "phase": 2, "no_range": 3, "ambiguous": 4, "unmatched": 5}
ABSENT, INTEGER, UNSIGNED, REAL, BOOLEAN, TEXT = range(6)


def structs():
    """The structs of the header, as ctypes has them."""
    types = {"const char*": c_char_p, "uint32_t": c_uint32, "uint64_t": c_uint64, "int64_t": c_int64,
             "double": c_double, "size_t": c_size_t}  # fmt: skip
    text = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
    out = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.DOTALL):
        fields = [(field, types[kind]) for kind, field in re.findall(r"((?:const )?\w+\*?) (\w+);", body)]
        assert len(fields) == body.count(";"), (name, fields)
        out[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return out


STRUCTS = structs()
FIRST_SIZES = {"prof_drop": 32, "prof_summary_row": 128, "prof_summary_steps": 56, "prof_summary_step_row": 48,
               "prof_report_table": 40, "prof_report_column": 24, "prof_report_cell": 40}  # fmt: skip


def functions():
    """Of each function of the header: what it returns, and the types of its parameters."""
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", HEADER, flags=re.DOTALL | re.MULTILINE)
    out = {}
    for returned, name, parameters in re.findall(r"([\w ]+\*?) ?\b(prof_\w+)\(([^)]*)\);", text):
        of = [re.sub(r"\s+", " ", parameter.strip()) for parameter in parameters.split(",")]
        out[name] = (returned.replace("PROF_NODISCARD", "").strip(), [] if of == ["void"] else of)
    return out


FUNCTIONS = functions()
RETURNED = {"int": ctypes.c_int, "size_t": c_size_t, "int64_t": c_int64, "uint64_t": c_uint64, "const char*": c_char_p,
            "void": None}  # fmt: skip


def load():
    library = ctypes.CDLL(LIBRARY)
    for name, (returned, parameters) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = RETURNED.get(returned, c_void_p)
        function.argtypes = [c_void_p if "*" in parameter else c_size_t for parameter in parameters]
    library.prof_last_error.restype = c_char_p
    return library


LIB = load()


def error():
    return LIB.prof_last_error().decode()


def settings_of(*settings):
    return (c_char_p * (len(settings) + 1))(*[setting.encode() for setting in settings], None)


def get(function, *arguments):
    """The struct that a function fills: its type is in the prototype."""
    kind = next(re.match(r"prof_\w+", parameter)[0] for parameter in FUNCTIONS[function][1]
                if parameter.startswith("prof_"))  # fmt: skip
    out = STRUCTS[kind]()
    result = getattr(LIB, function)(*arguments, byref(out), sizeof(out))
    assert result == OK, error()
    return out


class Report:
    """A report as a Python binding would read it."""

    def __init__(self, capture, name, *settings):
        self.handle = LIB.prof_report_open(capture, name.encode(), settings_of(*settings))
        assert self.handle, error()
        self.notes = [LIB.prof_report_note(self.handle, i) for i in range(LIB.prof_report_note_count(self.handle))]
        count = LIB.prof_report_table_count(self.handle)
        self.tables = [get("prof_report_get_table", self.handle, i) for i in range(count)]

    def columns(self, table):
        return [get("prof_report_get_column", self.handle, table, i) for i in range(self.tables[table].columns)]

    def cell(self, table, row, column):
        return value_of(get("prof_report_get_cell", self.handle, table, row, column))

    def totals(self, table):
        return {LIB.prof_report_total_key(self.handle, table, i).decode():
                value_of(get("prof_report_get_total", self.handle, table, i))
                for i in range(self.tables[table].totals)}  # fmt: skip

    def read(self, table, column, kind):
        """The column at once."""
        count = self.tables[table].rows
        present = (c_uint8 * count)()
        if kind == TEXT:
            texts, lengths = (c_void_p * count)(), (c_size_t * count)()
            assert LIB.prof_report_read_texts(self.handle, table, column, 0, count, texts, lengths) == OK, error()
            return [None if text is None else ctypes.string_at(text, size) for text, size in zip(texts, lengths)]
        values = (c_double * count)() if kind == REAL else (c_int64 * count)()
        read = LIB.prof_report_read_reals if kind == REAL else LIB.prof_report_read_integers
        assert read(self.handle, table, column, 0, count, values, present) == OK, error()
        for value, there in zip(values, present):
            assert there or (math.isnan(value) if kind == REAL else value == 0)
        convert = {REAL: float, BOOLEAN: bool, UNSIGNED: lambda value: value % 2**64}.get(kind, int)
        return [convert(value) if there else None for value, there in zip(values, present)]

    def render(self, form):
        size = c_size_t()
        text = LIB.prof_report_render(self.handle, form.encode(), byref(size))
        assert text, error()
        try:
            return ctypes.string_at(text, size.value)
        finally:
            LIB.prof_free_text(text)

    def close(self):
        LIB.prof_report_close(self.handle)


def value_of(cell):
    if cell.type == TEXT:
        return ctypes.string_at(cell.text, cell.text_size) if cell.text_size else b""
    return {ABSENT: None, INTEGER: cell.integer, UNSIGNED: cell.integer % 2**64, REAL: cell.real,
            BOOLEAN: cell.integer == 1}[cell.type]  # fmt: skip


def as_cell(value):
    """A value of JSON as a cell has it: a list is lines."""
    return "\n".join(value) if isinstance(value, list) else value


def as_cells(row):
    return {key: as_cell(value) for key, value in row.items() if key != "places"}


def as_json(value):
    return printable(value) if isinstance(value, bytes) else value


def command(*arguments):
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run([PROF, *map(str, arguments)], capture_output=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


REPORTS = [LIB.prof_report_name(i).decode() for i in range(LIB.prof_report_count())]


class Reading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="prof_reading_")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.dir = pathlib.Path(cls.scratch.name)
        subprocess.run([WRITE_RANDOM_CAPTURES, cls.dir, "1", "12"], check=True)
        cls.random = sorted(cls.dir.glob("*.prof"))
        cls.captures = [*EXAMPLES, *cls.random]

    def open(self, path):
        capture = LIB.prof_capture_open(str(path).encode())
        self.assertTrue(capture, error())
        self.addCleanup(LIB.prof_capture_close, capture)
        return capture

    def report(self, capture, name, *settings):
        report = Report(capture, name, *settings)
        self.addCleanup(report.close)
        return report


class Reports(Reading):
    def test_lists_the_reports_and_formats_of_the_command(self):
        lines = [f"{LIB.prof_report_name(i).decode():<22} {LIB.prof_report_purpose(i).decode()}"
                 for i in range(LIB.prof_report_count())]  # fmt: skip
        self.assertEqual(lines, command("report", "--report", "help").decode().splitlines())
        formats = [LIB.prof_format_name(i).decode() for i in range(LIB.prof_format_count())]
        self.assertEqual(formats, ["table", "csv", "json", "markdown", "html"])

    def test_cells_are_those_of_json(self):
        seen = {}
        for path in self.captures:
            capture = self.open(path)
            listed = json.loads(command("report", path, "--report", ",".join(REPORTS), "--format", "json"))
            for name, expected in zip(REPORTS, listed, strict=True):
                with self.subTest(capture=path, report=name):
                    report = self.report(capture, name)
                    self.assertEqual([printable(note) for note in report.notes], expected["notes"])
                    step = expected.pop("step", ...)
                    self.assert_step(report, step)
                    self.assert_answer(report, expected.pop("answer", ...))
                    self.assertEqual("gains" in expected, any(table.key == b"gains" for table in report.tables))
                    for index, table in enumerate(report.tables):
                        key = table.key.decode()
                        if key.startswith("answer") or key in ("step", "step_parts"):
                            continue
                        if key == "run":  # an object, since there is one
                            expected["run"] = [expected["run"]] if expected["run"] else []
                        columns = report.columns(index)
                        keys = [column.key.decode() for column in columns]
                        self.assertEqual(len(set(keys)), len(keys))
                        rows = [{key: as_json(report.cell(index, row, i)) for i, key in enumerate(keys)}
                                for row in range(table.rows)]  # fmt: skip
                        self.assertEqual(rows, [as_cells(row) for row in expected.pop(key)])
                        for total, value in report.totals(index).items():
                            self.assertEqual(as_json(value), as_cell(expected.pop(total)), total)
                        for i, column in enumerate(columns):
                            self.assert_column(report, index, i, column)
                            seen.setdefault((name, key, keys[i]), set()).add(column.type)
                    expected.pop("no_range_largest", None)
                    expected.pop("keys", None)
                    of = {"captures"} if name in OF_JOBS else {"capture", "process"}
                    self.assertEqual(set(expected), of | {"schema", "report", "dropped", "warnings", "notes"})
        # A column without values is of the type that its unit suggests, which may be that of its values or not.
        self.assertEqual({column: types for column, types in seen.items()
                          if len(types) > 1 and types != {INTEGER, REAL}}, {})  # fmt: skip
        self.assertGreater(len(seen), 150)

    def assert_step(self, report, expected):
        tables = {table.key.decode(): i for i, table in enumerate(report.tables)}
        self.assertEqual("step" in tables, expected is not ...)
        if expected in (..., None):
            return
        parts = expected.pop("parts")
        for name, rows in (("step", [expected]), ("step_parts", parts)):
            keys = [column.key.decode() for column in report.columns(tables[name])]
            for at, row in enumerate(rows):
                read = {key: as_json(report.cell(tables[name], at, i)) for i, key in enumerate(keys)}
                if name == "step" and "function" not in row:
                    self.assertIsNone(read.pop("function"))
                self.assertEqual(read, row)
            self.assertEqual(report.tables[tables[name]].rows, len(rows))

    def assert_answer(self, report, expected):
        tables = {table.key.decode(): i for i, table in enumerate(report.tables)}
        self.assertEqual("answer" in tables, expected is not ...)
        if expected is ...:
            return

        def rows(name):
            keys = [column.key.decode() for column in report.columns(tables[name])]
            return [{key: as_json(report.cell(tables[name], at, i)) for i, key in enumerate(keys)}
                    for at in range(report.tables[tables[name]].rows)]  # fmt: skip

        parts = {"busy": [], "idle": []}
        for row in rows("answer_parts"):
            parts[row.pop("use")].append(row)
        found = [row | parts | {"slowest": rows("answer_slowest")} for row in rows("answer")]
        self.assertEqual(found, [] if expected is None else [expected])

    def assert_column(self, report, table, index, column):
        """What is read at once are the cells."""
        cells = [report.cell(table, row, index) for row in range(report.tables[table].rows)]
        self.assertEqual(report.read(table, index, column.type), cells)
        types = {type(cell) for cell in cells if cell is not None}
        allowed = {INTEGER: {int}, UNSIGNED: {int}, REAL: {int, float}, BOOLEAN: {bool}, TEXT: {bytes}}
        self.assertLessEqual(types, allowed[column.type])
        if column.type in (INTEGER, BOOLEAN):
            self.assertEqual([None if cell is None else float(cell) for cell in cells],
                             report.read(table, index, REAL))  # fmt: skip

    def test_cells_are_those_of_csv(self):
        for path in [*EXAMPLES, *self.random[:3]]:
            capture = self.open(path)
            for name in REPORTS:
                text = command("report", path, "--report", name, "--format", "csv").decode("latin-1")
                lines = csv.reader(io.StringIO(text, newline=""))
                header = next(lines)
                report = self.report(capture, name)
                lines = list(lines)
                at = 0
                for index, table in enumerate(report.tables):
                    if table.key.startswith((b"step", b"answer", b"gains", b"run")):
                        continue
                    columns = {column.key.decode(): i for i, column in enumerate(report.columns(index))}
                    self.assertLessEqual(set(header) - {"capture"}, set(columns))
                    for row in range(table.rows):
                        for key, text in zip(header, lines[at], strict=True):
                            if key != "capture":
                                self.assert_same(report.cell(index, row, columns[key]), text)
                        at += 1
                self.assertEqual(at, len(lines))

    def assert_same(self, value, text):
        if isinstance(value, bool) or value is None:
            self.assertEqual({None: "", True: "true", False: "false"}[value], text)
        elif isinstance(value, bytes):
            self.assertEqual(value.decode("latin-1"), text)
        elif isinstance(value, int):
            self.assertEqual(str(value), text)
        else:
            self.assertAlmostEqual(value, float(text), delta=0.05 + 1e-9 * abs(value))

    def test_texts_are_those_of_the_command(self):
        for path in [*EXAMPLES, *self.random[:2]]:
            capture = self.open(path)
            for name in REPORTS:
                report = self.report(capture, name)
                for form in ("table", "csv", "json", "markdown", "html"):
                    printed = command("report", path, "--report", name, "--format", form)
                    self.assertEqual(report.render(form), printed, (path, name, form))

    def test_settings_are_the_options_of_the_command(self):
        path = self.random[4]
        capture = self.open(path)
        for settings, options in (
            (["fold=0"], ["--no-fold"]),
            (["rows=3"], ["--rows", "3"]),
            (["rows=all", "depth=0"], ["--rows", "all", "--depth", "0"]),
            (["kernel_names=short"], ["--kernel-names", "short"]),
            (["kernel_names=mangled", "adopt=off"], ["--kernel-names", "mangled", "--adopt", "off"]),
            (["nvtx_domain_include=default"], ["--nvtx-domain-include", "default"]),
            (["nvtx_domain_exclude=NCCL,default"], ["--nvtx-domain-exclude", "NCCL,default"]),
            (["communication=k*"], ["--communication", "k*"]),
            (["range=*"], ["--range", "*"]),
            (["range=*", "range=(no range)", "limit=1"], ["--range", "*", "--range", "(no range)", "--limit", "1"]),
            (["from=0", "to=1us"], ["--from", "0", "--to", "1us"]),
        ):
            for name in ("gpu-projection", "kernels", "nvtx_gpu_proj_sum"):
                report = self.report(capture, name, *settings)
                for form in ("table", "json"):
                    printed = command("report", path, "--report", name, "--format", form, *options)
                    self.assertEqual(report.render(form), printed, (settings, name, form))
        narrow = self.report(capture, "gpu-projection", "width=70").render("table").decode().splitlines()
        self.assertLessEqual(max(len(line) for line in narrow if not line.startswith(("note:", "a process"))), 90)

    def test_bad_settings_are_refused(self):
        capture = self.open(self.random[0])
        for setting, expected in (
            ("rows", '"rows" is no name=value'),
            ("rows=0", 'rows: "0" is not accepted; it takes all, or a whole number from 1 to 1000000'),
            ("fold=maybe", 'fold: "maybe" is not accepted; it takes counters, all, none, or names with \'#\' for each number, '
                           'such as "layer #,iteration #"'),
            ("width=0", 'width: "0" is not accepted; it takes a whole number from 1 to 1000000'),
            ("depth=-1", 'depth: "-1" is not accepted; it takes a whole number'),
            ("kernel_names=long", 'kernel_names: "long" is not accepted; it takes full, short, or mangled'),
            ("output_dir=/tmp", 'a report has no setting "output_dir"; there are adopt, communication, depth, fold, from, '
                                "kernel_names, limit, nvtx_domain_exclude, nvtx_domain_include, range, rows, skip_first, sort, "
                                "step_range, steps, to, whole_run, width"),
            ("steps=8:3", 'steps: "8:3" is not accepted; it takes steps as A:B (A to B-1), A:, :B or a number'),
            ("skip_first=-1", 'skip_first: "-1" is not accepted; it takes a whole number'),
        ):  # fmt: skip
            self.assertIsNone(LIB.prof_report_open(capture, b"kernels", settings_of("fold=1", setting)))
            self.assertEqual(error(), expected)
            self.assertIsNone(LIB.prof_capture_summary(capture, settings_of(setting)))
            self.assertEqual(error(), expected)
        self.assertIsNone(LIB.prof_report_open(capture, b"kernel", None))
        self.assertEqual(error(), 'there is no report "kernel"; did you mean kernels?')
        self.assertIsNone(LIB.prof_report_open(capture, b"nothing like it", None))
        self.assertRegex(error(), r'^there is no report "nothing like it"; there are gpu-projection, breakdown, idle, ')
        report = self.report(capture, "kernels")
        self.assertIsNone(LIB.prof_report_render(report.handle, b"xml", None))
        self.assertEqual(error(), 'there is no format "xml"; there are table, csv, json, markdown, html')

    def test_a_column_is_read_in_parts_and_never_beyond_its_rows(self):
        report = self.report(self.open(EXAMPLES[0]), "kernels")
        keys = [column.key.decode() for column in report.columns(0)]
        column, rows = keys.index("total_ns"), report.tables[0].rows
        whole = report.read(0, column, INTEGER)
        self.assertGreater(rows, 3)
        values = (c_int64 * rows)(*[-1] * rows)
        self.assertEqual(LIB.prof_report_read_integers(report.handle, 0, column, 1, 2, values, None), OK)
        self.assertEqual(list(values)[:3], [*whole[1:3], -1])
        self.assertEqual(LIB.prof_report_read_integers(report.handle, 0, column, rows, 0, None, None), OK)
        for first, count in ((0, rows + 1), (rows, 1), (1, rows), (2**64 - 1, 2), (2, 2**64 - 1), (2**64 - 1, 0)):
            self.assertEqual(LIB.prof_report_read_integers(report.handle, 0, column, first, count, values, None),
                             INVALID_ARGUMENT)  # fmt: skip
        texts = (c_void_p * rows)()
        name = keys.index("name")
        for wrong in (LIB.prof_report_read_integers, LIB.prof_report_read_reals):
            self.assertEqual(wrong(report.handle, 0, name, 0, rows, values, None), INVALID_ARGUMENT)
        self.assertEqual(LIB.prof_report_read_texts(report.handle, 0, column, 0, rows, texts, None), INVALID_ARGUMENT)
        self.assertEqual(error(), "the column total_ns has no texts")

    def test_reports_outlive_their_capture_and_the_file(self):
        path = self.dir / "gone.prof"
        path.write_bytes(self.random[1].read_bytes())
        printed = {form: command("report", path, "--format", form) for form in ("table", "json")}
        capture = LIB.prof_capture_open(str(path).encode())
        path.unlink()
        report = self.report(capture, "gpu-projection")
        summary = LIB.prof_capture_summary(capture, None)
        LIB.prof_capture_close(capture)
        for form, text in printed.items():
            self.assertEqual(report.render(form), text)
        self.assertEqual(LIB.prof_summary_total_gpu_ns(summary), json.loads(printed["json"])["total_gpu_ns"])
        LIB.prof_summary_close(summary)

    def test_one_capture_and_report_are_read_by_several_threads(self):
        capture = self.open(EXAMPLES[0])
        shared = self.report(capture, "gpu-projection")

        def read(name):
            own = Report(capture, name)
            texts = [own.render(form) for form in ("csv", "table")] + [shared.render("table"), shared.render("json")]
            own.close()
            return texts

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            several = list(pool.map(read, REPORTS * 3))
        self.assertEqual(several, [read(name) for name in REPORTS] * 3)


class Captures(Reading):
    def test_properties_notes_and_drops_are_those_of_the_file(self):
        dropped = set()
        for path in self.captures:
            capture = self.open(path)
            report = json.loads(command("report", path, "--format", "json"))
            text = command("report", path).decode().splitlines()
            title = text.index(printable(LIB.prof_capture_title(capture)))
            windows = LIB.prof_capture_windows(capture).decode()
            self.assertIn(windows, ["", *text[title + 1 : title + 3]])
            notes = [LIB.prof_capture_note(capture, i) for i in range(LIB.prof_capture_note_count(capture))]
            self.assertEqual([printable(note) for note in notes], report["notes"][: len(notes)])
            drops = [get("prof_capture_get_drop", capture, i) for i in range(LIB.prof_capture_drop_count(capture))]
            self.assertEqual({drop.cause.decode(): drop.count for drop in drops}, report["dropped"])
            dropped |= set(report["dropped"])
            for drop in drops:
                self.assertTrue(drop.what)
            keys = [LIB.prof_capture_property_key(capture, i) for i in range(LIB.prof_capture_property_count(capture))]
            self.assertEqual(keys, sorted(keys))
            trace = self.dir / "trace.json"
            command("export", path, "-o", trace)
            exported = json.loads(trace.read_text())["libprof"]["capture"]
            for key in keys:
                value = LIB.prof_capture_property(capture, key)
                if key.decode() in exported:
                    self.assertEqual(printable(value), exported[key.decode()], key)
        self.assertTrue(dropped)

    def test_properties_of_a_real_capture(self):
        capture = self.open(EXAMPLES[0])
        self.assertIn(b"python", LIB.prof_capture_property(capture, b"command"))
        self.assertRegex(LIB.prof_capture_property(capture, b"pid"), rb"^\d+$")
        self.assertIsNone(LIB.prof_capture_property(capture, b"no such"))

    def test_what_is_no_capture_is_refused(self):
        text = self.dir / "text.prof"
        text.write_text("no capture\n" * 100)
        other = self.dir / "other.json"
        other.write_text('{"answer": 42}')
        cases = {self.dir: "is a directory", self.dir / "none.prof": "No such file", text: str(text),
                 self.dir / "x.json.gz": "No such file", other: "no trace"}  # fmt: skip
        for path, expected in cases.items():
            for function in (LIB.prof_capture_open, LIB.prof_summary_open_file):
                self.assertIsNone(function(str(path).encode()))
                self.assertIn(expected, error())
                self.assertNotIn("\n", error())

    def test_damaged_captures_are_read_or_refused(self):
        whole = EXAMPLES[1].read_bytes()
        path = self.dir / "damaged.prof"
        read = 0
        for at in range(0, len(whole), len(whole) // 40):
            for damaged in (whole[:at], whole[:at] + b"\xff" * 40 + whole[at + 40 :]):
                path.write_bytes(damaged)
                summary = LIB.prof_summary_open_file(str(path).encode())
                if summary is None:
                    self.assertTrue(error())
                    continue
                read += 1
                rows = [get("prof_summary_get_row", summary, i) for i in range(LIB.prof_summary_row_count(summary))]
                self.assertEqual(sum(row.gpu_self_ns for row in rows), LIB.prof_summary_total_gpu_ns(summary))
                LIB.prof_summary_close(summary)
        self.assertGreater(read, 40)


    def test_no_memory_is_an_error(self):
        """Each in a process of its own: what the heap of this one has free would count."""
        outcomes = []
        while outcomes[-3:] != [0, 0, 0] and len(outcomes) < 250:
            command_line = [sys.executable, "-B", __file__, *sys.argv[1:4], "--read-with", str(400_000 * len(outcomes))]
            outcomes.append(subprocess.run(command_line, timeout=60).returncode)
        self.assertEqual(set(outcomes), {0, 1}, outcomes)


def read_with(extra_bytes, path):
    """With so much more memory: 0 if all is read, 1 if something fails as it should, 2 if it fails otherwise."""
    ctypes.CDLL(None).mallopt(-3, 16_384)  # M_MMAP_THRESHOLD
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + extra_bytes, -1))
    capture = LIB.prof_capture_open(path)
    summary = capture and LIB.prof_capture_summary(capture, None)
    report = summary and LIB.prof_report_open(capture, b"nvtx_gpu_proj_trace", None)
    text = report and LIB.prof_report_render(report, b"json", None)
    return 0 if text else 1 if LIB.prof_last_error() == b"out of memory" else 2


class Summaries(Reading):
    def test_rows_are_those_of_the_projection(self):
        kinds = set()
        for path in self.captures:
            summary = LIB.prof_summary_open_file(str(path).encode())
            self.addCleanup(LIB.prof_summary_close, summary)
            expected = json.loads(command("report", path, "--format", "json"))
            self.assertEqual(LIB.prof_summary_total_gpu_ns(summary), expected["total_gpu_ns"])
            rows = [get("prof_summary_get_row", summary, i) for i in range(LIB.prof_summary_row_count(summary))]
            self.assertEqual(len(rows), len(expected["rows"]))
            above = []
            for index, (row, printed) in enumerate(zip(rows, expected["rows"])):
                self.assertEqual((printable(row.path), printable(row.name)), (printed["path"], printed["name"]))
                for field in ("depth", "instances", "host_ns", "gpu_sum_ns", "gpu_self_ns", "gpu_child_ns",
                              "gpu_busy_ns", "gpu_span_ns", "ops", "self_ops", "adopted_ops", "adopted_ns",
                              "communication_ns", "wait_ns", "payload_bytes"):  # fmt: skip
                    self.assertEqual(getattr(row, field), printed[field], (path, field))
                self.assertEqual(row.captured == 1, printed["captured"])
                kind = KINDS[printed["type"]] if not printed["observed"] else 2
                self.assertEqual(row.kind, kind)
                kinds.add(kind)
                # In preorder the row above is the last one that is less deep.
                del above[row.depth :]
                self.assertEqual(row.parent, above[-1] if above else NO_ROW)
                above.append(index)
                if row.parent != NO_ROW:
                    parent = rows[row.parent]
                    self.assertEqual(row.path[: len(parent.path) + 1], parent.path + b"/")
            drops = {}
            for i in range(LIB.prof_summary_drop_count(summary)):
                drop = get("prof_summary_get_drop", summary, i)
                drops[drop.cause.decode()] = drop.count
            self.assertEqual(drops, expected["dropped"])
            self.assertEqual(LIB.prof_summary_dropped(summary), sum(drops.values()))
        self.assertGreaterEqual(kinds, {1, 3, 4, 5})

    def test_steps_are_those_of_the_report(self):
        rows_seen = 0
        for path in self.captures:
            summary = LIB.prof_summary_open_file(str(path).encode())
            self.addCleanup(LIB.prof_summary_close, summary)
            expected = json.loads(command("report", path, "--report", "steps", "--format", "json"))
            steps = get("prof_summary_get_steps", summary)
            for field in ("captured_steps", "windows", "steps", "stood_for"):
                self.assertEqual(getattr(steps, field), expected[field])
            count = LIB.prof_summary_step_row_count(summary)
            rows = [get("prof_summary_get_step_row", summary, i) for i in range(count)]
            printed = [row for row in expected["rows"] if row["type"] != "total"]
            self.assertEqual(len(rows), len(printed))
            for row, as_printed in zip(rows, printed):
                number = lambda value: None if math.isnan(value) else value
                self.assertEqual(
                    (printable(row.path), row.gpu_ns, number(row.gpu_half_width_ns), row.instances,
                     number(row.instances_half_width)),
                    tuple(as_printed[key] for key in
                          ("path", "gpu_ns", "half_width_ns", "instances", "instances_half_width")))  # fmt: skip
                self.assertIn(row.kind, (KINDS[as_printed["type"]], 2))
                if row.parent != NO_ROW:
                    parent = rows[row.parent]
                    self.assertTrue(row.path.startswith(parent.path + b"/"))
                    self.assertLess(parent.depth, row.depth)
                else:
                    self.assertFalse([other for other in rows if row.path.startswith(other.path + b"/")])
                rows_seen += 1
        self.assertGreater(rows_seen, 20)

    def test_settings_change_the_rows(self):
        path = self.random[4]
        capture = self.open(path)
        for settings, options in (((), ()), (("fold=0",), ("--no-fold",)),
                                  (("nvtx_domain_exclude=*",), ("--nvtx-domain-exclude", "*"))):  # fmt: skip
            summary = LIB.prof_capture_summary(capture, settings_of(*settings))
            rows = [get("prof_summary_get_row", summary, i) for i in range(LIB.prof_summary_row_count(summary))]
            printed = json.loads(command("report", path, "--format", "json", *options))["rows"]
            self.assertEqual([printable(row.path) for row in rows], [row["path"] for row in printed])
            LIB.prof_summary_close(summary)

    def test_nothing_recorded_is_an_empty_summary(self):
        summary = LIB.prof_summary_open()
        self.assertTrue(summary, error())
        rows = [get("prof_summary_get_row", summary, i) for i in range(LIB.prof_summary_row_count(summary))]
        self.assertEqual([(row.path, row.name, row.kind, row.parent) for row in rows],
                         [(b"(no range)", b"(no range)", 3, NO_ROW), (b"(ambiguous)", b"(ambiguous)", 4, NO_ROW),
                          (b"(unmatched)", b"(unmatched)", 5, NO_ROW)])  # fmt: skip
        for row in rows:
            self.assertEqual((row.instances, row.host_ns, row.gpu_sum_ns, row.ops), (0, 0, 0, 0))
        self.assertEqual(LIB.prof_summary_total_gpu_ns(summary), 0)
        self.assertEqual(LIB.prof_summary_step_row_count(summary), 0)
        self.assertEqual(get("prof_summary_get_steps", summary).captured_steps, 0)
        self.assertEqual((LIB.prof_summary_drop_count(summary), LIB.prof_summary_dropped(summary)), (0, 0))
        LIB.prof_summary_close(summary)


def objects(path):
    """One of each, for the tests of arguments."""
    capture = LIB.prof_capture_open(str(path).encode())
    return {"prof_capture": capture, "prof_summary": LIB.prof_summary_open_file(str(path).encode()),
            "prof_report": LIB.prof_report_open(capture, b"gpu-projection", None)}  # fmt: skip


def struct_of(parameters):
    return next((parameter.split("*")[0] for parameter in parameters if parameter.split("*")[0] in STRUCTS), None)


class Arguments(Reading):
    def with_drops(self):
        """A capture that has drops and steps."""
        for path in self.random:
            found = objects(path)
            drops = LIB.prof_capture_drop_count(found["prof_capture"])
            if drops != 0 and LIB.prof_summary_step_row_count(found["prof_summary"]) != 0:
                return found
        raise AssertionError("no random capture has drops and steps")

    def test_every_function_is_known(self):
        exported = set(re.findall(r"^ +(prof_\w+);", (ROOT / "cmake/libprof.map").read_text(), re.MULTILINE))
        self.assertEqual(set(FUNCTIONS), exported & set(re.findall(r"prof_\w+(?=\()", HEADER)))
        self.assertGreater(len(FUNCTIONS), 40)
        self.assertEqual(set(FIRST_SIZES), set(STRUCTS))
        sizes = {name: (FIRST_SIZES[name], sizeof(of)) for name, of in STRUCTS.items()}
        grown = {name: (first, current) for name, (first, current) in sizes.items() if first != current}
        self.assertEqual(grown, {"prof_summary_row": (128, 144), "prof_summary_step_row": (48, 64)})

    def test_null_is_an_error_in_every_function(self):
        for name, (returned, parameters) in FUNCTIONS.items():
            if not any("*" in parameter for parameter in parameters):
                continue
            with self.subTest(function=name):
                LIB.prof_report_name(2**64 - 1)  # sets another error
                before = error()
                result = getattr(LIB, name)(*[None if "*" in parameter else 0 for parameter in parameters])
                if returned == "void":
                    continue
                self.assertEqual(result, INVALID_ARGUMENT if returned == "int" else None if "*" in returned else 0)
                if returned == "int" or "*" in returned:
                    self.assertNotEqual(error(), before)
                    self.assertRegex(error(), r"^\w+ is NULL$")

    def test_null_is_an_error_in_each_place(self):
        found = self.with_drops()
        may_be_null = {"settings", "present", "sizes", "size"}
        tried = 0
        for name, (returned, parameters) in FUNCTIONS.items():
            if returned == "void":
                continue
            for at, parameter in enumerate(parameters):
                if "*" not in parameter or parameter.split("*")[-1].strip() in may_be_null:
                    continue
                arguments = [self.plausible(each, found) for each in parameters]
                if name.startswith("prof_report_read_"):
                    arguments[4] = 1  # count
                arguments[at] = None
                result = getattr(LIB, name)(*arguments)
                expected = INVALID_ARGUMENT if returned == "int" else None if "*" in returned else 0
                self.assertEqual(result, expected, (name, parameter))
                tried += 1
        self.assertGreater(tried, 45)

    @staticmethod
    def plausible(parameter, found):
        kind = parameter.removeprefix("const ").split("*")[0].strip()
        if kind in found:
            return found[kind]
        if "*" not in parameter:
            return 4000 if parameter.endswith("_size") else 0
        return ctypes.create_string_buffer((b"json\0" if kind == "char" else b"").ljust(4096, b"\0"), 4096)

    def test_indices_beyond_the_end_are_errors(self):
        found = self.with_drops()
        for name, (returned, parameters) in FUNCTIONS.items():
            indices = [at for at, parameter in enumerate(parameters)
                       if re.match(r"size_t (index|table|row|column)$", parameter)]  # fmt: skip
            for at in indices:
                for beyond in (2**32 - 1, 2**63, 2**64 - 1):
                    arguments = [self.plausible(each, found) for each in parameters]
                    arguments[at] = beyond
                    result = getattr(LIB, name)(*arguments)
                    self.assertEqual(result, INVALID_ARGUMENT if returned == "int" else None, (name, at))
                    self.assertRegex(error(), rf"^there is no \w+ {beyond} of \d+$")

    def test_sizes_of_structs_are_checked(self):
        found = self.with_drops()
        room = 8192
        for name, (_, parameters) in FUNCTIONS.items():
            kind = struct_of(parameters)
            if kind is None:
                continue
            first, current = FIRST_SIZES[kind], sizeof(STRUCTS[kind])
            for size in (0, 1, 8, first - 1, 4097, room, 2**20, 2**31, 2**32 - 1, 2**63, 2**64 - 1):
                out = ctypes.create_string_buffer(b"\xab" * room, room)
                arguments = [self.plausible(each, found) for each in parameters[:-2]]
                self.assertEqual(getattr(LIB, name)(*arguments, out, size), INVALID_ARGUMENT, (name, size))
                self.assertEqual(out.raw, b"\xab" * room)
                self.assertRegex(error(), rf"^{size} is no sizeof\({kind}\); it takes {first} bytes or more")
            whole = ctypes.create_string_buffer(4096)
            self.assertEqual(getattr(LIB, name)(*arguments, whole, 4096), OK, error())
            self.assertEqual(whole.raw[current:], bytes(4096 - current))
            for size in range(first, 200):
                out = ctypes.create_string_buffer(b"\xab" * room, room)
                self.assertEqual(getattr(LIB, name)(*arguments, out, size), OK)
                self.assertEqual(out.raw, whole.raw[:size] + b"\xab" * (room - size))


if __name__ == "__main__":
    if sys.argv[4:5] == ["--read-with"]:
        sys.exit(read_with(int(sys.argv[5]), str(EXAMPLES[0]).encode()))
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
