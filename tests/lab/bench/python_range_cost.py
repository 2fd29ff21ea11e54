# SPDX-License-Identifier: Apache-2.0
"""What a pair of range push and pop costs from Python, by NVIDIA's nvtx package and by torch.cuda.nvtx, as far as they
are installed (a missing one is reported on stderr): with no tool in the process, with a tool that does nothing (the
nvtx package does more where there is one), with one that reads the clock twice a pair and does nothing else (the
processor waits for what came before, which in an interpreter is much), with libprof loaded but not recording, and
recording.

    python_range_cost.py <prof> <libprof.so> <libsilent_tool.so> <libclock_tool.so> [--rounds N]

Times are of the processor, for the thread that makes the ranges: libprof's own thread, which writes the capture, takes
another core where there is one, and has a line of its own. Where there is none, the ranges wait for it as well.

Method: in each round the states follow each other, each a process of its own, since NVTX looks for its tool once in a
process's life. A process makes an uncounted burst of pairs and then bursts of each kind in turn; its figure is the
median of the bursts. The table has the median over the rounds with the middle half, and the medians of the differences
to the same round's processes with each of the two tools. A recorded process must have as many ranges in its capture as
it made, and none dropped, or the measurement is refused.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

NO_TOOL, SILENT, CLOCK, IDLE, RECORDING = STATES = (
    "no tool", "a tool that does nothing", "a tool that reads clocks", "libprof, not recording", "libprof, recording")
BURSTS = 40
PAIRS = 1000


def nvtx_kinds():
    import nvtx
    domain = nvtx.get_domain("bench")
    attributes = domain.get_event_attributes(message="registered")

    def registered():
        for _ in range(PAIRS):
            domain.push_range(attributes)
            domain.pop_range()

    def by_name():
        for _ in range(PAIRS):
            nvtx.push_range("by name")
            nvtx.pop_range()

    def annotated():
        for _ in range(PAIRS):
            with nvtx.annotate("annotated"):
                pass

    return {"Domain.push_range, pop_range": registered, "nvtx.push_range, pop_range": by_name,
            "with nvtx.annotate": annotated}


def torch_kinds():
    """Needs PyTorch's CUDA libraries, but no GPU."""
    from torch.cuda import nvtx
    nvtx.range_push("torch")  # raises where PyTorch was built without CUDA
    nvtx.range_pop()

    def torch_ranges():
        for _ in range(PAIRS):
            nvtx.range_push("torch")
            nvtx.range_pop()

    return {"torch.cuda.nvtx.range_push, pop": torch_ranges}


def available_kinds():
    """({title: function}, [why others are missing])"""
    kinds, missing = {}, []
    for package, kinds_of in (("nvtx", nvtx_kinds), ("torch", torch_kinds)):
        try:
            kinds.update(kinds_of())
        except (ImportError, RuntimeError) as problem:
            missing.append(f"{package} is left out: {problem}")
    return kinds, missing


def make_ranges():
    """The measured process: prints nanoseconds a pair, by kind, and those of its other threads."""
    kinds, missing = available_kinds()
    bursts = {title: [] for title in kinds}
    others = time.thread_time_ns() - time.process_time_ns()
    for number in range(BURSTS + 1):
        for title, kind in kinds.items():
            begin = time.thread_time_ns()
            kind()
            if number:
                bursts[title].append((time.thread_time_ns() - begin) / PAIRS)
    others += time.process_time_ns() - time.thread_time_ns()
    figures = {title: statistics.median(values) for title, values in bursts.items()}
    pairs = PAIRS * (BURSTS + 1) * len(kinds)
    print(json.dumps({"pairs": figures, "missing": missing, "other threads": others / pairs if pairs else 0}))


def run_state(state, library, tools):
    """(figures, folder of the captures) of one process."""
    folder = tempfile.TemporaryDirectory()
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("PROF_") and "INJECTION64" not in name and name != "LD_PRELOAD"}
    if state in tools:
        environment.update(NVTX_INJECTION64_PATH=tools[state])
    elif state != NO_TOOL:
        environment.update(LD_PRELOAD=library, PROF_OUTPUT_DIR=folder.name, PROF_EXPORT="none",
                           PROF_AUTOSTART="1" if state == RECORDING else "0")
    done = subprocess.run([sys.executable, __file__, "--make-ranges"], env=environment, capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise SystemExit(f"python_range_cost: the measured process failed: {done.stderr}")
    found = json.loads(done.stdout)
    if not found["pairs"]:
        raise SystemExit("python_range_cost: nothing to measure: " + "; ".join(found["missing"]))
    return found, folder


def check_capture(prof, folder, titles):
    captures = list(pathlib.Path(folder.name).glob("*.prof"))
    if len(captures) != 1:
        raise SystemExit(f"python_range_cost: one capture was expected, there are {len(captures)}")
    report = json.loads(subprocess.run([prof, "report", "--format", "json", str(captures[0])], capture_output=True,
                                       text=True, check=True).stdout)
    found = sorted(row["instances"] for row in report["rows"] if row["instances"])
    made = sorted(PAIRS * (BURSTS + 1) + ("torch" in title) for title in titles)  # PyTorch's was tried once before
    if found != made:
        raise SystemExit(f"python_range_cost: {made} ranges were made, {found} recorded: the figures would be too low")


def print_table(rounds):
    print(f"{len(rounds)} rounds, {BURSTS} bursts of {PAIRS} pairs a process, Python {sys.version.split()[0]}")
    print(f"{'state':24} {'pair':30} {'ns':>8}  {'middle half':18} {'above nothing':>15} {'above clocks':>15}")
    for title in rounds[0][NO_TOOL]:
        for state in STATES:
            values = [one[state][title] for one in rounds]
            above = [statistics.median(one[state][title] - one[tool][title] for one in rounds)
                     for tool in (SILENT, CLOCK)]
            low, _, high = statistics.quantiles(values, n=4)
            half = f"[{low:.1f}, {high:.1f}]"
            print(f"{state:24} {title:30} {statistics.median(values):8.1f}  {half:18} {above[0]:15.1f} {above[1]:15.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prof")
    parser.add_argument("library")
    parser.add_argument("silent_tool")
    parser.add_argument("clock_tool")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds takes a number from 2")
    tools = {SILENT: arguments.silent_tool, CLOCK: arguments.clock_tool}
    rounds, others = [], []
    for _ in range(arguments.rounds):
        rounds.append({})
        for state in STATES:
            found, folder = run_state(state, arguments.library, tools)
            if state == RECORDING:
                check_capture(arguments.prof, folder, found["pairs"])
                others.append(found["other threads"])
            rounds[-1][state] = found["pairs"]
            folder.cleanup()
    print_table(rounds)
    for line in found["missing"]:
        print(f"python_range_cost: {line}", file=sys.stderr)
    print(f"libprof's own thread, recording: {statistics.median(others):.1f} ns a pair meanwhile")


if __name__ == "__main__":
    if sys.argv[1:] == ["--make-ranges"]:
        make_ranges()
    else:
        main()
