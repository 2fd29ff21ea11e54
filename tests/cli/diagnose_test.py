#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof diagnose: its exit status, formats and inputs.

    diagnose_test.py PROF STUB_LIBPROF [TEST...]
"""
import csv
import io
import json
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

    def trace(self, step_us=1000, gpu_at_us=610):
        """12 steps of torch.profiler, each with a launch 600 us after its beginning and a kernel of 200 us."""
        events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1,
                   "ts": step_us * i, "dur": step_us} for i in range(12)]
        for i in range(12):
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                        "ts": 1000 * i + 600, "dur": 5, "args": {"correlation": i + 1}},
                       {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000 * i + gpu_at_us,
                        "dur": 200, "args": {"correlation": i + 1, "device": 0, "context": 1, "stream": 7}}]
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
        self.assertEqual(gains, sorted(gains, reverse=True))
        self.assertTrue(all(row["gain_share"] >= found["least_share"] for row in found["rows"]))
        self.assertGreaterEqual(found["together_ns"], gains[0])
        self.assertLessEqual({row["finding"] for row in places["rows"]}, set(range(1, len(gains) + 1)))
        self.assertAlmostEqual(sum(row["share"] for row in path["rows"]), 1, places=3)
        rules = {row["rule"] for row in found["rows"]}
        self.assertFalse(rules & set(found["looked"].splitlines()))

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

    def test_kineto_trace(self):
        # The host computes 600 us before each launch; the kernel takes 200 us.
        trace = self.trace()
        found = self.documents(trace)[0]
        self.assertEqual(found["rows"][0]["rule"], "host_code")
        # All but the launch and the kernel.
        self.assertAlmostEqual(found["rows"][0]["gain_ns"], 790_000, delta=30_000)

    def test_trace_has_the_critical_path_as_a_row(self):
        trace = self.dir / "path.json"
        self.assertEqual(self.prof("export", "--critical-path", "-o", str(trace), str(TRAINER)).returncode, 0)
        slices = [event for event in json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
                  if event.get("cat") == "critical_path"]
        path = self.documents(TRAINER)[2]
        steps = self.documents(TRAINER)[0]["steps"]
        for kind in {row["kind"] for row in path["rows"]}:
            in_table = sum(row["mean_ns"] for row in path["rows"] if row["kind"] == kind) * steps
            in_trace = 1000 * sum(event["dur"] for event in slices if event["name"] == kind)
            self.assertAlmostEqual(in_trace, in_table, delta=1 + len(slices))
        ends = [event["ts"] + event["dur"] for event in slices]
        for begin, end in zip([event["ts"] for event in slices[1:]], ends):
            self.assertAlmostEqual(begin, end, delta=0.002)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
