# SPDX-License-Identifier: Apache-2.0
"""Runs a program with a flaw and the program without it in turn, unrecorded and recorded."""

import json
import os
import pathlib
import re
import time
from dataclasses import dataclass, field
from typing import Callable

import libprof

STEPS = 20

@dataclass
class Case:
    name: str  # "sleep 2 ms"
    rules: list  # the first finding's rule is one of these; []: a decoy, or a clean program
    flawed: Callable  # one step
    fixed: Callable = None  # None: there is nothing to mend
    place: str = ""  # a part of the first finding's place
    forbidden: list = field(default_factory=list)  # rules that may have no finding; "*": all but uneven_steps
    second: list = field(default_factory=list)  # of a combination: rules of which one is among the findings, too
    steps: int = 20  # of the program with the flaw
    turns: int = 99  # at most
    before: int = 10  # steps before those that are measured, after which the host is as far ahead as it will be


class Rounds:
    """`finish` waits for all GPU work. `limit` waits for the work of the step before, so that the host is never more
    than a step ahead: a period of the host is then one of the GPU."""

    def __init__(self, framework, out, rounds, finish, limit, writes=True):
        """`writes`: whether this process writes the results; of several that run the same, one does."""
        self.framework, self.out, self.rounds, self.writes = framework, pathlib.Path(out), rounds, writes
        self.finish, self.limit = finish, limit

    def steps_ns(self, step, before, steps, mark=lambda: None):
        self.finish()
        for _ in range(before):
            step()
            self.limit()
        mark()
        times_ns = [time.perf_counter_ns()]
        for _ in range(steps):
            step()
            self.limit()
            mark()
            times_ns.append(time.perf_counter_ns())
        self.finish()
        return [end - begin for begin, end in zip(times_ns, times_ns[1:])]

    def period_ns(self, step, before, steps):
        return sum(self.steps_ns(step, before, steps)) / steps

    def recorded(self, step, before, steps, name):
        with libprof.recording(output_dir=str(self.out / "captures"), name=name, export=[], compress=1) as run:
            steps_ns = self.steps_ns(step, before, steps, libprof.step)
        return {"capture": run.path, "period_ns": sum(steps_ns) / steps, "steps_ns": steps_ns}

    def run(self, case, number):
        begun = time.time()
        programs = {"flawed": case.flawed, "fixed": case.fixed}
        programs = {kind: step for kind, step in programs.items() if step}
        result = {"framework": self.framework, "case": case.name, "rules": case.rules, "place": case.place,
                  "forbidden": case.forbidden, "second": case.second,
                  **{kind: {"bare_ns": [], "recorded": []} for kind in programs}}
        steps = {"flawed": case.steps, "fixed": STEPS}
        before = {"flawed": case.before, "fixed": max(case.before, 10)}
        for step in programs.values():
            self.period_ns(step, 1, 1)
        for turn in range(min(self.rounds, case.turns)):
            for kind, step in programs.items():
                result[kind]["bare_ns"].append(self.period_ns(step, before[kind], steps[kind]))
            for kind, step in programs.items():
                name = f"{self.framework}-{number:02}-{kind}-{turn}"
                result[kind]["recorded"].append(self.recorded(step, before[kind], steps[kind], name))
        result["seconds"] = round(time.time() - begun, 1)
        if not self.writes:
            return
        print(f"{case.name}: {result['seconds']} s", flush=True)
        with open(self.out / f"results-{self.framework}.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")

    def run_all(self, cases):
        """`cases`: functions that make a case, since each may hold memory of the GPU. DIAGNOSE_CASES: a regular
        expression for the names of those that run."""
        wanted = re.compile(os.environ.get("DIAGNOSE_CASES", ""))
        for number, make in enumerate(cases):
            try:
                case = make()
                if wanted.search(case.name):
                    self.run(case, number)
            except Exception as failure:  # the other cases are still wanted
                print(f"{self.framework} case {number}: {type(failure).__name__}: {failure}", flush=True)


def busy(milliseconds):
    """Python that works: it does not sleep."""
    until = time.perf_counter_ns() + milliseconds * 1e6
    while time.perf_counter_ns() < until:
        pass
