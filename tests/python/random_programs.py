# SPDX-License-Identifier: Apache-2.0
"""Random programs (program_grammar.py) print and end under `prof run` as they do bare.

    random_programs.py PROF VERSION [--seconds N] [--first SEED] [--batch N] [--mode N] [SEED...]

Without seeds: those of REGRESSIONS and, as long as the seconds last, batches from --first on, or fresh ones. Most
programs run in children of one process, which has imported PyTorch; of each batch one runs as a process of its own.
What differs runs again, twice bare and twice recorded: a program that is not the same twice without libprof says
nothing. Of a true difference the parts that it does not need are taken away. PROF_UNSTEADY=1 shows what is not the same
twice bare.

Exits with 1 where a program differs, with 77 where the version of Python is not to be had.
"""
import argparse
import atexit
import difflib
import importlib
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import program_grammar
from clean_environment import TOOLKIT, clean_environment

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 60  # of a program
MODES = (["--pytorch", "ops", "--modules"], [], ["--modules=2"], ["--pytorch", "off"], ["--phases", "off"],
         ["--schedule", "wait=1,warmup=1,active=2"], ["--keep", "5s", "--modules"], ["--activities", "none"])
# Seeds that have differed, each with its mode.
REGRESSIONS = {}
# In the output: what is another in each process.
VARYING = re.compile(r"W\d{4} \S+ \d+|\[W\d+|\d\d:\d\d:\d\d( \d+:\d+|\.\d+)|pid[= (]*\d+|0x[0-9a-f]+|"
                     r"(Thread-|[Pp]rocess[ -])\d+")


# In the process that runs programs.

def as_program(name, folder):
    """What a child does before it is the program: its output goes into files, its main module is empty."""
    os.setpgid(0, 0)
    for number, kind in ((1, "out"), (2, "err")):
        file = os.open(folder / f"{name}.{kind}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.argv = [f"<random program {name}>"]


def wait(child, seconds=LIMIT_S):
    """Its exit status, or "endless": then faulthandler has written where it stands."""
    for number in (signal.SIGABRT, signal.SIGKILL):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            time.sleep(0.002)
        else:
            os.killpg(child, number)
            seconds = 5
            continue
        return str(os.waitstatus_to_exitcode(status)) if number == signal.SIGABRT else "endless"
    os.waitpid(child, 0)
    return "endless"


def serve(folder, with_torch, names):
    """The code of the first program in a child; the parent comes to the end."""
    for module in ("program_words", *(("program_torch_words", "torch._dynamo") if with_torch else ())):
        importlib.import_module(module)  # torch._dynamo: optimizers import it, for a second
    for name in names:
        seed, *parts = map(int, name.split("-"))
        child = os.fork()
        if child == 0:
            as_program(name, folder)
            text = program_grammar.program(seed, parts or None)
            return seed, compile(text, f"<random program {name}>", "exec")
        (folder / f"{name}.status").write_text(wait(child))
    return None, None


def run_and_leave(code):
    """As Python ends a program, but for taking PyTorch down, which takes a second of CPU."""
    status = 0
    try:
        exec(code, sys.modules["__main__"].__dict__)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if status and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status & 255)


# In the process that compares.

def normal(text):
    """Without what is another in each process, and libprof's lines."""
    lines = [line for line in text.splitlines()
             if not line.startswith("prof: ") and "Requested callback is not found" not in line]  # PyTorch's, at times
    return VARYING.sub("N", "\n".join(lines))


class Runner:
    def __init__(self, prof, python):
        self.prof, self.python, self.verbose = prof, python, "PROF_UNSTEADY" in os.environ
        self.ran, self.unsteady, self.differing = 0, [], []

    def run(self, names, mode):
        """What each program did: its output, its errors, its status; mode None: bare."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            prefix = []
            if mode is not None:
                prefix = [self.prof, "run", "-q", "-o", f"{name}/captures", "--export", "none", *mode, "--"]
            environment = clean_environment(LD_LIBRARY_PATH=TOOLKIT, PYTHONHASHSEED="0", PYTHONPATH=str(HERE))
            command = [*prefix, self.python, "-B", "-X", "faulthandler"]
            if len(names) == 1:
                seed, *parts = map(int, names[0].split("-"))
                program = folder / f"random_program_{names[0]}.py"
                program.write_text(program_grammar.program(seed, parts or None))
                command += [program.name]
            else:
                with_torch = str(int(program_grammar.has_torch(int(names[0].split("-")[0]))))
                command += [str(HERE / "random_programs.py"), "--serve", name, with_torch, *names]
            try:
                done = subprocess.run(command, env=environment, cwd=name, capture_output=True, text=True,
                                      errors="replace", timeout=LIMIT_S * 4 if len(names) == 1 else None)
            except subprocess.TimeoutExpired:
                return {names[0]: ("", "", "endless")}
            if len(names) == 1:
                errors = normal(done.stderr).replace(name, "FOLDER")
                return {names[0]: (normal(done.stdout), errors, str(done.returncode))}
            results = {}
            for each in names:
                def read(kind):
                    path = folder / f"{each}.{kind}"
                    return path.read_text(errors="replace") if path.exists() else f"no {kind}"
                results[each] = normal(read("out")), normal(read("err")).replace(name, "FOLDER"), read("status")
            if normal(done.stderr).strip() or done.returncode:
                print("the server:", done.returncode, done.stderr[-2000:])
            return results

    def differs(self, name, mode, times=2):
        """How often the recorded program differs, alone; None where the bare one is unsteady."""
        bare = [self.run([name], None)[name] for _ in range(2)]
        if bare[0] != bare[1]:
            return None
        recorded = [self.run([name], mode)[name] for _ in range(times)]
        return sum(each != bare[0] for each in recorded)

    def shrink(self, seed, mode):
        parts = program_grammar.parts_of(seed)
        for part in list(parts):
            fewer = [each for each in parts if each != part]
            if fewer and self.differs(name_of(seed, fewer), mode, 1):
                parts = fewer
        return parts

    def compare(self, seeds, mode):
        names = [str(seed) for seed in seeds]
        bare, recorded = self.run(names, None), self.run(names, mode)
        self.ran += len(names)
        for name in names:
            if bare[name] == recorded[name]:
                continue
            print(f"seed {name} {' '.join(mode)}: looks different", flush=True)
            again = self.run_pair(name, None, len(names) == 1)
            if any(each != bare[name] for each in again):
                self.unsteady.append(name)
                print(f"seed {name}: is not the same twice bare", flush=True)
                if self.verbose:
                    show_difference(bare[name], next(each for each in again if each != bare[name]))
                continue
            repeated = self.run_pair(name, mode, len(names) == 1)
            count = sum(each != bare[name] for each in repeated)
            self.differing.append(name)
            print(f"seed {name} {' '.join(mode)}: DIFFERS, {count} of 2 times again")
            show_difference(bare[name], recorded[name])
            alone = self.differs(name, mode)
            if alone:
                print(f"seed {name}: differs alone too; parts {self.shrink(int(name), mode)} are enough", flush=True)
            else:
                print(f"seed {name}: alone it {'is unsteady' if alone is None else 'does not differ'}", flush=True)

    def run_pair(self, name, mode, is_alone):
        """Twice, each a process of its own or both children of one."""
        if is_alone:
            return [self.run([name], mode)[name] for _ in range(2)]
        parts = "-".join([name, *map(str, program_grammar.parts_of(int(name)))])
        results = self.run([name, parts], mode)
        return [tuple(text.replace(parts, name) for text in each) for each in results.values()]


def name_of(seed, parts):
    return "-".join(map(str, [seed, *parts]))


def show_difference(bare, recorded):
    for kind, a, b in zip(("stdout", "stderr", "status"), bare, recorded):
        if a != b:
            lines = list(difflib.unified_diff(a.splitlines(), b.splitlines(), f"{kind} bare", f"{kind} recorded",
                                              lineterm="", n=2))
            print("\n".join("    " + line[:400] for line in lines[:40]), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prof")
    parser.add_argument("version")
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--first", type=int, default=int(time.time()))
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--mode", type=int, help="of MODES; else they take turns")
    arguments = parser.parse_args()
    made = subprocess.run([str(HERE / "torch_environment.sh"), arguments.version], stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(made.returncode)
    runner = Runner(os.path.abspath(arguments.prof), made.stdout.strip().splitlines()[-1])
    begin = time.monotonic()
    if arguments.seeds:
        for seed in arguments.seeds:
            for mode in MODES if arguments.mode is None else [MODES[arguments.mode]]:
                runner.compare([seed], mode)
    else:
        for seed, mode in REGRESSIONS.items():
            runner.compare([seed], mode)
        first = arguments.first
        for turn in itertools.count():
            if time.monotonic() - begin > arguments.seconds:
                break
            mode = MODES[turn % len(MODES) if arguments.mode is None else arguments.mode]
            seeds = range(first, first + arguments.batch)
            for with_torch in (True, False):
                runner.compare([seed for seed in seeds if program_grammar.has_torch(seed) == with_torch], mode)
            runner.compare([first], mode)
            first += arguments.batch
            print(f"{runner.ran} programs, to seed {first - 1}, in {time.monotonic() - begin:.0f} s; differing "
                  f"{runner.differing}, unsteady {runner.unsteady}", flush=True)
    print(f"{runner.ran} programs; differing {runner.differing}, unsteady {runner.unsteady}")
    sys.exit(bool(runner.differing))


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        program_seed, program_code = serve(pathlib.Path(sys.argv[2]), sys.argv[3] == "1", sys.argv[4:])
        if program_code is not None and program_seed % 8 == 0:
            exec(program_code)
        elif program_code is not None:
            run_and_leave(program_code)
    else:
        main()
