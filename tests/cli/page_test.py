# SPDX-License-Identifier: Apache-2.0
"""The page of a run: its layout, what its data add up to, and names that are markup.

    page_test.py PROF EXAMPLES PROGRAM [unittest's arguments]

What adds up is checked against the page itself and against `prof report --format json`, never against the code that
makes the page.
"""
import base64
import gzip
import hashlib
import html.parser
import json
import os
import pathlib
import re
import stat
import statistics
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import ranks_test
from hostile_captures import POP, PUSH, begin, record
from torch_trace import TorchTrace

PROF = EXAMPLES = PROGRAM = None
SCRIPT = re.compile(r'<script type="([^"]+)" id="([^"]+)"( data-encoding="gzip-base64")?>(.*?)</script>', re.S)
VOID = {"meta", "br", "link", "img", "input", "hr"}


def run(*words, status=0, **more):
    done = subprocess.run([PROF, *map(str, words)], capture_output=True, check=False, **more)
    assert done.returncode == status, (words, done.returncode, done.stderr.decode(errors="replace"))
    return done


class Parser(html.parser.HTMLParser):
    """Refuses what does not nest, and keeps the text of elements and the ids."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.tags, self.text, self.attributes = [], [], [], {}, []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name) for name, _ in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_data(self, data):
        if self.open:
            self.text[self.open[-1]] = self.text.get(self.open[-1], "") + data


class Page:
    def __init__(self, path):
        self.html = pathlib.Path(path).read_bytes().decode("utf-8")
        self.parser = Parser()
        self.parser.feed(self.html)
        self.parser.close()
        assert not self.parser.open, self.parser.open
        self.data = {}
        for _, name, packed, text in SCRIPT.findall(self.html):
            self.data[name] = json.loads(gzip.decompress(base64.b64decode(text)) if packed else text)
        self.results = self.data["results"]
        self.views = self.results["views"]


def page_of(*files, options=()):
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "run.html")
        run("report", *files, "--html", place, *options)
        return Page(place)


def is_near(value, wanted, allowed):
    assert abs(value - wanted) <= allowed, (value, wanted, allowed)


def check_tree(node):
    children = node.get("children", [])
    for side in range(3):
        inside = sum(child["gpu_ns"][side] for child in children)
        assert inside <= node["gpu_ns"][side] + len(children) + 1, (node["name"], inside, node["gpu_ns"])
        assert node["gpu_ns"][side] >= 0, node["name"]
    count = 1
    for child in children:
        count += check_tree(child)
    return count


def check_lanes(step):
    """Slices do not overlap, and the gaps of each GPU with what runs on it are the whole step."""
    length = step["length_ns"]
    busy = {}
    gaps = {}
    for lane in step["lanes"]:
        at, last = 0, None
        for start, duration in zip(lane["start"], lane["length"]):
            at += start
            assert duration >= 0 and (last is None or at >= last), (lane["title"], at, last)
            last = at + duration
            if lane["kind"] == "stream":
                busy.setdefault(lane["group"], []).append((max(at, 0), min(last, length)))
            if lane["kind"] == "gaps":
                gaps[lane["group"]] = gaps.get(lane["group"], 0) + duration
        for name in lane["name"]:
            assert 0 <= name < len(step["strings"])
        for column in ("name", "count", "busy", "call", "from_lane", "class", "phase", "cause", "place"):
            assert column not in lane or len(lane[column]) == len(lane["start"]), (lane["kind"], column)
        for target, index in zip(lane.get("from_lane", []), lane.get("call", [])):
            assert (target < 0) == (index < 0)
            assert target < 0 or index < len(step["lanes"][target]["start"])
    for lane in step["lanes"]:
        if lane["kind"] == "path":
            assert sum(lane["length"]) <= length
            assert all(-1 <= on < len(step["lanes"]) for on in lane["on"])
    if any("count" in lane for lane in step["lanes"]):
        return  # what was merged has its gaps in it
    for gpu, idle in gaps.items():
        union, until = 0, 0
        for start, end in sorted(busy.get(gpu, [])):
            union += max(0, end - max(start, until))
            until = max(until, end)
        is_near(union + idle, length, 1)


def check(page):
    answer, steps, findings = page.views["answer"], page.views["steps"], page.views["findings"]
    parts = page.results["parts"]
    if answer.get("parts"):
        is_near(sum(part["ns"] for part in answer["parts"]), answer["step_ns"], len(parts) + 1)
        busy = sum(part["ns"] for part in answer["parts"] if parts[part["part"]]["kind"] != "idle")
        if answer["devices"]:
            is_near(busy, answer["busy_ns"], len(parts) + 1)
        for part in answer["parts"]:
            if "places" in part and len(part["places"]) < 12:
                is_near(sum(place["ns"] for place in part["places"]), part["ns"], len(part["places"]) + 1)
                if "places" in part:
                    assert len(part["places"]) == min(part["place_count"], 12)
    if "count" in steps:
        counted = [i for i, counts in enumerate(steps["counted"]) if counts]
        if steps["per_column"] == 1 and steps["unit_ns"] == 1:
            is_near(statistics.median(steps["length"][i] for i in counted), steps["median_ns"], 1)
            assert steps["median_ns"] == answer["median_ns"]
            times = {part["part"]: part["time"] for part in steps["parts"]}
            for part, median_ns in steps["median_parts"]:
                is_near(statistics.median(times[part][i] for i in counted), median_ns, 1)
        for i, length in enumerate(steps["length"]):
            if steps["counted"][i] and answer["devices"] <= 1:
                whole = length if answer["devices"] else steps["host"][i]
                is_near(sum(part["time"][i] for part in steps["parts"]), whole, len(parts) + 1)
        if all(steps["counted"]) and steps["per_column"] == 1 and answer["devices"] <= 1:
            is_near(sum(steps["length"]) * steps["unit_ns"] / len(steps["length"]), answer["step_ns"] if answer["devices"]
                    else sum(steps["length"]) * steps["unit_ns"] / len(steps["length"]), steps["unit_ns"] + 1)
    if "list" in findings:
        alone = {mask: gain for mask, gain in findings["sets"]}
        assert len(alone) == len(findings["sets"])
        for i, finding in enumerate(findings["list"][:31]):
            if 1 << i in alone:
                is_near(alone[1 << i], finding["gain_ns"], 1)
        if findings["is_complete"] and findings["list"]:
            assert len(alone) == (1 << len(findings["list"])) - 1
            is_near(alone[max(alone)], findings["together_ns"], 2)
        for gain in alone.values():
            assert 0 <= gain <= findings["step_ns"] + 1
    if "nodes" in page.views["where"]:
        nodes = page.views["where"]["nodes"]
        assert check_tree(nodes) < 4000
        if answer["devices"]:
            is_near(sum(nodes["gpu_ns"]), answer["busy_ns"], 4)
    kernels = page.views["kernels"]
    if "rows" in kernels:
        total = sum(row["ns"] for row in kernels["rows"]) + kernels["rest"]["ns"]
        is_near(total, kernels["total_ns"], len(kernels["rows"]) + 2)
        is_near(sum(of["ns"] for of in kernels["classes"]), kernels["total_ns"], 10)
        for row in kernels["rows"]:
            is_near(sum(ns for _, ns in row["phases"]), row["ns"], len(row["phases"]) + 1)
            histogram = row["histogram"]
            assert 2 ** (histogram["first"] / 2) <= row["min_ns"] * 1.0001 + 1
            assert row["max_ns"] <= 2 ** ((histogram["first"] + len(histogram["counts"])) / 2) + 1
            assert row["min_ns"] <= row["median_ns"] <= row["max_ns"]
    for step in page.views["timeline"].get("steps", []):
        check_lanes(page.data[step["id"]])
        assert page.data[step["id"]]["length_ns"] == step["length_ns"]
    for cause in page.results["causes"]:
        assert cause["part"] is None or parts[cause["part"]]["kind"] == "idle"


class Layout(unittest.TestCase):
    def test_one_file_that_asks_for_nothing(self):
        page = page_of(EXAMPLES / "h200_train.prof")
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page.html).group(1)
        self.assertIn("default-src 'none'", policy)
        script = re.search(r"<script>(.*?)</script>", page.html, re.S).group(1)
        self.assertIn("'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'", policy)
        for address in re.findall(r'(?:src|href)="([^"]*)"', page.html):
            self.assertTrue(address.startswith("#"), address)
        self.assertNotIn("@import", page.html)
        self.assertEqual(len(page.parser.ids), len(set(page.parser.ids)))
        self.assertLess(page.html.index('id="results"'), page.html.index("<script>"))
        self.assertLess(page.html.index("<script>"), page.html.index('id="timeline-0"'))

    def test_says_all_without_a_script(self):
        page = page_of(EXAMPLES / "observed/h200_gpt.prof")
        text = re.sub(r"<script.*?</script>|<style.*?</style>", "", page.html, flags=re.S)
        for word in ("A step takes", "whole step", "launches", "backward", "nvjet_sm90", "The longest steps", "model: forward",
                     "Nothing of what was recorded was lost", "short gaps", "NVIDIA H200"):
            self.assertIn(word, text)
        self.assertEqual(page.parser.tags.count("h1"), 1)
        for view in page.views:
            if view not in ("findings",):
                self.assertIn(f'data-view="{view}"', page.html)

    def test_format_html_into_a_file_is_the_page(self):
        with tempfile.TemporaryDirectory() as folder:
            for words in (["--html", f"{folder}/a.html"], ["--format", "html", "-o", f"{folder}/b.html"]):
                run("report", EXAMPLES / "h200_train.prof", *words)
            first, second = (pathlib.Path(folder, name).read_bytes() for name in ("a.html", "b.html"))
            self.assertEqual(first, second)
            run("report", EXAMPLES / "h200_train.prof", "--report", "kernels", "--format", "html", "-o", f"{folder}/c.html")
            self.assertTrue(pathlib.Path(folder, "c.html").read_text().startswith("<section>"))
            out = run("report", EXAMPLES / "h200_train.prof", "--html", "-").stdout
            self.assertEqual(out, first)

    def test_replaces_no_capture(self):
        with tempfile.TemporaryDirectory() as folder:
            capture = pathlib.Path(folder, "run.prof")
            capture.write_bytes((EXAMPLES / "h200_train.prof").read_bytes())
            for words in (["report", capture, "--html", capture], ["open", capture, "-o", capture]):
                self.assertIn(b"choose another name", run(*words, status=2).stderr)
            self.assertIn(b"--report", run("report", capture, "--html", "x", "--report", "kernels", status=2).stderr)


class Model(unittest.TestCase):
    def test_figures_add_up(self):
        for name in ("h200_train.prof", "h200_trainer.prof", "observed/h200_gpt.prof", "observed/h200_jax.prof", "observed/h200_ddp.0.prof"):
            with self.subTest(name):
                check(page_of(EXAMPLES / name))

    def test_a_wrong_figure_is_found(self):
        page = page_of(EXAMPLES / "observed/h200_gpt.prof")
        original = json.dumps(page.data)

        def gaps(data):
            return next(lane for lane in data["timeline-0"]["lanes"] if lane["kind"] == "gaps")["length"]

        def changed(data):
            views = data["results"]["views"]
            yield views["answer"]["parts"][0], "ns"
            yield views["answer"]["parts"][4]["places"][0], "ns"
            yield views["steps"]["parts"][1]["time"], 5
            yield views["steps"]["median_parts"][1], 1
            yield views["steps"]["length"], 5
            yield views["findings"]["list"][0], "gain_ns"
            yield views["findings"]["sets"][-1], 1
            yield views["where"]["nodes"]["children"][0]["children"][0]["gpu_ns"], 1
            yield views["kernels"]["rows"][3], "ns"
            yield views["kernels"]["rows"][3]["phases"][0], 1
            yield views["kernels"]["classes"][0], "ns"
            yield gaps(data), 7

        for number in range(12):
            page.data = json.loads(original)
            page.results = page.data["results"]
            page.views = page.results["views"]
            check(page)
            place, key = list(changed(page.data))[number]
            place[key] += 2_000_000
            with self.subTest(number), self.assertRaises(AssertionError):
                check(page)

    def test_the_critical_path_covers_a_step(self):
        page = page_of(EXAMPLES / "observed/h200_gpt.prof")
        for name in ("timeline-0", "timeline-1"):
            step = page.data[name]
            (path,) = [lane for lane in step["lanes"] if lane["kind"] == "path"]
            is_near(sum(path["length"]), step["length_ns"], step["length_ns"] // 100)
            on = {step["lanes"][lane]["kind"] for lane in path["on"] if lane >= 0}
            self.assertEqual(on, {"calls", "stream"})

    def test_figures_are_those_of_the_report(self):
        file = EXAMPLES / "observed/h200_gpt.prof"
        page = page_of(file)
        report = json.loads(run("report", file, "--report", "breakdown", "--format", "json").stdout)
        count = report["steps"] * report["devices"]
        answer = page.views["answer"]
        is_near(answer["step_ns"], report["wall_ns"] / count, 1)
        is_near(answer["idle_ns"], report["idle_ns"] / count, 1)
        is_near(answer["busy_ns"], (report["wall_ns"] - report["idle_ns"]) / count, 1)
        by_cause = {}
        for row in report["rows"]:
            if row["use"] == "idle":
                by_cause[row["cause"]] = by_cause.get(row["cause"], 0) + row["total_ns"]
        parts = page.results["parts"]
        gaps = next(part["ns"] for part in answer["parts"] if parts[part["part"]]["key"] == "idle:short_gaps")
        is_near(gaps, by_cause["kernel to kernel"] / count, 1)
        steps = page.views["steps"]
        counted = [n for n, counts in zip(steps["length"], steps["counted"]) if counts]
        self.assertEqual(len(counted), report["steps"])
        self.assertEqual((min(counted), max(counted)), (report["step_min_ns"], report["step_max_ns"]))
        kernels = json.loads(run("report", file, "--report", "kernels", "--format", "json").stdout)
        names = {row["name"] for row in kernels["rows"]}
        for row in page.views["kernels"]["rows"]:
            self.assertTrue(row["name"] in names or row["name"].endswith("…"), row["name"])

    def test_each_step_that_is_left_out_is_named(self):
        page = page_of(EXAMPLES / "observed/h200_gpt.prof")
        steps = page.views["steps"]
        self.assertIn("33 of 35 steps count: step 0 is warm-up, step 34 is cut off by the end of the recording.", page.html)
        self.assertEqual(sum(steps["counted"]), 33)
        self.assertEqual([step["number"] for step in steps["left_out"]] + steps["cut"], [0, 34])

    def test_what_the_heading_and_the_reason_say_agrees(self):
        for names in (["h200_gpt.prof"], ["h200_ddp.0.prof"], ["h200_ddp.0.prof", "h200_ddp.1.prof"]):
            answer = page_of(*(EXAMPLES / "observed" / name for name in names)).views["answer"]
            apart = answer["communication_ns"] > 0.01 * answer["step_ns"]
            share = (answer["busy_ns"] - apart * answer["communication_ns"]) / answer["step_ns"]
            self.assertIn("works for" if apart else "is busy for", answer["sentence"])
            self.assertIn(f"{100 * share:.0f} %", answer["sentence"])
            is_busy = any("busy almost all the time" in text for text in answer["lead"])
            self.assertLessEqual(is_busy, share > 0.9, names)
            self.assertEqual(is_busy, any("would still save" in text for text in answer["lead"]), names)

    def test_a_gain_above_its_idle_time_says_so(self):
        page = page_of(EXAMPLES / "observed/h200_gpt.prof")
        names = [part["name"] for part in page.results["parts"]]
        parts = {names[part["part"]]: part["ns"] for part in page.views["answer"]["parts"]}
        unpinned = parts["unpinned copies"]
        for finding in page.views["findings"]["list"]:
            if finding["rule"] == "pageable_copies":
                self.assertGreater(finding["gain_ns"], unpinned + 0.01 * page.views["answer"]["step_ns"])
                self.assertLess(unpinned, 5000)  # 0.00 ms
                self.assertTrue(finding["beyond"].startswith("The GPU is not idle for this cause directly"))
            else:
                self.assertEqual(finding["beyond"], "")

    def test_no_two_kernels_have_one_name(self):
        for name in ("h200_gpt.prof", "h200_jax.prof", "h200_ddp.0.prof"):
            rows = page_of(EXAMPLES / "observed" / name).views["kernels"]["rows"]
            self.assertEqual(len({row["short"] for row in rows}), len(rows))

    def test_a_part_of_a_run(self):
        page = page_of(EXAMPLES / "observed/h200_gpt.prof", options=("--steps", "5:9"))
        check(page)
        self.assertIn("(4 of 35)", page.results["run"]["selection"])
        self.assertEqual(page.views["answer"]["steps"], 4)

    def test_a_job_has_one_page(self):
        files = [EXAMPLES / "observed/h200_ddp.0.prof", EXAMPLES / "observed/h200_ddp.1.prof"]
        page = page_of(*files)
        check(page)
        self.assertEqual(page.results["run"]["processes"], 2)
        self.assertEqual(len(page.views["processes"]["rows"]), 2)
        processes = page.views["processes"]
        self.assertTrue(any("ranks" in line for line in processes["lines"]))
        self.assertTrue(all(line.endswith(".") for line in processes["lines"]))
        steps = processes["steps"]
        titles = [column["title"] for column in steps["columns"]]
        self.assertEqual(titles[-5:], ["step, ms", "computing", "communication", "copies", "idle"])
        for row in [*steps["rows"], steps["sums"]]:
            self.assertAlmostEqual(float(row[-5]), sum(map(float, row[-4:])), places=6)
        # Who holds the job up is shown, in the words of the first screen.
        text = run("report", *files, env={**os.environ, "COLUMNS": "200"}).stdout.decode()
        (line,) = re.findall("^Job   (.*(?:\n      .*)*)", text, re.M)
        verdict = re.sub(r"\s+", " ", line).removesuffix(".")
        self.assertIn(f"{verdict}. All figures here but those of the job are of rank ", " ".join(page.views["answer"]["lead"]))
        self.assertIn(f">{verdict}.</h2>", page.html.replace("&#39;", "'"))
        if named := re.match(r"Rank (\d+) holds", verdict):
            self.assertEqual(page.results["run"]["rank"], int(named[1]))
        self.assertNotIn("ranks are alike", page.html.split("<script")[0])

    def test_a_trace_of_torch_profiler(self):
        trace = TorchTrace()
        for step in range(6):
            begins = step * 1000
            trace.step(step, begins, begins + 990)
            for i in range(10):
                at = begins + i * 90
                launch = trace.call("cudaLaunchKernel", at, at + 10)
                trace.on_gpu("kernel", "void gemm<float>(float*)", at + 20, at + 60, launch)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "trace.json")
            file.write_text(json.dumps({"traceEvents": trace.events}))
            page = page_of(file)
        check(page)
        self.assertEqual(page.views["kernels"]["rows"][0]["short"], "gemm")


class Answers(unittest.TestCase):
    """What is said first, and that nothing is left out without a word."""

    def test_the_reason_takes_the_largest_first(self):
        for name in ("h200_ddp.0.prof", "h200_ddp.1.prof"):
            report = json.loads(run("report", EXAMPLES / "observed" / name, "--report", "breakdown", "--format", "json").stdout)
            count = report["steps"] * report["devices"] * 1e6
            ms = {use: sum(row["total_ns"] for row in report["rows"] if row["use"] == use) / count for use in ("idle", "communication")}
            reason = page_of(EXAMPLES / "observed" / name).views["answer"]["lead"][0]
            first, second = sorted(ms, key=ms.get, reverse=True)
            self.assertEqual(first, "idle")
            places = [reason.index(f"{ms[use]:.3g}") for use in (first, second)]
            self.assertLess(*places, reason)
            self.assertTrue(reason.startswith("It is idle for "), reason)

    def test_tables_without_a_script_add_up(self):
        """Each part has a row: sums as printed differ by no more than the rows' own rounding."""
        for names in (["h200_gpt.prof"], ["h200_jax.prof"], ["h200_ddp.0.prof"], ["h200_ddp.1.prof"]):
            page = page_of(*(EXAMPLES / "observed" / name for name in names))
            html = page.html.split('<script type="application/json"')[0]
            budget = re.search(r"<caption>What a step consists of</caption>.*?</table>", html, re.S)[0]
            rows = [(name, float(ms)) for name, ms in re.findall(r'<th scope="row">(.*?)</th><td class="n">([\d.]+)</td>', budget)]
            ulp = 10 ** -len(re.search(r"\.(\d+)", budget)[1])
            whole = rows.pop()
            parts = [row for row in rows if not row[0].startswith("— ")]
            is_near(sum(ms for _, ms in parts), whole[1], 0.5 * ulp * (len(parts) + 1))
            for at, (name, ms) in enumerate(rows):
                places = []
                for below, place_ms in rows[at + 1 :]:
                    if not below.startswith("— "):
                        break
                    places.append(place_ms)
                if not name.startswith("— ") and places:
                    is_near(sum(places), ms, 0.5 * ulp * (len(places) + 1))
            tree = re.search(r"<caption>[^<]*by part of the program</caption>.*?</table>", html, re.S)[0]
            nodes = [(name.count("\u2003"), name, float(gpu)) for name, gpu in
                     re.findall(r'<th scope="row">(.*?)</th><td class="n">([\d.]+)</td>', tree)]  # fmt: skip
            self.assertGreater(self.check_levels(nodes, ulp), 0)

    def check_levels(self, nodes, ulp):
        sums = 0
        for at, (depth, name, gpu) in enumerate(nodes):
            inside = []
            for below, _, ms in nodes[at + 1 :]:
                if below <= depth:
                    break
                if below == depth + 1:
                    inside.append(ms)
            if inside:
                sums += 1
                self.assertLessEqual(abs(sum(inside) - gpu), 0.5 * ulp * (len(inside) + 1) + 1e-9, (name, gpu, inside))
        return sums

    def test_each_cause_that_was_not_looked_for_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            Run().run_in(folder, PROGRAM, "phases", "12", "clean")
            (capture,) = pathlib.Path(folder, "out").glob("*.prof")
            told = json.loads(run("diagnose", capture, "--format", "json").stdout)
            told = (told[0] if isinstance(told, list) else told)["not_looked"]
            causes = sum(len(text.split(": ")[0].split(", ")) for text in told)
            shown = page_of(capture).views["findings"]["not_looked"]
        self.assertGreater(causes, 5)
        self.assertEqual(len(shown), causes)
        self.assertEqual(len(set(shown)), causes)

    def test_kinds_of_kernels_are_not_called_as_parts_are(self):
        for name in ("h200_gpt.prof", "h200_ddp.0.prof"):
            page = page_of(EXAMPLES / "observed" / name)
            kinds = {each["name"] for each in page.views["kernels"]["classes"]}
            parts = {part["name"].split(":")[0] for part in page.results["parts"]}
            self.assertEqual(kinds & parts, set())

    def test_one_number_of_gpus(self):
        page = page_of(EXAMPLES / "observed/h200_ddp.0.prof")
        (gpu,) = [text for word, text in page.views["notes"]["recording"] if word == "GPU"]
        (seen,) = re.findall(r"(\d+) GPUs \(", dict(map(tuple, page.views["notes"]["recording"]))["process"])
        self.assertEqual(gpu, f"NVIDIA H200, used 1 of the {seen} that it sees")


class Ranks(unittest.TestCase):
    """The view of ranks, of a job whose arrivals are known."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="libprof-page-ranks-")
        self.addCleanup(self.folder.cleanup)
        self.job = pathlib.Path(self.folder.name, "job")

    @staticmethod
    def lengths(rank, number):
        """How long the layers before the collectives of a step are, as write_job() has them."""
        return [ranks_test.LAYER + 3.0 * ((7 * rank + 5 * number + layer) % 4) + (ranks_test.LATE if rank == 2 and layer == 1 else 0)
                for layer in range(2)]  # fmt: skip

    def test_lateness_and_waits_are_those_of_the_job(self):
        ranks_test.write_job(self.job)
        page = page_of(self.job)
        view, ranks = page.views["ranks"], range(ranks_test.RANKS)
        self.assertEqual(page.results["run"]["rank"], 2)
        self.assertTrue(view["map"]["per_row"] == view["map"]["per_column"] == 1)
        # A rank's clock has an offset, which is known but for its error.
        error = view["clock_error_ns"] + 1000
        first = {}
        waits = [[0.0] * len(ranks) for _ in ranks]
        for column, step in enumerate(view["map"]["number"]):
            layers = list(zip(*(self.lengths(rank, step) for rank in ranks)))
            for rank in ranks:
                late = statistics.mean(layer[rank] - min(layer) for layer in layers)
                is_near(view["map"]["rows"][rank][column], 1000 * late, error)
                first.setdefault(rank, []).append(1000 * late)
                for layer in layers:
                    if max(layer) - sorted(layer)[-2] > 100:  # clearly rank 2
                        waits[rank][2] += 1000 * (max(layer) - layer[rank])
        columns = view["ranks"]
        self.assertEqual(columns["rank"][0], 2)
        for place, rank in enumerate(columns["rank"]):
            is_near(columns["late_ns"][place], statistics.mean(first[rank]), error)
            # What a rank waits for is for somebody, or within the error of the clocks.
            known = sum(view["waits_ns"][rank])
            self.assertLessEqual(known, columns["wait_ns"][place] + 2)
            is_near(view["waits_ns"][rank][2], waits[rank][2] / len(view["map"]["number"]), 2 * error)
        (most, *_) = view["waited_for"]
        self.assertEqual((most["rank"], most["name"], most["ranks"]), (2, "rank 2", 3))
        all_waits = sum(columns["wait_ns"]) / len(ranks)
        is_near(sum(each["mean_ns"] for each in view["waited_for"]), all_waits, 10)
        report = json.loads(run("report", self.job, "--report", "ranks", "--format", "json").stdout)
        self.assertEqual([row["rank"] for row in report["rows"]], columns["rank"])
        for key in ("gain_ns", "wait_ns", "step_ns", "excess_ns"):
            for row, value in zip(report["rows"], columns[key]):
                is_near(row[key] if row[key] is not None else 0, value if value is not None else 0, 1)
        self.assertIn(report["verdict"].replace(" us", " µs")[1:], page.html.replace("&#39;", "'"))

    def test_a_wrong_rank_is_found(self):
        ranks_test.write_job(self.job)
        page = page_of(self.job)
        with mock.patch.object(Ranks, "lengths", staticmethod(lambda rank, number: [2000.0, 2000.0 + (1500 if rank == 1 else 0)])):
            with mock.patch(__name__ + ".page_of", lambda *_: page), self.assertRaises(AssertionError):
                self.test_lateness_and_waits_are_those_of_the_job()

    def test_it_can_be_read_without_a_script(self):
        ranks_test.write_job(self.job)
        html = page_of(self.job).html.split('<script type="application/json"')[0]
        section = re.search(r'<section class="view" id="ranks".*?</section>', html, re.S)[0]
        for caption in ("What holds the job up", "Ranks, the worst first", "For whom the ranks wait", "Collectives of the job"):
            self.assertIn(f"<caption>{caption}", section)
        self.assertIn("Rank 2 holds the job up", section)

    def test_of_many_ranks_and_steps_it_is_small(self):
        count, steps = 150, 300
        with mock.patch.multiple(ranks_test, RANKS=count, OFFSETS=[0.0] * count, STEPS=8):
            ranks_test.write_job(self.job, ranks=range(count))
        view = page_of(self.job).views["ranks"]
        self.assertEqual((view["map"]["per_row"], len(view["map"]["rows"]), len(view["names"])), (2, 75, count))
        self.assertEqual(len(view["ranks"]["rank"]), count)
        self.assertNotIn("waits_ns", view)
        self.assertLessEqual(len(view["waited_for"]), 13)
        # The row with rank 2 has its lateness, and not that of its neighbour.
        self.assertTrue(all(ns > 400 * ranks_test.LATE for ns in view["map"]["rows"][1]))
        self.assertTrue(all(ns < 100_000 for ns in view["map"]["rows"][2]))
        with mock.patch.object(ranks_test, "STEPS", steps):
            ranks_test.write_job(self.job.parent / "long", ranks=range(2))
        view = page_of(self.job.parent / "long").views["ranks"]
        self.assertEqual((view["map"]["per_column"], len(view["map"]["number"])), (2, (view["steps"] + 1) // 2))

    def test_one_capture_has_no_ranks(self):
        self.assertNotIn("ranks", page_of(EXAMPLES / "observed/h200_ddp.0.prof").views)


class Examples(unittest.TestCase):
    """The pages of the shipped captures."""

    def test_are_whole_and_small(self):
        pages = sorted((EXAMPLES.parent / "pages").glob("*.html"))
        self.assertEqual([page.stem for page in pages], ["h200_ddp", "h200_gpt", "h200_jax", "h200_train", "h200_trainer"])
        for path in pages:
            with self.subTest(path.name):
                self.assertLess(path.stat().st_size, 500_000)
                page = Page(path)
                check(page)
                script = re.search(r"<script>(.*?)</script>", page.html, re.S).group(1)
                self.assertIn("'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'", page.html)

    def test_have_the_data_that_prof_writes_now(self):
        written = Page(EXAMPLES.parent / "pages/h200_gpt.html")
        made = page_of(EXAMPLES / "observed/h200_gpt.prof")
        self.assertEqual(written.data, made.data, "examples/pages/make.sh makes them anew")


class Hostile(unittest.TestCase):
    NAMES = [b"</script><script>alert(1)</script>", b"<img src=x onerror=alert(1)>", "a\u2028b\u2029c".encode(),
             b"<!-- <script> -->", "right\u202eleft".encode(), b"\x00\x01\x1b[31m\x7f", b"broken \xff\xfe\xc3",
             b"'\" onload=alert(1) x='", b"&lt;b&gt;&amp;", b"]]>", b"N" * 262144, b"\\u003c/script\\u003e", b"${x}`"]

    def capture(self):
        capture = begin()
        names = [(100 + i, name) for i, name in enumerate(self.NAMES)]
        for number in range(0, len(names)):
            capture.names([names[number]])
        records, at = [], 1000
        for _ in range(8):
            records.append(record(PUSH, at, name=100))
            for number, _ in names:
                records += [record(PUSH, at + 10, name=number), record(POP, at + 90_000)]
                at += 100_000
            records.append(record(POP, at))
            at += 1000
        capture.records(1, records)
        return capture.done()

    def test_names_are_text(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "</title><script>1</script>&.prof")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(self.capture())
            page = page_of(file)
        check(page)
        self.assertEqual(page.parser.tags.count("img"), 0)
        events = [name for _, name in page.parser.attributes if name.startswith("on")]
        self.assertEqual(events, [])
        scripts = re.findall(r"<script[^>]*>", page.html)
        self.assertEqual(len(scripts), 2 + len(page.views["timeline"].get("steps", [])))
        whole = page.html + json.dumps(page.data, ensure_ascii=False)
        for bad in "\u2028\u2029\u202e\x00\x1b\x7f":
            self.assertNotIn(bad, whole.replace("\\u2028", ""))
        self.assertLess(len(page.html), 1_000_000)
        self.assertIn("\\xFF", whole)


    def test_a_thousand_long_names_are_less_than_a_megabyte(self):
        capture = begin()
        count, length = 2_000, 5_000
        for first in range(0, count, 100):
            capture.names([(100 + i, (b"%07d <&\xff" % (i * 7_919_993 % 10_000_019)) * (length // 10)) for i in range(first, first + 100)])
        records, at = [], 1000
        for step in range(3):
            for i in range(count):
                records += [record(PUSH, at, name=100 + i), record(POP, at + 50_000)]
                at += 100_000
        capture.records(1, records)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "long.prof")
            file.write_bytes(capture.done())
            page = page_of(file)
        check(page)
        self.assertLess(len(page.html), 1_000_000)


class Run(unittest.TestCase):
    """Pages at the end of `prof run`."""

    def run_in(self, folder, *command):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PROF_")}
        return subprocess.run([PROF, "run", "--export", "html", "-q", "-o", "out", "--", *command], cwd=folder, check=True,
                              capture_output=True, text=True, timeout=60, env=environment)

    def test_of_one_process(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_in(folder, PROGRAM, "phases", "12", "clean")
            (capture,) = pathlib.Path(folder, "out").glob("*.prof")
            self.assertIn(str(capture.with_suffix(".html").name), done.stderr)
            page = Page(capture.with_suffix(".html"))
            self.assertEqual(sorted(path.suffix for path in capture.parent.iterdir()), [".html", ".prof"])
        check(page)
        self.assertIn("on the CPU", page.views["answer"]["sentence"])

    def test_of_a_job(self):
        with tempfile.TemporaryDirectory() as folder:
            command = f"RANK=0 {PROGRAM} phases 12 clean & RANK=1 {PROGRAM} phases 12 slow; wait"
            self.run_in(folder, "sh", "-c", command)
            page = Page(pathlib.Path(folder, "out", "job.html"))
        check(page)
        self.assertEqual(page.results["run"]["processes"], 2)


class Open(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.capture = pathlib.Path(self.folder.name, "run.prof")
        self.capture.write_bytes((EXAMPLES / "h200_train.prof").read_bytes())
        self.environment = {**os.environ, "TMPDIR": self.folder.name}
        for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
            self.environment.pop(name, None)

    def tearDown(self):
        self.folder.cleanup()

    def browser(self, status=0):
        program = pathlib.Path(self.folder.name, "browser")
        program.write_text(f'#!/bin/sh\nprintf %s "$1" > "{self.folder.name}/shown"\nexit {status}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return str(program)

    def test_opens_a_browser(self):
        done = run("open", self.capture, env={**self.environment, "BROWSER": self.browser()})
        page = self.capture.with_suffix(".html")
        self.assertEqual(pathlib.Path(self.folder.name, "shown").read_text(), str(page))
        check(Page(page))
        self.assertIn(b"saved", done.stderr)

    def test_says_where_the_page_is_without_a_browser(self):
        for browser in ({}, {"BROWSER": "/nowhere/browser"}, {"BROWSER": self.browser(3)}):
            done = run("open", self.capture, env={**self.environment, **browser})
            self.assertIn(str(self.capture.with_suffix(".html")).encode(), done.stderr)
            self.assertIn(b"no browser", done.stderr)

    def test_a_second_browser_is_asked(self):
        run("open", self.capture, env={**self.environment, "BROWSER": "/nowhere/one:" + self.browser() + " %s"})
        self.assertTrue(pathlib.Path(self.folder.name, "shown").exists())


if __name__ == "__main__":
    PROF, EXAMPLES = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    PROGRAM = str(pathlib.Path(sys.argv[3]).resolve())
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
