#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What prof run says where there is no capture, or more than captures; the arguments are those of cli_test.py."""
import fcntl
import os
import signal
import subprocess
import sys
import unittest

from cli_test import PROF, STUB, CommandLine

NOTHING = {"STUB_LIBPROF": "nothing"}
MADE_NOTHING = "made no NVTX range and no CUDA call"


class RunEnds(CommandLine):
    def why(self, *command, options=(), status=0, **more):
        result = self.run_stubbed(*command, options=options, env=NOTHING, **more)
        self.assert_one_line(result, status, "prof: no capture: ")
        return result.stderr.removeprefix("prof: no capture: ").strip()

    def compiled(self, name, source, *flags):
        (self.dir / f"{name}.c").write_text(source)
        subprocess.run(["cc", "-o", self.dir / name, self.dir / f"{name}.c", *flags], check=True)
        return self.dir / name

    def test_a_command_that_did_nothing(self):
        self.assertEqual(self.why("true"), f"the command {MADE_NOTHING}")

    def test_a_command_that_failed(self):
        self.assertEqual(self.why("sh", "-c", "exit 7", status=7), f"the command ended with status 7, and until then {MADE_NOTHING}")
        self.assertIn("ended by signal 9", self.why("sh", "-c", "kill -9 $$", status=-9))

    def test_a_statically_linked_program(self):
        source = "void _start(void) { __asm__ volatile(\"mov $60, %eax\\n xor %edi, %edi\\n syscall\"); }"
        program = self.compiled("static", source, "-static", "-nostdlib", "-nostartfiles")
        self.assertEqual(self.why(program), f"{program} is statically linked, so no library can be loaded into it; "
                                            f"what it started {MADE_NOTHING}")  # fmt: skip
        program = self.compiled("failing", source.replace("xor %edi, %edi", "mov $3, %edi"), "-static", "-nostdlib", "-nostartfiles")
        self.assertIn("is statically linked", self.why(program, status=3))

    @unittest.skipIf(os.geteuid() != 0, "needs another user's file")
    def test_a_set_user_id_program(self):
        program = self.compiled("more", "int main(void) { return 0; }")
        os.chown(program, 12345, -1)
        program.chmod(0o4755)
        self.assertIn(f"{program} runs with more rights than its user's", self.why(program))
        failing = self.compiled("failing", "int main(void) { return 3; }")
        os.chown(failing, 12345, -1)
        failing.chmod(0o4755)
        self.assertIn(f"{failing} runs with more rights", self.why(failing, status=3))
        script = self.dir / "script"
        script.write_text(f"#!{program}\n")
        script.chmod(0o4755)
        self.assertIn(f"{program} runs with more rights", self.why(script))

    def test_python_that_ignores_its_variables(self):
        for flag in ("-I", "-E", "-S", "-uI"):
            self.assertIn(f"python {flag} keeps prof's PYTHONPATH out", self.why(sys.executable, flag, "-c", "pass"))
            result = self.run_stubbed(sys.executable, flag, "-c", "pass")
            self.assertIn(f"prof: python {flag} keeps", result.stderr)
        for flag, end, status in (("-I", "sys.exit(3)", 3), ("-E", "sys.exit(3)", 3), ("-S", "os.kill(os.getpid(), 9)", -9)):
            line = self.why(sys.executable, flag, "-c", f"import os, sys; {end}", status=status)
            self.assertRegex(line, rf"python {flag} keeps prof's PYTHONPATH out: .*; the command .* {abs(status)}, and until")
        for command in (("-u", "-c", "pass", "-I"), ("-c", "pass")):
            self.assertEqual(self.why(sys.executable, *command), f"the command {MADE_NOTHING}")
        self.assertNotIn("PYTHONPATH", self.run_stubbed(sys.executable, "-I", "-c", "", options=["--pytorch", "off"]).stderr)

    def test_a_child_in_the_background(self):
        for env in (NOTHING, {}):
            result = self.run_stubbed("sh", "-c", "sleep 60 >&- 2>&- <&- & echo $!", env=env)
            pid = int(result.stdout)
            os.kill(pid, signal.SIGKILL)
            self.assertIn(f"process {pid} of the command still runs; its capture will be in {self.out}\n", result.stderr)
            self.assertEqual("no capture" in result.stderr, env == NOTHING)

    def test_a_child_that_always_starts_programs(self):
        # /proc has no environment of a process while it executes another program.
        source = "#include <unistd.h>\nint main(int n, char** a) { return execv(a[0], a); }"
        restless = self.compiled("restless", source, "-static")
        for _ in range(3):
            result = self.run_stubbed("sh", "-c", '"$1" >&- 2>&- <&- & echo $!', "sh", restless, env=NOTHING)
            pid = int(result.stdout)
            os.kill(pid, signal.SIGKILL)
            self.assertIn(f"process {pid} of the command still runs", result.stderr)

    def test_helpers_that_end_with_the_command_are_no_children_in_the_background(self):
        # A busy machine may end the helper later than the run waits for it.
        tries = (self.run_stubbed("sh", "-c", "sleep 0.1 >&- 2>&- <&- &", env=NOTHING) for _ in range(5))
        self.assertTrue(any("still run" not in result.stderr for result in tries))

    def test_a_journal_is_left_by_no_run(self):
        temporary = self.dir / "tmp"
        temporary.mkdir()
        shown = self.run_stubbed("env", env={"TMPDIR": str(temporary)})
        journal = next(line for line in shown.stdout.splitlines() if line.startswith("PROF_RUN_JOURNAL="))
        self.assertTrue(journal.startswith(f"PROF_RUN_JOURNAL={temporary}/prof-run-"), journal)
        self.assertEqual(list(temporary.iterdir()), [])
        process = subprocess.Popen([*self.command(self.out), "sh", "-c", "echo; exec cat"], cwd=self.dir,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**self.environment, "TMPDIR": str(temporary)})  # fmt: skip
        self.addCleanup(process.communicate)
        process.stdout.readline()  # from here on the command has no descriptor of the run's
        (journal,) = temporary.iterdir()
        directory = os.open(journal, os.O_RDONLY)
        self.assertTrue((journal / "environment").exists())
        with self.assertRaises(BlockingIOError):
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process.kill()
        process.wait()
        # As where the run is alive in another PID namespace: its number means nothing, its lock does.
        fcntl.flock(directory, fcntl.LOCK_SH)
        self.run_stubbed("true", env={"TMPDIR": str(temporary)})
        self.assertTrue((journal / "journal").exists())
        os.close(directory)
        self.run_stubbed("true", env={"TMPDIR": str(temporary)})
        self.assertEqual(list(temporary.iterdir()), [])

    def test_an_inner_run_has_the_users_environment(self):
        mine = {"LD_PRELOAD": "libdl.so.2", "PYTHONPATH": "/a", "PROF_MEMORY": "32M", "A": "b=\n c"}
        program = self.dir / "inner.sh"
        program.write_text('exec "$@"')
        direct = self.run_stubbed("env", env=mine, options=["--export", "none"]).stdout
        inner = self.run_stubbed("sh", program, *self.command(self.dir / "inner"), "env", env=mine,
                                 options=["--memory", "128M", "--name", "outer"])  # fmt: skip
        ours = ("PROF_OUTPUT_DIR", "PROF_RUN_", "PROF_EXPORT", "_=", "PWD=", "OLDPWD=", "SHLVL=")
        of = lambda text: sorted(line for line in text.splitlines() if not line.startswith(ours))
        self.assertEqual(of(inner.stdout), of(direct))
        self.assertIn("forward", inner.stderr)
        self.assertEqual(len(list((self.dir / "inner").glob("*.trace.json.gz"))), 1)

    def test_an_outer_run_may_have_ended(self):
        left = {"PROF_RUN_JOURNAL": "/nowhere/journal", "PROF_EXPORT": "none", "PROF_OUTPUT_DIR": "/nowhere", "PROF_RUN_ID": "a"}
        result = self.prof("run", "--library", STUB, "--", "true", env=left)
        self.assertIn("forward", result.stderr)
        self.assertEqual(len(list((self.dir / "prof-captures").glob("*.trace.json.gz"))), 1)

    def command(self, directory):
        return [PROF, "run", "--library", STUB, "-o", str(directory), "--"]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
