# SPDX-License-Identifier: Apache-2.0
"""Modules of real PyTorch programs on the CPU: their names and calls by hand, their backward by functions that take a known
time, and that the program does not change.

Usage: modules_test.py <prof> <version of Python>
"""
import json
import re
import sys
import unittest

import phases_test
from phases_test import HERE, Phases

CASES = ["plain", "accumulation", "lightning", "scaler", "checkpointing", "reentrant_checkpointing", "inference", "exceptions",
         "double_backward", "threads", "forked_workers", "captured", "compiled"]


class Modules(Phases):
    def run_program(self, script, cases, *options):
        command = [phases_test.PYTHON, str(HERE / script), *cases]
        bare = self.run_command(command)
        done = self.run_command([phases_test.PROF, "run", "-o", "captures", *options, "--", *command])
        self.assertEqual((done.returncode, done.stdout), (3, bare.stdout), done.stderr)
        self.assertEqual(bare.returncode, 3, bare.stderr)
        self.printed = [line for line in done.stderr.splitlines() if line.startswith("libprof: ")]
        return done.stderr

    def report(self, *options):
        capture = next((self.folder / "captures").glob("*.prof"))
        return self.run_command([phases_test.PROF, "report", "--report", "modules", *options, str(capture)]).stdout

    def rows(self, case, *options):
        if options:
            self.run_program("modules_cases.py", [case], "--export", "none", *options)
            self.assertEqual(self.printed, [])
        else:
            self.run_in_child(case)
        report = json.loads(self.report("--format", "json", "--no-fold"))
        return {row["path"]: row for row in report["rows"]}

    def run_in_child(self, case):
        command = (phases_test.PYTHON, str(HERE / "modules_cases.py"))
        bare = self.run_forked(case, *command)
        done = self.run_forked(case, phases_test.PROF, "run", "-o", "captures", "--export", "none", "--modules", "--", *command)
        self.assertEqual((done.returncode, done.stdout), (3, bare.stdout), done.stderr)
        self.assertEqual(bare.returncode, 3, bare.stderr)
        self.assertNotIn("libprof: ", done.stderr)

    def calls(self, rows):
        return {path: row["calls"] for path, row in rows.items() if row["calls"]}

    def check_backward(self, rows, steps):
        """Each block's nodes take at least what its function does; the others next to nothing."""
        for index, milliseconds in enumerate((2, 20, 8)):
            self.assertGreaterEqual(rows[f"Net.h.{index}"]["backward_host_ns"], steps * milliseconds * 1_000_000)
        self.assertGreater(rows["Net.h.1"]["backward_host_ns"], rows["Net.h.2"]["backward_host_ns"])
        self.assertGreater(rows["Net.h.2"]["backward_host_ns"], rows["Net.h.0"]["backward_host_ns"])
        self.assertNotIn("(not known)", rows)
        self.assertGreater(rows["(AccumulateGrad)"]["backward_host_ns"], 0)

    TREE = {"Net": 3, "Net.h.0": 3, "Net.h.0.up": 3, "Net.h.1": 3, "Net.h.1.up": 3, "Net.h.2": 3, "Net.h.2.up": 3,
            "Net.head": 3, "Net.head.0": 3, "Net.head.1": 3, "MSELoss": 3}

    def test_tree(self):
        rows = self.rows("tree")
        self.assertEqual(self.calls(rows), self.TREE)
        self.assertEqual({path: row["class"] for path, row in rows.items() if path.startswith("Net.head")},
                         {"Net.head": "Sequential", "Net.head.0": "LayerNorm", "Net.head.1": "Linear"})
        self.check_backward(rows, 3)
        self.assertGreater(rows["MSELoss"]["backward_host_ns"], 0)
        folded = json.loads(self.report("--format", "json"))["rows"]
        block = next(row for row in folded if row["path"] == "Net.h.*")
        self.assertEqual((block["modules"], block["calls"], block["class"], block["slowest"]),
                         (3, 9, "Block", "Net.h.1"))
        self.assertIn("h.* (3; slowest 1)", self.report())

    def test_checkpoints(self):
        rows = self.rows("checkpoints")
        self.assertEqual(self.calls(rows), {path: 6 if ".h." in path else 3 for path in self.TREE})
        self.check_backward(rows, 3)
        for index in range(3):
            self.assertGreater(rows[f"Net.h.{index}"]["recompute_host_ns"], 0)
        self.assertEqual(rows["Net.head"]["recompute_host_ns"], 0)

    def test_parts_of_a_module_that_is_not_called(self):
        self.assertEqual(self.calls(self.rows("parts")), {
            "Net.h.0": 1, "Net.h.0.up": 1, "Net.head": 1, "Net.head.0": 1, "Net.head.1": 1, "Net.late": 1,
            "Linear": 3})

    def test_depth(self):
        rows = self.rows("tree", "--modules=1")
        self.assertEqual(self.calls(rows), {"Net": 3, "Net.head": 3, "MSELoss": 3})
        self.assertGreaterEqual(rows["Net"]["backward_host_ns"], 3 * 30_000_000)

    def test_compiled_regions_are_their_module(self):
        rows = self.rows("compiled")
        self.assertEqual({path: row["calls"] for path, row in rows.items() if path == "Net"}, {"Net": 3})
        self.assertGreaterEqual(rows["Net"]["backward_host_ns"], 3 * 30_000_000)

    def test_programs_do_not_change(self):
        self.run_program("phases_cases.py", CASES, "--export", "none", "--modules")

    def test_shared_modules_have_their_first_paths(self):
        self.assertEqual(self.calls(self.rows("shared")),
                         {"Shares": 1, "Shares.embedding": 2, "Shares.block": 2, "Shares.block.0": 2})

    def test_a_module_that_calls_itself(self):
        self.assertEqual(self.calls(self.rows("recursive")), {"Recursive": 6, "Recursive.up": 6})

    def test_wrappers_are_what_they_wrap(self):
        rows = self.rows("wrapped")
        self.assertEqual(self.calls(rows), {"Sequential": 4, "Sequential.0": 5, "Sequential.1": 4})
        self.assertEqual(rows["Sequential.0"]["class"], "Linear")

    def test_a_root_that_becomes_a_part(self):
        self.assertEqual(self.calls(self.rows("moved_before_it_is_a_part")),
                         {"Tanh": 1, "Sequential": 3, "Sequential.0": 3, "Sequential.1": 3})

    def test_a_part_of_none(self):
        self.assertEqual(self.calls(self.rows("not_a_part")), {"Student": 1, "Student.up": 1, "Linear": 7})

    def test_naming_runs_no_code_of_the_programs(self):
        self.rows("no_code_of_the_programs")

    def test_exceptions_of_signal_handlers_are_the_programs(self):
        rows = self.rows("signals")
        self.assertEqual({path: calls for path, calls in self.calls(rows).items() if path.startswith("Net")},
                         {path: calls for path, calls in self.TREE.items() if path.startswith("Net")})
        self.check_backward(rows, 3)

    def test_modules_made_anew_take_no_search_each(self):
        rows = self.rows("made_anew")
        self.assertEqual(sum(row["calls"] for path, row in rows.items() if path.startswith("Identity")), 3000)
        self.assertEqual(rows["Tanh"]["calls"], 3000)

    def test_table_stands_below_the_summary(self):
        printed = self.run_program("modules_cases.py", ["tree"], "--modules", "--export", "summary")
        of_ranges, of_modules = (re.search(rf"\n(Host time|CPU time of a step,) by {what}", printed)
                                 for what in ("range", "module"))  # fmt: skip
        self.assertLess(of_ranges.start(), of_modules.start())

    def test_switched_off(self):
        self.assertEqual(self.rows("tree", "--pytorch", "ranges"), {})
        refused = self.run_command([phases_test.PROF, "run", "--modules", "--phases", "off", "--", "true"])
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--modules", refused.stderr)


def load_tests(loader, _, __):
    return unittest.TestSuite(Modules(name) for name in loader.getTestCaseNames(Modules) if name in vars(Modules))


if __name__ == "__main__":
    unittest.main(argv=phases_test.prepare(sys.argv), verbosity=2)
