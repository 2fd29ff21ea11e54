#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parts of a capture as a user selects them: prof report and prof export with --range, --steps, ..."""
import collections
import csv
import io
import json
import pathlib
import re
import sys
import unittest

from cli_test import CommandLine

CAPTURES = pathlib.Path(__file__).parents[2] / "examples/captures"
TRAINER = CAPTURES / "h200_trainer.prof"


class Parts(CommandLine):
    def report(self, *options, file=TRAINER):
        result = self.prof("report", file, "--format", "json", *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def kernels(self, *options):
        result = self.prof("report", TRAINER, "--report", "kernels", "--format", "csv", *options)
        rows = csv.DictReader(io.StringIO(result.stdout))
        return {row["name"]: (int(row["instances"]), int(row["total_ns"])) for row in rows}

    def trace(self, *options):
        place = self.out / "part.json"
        place.parent.mkdir(exist_ok=True)
        self.assertEqual(self.prof("export", TRAINER, "-o", place, *options).returncode, 0)
        return json.loads(place.read_text())["traceEvents"]

    def test_kernels_of_backward_are_those_a_script_finds_in_the_trace(self):
        events = [event for event in self.trace() if event["ph"] == "X"]
        backward = [event for event in events if event["cat"] == "user_annotation" and event["name"] == "backward"]
        self.assertEqual(len(backward), 12)
        launched_at = {event["args"]["correlation"]: event["ts"] for event in events if event["cat"].startswith("cuda_")}
        expected = collections.defaultdict(lambda: [0, 0])
        for event in events:
            if event["cat"] != "kernel":
                continue
            # Whichever thread launched it: there is one trainer, and autograd's thread works for it.
            at = launched_at[event["args"]["correlation"]]
            if any(outer["ts"] <= at < outer["ts"] + outer["dur"] for outer in backward):
                expected[event["name"]][0] += 1
                expected[event["name"]][1] += round(event["dur"] * 1000)
        self.assertEqual(self.kernels("--range", "backward"), {name: tuple(sums) for name, sums in expected.items()})
        self.assertEqual(sum(count for count, _ in expected.values()), 2052)

    def test_disjoint_parts_add_up_to_the_whole(self):
        whole = self.kernels()
        for parts in (
            [["--range", name] for name in ("data_to_device", "forward", "backward", "optimizer_step", "(no range)")],
            [["--to", "0.66"], ["--from", "0.66", "--to", "680ms"], ["--from", "680ms"]],
        ):
            sums = collections.defaultdict(lambda: (0, 0))
            for part in parts:
                for name, (count, time) in self.kernels(*part).items():
                    sums[name] = (sums[name][0] + count, sums[name][1] + time)
            self.assertEqual(sums, whole, parts)

    def test_figures_are_those_of_the_row(self):
        row = next(row for row in self.report()["rows"] if row["path"] == "iteration #/backward/layer 3")
        part = self.report("--range", "backward/layer 3")
        own = part["rows"][0]
        for key in row:
            if key not in ("path", "depth"):
                self.assertEqual(own[key], row[key], key)
        self.assertEqual(part["total_gpu_ns"], row["gpu_sum_ns"])
        self.assertIsNone(part["step"])
        selection = part["selection"]
        self.assertEqual((selection["ranges"], selection["ops"], selection["ops_in_capture"]),
                         (["backward/layer 3"], row["ops"], 4575))  # fmt: skip

    def test_steps_are_counted_after_the_fact(self):
        part = self.report("--step-range", "iteration #", "--steps", "3:8")
        self.assertEqual(part["selection"]["whole_steps"], [3, 4, 5, 6, 7])
        self.assertEqual(part["step"]["steps"], 5)
        self.assertEqual(part["rows"][0]["instances"], 5)
        later = self.report("--step-range", "iteration #", "--skip-first", "8")
        self.assertEqual(later["selection"]["whole_steps"], [8, 9, 10])  # the last has no end
        lines = self.prof("report", TRAINER, "--step-range", "iteration #", "--steps", "3:8").stdout.splitlines()
        self.assertIn("--steps 12, steps 3 to 7 (5 of 12)", lines[0])
        title = next(number for number, line in enumerate(lines) if line.startswith("$ "))
        self.assertRegex(lines[title + 1], r"^selected: steps 3 to 7 \(5 of 12\); 0\.031 s; 1,865 of 4,575 GPU operations$")
        numbered = [event["name"] for event in self.trace("--step-range", "iteration #", "--steps", "3:8")
                    if event["name"].startswith("ProfilerStep#") and event.get("cat") == "user_annotation"]  # fmt: skip
        self.assertEqual(numbered, [f"ProfilerStep#{number}" for number in range(3, 8)])

    def test_what_is_not_there_is_one_line(self):
        for options, words in (
            (["--range", "backwrd"], ['no range matches "backwrd"', "did you mean backward?"]),
            (["--steps", "20"], ["no step is in 20", "11 steps from 0 to 10"]),
            (["--step-range", "iteration #", "--steps", "20:"], ["no step is in 20:", "12 steps from 0 to 11"]),
            (["--step-range", "iteraton #"], ["did you mean iteration #?"]),
            (["--from", "2s"], ["nothing from 2s", "0.7"]),
        ):
            for command in "report", "export":
                self.assert_one_line(self.prof(command, TRAINER, *options), 1, str(TRAINER), *words)
        for options, words in (
            (["--steps", "8:3"], "A:B"),
            (["--skip-first", "-1"], "a whole number"),
            (["--from", "noon"], "seconds"),
            (["--from", "2s", "--to", "900ms"], "--to 900ms is not after --from 2s"),
        ):
            self.assert_one_line(self.prof("report", TRAINER, *options), 2, options[0], words)

    def test_one_capture_that_has_it_is_enough(self):
        result = self.prof("report", TRAINER, CAPTURES / "h200_train.prof", "--range", "layer 3")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("h200_train.prof: no range matches", result.stderr)

    def test_every_report_takes_a_part(self):
        result = self.prof("report", TRAINER, "--report", "all", "--range", "forward", "--format", "json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for part in json.loads(result.stdout):
            self.assertEqual(part["selection"]["ranges"], ["forward"], part["report"])

    def test_no_range_names_what_is_largest(self):
        largest = self.report()["no_range_largest"]
        row = next(row for row in self.report()["rows"] if row["type"] == "no_range")
        self.assertEqual(sum(one["gpu_ns"] for one in largest), row["gpu_self_ns"])
        self.assertEqual((largest[0]["name"], largest[0]["call"]), ("Memcpy HtoD (Pageable -> Device)", "cudaMemcpyAsync"))
        text = self.prof("report", TRAINER, "--whole-run").stdout
        self.assertRegex(text, r"note: largest in \(no range\): \d+\.\d{3} ms Memcpy HtoD \(Pageable -> Device\) by cudaMemcpyAsync on")
        markdown = self.prof("report", TRAINER, "--format", "markdown", "--whole-run").stdout
        self.assertIn("largest in (no range): ", markdown)

    def test_kernels_stay_different_at_80_columns(self):
        for capture in sorted(CAPTURES.glob("*.prof")):
            for report, column in ("kernels", 0), ("cuda_gpu_kern_sum", -1):
                text = self.prof("report", capture, "--report", report, env={"COLUMNS": "80"}).stdout
                table = text.split("\n\n")[2].splitlines()[2:-2]
                names = [re.split(r"  +", line.strip())[column] for line in table]
                self.assertEqual(len(set(names)), len(names), report)
                self.assertEqual([name for name in names if re.search(r"#\d+$", name)], [])

    def test_markdown_explains_columns_once(self):
        text = self.prof("report", TRAINER, TRAINER, "--format", "markdown").stdout
        self.assertEqual(text.count("CPU: time between begin and end, in a step."), 1)

    def test_wide_has_the_times_of_one_instance(self):
        text = self.prof("report", TRAINER, "--wide", "--whole-run").stdout
        for title in "host min", "host median", "host max", "min", "median", "max":
            self.assertRegex(text, rf" {title}( |\n)")
        narrow = self.prof("report", TRAINER, env={"COLUMNS": "80"}).stdout
        self.assertNotIn("likewise", narrow)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
