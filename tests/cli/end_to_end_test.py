#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof run, report and export over the real libprof.so, on a trainer on the simulated GPU.

    end_to_end_test.py PROF FAKE_CUPTI TRAINER

The trainer (tests/session/plain_victim.cpp) does three steps of data_to_device, forward with three layers, backward on an
autograd thread, and optimizer_step; which range launches what is known from there.
"""
import gzip
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "export"))
import strict_json_test  # noqa: E402

PROF, FAKE_CUPTI, TRAINER = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
LIBRARY = str(pathlib.Path(PROF).parents[1] / "lib/libprof.so")
STEPS = 3
# Path → operations in all steps, and how many of them autograd's thread launched.
EXPECTED = {
    "iteration #": (STEPS * 11, STEPS * 4),
    "iteration #/data_to_device": (STEPS, 0),
    "iteration #/forward": (STEPS * 4, 0),
    "iteration #/forward/layer": (STEPS * 3, 0),
    "iteration #/backward": (STEPS * 4, STEPS * 4),
    "iteration #/optimizer_step": (STEPS * 2, 0),
    "(no range)": (0, 0),
    "(ambiguous)": (0, 0),
    "(unmatched)": (0, 0),
}


TABLE_OF_RANGES = re.compile("GPU time (of a step, )?by range")


def prof(*arguments, cwd, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PROF_")} | variables
    return subprocess.run([PROF, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60)


def check_run(directory):
    result = prof("run", "-o", "out", "--cupti-library", FAKE_CUPTI, "--", TRAINER, "steps", str(STEPS), "autograd",
                  cwd=directory)  # fmt: skip
    assert result.returncode == 3, result
    assert result.stdout == "done\n", result.stdout
    for words in ("forward", "backward", "all GPU work", "prof: capture: ", "prof: trace:   ", "prof: summary: ",
                  "prof: https://ui.perfetto.dev"):  # fmt: skip
        assert words in result.stderr, f"{words!r} is not in {result.stderr!r}"
    # Whether three steps are enough to be found, and have something to change, depends on how long they take.
    assert TABLE_OF_RANGES.search(result.stderr), repr(result.stderr)
    assert re.search("^next: prof (diagnose|report) ", result.stderr, re.MULTILINE), repr(result.stderr)
    (capture,) = pathlib.Path(directory, "out").glob("*.prof")
    return str(capture)


def check_sanitized(directory):
    """A program that has GCC's address sanitizer as a shared library."""
    source, program = pathlib.Path(directory, "sanitized.c"), str(pathlib.Path(directory, "sanitized"))
    source.write_text(
        "#include <stdlib.h>\nint main(int n, char** v) { char* p = malloc(8); "
        "p[8 * (n - 1)] = 5; int status = p[0]; free(p); return status; }"
    )
    compiled = subprocess.run(["gcc", "-fsanitize=address", source, "-o", program], capture_output=True, text=True)
    if compiled.returncode != 0:
        print("SKIPPED: no program with an address sanitizer can be made here:", compiled.stderr.splitlines()[:1])
        return
    # Without a sanitizer's report, as it ends without prof.
    fine = prof("run", "-o", "sanitized.out", "--", program, cwd=directory)
    assert fine.returncode == 5 and "Sanitizer" not in fine.stderr, fine.stderr
    wrong = prof("run", "-o", "sanitized.out", "--", program, "overflow", cwd=directory)
    assert "heap-buffer-overflow" in wrong.stderr, wrong.stderr


def check_schedule(directory):
    """One step of the three, found by its range, with no change to the program."""
    options = ["--schedule", "wait=1,active=1,repeat=1", "--step-range", "iteration #"]
    result = prof("run", "-o", "scheduled", *options, "--cupti-library", FAKE_CUPTI, "--", TRAINER, "steps", str(STEPS),
                  "autograd", cwd=directory)  # fmt: skip
    assert result.returncode == 3, result
    assert "recorded 1 of 3 steps, in 1 window: step 1\n" in result.stderr, result.stderr
    (capture,) = map(str, pathlib.Path(directory, "scheduled").glob("*.prof"))
    report = json.loads(prof("report", capture, "--format", "json", cwd=directory).stdout)
    found = {row["path"]: row["ops"] for row in report["rows"]}
    expected = {path: ops // STEPS for path, (ops, _) in EXPECTED.items()}
    assert found == expected, found
    step = report["step"]
    assert (step["steps"], step["source"], step["ops"], step["is_first"]) == (1, "counted", 11, False), step

    # The overview has a line for each window, in their order.
    options = ["--schedule", "active=1", "--step-range", "iteration #", "--export-each", "window"]
    result = prof("run", "-o", "each", *options, "--cupti-library", FAKE_CUPTI, "--", TRAINER, "steps", "12", cwd=directory)
    overview = result.stderr.partition(", rank 0, pid")[0]
    assert "12 captures of 1 process" in overview, result.stderr
    reported = re.findall(r"in 1 window: step (\d+)$", overview, re.MULTILINE)
    assert reported == [str(step) for step in range(12)], result.stderr

    trace = json.loads(gzip.decompress(pathlib.Path(capture.replace(".prof", ".trace.json.gz")).read_bytes()))
    edges = [event for event in trace["traceEvents"] if event["name"].startswith("recording ")]
    assert [event["name"] for event in edges] == ["recording begins", "recording ends"], edges
    assert edges[0]["args"] == {"window": 1, "step": 1} and edges[1]["args"] == {"window": 1, "last step": 1}, edges
    kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    assert kernels and all(edges[0]["ts"] <= event["ts"] for event in kernels), edges


# What cannot be looked for without an activity, by docs/reference/options.md and the rules of docs/reference/diagnose.md.
RULES_OF = {
    "waits": {"synchronization", "host_code", "launch_bound"},
    "allocations": {"allocation", "host_code", "launch_bound"},
    "copies": {"pageable_copies", "blocking_copies", "small_copies", "copy_overlap", "host_code", "launch_bound"},
    "kernels": {"communication", "precision", "serial_streams"},
    "sets": set(),
}


def diagnosed(directory, name, *options):
    """What prof diagnose says of a run with these options: its status, and its first table."""
    environment = {"FAKE_GPU_CLOCK": "virtual", "PROF_EXPORT": "none"}
    run = prof("run", "-o", name, *options, "--cupti-library", FAKE_CUPTI, "--", TRAINER, "steps", "20", cwd=directory,
               **environment)  # fmt: skip
    assert run.returncode == 3, run
    (capture,) = map(str, pathlib.Path(directory, name).glob("*.prof"))
    result = prof("diagnose", capture, "--format", "json", cwd=directory)
    return result.returncode, json.loads(result.stdout)[0]


def check_diagnosis_of_activities(directory):
    """What was not recorded is named with the option that records it, and is neither found nor looked for in vain."""
    _, everything = diagnosed(directory, "activities_all", "--activities", "all")
    assert everything["not_looked"] == [], everything["not_looked"]
    rules = {row["rule"] for row in everything["rows"]} | set(everything["looked"])
    assert rules >= set().union(*RULES_OF.values()), rules
    for missing in RULES_OF:
        recorded = [each for each in RULES_OF if each != missing]
        status, found = diagnosed(directory, "without_" + missing, "--activities", ",".join(recorded))
        assert status == 0, found
        lines = dict(line.split(": ", 1) for line in found["not_looked"])
        assert set(lines) == RULES_OF[missing], (missing, lines)
        assert set(lines.values()) <= {f"{missing} were not recorded (option activities)"}, lines
        asked = {row["rule"] for row in found["rows"]} | set(found["looked"])
        assert asked == rules - RULES_OF[missing], (missing, asked)
    for options, why in (("none", "GPU work was not recorded (option activities)"),
                         ("all,no_launches", "the calls that launch were not recorded (option activities, without no_launches)")):
        status, found = diagnosed(directory, "only_" + options, "--activities", options)
        assert (status, found["steps"], found["rows"], found["looked"]) == (1, 0, [], []), found
        assert found["not_looked"] == ["nothing could be examined: " + why], found["not_looked"]


def check_diagnosis_of_windows(directory):
    """Three windows of three steps each: of each the first is whole from its beginning, and so are the others."""
    options = ["--schedule", "wait=2,active=3,repeat=3", "--step-range", "iteration #"]
    status, found = diagnosed(directory, "windows", *options)
    assert (status, found["steps"], found["warm_up"]) == (0, 9, 0), found
    # What lies between the windows is no part of any step.
    capture = next(pathlib.Path(directory, "windows").glob("*.prof"))
    step = json.loads(prof("report", str(capture), "--format", "json", cwd=directory).stdout)["step"]
    assert (step["steps"], step["total_ns"]) == (9, found["wall_ns"]), (found["wall_ns"], step)


def check_steps(directory):
    """Of six steps the first is left out, and the last, which has what comes after the loop."""
    options = ["--step-range", "iteration #", "--rows", "6", "--cupti-library", FAKE_CUPTI]
    result = prof("run", "-o", "steps", *options, "--", TRAINER, "steps", "6", "autograd", cwd=directory)
    lines = [line.strip() for line in result.stderr.splitlines()]
    first = lines.index("") + 2  # behind the command
    length = r"Step  [\d.,]+ [mu]s, mean of 4 \([\d.,]+ to [\d.,]+\); one counted step each"
    assert re.fullmatch(length, lines[first]), lines
    assert re.match(r"GPU   busy [\d.,]+ [mu]s \(", lines[first + 1]), lines
    assert re.search(r", warm-up [\d.]+ \(1 step\), 4 steps [\d.]+", lines[first + 2]), lines
    (capture,) = map(str, pathlib.Path(directory, "steps").glob("*.prof"))
    report = json.loads(prof("report", capture, "--format", "json", cwd=directory).stdout)
    assert (report["step"]["steps"], report["step"]["ops"]) == (4, 44), report["step"]
    assert len(report["rows"]) == 9

    # What the run has shown, a report shows; and of the GPU work in which range nothing is lost.
    shown = prof("report", capture, "--rows", "6", cwd=directory).stdout
    folds = [line.strip() for line in shown.splitlines() if "more rows" in line]
    assert [line for line in lines if "more rows" in line] == folds, lines
    shown = prof("report", capture, "--rows", "6", "--whole-run", cwd=directory).stdout
    shown = shown[shown.index("GPU time by range"):]
    (fold,) = [line for line in shown.splitlines() if re.match(" *… ", line)]
    kept = [line.split()[0] for line in shown.splitlines() if line.startswith("  ") and line != fold]
    left_out = [row for row in report["rows"] if row["depth"] > 0 and row["name"] not in kept]
    assert len(left_out) > 1 and f"… {len(left_out)} more rows " in fold, (fold, kept)
    assert f" {sum(row['self_ops'] for row in left_out)}" in fold, fold
    assert f"note: {len(left_out)} rows with less GPU time are left out" in shown, shown
    assert "more rows" not in prof("report", capture, cwd=directory).stdout
    assert "more rows" not in prof("report", capture, "--rows", "all", cwd=directory).stdout
    refused = prof("report", capture, "--rows", "0", cwd=directory)
    assert refused.returncode == 2 and "all, or a whole number from 1" in refused.stderr, refused


def check_report(directory, capture):
    result = prof("report", capture, "--format", "json", cwd=directory)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    found = {row["path"]: (row["ops"], row["adopted_ops"]) for row in report["rows"]}
    assert found == EXPECTED, found
    assert sum(row["gpu_self_ns"] for row in report["rows"]) == report["total_gpu_ns"] > 0
    assert report["dropped"] == {}, report["dropped"]

    result = prof("report", capture, "--format", "json", "--adopt", "off", cwd=directory)
    rows = {row["path"]: row["ops"] for row in json.loads(result.stdout)["rows"]}
    assert (rows["iteration #/backward"], rows["(no range)"]) == (0, STEPS * 4), rows
    result = prof("report", capture, "--format", "json", "--no-fold", cwd=directory)
    assert "iteration 2/forward" in result.stdout


def check_widths(directory, capture):
    """Tables of times of real length fit the terminal."""
    recorded = pathlib.Path(__file__).resolve().parents[2] / "examples/captures/h200_train.prof"
    for width in (80, 100, 120):
        text = prof("report", capture, recorded, "--report", "all", cwd=directory, COLUMNS=str(width)).stdout
        free = re.compile(r"note: |warning: |\$ |.*, rank \d+, pid ")  # of any length
        too_long = [line for line in text.splitlines() if len(line) > width and not free.match(line)]
        assert not too_long, too_long


def check_trace(directory, capture):
    result = prof("export", capture, "-o", "trace.json", cwd=directory)
    assert result.returncode == 0, result.stderr
    trace = strict_json_test.strict(pathlib.Path(directory, "trace.json").read_bytes())
    events = trace["traceEvents"]
    ops = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    assert len(ops) == STEPS * 11, len(ops)
    assert sum(e["ph"] == "s" for e in events) == sum(e["ph"] == "f" for e in events) == len(ops)
    assert sum(e["args"].get("adopted", False) for e in ops) == STEPS * 4


KILLED = "the process was killed by signal "
DEATHS = {
    ("kill",): KILLED + "9 (SIGKILL)",
    ("raise", "15"): KILLED + "15 (SIGTERM)",
    ("raise", "11"): KILLED + "11 (SIGSEGV)",
    ("raise", "6"): KILLED + "6 (SIGABRT)",
    ("throw",): KILLED + "6 (SIGABRT)",
    ("_exit",): "the process ended with status 5 without exit handlers (os._exit or exec)",
}


def check_death(directory, way, ended):
    """What a process that died had done is in the capture alone, which says how it ended, and in what."""
    command = [TRAINER, "steps", str(STEPS), "stuck", *way]
    bare = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60)
    folder = "died-of-" + "-".join(way)
    result = prof("run", "-o", folder, "--rings", directory, "--cupti-library", FAKE_CUPTI, "--", *command,
                  cwd=directory)  # fmt: skip
    assert (result.returncode, result.stdout) == (bare.returncode, bare.stdout), result
    assert result.stderr.startswith(bare.stderr) and ended in result.stderr, result.stderr
    assert not list(pathlib.Path(directory).glob("*.rings"))
    (capture,) = map(str, pathlib.Path(directory, folder).glob("*.prof"))

    report = json.loads(prof("report", capture, "--report", "death", "--format", "json", cwd=directory).stdout)
    assert report["ended"] == ended and report["launches_without_completion"] == 1, report
    found = [(row["what"], row["range"], row["kernel"], row["count"]) for row in report["rows"]]
    assert found == [("open range", "epoch", "", 1), ("open range", "epoch/stuck", "", 1),
                     ("unfinished launch", "epoch/stuck", "loose_k", 1)], found  # fmt: skip
    report = json.loads(prof("report", capture, "--format", "json", cwd=directory).stdout)
    rows = {row["path"]: row["ops"] for row in report["rows"]}
    assert rows["iteration #"] == STEPS * 11 and rows["iteration #/forward/layer"] == STEPS * 3, rows
    assert rows["epoch/stuck"] == 0, rows

    assert prof("export", capture, "-o", folder + ".json", cwd=directory).returncode == 0
    events = json.loads(pathlib.Path(directory, folder + ".json").read_bytes())["traceEvents"]
    assert sum(e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") for e in events) == STEPS * 11
    unfinished = [e["args"]["kernel"] for e in events if e["name"] == "not completed"]
    assert unfinished == ["loose_k"], unfinished
    result = prof("seal", capture, cwd=directory)
    assert result.returncode == 0 and "was closed already" in result.stdout, result


def preloaded(directory, *words, **variables):
    """The trainer without prof run."""
    environment = {"LD_PRELOAD": LIBRARY, "PROF_OUTPUT_DIR": "mine", "PROF_CUPTI_LIBRARY": FAKE_CUPTI,
                   "PROF_EXPORT": "none", **variables}  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PROF_")} | environment
    return subprocess.run([TRAINER, *words], cwd=directory, env=environment, capture_output=True, text=True, timeout=60)


def check_calm_end(directory):
    """A process that ends by _exit outside of any range has lost nothing, and is not told that it is damaged."""
    result = prof("run", "-o", "calm", "--rings", directory, "--cupti-library", FAKE_CUPTI, "--", TRAINER, "no-cuda", "fork", cwd=directory)
    assert "note" not in result.stderr.lower(), result.stderr
    result = prof("run", "-o", "calm", "--rings", directory, "--cupti-library", FAKE_CUPTI, "--", TRAINER, "_exit", cwd=directory)
    assert "ended with status 5 without exit handlers (os._exit or exec); nothing was lost" in result.stderr, result.stderr
    for words in ("recovered", "snapshots", "not closed"):
        assert words not in result.stderr, result.stderr


def check_nested_run(directory):
    inner = [PROF, "run", "-o", "inner", "--cupti-library", FAKE_CUPTI, "--", TRAINER, "steps", "2"]
    result = prof("run", "-o", "outer", "--", *inner, cwd=directory)
    assert result.returncode == 3 and result.stdout == "done\n", result
    assert len(TABLE_OF_RANGES.findall(result.stderr)) == 1, result.stderr
    places = f"no capture: an inner prof run has taken the captures; they are in {directory}/inner\n"
    assert result.stderr.endswith(places), result.stderr
    assert not pathlib.Path(directory, "outer").exists()
    assert len(list(pathlib.Path(directory, "inner").glob("*.trace.json.gz"))) == 1


def check_lost_capture(directory):
    """A process that could not write its capture says why, through prof run too."""
    script = 'rm -r lost && touch lost && exec "$@"'
    result = prof("run", "-o", "lost", "--", "sh", "-c", script, "sh", TRAINER, "no-cuda", cwd=directory)
    assert re.search(r"prof: no capture: process \d+: cannot create capture .*/lost/", result.stderr), result.stderr
    assert "made no NVTX range" not in result.stderr, result.stderr


def check_leftovers(directory):
    """The rings of a process that was killed are put into its capture by the next run, and removed."""
    rings = pathlib.Path(directory, "rings")
    rings.mkdir()
    cleaned = lambda: prof("run", "-o", "next", "--rings", str(rings), "--", "true", cwd=directory).stderr
    preloaded(directory, "kill", PROF_RINGS=str(rings))
    (capture,) = pathlib.Path(directory, "mine").glob("*.prof")
    assert len(list(rings.iterdir())) == 1
    assert "removed" not in cleaned() and len(list(rings.iterdir())) == 1, "its own prof run may be about to seal it"
    os.utime(capture, (0, 0))
    assert "removed 1 file of rings that killed processes had left in" in (line := cleaned()), line
    assert "completed 1 capture from them" in line and not list(rings.iterdir()), line
    assert "was closed already" in prof("seal", str(capture), cwd=directory).stdout
    preloaded(directory, "kill", PROF_RINGS=str(rings))
    (capture,) = (path for path in pathlib.Path(directory, "mine").glob("*.prof") if path != capture)
    os.utime(capture, (0, 0))
    moved = capture.rename(pathlib.Path(directory, "moved.prof"))
    assert "removed" not in (line := cleaned()) and len(list(rings.iterdir())) == 1, line
    sealed = prof("seal", str(moved), cwd=directory)
    assert sealed.returncode == 0 and "was closed already" not in sealed.stdout and not list(rings.iterdir()), sealed
    living = rings / f"libprof-{os.getpid()}-00000000.rings"
    living.write_bytes(b"LIBPROR\n" + bytes(2000))
    assert "removed" not in cleaned() and living.exists()
    living.unlink()


LOCKER = """
import fcntl, glob, os, subprocess, sys
subprocess.run(sys.argv[1:])
(capture,) = glob.glob(os.environ["PROF_OUTPUT_DIR"] + "/*.prof")
file = open(capture)
fcntl.flock(file, fcntl.LOCK_EX)
os.set_inheritable(file.fileno(), True)
subprocess.Popen(["sleep", "1"], env={}, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""


def check_capture_that_another_run_seals(directory):
    """prof run waits while another one, which cleans up after killed processes, has the capture."""
    command = [sys.executable, "-c", LOCKER, TRAINER, "kill", "no-cuda"]
    result = prof("run", "-o", "locked", "--", *command, cwd=directory)
    assert result.returncode == 0 and "still runs" not in result.stderr, result
    (capture,) = pathlib.Path(directory, "locked").glob("*.prof")
    assert "was closed already" in prof("seal", str(capture), cwd=directory).stdout


def check_announcement(directory):
    result = preloaded(directory, "no-cuda", PROF_ANNOUNCE="1", PROF_OUTPUT_DIR="told")
    (capture,) = pathlib.Path(directory, "told").glob("*.prof")
    assert result.stderr == f"libprof: capture: {capture} (prof report {capture})\n", result.stderr
    assert "libprof: " not in prof("run", "--set", "PROF_ANNOUNCE=1", "--", TRAINER, "no-cuda", cwd=directory).stderr
    assert preloaded(directory, "no-cuda").stderr == ""


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="prof_end_to_end_") as directory:
        capture = check_run(directory)
        check_report(directory, capture)
        check_trace(directory, capture)
        check_widths(directory, capture)
        check_schedule(directory)
        check_diagnosis_of_activities(directory)
        check_diagnosis_of_windows(directory)
        check_steps(directory)
        check_sanitized(directory)
        check_calm_end(directory)
        check_nested_run(directory)
        check_lost_capture(directory)
        check_leftovers(directory)
        check_capture_that_another_run_seals(directory)
        check_announcement(directory)
        for way, ended in DEATHS.items():
            check_death(directory, way, ended)


if __name__ == "__main__":
    main()
