#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The prof command as a user meets it: prof's path and the stub library's come first on the command line."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import zlib

PROF, STUB = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
OPTIONS_TABLE = DOCS / "reference/options.md"


class Terminal:
    """A terminal without anybody: what programs write there is read here."""

    def __init__(self, columns=100):
        self.leader, self.follower = pty.openpty()
        fcntl.ioctl(self.follower, termios.TIOCSWINSZ, struct.pack("4H", 50, columns, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.leader)

    def streams(self):
        return dict.fromkeys(("stdin", "stdout", "stderr"), self.follower)

    def read_until(self, pattern):
        shown = ""
        while not re.search(pattern, shown):
            shown += os.read(self.leader, 4096).decode()
        return shown

    def rest(self):
        """What is written until all programs have closed the terminal."""
        os.close(self.follower)
        shown = b""
        with contextlib.suppress(OSError):  # EIO: nobody has the other end any more, and all was read
            while more := os.read(self.leader, 4096):
                shown += more
        return shown.decode()


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="prof_cli_")
        self.addCleanup(self.scratch.cleanup)
        self.dir = pathlib.Path(self.scratch.name)
        self.out = self.dir / "captures"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("PROF_", "LD_PRELOAD", "RANK"))}
        self.environment["PAGER"] = "cat"  # nobody is there to leave one
        self.environment["PROF_RINGS"] = "memory"  # what other tests leave in /dev/shm is not for this one to remove
        for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "PYTHONPATH"):
            self.environment.pop(name, None)

    def prof(self, *arguments, env=None, prof=PROF, **more):
        return subprocess.run(
            [prof, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=self.dir,
            env={**self.environment, **(env or {})},
            timeout=60,
            **more,
        )

    def run_stubbed(self, *command, options=(), **more):
        return self.prof("run", "--library", STUB, "-o", self.out, *options, "--", *command, **more)

    def capture(self):
        self.run_stubbed("true", options=["--export", "none"])
        return next(self.out.glob("*.prof"))

    def captures_of_ranks(self, *ranks, place=None):
        """The captures of one run, in the order of their ranks."""
        place = place or self.out
        known = set(place.glob("*.prof"))
        script = "for rank in $*; do RANK=$rank STUB_LIBPROF= env true; done"
        command = ["sh", "-c", script, "sh", *ranks]
        nothing = {"STUB_LIBPROF": "nothing"}  # of the shell itself
        self.prof("run", "--library", STUB, "-o", place, "--export", "none", "--", *command, env=nothing)
        new = set(place.glob("*.prof")) - known
        return sorted(new, key=lambda path: int(path.name.split(".")[1]))

    def prof_free(self, **variables):
        """Runs a program with these variables, and without prof."""
        subprocess.run(["true"], env={**self.environment, **variables}, check=True, timeout=60)

    def on_terminal(self, *arguments, env=None, columns=100):
        """What prof prints where all its streams are a terminal."""
        with Terminal(columns) as terminal:
            process = subprocess.Popen([PROF, *map(str, arguments)], cwd=self.dir,
                                       env={**self.environment, **(env or {})}, **terminal.streams())  # fmt: skip
            shown = terminal.rest()
        self.status = process.wait(timeout=60)
        return shown

    def assert_one_line(self, result, status, *parts):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("prof: "), result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)


class Usage(CommandLine):
    def test_help_is_a_manual_page(self):
        for command in ([], ["run"], ["report"], ["diagnose"], ["diff"], ["baseline"], ["export"], ["seal"], ["ctl"]):
            result = self.prof(*command, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            sections = re.findall(r"^[A-Z ]+$", result.stdout, re.MULTILINE)
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS"):
                self.assertIn(section, sections, command)
            self.assertLess(sections.index("EXAMPLES"), sections.index("DESCRIPTION"))
            too_long = [line for line in result.stdout.splitlines() if len(line) > 80]
            self.assertEqual(too_long, [])
            page = self.prof("help", *command)
            self.assertEqual((page.returncode, page.stdout, page.stderr), (0, result.stdout, ""))
        self.assertEqual(self.prof("help", "help").stdout, self.prof("--help").stdout)
        self.assert_one_line(self.prof("help", "reprot"), 2, "did you mean report?")
        self.assert_one_line(self.prof("help", "run", "report"), 2, "one command")

    def test_version(self):
        for flag in ("--version", "-V"):
            self.assertRegex(self.prof(flag).stdout, r"^prof \d+\.\d+\.\d+\n$")

    def test_without_a_command_the_usage_is_printed(self):
        result = self.prof()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        for words in ("usage:\n    prof run", "examples:\n    prof run -- python", "prof help COMMAND"):
            self.assertIn(words, result.stderr)
        self.assertLess(result.stderr.count("\n"), 20)

    def test_unknown_commands_are_refused(self):
        self.assert_one_line(self.prof("profile"), 2, '"profile"', "there are run, report, open, diagnose, diff, baseline, export, seal, ctl, completion and help")
        self.assert_one_line(self.prof("rnu"), 2, '"rnu"; did you mean run?')
        self.assert_one_line(self.prof("a.prof"), 2, "did you mean prof report?")
        self.assert_one_line(self.prof(PROF), 2, "did you mean prof run?")
        self.assert_one_line(self.prof("--report", "kernels", "x"), 2, "did you mean prof report --report?")
        self.assert_one_line(self.prof("run"), 2, "no command to run")
        self.assert_one_line(self.prof("run", "--"), 2, "no command to run")

    def test_unknown_options_are_refused(self):
        self.assert_one_line(self.prof("run", "--bogus", "--", "true"), 2, "--bogus", "prof run --help")
        self.assert_one_line(self.prof("report", "--bogus", "x"), 2, "--bogus", "prof report --help")
        self.assert_one_line(self.prof("export", "--bogus", "x"), 2, "--bogus", "prof export --help")

    def test_bad_values_are_refused_with_the_accepted_ones(self):
        bad = {
            "--rank": ("one", "a whole number"),
            "--name": ("a/b", "a file name"),
            "--export": ("pdf", "trace, summary"),
            "--compress": ("yes", "0 or 1"),
            "--activities": ("kernel", "all, none, or a list"),
            "--fold": ("layer", "counters, all, none, or names with '#'"),
            "--rows": ("none", "all, or a whole number from 1"),
            "--autostart": ("on", "0 or 1"),
            "--control": ("yes", "auto, on, or off"),
            "--control-signal": ("KILL", "none, USR1, USR2"),
            "--memory": ("48M", "a power of two from 16M to 4G"),
            "--nvtx-domain-include": ("a,,b", "domain names or patterns"),
            "--nvtx-domain-exclude": (",", "domain names or patterns"),
            "--schedule": ("wait=1", "active is 1 or more"),
            "--step-range": ("@", "name@domain"),
            "--capture-range": ("cuda", "none, cudaProfilerApi, nvtx, or steps"),
            "--nvtx-capture": ("a@", "name@domain"),
            "--steps": ("4-3", "N-M"),
            "--capture-range-end": ("stop-shutdown", "shutdown is not supported"),
            "--export-each": ("cycle", "run or window"),
            "--keep": ("60", "a time from 1s to 168h"),
            "--set": ("PROF_FOLD=7", "counters, all, none"),
        }
        for option, (value, accepted) in bad.items():
            self.assert_one_line(self.prof("run", option, value, "--", "true"), 2, option.replace("set", "fold"), accepted)
        self.assert_one_line(self.prof("run", "--set", "FOLD", "--", "true"), 2, "PROF_X=VALUE")
        unknown = self.prof("run", "--set", "PROF_Q=1", "--", "true")
        self.assertEqual((unknown.returncode, unknown.stdout), (2, ""))
        self.assertRegex(unknown.stderr, r'^prof: --set: there is no option "PROF_Q"; there are\n    PROF_OUTPUT_DIR, ')
        self.assert_one_line(self.prof("run", "--set", "PROF_OUTPUTDIR=1", "--", "true"), 2, "did you mean PROF_OUTPUT_DIR?")
        self.assert_one_line(self.prof("run", "--", "true", env={"PROF_FOLD": "x"}), 2, "PROF_FOLD", "counters, all, none")
        self.assert_one_line(self.prof("run", "--capture-range", "nvtx", "--", "true"), 2, "capture_range=nvtx", "nvtx_capture")
        self.assert_one_line(self.prof("report", "x", "--format", "xml"), 2, '--format: "xml" is not accepted; it takes table, csv, json, markdown or html')
        self.assert_one_line(self.prof("report", "x", "--format", "jsn"), 2, "did you mean json?")
        self.assert_one_line(self.prof("report", "x", "--fromat", "csv"), 2, '"--fromat"; did you mean --format?')
        self.assert_one_line(self.prof("export", "--fromat=csv", "x"), 2, '"--fromat"')
        for command in (["report", "x"], ["run"]):
            self.assert_one_line(self.prof(*command, "--report", "kernel"), 2, '"kernel" is not accepted; did you mean kernels?')
            unknown = self.prof(*command, "--report", "nvtx_sum")
            self.assertEqual((unknown.returncode, unknown.stdout), (2, ""))
            self.assertRegex(unknown.stderr, r'^prof: --report: "nvtx_sum" is not accepted; it takes\n    gpu-projection, breakdown')
            self.assertEqual([line for line in unknown.stderr.splitlines() if len(line) > 80], [])
        self.assert_one_line(self.prof("report", "x", "--kernel-names", "base"), 2, "full, short or mangled")
        for command in ("report", "export"):
            self.assert_one_line(self.prof(command, "x", "--nvtx-domain-exclude", "a,"), 2, "--nvtx-domain-exclude", '"a,"')
        for depth in ("-1", "x", "", "4294967296"):
            self.assert_one_line(self.prof("report", "x", "--depth", depth), 2, f'--depth: "{depth}"', "a whole number")
        self.assert_one_line(self.prof("report", "x", "--adopt", ""), 2, "--adopt", "auto, off, or a pattern")
        for rule in ("layer", "", "layer #,", "2"):
            self.assert_one_line(self.prof("report", "x", "--fold", rule), 2, f'--fold: "{rule}"', "counters, all, none, or names")
        for seconds in ("0", "-1", "soon", "inf", "nan", "1s"):
            self.assert_one_line(self.prof("ctl", "1", "--timeout", seconds), 2, f'"{seconds}"', "a number of seconds above 0")
        self.assert_one_line(self.prof("report"), 2, "FILE")
        self.assert_one_line(self.prof("export", "x", "-o", "trace.html"), 2, ".json or .json.gz")

    def test_every_option_of_run_is_documented(self):
        help_text = self.prof("run", "--help").stdout
        options = set(re.findall(r"(--[a-z-]+)", help_text.split("OPTIONS")[1].split("EXAMPLES")[0]))
        documented = set(re.findall(r"`(--[a-z-]+)", OPTIONS_TABLE.read_text()))
        command_page = set(re.findall(r"`(--[a-z-]+)", (OPTIONS_TABLE.parent / "cli.md").read_text()))
        self.assertEqual(options - documented - command_page, {"--help"})


    def test_misspelt_variables_are_reported(self):
        given = {"PROF_OUTPUTDIR": "x", "PROF_FOO": "1", "PROF_IMAGE": "1", "PROF_EMPTY": ""}
        result = self.run_stubbed("nosuchcmd", env=given)
        self.assertEqual(result.stderr.splitlines(),
                         ["prof: PROF_OUTPUTDIR is not an option of libprof; did you mean PROF_OUTPUT_DIR?",
                          "prof: PROF_FOO is not an option of libprof, and is ignored",
                          "prof: cannot run nosuchcmd: command not found"])  # fmt: skip
        self.assert_one_line(self.prof("report", env=given), 2, "FILE")

    def test_closed_streams_end_nothing(self):
        for closed in (1, 2):
            close = lambda: os.close(closed)
            for arguments, status in (["--nothing"], 2), (["run", "--", "sh", "-c", "exit 7"], 7):
                result = self.prof(*arguments, preexec_fn=close)
                self.assertEqual(result.returncode, status, result.stderr)
        result = self.prof("--help", preexec_fn=lambda: os.close(1))
        self.assertEqual((result.returncode, result.stderr), (1, "prof: cannot write to standard output\n"))
        # What the command finds closed without prof is closed with it.
        shown = self.prof("run", "--", "sh", "-c", "test -e /proc/self/fd/2 && echo open", preexec_fn=lambda: os.close(2))
        self.assertEqual(shown.stdout, "")


class Run(CommandLine):
    def test_exit_status_is_passed_on(self):
        for status in (0, 1, 7, 255):
            self.assertEqual(self.run_stubbed("sh", "-c", f"exit {status}").returncode, status)

    def test_death_by_a_signal_is_passed_on(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT):
            result = self.run_stubbed("sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(result.returncode, -number, result.stderr)
            self.assertIn("capture: ", result.stderr)
            for capture in self.out.glob("*"):
                capture.unlink()

    def test_commands_that_cannot_run_are_reported(self):
        result = self.run_stubbed("/nowhere/command")
        self.assert_one_line(result, 127, "/nowhere/command: No such file")
        self.assert_one_line(self.run_stubbed("nosuchcmd"), 127, "nosuchcmd: command not found")
        self.assert_one_line(self.run_stubbed("/etc/passwd"), 126, "/etc/passwd: Permission denied")
        self.assert_one_line(self.run_stubbed("/etc"), 126, "/etc: is a directory")
        script = self.dir / "train.py"
        script.write_text("")
        self.assert_one_line(self.run_stubbed(script), 126, f"did you mean prof run -- python {script}?")
        script.write_text("#!/nowhere/python\n")
        script.chmod(0o755)
        self.assert_one_line(self.run_stubbed(script), 127, "interpreter")
        self.assertFalse(self.out.exists())

    def test_standard_streams_are_passed_on(self):
        result = self.run_stubbed("cat", input="in and out\n")
        self.assertEqual(result.stdout, "in and out\n")
        result = self.run_stubbed("sh", "-c", "echo of the command >&2")
        self.assertTrue(result.stderr.startswith("of the command\n"))

    def test_a_command_needs_no_dashes(self):
        result = self.prof("run", "--library", STUB, "-o", self.out, "sh", "-c", "exit 4", "--export")
        self.assertEqual(result.returncode, 4, result.stderr)

    def test_summary_and_trace_are_made_after_the_end(self):
        result = self.run_stubbed("true")
        self.assertRegex(result.stderr, r"stub, rank 0, pid \d+")
        self.assertRegex(result.stderr, r"forward +1 +8\.000 +30\.000 +100\.0 %")
        (capture,) = self.out.glob("*.prof")
        (trace,) = self.out.glob("*.trace.json.gz")
        self.assertIn(f"capture: {capture}", result.stderr)
        self.assertIn(f"trace:   {trace}", result.stderr)

    def test_files_follow_the_umask(self):
        for umask in (0o027, 0o077):
            self.run_stubbed("true", options=["--export", "trace,summary"], umask=umask)
            modes = {path.stat().st_mode & 0o777 for path in self.out.iterdir() if path.suffix != ".prof"}
            self.assertEqual((modes, self.out.stat().st_mode & 0o777), ({0o666 & ~umask}, 0o777 & ~umask))
            shutil.rmtree(self.out)

    def test_exports_follow_the_option(self):
        result = self.run_stubbed("true", options=["--export", "none"])
        self.assertNotIn("forward", result.stderr)
        self.assertEqual(len(list(self.out.iterdir())), 1)
        result = self.run_stubbed("true", options=["--export", "summary"])
        self.assertIn("forward", result.stderr)
        self.assertEqual(list(self.out.glob("*.json.gz")), [])
        (summary,) = self.out.glob("*.summary.txt")
        self.assertRegex(summary.read_text(), r"forward +1 +8\.000 +30\.000 +100\.0 %")
        self.assertIn(f"summary: {summary}", result.stderr)

    def test_other_reports_take_the_summarys_place(self):
        result = self.run_stubbed("true", options=["--report", "kernels,copies", "--format", "json", "--report-file", "-"])
        self.assertEqual([report["report"] for report in json.loads(result.stdout)], ["kernels", "copies"])
        self.assertNotIn("forward", result.stderr)
        everything = self.run_stubbed("true", options=["--report", "all"])
        self.assertRegex(everything.stderr, "(?m)^note: reports without rows: ")
        self.assertIn("kernel_x", everything.stderr)
        file = self.out.parent / "report.csv"
        result = self.run_stubbed("true", options=["--format", "csv", "--report-file", file])
        self.assertEqual((result.stdout, "forward" in result.stderr), ("", False))
        self.assertIn("forward", file.read_text())
        result = self.run_stubbed("true", options=["-q"])
        self.assertEqual((result.stdout, "forward" in result.stderr), ("", False))
        self.assertIn("capture: ", result.stderr)
        self.assert_one_line(self.prof("run", "--report", "kernel", "--", "true"), 2, "--report", "kernels")
        capture = next(self.out.glob("*.prof"))
        before = capture.read_bytes()
        self.assert_one_line(self.prof("run", "--report-file", capture, "--", "true"), 2, "is a capture")
        self.assertEqual(capture.read_bytes(), before)

    def test_a_reports_file_is_checked_before_the_command_runs(self):
        for file, words in (("nowhere/x", "nowhere/x: No such file"), (self.dir, "is a directory")):
            result = self.run_stubbed("touch", self.dir / "ran", options=["--report-file", file])
            self.assert_one_line(result, 2, "--report-file", words)
            self.assertFalse((self.dir / "ran").exists())
            self.assertFalse(self.out.exists())
        inside = self.out / "summary.txt"  # of a directory that the run makes
        self.assertEqual(self.run_stubbed("true", options=["--report-file", inside]).returncode, 0)
        self.assertIn("forward", inside.read_text())

    def test_losses_are_known_where_no_table_is_shown(self):
        lost = {"STUB_LOST": "7"}
        warning = r"(?m)^(prof: )?warning: .*\(7\) .*the rings were full; raise memory"
        file = self.dir / "report.txt"
        for options in ([], ["-q"], ["--export", "trace"], ["--format", "json"], ["--report-file", file]):
            shown = self.run_stubbed("true", options=options, env=lost).stderr
            self.assertEqual(len(re.findall(warning, shown)), 1, shown)
            self.assertEqual("prof: warning: " in shown, options != [])
        self.assertRegex(file.read_text(), warning)
        for rank in ("1", "2"):
            self.run_stubbed("true", env={**lost, "RANK": rank})
        losing = len(list(self.out.glob("*.prof")))
        self.capture()
        exported = self.prof("export", self.out, "-o", "traces/")
        self.assertEqual(exported.stderr.count("\n"), 1, exported.stderr)
        self.assertRegex(exported.stderr, rf"prof: {losing} of {losing + 1} captures: warning: .*the rings were full")
        empty = self.run_stubbed("true", env={**lost, "STUB_RANGES": "0"}).stderr
        self.assertRegex(empty, warning)
        self.assertIn("1 process recorded nothing", empty)

    def test_what_one_types_next_is_named(self):
        result = self.run_stubbed("true")
        (capture,) = self.out.glob("*.prof")
        self.assertRegex(result.stderr, rf"\nnext: prof report \S*{re.escape(capture.name)} --full ")
        self.assertEqual(result.stderr.count("next:"), 1)
        script = "RANK=1 env true"
        self.assertIn(f"prof: next:    prof report {self.out} ", self.run_stubbed("sh", "-c", script).stderr)
        for options, env in ((["-o", "prof-captures"], {}), ([], {"PROF_OUTPUT_DIR": "elsewhere"}), ([], {})):
            result = self.prof("run", "--library", STUB, *options, "true", env=env)
            self.assertIn("\nnext: prof report --full ", result.stderr)
            self.assertEqual(result.stderr.count("next:"), 1)
            self.assertIn("newest run: ", self.prof("report", env=env).stderr)
        for options in (["-q"], ["--export", "trace"]):
            self.assertNotIn("next:", self.run_stubbed("true", options=options).stderr)

    def test_all_processes_are_reported_in_order_of_rank(self):
        script = "for rank in 10 2 0; do RANK=$rank true_of_rank; done; wait"
        script = script.replace("RANK=$rank true_of_rank", "(export RANK=$rank; exec env true)")
        result = self.run_stubbed("sh", "-c", script, options=["--export", "summary"])
        overview = re.findall(r"^ +(\d+) +\d+  stub", result.stderr, re.MULTILINE)
        self.assertEqual(overview, ["0", "0", "2", "10"], result.stderr)
        tables = re.findall(r"^stub, rank (\d+), pid", result.stderr, re.MULTILINE)
        self.assertEqual(tables, ["0", "2", "10"], "a table for each rank")

    def test_only_captures_of_this_run_are_reported(self):
        self.run_stubbed("true")
        result = self.run_stubbed("true")
        self.assertEqual(result.stderr.count("capture: "), 1)
        (self.out / "junk.prof").write_text("not a capture")
        self.assertEqual(self.run_stubbed("true").stderr.count("capture: "), 1)

    def test_captures_of_other_runs_are_not_read_whole(self):
        self.run_stubbed("true")
        capture = next(self.out.glob("*.prof"))
        header = capture.read_bytes()[:64]

        def chunk(kind, sequence, payload):
            head = struct.pack("<4IQ3I", 0x4B4E4843, kind, 0, sequence, 0, len(payload), len(payload), zlib.crc32(payload))
            return head + struct.pack("<I", zlib.crc32(head)) + payload

        for number in range(3):
            # As LD_PRELOAD leaves it: no run_id; closed or not.
            with open(self.out / f"other{number}.prof", "wb") as file:
                file.write(header + chunk(1, 0, struct.pack("<2I", 4, 4) + b"nameabcd"))
                for sequence in range(1, 1 + 400):
                    file.write(chunk(8, sequence, bytes(40 << 10)))

        def read_so_far():
            return int(re.search(r"rchar: (\d+)", pathlib.Path("/proc/self/io").read_text())[1])

        before = read_so_far()
        result = self.run_stubbed("true")
        self.assertEqual(result.stderr.count("capture: "), 1)
        # What it has read itself, the command included, counts for its parent.
        self.assertLess(read_so_far() - before, 16 << 20)

    def test_a_missing_capture_is_reported(self):
        result = self.run_stubbed("true", env={"STUB_LIBPROF": "nothing"})
        self.assert_one_line(result, 0, "no capture")
        self.assertFalse(self.out.exists(), "an empty directory is left")

    def test_a_plan_without_a_window_is_reported(self):
        nothing = {"STUB_LIBPROF": "nothing"}
        for options, words in (
            (["--schedule", "wait=1,active=2"], "schedule wait=1,active=2: the command had no such step; prof_step"),
            (["--budget", "1%", "--step-range", "it"], "budget 1%: the command had no such step; each push of the range it"),
            (["--capture-range", "steps", "--steps", "3-4"], "steps 3-4: the command had no such step"),
            (["--capture-range", "cudaProfilerApi"], "cudaProfilerApi, stop: the command's capture range never began"),
            (["--capture-range", "nvtx", "--nvtx-capture", "a"], "nvtx a, stop: the command's capture range never"),
            (["--autostart", "0"], "autostart is 0, and the command called no prof_start"),
        ):
            result = self.run_stubbed("true", options=options, env=nothing)
            self.assert_one_line(result, 0, "no capture")
            self.assertIn(words, result.stderr)
            self.assertNotIn("made no NVTX range", result.stderr)

    def test_environment_is_added_to_the_users(self):
        shown = self.run_stubbed("env", options=["--memory", "128M", "--no-fold"], env={"LD_PRELOAD": "libdl.so.2"})
        values = dict(line.split("=", 1) for line in shown.stdout.splitlines() if "=" in line)
        self.assertEqual(values["LD_PRELOAD"], f"{STUB}:libdl.so.2")
        self.assertEqual(values["CUDA_INJECTION64_PATH"], STUB)
        self.assertEqual(values["NVTX_INJECTION64_PATH"], STUB)
        self.assertEqual(values["PROF_OUTPUT_DIR"], str(self.out))
        self.assertEqual(values["PROF_EXPORT"], "none")
        self.assertEqual(values["PROF_MEMORY"], "128M")
        self.assertEqual(values["PROF_FOLD"], "none")
        self.assertRegex(values["PROF_RUN_ID"], r"^[0-9a-f]{16}$")
        self.assertEqual(values["ASAN_OPTIONS"], "verify_asan_link_order=0")
        for before, after in (("a=1", "a=1:verify_asan_link_order=0"), ("verify_asan_link_order=1",) * 2):
            shown = self.run_stubbed("env", env={"ASAN_OPTIONS": before})
            self.assertIn(f"\nASAN_OPTIONS={after}\n", "\n" + shown.stdout)

    def test_pythonpath_begins_with_libprofs_folder(self):
        show = ("sh", "-c", "echo $PYTHONPATH")
        folder = self.run_stubbed(*show).stdout.strip()
        self.assertTrue((pathlib.Path(folder) / "sitecustomize.py").is_file(), folder)
        self.assertEqual(self.run_stubbed(*show, env={"PYTHONPATH": "/a:/b"}).stdout, f"{folder}:/a:/b\n")
        self.assertEqual(self.run_stubbed(*show, options=["--pytorch", "off"], env={"PYTHONPATH": "/a"}).stdout, "/a\n")

    def test_a_missing_python_folder_is_reported(self):
        alone = self.dir / "bin" / "prof"
        alone.parent.mkdir()
        shutil.copy(PROF, alone)
        for options, printed in ((), 1), (("--pytorch", "off"), 0):
            result = self.run_stubbed("true", options=options, prof=alone)
            self.assertEqual(result.returncode, 0)
            lines = [line for line in result.stderr.splitlines() if "PyTorch" in line]
            self.assertEqual(len(lines), printed, result.stderr)
            for line in lines:
                self.assertRegex(line, r"^prof: /.*/python/sitecustomize.py: No such file .*; PyTorch's own ranges are not")

    def test_other_tools_are_left_in_place(self):
        result = self.run_stubbed("env", env={"NVTX_INJECTION64_PATH": "/opt/other.so"})
        self.assertIn("NVTX_INJECTION64_PATH=/opt/other.so\n", result.stdout)
        self.assertIn("prof: NVTX_INJECTION64_PATH is set to /opt/other.so, which prof run does not change", result.stderr)

    def test_a_library_that_cannot_be_loaded_is_left_out(self):
        garbage = self.dir / "garbage.so"
        garbage.write_bytes(b"\x7fELF, and then nothing like it" + bytes(100))
        cases = {
            garbage: "garbage.so",
            next(pathlib.Path("/").glob("lib*/**/libm.so.6")): "is not libprof (it has no prof_version)",
            self.dir / "absent.so": "No such file",
            self.dir / "with blank.so": "LD_PRELOAD cannot hold",
        }
        for library, words in cases.items():
            result = self.prof("run", "--library", library, "--", "sh", "-c", "echo $LD_PRELOAD; exit 5")
            self.assertEqual((result.returncode, result.stdout), (5, "\n"))
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn("runs without profiling: ", result.stderr)
            self.assertIn(words, result.stderr)
        result = self.run_stubbed("sh", "-c", "exit 5", env={"STUB_LIBPROF": "abort"})
        self.assert_one_line(result, 5, "runs without profiling", "signal 6")

    def test_a_library_of_a_newer_libc_is_left_out(self):
        # A libc.so.6 that promises a version yet to come, and a library that asks for it.
        (self.dir / "libc.c").write_text("int from_the_future(void) { return 1; }")
        (self.dir / "libc.map").write_text("GLIBC_2.99 { from_the_future; };")
        (self.dir / "new.c").write_text("int from_the_future(void); int use(void) { return from_the_future(); }")
        build = [
            ["cc", "-shared", "-fPIC", "-nostdlib", "libc.c", "-Wl,-soname,libc.so.6",
             "-Wl,--version-script=libc.map", "-o", "libc.so.6"],
            ["cc", "-shared", "-fPIC", "-nostdlib", "new.c", "./libc.so.6", "-o", "new.so"],
        ]  # fmt: skip
        for command in build:
            subprocess.run(command, cwd=self.dir, check=True)
        (self.dir / "libc.so.6").unlink()
        result = self.prof("run", "--library", self.dir / "new.so", "--", "sh", "-c", "exit 6")
        self.assert_one_line(result, 6, "runs without profiling", "GLIBC_2.99")

    def test_a_bad_output_directory_is_refused_before_the_start(self):
        file = self.dir / "file"
        file.write_text("")
        for directory in (file, file / "below", "/proc/nowhere"):
            result = self.prof("run", "--library", STUB, "-o", directory, "--", "echo", "started")
            self.assert_one_line(result, 1, str(directory))


class Signals(CommandLine):
    CHILD = r"""
import os, signal, sys, time
got = []
def note(number, frame):
    got.append(signal.Signals(number).name)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    if signal.getsignal(number) != signal.SIG_IGN:
        signal.signal(number, note)
print("ready", flush=True)
while "SIGUSR2" not in got:
    time.sleep(0.01)
print(" ".join(got), flush=True)
sys.exit(9)
"""

    def start(self, child=CHILD, **more):
        command = [PROF, "run", "--library", STUB, "-o", str(self.out), "--", sys.executable, "-c", child]
        return subprocess.Popen(command, cwd=self.dir, env=self.environment, text=True, stderr=subprocess.PIPE, **more)

    def test_each_signal_is_passed_on_once(self):
        process = self.start(stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "ready\n")
        sent = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]
        for name in sent:
            process.send_signal(getattr(signal, name))
            time.sleep(0.1)  # signals that wait together have no order
        out, err = process.communicate(timeout=30)
        self.assertEqual(out.split(), sent)
        self.assertEqual(process.returncode, 9)
        self.assertIn("capture: ", err)

    def test_ignored_signals_stay_ignored(self):
        ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        process = self.start(stdout=subprocess.PIPE, preexec_fn=ignore)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGUSR2)
        out, _ = process.communicate(timeout=30)
        self.assertEqual(out.split(), ["SIGUSR2"])

    def ctrl_c(self, child):
        """What a command prints that ran in the foreground of a terminal where Ctrl-C was typed."""
        leader, follower = pty.openpty()

        def take_terminal():
            os.setsid()
            os.close(os.open(os.ttyname(follower), os.O_RDWR))  # a session leader's first terminal is its own

        process = self.start(child, stdin=follower, stdout=follower, preexec_fn=take_terminal)
        os.close(follower)
        shown = b""
        while b"ready" not in shown:
            shown += os.read(leader, 1000)
        os.write(leader, b"\x03")
        time.sleep(0.3)
        process.send_signal(signal.SIGUSR2)
        _, err = process.communicate(timeout=30)
        shown = b""
        with contextlib.suppress(OSError):  # EIO: nobody has the other end any more, and all was read
            while more := os.read(leader, 1000):
                shown += more
        os.close(leader)
        self.assertEqual(process.returncode, 9, err)
        return shown.decode().replace("^C", "").split()

    def test_ctrl_c_of_the_terminal_is_not_passed_on(self):
        self.assertEqual(self.ctrl_c(self.CHILD), ["SIGINT", "SIGUSR2"])
        # A command that left the terminal's session does not hear it, with prof no more than without.
        self.assertEqual(self.ctrl_c("import os; os.setsid()" + self.CHILD), ["SIGUSR2"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
