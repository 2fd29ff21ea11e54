# SPDX-License-Identifier: Apache-2.0
"""libprof's figures against another program's or against what is known: the verdicts of the scripts, on small inputs worked
by hand. Needs no GPU."""

import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import check_device_launches
import check_projection
import check_ranks
import check_truth
import compare_torch
import graphs
import idle_graphs
import pytorch_ranges
from rows import kernel, operator, row


class CheckDeviceLaunches(unittest.TestCase):
    JOURNAL = {
        "device_plain": [[1_000, 101_000]],
        "device_parent": [[200_000, 400_000]],
        "device_child": [[210_000, 510_000]],
        "device_launcher": [[600_000, 750_000]],
        "device_node": [[610_000, 860_000]],
    }
    NOTE = "note: … can launch kernels (dynamic parallelism): …"

    def judge(self, table, unmatched=0, summary=NOTE, journal=None):
        rows = [row(path, instances=1, ops=1) for path in ("plain", "parents", "graphs")]
        projection = {"rows": [*rows, row("(unmatched)", ops=unmatched)], "total_gpu_ns": 0, "dropped": {}}
        kernels = {"rows": [{"name": name, "instances": 1, "total_ns": ns} for name, ns in table.items()]}
        verdict, recorded, _ = check_device_launches.judge(journal or self.JOURNAL, projection, kernels, summary)
        return verdict.faults, recorded

    HOST = {"device_plain": 100_500, "device_parent": 310_000, "device_launcher": 151_000}

    def test_what_the_gpu_launches_may_have_no_records(self):
        faults, recorded = self.judge(self.HOST)
        self.assertEqual(faults, [])
        self.assertEqual(recorded, {"device_child": 0, "device_node": 0})

    def test_a_parent_may_end_by_itself_or_with_its_child(self):
        self.assertEqual(self.judge(self.HOST | {"device_parent": 200_500})[0], [])
        self.assertEqual(len(self.judge(self.HOST | {"device_parent": 320_000})[0]), 1)
        self.assertEqual(len(self.judge(self.HOST | {"device_parent": 190_000})[0]), 1)

    def test_the_summary_must_say_it(self):
        self.assertEqual(len(self.judge(self.HOST, summary="")[0]), 1)
        self.assertEqual(self.judge(self.HOST | {"device_child": 300_400}, summary="")[0], [])

    def test_records_that_are_there_must_be_right(self):
        faults, recorded = self.judge(self.HOST | {"device_node": 250_500}, unmatched=1)
        self.assertEqual((faults, recorded["device_node"]), ([], 1))
        self.assertEqual(len(self.judge(self.HOST | {"device_node": 150_000})[0]), 1)

    def test_what_the_host_launches_must_be_there(self):
        self.assertEqual(len(self.judge({n: ns for n, ns in self.HOST.items() if n != "device_launcher"})[0]), 2)

    def test_each_kernel_must_have_run(self):
        self.assertEqual(len(self.judge(self.HOST, journal=self.JOURNAL | {"device_node": [[0, 0]]})[0]), 1)


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


if __name__ == "__main__":
    unittest.main()
