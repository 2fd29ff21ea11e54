#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a shell offers for an unfinished command line of prof's, by the script that `prof completion` prints.

    completion_test.py PROF SHELL

The shell itself completes; what it should offer is in the help pages and on the disk.
"""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROF, SHELL = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
COMMANDS = ("run", "report", "open", "diagnose", "diff", "baseline", "export", "seal", "ctl", "completion")


def prof(*arguments):
    return subprocess.run([PROF, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def help_options(command):
    """Long options of a help page."""
    return set(re.findall(r"^    (?:-\w, )?(--[\w-]+)", prof(*command, "--help"), re.MULTILINE))


def bash_offers(line, folder):
    # The words as bash's line editor makes them: '=' is a word of its own.
    words = [part for word in line.split(" ") for part in (re.split(r"(=)", word) if "=" in word else [word])]
    if words[-1] == "" and len(words) > 1 and words[-2] == "=" and not line.endswith(" "):
        words.pop()
    quoted = " ".join("'" + word + "'" for word in words)
    program = ('source <(prof completion bash); COMP_WORDS=("${@}"); COMP_CWORD=$(($# - 1)); _prof; '
               'printf "%s\\n" "${COMPREPLY[@]}"')
    return run_shell(["bash", "--norc", "-c", f"set -- {quoted}; {program}"], folder)


def fish_offers(line, folder):
    answer = run_shell(["fish", "--no-config", "-c", f"prof completion fish | source; complete -C '{line}'"], folder)
    return {offer.split("\t")[0] for offer in answer}


# compadd tells a file what it would offer.
ZSH = r"""
PROMPT=
autoload -U compinit && compinit -u -D
source <(prof completion zsh)
unsetopt autolist
compadd() {
    if [[ "${@[1,(i)(-|--)]}" == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return
    fi
    local -a offers
    builtin compadd -A offers "$@"
    print -lr -- $offers >> offers
    builtin compadd "$@"
}
answered() { print -r -- '(end)' >> offers }
offer() { zle complete-word; answered; zle kill-buffer }
zle -N offer
bindkey '^T' offer
answered
"""


class Zsh:
    """A zsh on a terminal: it completes for nobody else."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="prof_zsh_")
        self.answers = pathlib.Path(self.scratch.name, "answers")
        self.answers.touch()
        setup = pathlib.Path(self.scratch.name, "setup")
        setup.write_text(ZSH.replace(">> offers", f">> {self.answers}"))
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], environment())
        self.ask(f"source {setup}\n")

    def ask(self, text):
        """Types `text`; the lines of the answer."""
        before = self.answers.read_text()
        os.write(self.terminal, text.encode())
        deadline = time.monotonic() + 30
        while "(end)" not in (answer := self.answers.read_text()[len(before):]):
            if time.monotonic() > deadline:
                raise TimeoutError(text)
            drain(self.terminal)
        return answer.split("(end)")[0].splitlines()

    def end(self):
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)
        self.scratch.cleanup()


def zsh_offers(line, folder):
    if not Completion.zsh:
        Completion.zsh = Zsh()
    Completion.zsh.ask(f"cd -q {folder}; answered\n")
    return {offer for offer in Completion.zsh.ask(line + "\x14") if offer}


def drain(terminal):
    """Takes what zsh shows, so that it never waits for it."""
    os.set_blocking(terminal, False)
    try:
        os.read(terminal, 65536)
    except BlockingIOError:
        time.sleep(0.01)
    finally:
        os.set_blocking(terminal, True)


def environment():
    return {**os.environ, "PATH": f"{pathlib.Path(PROF).parent}:{os.environ['PATH']}", "TERM": "dumb",
            "XDG_CONFIG_HOME": "/nonexistent"}  # fmt: skip


def run_shell(command, folder):
    result = subprocess.run(command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=60)  # fmt: skip
    if result.stderr:
        raise AssertionError(result.stderr)
    return {offer for offer in result.stdout.splitlines() if offer}


OFFERS = {"bash": bash_offers, "fish": fish_offers, "zsh": zsh_offers}


class Completion(unittest.TestCase):
    zsh = None  # the running one

    @classmethod
    def tearDownClass(cls):
        if cls.zsh:
            cls.zsh.end()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="prof_completion_")
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)
        for name in ("first run.prof", "second.prof", "notes.txt"):
            (self.dir / name).touch()
        (self.dir / "some-folder").mkdir()

    def offers(self, line):
        """What is offered for the last word of `line`, without escapes and what a list of words has before it."""
        found = OFFERS[SHELL](line, self.dir)
        begin = line.split(" ")[-1]
        option = re.match(r"--[\w-]+=", begin)
        out = set()
        for offer in found:
            offer = offer.replace("\\ ", " ").rstrip("/")
            if option:
                offer = offer.removeprefix(option.group())
            out.add(offer.rsplit(",", 1)[-1])
        return out

    def test_commands(self):
        listed = set(re.findall(r"^    prof (\w+)$", prof("--help"), re.MULTILINE))
        self.assertEqual(listed, set(COMMANDS))
        self.assertEqual(self.offers("prof "), listed | {"help"})
        self.assertEqual(self.offers("prof re"), {"report"})

    def test_options_are_those_of_the_help_pages(self):
        for command in COMMANDS:
            self.assertEqual({word for word in self.offers(f"prof {command} --") if word.startswith("--")},
                             help_options([command]), command)  # fmt: skip
        self.assertEqual({word for word in self.offers("prof --") if word.startswith("--")}, help_options([]))

    def test_values(self):
        formats = {"table", "csv", "json", "markdown", "html"}
        for line in ("prof report --format ", "prof report second.prof --format=", "prof run --format "):
            self.assertEqual(self.offers(line), formats, line)
        self.assertEqual(self.offers("prof report --format=c"), {"csv"})
        self.assertEqual(self.offers("prof run --name x --cuda-graphs "), {"nodes", "graphs"})

    def test_lists_of_reports(self):
        names = {line.split()[0] for line in prof("report", "--report", "help").splitlines()} | {"all", "help"}
        self.assertEqual(self.offers("prof report --report "), names)
        self.assertEqual(self.offers("prof report --report kernels,cop"), {"copies"})
        self.assertEqual(self.offers("prof report --fold "), {"counters", "all", "none"})
        self.assertEqual(self.offers("prof run --export "), {"trace", "summary", "html", "none"})

    def test_files(self):
        for command in ("report", "open", "export", "seal"):
            self.assertEqual(self.offers(f"prof {command} "), {"first run.prof", "second.prof", "some-folder"}, command)
        self.assertEqual(self.offers("prof run -o "), {"some-folder"})
        self.assertEqual(self.offers("prof report -o n"), {"notes.txt"})

    def test_command_under_prof_run(self):
        for line in ("prof run -q --name x ch", "prof run --name x -- ch"):
            self.assertIn("chmod", self.offers(line), line)
        self.assertNotIn("--format", self.offers("prof run cat --fo"))
        self.assertIn("notes.txt", self.offers("prof run -q -- cat n"))

    def test_control(self):
        self.assertEqual(self.offers("prof ctl 1 st"), {"status", "start", "stop"})
        self.assertEqual(self.offers("prof ctl 1 start output"), {"output_dir="})
        self.assertEqual(self.offers("prof completion "), {"bash", "zsh", "fish"})
        self.assertEqual(self.offers("prof help e"), {"export"})


if __name__ == "__main__":
    if shutil.which(SHELL) is None:
        print(f"SKIPPED: no {SHELL} (apt-get install {SHELL})")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
