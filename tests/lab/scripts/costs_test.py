# SPDX-License-Identifier: Apache-2.0
"""What the measurements of costs make of their windows, worked by hand. Needs no GPU."""

import pathlib
import random
import statistics
import struct
import sys
import tempfile
import unittest
import unittest.mock
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import budget
import budget_cost
import capture_chunks
import export_speed
import launch_rate
import overhead
import report_table
import start_stop


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


class ReportTable(unittest.TestCase):
    def row(self, path, host_ns, gpu_sum_ns, ops=0, adopted_ops=0):
        return {"path": path, "host_ns": host_ns, "gpu_sum_ns": gpu_sum_ns, "ops": ops, "adopted_ops": adopted_ops}

    def report(self, scale):
        rows = []
        for iteration, host_ms in enumerate((900, 900, 900, 7, 8, 9)):
            rows.append(self.row(f"iteration {iteration}", scale * host_ms * 4_000_000, scale * 38_000_000))
            for name in report_table.RANGES:
                path, adopted = f"iteration {iteration}/{name}", 150 if name == "backward" else 0
                rows.append(self.row(path, scale * host_ms * 1_000_000, scale * 26_000_000, 200, adopted))
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


if __name__ == "__main__":
    unittest.main()
