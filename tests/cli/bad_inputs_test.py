#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad inputs of the prof command: of each the exit status, the one line, and the files afterwards.

    bad_inputs_test.py PROF STUB_LIBPROF [TEST...]
"""
import dataclasses
import gzip
import hashlib
import os
import pathlib
import random
import re
import shutil
import stat
import subprocess
import sys
import types
import unittest

from cli_test import PROF, STUB, CommandLine

TRAPS = ("terminate called", "what():", "Traceback", "core dumped", "std::", "CLI::", "Assertion")
LONGEST_LINE = 240  # and the path that it names


@dataclasses.dataclass
class Case:
    arguments: list
    status: int
    words: str  # in the line
    meant: str = ""  # "did you mean MEANT?"
    env: dict = dataclasses.field(default_factory=dict)
    lists_names: bool = False  # on lines of their own
    stdout: object = None  # a file instead of a pipe
    stdin: bytes = b""
    line_count: int = 1


def problems(case, result, before, after):
    """What is wrong with how prof answered the bad input."""
    out = []
    if result.returncode != case.status:
        out.append(f"exit status {result.returncode}, not {case.status}")
    if result.stdout:
        out.append(f"on standard output: {result.stdout[:100]!r}")
    lines = result.stderr.splitlines()
    indented = [line for line in lines if line.startswith("    ")]
    if len(lines) - len(indented) != case.line_count or bool(indented) != case.lists_names:
        out.append(f"{len(lines)} lines")
    if not result.stderr.startswith("prof: ") or not result.stderr.endswith("\n"):
        out.append("no line of prof's")
    longest = LONGEST_LINE + sum(len(str(word)) for word in case.arguments if "/" in str(word))
    out += [f"a line of {len(line)} characters" for line in lines if len(line) > longest]
    out += [f"a control character: {line!r}" for line in lines if not line.isprintable()]
    out += [f"the text of a trap: {trap}" for trap in TRAPS if trap in result.stderr]
    if case.words not in result.stderr:
        out.append(f"{case.words!r} is missing")
    meant = re.findall(r"did you mean (.*?)\?", result.stderr)
    if meant != ([case.meant] if case.meant else []):
        out.append(f"meant {meant}, not {case.meant!r}")
    if before != after:
        out.append(f"files have changed: {sorted(set(before.items()) ^ set(after.items()))}")
    return out and [f"prof {' '.join(map(repr, case.arguments))} {case.env or ''}: " + "; ".join(out) + f"\n{result.stderr}"]


def state_of(folder):
    """The folder's files and what they contain."""
    out = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        kind = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(kind.st_mode) else ""
        out[str(path)] = (kind.st_mode, kind.st_size if content else 0, content)
    return out


class BadInputs(CommandLine):
    def setUp(self):
        super().setUp()
        made = self.capture()
        self.bytes = made.read_bytes()
        shutil.rmtree(self.out)
        for name, content in {
            "ok.prof": self.bytes,
            "empty.prof": b"",
            "random.prof": random.Random(1).randbytes(5000),
            "zeros.prof": bytes(5000),
            "text.prof": b"what a capture is not\n",
            "json.prof": b'{"traceEvents": []}\n',
            "header.prof": self.bytes[:64],
            "half.header.prof": self.bytes[:30],
            "swapped.prof": b"FORPBIL\n" + self.bytes[8:],
            "other.json": b'{"answer": [42, {"ph": "X"}]}\n',
            "other.json.gz": gzip.compress(b'{"answer": 42}\n'),
            "other-trace.json": b'[{"ph": "X", "cat": "blink", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]\n',
            "cut.json": b'{"schemaVersion": 1, "trace',
            "page.html": b"<html></html>\n",
            "notes.txt": b"my notes\n",
            "train.py": b"print('hello')\n",
        }.items():
            (self.dir / name).write_bytes(content)
        (self.dir / "dir.prof").mkdir()
        (self.dir / "loop.prof").symlink_to("loop.prof")
        (self.dir / "dangling.prof").symlink_to("nowhere.prof")
        (self.dir / "same.prof").symlink_to("ok.prof")

    def answer(self, case, **more):
        before = state_of(self.dir)
        try:
            result = subprocess.run(
                [PROF, *map(os.fsencode, map(str, case.arguments))], cwd=self.dir, env={**self.environment, **case.env},
                stdout=case.stdout or subprocess.PIPE, stderr=subprocess.PIPE, input=case.stdin, timeout=20, **more)  # fmt: skip
            result.stdout = (result.stdout or b"").decode()
            result.stderr = result.stderr.decode()
        except subprocess.TimeoutExpired:
            return [f"prof {case.arguments}: still runs after 20 s"]
        except UnicodeDecodeError:
            return [f"prof {case.arguments}: the line is no UTF-8"]
        return problems(case, result, before, state_of(self.dir))

    def check(self, cases):
        wrong = [problem for case in cases for problem in self.answer(case)]
        self.assertEqual(wrong, [], "\n".join(["", *wrong]))

    def test_commands(self):
        listed = "there are run, report, open, diagnose, diff, baseline, export, seal, ctl, completion and help"
        self.check([
            Case(["rnu"], 2, '"rnu"', "run"),
            Case(["repotr"], 2, '"repotr"', "report"),
            Case(["Report"], 2, '"Report"', "report"),
            Case(["exprot", "ok.prof"], 2, '"exprot"', "export"),
            Case(["sael"], 2, '"sael"', "seal"),
            Case(["stats"], 2, listed),
            Case(["profile"], 2, listed),
            Case([""], 2, listed),
            Case([" "], 2, listed),
            Case(["x" * 5000], 2, listed),
            Case(["a\nb\x1b[31m"], 2, '"a\\x0Ab\\x1B[31m"'),
            Case(["--"], 2, "no option"),
            Case(["ok.prof"], 2, '"ok.prof"', "prof report"),
            Case([str(self.dir / "train.py")], 2, "no command", "prof run"),
            Case(["--report", "kernels", "ok.prof"], 2, '"--report" here', "prof report --report"),
            Case(["--output-dir", "x"], 2, '"--output-dir" here', "prof run --output-dir"),
            Case(["--bogus"], 2, '"--bogus"'),
            Case(["-x"], 2, '"-x"'),
            Case(["help", "reprot"], 2, '"reprot"', "report"),
            Case(["help", "x", "y"], 2, "one command"),
        ])  # fmt: skip

    def test_options(self):
        self.check([
            Case(["report", "ok.prof", "--fromat", "csv"], 2, '"--fromat"', "--format"),
            Case(["report", "ok.prof", "--fromat=csv"], 2, '"--fromat"', "--format"),
            Case(["report", "ok.prof", "--ouput", "x"], 2, '"--ouput"', "--output"),
            Case(["report", "--reports", "all", "ok.prof"], 2, '"--reports"', "--report"),
            Case(["report", "ok.prof", "--kernel_names", "short"], 2, '"--kernel_names"', "--kernel-names"),
            Case(["report", "ok.prof", "--zzz"], 2, '"--zzz"'),
            Case(["report", "ok.prof", "-z"], 2, '"-z"'),
            Case(["report", "ok.prof", "--format"], 2, "--format needs a value: --format FORMAT"),
            Case(["report", "ok.prof", "-o"], 2, "--output needs a value: --output FILE"),
            Case(["report", "ok.prof", "-o", "a", "-o", "b"], 2, "--output is given more than once"),
            Case(["export", "ok.prof", "--report", "kernels"], 2, '"--report" here, but in prof r'),
            Case(["seal", "ok.prof", "--adopt", "off"], 2, '"--adopt" here, but in prof r'),
            Case(["export", "ok.prof", "--adpot", "off"], 2, '"--adpot"', "--adopt"),
            Case(["seal", "--all"], 2, '"--all"'),
            Case(["ctl", "--jsno"], 2, '"--jsno"', "--json"),
            Case(["ctl", "--lists"], 2, '"--lists"', "--list"),
            Case(["run", "--exprot", "none", "--", "true"], 2, '"--exprot"', "--export"),
            Case(["run", "--no-foldd", "--", "true"], 2, '"--no-foldd"', "--no-fold"),
            Case(["run", "--zzz", "--", "true"], 2, '"--zzz"'),
            Case(["run", "--memory"], 2, "--memory needs a value: --memory "),
            Case(["run"], 2, "no command to run"),
            Case(["run", "--"], 2, "no command to run"),
            Case(["run", "-o", "x"], 2, "no command to run"),
            Case(["export"], 2, "FILE"),
            Case(["seal"], 2, "FILE"),
            Case(["report", "ok.prof", "--\x1b[2J"], 2, "\\x1B[2J"),
        ])  # fmt: skip

    def test_values(self):
        self.check([
            Case(["report", "ok.prof", "--format", "jsn"], 2, "table, csv, json", "json"),
            Case(["report", "ok.prof", "--format", "xml"], 2, "table, csv, json"),
            Case(["report", "ok.prof", "--format", ""], 2, "table, csv, json"),
            Case(["report", "ok.prof", "--report", "kernel"], 2, '"kernel"', "kernels"),
            Case(["report", "ok.prof", "--report", "gpu_projektion"], 2, '"gpu_projektion"', "gpu-projection"),
            Case(["report", "ok.prof", "--report", "cuda_gpu_kernel_sum"], 2, "kernel_sum", "cuda_gpu_kern_sum"),
            Case(["report", "ok.prof", "--report", "kernels,copys"], 2, '"copys"', "copies"),
            Case(["report", "ok.prof", "--report", "nothing-like-it"], 2, '"nothing-like-it"', lists_names=True),
            Case(["report", "ok.prof", "--report", ""], 2, '""', lists_names=True),
            Case(["report", "ok.prof", "--report", "z\nz"], 2, '"z\\x0Az"', lists_names=True),
            Case(["report", "ok.prof", "--kernel-names", "shrot"], 2, "full, short or mangled", "short"),
            Case(["report", "ok.prof", "--depth", "-1"], 2, "a whole number"),
            Case(["report", "ok.prof", "--depth", "1e3"], 2, "a whole number"),
            Case(["report", "ok.prof", "--depth", "99999999999"], 2, "a whole number"),
            Case(["report", "ok.prof", "--rows", "0"], 2, "--rows"),
            Case(["report", "ok.prof", "--rows", "many"], 2, "--rows"),
            Case(["report", "ok.prof", "--fold", "layer"], 2, "--fold"),
            Case(["report", "ok.prof", "--adopt", ""], 2, "--adopt"),
            Case(["report", "ok.prof", "--nvtx-domain-include", "a,,b"], 2, "--nvtx-domain-include"),
            Case(["report", "ok.prof", "--format", "x" * 3000], 2, "…"),
            Case(["export", "ok.prof", "-o", "trace.html"], 2, ".json or .json.gz"),
            Case(["export", "ok.prof", "-o", "trace.gz"], 2, ".json or .json.gz"),
            Case(["run", "--cuda-graphs", "node", "--", "true"], 2, "nodes or graphs", "nodes"),
            Case(["run", "--export", "traec", "--", "true"], 2, "trace, summary", "trace"),
            Case(["run", "--export", "pdf", "--", "true"], 2, "trace, summary"),
            Case(["run", "--memory", "48M", "--", "true"], 2, "power of two"),
            Case(["run", "--memory", "999999999999999999999G", "--", "true"], 2, "power of two"),
            Case(["run", "--activities", "kernel", "--", "true"], 2, "--activities"),
            Case(["run", "--keep", "60", "--", "true"], 2, "--keep"),
            Case(["run", "--budget", "200%", "--", "true"], 2, "--budget"),
            Case(["run", "--schedule", "wait=1", "--", "true"], 2, "active is 1 or more"),
            Case(["run", "--name", "a/b", "--", "true"], 2, "a file name"),
            Case(["run", "--rank", "one", "--", "true"], 2, "a whole number"),
            Case(["run", "--capture-range", "nvtx", "--", "true"], 2, "nvtx_capture"),
            Case(["run", "--report", "kernel", "--", "true"], 2, '"kernel"', "kernels"),
            Case(["run", "--format", "jsn", "--", "true"], 2, "table, csv, json", "json"),
            Case(["run", "--set", "PROF_OUTPUTDIR=x", "--", "true"], 2, "PROF_OUTPUTDIR", "PROF_OUTPUT_DIR"),
            Case(["run", "--set", "memory", "--", "true"], 2, "PROF_X=VALUE"),
            Case(["run", "--set", "PROF_FOO=1", "--", "true"], 2, '"PROF_FOO"', lists_names=True),
            Case(["ctl", "x"], 2, "not a process id"),
            Case(["ctl", "0"], 2, "not a process id"),
            Case(["ctl", "-5"], 2, "-5"),
            Case(["ctl", "1", "strat"], 2, '"strat"', "start"),
            Case(["ctl", "1", "begin"], 2, "there are status, start"),
            Case(["ctl", "1", "stop", "now"], 2, "takes no"),
            Case(["ctl", "1", "start", "now"], 2, "no name=value"),
            Case(["ctl", "1", "--timeout", "soon"], 2, "a number of seconds"),
            Case(["ctl", "--list", "1"], 2, "takes no process"),
        ])  # fmt: skip

    def test_variables(self):
        run = ["run", "--", "true"]
        without = ["run", "--library", STUB, "--", "./nosuchcmd"]
        self.check([
            Case(run, 2, "PROF_MEMORY", env={"PROF_MEMORY": "lots"}),
            Case(run, 2, "PROF_FOLD", env={"PROF_FOLD": "x"}),
            Case(run, 2, "PROF_CUDA_GRAPHS", "graphs", env={"PROF_CUDA_GRAPHS": "grahps"}),
            Case(run, 2, "PROF_AUTOSTART", env={"PROF_AUTOSTART": "on"}),
            Case(run, 2, "PROF_EXPORT", env={"PROF_EXPORT": "\x1b[31mred"}),
            Case(without, 127, "PROF_OUTPUTDIR is not an option", "PROF_OUTPUT_DIR", env={"PROF_OUTPUTDIR": "x"}, line_count=2),
            Case(without, 127, "PROF_FOO is not an option", env={"PROF_FOO": "1"}, line_count=2),
        ])  # fmt: skip

    def test_files(self):
        refused = ("empty", "random", "zeros", "text", "json", "half.header", "swapped")
        cases = [Case([command, f"{name}.prof"], 1, f"{name}.prof") for name in refused
                 for command in ("report", "export", "seal")]  # fmt: skip
        for command in ("report", "export", "seal"):
            cases += [
                Case([command, "nowhere.prof"], 1, "nowhere.prof"),
                Case([command, "no/such/dir.prof"], 1, "no/such/dir.prof"),
                Case([command, "notes.txt"], 1, "notes.txt"),
                Case([command, "notes.txt/x.prof"], 1, "notes.txt/x.prof"),
                Case([command, "loop.prof"], 1, "loop.prof"),
                Case([command, "dangling.prof"], 1, "dangling.prof"),
                Case([command, "/dev/null"], 1, "/dev/null"),
                Case([command, "dir.prof"], 1, "dir.prof"),
                Case([command, "a\nb\x1b[31m.prof"], 1, "a\\x0Ab\\x1B[31m.prof"),
                Case([command, "\udcff\udcfe.prof"], 1, "\\xFF\\xFE.prof"),
                Case([command, "x" * 4000 + ".prof"], 1, "…"),
                Case([command, ""], 1, ""),
            ]
        cases += [
            Case(["report", "other.json"], 1, 'no trace: it has no "traceEvents"'),
            Case(["report", "other.json.gz"], 1, 'no trace: it has no "traceEvents"'),
            Case(["export", "other.json"], 1, 'no trace: it has no "traceEvents"'),
            Case(["report", "other-trace.json"], 1, "none of its 1 events is of PyTorch's profiler"),
            Case(["report", "cut.json"], 1, "ends before the events of a trace begin"),
            Case(["report", "page.html"], 1, "page.html"),
        ]
        self.check(cases)

    def test_outputs(self):
        full = open("/dev/full", "w")
        self.addCleanup(full.close)
        cases = [Case(["report", "ok.prof", "-o", name], 2, "to be read") for name in ("ok.prof", "./ok.prof", "same.prof")]
        self.check([
            *cases,
            Case(["report", "empty.prof", "-o", "ok.prof"], 2, "never overwritten"),
            Case(["report", "ok.prof", "-o", "zeros.prof"], 2, "never overwritten"),
            Case(["report", "ok.prof", "-o", "no/such/dir.txt"], 1, "no/such/dir.txt"),
            Case(["report", "ok.prof", "-o", "dir.prof"], 1, "dir.prof"),
            Case(["report", "ok.prof", "-o", "notes.txt/x"], 1, "notes.txt/x"),
            Case(["report", "ok.prof", "-o", "x" * 300], 1, "…"),
            Case(["report", "ok.prof", "-o", "/dev/full"], 1, "/dev/full"),
            Case(["report", "ok.prof"], 1, "standard output", stdout=full),
            Case(["report", "--report", "help"], 1, "standard output", stdout=full),
            Case(["help"], 1, "standard output", stdout=full),
            Case(["--help"], 1, "standard output", stdout=full),
            Case(["export", "ok.prof", "-o", "no/such/dir.json"], 1, "no/such/dir.json"),
            Case(["run", "--report-file", "ok.prof", "--", "true"], 2, "never overwritten"),
            Case(["run", "-o", "-", "--", "true"], 2, "takes a directory"),
            Case(["run", "-o", "notes.txt", "--", "true"], 1, "notes.txt"),
            Case(["run", "-o", "/proc/nowhere", "--", "true"], 1, "/proc/nowhere"),
        ])  # fmt: skip

    def test_programs(self):
        run = ["run", "--library", STUB, "-o", "never"]
        self.check([
            Case([*run, "nosuchcmd"], 127, "nosuchcmd: command not found"),
            Case([*run, "./nosuchcmd"], 127, "./nosuchcmd: No such file"),
            Case([*run, "./dir.prof"], 126, "is a directory"),
            Case([*run, "./notes.txt"], 126, "Permission denied"),
            Case([*run, "./train.py"], 126, "not executable", "prof run -- python ./train.py"),
            Case([*run, "train.py"], 127, "command not found", "prof run -- python train.py"),
            Case([*run, "notes.txt"], 127, "command not found", "prof run -- ./notes.txt"),
            Case([*run, "./\x1b[31m"], 127, "./\\x1B[31m"),
            Case([*run, "x" * 4000], 126, "…"),
            Case([*run, ""], 127, "command not found"),
            Case(["run", "-o", "never", "--library", "./notes.txt", "true"], 0, "runs without profiling"),
            Case(["run", "-o", "never", "--library", "./nowhere.so", "true"], 0, "runs without profiling"),
            Case(["run", "-o", "never", "--library", ".", "true"], 0, "runs without profiling"),
        ])  # fmt: skip

    def test_files_without_permission(self):
        prof = shutil.copy(PROF, self.dir / "prof")
        (self.dir / "ok.prof").chmod(0)
        locked = self.dir / "locked"
        locked.mkdir(mode=0o500)
        self.dir.chmod(0o755)
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        for arguments, words in (["report", "ok.prof"], "ok.prof"), (["report", "locked/x.prof"], "x.prof"), (
                ["export", "ok.prof"], "ok.prof"), (["run", "-o", "locked/new", "--", "true"], "locked/new"):  # fmt: skip
            result = self.prof(*arguments, prof=prof, **user)
            self.assert_one_line(result, 1, words)
        self.assertEqual(list(locked.iterdir()), [])

    def test_a_pipe_with_something_else(self):
        os.mkfifo(self.dir / "pipe.prof")
        writer = subprocess.Popen(["sh", "-c", "exec 2> /dev/null; echo nothing of the kind > pipe.prof"], cwd=self.dir)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        self.check([Case(["report", "pipe.prof"], 1, "pipe.prof")])

    def test_cut_captures_are_reported_with_a_warning(self):
        for length in (len(self.bytes) // 3, len(self.bytes) // 2, len(self.bytes) - 5):
            cut = self.dir / "cut.prof"
            cut.write_bytes(self.bytes[:length])
            result = self.prof("report", cut)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertRegex(result.stdout, r"(?m)^warning: |the file ends")
            self.assertEqual(cut.read_bytes(), self.bytes[:length])

    def test_the_checks_can_fail(self):
        case = Case(["x"], 2, "wrong", "right")
        good = types.SimpleNamespace(returncode=2, stdout="", stderr="prof: wrong; did you mean right?\n")
        self.assertEqual(problems(case, good, {"a": 1}, {"a": 1}), [])
        for defect in (
            {"returncode": 0}, {"returncode": -6}, {"stdout": "x"}, {"stderr": ""}, {"stderr": "prof: wrong\n"},
            {"stderr": good.stderr * 2}, {"stderr": good.stderr.replace("right", "left")}, {"stderr": good.stderr[6:]},
            {"stderr": good.stderr.replace("wrong", "wrong \x1b[31m")}, {"stderr": good.stderr + "    a, b\n"},
            {"stderr": good.stderr.replace("wrong", "wrong" + "x" * 1000)},
            {"stderr": "terminate called after throwing an instance of\n"}, {"stderr": good.stderr.replace("wrong", "")},
        ):  # fmt: skip
            self.assertEqual(len(problems(case, types.SimpleNamespace(**{**vars(good), **defect}), {}, {})), 1, defect)
        self.assertEqual(len(problems(case, good, {"a": 1}, {"a": 2})), 1)
        self.assertEqual(len(problems(case, good, {"a": 1}, {"a": 1, "a.part": 1})), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(f"BadInputs.{name}" for name in sys.argv[3:])], verbosity=2)
