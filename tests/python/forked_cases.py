# SPDX-License-Identifier: Apache-2.0
"""Cases of a program that imports PyTorch, each in a forked child of it, so that PyTorch is imported once for all.

The program calls serve(); the test that started it is the client, ForkedCases.
"""
import os
import pathlib
import select
import subprocess
import sys
import tempfile


def serve(folder, run_case):
    """Reads names of cases from the standard input. Each runs in a child, whose output goes to <folder>/<case>.out and
    .err and which exits with 3; its number and status are printed."""
    for line in sys.stdin:
        case = line.strip()
        child = os.fork()
        if child == 0:
            for stream, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(f"{folder}/{case}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
            run_case(case)
            sys.exit(3)
        print(child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


class ForkedCases:
    LONGEST_S = 250

    def __init__(self, command, environment):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.err = open(self.folder / "stderr", "w")
        self.process = subprocess.Popen([*command, "--forked", str(self.folder)], cwd=self.folder, env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err, text=True)

    def run(self, case):
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        answered, _, _ = select.select([self.process.stdout], [], [], self.LONGEST_S)
        answer = self.process.stdout.readline().split() if answered else []
        out, err = ((self.folder / f"{case}.{name}") for name in ("out", "err"))
        if len(answer) != 2:
            self.process.kill()
            raise AssertionError(f"{case}: no answer\n{(self.folder / 'stderr').read_text()}\n"
                                 f"{err.read_text() if err.exists() else ''}")
        return subprocess.CompletedProcess(case, int(answer[1]), out.read_text(), err.read_text())

    def close(self):
        """The status of the program, which runs no more cases, and what it printed to stderr."""
        self.process.stdin.close()
        status = self.process.wait(self.LONGEST_S)
        self.process.stdout.close()
        self.err.close()
        said = (self.folder / "stderr").read_text()
        self.scratch.cleanup()
        return status, said
