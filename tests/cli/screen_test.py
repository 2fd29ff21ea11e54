#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first screen, as somebody sees it on a terminal that pyte emulates: all of it is visible, and what is visible adds
up, and is what the same report has as JSON.

    screen_test.py PROF FAKE_CUPTI TRAINER HOST_PROGRAM WRITE_RANDOM_CAPTURES FOLDER [FOLDER] [unittest's arguments]

The folders have captures, some packed (*.prof.xz), and jobs of several (*.txz). The second may be missing.
"""
import json
import lzma
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import unittest
from decimal import Decimal

try:
    from emulated_terminal import NUMBER, Shown, Table, number, run_on_terminal
except ModuleNotFoundError as missing:
    if missing.name not in ("pyte", "wcwidth"):
        raise
    print(f"SKIPPED: no {missing.name}: pip install -r tests/requirements.txt")
    sys.exit(77)
from torch_trace import TorchTrace

PROF, FAKE_CUPTI, TRAINER, HOST_PROGRAM, WRITE_RANDOM_CAPTURES, *FOLDERS = (
    str(pathlib.Path(path).resolve()) for path in sys.argv[1:8])  # fmt: skip
SIZES = ((80, 24), (120, 40), (60, 16), (100, 30))
SMALL = 17  # lines of a terminal: with fewer, the screen is four lines without a table
RANDOM_TRACES = int(os.environ.get("PROF_SCREEN_TRACES", "24"))
FIRST_SEED = int(os.environ.get("PROF_SCREEN_SEED", "1"))
RANDOM_CAPTURES = (1, 12)
GAIN = rf" *{NUMBER} (us|ms|s) +\d+ %  \S"
NO_GAIN = "Nothing was found"
QUANTUM = Decimal("0.5001")  # of the last digit: what rounding takes


def environment(**more):
    """One in which nothing is set that a screen depends on. None as a value leaves a variable out."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PROF_", "LC_", "RANK")) and "INJECTION64" not in name
            and name not in ("LANG", "LD_PRELOAD", "PAGER", "LESS", "NO_COLOR", "COLUMNS", "LINES", "PYTHONPATH", "TERM")}  # fmt: skip
    wanted = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **more}
    return {**kept, **{name: value for name, value in wanted.items() if value is not None}}


def json_of(*arguments):
    done = subprocess.run([PROF, "report", "--format", "json", *map(str, arguments)], capture_output=True, check=True,
                          env=environment(), timeout=120)  # fmt: skip
    read = json.loads(done.stdout)
    return read[0] if isinstance(read, list) and len(read) == 1 else read


def idle_and_busy(row):
    return sum(value for name, value in row.items()
               if name.endswith("_ns") and name not in ("cpu_ns", "cpu_wait_ns"))  # fmt: skip


def unit_ns(unit):
    return {"us": 10**3, "ms": 10**6, "s": 10**9}[unit]


class Screens(unittest.TestCase):
    may_cut = False  # the end of the line `GPU`

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="prof_screen_")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.scratch = pathlib.Path(cls.folder.name)

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))

    def show(self, *arguments, size=(80, 24), status=0, cwd=None, **variables):
        """A command on a terminal, where it uses no pager unless `variables` say so."""
        waited = self.dir / "a pager was used"
        variables = {"PROF_PAGER": f"touch {shlex.quote(str(waited))}; cat >/dev/null", **variables}
        shown = run_on_terminal([PROF, *map(str, arguments)], *size, environment(**variables), cwd=cwd)
        self.assertEqual(shown.status, status, shown)
        if "a pager was used" in (variables["PROF_PAGER"] or ""):
            self.assertFalse(waited.exists(), f"a pager for what fits:\n{shown}")
        return shown

    def copies(self, count):
        """A folder with the first capture several times."""
        capture = sorted(pathlib.Path(FOLDERS[0]).glob("*.prof"))[0]
        job = self.dir / f"job{count}"
        job.mkdir()
        for i in range(count):
            (job / f"{i}.prof").write_bytes(capture.read_bytes())
        return job

    def assert_whole(self, shown):
        """Nothing has wrapped or scrolled: where there is more room it looks the same."""
        lines = shown.text
        while lines and not lines[-1]:
            lines = lines[:-1]
        self.assertEqual(shown.on_large_terminal(), lines, shown)
        self.assertLess(len(lines), shown.lines, f"the prompt's line is taken\n{shown}")
        self.assertLess(shown.cursor, shown.lines)
        # A name moves no cursor: apart from colours and the erased line of progress there is no control character.
        plain = re.sub(rb"\x1b\[[\d;]*[mK]", b"", shown.raw)
        self.assertNotRegex(plain, rb"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]", shown)

    def assert_table(self, shown, table):
        """What is printed adds up as it is printed."""
        _, sums = table.sum
        rows = table.outermost()
        for title in table.columns:
            printed = [cells[title] for _, cells in rows if cells[title] is not None]
            self.assertEqual(sum(printed), sums[title] or 0, (title, str(shown)))
        self.assertEqual(sums["%"], 100 if sums.get("time", sums["CPU"]) else 0, shown)
        if "time" not in table.columns:
            return
        for name, cells in [*rows, table.sum]:
            parts = sum(cells[title] or 0 for title in table.parts())
            self.assertEqual(parts, cells["time"], (name, str(shown)))
        for title in table.BUSY & set(table.columns):
            parents = {}  # by depth: what rows below it may still have
            for name, cells in table.rows:
                depth = (len(name) - len(name.lstrip(" "))) // 2
                if depth:
                    parents[depth - 1] -= cells[title] or 0
                    self.assertGreaterEqual(parents[depth - 1], 0, (name, title, str(shown)))
                parents[depth] = cells[title] or 0

    def assert_heading(self, shown, table, is_job=False):
        """Step and GPU against the sums of the table; returns the step's printed time."""
        _, sums = table.sum
        step = re.match(rf"Step  ({NUMBER}) (us|ms|s),", shown.line_of("Step  ") or "")
        gpu = shown.line_of("GPUs? ") or ""
        match = re.match(rf"GPUs? +busy ({NUMBER}) (us|ms|s) \(({NUMBER}) %\)(?:,.*)?; idle ({NUMBER}) \2 \(({NUMBER}) %\)", gpu)
        if step:
            self.assertEqual(step[2], table.unit, shown)
            self.assertEqual(number(step[1]), sums.get("time", sums.get("CPU")), shown)
        run = shown.line_of("Run  ") or ""
        if run and not run.endswith("…"):
            whole, parts = re.match(rf"Run   ({NUMBER}) s:(.*)", run).groups()
            found = re.findall(rf"(?:start-up|warm-up|steps?|between|end) ({NUMBER})", parts)
            self.assertEqual(len(found), len(parts.split(", ")) if parts else 0, run)
            self.assertEqual(sum(map(number, found)), number(whole), run)
        if "time" not in table.columns:
            self.assertTrue(shown.line_of("CPU  "), shown)
            return
        if not match and self.may_cut and gpu.endswith("…"):
            return
        self.assertTrue(match, shown)
        busy, idle = number(match[1]), number(match[4])
        self.assertEqual(match[2], table.unit, shown)
        self.assertEqual(busy + idle, sums["time"], shown)
        self.assertEqual(number(match[3]) + number(match[5]), 100, shown)
        if not is_job:
            self.assertEqual(busy, sum(sums[title] for title in table.parts() if title in table.BUSY), shown)
        self.assertEqual(idle, sum(sums[title] or 0 for title in table.idle()), shown)

    def assert_same_as_json(self, shown, table, read):
        """Times of rows are those of the report's records, divided by steps and GPUs, within what rounding takes."""
        answer, step = read["answer"] or {}, read["step"]
        whole = table.sum[1].get("time", table.sum[1]["CPU"])
        quantum = Decimal(10) ** whole.as_tuple().exponent
        if step is not None:
            self.assertLessEqual(abs(Decimal(step["mean_ns"]) / unit_ns(table.unit) - whole), QUANTUM * quantum, shown)
        known = {}
        for row in read["step_rows"]:
            if row["depth"] == 0:
                known.setdefault(row["name"], []).append(row)
        steps = step["steps"] if step is not None else 1
        for name, cells in table.outermost():
            if len(known.get(name, [])) != 1:
                continue
            (row,) = known[name]
            has_gpu = "time" in table.columns
            ns = Decimal(idle_and_busy(row) if has_gpu else row["cpu_ns"]) / steps / max(answer.get("devices") or 1, 1)
            printed = cells["time" if has_gpu else "CPU"]
            # Each cell is at most one digit off, and so is each column.
            self.assertLessEqual(abs(ns / unit_ns(table.unit) - printed), 2 * len(table.columns) * quantum,
                                 (name, ns, str(shown)))  # fmt: skip

    def check(self, capture, size):
        shown = self.show("report", capture, size=size)
        self.assert_whole(shown)
        if size[1] < SMALL:
            self.assertTrue(shown.line_of("Step  "), shown)
            self.assertTrue(shown.line_of(r"(GPUs?|CPU) "), shown)
            self.assertTrue(shown.line_of("next: "), shown)
            return shown, None
        self.assertRegex(shown.text[0], "^prof  ", shown)
        self.assertTrue(shown.line_of("Step  "), shown)
        self.assertTrue(shown.line_of("next: "), shown)
        table = Table(shown)
        self.assert_table(shown, table)
        self.assert_heading(shown, table)
        return shown, table

    def check_capture(self, capture, sizes=SIZES):
        read = json_of(capture)
        headings = set()
        for size in sizes:
            with self.subTest(capture=pathlib.Path(capture).name, size=size):
                shown, table = self.check(capture, size)
                headings.add(re.match(rf"Step  (none|{NUMBER} \w+)", shown.line_of("Step  "))[0])
                gains = read.get("gains")
                if gains:
                    self.assertTrue(shown.line_of(GAIN), shown)
                if table is None:
                    continue
                self.assert_same_as_json(shown, table, read)
                if gains:
                    at = next(i for i, line in enumerate(shown.text) if line.startswith("Possible gains a step"))
                    self.assertRegex(shown.text[at + 1], GAIN, shown)
                elif gains is not None and read["step"] is not None:
                    self.assertTrue(shown.line_of(NO_GAIN), shown)
        self.assertEqual(len(headings), 1, headings)


class Captures(Screens):
    def test_captures_of_real_programs(self):
        count = 0
        for folder in map(pathlib.Path, FOLDERS):
            if not folder.is_dir():
                print("SKIPPED:", folder, "is not there")
                continue
            for capture in sorted(folder.rglob("*.prof")):
                self.check_capture(capture)
                count += 1
            for packed in sorted(folder.glob("*.prof.xz")):
                capture = self.dir / packed.stem
                capture.write_bytes(lzma.decompress(packed.read_bytes()))
                self.check_capture(capture)
                count += 1
        self.assertGreaterEqual(count, 2)

    def test_the_screen_of_the_readme(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        capture = "examples/captures/observed/h200_gpt.prof"
        (shown,) = re.findall(r"```\n(prof  python3 train.py.*?)\n```", (root / "README.md").read_text(), re.DOTALL)
        lines = self.show("report", capture, size=(80, 24), cwd=root).text
        self.assertEqual(shown, "\n".join(line.rstrip() for line in lines).rstrip("\n"))

    def test_terminals_of_any_size(self):
        captures = sorted(pathlib.Path(FOLDERS[0]).glob("*.prof"))
        for capture in captures:
            numbers = set()
            for lines in range(2, 61, 3 if capture != captures[0] else 1):
                shown = self.show("report", capture, size=(80, lines))
                self.assert_whole(shown)
                numbers |= {" ".join(line.split()) for line in shown.text if line.startswith(("Step ", "GPU ", "whole step"))}
                if lines >= SMALL:
                    table = Table(shown)
                    self.assert_table(shown, table)
                    self.assert_heading(shown, table)
            self.assertEqual(len(numbers), 3, numbers)
            for columns in range(20, 201, 9):
                shown = self.show("report", capture, size=(columns, 24))
                self.assert_whole(shown)

    def test_a_program_without_a_gpu(self):
        subprocess.run([PROF, "run", "-o", self.dir, "--export", "none", "--", HOST_PROGRAM, "phases", "12", "loader"],
                       env=environment(), check=True, capture_output=True, timeout=120)  # fmt: skip
        (capture,) = self.dir.glob("*.prof")
        self.check_capture(capture)

    def check_job(self, job, ranks, size):
        shown = self.show("report", job.name, size=size, cwd=job.parent)
        self.assert_whole(shown)
        table = Table(shown, last=r"mean of \d+ ranks")
        if len(ranks) <= 8:
            self.assertEqual(sorted(name for name, _ in table.rows), ranks, shown)
        else:
            self.assertEqual(table.rows[-1][0], f"mean of {len(ranks) - 3} others", shown)
        for name, cells in [*table.rows, table.sum]:
            parts = sum(cells[title] for title in table.columns if title != "time")
            self.assertEqual(parts, cells["time"], (name, str(shown)))
        for title in table.columns:
            weights = [1] * len(table.rows)
            weights[-1] += len(ranks) - len(weights)
            mean = sum(weight * cells[title] for weight, (_, cells) in zip(weights, table.rows)) / len(ranks)
            quantum = Decimal(10) ** table.sum[1][title].as_tuple().exponent
            self.assertLessEqual(abs(mean - table.sum[1][title]), 2 * quantum, (title, str(shown)))
        self.assert_heading(shown, table, is_job=True)
        self.assertTrue(shown.line_of("Ranks "), shown)
        self.assertTrue(shown.line_of("next: "), shown)
        self.assertTrue(shown.line_of(GAIN), shown)

    def test_a_job_has_a_row_for_each_rank(self):
        jobs = [packed for folder in FOLDERS for packed in sorted(pathlib.Path(folder).glob("*.txz"))]
        for packed in jobs:
            with tarfile.open(packed) as archive:
                archive.extractall(self.dir)
            job = self.dir / packed.stem
            ranks = [f"rank {i}" for i in range(len(list(job.glob("*.prof"))))]
            for size in SIZES:
                if size[1] >= SMALL:
                    with self.subTest(job=packed.name, size=size):
                        self.check_job(job, ranks, size)
        if not jobs:
            print("SKIPPED: the captures of a job are not there")

    def test_captures_of_one_program_are_a_job(self):
        for count in (2, 8, 9, 40):
            job = self.copies(count)
            for size in SIZES:
                if size[1] >= SMALL:
                    with self.subTest(count=count, size=size):
                        self.check_job(job, sorted(path.name for path in job.glob("*.prof")), size)


WORDS = ("forward", "backward", "layer", "attention", "mlp", "optimizer_step", "embed tokens", "data_to_device", "层",
         "前向传播", "тренировка", "шаг", "🚀", "e\u0301tape", "ranges of more than a few words", "::operator()", "a/b",
         "x" * 300, "语" * 90, "100 %", "12.5 ms", "step 3.25")  # fmt: skip
HOSTILE = ("\x1b[2J\x1b[H", "a\nb", "\ttab", "\r", "\x07", "\x9b2J", "")


class RandomTrace(TorchTrace):
    """A trace of a training loop with as many ranges as `seed` says, of names of every length and width."""

    def __init__(self, seed):
        super().__init__()
        self.random = random.Random(seed)
        some = self.random
        self.has_gpu = some.random() < 0.8
        self.count = round(1000 ** some.random())
        self.has_hostile = some.random() < 0.3
        self.gpu_free = 0.0
        self.scale = 10 ** some.uniform(0, 2.5)  # microseconds that a range takes
        self.plan = self.tree(self.count)
        now = 1000.0
        for number_ in range(some.randint(3, 6)):
            begin, now = now, now + some.uniform(0, 50)
            for node in self.plan:
                now = self.run(node, now)
            now += some.uniform(0, 50)
            self.step(number_, begin, now)
            now += some.uniform(0, 5)

    def name(self):
        some = self.random
        words = some.choices(WORDS + (HOSTILE if self.has_hostile else ()), k=some.choice((1, 1, 1, 2, 3)))
        if some.random() < 0.4:
            words.append(str(some.randint(0, 40)))
        return " ".join(words)

    def tree(self, count, depth=0):
        """`count` ranges: (name, ranges inside, kernels)."""
        out = []
        while count > 0:
            inside = self.random.randint(0, count - 1) if depth < 5 and self.random.random() < 0.5 else 0
            out.append((self.name(), self.tree(inside, depth + 1), self.random.choice((0, 1, 1, 2))))
            count -= 1 + inside
        return out

    def run(self, node, now):
        name, inside, kernels = node
        some, begin = self.random, now
        now += some.uniform(0, 1) * self.scale
        for _ in range(kernels if self.has_gpu else 0):
            launched, now = now, now + 5 + some.uniform(0, 1) * self.scale
            start = max(self.gpu_free, launched + 5)
            self.gpu_free = start + some.uniform(0.5, 20) * self.scale / 4
            self.kernel(start, self.gpu_free, launched, took=min(4.0, now - launched), name=some.choice(("gemm", "ncclKernel")))
        for each in inside:
            now = self.run(each, now)
        now += some.uniform(0, 1) * self.scale
        self.range(name, begin, now)
        return now


class Random(Screens):
    may_cut = True  # see test_the_line_gpu_is_whole_beside_long_names

    def test_traces_of_many_ranges_with_long_and_wide_names(self):
        for seed in range(FIRST_SEED, FIRST_SEED + RANDOM_TRACES):
            trace = RandomTrace(seed).write(self.dir / f"{seed}.json")
            self.check_capture(trace, sizes=(SIZES[0], SIZES[1 + seed % 3]))

    def test_captures_made_at_random(self):
        first, last = RANDOM_CAPTURES
        subprocess.run([WRITE_RANDOM_CAPTURES, self.dir, str(first), str(last)], check=True, timeout=120)
        screens = 0
        for seed in range(first, last + 1):
            capture = self.dir / f"{seed}.prof"
            if not json_of(capture).get("step_rows"):
                continue
            screens += 1
            self.check_capture(capture, sizes=(SIZES[0], SIZES[1 + seed % 3]))
        self.assertGreater(screens, 0)
class Pager(Screens):
    """What is longer than the terminal, on a terminal."""

    LONG = (["--full"], ["--report", "kernels"])

    def setUp(self):
        super().setUp()
        self.capture = sorted(pathlib.Path(FOLDERS[0]).glob("*.prof"))[0]

    def pager(self, name):
        """A program that keeps what it is given, and says so."""
        path = self.dir / name
        path.write_text(f'#!/bin/sh\ncat > "{path}.read"\necho "shown by {name}"\n')
        path.chmod(0o755)
        return str(path), pathlib.Path(f"{path}.read")

    def plain(self, options, size=(80, 24)):
        """The text without a pager."""
        return self.show("report", *options, "--no-pager", self.capture, size=size).raw

    @staticmethod
    def without_returns(raw):
        return raw.replace(b"\r\n", b"\n")

    def test_text_longer_than_the_terminal_goes_through_the_pager(self):
        program, read = self.pager("pager")
        for options in self.LONG:
            shown = self.show("report", *options, self.capture, PROF_PAGER=None, PAGER=program)
            self.assertIn("shown by pager", shown.text[0], shown)
            self.assertEqual(read.read_bytes(), self.without_returns(self.plain(options)), options)
            self.assertGreaterEqual(read.read_bytes().count(b"\n"), 24)
            read.unlink()

    def test_prof_pager_wins_over_pager(self):
        (one, read), (other, not_read) = self.pager("one"), self.pager("other")
        self.show("report", "--full", self.capture, PROF_PAGER=one, PAGER=other)
        self.assertTrue(read.exists() and not not_read.exists())

    def test_a_pager_may_have_arguments(self):
        program, read = self.pager("pager")
        self.show("report", "--full", self.capture, PROF_PAGER=None, PAGER=f"env A=1 {program} -x | cat")
        self.assertTrue(read.exists())

    def test_less_without_options_shows_colours(self):
        asked = self.dir / "asked"
        self.show("report", "--full", self.capture, PROF_PAGER=None, PAGER=f'echo "${{LESS-}}" > {asked}; cat')
        self.assertRegex(asked.read_text(), "[Rr]")

    def test_no_pager_and_cat_use_none(self):
        program, read = self.pager("pager")
        wanted = self.plain(["--full"])
        self.assertGreater(wanted.count(b"\n"), 24)
        # The name alone would find another cat, first in the path.
        self.pager("cat")
        path = f"{self.dir}:{os.environ['PATH']}"
        for options, variables in (
            (["--no-pager"], {"PROF_PAGER": program, "PAGER": program}),
            ([], {"PROF_PAGER": None, "PAGER": "cat", "PATH": path}),
            ([], {"PROF_PAGER": "cat", "PAGER": program, "PATH": path}),
        ):
            shown = self.show("report", "--full", *options, self.capture, **variables)
            self.assertEqual(shown.raw, wanted, variables)
        self.assertFalse(read.exists())

    def test_a_pager_that_quits_at_once_is_no_error(self):
        for command in ("true", "false", "head -1 >/dev/null", "exit 3", "kill -9 $$"):
            for options in self.LONG:
                shown = self.show("report", *options, self.capture, PROF_PAGER=command)
                self.assertNotIn(b"GPU time", shown.raw, (command, str(shown)))

    def test_without_the_pager_the_text_is_shown(self):
        wanted = self.plain(["--full"])
        not_executable = self.dir / "text"
        not_executable.write_text("text")
        for command in ("/nonexistent/pager", "a-pager-that-is-not-installed -R", str(not_executable)):
            shown = self.show("report", "--full", self.capture, PROF_PAGER=command)
            self.assertTrue(shown.raw.endswith(wanted), (command, shown.raw[:200]))

    def test_text_that_fits_uses_none(self):
        program, read = self.pager("pager")
        for options in ([], ["--full"], ["--report", "kernels"]):
            lines = self.plain(options, size=(120, 24)).count(b"\n")
            if options:  # the last line is the prompt's
                self.show("report", *options, self.capture, size=(120, lines + 1), PROF_PAGER=program)
                self.assertFalse(read.exists(), options)
                self.show("report", *options, self.capture, size=(120, lines), PROF_PAGER=program)
                self.assertTrue(read.exists(), options)
                read.unlink()
            else:
                self.show("report", self.capture, PROF_PAGER=program)
                self.assertFalse(read.exists())

    def test_piped_output_is_whole_and_never_paged(self):
        program, read = self.pager("pager")
        for options in ([], *self.LONG):
            done = subprocess.run([PROF, "report", *options, self.capture], capture_output=True, check=True, timeout=60,
                                  env=environment(PAGER=program, PROF_PAGER=program))  # fmt: skip
            self.assertFalse(read.exists(), options)
            self.assertNotIn(b"\x1b", done.stdout + done.stderr, options)
            self.assertGreater(done.stdout.count(b"\n"), 24, options)

    def test_terms_are_paged_as_well(self):
        program, read = self.pager("pager")
        self.show("help", "terms", PROF_PAGER=program)
        self.assertIn(b"Possible gains", read.read_bytes())
        read.unlink()
        self.show("help", "terms", size=(80, 400), PROF_PAGER=program)
        self.assertFalse(read.exists())


class Run(Screens):
    """The end of prof run, of a program on the simulated GPU."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="p")  # a short name: the places of files fit into a line
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)

    def run_on(self, size, *options, script, **variables):
        shown = self.show("run", "-o", "out", "--cupti-library", FAKE_CUPTI, *options, "--", "sh", "-c", script,
                          size=size, cwd=self.place, **variables)  # fmt: skip
        return shown, sorted(self.place.glob("out/*.prof"))

    LAST_LINES = f"seq 100; {shlex.quote(TRAINER)} steps 30 autograd; echo epoch 1 done; echo loss 0.25"

    def test_the_program_s_last_lines_and_the_answer_are_visible(self):
        for size in SIZES:
            with self.subTest(size=size):
                shown, (capture,) = self.run_on(size, script=self.LAST_LINES)
                capture.unlink()
                text = [line for line in shown.text if line]
                at = text.index("loss 0.25")
                self.assertEqual(text[at - 1], "epoch 1 done", shown)
                saved = re.findall(r"^saved (\S+)$", "\n".join(shown.on_large_terminal()), re.MULTILINE)
                self.assertIn(str(capture.relative_to(self.place)), saved, shown)
                self.assertIn("saved ", "".join(text[-2:]), shown)
                self.assertTrue(shown.line_of("next: "), shown)
                self.assertTrue(shown.line_of("Step  "), shown)
                if size[1] >= 24:
                    self.assertRegex(text[at + 1], "^prof  session_plain_victim steps 30 autograd", shown)
                    table = Table(shown)
                    self.assert_table(shown, table)
                    self.assert_heading(shown, table)
                    self.assertTrue(shown.line_of("Possible gains a step|" + NO_GAIN), shown)
                self.assertLess(shown.cursor, shown.lines)

    def test_they_are_visible_where_the_place_of_the_capture_is_long(self):
        self.place = self.place / ("folder" * 10)
        self.place.mkdir()
        shown, _ = self.run_on((80, 24), script=self.LAST_LINES)
        self.assertTrue(shown.line_of("prof  "), shown)
        self.assertIn("loss 0.25", shown.text, shown)
        self.assertIn("epoch 1 done", shown.text, shown)

    def test_into_a_file_the_answer_is_plain(self):
        script = f"{shlex.quote(TRAINER)} steps 6 autograd"
        done = subprocess.run([PROF, "run", "-o", "out", "--cupti-library", FAKE_CUPTI, "--", "sh", "-c", script],
                              cwd=self.place, env=environment(), capture_output=True, timeout=60)  # fmt: skip
        self.assertNotIn(b"\x1b", done.stderr)
        self.assertIn(b"whole step", done.stderr)

    def test_a_job_s_answer_is_visible(self):
        victim = shlex.quote(TRAINER)
        script = f"for rank in 0 1 2 3 4 5 6 7; do RANK=$rank {victim} steps 12 autograd & done; wait; echo 1; echo 2"
        shown, captures = self.run_on((80, 24), script=script)
        self.assertEqual(len(captures), 8)
        self.assertTrue(shown.line_of("mean of 8 ranks"), shown)
        self.assertTrue(shown.line_of("Step  "), shown)
        self.assertTrue(shown.line_of("prof  "), shown)
        self.assertTrue(shown.line_of("1") and shown.line_of("2"), shown)


class Characters(Screens):
    """Bytes that a terminal gets."""

    def captures(self):
        return sorted(pathlib.Path(FOLDERS[0]).glob("*.prof"))

    def test_an_ascii_locale_gets_ascii(self):
        for capture in self.captures():
            for size in SIZES:
                for variables in ({"LC_ALL": "C"}, {"LC_ALL": None}, {"LC_ALL": "en_US.ISO-8859-1"}):
                    shown = self.show("report", capture, size=size, **variables)
                    self.assertTrue(shown.raw.isascii(), shown)
                    self.assert_whole(shown)
                    if size[1] >= SMALL:
                        self.assert_table(shown, Table(shown))
        self.assertFalse(self.show("report", capture).raw.isascii())

    def test_an_ascii_locale_gets_ascii_of_a_job(self):
        shown = self.show("report", self.copies(4).name, cwd=self.dir, LC_ALL="C")
        self.assertTrue(shown.raw.isascii(), shown)

    def test_no_escapes_where_they_are_not_wanted(self):
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}):
            for options in ([], ["--full", "--no-pager"]):
                shown = self.show("report", *options, self.captures()[0], **variables)
                self.assertNotIn(b"\x1b", shown.raw, variables)
        self.assertNotIn(b"\x1b", self.show("report", "--color", "never", "--full", "--no-pager", self.captures()[0]).raw)
        self.assertIn(b"\x1b", self.show("report", "--full", "--no-pager", self.captures()[0]).raw)

    def test_the_line_gpu_is_whole_beside_long_names(self):
        trace = TorchTrace()
        name = "a range of which the name is long and says much"
        for step in range(4):
            begin = 1000.0 + 10_000 * step
            trace.kernel(begin + 20, begin + 9_800, begin + 5)
            trace.range(name, begin, begin + 9_900)
            trace.step(step, begin, begin + 10_000)
        shown = self.show("report", trace.write(self.dir / "trace.json"))
        self.assert_heading(shown, Table(shown))

    def test_what_to_type_next_is_whole(self):
        folder = self.dir / ("long" * 20)
        folder.mkdir()
        capture = folder / "a.prof"
        capture.write_bytes(self.captures()[0].read_bytes())
        shown = self.show("report", capture)
        self.assertIn("next: prof diagnose FILE", "\n".join(shown.text), shown)


    def test_a_job_is_whole_on_a_narrow_terminal(self):
        shown = self.show("report", self.copies(4).name, size=(60, 16), cwd=self.dir)
        self.assertNotRegex("\n".join(shown.text), r"\d…", shown)
        self.assertTrue(shown.line_of(GAIN) or not shown.line_of("Possible gains"), shown)


class Words(Screens):
    def test_terms_have_each_word_of_heads_and_columns(self):
        terms = subprocess.run([PROF, "help", "terms"], env=environment(), capture_output=True, check=True, text=True,
                               timeout=60).stdout  # fmt: skip
        described = re.findall(r"^(\S[^:\n]*):", terms, re.MULTILINE)
        words = set()
        for folder in map(pathlib.Path, FOLDERS):
            captures = [*folder.glob("*.prof"), *folder.glob("*.prof.xz")] if folder.is_dir() else []
            for capture in captures:
                if capture.suffix == ".xz":
                    unpacked = self.dir / capture.stem
                    unpacked.write_bytes(lzma.decompress(capture.read_bytes()))
                    capture = unpacked
                shown = self.show("report", capture, size=(160, 60))
                table = Table(shown)
                words |= {title for title in table.columns if title != "%"}
                words |= {name for name, _ in table.outermost() if name in ("rest of the step", "data loader")}
                words |= {line.split("  ")[0].split(" ")[0] for line in shown.text if re.match("(Step|GPU|CPU|Run) ", line)}
                words |= set(re.findall(r"\b(start-up|warm-up|between|end)\b", shown.line_of("Run ") or ""))
                words |= set(re.findall(r"\((rough|results change)", "\n".join(shown.text)))
                words.add(next(line for line in shown.text if re.match("Possible gains|" + NO_GAIN, line))[:14].strip())
                words |= self.field_terms(shown)
        words.discard(NO_GAIN[:14].strip())
        words = {"of it waits" if word == "waits" else word for word in words}
        words |= self.field_terms(self.show("report", self.copies(2), size=(160, 60)))
        self.assertGreater(len(words), 20, words)
        self.assertEqual(sorted(words - set(described)), [])

    # What only people of the field say. Of gains, rows and `try` the words that are not names of the program.
    FIELD = re.compile(r"\b(CUDA graphs?|unpinned memory|whole (?:step|recording)|CPU time|CPU code|data loader|"
                       r"short gaps|memory calls|unpinned copies|kernels?|ranks|processes|programs|mean|each|a step|rough|"
                       r"results change|[A-Z]{2,}(?:\d+)?)\b")  # fmt: skip

    def field_terms(self, shown):
        """In the words that terms have."""
        said = re.compile(rf"(Step|GPUs?|CPU|Run|Ranks|All|Possible gains|whole) |{GAIN}| +try |(us|ms|s) a step")
        found = set()
        for line in shown.text:
            if not said.match(line):
                continue
            # Names of places stand behind "in"; parts of code are no words.
            text = re.sub(r"\S*[=(]\S*", "", line) if line.lstrip().startswith("try ") else line
            text = re.sub(r'"[^"]*"', "", text)
            text = re.sub(r"( in )(?!FP32)\S.*$", r"\1", text) if re.match(GAIN, line) else text
            found |= set(self.FIELD.findall(text))
        self.assertIn("a step" if "a step" in "\n".join(shown.text) else "GPU", found, shown)
        known = {"kernels": "kernel", "CUDA graph": "CUDA graphs"}
        return {known.get(word, word) for word in found}


class SeededDefects(Screens):
    """The checks of this file fail where a screen is wrong."""

    def setUp(self):
        super().setUp()
        self.capture = sorted(pathlib.Path(FOLDERS[0]).glob("*.prof"))[-1]
        self.read = json_of(self.capture)
        self.lines = self.show("report", self.capture, NO_COLOR="1").raw.split(b"\r\n")
        self.assertTrue(self.is_right(self.lines))

    def is_right(self, lines):
        shown = Shown(b"\r\n".join(lines), 0, 80, 24)
        try:
            self.assert_whole(shown)
            table = Table(shown)
            self.assert_table(shown, table)
            self.assert_heading(shown, table)
            self.assert_same_as_json(shown, table, self.read)
        except (AssertionError, StopIteration):
            return False
        return True

    def test_any_wrong_digit_is_seen(self):
        head = next(i for i, line in enumerate(self.lines) if re.match(rb"(us|ms|s) a step", line))
        end = next(i for i, line in enumerate(self.lines) if line.startswith(b"whole step"))
        step = next(i for i, line in enumerate(self.lines) if line.startswith(b"Step "))
        places = [(step, match.start(), match.end()) for match in [re.search(rb"[\d.]+", self.lines[step])]]
        for i in (step + 1, *range(head + 1, end + 1)):
            if not self.lines[i].startswith(b" "):  # what rows consist of is only compared with the row
                of_numbers = re.compile(rb"(?<=[ (])\d[\d.]*(?= |$)")
                behind_name = re.search(rb" {2,}|busy", self.lines[i]).end() - 1
                places += [(i, *match.span()) for match in of_numbers.finditer(self.lines[i], behind_name)]
        self.assertGreater(len(places), 30)
        for i, begin, last in places:
            line, seeded = self.lines[i], list(self.lines)
            digit = b"%d" % ((line[last - 1] - ord("0") + 5) % 10)
            seeded[i] = line[: last - 1] + digit + line[last:]
            self.assertFalse(self.is_right(seeded), (line[begin:last], seeded[i]))

    def test_a_wide_line_is_seen(self):
        for i, line in enumerate(self.lines[:-1]):
            seeded = list(self.lines)
            seeded[i] = line + b"x" * (81 - len(line.decode()))
            self.assertFalse(self.is_right(seeded), seeded[i])

    def test_lines_that_do_not_fit_are_seen(self):
        more = 24 - len(self.lines) + 1
        self.assertFalse(self.is_right([*self.lines[:-1], *[b"more"] * more, b""]))
        self.assertFalse(self.is_right([*[b"more"] * more, *self.lines]))

    def test_a_row_too_few_is_seen(self):
        head = next(i for i, line in enumerate(self.lines) if re.match(rb"(us|ms|s) a step", line))
        self.assertFalse(self.is_right(self.lines[: head + 1] + self.lines[head + 2 :]))

    def test_control_characters_are_seen(self):
        for bytes_ in (b"\x1b[2J", b"\x07", b"\x1b]0;title\x07", b"\t"):
            self.assertFalse(self.is_right([self.lines[0] + bytes_, *self.lines[1:]]), bytes_)

    def test_a_pager_for_what_fits_is_seen(self):
        with self.assertRaises(AssertionError):
            self.show("report", "--full", self.capture)

    def test_a_command_that_waits_is_seen(self):
        with self.assertRaises(TimeoutError):
            run_on_terminal(["sh", "-c", "read answer"], 80, 24, environment(), timeout_s=0.5)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[8:]])
