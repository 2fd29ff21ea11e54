#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of real processes on the simulated GPU that come to a stand and are killed: prof report and prof diagnose of
their captures say in which collective, for whom, and where that rank is.

    standstill_test.py PROF FAKE_CUPTI JOB_RANK_VICTIM
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROF, FAKE_CUPTI, VICTIM = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
STANDS = 4.5  # seconds; 2 are the least that count


def stopped_job(folder, ends):
    """Runs a rank for each of `ends`; those that wait are killed after STANDS seconds."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PROF_")}
    runs = []
    for rank, end in enumerate(ends):
        mine = environment | {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(len(ends))}
        command = [PROF, "run", "-o", str(folder / "captures"), "--cupti-library", FAKE_CUPTI, "--", VICTIM]
        runs.append(
            subprocess.Popen([*command, str(folder), str(rank), str(len(ends)), end], env=mine, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)  # fmt: skip
        )
    waits = [rank for rank, end in enumerate(ends) if end not in ("end", "die")]
    deadline = time.monotonic() + 60
    while any(not (folder / f"stands.{rank}").exists() for rank in waits):
        assert time.monotonic() < deadline, [run.poll() for run in runs]
        time.sleep(0.01)
    until = time.monotonic() + STANDS
    while time.monotonic() < until:
        time.sleep(0.1)
    for rank in waits:
        os.kill(int((folder / f"stands.{rank}").read_text()), signal.SIGKILL)
    for run in runs:
        run.communicate(timeout=60)
    return str(folder / "captures")


class Standstill(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)

    def shown(self, *arguments):
        result = subprocess.run([PROF, *arguments], capture_output=True, text=True, timeout=60)
        return " ".join(result.stdout.split())

    def rows(self, captures):
        result = subprocess.run(
            [PROF, "report", captures, "--report", "standstill", "--format", "json"], capture_output=True, text=True
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["rows"]

    def test_one_rank_is_in_its_loader(self):
        captures = stopped_job(self.dir, ["reduce", "loader", "reduce"])
        rows = self.rows(captures)
        self.assertEqual([(row["rank"], row["has_called"]) for row in rows], [(1, False), (0, True), (2, True)])
        for row in rows:
            self.assertEqual(
                (row["kind"], row["communicator"], row["function"], row["number"], row["bytes"]),
                ("not called", "dp", "all_reduce", 6, 4 << 20),
            )
            self.assertIn("SIGKILL", row["ended"])
        self.assertEqual(rows[0]["place"], "next batch")
        self.assertEqual(rows[0]["last_collective"], "all_reduce number 5 of dp (4,194,304 bytes)")
        self.assertEqual(rows[1]["call"], "cudaDeviceSynchronize")
        for row in rows[1:]:
            # What is known of a process that was killed ends up to 1.1 s before.
            self.assertTrue((STANDS - 1.2) * 1e9 < row["waits_ns"] < (STANDS + 10) * 1e9, row)
        for command in ("report", "diagnose"):
            text = self.shown(command, captures)
            self.assertRegex(
                text, r"Ranks 0 and 2 wait for [\d.]+ s in all_reduce number 6 of dp \(4,194,304 bytes\), called in "
                r"forward, which rank 1 has not called\. Rank 1 is in next batch for"
            )  # fmt: skip

    def test_two_ranks_call_in_another_order(self):
        captures = stopped_job(self.dir, ["reduce", "gather", "reduce"])
        rows = self.rows(captures)
        self.assertEqual(
            [(row["kind"], row["rank"], row["function"], row["number"]) for row in rows],
            [("another call", rank, *call) for rank, *call in
             [(1, "all_gather", 0), (0, "all_reduce", 6), (2, "all_reduce", 6)]],
        )  # fmt: skip
        self.assertIn("Rank 1 has called all_gather number 0 of dp", self.shown("report", captures))

    def test_a_rank_died_and_a_rank_ended(self):
        captures = stopped_job(self.dir, ["reduce", "die", "end"])
        rows = self.rows(captures)
        self.assertEqual([(row["rank"], row["has_called"]) for row in rows], [(1, False), (2, False), (0, True)])
        self.assertIn("SIGABRT", rows[0]["ended"])
        self.assertEqual(rows[0]["place"], "next batch")
        for row in rows[:2]:
            self.assertGreater(row["ended_before_ns"], 2e9)
        text = self.shown("report", captures)
        self.assertRegex(text, r"Rank 1 ended [\d.]+ s before the others \(the process was killed by signal 6 \(SIGABRT\)")

    def test_a_job_that_ends_has_none(self):
        captures = stopped_job(self.dir, ["end", "end", "end"])
        self.assertEqual(self.rows(captures), [])
        for command in ("report", "diagnose"):
            self.assertNotRegex(self.shown(command, captures), "[Ww]aits? for [0-9]|has not called|has not ended")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
