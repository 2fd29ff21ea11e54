#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks `prof diagnose` against programs with seeded flaws: is the flaw the first finding, and is its price right?

    check.py PROF PYTHON_DIR OUT [--rounds N] [--only eager,compile,jax,ddp,cuda] [--cases REGEX] [--cuda PROGRAM]
             [--judge]

PYTHON_DIR has the package libprof, PROGRAM is cuda_cases.cu compiled. Each program runs its step with one flaw, and
without it, in turn, unrecorded and recorded, in one process. The gain is the difference of the periods of recorded
steps, since a diagnosis is of recorded steps; the one of unrecorded steps stands beside it. Captures, results and a
table are in OUT; --judge only judges what is there. `ddp` needs two GPUs. Exit status 1 if a case fails, 77 without a
GPU.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
TOLERANCE, TOLERANCE_NS, REPLAY_TOLERANCE = 0.10, 0.1e6, 0.01


def run_programs(options):
    environment = dict(os.environ, PYTHONPATH=f"{options.python_dir}:{HERE}", DIAGNOSE_CASES=options.cases)
    programs = {
        "eager": [sys.executable, HERE / "torch_cases.py", "eager"],
        "compile": [sys.executable, HERE / "torch_cases.py", "compile"],
        "jax": [sys.executable, HERE / "jax_cases.py"],
        "ddp": [sys.executable, HERE / "ddp_cases.py"],
        "cuda": [options.cuda],
    }
    for name in options.only.split(","):
        if name == "cuda" and not options.cuda:
            print("cuda: not run, without --cuda", flush=True)
            continue
        command = [options.prof, "run", "--autostart", "0", "--export", "none", "-o", options.out / "captures", "--",
                   *programs[name], options.out, options.rounds]
        begun = time.time()
        with open(options.out / f"{name}.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen([*map(str, command)], env=environment, stdout=log, stderr=subprocess.STDOUT,
                                       start_new_session=True)
            try:
                status = process.wait(options.timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with the program that it runs
                status = f"{process.wait()}: it took too long"
        said = (options.out / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        skipped = "".join(f", {line}" for line in said.splitlines() if line.startswith("SKIPPED"))
        print(f"{name}: exit status {status}, {time.time() - begun:.0f} s{skipped}", flush=True)


def diagnose(prof, capture):
    ran = subprocess.run([prof, "diagnose", capture, "--format", "json"], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        return None
    findings, places = json.loads(ran.stdout)[:2]
    return {"step_ns": findings["step_ns"], "steps": findings["steps"], "wall_ns": findings["wall_ns"],
            "replayed_ns": findings["replayed_ns"], "together_ns": findings["together_ns"],
            "bound_by": findings["bound_by"], "not_looked": findings["not_looked"],
            "findings": [{**{key: row[key] for key in ("rule", "finding", "gain_ns", "gain_share", "cost_ns", "bound")},
                          "places": [place["place"] for place in places["rows"] if place["finding"] == number]}
                         for number, row in enumerate(findings["rows"], 1)]}


def diagnose_all(prof, results, out):
    captures = {}
    for result in results:
        for kind in ("flawed", "fixed"):
            for recorded in result.get(kind, {}).get("recorded", []):
                local = out / "captures" / pathlib.Path(recorded["capture"] or "none").name
                recorded["file"] = str(local)
                captures[str(local)] = None
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda capture: diagnose(prof, capture) if os.path.exists(capture) else None, captures)
        return dict(zip(captures, found))


def median_of(values):
    values = list(values)
    return statistics.median(values) if values else float("nan")


class Verdict:
    """Of a case. `faults`: what is not as it must be."""

    def __init__(self, result, diagnoses):
        self.result, self.diagnoses, self.faults = result, diagnoses, []
        self.flawed = [diagnoses[each["file"]] for each in result["flawed"]["recorded"] if diagnoses[each["file"]]]
        self.fixed = [diagnoses[each["file"]] for each in result.get("fixed", {}).get("recorded", [])
                      if diagnoses[each["file"]]]
        if not self.flawed:
            self.faults.append("no diagnosis")
            return
        self.check_replays()
        self.predicted_ns = self.gain_of(self.flawed)
        if result["rules"]:
            self.check_first()
            self.measure()
        self.check_silence()

    def gain_of(self, diagnoses):
        """Of all findings for a combination, else of the first."""
        if self.result["second"]:
            return median_of(each["together_ns"] for each in diagnoses)
        return median_of(each["findings"][0]["gain_ns"] if each["findings"] else 0 for each in diagnoses)

    def check_replays(self):
        for kind, found in (("flawed", self.flawed), ("fixed", self.fixed)):
            for each in found:
                ratio = each["replayed_ns"] / each["wall_ns"]
                if abs(ratio - 1) > REPLAY_TOLERANCE:
                    self.faults.append(f"replay of {kind} {ratio:.3f} of the recorded time")
            periods = self.periods(kind)
            if found and abs(median_of(each["wall_ns"] / each["steps"] for each in found) / median_of(periods) - 1) > REPLAY_TOLERANCE:
                self.faults.append(f"steps of {kind} are not as long as the program measured")

    def periods(self, kind):
        """As the program has measured them, of the steps that are examined: without those that are warm-up."""
        out = []
        for each in self.result.get(kind, {}).get("recorded", []):
            found, steps_ns = self.diagnoses[each["file"]], each.get("steps_ns")
            if not found or not steps_ns or not 0 < found["steps"] <= len(steps_ns):
                out.append(each["period_ns"])
            else:
                out.append(sum(steps_ns[-found["steps"]:]) / found["steps"])
        return out

    def check_first(self):
        for each in self.flawed:
            rules = [finding["rule"] for finding in each["findings"]]
            if not rules or rules[0] not in self.result["rules"]:
                self.faults.append(f"first finding: {rules[0] if rules else 'none'}")
                break
            if not any(self.result["place"] in place for place in each["findings"][0]["places"]):
                self.faults.append(f"place: {each['findings'][0]['places']}")
                break
            if self.result["second"] and not set(self.result["second"]) & set(rules):
                self.faults.append(f"not found: {self.result['second']}")
                break

    def measure(self):
        def bare(kind):
            return median_of(self.result[kind]["bare_ns"])

        self.measured_ns = median_of(self.periods("flawed")) - median_of(self.periods("fixed"))
        self.bare_ns = bare("flawed") - bare("fixed")
        off_ns = abs(self.predicted_ns - self.measured_ns)
        if off_ns > max(TOLERANCE_NS, TOLERANCE * abs(self.measured_ns)):
            self.faults.append("price")

    def check_silence(self):
        forbidden = self.result["forbidden"]
        for each in self.flawed:
            before = len(self.faults)
            for finding in each["findings"]:
                # A step that the machine has held up is none of the program's.
                if ("*" in forbidden and finding["rule"] != "uneven_steps") or finding["rule"] in forbidden:
                    self.faults.append(f"{finding['finding']}: {finding['gain_ns'] / 1e6:.3f} ms")
            if len(self.faults) > before:
                break

    def row(self):
        result = self.result
        if not self.flawed:
            return [result["framework"], result["case"], "", "", "", "", "", "; ".join(self.faults)]
        step_ms = median_of(each["step_ns"] for each in self.flawed) / 1e6
        found = ", ".join(f"{each['rule']} {each['gain_ns'] / 1e6:.2f}" for each in self.flawed[0]["findings"][:3])
        cells = [result["framework"], result["case"], f"{step_ms:.2f}", found or "nothing"]
        if result["rules"]:
            ratio = self.predicted_ns / self.measured_ns if self.measured_ns else float("nan")
            cells += [f"{self.predicted_ns / 1e6:.2f}", f"{self.measured_ns / 1e6:.2f}", f"{self.bare_ns / 1e6:.2f}",
                      f"{ratio:.2f}"]
        else:
            cells += ["", "", "", ""]
        return cells + ["; ".join(self.faults) or "pass"]


def judge(options):
    results = []
    for file in sorted(options.out.glob("results-*.jsonl")):
        results += [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    diagnoses = diagnose_all(options.prof, results, options.out)
    (options.out / "diagnoses.json").write_text(json.dumps({"results": results, "diagnoses": diagnoses}), "utf-8")
    verdicts = [Verdict(result, diagnoses) for result in results]
    heading = ["program", "flaw", "step", "found (gain)", "predicted", "measured", "unrecorded", "ratio", "verdict"]
    lines = ["| " + " | ".join(cells) + " |"
             for cells in [heading, ["---"] * len(heading), *(verdict.row() for verdict in verdicts)]]
    (options.out / "table.md").write_text("\n".join(lines) + "\n", "utf-8")
    print("\n".join(lines))
    passed = sum(not verdict.faults for verdict in verdicts)
    print(f"{passed} of {len(verdicts)} passed")
    return 0 if verdicts and passed == len(verdicts) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prof")
    parser.add_argument("python_dir")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="eager,compile,jax,ddp,cuda")
    parser.add_argument("--cases", default="", help="a regular expression; the programs in Python run only these")
    parser.add_argument("--cuda", default="")
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--without-gpu", action="store_true", help="run nevertheless, to test these programs")
    options = parser.parse_args()
    options.out = options.out.resolve()
    if not options.judge:
        if not pathlib.Path("/dev/nvidiactl").exists() and not options.without_gpu:
            print("SKIPPED: no GPU")
            return 77
        (options.out / "captures").mkdir(parents=True, exist_ok=True)
        run_programs(options)
    return judge(options)


if __name__ == "__main__":
    sys.exit(main())
