#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which rank holds a job up, what it costs, and what communication costs, against jobs that are run again without it.

job_prices_test.py PROF STUB_LIBPROF [TEST...]
"""
import json
import sys
import unittest

from cli_test import CommandLine
from simulated_ranks import Job, collective, compute, host, noise, transfer, wait

ALL = range(4)


def data_parallel(late=lambda rank, step, layer: 0, is_overlapped=True, layers=4, host_late=lambda rank: 0):
    def script(rank, step):
        out = [host(host_late(rank)), compute(1500 + noise(rank, step), "forward")]
        for layer in range(layers):
            out += [compute(1000 + noise(rank, step, layer) + late(rank, step, layer), "backward"), collective(ALL, 200)]
            out += [] if is_overlapped else [wait()]
        return [*out, wait(), compute(400, "adam")]

    return script


def hybrid_sharded(late=lambda rank: 0, between=0):
    """A reduce-scatter in a host, then an all-reduce between the hosts in another stream, at once."""
    def script(rank, step):
        shard = range(4) if rank < 4 else range(4, 8)
        out = [compute(3000 + noise(rank, step) + late(rank), "backward")]
        for _ in range(3):
            out += [collective(shard, 300, "_reduce_scatter_base"), wait()]
            out += [compute(between)] if between else []
            out += [collective((rank % 4, rank % 4 + 4), 500, stream=22), wait(22)]
        return [*out, compute(500, "adam")]

    return script


def decoding(length, late=lambda rank: 0):
    """Tensor parallel: short kernels, each with a collective."""
    return lambda rank, step: [each for layer in range(60)
                               for each in (compute(length + late(rank) + noise(rank, step, layer, deviation=0.3)),
                                            collective(ALL, 10), wait())]  # fmt: skip


def called_ahead(late=lambda rank: 0, layers=4):
    """All-gathers of the next layer, which wait for none of this one's work, as FSDP's do."""
    def script(rank, step):
        out = [collective(ALL, 300, "_allgather_base", waits_for_work=False)]
        for layer in range(layers):
            out += [wait()]
            if layer + 1 < layers:
                out += [collective(ALL, 300, "_allgather_base", waits_for_work=False)]
            out += [compute(700 + 300 * (layer % 2) + noise(rank, step, layer) + late(rank), "forward")]
        return out

    return script


def pipeline(stages, late=lambda rank: 0, batches=4):
    """Forward through all stages, batch by batch, then backward."""
    def script(rank, step):
        out = []
        for batch in range(batches):
            out += [transfer(rank - 1, rank, 50), wait(30)] if rank > 0 else []
            out += [compute(500 + late(rank) + noise(rank, step, batch), "forward")]
            out += [transfer(rank, rank + 1, 50, 31)] if rank + 1 < stages else []
        for batch in range(batches):
            out += [transfer(rank + 1, rank, 50, 32), wait(32)] if rank + 1 < stages else []
            out += [compute(1000 + noise(rank, step, batch, 1), "backward")]
            out += [transfer(rank, rank - 1, 50, 33)] if rank > 0 else []
        return out

    return script


class JobPrices(CommandLine):
    def answer(self, script, ranks=ALL, steps=20, **options):
        job = Job(ranks, steps, script, **options)
        self.folder = job.write(self.dir / f"job{len(list(self.dir.iterdir()))}")
        result = self.prof("report", self.folder, "--report", "ranks,stragglers", "--format", "json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        found, stragglers = json.loads(result.stdout)
        self.assertAlmostEqual(found["step_ns"], 1000 * job.step_us(), delta=20 * job.step_us())
        return job, found, stragglers["rows"]

    def check_exposed(self, job, found):
        gain = job.step_us() - Job(job.ranks, job.steps, job.script, transfers=0).step_us()
        self.assertAlmostEqual(found["exposed_communication_ns"] / 1000, gain, delta=0.03 * gain + 2)

    def check_late(self, name, late, fast, ranks=ALL, steps=20, tolerance=0.03, offsets=None):
        job, found, rows = self.answer(late, ranks, steps, offsets=offsets)
        self.assertEqual([row["name"] for row in rows], [name], found["verdict"])
        gain = job.step_us() - Job(ranks, steps, fast).step_us()
        self.assertAlmostEqual(rows[0]["gain_ns"] / 1000, gain, delta=tolerance * gain + rows[0]["gain_error_ns"] / 1000)
        self.check_exposed(job, found)
        return rows[0]

    def test_overlapped_collectives_of_traces_that_lack_events(self):
        clocks = dict(enumerate((0, 70_000, -1_200, 33)))
        for of in (lambda rank, step, layer: 800 * (rank == 2 and layer == 1), lambda rank, step, layer: 250 * (rank == 2)):
            self.check_late("rank 2", data_parallel(of), data_parallel(), offsets=clocks)
        self.check_late("rank 1", data_parallel(host_late=lambda rank: 900 * (rank == 1)), data_parallel())

    def test_collectives_that_follow_each_other_in_several_streams(self):
        for between in (0, 10):
            self.check_late("rank 6", hybrid_sharded(lambda rank: 400 * (rank == 6), between), hybrid_sharded(between=between),
                            range(8))  # fmt: skip
            job, found, rows = self.answer(hybrid_sharded(between=between), range(8))
            self.assertEqual(rows, [])
            self.check_exposed(job, found)

    def test_short_kernels_between_collectives(self):
        for length in (12, 18, 22, 40):
            with self.subTest(length=length):
                self.check_late("rank 1", decoding(length, lambda rank, more=0.2 * length: more * (rank == 1)), decoding(length))

    def test_collectives_that_are_called_ahead(self):
        self.check_late("rank 1", called_ahead(lambda rank: 100 * (rank == 1)), called_ahead())

    def test_a_stage_of_a_pipeline_has_its_peers_alone(self):
        self.check_late("rank 3", pipeline(8, lambda rank: 300 * (rank == 3)), pipeline(8), range(8))
        # The first and the last send and receive as no other stage does: nobody knows what they should take.
        for late in (0, 3):
            _, found, rows = self.answer(pipeline(4, lambda rank, late=late: 300 * (rank == late)), range(4))
            self.assertEqual(rows, [])
            self.assertRegex(found["verdict"], "^no rank that has peers holds the job up: .*; ranks 0 and 3 call collectives as no other")
            self.assertEqual({row["rank"] for row in found["rows"] if row["gain_ns"] is None}, {0, 3})

    def test_a_rank_that_is_slow_in_some_steps(self):
        for name, steps in (("every other", lambda step: step % 2 == 0), ("two of three", lambda step: step % 3 != 0),
                            ("every third", lambda step: step % 3 == 0), ("by chance", lambda step: noise("late", step) > 0)):
            with self.subTest(name):
                late = lambda rank, step, layer, steps=steps: 900 * (rank == 1 and layer == 1 and steps(step))
                # All steps have a length of their own here: the mean of those that count is compared.
                row = self.check_late("rank 1", data_parallel(late, False), data_parallel(is_overlapped=False), tolerance=0.06)
                self.assertTrue(row["is_passing"])
        # One that becomes slower from step to step is no two kinds of steps.
        job, _, (row,) = self.answer(data_parallel(lambda rank, step, layer: 60 * step * (rank == 1 and layer == 1), False))
        gain = job.step_us() - Job(ALL, 20, data_parallel(is_overlapped=False)).step_us()
        self.assertAlmostEqual(row["gain_ns"] / 1000, gain, delta=row["gain_error_ns"] / 1000)

    def test_ranks_that_take_turns(self):
        script = data_parallel(lambda rank, step, layer: 800 * (step % 4 == rank and layer == 1), False)
        _, found, rows = self.answer(script)
        self.assertEqual(rows, [])
        waits = sum(row["wait_ns"] for row in found["rows"]) / len(found["rows"])
        self.assertRegex(found["verdict"], rf"; a rank waits for others {waits / 1e6:.2f} ms of each step in the mean \(")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
