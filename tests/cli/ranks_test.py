#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The answer for a job from traces of torch.profiler, one of each rank, whose clocks differ: which rank holds it up.

ranks_test.py PROF STUB_LIBPROF [TEST...]
"""

import csv
import io
import json
import sys
import unittest

from cli_test import CommandLine
from torch_trace import TorchTrace

STEPS = 12
LAYER, TRANSFER = 2000.0, 300.0  # microseconds
LATE = 1500.0  # of rank 2, in each step
OFFSETS = [0.0, 70000.0, -1200.0, 33.0]  # of the ranks' clocks
RANKS = len(OFFSETS)


def write_job(folder, ranks=range(RANKS), late=LATE, by_rank=None):
    """Steps of two layers, each with a collective for which all wait. Returns what a step takes with and without the
    late rank. `by_rank`: how late each is in both layers."""
    folder.mkdir(parents=True, exist_ok=True)
    traces = {rank: TorchTrace() for rank in range(RANKS)}
    at = 1_000_000.0
    begin = at
    for number in range(STEPS):
        step_begin = at
        calls = {rank: [] for rank in traces}
        for layer in range(2):
            ends = {}
            for rank, trace in traces.items():
                by = OFFSETS[rank]
                length = LAYER + 3.0 * ((7 * rank + 5 * number + layer) % 4)
                if by_rank is not None:
                    length += by_rank.get(rank, (0, 0))[layer]
                elif rank == 2 and layer == 1:
                    length += late
                trace.kernel(at + by + 10, at + by + 10 + length, at + by + 2)
                ends[rank] = at + 10 + length
                calls[rank].append((ends[rank] + by, trace.call("cudaLaunchKernel", at + by + 8, at + by + 9)))
            done = max(ends.values()) + 5 + TRANSFER
            for rank, trace in traces.items():
                arrival, correlation = calls[rank][-1]
                trace.on_gpu("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", arrival + 5,
                             done + OFFSETS[rank] + 0.5 * rank, correlation, 20, grid=[8, 1, 1], block=[512, 1, 1],
                             **{"Collective name": "allreduce", "Process Group Name": "0", "Group size": RANKS,
                                "dtype": "Float", "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20,
                                "Seq": 2 * number + layer})  # fmt: skip
            at = done + 2 * RANKS
        for rank, trace in traces.items():
            trace.step(number, step_begin + OFFSETS[rank], at + OFFSETS[rank] - 0.5)
    for rank in ranks:
        text = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": RANKS},
                "traceEvents": traces[rank].events}  # fmt: skip
        (folder / f"rank{rank}.json").write_text(json.dumps(text), encoding="utf-8")
    return (at - begin) / STEPS


class Ranks(CommandLine):
    def report(self, name, folder):
        result = self.prof("report", folder, "--report", name, "--format", "json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_names_and_prices_the_rank_that_the_others_wait_for(self):
        folder = self.dir / "job"
        gain = write_job(folder) - write_job(self.dir / "fast", late=0)
        found = self.report("stragglers", folder)
        (row,) = found["rows"]
        self.assertEqual((row["kind"], row["name"], row["ranks"]), ("rank", "rank 2", ["2"]))
        self.assertEqual(row["cause"], "its GPU takes longer for the same kernels")
        self.assertEqual(row["where"], "before all_reduce 2 of 2")
        self.assertAlmostEqual(row["gain_ns"], 1000 * gain, delta=50 * gain)
        self.assertEqual((row["steps"], row["of_steps"]), (found["steps"], found["steps"]))
        self.assertEqual(found["matched_by_group"], 2 * STEPS * RANKS)
        ranks = self.report("ranks", folder)
        self.assertEqual([each["rank"] for each in ranks["rows"]][0], 2)
        self.assertEqual(len(ranks["rows"]), RANKS)
        self.assertEqual(ranks["missing_ranks"], [])
        self.assertIn("rank 2 holds the job up", ranks["verdict"])
        self.assertEqual(self.report("stragglers", self.dir / "fast")["rows"], [])

    def test_diagnose_begins_with_the_job(self):
        folder = self.dir / "job"
        write_job(folder)
        ranks = self.report("ranks", folder)
        result = self.prof("diagnose", folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = result.stdout.split("\n")
        self.assertEqual(lines[0], f"{RANKS} captures")
        self.assertEqual(" ".join(" ".join(lines[2:4]).split())[:len(ranks["verdict"])], ranks["verdict"][0].upper() + ranks["verdict"][1:])
        self.assertEqual(result.stdout.count("\nDiagnosis of "), RANKS)
        # Programs that are no job have no verdict together.
        write_job(self.dir / "one", ranks=[1])
        write_job(self.dir / "other", ranks=[1])
        result = self.prof("diagnose", self.dir / "one", self.dir / "other")
        self.assertEqual(result.returncode, 0)
        self.assertNotIn("holds the job up", result.stdout)
        self.assertEqual(result.stdout.count("\nDiagnosis of "), 2)

    def test_collectives_and_clocks(self):
        folder = self.dir / "job"
        write_job(folder)
        report = self.report("collectives", folder)
        (row,) = report["rows"]
        self.assertEqual(
            (row["function"], row["bytes"], row["ranks"], row["count"]), ("all_reduce", 4 << 20, RANKS, 2 * report["steps"])
        )
        self.assertEqual(row["a_step"], 2)
        self.assertEqual(row["matched_by"], "process group and sequence")
        self.assertAlmostEqual(row["transfer_ns"], 1000 * TRANSFER, delta=row["clock_error_ns"])
        clocks = self.report("clocks", folder)["rows"]
        for row in clocks:
            error = row["statistical_error_ns"] + row["systematic_error_ns"]
            self.assertLessEqual(abs(row["offset_ns"] - 1000 * OFFSETS[row["first_rank"]]), error + 1)
            self.assertLess(row["statistical_error_ns"], 5000)
        # The clock that is behind has its sign in the text, too.
        text = self.prof("report", folder, "--report", "clocks").stdout
        self.assertRegex(text, r" -1[.,]\d")
        self.assertNotIn("-0.000 ", text)

    def test_the_first_screen_has_the_verdict(self):
        folder = self.dir / "job"
        write_job(folder)
        shown = self.prof("report", folder, "--report", "ranks").stdout
        self.assertIn("Rank 2 holds the job up", shown)
        text = self.prof("report", folder).stdout
        self.assertIn("Job   Rank 2 holds the job up: ", text)
        lines = list(
            csv.DictReader(io.StringIO(self.prof("report", folder, "--report", "ranks", "--format", "csv").stdout))
        )
        self.assertEqual([line["rank"] for line in lines][0], "2")

    def test_what_comes_next_is_the_rank_that_the_verdict_names(self):
        folder = self.dir / "job"
        # Rank 3 waits least, and the job gains nothing of it: ranks 0 and 2 are later, each in one layer.
        write_job(folder, by_rank={0: (1400, 0), 2: (0, 1900), 3: (1000, 1000)})
        text = self.prof("report", folder).stdout
        self.assertIn("Ranks rank 3 waits least", text)
        self.assertIn("Job   Rank 2 holds the job up: ", text)
        self.assertRegex(text, r"\nnext: prof report \S*rank2\.json \(rank 2\)\n")

    def test_of_two_ranks_one_is_the_other(self):
        folder = self.dir / "job"
        write_job(folder, ranks=(0, 2))
        text = " ".join(self.prof("report", folder).stdout.split())
        self.assertRegex(text, r"rank 2 waits least: [\d.]+ ms of communication, the other [\d.]+ ")

    def test_a_missing_rank_is_named(self):
        folder = self.dir / "job"
        write_job(folder, ranks=(0, 2, 3))
        of = self.report("ranks", folder)
        self.assertEqual(of["missing_ranks"], ["1"])
        self.assertIn("rank 2 holds the job up", of["verdict"])
        self.assertIn("no capture with GPU work of rank 1", of["remarks"])

    def test_what_cannot_be_read_is_named_and_the_others_are_shown(self):
        folder = self.dir / "job"
        write_job(folder)
        (folder / "rank0.json").write_text("not json", encoding="utf-8")
        (folder / "rank1.json").write_text("", encoding="utf-8")
        (folder / "lost.json").symlink_to(self.dir / "nothing")
        (folder / "settings.json").write_text('{"lr": 1}', encoding="utf-8")
        for arguments in (("report", folder), ("diagnose", folder), ("diff", folder, folder)):
            result = self.prof(*arguments)
            self.assertEqual(result.returncode, 1, arguments)
            named = {
                name for name in ("rank0.json", "rank1.json", "lost.json", "settings.json") if name in result.stderr
            }
            self.assertEqual(named, {"rank0.json", "rank1.json", "lost.json"}, result.stderr)
            times = 2 if arguments[0] == "diff" else 1
            self.assertEqual(result.stderr.count("\n"), 3 * times, result.stderr)
            self.assertNotEqual(result.stdout, "")
        self.assertIn("on each of 2 ranks", self.prof("report", folder).stdout)
        # Traces beside a damaged capture are not lost with it.
        (folder / "damaged.prof").write_bytes(b"PROF")
        result = self.prof("report", folder)
        self.assertIn("damaged.prof", result.stderr)
        self.assertIn("on each of 2 ranks", result.stdout)

    def test_each_job_of_a_directory_has_its_line(self):
        folder = self.dir / "jobs"
        write_job(folder)
        for trace in list(folder.iterdir()):
            trace.rename(trace.with_name("first_" + trace.name))
        write_job(folder, late=0)
        text = self.prof("report", folder).stdout
        job = text[text.index("\nJob   ") :]
        self.assertRegex(job, r"Job   \d \(4 ranks\): ")
        self.assertIn("(4 ranks): Rank 2 holds the job up: ", job)
        self.assertIn("(4 ranks): No rank holds the job up: ", job)
        verdicts = self.report("ranks", folder)["verdicts"]
        self.assertEqual(len(verdicts), 2)

    def test_all_reports_fit_80_columns(self):
        folder = self.dir / "job"
        write_job(folder)
        for names in ("ranks", "stragglers", "collectives", "clocks"):
            shown = self.prof("report", folder, "--report", names, env={"COLUMNS": "80"}).stdout
            wide = [line for line in shown.splitlines() if len(line) > 80]
            self.assertEqual(wide, [], names)

    def test_a_huge_world_is_a_range(self):
        folder = self.dir / "job"
        write_job(folder, ranks=(0, 1, 2))
        for trace in folder.iterdir():
            content = json.loads(trace.read_text(encoding="utf-8"))
            content["distributedInfo"]["world_size"] = 1 << 31
            trace.write_text(json.dumps(content), encoding="utf-8")
        of = self.report("ranks", folder)
        self.assertEqual(of["missing_ranks"], [f"3-{(1 << 31) - 1}"])
        self.assertIn("no capture with GPU work of ranks 3 to 2147483647", of["remarks"])

    def test_clocks_that_are_not_aligned_have_no_error(self):
        folder = self.dir / "job"
        write_job(folder)
        for trace in folder.iterdir():
            content = json.loads(trace.read_text(encoding="utf-8"))
            content["traceEvents"] = [each for each in content["traceEvents"] if "nccl" not in each["name"]]
            trace.write_text(json.dumps(content), encoding="utf-8")
        text = self.prof("report", folder, "--report", "ranks").stdout
        self.assertNotIn("are aligned", text)
        self.assertIn("their clocks are not aligned", " ".join(text.split()))
        self.assertIsNone(self.report("ranks", folder)["clock_error_ns"])

    def test_one_rank_has_no_peers(self):
        folder = self.dir / "job"
        write_job(folder, ranks=(1,))
        self.assertIn("is not known", self.report("ranks", folder)["verdict"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
