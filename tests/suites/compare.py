#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test suites of others (suites.py) run bare and under `prof run`, and are compared test by test.

    compare.py PROF [--python VERSION] [--interpreter PYTHON] [--part] [--sources SUITE=FOLDER] [--keep FOLDER]
               [--again N] SUITE...
    compare.py --list

Each suite runs in one process, in one order: bare, under `prof run -q --export none`, and, where modules are made, with
--modules. Of each test are compared: its outcome, the last line of what explains it, its warnings, the files and the
processes that it left; of the run: where it ended, and the processes that it left. The files of tests that differ run
again, bare and recorded, N times each (2). A test differs if it is the same in all bare runs and was another in a
recorded run again. It is unsteady if its bare runs are not the same; and it may have differed once only.

--part takes the tests of a suite that take seconds. --sources gives the folder of a repository to a suite whose tests
are in no package. --interpreter names a Python that has all that the suites need, as on a machine with a GPU: no
environment is made then. --keep keeps what was recorded and printed.

Exits with 1 if a test differs or a suite did not come to its end, with 77 where no environment can be had.
"""
import argparse
import collections
import ctypes
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from suites import SUITES

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
from clean_environment import TOOLKIT, clean_environment  # noqa: E402

# In texts: what is another in each process.
VARYING = re.compile(r"\d{4}-\d\d-\d\d[ T_]\d\d[:.-]\d\d[:.-]\d\d\S*|0x[0-9a-fA-F]+|\b\d+\.\d+(e-?\d+)?\b|"
                     r"(?<![\w.])\d{3,}\b|(tmp|pymp-|torch_|ppid_|pid_)[a-z0-9_]{6,}|@test_\w+|[0-9a-f]{16,}")
PR_SET_CHILD_SUBREAPER = 36
WHOLE = "(the whole run)"


@dataclasses.dataclass
class Run:
    """One run of a suite: its tests by name, in their order."""
    tests: dict = dataclasses.field(default_factory=dict)
    ended: bool = False
    last: str = ""  # the test that began last
    libprof: bool = False
    status: str = ""
    left: tuple = ()  # processes, by name
    cpu_s: float = 0.0
    wall_s: float = 0.0


@dataclasses.dataclass
class Comparison:
    tests: int
    different: dict  # a test -> (what, bare, recorded)
    unsteady: list = dataclasses.field(default_factory=list)
    sometimes: dict = dataclasses.field(default_factory=dict)


def plain(text):
    return VARYING.sub("#", text)


def outcome_of(line):
    """A test's parts that are compared."""
    return {"outcome": [[name, plain(text)] for name, text in line["notes"]],
            "processes": [plain(name) for name in line["processes"]],
            "files": sorted(plain(name) for name in line["files"]),
            "warnings": sorted([kind, plain(text)] for kind, text in line["warnings"])}


def read_record(path):
    run = Run()
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        lines = []
    for text in lines:
        line = json.loads(text)
        if "begin" in line:
            run.last = line["begin"]
        elif "test" in line:
            run.tests[line["test"]] = outcome_of(line)
        elif "libprof" in line:
            run.libprof = line["libprof"]
        else:
            run.ended = True
    return run


def become_reaper():
    """Processes that a suite leaves become children of this one."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def left_processes():
    """Names of the children that are left; they are ended."""
    names = []
    for _ in range(50):
        pids = [pid for task in os.listdir("/proc/self/task")
                for pid in pathlib.Path(f"/proc/self/task/{task}/children").read_text().split()]
        if not pids:
            break
        for pid in pids:
            try:
                names.append(pathlib.Path(f"/proc/{pid}/comm").read_text().strip())
                os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
            try:
                os.waitpid(int(pid), 0)
            except ChildProcessError:
                pass
    return tuple(sorted(names))


class Runner:
    def __init__(self, suite, python, sources, keep, work):
        self.suite, self.python, self.sources, self.keep, self.work = suite, python, sources, keep, work

    def run(self, command, tests, name):
        """One run, whose command comes before the interpreter."""
        suite = self.suite
        with tempfile.TemporaryDirectory(prefix="suites-") as place:
            place = pathlib.Path(place)
            work = self.work  # the same names in each run
            folders = [work / part for part in ("cwd", "home", "tmp")]
            for folder in (*folders, work / "pytest"):
                folder.mkdir(parents=True)
            # torch.compile's files, which come when they come.
            environment = clean_environment(HOME=str(folders[1]), TMPDIR=str(folders[2]), PYTHONDONTWRITEBYTECODE="1",
                                            PYTHONHASHSEED="0", LD_LIBRARY_PATH=TOOLKIT, MPLBACKEND="agg",
                                            TORCHINDUCTOR_CACHE_DIR=str(work / "inductor"), HF_HUB_OFFLINE="1",
                                            PROF_OUTPUT_DIR=str(place / "captures"))
            if suite.paths:
                environment["PYTHONPATH"] = ":".join(str(self.sources / path) for path in suite.paths)
            record = place / "record"
            script = [self.python, str(HERE / suite.runner), str(record), ":".join(map(str, folders))]
            for module in suite.first:
                script += ["--first", module]
            if suite.runner == "run_pytest.py":
                script += ["--rootdir", str(self.sources), "--basetemp", str(work / "pytest" / "base"), "-q",
                           "--color=no", "-o", "addopts=", *suite.arguments,
                           *(str(self.sources / test) for test in tests)]
                if (self.sources / "pyproject.toml").exists():
                    script += ["-c", str(self.sources / "pyproject.toml")]
            else:
                script += tests
            log = place / "log"
            begin = time.monotonic()
            with open(log, "wb") as output:
                process = subprocess.Popen([*command, *script], cwd=folders[0], env=environment, start_new_session=True,
                                           stdin=subprocess.DEVNULL, stdout=output, stderr=output)
                status, cpu_s = self.wait(process)
            run = read_record(record)
            run.status, run.cpu_s, run.wall_s = status, cpu_s, time.monotonic() - begin
            run.left = left_processes()
            shutil.rmtree(work, ignore_errors=True)
            if self.keep:
                for file in (record, log):
                    if file.exists():
                        shutil.copy(file, self.keep / f"{suite.name}.{name}.{file.name}")
            if not run.last:
                print(log.read_text(errors="replace")[-2000:], file=sys.stderr)
            return run

    def wait(self, process):
        """How it ended, and the processor time of it and of what it waited for."""
        end = time.monotonic() + self.suite.limit_s
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > end:
                os.killpg(process.pid, signal.SIGKILL)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = status
                return "endless", usage.ru_utime + usage.ru_stime
            time.sleep(0.05)
        process.returncode = os.waitstatus_to_exitcode(status)
        code = process.returncode
        # Of prof run the status is what a shell has.
        signal_number = -code if code < 0 else code - 128 if code > 128 else 0
        return f"signal {signal_number}" if signal_number else str(code), usage.ru_utime + usage.ru_stime


def differences(bare, recorded):
    """A test -> (what differs, bare, recorded). Of a process that died the test in which it did."""
    found = {}
    for test, parts in bare.tests.items():
        other = recorded.tests.get(test)
        if other is None:
            continue
        for what, value in parts.items():
            if value != other[what]:
                found.setdefault(test, (what, value, other[what]))
    if recorded.ended and bare.ended:
        for test in bare.tests.keys() ^ recorded.tests.keys():
            found[test] = ("whether it runs", test in bare.tests, test in recorded.tests)
        if bare.left != recorded.left:
            found[WHOLE] = ("processes left", bare.left, recorded.left)
    if (bare.ended, bare.status) != (recorded.ended, recorded.status):
        end = [f"{run.status}{'' if run.ended else ' in ' + run.last}" for run in (bare, recorded)]
        found[recorded.last if bare.ended else bare.last] = ("end", *end)
    return found


def compare(runner, command, tests, bare, again, name):
    """Runs recorded, and again what differs."""
    recorded = runner.run(command, tests, name)
    if not recorded.libprof:
        raise SystemExit(f"{runner.suite.name}: libprof is not in the process that `{' '.join(command)}` runs")
    found = differences(bare, recorded)
    result = Comparison(len(bare.tests.keys() & recorded.tests.keys()), {})
    result.unsteady = [test for test in found if test in runner.suite.unsteady]
    found = {test: difference for test, difference in found.items() if test not in result.unsteady}
    if not found:
        return recorded, result
    in_order = [test for test in bare.tests if test in found] + [test for test in found if test not in bare.tests]
    files = tests if WHOLE in found else list(dict.fromkeys(file_of(test, tests) for test in in_order))
    bares = [runner.run([], files, f"bare-again-{i}") for i in range(again)]
    others = [runner.run(command, files, f"{name}-again-{i}") for i in range(again)]
    for test, difference in found.items():
        steady = all(test not in differences(bares[0], other) for other in bares[1:])
        parts = bare.tests.get(test, {})
        if difference[0] in parts:
            steady = steady and all(run.tests.get(test, parts)[difference[0]] == difference[1] for run in bares)
        repeated = [test in differences(bares[0], other) for other in others]
        if not steady:
            result.unsteady.append(test)
        elif all(repeated) or (difference[0] == "end" and any(repeated)):
            result.different[test] = difference
        else:
            result.sometimes[test] = difference
    return recorded, result


def file_of(test, tests):
    """The file, or the module, that a test belongs to."""
    if "::" in test or test.endswith(".py"):
        return test.split("::")[0]
    for name in sorted(tests, key=len, reverse=True):
        if test == name or test.startswith((name + ".", name + "/", name + "::")) or f"({name}." in test:
            return name
    return test


def environment_of(suite, version, interpreter):
    """The interpreter and the sources; None where there is none."""
    if interpreter:
        return interpreter, ""
    done = subprocess.run([HERE / "environment.sh", version, suite.name], stdout=subprocess.PIPE, text=True)
    if done.returncode == 77:
        return None
    done.check_returncode()
    return (done.stdout.split() + [""])[:2]


def shown(value):
    if isinstance(value, list):
        texts = collections.Counter(": ".join(each) if isinstance(each, list) else str(each) for each in value)
        value = "; ".join(text + (f" ({count} times)" if count > 1 else "") for text, count in texts.items()) or "none"
    return str(value)[:300]


def report(differing, title):
    """Tests that differ in the same way stand together. Of lists, what one has and the other has not."""
    alike = collections.defaultdict(list)
    for test, (what, bare, recorded) in differing.items():
        if isinstance(bare, list) and isinstance(recorded, list):
            bare, recorded = without(bare, recorded), without(recorded, bare)
        alike[what, shown(bare), shown(recorded)].append(test)
    for (what, bare, recorded), tests in alike.items():
        more = f" and {len(tests) - 4} more" if len(tests) > 4 else ""
        print(f"{title}: {', '.join(tests[:4])}{more}: {what}\n    bare      {bare}\n    recorded  {recorded}")


def without(values, others):
    """Without those that the others have, each as many times as they have it."""
    left, kept = list(others), []
    for value in values:
        if value in left:
            left.remove(value)
        else:
            kept.append(value)
    return kept


def run_suite(suite, arguments, work, rows):
    environment = environment_of(suite, arguments.python, arguments.interpreter)
    if environment is None:
        return 77
    python, sources = environment
    sources = pathlib.Path(arguments.sources.get(suite.name, sources)).resolve()
    if suite.checkout and suite.name not in arguments.sources:
        print(f"{suite.name}: not run: no package has its tests; --sources {suite.name}=FOLDER gives the repository "
              f"{suite.checkout}")
        return 77
    runner = Runner(suite, python, sources, arguments.keep, work)
    tests = list(suite.part if arguments.part else suite.tests)
    status = 0
    bare = runner.run([], tests, "bare")
    if not bare.ended:
        print(f"{suite.name}: the bare run ends ({bare.status}) in {bare.last}: what comes after is not compared")
        status = 1
    if not bare.tests:
        print(f"{suite.name}: no test ran")
        return 1
    passed = sum(test["outcome"] == [["passed", ""]] for test in bare.tests.values())
    for options in ([], ["--modules"])[:1 + suite.modules]:
        command = [arguments.prof, "run", "-q", "--export", "none", *options, "--"]
        recorded, found = compare(runner, command, tests, bare, arguments.again, " ".join(["recorded", *options]))
        report(found.different, "differs")
        report(found.sometimes, "differs sometimes")
        if found.unsteady:
            print("unsteady:", ", ".join(found.unsteady))
        if found.different or not recorded.ended:
            status = 1
        rows.append((f"{suite.about}{', part' if arguments.part else ''}", arguments.python, " ".join(options) or "-",
                     found.tests, passed, len(found.different), len(found.sometimes), len(found.unsteady),
                     f"{bare.cpu_s:.0f}", f"{recorded.cpu_s / bare.cpu_s:.2f}"))
        sys.stdout.flush()
    return status


def table(rows):
    head = ("suite", "Python", "options", "tests", "passed", "differ", "sometimes", "unsteady", "CPU bare, s",
            "recorded/bare")
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(map(str, row)) + " |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--interpreter")
    parser.add_argument("--part", action="store_true")
    parser.add_argument("--sources", action="append", default=[], type=lambda text: text.split("=", 1))
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--again", type=int, default=2)
    parser.add_argument("prof", nargs="?")
    parser.add_argument("suites", nargs="*")
    arguments = parser.parse_intermixed_args()
    arguments.sources = dict(arguments.sources)
    by_name = {suite.name: suite for suite in SUITES}
    if arguments.list:
        for suite in SUITES:
            print(f"{suite.name:14} {suite.about}{f' (--sources: {suite.checkout})' if suite.checkout else ''}")
        print("programs.py compares programs, such as NVIDIA's CUDA samples")
        return 0
    unknown = [name for name in arguments.suites if name not in by_name]
    if not arguments.prof or not arguments.suites or unknown:
        parser.error(f"of the suites {', '.join(by_name)}" + (f"; there is no {unknown[0]}" if unknown else ""))
    arguments.prof = str(pathlib.Path(arguments.prof).resolve())
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    become_reaper()
    rows, statuses = [], []
    with tempfile.TemporaryDirectory(prefix="suites-") as place:
        for name in arguments.suites:
            statuses.append(run_suite(by_name[name], arguments, pathlib.Path(place) / "work", rows))
    table(rows)
    failed = any(status not in (0, 77) for status in statuses)
    print("not the same" if failed else "the same" if rows else "not run")
    return 1 if failed else 0 if rows else 77


if __name__ == "__main__":
    sys.exit(main())
