#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One trace of a job, from traces of torch.profiler whose clocks differ by known times: the slices of each rank are those
of its own trace, collectives of one sequence overlap, and arrows have both their ends, as Perfetto reads them too.

    job_trace_test.py PROF STUB_LIBPROF [TEST...]
"""

import csv
import gzip
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter, defaultdict

from cli_test import CommandLine
from ranks_test import OFFSETS, RANKS, STEPS, write_job

COLLECTIVES = 2 * STEPS


def trace_processor():
    given = os.environ.get("PERFETTO_TRACE_PROCESSOR")
    beside = pathlib.Path(__file__).resolve().parents[3] / "shared/tools/trace_processor/trace_processor_shell"
    found = given or (str(beside) if beside.exists() and shutil.which("node") else None)
    return found


def load(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def kernels_of_collectives(trace):
    """Sequence → (begin, end, pid), in nanoseconds of the trace's clock."""
    base = trace["baseTimeNanoseconds"]
    out = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and "Seq" in event.get("args", {}):
            begin = base + round(1000 * event["ts"])
            out[event["args"]["Seq"]].append((begin, begin + round(1000 * event["dur"]), event["pid"]))
    return out


def process_names(trace):
    return {
        event["pid"]: event["args"]["name"]
        for event in trace["traceEvents"]
        if event["ph"] == "M" and event["name"] == "process_name"
    }


class JobTrace(CommandLine):
    def export(self, *arguments, status=0):
        result = self.prof("export", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def arrows(self, trace):
        """(id → the slice at its start, id → at its end), each as (pid, Seq)."""
        slices = defaultdict(list)
        for event in trace["traceEvents"]:
            if event["ph"] == "X" and event.get("cat") == "kernel":
                slices[event["pid"], event["tid"]].append(event)
        out = {"s": {}, "f": {}}
        for event in trace["traceEvents"]:
            if event["ph"] not in "sf" or event["cat"] != "collective":
                continue
            around = [
                each
                for each in slices[event["pid"], event["tid"]]
                if each["ts"] <= event["ts"] < each["ts"] + each["dur"]
            ]
            self.assertEqual(len(around), 1, event)
            self.assertNotIn(event["id"], out[event["ph"]])
            out[event["ph"]][event["id"]] = (event["pid"], around[0]["args"]["Seq"], event["ts"])
        self.assertEqual(set(out["s"]), set(out["f"]))
        return out["s"], out["f"]

    def test_all_ranks_on_one_clock(self):
        folder, alone, place = self.dir / "job", self.dir / "alone", self.dir / "job.json"
        write_job(folder)
        result = self.export(folder, "-o", place)
        self.assertNotRegex(result.stderr, "aligned|arrows left out")
        self.assertIn(f"; {RANKS} ranks, {COLLECTIVES * (RANKS - 1)} arrows between them\n", result.stdout)
        self.export(folder, "-o", f"{alone}/", "--format", "json")
        trace = load(place)

        # A process for each rank, and one for its GPU, in the ranks' order.
        names = process_names(trace)
        order = {
            event["pid"]: event["args"]["sort_index"]
            for event in trace["traceEvents"]
            if event["ph"] == "M" and event["name"] == "process_sort_index"
        }
        shown = [names[pid].split(":")[0] for pid in sorted(order, key=order.get)]
        self.assertEqual(shown, [f"rank {rank}" for rank in range(RANKS) for _ in range(2)])

        # The slices are those of each rank's own trace.
        slices = defaultdict(Counter)
        for event in trace["traceEvents"]:
            if event["ph"] == "X":
                slices[names[event["pid"]].split(":")[0]][event["cat"], event["name"], round(1000 * event["dur"])] += 1
        for rank in range(RANKS):
            own = Counter(
                (event["cat"], event["name"], round(1000 * event["dur"]))
                for event in load(alone / f"rank{rank}.trace.json")["traceEvents"]
                if event["ph"] == "X"
            )
            found = slices[f"rank {rank}"]
            self.assertEqual(sum(own.values()), sum(found.values()))
            # A drift of the clocks, which is within the fit's error, may change a length by a nanosecond.
            self.assertEqual(Counter(key[:2] for key in own.elements()), Counter(key[:2] for key in found.elements()))
            for a, b in zip(sorted(own.elements()), sorted(found.elements()), strict=True):
                self.assertLessEqual(abs(a[2] - b[2]), 2, (a, b))

        # No kernel of a collective ends before the last has begun, although the clocks differ by 71 ms.
        together = kernels_of_collectives(trace)
        self.assertEqual({len(members) for members in together.values()}, {RANKS})
        self.assertEqual(len(together), COLLECTIVES)
        for members in together.values():
            self.assertLess(max(begin for begin, _, _ in members), min(end for _, end, _ in members))
        apart = [kernels_of_collectives(load(alone / f"rank{rank}.trace.json")) for rank in range(RANKS)]
        for sequence in together:
            begins = [each[sequence][0][0] for each in apart]
            ends = [each[sequence][0][1] for each in apart]
            self.assertGreater(max(begins), min(ends))
        self.assertGreater(max(OFFSETS) - min(OFFSETS), 70_000)

        # Each collective has an arrow from each of the others to the last arrival.
        starts, ends = self.arrows(trace)
        self.assertEqual(len(starts), COLLECTIVES * (RANKS - 1))
        for number, (pid, sequence, at) in starts.items():
            last, same, later = ends[number]
            self.assertEqual(sequence, same)
            self.assertNotEqual(pid, last)
            self.assertLess(at, later)
            self.assertEqual(max(together[sequence])[2], last)
        clocks = [each["clock"] for each in trace["libprof"]["captures"]]
        for rank, clock in enumerate(clocks):
            error = clock["statistical_error_ns"] + clock["systematic_error_ns"]
            self.assertLessEqual(abs(clock["offset_ns"] - 1000 * OFFSETS[rank]), error + 1)

    def test_chosen_ranks_and_steps(self):
        folder, place = self.dir / "job", self.dir / "part.json.gz"
        write_job(folder)
        self.export(folder, "-o", place, "--ranks", "0,2-3", "--steps", "3:5")
        trace = load(place)
        self.assertEqual({name.split(":")[0] for name in process_names(trace).values()}, {"rank 0", "rank 2", "rank 3"})
        together = kernels_of_collectives(trace)
        self.assertEqual(sorted(together), [6, 7, 8, 9])
        self.assertEqual({len(members) for members in together.values()}, {3})
        starts, _ = self.arrows(trace)
        self.assertEqual(len(starts), 4 * 2)
        # The clocks are those of all ranks: the same moments as in the trace of all.
        self.export(folder, "-o", self.dir / "all.json")
        whole = kernels_of_collectives(load(self.dir / "all.json"))
        for sequence, members in together.items():
            self.assertLessEqual({member[:2] for member in members}, {member[:2] for member in whole[sequence]})
        # Standard output has it, too.
        result = self.export(folder, "-o", "-", "--format", "json", "--ranks", "1")
        self.assertEqual({name.split(":")[0] for name in process_names(json.loads(result.stdout)).values()}, {"rank 1"})
        self.assertIn("1 rank, 0 arrows", result.stderr)

    def test_refuses_what_it_cannot_do(self):
        folder = self.dir / "job"
        write_job(folder)
        result = self.export(folder, "-o", self.dir / "x.json", "--ranks", "7-9", status=1)
        self.assertIn("none of the captures is of a rank that --ranks names", result.stderr)
        self.assertFalse((self.dir / "x.json").exists())
        result = self.export(folder, "-o", self.dir / "x.json", "--ranks", "3,7-9")
        self.assertIn("of 3 ranks that --ranks names there is no capture", result.stderr)
        self.assertIn("--ranks is for one trace of a job", self.export(folder, "--ranks", "1", status=2).stderr)
        self.assertIn("0,2,8-15", self.export(folder, "-o", self.dir / "y.json", "--ranks", "3-1", status=2).stderr)
        for trace in list(folder.iterdir()):
            trace.rename(trace.with_name("first_" + trace.name))
        write_job(folder)
        result = self.export(folder, "-o", self.dir / "z.json")
        self.assertIn(f"{RANKS} second captures of processes are not in the trace", result.stderr)
        write_job(folder, late=0)
        result = self.export(folder, "-o", self.dir / "z.json", status=1)
        self.assertIn("these are captures of 2 jobs", result.stderr)

    def test_perfetto_reads_it(self):
        program = trace_processor()
        if program is None:
            self.skipTest("no trace processor: set PERFETTO_TRACE_PROCESSOR")
        folder, place = self.dir / "job", self.dir / "job.json.gz"
        write_job(folder)
        self.export(folder, "-o", place)
        trace = load(place)
        query = """
            select 'error' as kind, name as a, value as b, 0 as c, 0 as d
              from stats where severity in ('error', 'data_loss') and value > 0
            union all select 'slices', process.name, count(*), 0, 0 from slice join thread_track
              on slice.track_id = thread_track.id join thread using (utid) join process using (upid) group by upid
            union all select 'arrow', a.name, a.ts, b.ts, a.ts + a.dur from flow
              join slice as a on flow.slice_out = a.id join slice as b on flow.slice_in = b.id
              where a.name like 'nccl%' and b.name like 'nccl%';
        """
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(query)
            file.flush()
            out = subprocess.run([program, "-q", file.name, str(place)], check=True, capture_output=True, text=True)
        rows = list(csv.reader(io.StringIO(out.stdout)))[1:]
        self.assertEqual([row for row in rows if row[0] == "error"], [])
        names = process_names(trace)
        written = Counter(names[event["pid"]] for event in trace["traceEvents"] if event["ph"] == "X")
        self.assertEqual({row[1]: int(row[2]) for row in rows if row[0] == "slices"}, dict(written))
        arrows = [row for row in rows if row[0] == "arrow"]
        self.assertEqual(len(arrows), COLLECTIVES * (RANKS - 1))
        for _, _, begin, last, end in arrows:
            self.assertTrue(int(begin) <= int(last) < int(end), (begin, last, end))
        # All of a collective lead to one slice: that of its last arrival.
        self.assertEqual(len({row[3] for row in arrows}), COLLECTIVES)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
