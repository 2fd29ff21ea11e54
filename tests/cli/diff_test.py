#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof diff: what it says of changes that were put into traces, its formats, groups of runs and exit status.

    diff_test.py PROF STUB_LIBPROF [TEST...]
"""
import csv
import io
import json
import lzma
import random
import re
import sys
import unittest
import xml.etree.ElementTree

from cli_test import DOCS, CommandLine
from torch_trace import TorchTrace

CAPTURES = DOCS.parent / "examples/captures"
TRAINER = CAPTURES / "h200_trainer.prof"
TRAIN = CAPTURES / "h200_train.prof"
REPORTS = ["diff_differences", "diff", "diff_uses", "diff_waterfall", "diff_ranges", "diff_modules", "diff_kernels",
           "diff_lines", "diff_memory", "diff_findings", "diff_runs"]  # fmt: skip


class Diff(CommandLine):
    def documents(self, *arguments):
        result = self.prof("diff", "--format", "json", *map(str, arguments))
        self.assertEqual(result.returncode, 0, result.stderr)
        return {document["report"]: document for document in json.loads(result.stdout)}

    def trace(self, name, kernel_us=200, step_us=1000, kernel="gemm", seed=0, noise=0.0, steps=30, inner=None):
        """Steps of torch.profiler, each with a launch and its kernel."""
        events = []
        begin, numbers = 0.0, random.Random(seed)
        for i in range(steps):
            length = step_us * (1 + noise * numbers.gauss(0, 1))
            events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1,
                        "ts": begin, "dur": length},
                       {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                        "ts": begin + 100, "dur": 5, "args": {"correlation": i + 1}},
                       {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": begin + 110,
                        "dur": kernel_us, "args": {"correlation": i + 1, "device": 0, "context": 1, "stream": 7}}]
            if inner:
                events.append({"ph": "X", "cat": "user_annotation", "name": inner, "pid": 1, "tid": 1, "ts": begin + 90, "dur": 30})
            begin += length
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")
        return path

    def group(self, name, runs, step_us, seed, **more):
        numbers = random.Random(seed)
        for run in range(runs):
            self.trace(f"{name}/{run}.json", step_us=step_us * (1 + 0.003 * numbers.gauss(0, 1)), seed=seed + run,
                       noise=0.01, **more)
        return self.dir / name

    def check_waterfall(self, documents):
        rows, waterfall = documents["diff_waterfall"]["rows"], documents["diff_waterfall"]
        for side in ("base", "new"):
            self.assertEqual(sum(row[f"{side}_ns"] for row in rows), waterfall[f"{side}_step_ns"])
        self.assertEqual(sum(row["change_ns"] for row in rows),
                         waterfall["new_step_ns"] - waterfall["base_step_ns"])
        self.assertEqual(sum(row["change_ns"] for row in documents["diff_uses"]["rows"]),
                         waterfall["new_step_ns"] - waterfall["base_step_ns"])

    def test_a_capture_and_itself_do_not_differ(self):
        found = self.documents(TRAINER, TRAINER)
        self.assertEqual(sorted(found), sorted(REPORTS))
        step = found["diff"]["rows"][0]
        self.assertEqual((step["figure"], step["change"], step["verdict"]), ("step", 0, "do not differ"))
        self.assertFalse(found["diff_differences"]["rows"])
        for report in ("diff_ranges", "diff_kernels"):
            self.assertTrue(found[report]["rows"])
            self.assertTrue(all(row["change_ns"] == 0 for row in found[report]["rows"]))
        self.assertEqual({row["state"] for row in found["diff_findings"]["rows"]}, {"stayed"})
        self.check_waterfall(found)

    def test_two_programs(self):
        found = self.documents(TRAIN, TRAINER)
        self.check_waterfall(found)
        step = found["diff"]["rows"][0]
        # The mean steps of the first screens: 21.93 ms and 6.280 ms.
        self.assertAlmostEqual(step["base_ns"] / 1e6, 21.93, delta=0.01)
        self.assertAlmostEqual(step["new_ns"] / 1e6, 6.280, delta=0.001)
        self.assertIn("command", [row["what"] for row in found["diff_differences"]["rows"]])
        states = {row["state"] for row in found["diff_findings"]["rows"]}
        self.assertTrue({"went", "came"} & states)

    def test_one_run_on_each_side_says_nothing_of_the_code(self):
        base, new = self.trace("base.json", noise=0.01), self.trace("new.json", step_us=1200, seed=1, noise=0.01)
        text = self.prof("diff", str(base), str(new)).stdout
        self.assertRegex(text, r"these two differ by \+(19|20|21)\.\d %")
        self.assertNotIn("slower", text)
        step = self.documents(base, new)["diff"]["rows"][0]
        self.assertEqual((step["verdict"], step["p"], step["more_runs"]), ("differ", None, 2))

    def test_a_slower_kernel_is_named_as_what_it_is(self):
        base, new = self.trace("base.json"), self.trace("new.json", kernel_us=500)
        found = self.documents(base, new)
        self.check_waterfall(found)
        kernels = [row for row in found["diff_uses"]["rows"] if row["use"] == "kernels"]
        self.assertEqual(kernels[0]["change_ns"], 300_000)
        self.assertEqual([(row["name"], row["change_ns"]) for row in found["diff_kernels"]["rows"]], [("gemm", 300_000)])
        self.assertEqual(found["diff"]["rows"][0]["change"], 0)  # the step has the time for it

    def test_a_renamed_kernel_is_matched(self):
        base = self.trace("base.json", kernel="void gemm<float, 4>(float*)")
        new = self.trace("new.json", kernel="void gemm<__half, 8>(__half*)", kernel_us=100)
        found = self.documents(base, new)
        row = found["diff_kernels"]["rows"][0]
        self.assertEqual(row["old_name"], "void gemm<float, 4>(float*)")
        self.assertEqual((row["change_ns"], row["state"]), (-100_000, "renamed: other template arguments"))
        self.assertIn("another name before", self.prof("diff", str(base), str(new)).stdout)

    def test_groups_of_runs_get_verdicts(self):
        base = self.group("base", 5, 1000, 1)
        for step_us, expected in ((1050, "slower"), (950, "faster"), (1000, "same within 1 %")):
            new = self.group(f"new{step_us}", 5, step_us, 100)
            step = self.documents(base, new)["diff"]["rows"][0]
            self.assertEqual((step["verdict"], step["base_runs"], step["new_runs"]), (expected, 5, 5))
            self.assertLess(step["low"], step_us / 1000 - 1 + 0.004)
            self.assertGreater(step["high"], step_us / 1000 - 1 - 0.004)
        noisy = self.dir / "noisy"
        for run, step_us in enumerate((980, 1130, 1010, 1090)):
            self.trace(f"noisy/{run}.json", step_us=step_us)
        text = self.prof("diff", str(base), str(noisy)).stdout
        self.assertRegex(text, r"inconclusive: .*; \d+ more runs on each side would tell")

    def test_formats(self):
        base, new = self.trace("base.json"), self.trace("new.json", kernel_us=300)
        tables = self.prof("diff", "--format", "csv", str(base), str(new)).stdout.split("\n\n")
        headers = [next(csv.reader(io.StringIO(table))) for table in tables]
        self.assertEqual(len(headers), len(REPORTS))
        self.assertTrue(all(len(row) == len(headers[1]) for row in csv.reader(io.StringIO(tables[1])) if row))
        markdown = self.prof("diff", "--format", "markdown", str(base), str(new)).stdout
        self.assertIn("| figure |", markdown)
        self.assertIn("these two do not differ", markdown)

    def test_limits_hold_fail_or_cannot_be_told(self):
        base = self.group("base", 5, 1000, 1)
        slower, same = self.group("slower", 5, 1050, 100, inner="new part"), self.group("same", 5, 1000, 200)
        noisy = self.dir / "noisy"
        for run, step_us in enumerate((980, 1130, 1010, 1090)):
            self.trace(f"noisy/{run}.json", step_us=step_us)
        for new, limit, status in ((slower, "2%", 3), (slower, "8%", 0), (same, "2%", 0), (same, "gpu=1", 0),
                                   (noisy, "2%", 4), (slower, "range:new part=2%", 4)):
            result = self.prof("diff", "--fail-over", limit, str(base), str(new))
            self.assertEqual(result.returncode, status, (limit, result.stderr))
            self.assertEqual(f"--fail-over {limit}" in result.stderr, status != 0)
        # One that fails outweighs one that cannot be told.
        junit = self.dir / "limits.xml"
        result = self.prof("diff", "--fail-over", "2%", "--fail-over", "range:new part=2%", "--fail-over", "gpu=9%",
                           "--junit", str(junit), "--format", "json", str(base), str(slower))
        self.assertEqual(result.returncode, 3)
        gate = {document["report"]: document for document in json.loads(result.stdout)}["diff_gate"]
        self.assertEqual([row["result"] for row in gate["rows"]], ["fails", "inconclusive", "holds"])
        self.assertEqual(gate["result"], "fails")
        suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual([suite.get(key) for key in ("tests", "failures", "skipped")], ["3", "1", "1"])
        self.assertEqual([len(case) for case in suite], [1, 1, 0])

    def test_a_limit_on_one_run_cannot_be_told_but_on_one_beside_several_can(self):
        base = self.group("base", 5, 1000, 1)
        one = self.trace("one.json", step_us=1100)
        self.assertEqual(self.prof("diff", "--fail-over", "2%", str(one), str(one)).returncode, 4)
        self.assertEqual(self.prof("diff", "--fail-over", "2%", str(base), str(one)).returncode, 3)

    def test_recorded_flaws_are_named(self):
        """Of a program on a GPU, with and without a flaw: recordings that lie outside of the repository."""
        folder = DOCS.parents[1] / "shared/cases/captures"
        if not (folder / "flaw-clean.prof.xz").exists():
            self.skipTest(f"there are no recordings in {folder}")
        files = {}
        for name in ("clean", "item", "loader", "alloc", "pageable"):
            files[name] = self.dir / f"{name}.prof"
            files[name].write_bytes(lzma.decompress((folder / f"flaw-{name}.prof.xz").read_bytes()))
        for name, rule, use in (("item", "synchronization", "idle: launches"), ("loader", "data_loader", "idle: CPU code"),
                                ("alloc", "allocation", "idle: memory calls"), ("pageable", "pageable_copies", "copies")):
            found = self.documents(files["clean"], files[name])
            self.check_waterfall(found)
            step = found["diff"]["rows"][0]
            self.assertEqual((step["verdict"], step["change"] > 0), ("differ", True), name)
            self.assertEqual(found["diff_uses"]["rows"][0]["use"], use)
            came = [row["rule"] for row in found["diff_findings"]["rows"] if row["state"] == "came"]
            self.assertIn(rule, came, name)

    def test_layers_have_limits_of_their_own(self):
        """Twelve layers in four steps are one row of the table, and twelve names for a limit."""
        def layers(name, of_layer_11):
            events, at = [], 0
            for step in range(4):
                first = at
                for layer in range(12):
                    kernel = of_layer_11 if layer == 11 else 100
                    number = step * 12 + layer + 1
                    events += [{"ph": "X", "cat": "user_annotation", "name": f"layer {layer}", "pid": 1, "tid": 1, "ts": at, "dur": 90},
                               {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 10,
                                "dur": 5, "args": {"correlation": number}},
                               {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 20, "dur": kernel,
                                "args": {"correlation": number, "device": 0, "context": 1, "stream": 7}}]
                    at += 300
                events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": first, "dur": at - first})
            path = self.dir / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), encoding="utf-8")

        for run in range(3):
            layers(f"base/{run}.json", 100 + run)
            layers(f"new/{run}.json", 200 + run)
        for name, status in (("layer 1", 0), ("layer 11", 3)):
            result = self.prof("diff", "base", "new", "--fail-over", f"range:{name}=9%")
            self.assertEqual(result.returncode, status, (name, result.stderr))

    def test_a_side_without_gpu_records_is_said_first(self):
        base, new = self.trace("base.json"), self.trace("new.json")
        trace = json.loads(new.read_text())
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event["cat"] != "kernel"]
        new.write_text(json.dumps(trace))
        lines = self.prof("diff", str(base), str(new)).stdout.splitlines()
        said = [line for line in lines if line.startswith("warning: ")]
        self.assertIn("the new side has no records of GPU work", said[0])
        self.assertLess(lines.index(said[0]), next(i for i, line in enumerate(lines) if line.startswith("step:")))
        self.assertNotIn("no records of GPU work", self.prof("diff", str(base), str(base)).stdout)

    def test_the_step_of_a_job_is_that_of_all_its_ranks(self):
        for side, lengths in (("base", (1000, 1200)), ("new", (1100, 1500))):
            for rank, step_us in enumerate(lengths):
                path = self.trace(f"{side}/rank{rank}.json", step_us=step_us)
                trace = json.loads(path.read_text())
                trace["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
                path.write_text(json.dumps(trace))
        found = self.documents(self.dir / "base", self.dir / "new")
        step = found["diff"]["rows"][0]
        self.assertEqual((step["base_runs"], step["base_ns"], step["new_ns"]), (1, 1_100_000, 1_300_000))
        self.assertEqual(found["diff_waterfall"]["new_step_ns"], 1_300_000)
        self.assertEqual([row["step_ns"] for row in found["diff_runs"]["rows"]], [1_100_000, 1_300_000])

    def test_a_narrow_terminal_has_the_whole_reason_and_names_an_option_of_diff(self):
        text = self.prof("diff", "--fail-over", "2%", str(TRAIN), str(TRAINER), env={"COLUMNS": "60"}).stdout
        self.assertIn("note: 2%: 1 and 1 runs cannot tell: 2 on each side are needed, or 3 and 1", " ".join(text.split()))
        self.assertIn("; prof diff --wide shows all", " ".join(text.split()))
        self.assertNotIn("prof report --wide", text)

    def test_a_baseline_stands_for_its_runs(self):
        base, slower = self.group("base", 5, 1000, 1), self.group("slower", 5, 1050, 100)
        made = self.prof("baseline", base, "-o", "b.json")
        self.assertEqual((made.returncode, made.stdout), (0, ""), made.stderr)
        self.assertIn("5 runs", made.stderr)
        with_runs, with_file = self.documents(base, slower), self.documents("b.json", slower)
        for report in ("diff", "diff_waterfall", "diff_ranges", "diff_kernels", "diff_findings"):
            for row, other in zip(with_runs[report]["rows"], with_file[report]["rows"], strict=True):
                self.assertEqual(row.keys(), other.keys())
                for key, value in row.items():
                    self.assertAlmostEqual(value, other[key], places=6) if isinstance(value, float) else self.assertEqual(value, other[key], (report, key))
        self.assertEqual(self.prof("diff", "b.json", slower, "--fail-over", "2%").returncode, 3)
        self.assertEqual(self.prof("diff", "b.json", slower, "--fail-over", "8%").returncode, 0)
        self.assertEqual(self.prof("diff", slower, "b.json", "--fail-over", "2%").returncode, 0)

    def test_a_baseline_of_another_machine_tells_nothing(self):
        base, slower = self.group("base", 5, 1000, 1), self.group("slower", 5, 1050, 100)
        text = self.prof("baseline", base, "-o", "-").stdout
        made = json.loads(text)
        other = self.dir / "other.json"
        other.write_text(text.replace('"machine": {', '"machine": {"host": "node7"' + (", " if made["machine"] else "")))
        result = self.prof("diff", other, slower, "--fail-over", "2%")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("the baseline is of another machine", result.stderr)
        warnings = [line for line in result.stdout.splitlines() if line.startswith("warning: ")]
        self.assertIn("is of another machine: its host is node7, and that of the other side not known", warnings[0])
        self.assertEqual(self.prof("diff", other, slower, "--fail-over", "2%", "--any-machine").returncode, 3)

    def test_bad_baselines_are_refused(self):
        base = self.group("base", 2, 1000, 1)
        self.assertEqual(self.prof("baseline", "-o", "b.json").returncode, 2)
        self.assertEqual(self.prof("baseline", base).returncode, 2)
        self.assertEqual(self.prof("baseline", base, "-o", "b.prof").returncode, 2)
        self.assertEqual(self.prof("baseline", base, "-o", base / "0.json").returncode, 2)
        self.assertEqual(self.prof("baseline", "nothing", "-o", "b.json").returncode, 1)
        self.assertFalse((self.dir / "b.json").exists())
        cut = self.dir / "cut.json"
        cut.write_text(self.prof("baseline", base, "-o", "-").stdout[:500])
        refused = self.prof("diff", cut, base)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("cut.json: this baseline cannot be used", refused.stderr)

    def test_autocast_is_told_by_what_it_changes(self):
        """The case of docs/guide/answers.md as a trace: kernels of forward and backward take a sixth, under other names, the
        optimizer's do not, and the host cannot launch the forward's as fast."""
        def program(name, kernel_us, kernel):
            trace, at = TorchTrace(), 0.0
            for step in range(8):
                begin, gpu = at, at + 20
                for phase, launches, took in (("forward", 20, kernel_us), ("backward", 20, 2 * kernel_us), ("optimizer_step", 5, 600)):
                    first = at
                    for _ in range(launches):
                        start = max(gpu, at + 15)
                        optimizer = phase == "optimizer_step"
                        trace.kernel(start, start + took, at + 10, name="adam" if optimizer else kernel)
                        gpu, at = start + took, at + 300
                    trace.range(phase, first, at)
                at = max(at, gpu) + 50
                trace.step(step, begin, at)
            return trace.write(self.dir / name)

        before, after = program("before.json", 1800.0, "cutlass_80_simt_sgemm"), program("after.json", 250.0, "nvjet_bf16")
        found = self.documents(before, after)
        self.check_waterfall(found)
        parts = {(row["phase"], row["use"]): row["change_ns"] for row in found["diff_waterfall"]["rows"]}
        first = [(row["phase"], row["use"]) for row in found["diff_waterfall"]["rows"][:2]]
        self.assertEqual(first, [("backward", "kernels"), ("forward", "kernels")])
        self.assertEqual(parts["forward", "kernels"], 20 * (250 - 1800) * 1000)
        self.assertEqual(parts["optimizer_step", "kernels"], 0)
        self.assertGreater(parts["forward", "idle: launches"], 0)
        states = {row["name"]: row["state"] for row in found["diff_kernels"]["rows"]}
        self.assertEqual(states, {"cutlass_80_simt_sgemm": "gone", "nvjet_bf16": "new", "adam": ""})
        self.assertIn("launches", " ".join(row["finding"] for row in found["diff_findings"]["rows"] if row["state"] == "came"))

    def test_bad_limits_are_refused(self):
        for limit in ("much", "loss=2%", "range=2%", "step:x=2%", "2%%"):
            self.assertEqual(self.prof("diff", "--fail-over", limit, str(TRAINER), str(TRAINER)).returncode, 2, limit)
        self.assertEqual(self.prof("diff", "--junit", "x.xml", str(TRAINER), str(TRAINER)).returncode, 2)

    def test_a_misspelt_range_is_refused(self):
        for limit, hint in (("range:forwrd=2%", 'did you mean "forward"?'), ("module:zzzzzz=2%", "no run has a module")):
            refused = self.prof("diff", TRAIN, TRAINER, "--fail-over", limit)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused.stderr)
            self.assertIn(hint, refused.stderr)

    def test_no_input_is_overwritten(self):
        base, new = self.group("base", 1, 1000, 1), self.group("new", 1, 1000, 2)
        before = (base / "0.json").read_bytes()
        for option in ("-o", "--junit"):
            refused = self.prof("diff", base, new, "--fail-over", "2%", option, base / "0.json")
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn("choose another name", refused.stderr)
        self.assertEqual((base / "0.json").read_bytes(), before)
        same = self.prof("diff", base, new, "--fail-over", "2%", "-o", self.dir / "x", "--junit", self.dir / "x")
        self.assertEqual(same.returncode, 2, same.stderr)

    def test_what_people_see_adds_up(self):
        text = self.prof("diff", "--rows", "4", str(TRAIN), str(TRAINER)).stdout
        part = text[text.index("From the base step to the new one"):]
        lines = part.split("\n\n")[1].splitlines()
        rule = [i for i, line in enumerate(lines) if line.startswith("--")]
        numbers = lambda line: [float(n.replace(",", "")) for n in re.findall(r"[-+]?[\d,]+\.\d{3}\b", line)]
        rows = [numbers(line) for line in lines[rule[0] + 1:rule[1]]]
        total = numbers(lines[rule[1] + 1])
        self.assertEqual(len(rows), 4)
        for column in range(3):
            self.assertAlmostEqual(sum(row[column] for row in rows), total[column], places=3)

    def test_bad_command_lines_and_inputs(self):
        self.assertEqual(self.prof("diff", str(TRAINER)).returncode, 2)
        self.assertEqual(self.prof("diff", "--margin", "much", str(TRAINER), str(TRAINER)).returncode, 2)
        missing = self.prof("diff", str(TRAINER), "no_such.prof")
        self.assertEqual((missing.returncode, missing.stdout), (1, ""))
        without = self.dir / "without.json"
        without.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"device": 0}}]}),
            encoding="utf-8")
        mixed = self.prof("diff", str(TRAINER), str(without))
        self.assertEqual(mixed.returncode, 1)
        self.assertIn("has none; --step-range", mixed.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
