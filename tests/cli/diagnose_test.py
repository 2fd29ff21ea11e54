#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof diagnose: its exit status, formats and inputs.

    diagnose_test.py PROF STUB_LIBPROF [TEST...]
"""
import csv
import io
import json
import re
import shutil
import sys
import unittest

from cli_test import DOCS, CommandLine

CAPTURES = DOCS.parent / "examples/captures"
TRAINER = CAPTURES / "h200_trainer.prof"
REPORTS = ["diagnose", "diagnose_places", "critical_path"]


class Diagnose(CommandLine):
    def documents(self, *arguments):
        result = self.prof("diagnose", "--format", "json", *map(str, arguments))
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def trace(self, step_us=1000, gpu_at_us=610, count=12, threads=1):
        """Steps of torch.profiler, if `step_us` is not None. Every 1000 us each thread launches a kernel of 200 us,
        600 us after the beginning of the step."""
        events = [] if step_us is None else [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1,
             "ts": step_us * i, "dur": step_us} for i in range(count)]
        for i in range(count * threads):
            begin, thread = 1000 * (i // threads), 1 + i % threads
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": thread,
                        "ts": begin + 600, "dur": 5, "args": {"correlation": i + 1}},
                       {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": begin + gpu_at_us,
                        "dur": 200, "args": {"correlation": i + 1, "device": 0, "context": 1, "stream": 7 + thread}}]
        path = self.dir / "trace.json"
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
        return path

    def test_status_says_whether_a_finding_gains_too_much(self):
        share = self.documents(TRAINER)[0]["rows"][0]["gain_share"]
        below, above = f"{100 * share - 0.5:.2f}", f"{100 * share + 0.5:.2f}"
        self.assertEqual(self.prof("diagnose", "--fail-above", below, str(TRAINER)).returncode, 3)
        self.assertEqual(self.prof("diagnose", "--fail-above", above, str(TRAINER)).returncode, 0)
        self.assertEqual(self.prof("diagnose", str(TRAINER)).returncode, 0)

    def test_status_of_bad_arguments_and_inputs(self):
        self.assertEqual(self.prof("diagnose", "--above", "much", str(TRAINER)).returncode, 2)
        missing = self.prof("diagnose", "no_such.prof")
        self.assertEqual((missing.returncode, missing.stdout), (1, ""))
        # What can be read is shown, and the status says that something is missing.
        both = self.prof("diagnose", "--fail-above", "100", str(TRAINER), "no_such.prof")
        self.assertEqual(both.returncode, 1)
        self.assertIn("Diagnosis of", both.stdout)

    def test_what_above_leaves_out_may_fail(self):
        found = self.documents(TRAINER)[0]
        limit = f"{100 * found['rows'][0]['gain_share'] - 0.5:.2f}"
        hidden = self.prof("diagnose", "--above", "50", "--fail-above", limit, str(TRAINER))
        self.assertEqual(hidden.returncode, 3)
        self.assertIn("nothing to gain was found", hidden.stdout)
        self.assertIn(found["rows"][0]["finding"], hidden.stderr)

    def test_a_finding_outweighs_a_file_that_cannot_be_examined(self):
        idle = self.dir / "idle.json"
        idle.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]}),
            encoding="utf-8")
        for files in ([TRAINER, idle], [idle, TRAINER]):
            result = self.prof("diagnose", "--fail-above", "0", *map(str, files))
            self.assertEqual(result.returncode, 3)
            self.assertIn(f"{idle}: nothing could be examined", result.stderr)
        alone = self.prof("diagnose", str(idle))
        self.assertEqual(alone.returncode, 1)
        self.assertIn(f"{idle}: nothing could be examined", alone.stderr)
        self.assertIn("Diagnosis: nothing could be examined", alone.stdout)
        self.assertNotIn("Critical path", alone.stdout)

    def test_json_has_findings_their_places_and_the_path(self):
        found, places, path = self.documents(TRAINER)
        self.assertEqual([found["report"], places["report"], path["report"]], REPORTS)
        gains = [row["gain_ns"] for row in found["rows"]]
        sure = [row["gain_ns"] for row in found["rows"] if row["confidence"] != "low"]
        self.assertEqual(sure, sorted(sure, reverse=True))
        self.assertTrue(all(row["gain_share"] >= found["least_share"] for row in found["rows"]))
        self.assertGreaterEqual(found["together_ns"], max(gains))
        self.assertLessEqual({row["finding"] for row in places["rows"]}, set(range(1, len(gains) + 1)))
        self.assertAlmostEqual(sum(row["share"] for row in path["rows"]), 1, places=3)
        rules = {row["rule"] for row in found["rows"]}
        self.assertFalse(rules & set(found["looked"]))

    def test_above_leaves_out_what_gains_less(self):
        rows = self.documents(TRAINER)[0]["rows"]
        self.assertGreater(len(rows), 1)
        self.assertEqual(self.documents("--above", "99", TRAINER)[0]["rows"], [])
        text = self.prof("diagnose", "--above", "99", str(TRAINER)).stdout
        self.assertIn("nothing to gain was found", text)
        self.assertIn("Looked, and found nothing above 99 % of a step", text)

    def test_csv_has_the_rows_of_json(self):
        text = self.prof("diagnose", "--format", "csv", str(TRAINER)).stdout
        rows = list(csv.reader(io.StringIO(text)))
        findings = [row for row in rows if len(row) > 2 and row[0] == str(TRAINER) and row[1] in text.splitlines()[1]]
        self.assertEqual(findings[0][1], self.documents(TRAINER)[0]["rows"][0]["rule"])

    def test_several_files_are_diagnosed_one_by_one(self):
        documents = self.documents(TRAINER, CAPTURES / "h200_train.prof")
        self.assertEqual([each["report"] for each in documents], 2 * REPORTS)
        self.assertEqual(len({each["capture"] for each in documents}), 2)

    def test_damaged_capture_loses_nothing_that_was_good(self):
        damaged = self.dir / "damaged.prof"
        shutil.copy(TRAINER, damaged)
        with damaged.open("r+b") as file:
            file.truncate(damaged.stat().st_size * 9 // 10)
        result = self.prof("diagnose", str(damaged))
        self.assertIn(result.returncode, (0, 1))
        self.assertIn("Diagnosis", result.stdout)

    def by_hand(self, steps=12, longer=None, code=None, name="by_hand.json"):
        """Steps of 1000 us, worked by hand. The host returns from its wait at 999, runs code for 250 us, 150 of them in
        a range, and launches at 249; the kernel runs from 254 to 995. `longer`: by how much steps last longer at their
        end. `code`: the range's name in each step."""
        events = []
        at = -1000
        for i in range(steps):
            at += 1000 + (longer or {}).get(i - 1, 0)
            length = 1000 + (longer or {}).get(i, 0)
            range_name = code(i) if code else "augmentation of the images"
            events += [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": at + start, "dur": dur}
                       for name, start, dur in ((f"ProfilerStep#{i}", 0, length), (range_name, 50, 150))]
            events += [{"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": at + start, "dur": dur,
                        "args": {"correlation": 2 * i + number}}
                       for name, start, dur, number in (("cudaLaunchKernel", 249, 3, 1), ("cudaStreamSynchronize", 253, 746, 2))]
            events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 254, "dur": 741,
                           "args": {"correlation": 2 * i + 1, "device": 0, "context": 1, "stream": 7}})
        place = self.dir / name
        place.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
        return place

    def text(self, *arguments, columns=1000):
        result = self.prof("diagnose", *map(str, arguments), env={"COLUMNS": str(columns)})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_gain_is_that_worked_by_hand(self):
        found, places, _ = self.documents(self.by_hand())
        # Of twelve steps the first is warm-up, and of the last one nothing shows the end.
        self.assertEqual((found["steps"], found["warm_up"], found["step_ns"]), (10, 1, 1_000_000))
        code = {row["finding"].rpartition(", ")[2]: row for row in found["rows"] if row["rule"] == "host_code"}
        for place, gain_us in (("in augmentation of the images", 150), ("outside ranges", 100)):
            row = code.pop(place)
            self.assertEqual((row["gain_ns"], row["gain_share"], row["cost_ns"], row["steps"]),
                             (1000 * gain_us, gain_us / 1000, 1000 * gain_us, 10))  # fmt: skip
        self.assertEqual(code, {})
        costs = [(row["cost_ns"], row["count"], row["longest_ns"]) for row in places["rows"]
                 if row["place"] == "in augmentation of the images"]  # fmt: skip
        self.assertEqual(costs, [(150_000, 1, 150_000)])

    def test_limits_are_exact(self):
        trace = self.by_hand()
        largest = max(row["gain_share"] for row in self.documents(trace)[0]["rows"])
        for limit, status in ((f"{100 * largest:.17g}", 0), (f"{100 * largest - 1e-9:.17g}", 3), ("100", 0), ("0", 3)):
            self.assertEqual(self.prof("diagnose", "--fail-above", limit, trace).returncode, status, limit)
        # What gains as much as --above is a finding (here both places together); less is none.
        for above, is_found in (("25", True), ("25%", True), ("25.000001", False)):
            found = self.documents("--above", above, trace)[0]
            self.assertEqual("host_code" in [row["rule"] for row in found["rows"]], is_found, above)
            self.assertEqual("host_code" in found["looked"], not is_found, above)

    def test_table_says_what_json_says(self):
        for file in (TRAINER, self.by_hand(), self.by_hand(4, name="few.json")):
            text = self.text(file)
            found, places, path = self.documents(file)
            headings = re.findall(r"^(\d+)\. (.*): at most ([\d.,]+) ms a step \(([\d.]+) %\)\n"
                                  r"   (\w+) takes ([\d.,]+) ms a step, in ([\d,]+) of ([\d,]+) steps; confidence: (\w+)$",
                                  text, re.MULTILINE)  # fmt: skip
            self.assertEqual(len(headings), len(found["rows"]))
            for number, (shown, row) in enumerate(zip(headings, found["rows"]), 1):
                self.assertEqual((int(shown[0]), shown[4], shown[6], shown[7], shown[8]),
                                 (number, row["rule"], f"{row['steps']:,}", f"{found['steps']:,}", row["confidence"]))
                self.assert_rounded(shown[2], row["gain_ns"] / 1e6)
                self.assert_rounded(shown[3], 100 * row["gain_share"])
                self.assert_rounded(shown[5], row["cost_ns"] / 1e6)
            parts = re.findall(r"^   - (.*): ([\d.,]+) ms a step, (once|[\d,.]+ times) a step; the longest ([\d.,]+) ms, at ([\d.]+) s$",
                               text, re.MULTILINE)  # fmt: skip
            self.assertEqual([part[0] for part in parts],
                             [row["place"].replace("outside ranges", "in rest of the step") for row in places["rows"]])
            for part, row in zip(parts, places["rows"]):
                self.assert_rounded("1" if part[2] == "once" else part[2].removesuffix(" times"), row["count"])
                for shown, value in ((1, row["cost_ns"]), (3, row["longest_ns"])):
                    self.assert_rounded(part[shown], value / 1e6)
                self.assert_rounded(part[4], row["longest_at_ns"] / 1e9)
            self.assertEqual(re.findall(r"^   price: (.*)$", text, re.MULTILINE), [row["bound"] for row in found["rows"]])
            self.assertEqual(re.findall(r"^   try: (.*)$", text, re.MULTILINE),
                             [line for row in found["rows"] for line in row["advice"]])
            together = re.search(r"^All together at most ([\d.,]+) ms.*: gains overlap.* The page \(prof open\) has the step that any of "
                                 r"them leave together\.$", text, re.MULTILINE)
            self.assert_rounded(together[1], found["together_ns"] / 1e6)
            looked = re.search(r"^Looked, and found nothing above 1 % of a step: (.*)\.$", text, re.MULTILINE)
            self.assertEqual(looked[1].split(", "), found["looked"])
            self.assertEqual(re.findall("^Could not look: (.*)$", text, re.MULTILINE), found["not_looked"])
            self.assertEqual(re.findall("^Note: (.*)$", text, re.MULTILINE), found["remarks"])
            self.assertEqual(re.findall("^Note: (.*)$", text[:text.index("\n1. ")], re.MULTILINE),
                             found["remarks"])
            first = re.search(r"^(\S.*?)  .* ([\d.]+) %$", text[text.index("on the path"):], re.MULTILINE)
            self.assertEqual(first[1], path["rows"][0]["kind"])
            self.assert_rounded(first[2], 100 * path["rows"][0]["share"])

    def assert_rounded(self, shown, value):
        decimals = len(shown.partition(".")[2])
        self.assertAlmostEqual(float(shown.replace(",", "")), value, delta=0.5001 * 10**-decimals)

    def test_lines_fit_and_nothing_is_lost_between_widths(self):
        for file in (TRAINER, self.by_hand()):
            whole = None
            for columns in (1000, 150, 80, 60, 40):
                findings, _, path = self.text(file, columns=columns).partition("Critical path of a step")
                lines = [line for line in findings.splitlines() if not line.startswith("$ ")]
                begin = next(i for i, line in enumerate(lines) if line.startswith("Diagnosis"))
                words = " ".join(lines[begin:]).split()
                whole = whole or words
                self.assertEqual(words, whole, columns)
                # Names in the table of the path keep 20 characters each; notes in pipes are not broken.
                below = [line for line in path.splitlines() if columns >= 60 and not line.startswith("note: ")]
                for line in lines[begin:] + below:
                    is_one_word = len(line.split()) == 1
                    self.assertTrue(len(line) <= columns or is_one_word, (columns, line))

    def test_terminal_has_lines_of_its_width(self):
        trace = self.by_hand()
        for columns in (60, 80, 100):
            shown = self.on_terminal("diagnose", trace, columns=columns, env={"NO_COLOR": "1"})
            for line in re.sub("\x1b[^a-zA-Z]*[a-zA-Z]", "", shown).splitlines():
                self.assertLessEqual(len(line), columns, line)

    def test_chosen_steps_are_those_examined(self):
        # Until step 5 the code stands in one range, then in another.
        trace = self.by_hand(code=lambda step: "first half" if step < 6 else "second half")
        for part, steps, warm_up, halves in (
            (["--steps", "1:6"], 5, 0, {"first half": 150}), (["--steps", "6:"], 5, 0, {"second half": 150}),
            (["--steps", "3:9"], 6, 0, {"first half": 75, "second half": 75}), (["--steps", "0"], 1, 0, {"first half": 150}), (["--steps", ":3"], 3, 0, {"first half": 150}),
            ([], 10, 1, {"first half": 75, "second half": 75}), (["--skip-first", "7"], 4, 0, {"second half": 150}),
            (["--to", "3ms"], 2, 1, {"first half": 150}), (["--to", "1ms"], 1, 0, {"first half": 150}),
            (["--from", "4999us", "--to", "7001us"], 2, 0, {"first half": 75, "second half": 75}),
        ):  # fmt: skip
            found = self.documents(*part, trace)[0]
            self.assertEqual((found["steps"], found["warm_up"], found["step_ns"]), (steps, warm_up, 1_000_000), part)
            gains = {row["finding"].rpartition(", in ")[2]: row["gain_ns"] for row in found["rows"]
                     if row["rule"] == "host_code" and " half" in row["finding"]}  # fmt: skip
            self.assertEqual(gains, {name: 1000 * us for name, us in halves.items()}, part)
            self.assertEqual("first step is among them" in " ".join(found["remarks"]), part in (["--steps", "0"], ["--steps", ":3"], ["--to", "1ms"]))
            self.assertNotIn("record more", " ".join(found["remarks"]))
            self.assertNotIn("record ten", " ".join(found["remarks"]))

    def test_uneven_are_steps_among_the_chosen_ones(self):
        trace = self.by_hand(steps=30, longer={20: 3000})
        for part, is_uneven in (([], True), (["--steps", "10:25"], True), (["--steps", "2:19"], False), (["--skip-first", "21"], False)):
            rules = [row["rule"] for row in self.documents(*part, trace)[0]["rows"]]
            self.assertEqual("uneven_steps" in rules, is_uneven, part)

    def test_uneven_is_what_is_longer_than_the_chosen_steps(self):
        # Steps of 3 ms are the usual ones of the whole; step 0 is its warm-up.
        mostly_long = self.by_hand(steps=62, longer={i: 2000 for i in range(20, 62)})
        first_long = self.by_hand(steps=30, longer={0: 39_000}, name="first_long.json")
        for part, trace, gain_ns, place in ((["--steps", "9:21"], mostly_long, 2_000_000 / 12, "step 20, most of it: CPU code"),
                                            (["--steps", ":20"], first_long, 39_000_000 / 20, "step 0, most of it: CPU code")):
            found, places, _ = self.documents(*part, trace)
            self.assertAlmostEqual({row["rule"]: row["gain_ns"] for row in found["rows"]}["uneven_steps"], gain_ns)
            self.assertEqual([row["place"] for row in places["rows"] if row["rule"] == "uneven_steps"], [place])

    def test_path_is_as_long_as_the_steps_beside_work_from_before_them(self):
        # The host waits for the kernel of the step before; a copy of step 3, in another stream, lasts until step 5.
        def call(name, start, dur, number):
            return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": dur,
                    "args": {"correlation": number}}  # fmt: skip

        def op(kind, name, start, dur, number, stream):
            return {"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": stream, "ts": start, "dur": dur,
                    "args": {"correlation": number, "device": 0, "context": 1, "stream": stream, "bytes": 1000}}  # fmt: skip

        events = [call("cudaMemcpyAsync", 3210, 5, 100),
                  op("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 3300, 2500, 100, 8)]
        for i in range(12):
            at = 1000 * i
            events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": at,
                        "dur": 1000}, call("cudaEventSynchronize", at + 1, 103, 200 + i),
                       call("cudaLaunchKernel", at + 200, 5, 300 + i), op("kernel", "gemm", at + 207, 893, 300 + i, 7)]
        trace = self.dir / "behind.json"
        trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
        # Nobody waits for the copy, so no step is longer, and it changes nothing beside other steps. One step alone does
        # not show that its stream is rarely used: the path of step 3 ends with the copy, which ends within step 5.
        for part, path_us in (([], 1000), (["--steps", "3"], 2700), (["--steps", "4"], 1000), (["--steps", "5"], 1000),
                              (["--steps", "4:7"], 1000), (["--steps", "2:9"], 1000)):
            found, _, path = self.documents(*part, trace)
            self.assertEqual(found["step_ns"], 1_000_000, part)
            depends_on_edges = part in (["--steps", "3"], ["--steps", "5"])
            self.assertEqual("ahead of the GPU at the edges" in " ".join(found["remarks"]), depends_on_edges, part)
            if depends_on_edges:
                self.assertEqual({row["confidence"] for row in found["rows"]} - {"low"}, set())
            self.assertAlmostEqual(sum(row["mean_ns"] for row in path["rows"]), 1000 * path_us, delta=1, msg=part)

    def test_report_of_chosen_steps_has_their_diagnosis(self):
        for part in (["--steps", "3:8", "--step-range", "iteration #"], ["--from", "0.66"], ["--skip-first", "3"]):
            here = self.text(*part, TRAINER)
            result = self.prof("report", "--report", "diagnose,critical_path", *part, TRAINER, env={"COLUMNS": "1000"})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, here)
            self.assertIn("selected: ", here)

    def test_ranges_choose_no_steps(self):
        whole = self.text(TRAINER).partition("Diagnosis of ")[2]
        result = self.prof("report", "--report", "diagnose,critical_path", "--range", "forward", TRAINER,
                           env={"COLUMNS": "1000"})  # fmt: skip
        before, _, findings = result.stdout.partition("Diagnosis of ")
        line = "Of whole steps, all ranges:\n\n"
        self.assertTrue(before.endswith(line), before)
        self.assertEqual(findings.replace(line, ""), whole)
        refused = self.prof("diagnose", "--range", "forward", TRAINER)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn('there is no option "--range" here, but in prof', refused.stderr)

    def test_no_whole_step_is_chosen(self):
        trace = self.by_hand()
        whole = "no whole step is chosen: the capture has 11 whole steps from 0 to 10"
        for part in (["--from", "10100us"], ["--from", "3001us", "--to", "3999us"], ["--steps", "11"]):
            result = self.prof("diagnose", *part, trace)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{trace}: nothing could be examined: {whole}", result.stderr)
            self.assertIn(f"Diagnosis: nothing could be examined: {whole}", result.stdout)
        # Other reports of that part lose nothing.
        other = self.prof("report", "--report", "diagnose,kernels", "--from", "10100us", trace)
        self.assertEqual(other.returncode, 0)
        self.assertIn("gemm", other.stdout)
        self.assertIn(whole, other.stdout)

    def test_chosen_steps_that_are_not_whole_are_named(self):
        trace = self.by_hand()
        left_out = "1 of the 6 chosen steps was not recorded as a whole, and left out"
        self.assertEqual(self.documents("--steps", "6:", trace)[0]["remarks"], [left_out])
        self.assertEqual(self.documents("--skip-first", "6", trace)[0]["remarks"], [left_out])
        for part in (["--steps", "5:11"], ["--from", "5ms"], ["--to", "8ms"]):
            self.assertEqual(self.documents(*part, trace)[0]["remarks"], [], part)

    def test_nothing_is_chosen(self):
        trace = self.by_hand()
        none = self.prof("diagnose", "--steps", "50:", trace)
        self.assertEqual((none.returncode, none.stdout), (1, ""))
        self.assertEqual(none.stderr, f"prof: {trace}: no step is in 50:: the capture has 12 steps from 0 to 11\n")
        missing = self.dir / "none.txt"
        self.assertEqual(self.prof("diagnose", "--steps", "50:", "-o", missing, trace).returncode, 1)
        self.assertFalse(missing.exists())
        # Of several files those that have the steps are enough.
        both = self.prof("diagnose", "--steps", "11:15", trace, self.by_hand(steps=20, name="more.json"))
        self.assertIn("Diagnosis of 4 steps", both.stdout)

    def test_kineto_trace(self):
        # The host computes 600 us before each launch; the kernel takes 200 us.
        trace = self.trace()
        found = self.documents(trace)[0]
        self.assertEqual(found["rows"][0]["rule"], "host_code")
        # All but the launch and the kernel.
        self.assertAlmostEqual(found["rows"][0]["gain_ns"], 790_000, delta=30_000)

    def test_without_steps_the_text_counts_none(self):
        trace = self.trace(step_us=None)
        text = self.prof("diagnose", str(trace)).stdout
        self.assertIn("of recording", text)
        self.assertIn("host_code takes", text)
        self.assertNotIn("in 1 of 1", text)

    def test_counts_of_one(self):
        trace = self.trace(count=2)  # the first step is warm-up
        text = self.prof("diagnose", str(trace)).stdout
        self.assertIn("Diagnosis of 1 step of", text)
        self.assertIn("in 1 of 1 step;", text)

    def test_sums_over_threads_are_named(self):
        trace = self.trace(step_us=None, threads=3)
        self.assertIn("at the same time, together)", self.prof("diagnose", str(trace)).stdout)
        self.assertNotIn("together)", self.prof("diagnose", str(self.trace(step_us=None))).stdout)

    def test_steps_without_length(self):
        trace = self.trace(step_us=0)
        result = self.prof("diagnose", str(trace))
        self.assertEqual(result.returncode, 1)
        self.assertIn("the steps have no length", result.stderr)
        self.assertNotIn("Looked", result.stdout)
        self.assertNotIn("inf ", self.prof("report", str(trace)).stdout)

    def test_gpu_before_its_launch(self):
        trace = self.trace(gpu_at_us=-3_600_000_000)
        text = self.prof("diagnose", str(trace)).stdout
        self.assertIn("warning: 12 operations begin before the launch, by up to 3600000.600 ms", text)
        self.assertEqual({row["confidence"] for row in self.documents(trace)[0]["rows"]}, {"low"})
        self.assertNotIn("before the launch", self.prof("diagnose", str(self.trace())).stdout)

    def test_trace_has_the_critical_path_as_a_row(self):
        self.check_row_of_the_critical_path()

    def test_trace_of_a_part_has_the_critical_path_of_its_whole_steps(self):
        self.check_row_of_the_critical_path("--steps", "3:8", "--step-range", "iteration #")

    def test_trace_without_whole_steps_has_no_critical_path(self):
        trace = self.by_hand()
        result = self.prof("export", "--critical-path", "--from", "10100us", "-o", str(self.dir / "part.json"), trace)
        self.assertEqual(result.returncode, 0)
        self.assertIn(f"{trace}: the trace has no critical path: no whole step is chosen", result.stderr)
        self.assertIn('"gemm"', (self.dir / "part.json").read_text(encoding="utf-8"))

    def check_row_of_the_critical_path(self, *part):
        trace = self.dir / "path.json"
        self.assertEqual(self.prof("export", "--critical-path", *part, "-o", str(trace), str(TRAINER)).returncode, 0)
        slices = [event for event in json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
                  if event.get("cat") == "critical_path"]
        found, _, path = self.documents(*part, TRAINER)
        steps = found["steps"]
        for kind in {row["kind"] for row in path["rows"]}:
            in_table = sum(row["mean_ns"] for row in path["rows"] if row["kind"] == kind) * steps
            in_trace = 1000 * sum(event["dur"] for event in slices if event["name"] == kind)
            self.assertAlmostEqual(in_trace, in_table, delta=1 + len(slices))
        ends = [event["ts"] + event["dur"] for event in slices]
        for begin, end in zip([event["ts"] for event in slices[1:]], ends):
            self.assertAlmostEqual(begin, end, delta=0.002)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
