# SPDX-License-Identifier: Apache-2.0
"""What residue.py makes of its processes' windows, worked by hand. Needs no GPU."""

import pathlib
import random
import sys
import threading
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import overhead
import residue
import residue_cost
import residue_server


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
        self.assertEqual(len(list(residue.lines_of(found))), 2)

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
        self.assertEqual(turn.request("50"), "done")
        found = residue.wake_ups(turn.process.pid)
        turn.process.kill()
        turn.end()
        self.assertEqual(set(found), {"prof-test"})
        self.assertGreaterEqual(found["prof-test"], 50)


if __name__ == "__main__":
    unittest.main()
