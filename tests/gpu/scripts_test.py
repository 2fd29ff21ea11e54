#!/usr/bin/env python3
"""Tests of the measurement scripts on small inputs worked by hand; needs no GPU."""

import pathlib
import random
import statistics
import struct
import sys
import tempfile
import threading
import unittest
import unittest.mock
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import budget
import budget_cost
import capture_chunks
import capture_range
import check_projection
import check_ranks
import check_truth
import compare_torch
import export_speed
import graphs
import idle_graphs
import launch_rate
import overhead
import pytorch_ranges
import report_table
import residue
import residue_cost
import residue_server
import start_stop
import profiler_beside
import windows


def kernel(name, instances, total_ns):
    return {"name": name, "instances": instances, "total_ns": total_ns}


def row(path, **values):
    zero = {column: 0 for column in ("host_ns", "gpu_sum_ns", "gpu_self_ns", "gpu_busy_ns", "ops", "adopted_ops")}
    return {"path": path, **zero, **values}


def operator(name, calls, gpu_self_ns):
    return {"name": name, "calls": calls, "gpu_self_ns": gpu_self_ns}


class PytorchOperators(unittest.TestCase):
    def test_equal_calls_and_close_times_are_right(self):
        ours = [operator("aten::mm", 4, 1020), operator("aten::add", 2, 30), operator("forward", 1, 0)]
        theirs = [operator("aten::mm", 4, 1000), operator("aten::add", 2, 33), operator("forward", 1, 0),
                  operator("cudaLaunchKernel", 9, 0), operator("Memcpy HtoD", 3, 70)]
        self.assertEqual(pytorch_ranges.compare(ours, theirs, 0.03), [])

    def test_each_difference_is_a_fault(self):
        right = [operator("aten::mm", 4, 1000), operator("aten::add", 2, 100)]
        for wrong in ([operator("aten::mm", 5, 1000), right[1]], [right[0]], [*right, operator("aten::t", 1, 0)],
                      [operator("aten::mm", 4, 1040), right[1]], [right[0], operator("aten::add", 2, 104)], []):
            self.assertTrue(pytorch_ranges.compare(wrong, right, 0.03), wrong)
        self.assertTrue(pytorch_ranges.compare([operator("a", 1, 0)], [operator("a", 1, 0)], 0.03))


class IdleGraphs(unittest.TestCase):
    def test_remembered_nodes_are_counted_in_earlier_chunks_only(self):
        def chunk(kind, *record_kinds):
            records = b"".join(struct.pack("<2Q3IH2B", 1, 2, 0, 0, 0, 0, record_kind, 0) for record_kind in record_kinds)
            payload = struct.pack("<Q", 0) + records
            return struct.pack("<4IQ4I", 0x4B4E4843, kind, 0, 0, 1, len(payload), len(payload), 0, 0) + payload

        with tempfile.NamedTemporaryFile() as capture:
            capture.write(bytes(64) + chunk(5, 9, 10) + chunk(14, 15, 1, 9, 9, 2, 10) + chunk(14, 15, 9) + chunk(11))
            capture.flush()
            self.assertEqual(idle_graphs.remembered_nodes(capture.name), (3, 1))

    def test_the_other_graph_owns_all_that_its_launches_did(self):
        rows = [row("other #", ops=20, self_ops=0, captured=False),
                row("other #/other", ops=20, self_ops=20, captured=True)]
        self.assertEqual(idle_graphs.other_faults({"rows": rows}), [])
        self.assertTrue(idle_graphs.other_faults({"rows": rows[:1]}))
        for wrong in ({"ops": 21}, {"self_ops": 1}):
            self.assertTrue(idle_graphs.other_faults({"rows": [rows[0] | wrong, rows[1]]}), wrong)
        self.assertTrue(idle_graphs.other_faults({"rows": [rows[0], rows[1] | {"captured": False}]}))


class Budget(unittest.TestCase):
    def test_a_segment_is_compared_with_those_beside_it(self):
        costs = budget.costs([10, 12, 20], [11.11, 16.08])
        self.assertAlmostEqual(costs[0], 0.01)
        self.assertAlmostEqual(costs[1], 0.005)

    def test_estimates_are_pooled_by_steps_and_compared(self):
        def report(steps, ns, half_width):
            rows = [{"path": path, "gpu_ns": value, "half_width_ns": half_width}
                    for path, value in (("a", ns), ("all GPU work", 1000))]
            return {"captured_steps": steps, "rows": rows}

        pooled = budget.pooled([report(1, 100, None), report(3, 200, 8)])
        self.assertAlmostEqual(pooled["a"][0], 175)
        self.assertAlmostEqual(pooled["a"][1], 6)
        full = {"a": (180, 0), "b": (100, 0), "small": (9, 0), "all GPU work": (1000, 0)}
        self.assertEqual([(row[0], row[-1]) for row in budget.compare(pooled, full)],
                         [("a", True), ("b", False), ("all GPU work", True)])
        self.assertFalse(budget.compare({**pooled, "a": (175, 0)}, full)[0][-1])


class BudgetCost(unittest.TestCase):
    def test_windows_are_read_from_a_capture(self):
        def entry(epoch, end, first, last):
            return struct.pack("<2I6Q2I", epoch, 0, 5, end, first, last, 0, 0, 1, 0)

        def chunk(kind, payload, flags=0):
            stored = zlib.compress(payload) if flags else payload
            header = struct.pack("<4IQ4I", 0x4B4E4843, kind, flags, 0, 0, len(stored), len(payload), 0, 0)
            return header + stored + bytes(-len(stored) % 8)

        with tempfile.NamedTemporaryFile() as capture:
            capture.write(bytes(64) + chunk(13, entry(1, 0, 7, 0)) + chunk(5, bytes(72)) + chunk(13, entry(1, 9, 7, 8), 1)
                          + chunk(13, entry(3, 0, 90, 0) + entry(2, 9, 40, 40)) + chunk(11, bytes(3)))
            capture.flush()
            self.assertEqual(capture_chunks.windows(capture.name), [[7, 8], [40, 40], [90, 90]])

    def test_a_region_is_a_window_with_what_is_beside_it(self):
        # The window of steps 30 and 31 ends in the call that begins step 32, the third of the ten after it.
        self.assertEqual(budget_cost.regions([[30, 31]], 100), [[27, 41]])
        self.assertEqual(budget_cost.regions([[43, 43], [30, 31]], 100), [[27, 53]])
        self.assertEqual(budget_cost.regions([[44, 44], [30, 31]], 100), [[27, 54]])
        self.assertEqual(budget_cost.regions([[45, 45], [1, 1], [99, 99]], 100), [[0, 11], [42, 55], [96, 100]])
        self.assertEqual(budget_cost.regions([[200, 201]], 100), [])  # begun when no step was timed any more

    def test_a_known_excess_is_found_exactly_where_steps_are_alike(self):
        times = [2.0] * 300
        times[99] += 50.0  # the call that opens the window of step 100
        times[100] += 7.0  # the one that ends it
        times[110] = 5.0  # a long step of its own: not the window's
        times[200] = 1000.0  # a stall
        figure = budget_cost.cost([budget_cost.Stretch(times, [[100, 100]])], once=3.0, resamplings=10)
        plain = 300 - 13
        base = (2.0 * (plain - 2) + 5.0) / (plain - 1)  # what plain steps take, but for the stall
        excess = 3.0 + 57.0 + 13 * (2.0 - base)
        self.assertAlmostEqual(figure["mean"], excess / (sum(times) - excess))
        self.assertEqual(figure["windows"], 1)

    def steps(self, source, excess, windows, count=1500):
        """A launch-bound training: steps with a long tail, in a machine that drifts and has slow times."""
        times = []
        slow = 1.0
        for i in range(count):
            if source.random() < 0.01:
                slow = source.choice((1.0, 1.0, 1.2))
            times.append(26 * (1 + 0.05 * i / count) * slow * (1 + source.expovariate(1) * 0.12))
        for first, last in windows:
            times[first - 1] += excess / 2
            times[last] += excess / 2
        return times

    def figures(self, excess, trials=40):
        windows = [[at, at + at % 3] for at in range(60, 1450, 115)]
        errors, held = [], 0
        for seed in range(trials):
            source = random.Random(seed)
            stretches = [budget_cost.Stretch(self.steps(source, excess, windows), windows)]
            figure = budget_cost.cost(stretches, resamplings=200)
            truth = len(windows) * excess / (stretches[0].total - len(windows) * excess)
            errors.append(figure["mean"] - truth)
            held += figure["interval95"][0] <= truth <= figure["interval95"][1]
        return statistics.fmean(errors), statistics.stdev(errors), held / trials

    def test_the_estimate_is_unbiased_and_its_interval_holds_the_truth(self):
        for excess in (0.0, 60.0):  # of 26 ms steps: 0 and 1.7 % of the run
            error, deviation, held = self.figures(excess)
            self.assertLess(abs(error), 0.0008, excess)
            self.assertLess(deviation, 0.0025, excess)
            self.assertGreaterEqual(held, 0.8, excess)

    def test_few_windows_decide_nothing(self):
        figure = {"interval95": [0.001, 0.002], "windows": 8}
        self.assertEqual(budget_cost.verdict(figure, 0.01), "holds")
        self.assertEqual(budget_cost.verdict(figure | {"windows": 7}, 0.01), "inconclusive")
        with self.assertRaisesRegex(ValueError, "too few"):
            budget_cost.Stretch([1.0] * 53, [[20, 20]])


class CompareTorch(unittest.TestCase):
    def test_equal_counts_and_close_times_are_equal(self):
        ours = [kernel("gemm<float>", 10, 1000), kernel("softmax", 4, 400)]
        theirs = [kernel("softmax", 4, 410), kernel("gemm<float>", 10, 1020)]
        result = compare_torch.compare(ours, theirs, steps=2, tolerance=0.03)
        self.assertEqual(result["verdict"], "equal")
        self.assertAlmostEqual(result["time_ratio"], 1400 / 1430)
        self.assertEqual(result["prof_ns_per_step"], 700)
        self.assertEqual(result["torch_ns_per_step"], 715)
        self.assertEqual((result["prof_instances"], result["torch_instances"]), (14, 14))

    def test_one_kernel_more_is_different_though_the_totals_agree(self):
        ours = [kernel("a", 10, 1000), kernel("b", 5, 500)]
        theirs = [kernel("a", 11, 1000), kernel("b", 4, 500)]
        result = compare_torch.compare(ours, theirs, steps=1, tolerance=0.03)
        self.assertEqual(result["verdict"], "different")
        self.assertEqual([each["name"] for each in result["differing"]], ["a", "b"])

    def test_a_name_that_only_one_side_has_is_different(self):
        result = compare_torch.compare([kernel("a", 1, 100)], [kernel("b", 1, 100)], steps=1, tolerance=0.03)
        self.assertEqual(len(result["differing"]), 2)
        self.assertFalse(result["counts_equal"])

    def test_time_beyond_the_tolerance_is_different(self):
        for total_ns, verdict in ((1029, "equal"), (1031, "different"), (969, "different")):
            result = compare_torch.compare([kernel("a", 1, total_ns)], [kernel("a", 1, 1000)], 1, 0.03)
            self.assertEqual(result["verdict"], verdict, total_ns)

    def test_blanks_in_names_do_not_matter_and_equal_names_are_added(self):
        ours = [kernel("f<int, 4>(int*)", 1, 10), kernel("f<int,4>(int *)", 2, 20)]
        result = compare_torch.compare(ours, [kernel("f<int, 4>(int *)", 3, 30)], steps=1, tolerance=0)
        self.assertEqual((result["verdict"], result["kernel_names"]), ("equal", 1))

    def test_nothing_on_either_side_is_no_agreement(self):
        self.assertEqual(compare_torch.compare([], [], steps=1, tolerance=0.03)["verdict"], "different")

    def test_the_text_shows_a_differing_kernel_however_short(self):
        ours = [kernel(f"long {i}", 1, 10_000 - i) for i in range(40)] + [kernel("tiny", 1, 1)]
        theirs = [kernel(f"long {i}", 1, 10_000 - i) for i in range(40)]
        result = compare_torch.compare(ours, theirs, steps=1, tolerance=0.03)
        self.assertIn("tiny", compare_torch.text(result))
        self.assertNotIn("long 39", compare_torch.text(result))


class Graphs(unittest.TestCase):
    def report(self, captured, forward=300, backward=600, optimizer=100):
        def part(name, sum_ns):
            return row(f"iteration #/{name}", gpu_sum_ns=sum_ns, gpu_self_ns=sum_ns, ops=40, self_ops=40,
                       captured=captured, instances=20, host_ns=0 if captured else 7)

        whole = forward + backward + optimizer
        rows = [row("iteration #", gpu_sum_ns=whole, ops=120, self_ops=0, captured=False, instances=20),
                part("forward", forward), part("backward", backward), part("optimizer_step", optimizer),
                row("(ambiguous)", captured=False), row("(unmatched)", captured=False)]
        return {"total_gpu_ns": whole, "rows": rows, "dropped": {}, "notes": [], "ops_of_unseen_captures": 0,
                "ops_of_ambiguous_captures": 0}

    def test_equal_shares_are_no_fault_whatever_the_times(self):
        self.assertEqual(graphs.shares(self.report(True)), {"forward": 0.3, "backward": 0.6, "optimizer_step": 0.1})
        self.assertEqual(graphs.replay_faults(self.report(False), self.report(True, 150, 300, 50)), [])

    def test_a_share_beyond_the_tolerance_is_a_fault(self):
        eager = self.report(False)
        self.assertEqual(graphs.replay_faults(eager, self.report(True, 302, 600, 98)), [])
        faults = graphs.replay_faults(eager, self.report(True, 310, 600, 90))
        self.assertEqual([fault.split(":")[0] for fault in faults], ["optimizer_step"])

    def test_work_without_its_capture_is_a_fault(self):
        replay = self.report(True)
        replay["ops_of_unseen_captures"] = 3
        replay["rows"][0]["self_ops"] = 3
        self.assertEqual(len(graphs.replay_faults(self.report(False), replay)), 2)

    def test_rows_that_are_not_captured_are_a_fault(self):
        self.assertEqual(len(graphs.replay_faults(self.report(False), self.report(False))), 3)

    def test_an_uncaptured_row_of_the_same_path_does_not_hide_the_captured_one(self):
        replay = self.report(True)
        replay["rows"].append(row("iteration #/forward", captured=False, instances=1, gpu_sum_ns=5))
        self.assertEqual(graphs.replay_faults(self.report(False), replay), [])

    def test_lost_time_and_lost_records_are_faults(self):
        report = self.report(True)
        report["total_gpu_ns"] += 1
        report["dropped"] = {"ring_full": 2}
        report["notes"] = ["4 launches have no GPU record: the work had not completed, or its record was lost"]
        report["rows"][0]["instances"] = 19
        self.assertEqual(len(graphs.common_faults(report)), 4)

    def test_a_graph_recorded_as_a_whole_is_one_operation_a_step(self):
        report = self.report(True)
        kernels = {"rows": [{"name": "CUDA graph 3", "instances": 20}, {"name": "other", "instances": 5}]}
        self.assertEqual(len(graphs.whole_faults(report, kernels)), 1)
        report["rows"][0]["ops"] = 20
        self.assertEqual(graphs.whole_faults(report, kernels), [])
        self.assertEqual(len(graphs.whole_faults(report, {"rows": []})), 1)


class CheckProjection(unittest.TestCase):
    def report(self):
        return {
            "total_gpu_ns": 100,
            "rows": [
                row("iteration #", gpu_self_ns=5, ops=9),
                row("iteration #/data_to_device", gpu_self_ns=10, ops=1),
                row("iteration #/forward", gpu_self_ns=20, ops=2),
                row("iteration #/backward", gpu_self_ns=40, ops=4, adopted_ops=4),
                row("iteration #/optimizer_step", gpu_self_ns=20, ops=2),
                row("(no range)", gpu_self_ns=5, ops=1),
                row("(ambiguous)"),
                row("(unmatched)"),
            ],
            "dropped": {"ring_full": 0},
        }

    def test_a_good_report_has_no_faults(self):
        self.assertEqual(check_projection.faults(self.report(), adopted=True), [])

    def test_a_lost_nanosecond_is_a_fault(self):
        report = self.report()
        report["total_gpu_ns"] += 1
        self.assertEqual(len(check_projection.faults(report, adopted=False)), 1)

    def test_ambiguous_unmatched_and_dropped_work_is_a_fault(self):
        report = self.report()
        report["rows"][-1]["ops"] = 1
        report["rows"][-2]["ops"] = 1
        report["dropped"]["ring_full"] = 3
        self.assertEqual(len(check_projection.faults(report, adopted=False)), 3)

    def test_a_range_without_gpu_work_is_a_fault_and_nested_namesakes_do_not_help(self):
        report = self.report()
        report["rows"][2]["path"] = "iteration #/backward/forward"
        self.assertEqual(check_projection.faults(report, adopted=False), ["forward has no GPU work"])

    def test_a_backward_that_adopted_nothing_is_a_fault_where_it_should(self):
        report = self.report()
        report["rows"][3]["adopted_ops"] = 0
        self.assertEqual(check_projection.faults(report, adopted=False), [])
        self.assertEqual(check_projection.faults(report, adopted=True), ["backward has adopted nothing"])

    def test_unfolded_iterations_are_understood(self):
        report = self.report()
        for each in report["rows"]:
            each["path"] = each["path"].replace("#", "12")
        self.assertEqual(check_projection.faults(report, adopted=True), [])


class CheckTruth(unittest.TestCase):
    """One step of forward (with a layer in it) and a replayed graph, worked by hand."""

    def journal(self):
        def kernel(name, start_us, end_us, opened, **more):
            return {
                "kind": "kernel",
                "device": 0,
                "open": opened,
                "adopted": False,
                "name": name,
                "requested_ns": 1000 * (end_us - start_us),
                "start_ns": 1000 * start_us,
                "end_ns": 1000 * end_us,
                **more,
            }

        paths = ["step 1", "step 1/forward", "step 1/forward/layer 3", "step 1/replay", "request 7"]
        return {
            "machine": "none",
            "sections": [],
            "instances": [{"path": path, "process": path == "request 7"} for path in paths],
            "operations": [
                kernel("gemm", 100, 300, [0, 1]),
                kernel("gemm", 250, 450, [0, 1, 2, 4]),  # beside the first for 50 us
                kernel("step", 500, 600, [0, 3], replay=1, captured=["optimizer 1"]),
                {"kind": "copy", "device": 0, "open": [], "adopted": False, "bytes": 64},
            ],
            "events": [{"path": "step 1/replay", "elapsed_ns": 101_000}],
        }

    def row(self, path, instances, ops, own, sum_us, self_us, busy_us, span_us):
        return row(
            path,
            instances=instances,
            ops=ops,
            self_ops=own,
            gpu_sum_ns=1000 * sum_us,
            gpu_self_ns=1000 * self_us,
            gpu_busy_ns=1000 * busy_us,
            gpu_span_ns=1000 * span_us,
        )

    def reports(self):
        projection = {
            "total_gpu_ns": 508_000,
            "total_ops": 4,
            "rows": [
                self.row("step #", 1, 3, 0, 501, 0, 451, 500),
                self.row("step #/forward", 1, 2, 1, 401, 200, 351, 350),
                self.row("step #/forward/layer #", 1, 1, 1, 201, 201, 201, 201),
                self.row("step #/replay", 1, 1, 1, 100, 100, 100, 100),
                self.row("(no range)", 0, 1, 1, 7, 7, 7, 0),
                self.row("(ambiguous)", 0, 0, 0, 0, 0, 0, 0),
                self.row("(unmatched)", 0, 0, 0, 0, 0, 0, 0),
            ],
            "process_ranges": [self.row("request #", 1, 1, 0, 201, 0, 201, 201)],
            "dropped": {},
        }
        kernels = {"total_ns": 501_000, "rows": [kernel("gemm", 2, 401_000), kernel("step", 1, 100_000)]}
        copies = {"rows": [{"operation": "Memcpy HtoD (Pinned -> Device)", "instances": 1, "bytes": 64}]}
        return projection, kernels, copies

    def faults(self, journal=None, reports=None, **limits):
        return check_truth.judge(journal or self.journal(), *(reports or self.reports()), **limits).faults

    def test_a_report_within_the_tolerance_is_right(self):
        self.assertEqual(self.faults(), [])

    def test_the_tolerance_is_two_microseconds_a_kernel_or_one_percent(self):
        reports = self.reports()
        reports[0]["rows"][2]["gpu_sum_ns"] = 202_001
        self.assertEqual(len(self.faults(reports=reports)), 1)
        reports[0]["rows"][2]["gpu_sum_ns"] = 202_000
        self.assertEqual(self.faults(reports=reports), [])
        self.assertNotEqual(self.faults(reports=reports, per_op_ns=1_000, relative=0.001), [])

    def test_overlap_counts_once_in_busy(self):
        reports = self.reports()
        reports[0]["rows"][1]["gpu_busy_ns"] = 401_000
        self.assertEqual([fault.split(":")[1] for fault in self.faults(reports=reports)], [" busy"])

    def test_counts_are_exact(self):
        for column in ("instances", "ops", "self_ops", "adopted_ops"):
            reports = self.reports()
            reports[0]["rows"][1][column] += 1
            self.assertEqual(len(self.faults(reports=reports)), 1, column)
        reports = self.reports()
        reports[1]["rows"][0]["instances"] += 1
        reports[2]["rows"][0]["bytes"] += 1
        self.assertEqual(len(self.faults(reports=reports)), 2)

    def test_a_lost_row_an_additional_one_and_a_dropped_record_are_faults(self):
        reports = self.reports()
        reports[0]["rows"][3]["path"] = "elsewhere"
        reports[0]["dropped"]["ring_full"] = 1
        self.assertEqual(len(self.faults(reports=reports)), 3)

    def test_events_that_disagree_are_a_fault(self):
        journal = self.journal()
        journal["events"][0]["elapsed_ns"] = 110_000
        self.assertEqual(len(self.faults(journal)), 2)

    def test_waits_are_those_of_the_hosts_clock(self):
        journal, (projection, *others) = self.journal(), self.reports()
        journal["waits"] = [
            {"path": "step 1/forward", "took_ns": 2_000_000, "least_ns": 1_990_000},
            {"path": "step 2/forward", "took_ns": 3_000_000, "least_ns": 2_900_000},
        ]
        for each in projection["rows"]:
            each["wait_ns"] = 5_000_000
        for wait_ns, faults in ((5_100_000, 0), (5_100_001, 1), (4_900_000, 0), (4_899_999, 1)):
            projection["rows"][1]["wait_ns"] = wait_ns
            self.assertEqual(len(self.faults(journal, (projection, *others))), faults, wait_ns)
        # The parent has them too; 20 us a call are allowed where the waits were short.
        projection["rows"][1]["wait_ns"] = 5_000_000
        projection["rows"][0]["wait_ns"] = 0
        self.assertEqual(len(self.faults(journal, (projection, *others))), 1)
        journal["waits"] = [{"path": "step 1", "took_ns": 100_000, "least_ns": 90_000}]
        for wait_ns, faults in ((80_000, 0), (79_999, 1), (120_000, 0), (120_001, 1)):
            projection["rows"][0]["wait_ns"] = wait_ns
            self.assertEqual(len(self.faults(journal, (projection, *others))), faults, wait_ns)
        # Where the clock jumped only the upper bound is known.
        journal["waits"][0]["least_ns"] = 0
        projection["rows"][0]["wait_ns"] = 0
        self.assertEqual(self.faults(journal, (projection, *others)), [])

    def test_a_kernel_that_left_no_stamp_or_ran_too_long_is_a_fault(self):
        journal = self.journal()
        journal["operations"][2].update(start_ns=0, end_ns=0)
        self.assertTrue(any("no stamp" in fault for fault in self.faults(journal)))
        journal = self.journal()
        journal["operations"][2]["requested_ns"] = 90_000
        self.assertEqual(len(self.faults(journal)), 1)

    def test_where_captured_rows_are_reported_the_nodes_time_is_theirs(self):
        reports = self.reports()
        rows = reports[0]["rows"]
        for each in rows:
            each["captured"] = False
        self.assertNotEqual(self.faults(reports=reports), [])
        rows[3].update(self_ops=0, gpu_self_ns=0)
        rows.insert(4, {**self.row("step #/replay/optimizer #", 1, 1, 1, 100, 100, 100, 100), "captured": True})
        self.assertEqual(self.faults(reports=reports), [])


class CheckRanks(unittest.TestCase):
    def trace(self, kernels):
        """Two iterations with `backward` at 10 and 110, `share_loss` at 50 and 150, NCCL's own ranges in them."""
        events = []

        def add_range(name, ts, dur):
            number = len(events) + 1
            event = {"cat": "user_annotation", "ph": "X", "name": name, "ts": ts, "dur": dur}
            events.append({**event, "args": {"External id": number}})
            return number

        owners = {}
        for step in range(2):
            add_range(f"iteration {step}", 100 * step, 40)
            add_range("backward", 100 * step + 10, 20)
            owners["backward", step] = add_range("ncclAllReduce", 100 * step + 12, 5)
            owners["share_loss", step] = add_range("share_loss", 100 * step + 50, 5)
        owners["setup", 0] = add_range("ncclBroadcast", 500, 5)
        for where, step in kernels:
            event = {"cat": "kernel", "ph": "X", "name": "ncclDevKernel_AllReduce", "ts": 900, "dur": 1}
            events.append({**event, "args": {"External id": owners[where, step], "device": 0}})
        return {"traceEvents": events}

    def test_kernels_are_found_by_their_owners_place_in_time(self):
        trace = self.trace([("backward", 0), ("backward", 0), ("backward", 1), ("share_loss", 1), ("setup", 0)])
        self.assertEqual(
            check_ranks.steps_with_communication(trace),
            {"backward": {0: 2, 1: 1}, "share_loss": 1, "elsewhere": 1},
        )

    def test_a_kernel_without_an_owner_is_elsewhere(self):
        trace = self.trace([("backward", 0)])
        trace["traceEvents"][-1]["args"]["External id"] = 999
        self.assertEqual(check_ranks.steps_with_communication(trace)["elsewhere"], 1)


class ReportTable(unittest.TestCase):
    def report(self, scale):
        rows = []
        for iteration, host_ms in enumerate((900, 900, 900, 7, 8, 9)):
            rows.append(row(f"iteration {iteration}", host_ns=scale * host_ms * 4_000_000, gpu_sum_ns=scale * 38_000_000))
            for name in report_table.RANGES:
                rows.append(
                    row(
                        f"iteration {iteration}/{name}",
                        host_ns=scale * host_ms * 1_000_000,
                        gpu_sum_ns=scale * 26_000_000,
                        ops=200,
                        adopted_ops=150 if name == "backward" else 0,
                    )
                )
        return {"rows": rows}

    def test_figures_are_medians_after_the_warm_up(self):
        figures = report_table.figures(self.report(1), skip=3)
        self.assertEqual(figures["forward"]["host_ns"], 8_000_000)
        self.assertEqual(figures["iteration"]["host_ns"], 32_000_000)
        self.assertEqual(report_table.figures(self.report(1), skip=0)["forward"]["host_ns"], 454_500_000)

    def test_the_table_sets_amp_beside_no_amp_with_the_larger_batch_first(self):
        runs = {
            (batch, kind): report_table.figures(self.report(scale), skip=3)
            for batch, kind, scale in ((16, "amp", 1), (16, "noamp", 3), (2, "amp", 1), (2, "noamp", 2))
        }
        text = report_table.table(runs)
        self.assertIn("| `forward` | 8.00 | 26.00 | 24.00 | 78.00 |", text)
        self.assertIn("holds 200 GPU operations a step, of which 150 (75.0 %)", text)
        self.assertLess(text.index("Batch 16"), text.index("Batch 2,"))

    def test_a_run_that_is_all_warm_up_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no iteration from 6 on"):
            report_table.figures(self.report(1), skip=6)


class Overhead(unittest.TestCase):
    # Steps get slower by 1 ms a window; one tool costs a tenth, the other three tenths more.
    WINDOWS = {
        "before": [100.0] * 4,
        "off": [100.0, 102.0, 104.0, 106.0, 108.0],
        "on": {"floor": [1.1 * 101, 1.1 * 105], "prof": [1.4 * 103, 1.4 * 107]},
        "start_ms": {"floor": [5.0] * 2, "prof": [6.0] * 2},
        "stop_ms": {"floor": [3.0] * 2, "prof": [4.0] * 2},
    }

    def test_drift_cancels_out(self):
        summary = overhead.summary(self.WINDOWS)
        for name, cost in (("floor", 0.1), ("prof", 0.4)):
            figures = summary["tools"][name]["cost"]
            for value in (figures["median"], *figures["interval95"]):
                self.assertAlmostEqual(value, cost)
        self.assertAlmostEqual(summary["after_beside_before"]["median"], 1.05)
        self.assertEqual(summary["tools"]["prof"]["stop_ms"], 4.0)

    def test_tools_are_compared_round_by_round(self):
        summary = overhead.summary(self.WINDOWS, beside="floor")
        self.assertAlmostEqual(summary["tools"]["prof"]["above_floor"]["median"], 0.3)
        self.assertNotIn("above_floor", summary["tools"]["floor"])

    def test_neighbours_take_turns_in_being_first_between_two_offs(self):
        began = []

        class Tool(overhead.NoTool):
            def __init__(self, name):
                self.name = name

            def start(self):
                began.append(self.name)

        class Training:
            def step(self):
                pass

            def wait(self):
                pass

        tools = {name: Tool(name) for name in ("floor", "prof")}
        windows = overhead.measure(Training(), tools, rounds=4, steps=1, settle=0, neighbours=2)
        self.assertEqual(began, ["floor", "prof", "prof", "floor", "floor", "prof", "prof", "floor"])
        self.assertEqual(len(windows["off"]), 1 + 4)
        windows |= {"off": [100.0, 100.0, 200.0, 200.0, 400.0]}
        windows["on"] = {"floor": [110.0, 165.0, 220.0, 330.0], "prof": [120.0, 180.0, 240.0, 360.0]}
        shares = overhead.costs(windows)
        for name, cost in (("floor", 0.1), ("prof", 0.2)):
            for share in shares[name]:
                self.assertAlmostEqual(share, cost)

    def test_a_goal_holds_is_missed_or_neither(self):
        figure = {"median": 0.01, "interval95": [0.008, 0.012]}
        self.assertEqual(overhead.verdict(figure, 0.013), "holds")
        self.assertEqual(overhead.verdict(figure, 0.010), "inconclusive")
        self.assertEqual(overhead.verdict(figure, 0.007), "missed")
        result = {"tools": {"prof": {"cost": figure, "above_client+callbacks": figure}}}
        self.assertEqual(
            overhead.check_goals(result, ["prof:0.02", "prof-client+callbacks:0.001"]),
            {"prof:0.02": "holds", "prof-client+callbacks:0.001": "missed"},
        )
        with self.assertRaisesRegex(SystemExit, "nothing was measured"):
            overhead.check_goals(result, ["client:0.1"])

    def test_settings_of_a_tool_may_be_lists(self):
        self.assertEqual(
            overhead.split_tools("client,prof:activities=kernels,copies,prof:activities=none,none,prof"),
            ["client", "prof:activities=kernels,copies", "prof:activities=none", "none", "prof"],
        )
        self.assertEqual(overhead.split_tools("prof,kernels"), ["prof", "kernels"])
        for bad in ("kernels", "none:activities=all", "prfo:activities=all", "client:pinned=1", "client+callbacks:small=1"):
            with self.assertRaisesRegex(SystemExit, "there is no tool"):
                overhead.make_tool(bad)

    def test_a_tool_that_starts_nothing_is_measured_between_its_own_offs(self):
        class Counted:
            steps = 0

            def step(self):
                self.steps += 1

            def wait(self):
                pass

        training = Counted()
        windows = overhead.measure(training, {"a": overhead.NoTool(), "b": overhead.NoTool()}, rounds=3, steps=2, settle=1)
        self.assertEqual(len(windows["off"]), 1 + 3 * 2)
        self.assertEqual([len(windows["on"][name]) for name in "ab"], [3, 3])
        self.assertEqual(training.steps, (4 + 7 + 6) * (2 + 1))

    def test_a_window_is_its_mean_step_or_its_fastest(self):
        now = [0.0]

        class Uneven:
            # one that is not counted, then three
            takes = iter([9.0, 0.003, 0.001, 0.005] * 2)

            def step(self):
                now[0] += next(self.takes)

            def wait(self):
                pass

        training = Uneven()
        with unittest.mock.patch.object(overhead.time, "perf_counter", lambda: now[0]):
            self.assertAlmostEqual(overhead.window_ms(training, steps=3, settle=1), 3.0)
            self.assertAlmostEqual(overhead.window_ms(training, steps=3, settle=1, fastest=True), 1.0)

    def test_the_interval_holds_the_truth_about_as_often_as_it_says(self):
        source = random.Random(5)
        held = 0
        for trial in range(100):
            values = [source.gauss(1.15, 0.02) for _ in range(15)]
            low, high = overhead.interval(
                lambda random_source: overhead.statistics.median(random_source.choices(values, k=15)), trial, 400
            )
            held += low <= 1.15 <= high
        self.assertGreaterEqual(held, 85)
        self.assertLess(held, 100)


class ProfilerBeside(unittest.TestCase):
    def test_what_does_not_hold_is_named(self):
        kernels = {"gemm": 40, "relu": 20}
        steps = {number: 54 for number in (*range(10), *range(20, 30))}
        self.assertEqual(profiler_beside.faults(kernels, dict(kernels), steps), [])
        self.assertEqual(profiler_beside.faults(kernels, kernels, steps | {20: 0, 29: 0}), [])  # Kineto keeps CUPTI
        self.assertIn("['gemm']", profiler_beside.faults(kernels, kernels | {"gemm": 39}, steps)[0])
        self.assertIn("[7]", profiler_beside.faults(kernels, kernels, steps | {7: 53})[0])
        for wrong in (steps | {12: 54}, {number: 54 for number in range(10)}):
            self.assertEqual(len(profiler_beside.faults(kernels, kernels, wrong)), 1)
        self.assertEqual(len(profiler_beside.faults({}, {}, steps)), 1)
        self.assertEqual(profiler_beside.faults(kernels, kernels, steps, keeps_cupti=False), [])
        self.assertIn("[29]", profiler_beside.faults(kernels, kernels, steps | {29: 0}, keeps_cupti=False)[0])

    def test_protons_kernels_are_the_leaves_of_its_trees(self):
        def leaf(name, count):
            return {"frame": {"name": name}, "children": [], "metrics": {"count": count, "time (ns)": 5}}

        root = {"frame": {"name": "ROOT"}, "metrics": {"count": 0}, "children": [
            leaf("gemm", 2), {"frame": {"name": "step"}, "metrics": {}, "children": [leaf("gemm", 3), leaf("relu", 1)]}]}
        self.assertEqual(profiler_beside.proton_kernels([root, {"CUDA": {"0": {"arch": "90"}}}]), {"gemm": 5, "relu": 1})

    def test_the_operations_of_a_step_are_those_of_its_range(self):
        rows = [{"depth": 0, "name": "step 3", "ops": 7}, {"depth": 1, "name": "step 4", "ops": 2},
                {"depth": 0, "name": "(no range)", "ops": 9}]
        self.assertEqual(profiler_beside.operations_by_step(rows), {3: 7})


class CaptureRange(unittest.TestCase):
    def test_what_does_not_hold_is_named(self):
        steps = {number: 40 for number in (10, 11, 12, 13, 14, 240, 241)}
        self.assertEqual(capture_range.faults(steps), [])
        self.assertEqual(capture_range.faults({}), ["the capture has steps []"])
        self.assertIn("22", capture_range.faults(steps | {22: 40})[0])
        self.assertIn("different", capture_range.faults(steps | {14: 39})[0])
        self.assertIn("none", capture_range.faults({number: 0 for number in steps})[0])


class Residue(unittest.TestCase):
    """Processes that take turns; each is fast or slow by luck as long as it lives, and the machine drifts."""

    def process(self, source, luck, cost=0.0, rounds=40):
        return [(20 + 5 * (r / rounds)) * luck * (1 + cost) * (1 + source.gauss(0, 0.005)) for r in range(rounds)]

    def halves(self, luck, cost=0.0, processes=4, seed=3):
        """Of a role that costs so much in its second half only."""
        source = random.Random(seed)
        own = [1 + source.gauss(0, luck) for _ in range(processes)]
        return [[self.process(source, one, part) for one in own] for part in (0, cost)]

    def width(self, figure):
        low, high = figure["interval95"]
        return high - low

    def test_the_cost_of_a_role_is_found_in_spite_of_drift_and_luck(self):
        base = self.halves(0.002, seed=1)[:1]
        slow = residue_cost.cost(self.halves(0.002, 0.1, seed=2)[1:], base, 400)
        self.assertAlmostEqual(slow["median"], 0.1, delta=0.006)
        self.assertLess(slow["interval95"][0], 0.1)
        self.assertGreater(slow["interval95"][1], 0.1)
        same = residue_cost.cost(self.halves(0.002, seed=3)[:1], base, 400)["interval95"]
        self.assertTrue(same[0] < 0 < same[1], same)

    def test_the_luck_of_processes_widens_the_interval(self):
        base = [[[100.0] * 40] * 4]
        equal = residue_cost.cost([[[101.0] * 40] * 4], base, 400)
        self.assertAlmostEqual(self.width(equal), 0)
        unlike = residue_cost.cost([[[100.0] * 40] * 2 + [[102.0] * 40] * 2], base, 400)
        self.assertGreaterEqual(self.width(unlike), 0.015)

    def test_it_cancels_out_where_a_role_changes_half_way(self):
        base, changed = self.halves(0.05, seed=1), self.halves(0.05, 0.01, seed=2)
        paired = residue_cost.cost(changed, base, 400)
        self.assertAlmostEqual(paired["median"], 0.01, delta=0.002)
        self.assertLess(self.width(paired), 0.012)
        self.assertGreater(self.width(residue_cost.cost(changed[1:], base[1:], 400)), 0.03)

    def test_roles_that_change_half_way_are_compared_with_before(self):
        base = [[[100.0] * 40] * 2, [[110.0] * 40] * 2]  # the machine is slower in the second half
        roles = {"control": base, "idle": [[[101.0] * 40], [[111.1] * 40]], "stopped": [[[90.0] * 40], [[99.99] * 40]]}
        before, after = ({"plain": base[half], **{role: halves[half] for role, halves in roles.items()}} for half in (0, 1))
        costs = residue_cost.figures(before, after)
        self.assertEqual(set(costs), {"control", "control, after by before", "idle", "stopped"})
        self.assertAlmostEqual(costs["idle"]["median"], 0.01)
        self.assertAlmostEqual(costs["stopped"]["median"], 0.01)
        self.assertEqual((costs["idle"]["rounds"], costs["stopped"]["rounds"]), (80, 40))

    def test_few_rounds_decide_nothing(self):
        figure = {"interval95": [0.001, 0.002], "rounds": 40}
        self.assertEqual(residue_cost.verdict("idle", {"idle": figure}, 0.005), "holds")
        self.assertEqual(residue_cost.verdict("idle", {"idle": figure | {"rounds": 39}}, 0.005), "inconclusive")

    def test_a_control_that_is_noisier_than_the_goal_decides_nothing(self):
        good, bad = ({"interval95": interval, "rounds": 40} for interval in ([-0.004, 0.004], [-0.02, 0.01]))
        costs = {"idle": good, "stopped": good, "control": bad, "control, after by before": good}
        self.assertEqual(residue_cost.verdict("idle", costs, 0.005),
                         "inconclusive (the control's interval is not within 0.5 %, it would take 9 times the windows)")
        self.assertEqual(residue_cost.verdict("stopped", costs, 0.005), "holds")
        for low, expected in ((0.024, "inconclusive"), (0.026, "missed")):  # the goal and what the control is off
            costs["idle"] = good | {"interval95": [low, 0.03]}
            self.assertRegex(residue_cost.verdict("idle", costs, 0.005), "^" + expected)

    def test_what_is_left_of_a_launch_is_a_share_of_a_step(self):
        costs = {"idle": {"median": 0.02, "interval95": [0.01, 0.03], "rounds": 40}}
        self.assertAlmostEqual(residue_cost.of_a_step(costs, 3000)["idle"]["median"], 0.005)  # 60 ns of 12 us
        found = {"cost": costs, "launch_ns": 3000.0, "of_a_step": residue_cost.of_a_step(costs, 3000)}
        lines = list(residue_cost.report("launches", {"judged_by": "typical", "typical": found, "fastest": found}, 11))
        self.assertEqual(lines[1:], ["  idle: +2.00 % [+1.00, +3.00]; within 0.5 %: missed",
                                     "    +60.0 ns [+30.0, +90.0], of a step +0.50 % [+0.25, +0.75]: inconclusive",
                                     "  by the fastest: idle +2.00 % [+1.00, +3.00]"])

    def test_the_goals_are_judged_by_the_figure_with_the_quieter_control(self):
        def half(noise):  # of windows of which one of the two figures is noisy
            source = random.Random(noise)
            return {role: [[[10 + source.random() * (noise == at) for at in (0, 1)] for _ in range(40)] for _ in range(2)]
                    for role in ("plain", "control", "stopped")}

        for noisy, quiet in ((0, "fastest"), (1, "typical")):
            result = residue_cost.evaluated("launches", half(noisy), half(noisy))
            self.assertEqual(result["judged_by"], quiet)
            self.assertAlmostEqual(result[quiet]["cost"]["stopped"]["median"], 0)
            self.assertAlmostEqual(result[quiet]["launch_ns"], 25_000)

    def turns(self, roles, server):
        return [residue.Turn(role, "", None, [sys.executable, "-c", server]) for role in roles]

    def test_every_process_has_a_window_in_each_round(self):
        # A process answers with how many windows it has had, the steps and those before it.
        server = "import sys\nfor n, line in enumerate(sys.stdin):\n  print(n, 100 * n + int(line.split()[1]) + int(line.split()[2]), flush=True)"
        turns = self.turns(("plain", "plain", "control"), server)
        windows = residue.take_turns(turns, {"any": (4, 1)}, rounds=3)["any"]
        in_no_time = residue.take_turns(turns, {"any": (4, 1), "other": (7, 2)}, rounds=3, seconds=0)
        for turn in turns:
            turn.end()
        expected = [[0.0, 5.0], [1.0, 105.0], [2.0, 205.0]]
        self.assertEqual(windows, {"plain": [expected, expected], "control": [expected]})
        self.assertEqual(in_no_time["any"]["plain"], [[[3.0, 305.0]], [[3.0, 305.0]]])
        self.assertEqual(in_no_time["other"]["plain"], [[[4.0, 409.0]], [[4.0, 409.0]]])
        self.assertEqual(residue_cost.of_kind(windows, "fastest")["control"], [[5.0, 105.0, 205.0]])

    def test_the_processes_of_a_role_stand_in_the_same_order_in_both_halves(self):
        turns = self.turns(("plain", "control") * 3, "import os, sys\nfor line in sys.stdin: print(os.getpid(), flush=True)")
        halves = [residue.take_turns(turns, {"any": (1, 0)}, 2, seed=seed)["any"] for seed in (1, 2)]
        expected = {role: [[turn.window_ms("any", 1, 0)] * 2 for turn in turns if turn.role == role] for role in ("plain", "control")}
        for turn in turns:
            turn.end()
        self.assertEqual(halves, [expected, expected])

    def test_all_changes_have_the_same_steps_and_two_threads_launch_meanwhile(self):
        class Work:
            def __init__(self):
                self.steps, self.stepped = 0, threading.Event()

            def step(self):
                self.steps += 1
                self.stepped.set()

            def wait(self):
                pass

        class Tool:
            started, stopped = 0, 0

            def start(self):
                self.started += 1
                if not workloads["two-threads"].stepped.wait(60):
                    raise AssertionError("nothing was launched meanwhile")

            def stop(self):
                workloads["two-threads"].stepped.clear()
                if not workloads["two-threads"].stepped.wait(60):
                    raise AssertionError("nothing is launched any more")
                self.stopped += 1

        taken = {}
        for change in ("none", "start-stop"):
            workloads = {"graph-replay": Work(), "two-threads": Work()}
            tool = Tool()
            with unittest.mock.patch.object(overhead, "make_tool", lambda name: tool):
                self.assertEqual(residue_server.answer("change", workloads, change, "", ""), "done")
            taken[change] = workloads["graph-replay"].steps
        self.assertEqual(taken, {"none": 9, "start-stop": 9})
        self.assertEqual((tool.started, tool.stopped), (3, 3))
        mean, least = map(float, residue_server.answer("graph-replay 2 1", workloads, "none", "", "").split())
        self.assertGreaterEqual(mean, least)
        self.assertGreater(least, 0)
        self.assertEqual(workloads["graph-replay"].steps, 12)

    def test_a_process_that_ends_at_last_costs_no_figures(self):
        turns = self.turns(("idle", "stopped"), "import sys\nfor line in sys.stdin: print('free', flush=True); sys.exit(line == 'ranges\\n')")
        before = {turn.process.pid: {"prof-test": 1} for turn in turns}
        found = residue.evidence(turns, before, 10.0, have_ranges=True)
        for turn in turns:
            turn.end()
        self.assertEqual(set(found), {"idle", "stopped"})
        self.assertEqual(found["stopped"], {"seconds": 10.0, "threads": {}, "subscription": ["free"]})
        self.assertRegex(found["idle"]["subscription"][1], "'idle' has ended with 0")
        self.assertEqual(len(list(residue.tell(found))), 2)

    def test_wake_ups_are_those_of_libprofs_threads(self):
        server = (
            "import sys, threading, time\n"
            "def sleep():\n"
            "  open('/proc/thread-self/comm', 'w').write('prof-test')\n"
            "  for _ in range(int(sys.stdin.readline())): time.sleep(0.001)\n"
            "  print('done', flush=True)\n"
            "  threading.Event().wait()\n"
            "threading.Thread(target=sleep, daemon=True).start()\n"
            "time.sleep(1000)\n"
        )
        (turn,) = self.turns(("idle",), server)
        self.assertEqual(turn.say("50"), "done")
        found = residue.wake_ups(turn.process.pid)
        turn.process.kill()
        turn.end()
        self.assertEqual(set(found), {"prof-test"})
        self.assertGreaterEqual(found["prof-test"], 50)


class OtherMeasurements(unittest.TestCase):
    def test_a_goal_needs_forty_rounds(self):
        figure = {"median": 0.01, "interval95": [0.008, 0.012]}
        result = {"rounds": 39, "tools": {"prof": {"cost": figure}}}
        self.assertEqual(overhead.check_goals(result, ["prof:0.02"]), {"prof:0.02": "inconclusive"})
        self.assertEqual(overhead.check_goals(result | {"rounds": 40}, ["prof:0.02"]), {"prof:0.02": "holds"})

    def test_a_point_of_the_plot(self):
        windows = {
            "before": [100.0] * 4,
            "off": [100.0, 200.0, 200.0],
            "on": {"prof": [165.0], "torch-cuda": [300.0]},
        }
        point = launch_rate.point(1000, windows)
        self.assertAlmostEqual(point["launches_per_ms"], 20)
        self.assertAlmostEqual(point["cost"]["prof"]["median"], 0.1)  # beside (100 + 200) / 2
        self.assertAlmostEqual(point["cost"]["torch-cuda"]["median"], 2.0)  # beside 100

    def test_growth_is_told_between_two_cycles(self):
        sizes = [{"threads": n, "descriptors": 5} for n in (7, 8, 8)]
        self.assertEqual(start_stop.growth(sizes, 0, 2), {"threads": 1, "descriptors": 0})
        self.assertEqual(start_stop.growth(sizes, 1, 2), {"threads": 0, "descriptors": 0})
        self.assertGreater(start_stop.size_of_process()["resident_kb"], 1000)

    def test_events_of_a_trace_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "trace.json")
            path.write_text('{"traceEvents": [\n{"ph":"X"},\n{"ph": "i"}, {"ph":"s"}\n]}\n')
            self.assertEqual(export_speed.count_events(path), 3)
            self.assertAlmostEqual(export_speed.speed(path, 0.5, 0.4)["events_per_s"], 6)


class Windows(unittest.TestCase):
    def test_a_program_that_died_and_steps_that_lack_kernels_are_faults(self):
        two_of_two = [[4, 5], [9, 10]]
        self.assertEqual(windows.faults(0, two_of_two, 4 * 1900), [])
        self.assertEqual(windows.faults(-11, two_of_two, 4 * 1900), ["the program's end: killed by SIGSEGV, after 2 windows"])
        self.assertEqual(windows.faults(1, two_of_two, 4 * 1900), ["the program's end: status 1, after 2 windows"])
        self.assertEqual(windows.faults(0, two_of_two, 4 * 1900 - 1), ["7599 kernels are not as many in each of 4 steps"])
        self.assertEqual(windows.faults(0, two_of_two, 0), ["0 kernels are not as many in each of 4 steps"])
        self.assertEqual(windows.faults(0, [], 0), ["there is no window"])


if __name__ == "__main__":
    unittest.main()
