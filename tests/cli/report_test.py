#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prof report and prof export as a user meets them; the arguments are those of cli_test.py."""
import csv
import gzip
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from cli_test import DOCS, PROF, STUB, CommandLine


class Report(CommandLine):
    def copy_of(self, capture):
        """The same in a file of its own: a file that is named twice is one capture."""
        path = self.dir / "copy.prof"
        path.write_bytes(pathlib.Path(capture).read_bytes())
        return str(path)

    def test_json_is_one_object_for_one_report(self):
        result = self.prof("report", self.capture(), "--format", "json")
        report = json.loads(result.stdout)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(report["total_gpu_ns"], 30_000)
        self.assertEqual([row["path"] for row in report["rows"]],
                         ["forward", "(no range)", "(ambiguous)", "(unmatched)"])  # fmt: skip
        row = report["rows"][0]
        self.assertEqual((row["host_ns"], row["gpu_sum_ns"], row["gpu_self_ns"], row["ops"]), (8000, 30_000, 30_000, 1))

    def test_json_of_several_reports_is_an_array(self):
        capture = self.capture()
        result = self.prof("report", capture, self.copy_of(capture), "--report", "kernels,copies", "--format", "json")
        self.assertEqual([part["report"] for part in json.loads(result.stdout)], ["kernels", "copies"] * 2)

    def test_csv_has_a_line_for_each_row(self):
        capture = str(self.capture())
        result = self.prof("report", capture, self.copy_of(capture), "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual([row["path"] for row in rows].count("forward"), 2)
        self.assertEqual(rows[0]["capture"], capture)
        self.assertEqual(rows[0]["gpu_sum_ns"], "30000")

    def test_the_processes_of_several_captures_are_one_report(self):
        capture = str(self.capture())
        copy = self.copy_of(capture)
        several = ["report", capture, copy, "--report"]
        of_job = json.loads(self.prof(*several, "processes", "--format", "json").stdout)
        self.assertEqual((of_job["captures"], len(of_job["rows"])), ([capture, copy], 2))
        self.assertEqual({row["ops"] for row in of_job["rows"]}, {1})
        with_others = json.loads(self.prof(*several, "processes,kernels", "--format", "json").stdout)
        self.assertEqual([each["report"] for each in with_others], ["kernels", "kernels", "processes"])
        self.assertEqual(with_others[-1], of_job)
        of_one = json.loads(self.prof("report", capture, "--report", "processes", "--format", "json").stdout)
        self.assertEqual((of_one["captures"], of_one["rows"]), ([capture], of_job["rows"][:1]))
        (header, *lines) = self.prof(*several, "processes", "--format", "csv").stdout.split("\n")[:-1]
        self.assertEqual((header.split(",")[:2], len(lines)), (["rank", "pid"], 2))
        overview = self.prof(*several, "kernels").stdout.splitlines()
        for form in "table", "markdown", "html":
            text = self.prof(*several, "processes", "--format", form).stdout
            self.assertEqual(text.count("2 captures of 1 process"), 1)
            if form == "table":
                self.assertEqual(text.splitlines()[2:], overview[:6])

    def test_all_reports_are_listed_documented_and_made(self):
        listed = self.prof("report", "--report", "help")
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        names = [line.split()[0] for line in listed.stdout.splitlines()]
        self.assertEqual(len(names), 52)
        documented = re.findall(r"^## (\S+)$", (DOCS / "reference/reports.md").read_text(), re.MULTILINE)
        self.assertEqual(sorted(documented), sorted(names))
        capture = self.capture()
        everything = self.prof("report", capture, "--report", "all")
        self.assertEqual((everything.returncode, everything.stderr), (0, ""))
        (without,) = re.findall(r"^note: reports without rows: (.*)$", everything.stdout, re.MULTILINE)
        in_json = json.loads(self.prof("report", capture, "--report", "all", "--format", "json").stdout)
        self.assertEqual([report["report"] for report in in_json], names)
        self.assertEqual(without.split(", "), [report["report"] for report in in_json if not report["rows"]])
        for name in names[0], "kernels":
            filtered = self.prof("report", capture, "--report", name, "--nvtx-domain-include", "nothing,default")
            self.assertEqual((filtered.returncode, filtered.stderr), (0, ""))
            self.assertIn('\nwarning: nvtx_domain_include: no range has the domain "nothing"; there are ranges of default\n',
                          filtered.stdout)  # fmt: skip
        for name in ("cuda-api-sum", "gpu_projection"):
            made = self.prof("report", capture, "--report", name, "--format", "csv")
            known = next(known for known in names if known.replace("-", "_") == name.replace("-", "_"))
            self.assertEqual(made.stdout, self.prof("report", capture, "--report", known, "--format", "csv").stdout)
        for name in names:
            for form in ("table", "csv", "json", "markdown", "html"):
                result = self.prof("report", capture, "--report", name, "--format", form)
                self.assertEqual((result.returncode, result.stderr), (0, ""), name)

    def test_nsights_reports_have_its_columns(self):
        capture = str(self.capture())
        csv_of = lambda *files: self.prof("report", *files, "--report", "cuda_gpu_kern_sum", "--format", "csv").stdout
        columns = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"
        self.assertEqual(csv_of(capture), columns + "\n100.0,30000,1,30000.0,30000.0,30000,30000,0.0,kernel_x\n")
        copy = self.copy_of(capture)
        several = csv_of(capture, copy).splitlines()
        self.assertEqual(several[0], "capture," + columns)
        self.assertEqual([line.split(",")[0] for line in several[1:]], [capture, copy])

    def test_columns_match_the_document(self):
        capture = self.capture()
        for name, columns in re.findall(r"^## ((?:nvtx|cuda)_\w+)$.*?^Columns: (.*?)\.$",
                                        (DOCS / "reference/reports.md").read_text(),
                                        re.MULTILINE | re.DOTALL):  # fmt: skip
            header = self.prof("report", capture, "--report", name, "--format", "csv").stdout.splitlines()[0]
            self.assertEqual(re.findall(r"`([^`]+)`", columns), header.split(","), name)

    def test_colour_is_for_terminals(self):
        capture = self.capture()
        plain = self.prof("report", capture, env={"COLUMNS": "100"}).stdout
        always = self.prof("report", capture, "--color", "always", env={"COLUMNS": "100"}).stdout
        self.assertNotIn("\x1b", plain)
        self.assertIn("\x1b[1m", always)
        self.assertEqual(re.sub(r"\x1b\[\d+m", "", always), plain)
        for variables, options, has_colour in (
            ({"TERM": "xterm"}, (), True),
            ({"TERM": "xterm", "NO_COLOR": "1"}, (), False),
            ({"TERM": "xterm", "NO_COLOR": ""}, (), True),
            ({"TERM": "dumb"}, (), False),
            ({"TERM": "xterm"}, ("--color", "never"), False),
            ({"TERM": "dumb", "NO_COLOR": "1"}, ("--color=always",), True),
            ({"TERM": "xterm"}, ("-o", "report.txt"), False),
        ):
            environment = {"NO_COLOR": "", **variables}
            shown = self.on_terminal("report", capture, *options, env=environment)
            if "-o" in options:
                shown = (self.dir / "report.txt").read_text()
            self.assertEqual("\x1b[" in shown, has_colour, (variables, options))
        self.assert_one_line(self.prof("report", capture, "--color", "maybe"), 2, "auto, always")

    def test_wide_tables_have_all_columns(self):
        capture = self.capture()
        narrow = self.prof("report", capture, env={"COLUMNS": "80"}).stdout
        self.assertRegex(narrow, r"\nleft out at 80 columns: (.*\n)*?.*--wide shows all\n")
        self.assertNotIn("stddev:", narrow)
        wide = self.prof("report", capture, "--wide", env={"COLUMNS": "80"}).stdout
        self.assertNotIn("left out", wide)
        titles = next(line for line in wide.splitlines() if line.startswith("range "))
        for column in re.search(r"left out at 80 columns: ([^;]*);", narrow)[1].replace("\n", " ").split(", "):
            self.assertIn(f" {column.strip()}", titles)
        self.assertIn("| stddev |", self.prof("report", capture, "--wide", "--format", "markdown").stdout)

    def test_lists_can_be_sorted_and_cut(self):
        capture = self.capture()
        for form in ("table", "csv", "json", "markdown", "html"):
            made = self.prof("report", capture, "--report", "kernels", "--sort", "total", "--limit", "0", "--format", form)
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            self.assertNotIn("kernel_x", made.stdout)
            self.assertEqual("1 more row is left out; the total includes it" in made.stdout, form != "csv", form)
        self.assert_one_line(self.prof("report", capture, "--report", "kernels", "--sort", "size"), 2, '"size"', "median")
        self.assert_one_line(self.prof("report", capture, "--sort", "GPU"), 2, "gpu-projection is no list of rows")

    def test_a_file_that_is_named_twice_is_one_capture(self):
        capture = str(self.capture())
        alone = self.prof("report", capture, "--format", "json")
        link = self.dir / "link.prof"
        link.symlink_to(capture)
        for words in ([capture, capture], [capture, capture.replace("/captures/", "/captures/./")], [capture, str(link)], [str(self.out), capture]):
            with self.subTest(words=words):
                made = self.prof("report", *words, "--format", "json")
                self.assertEqual((made.returncode, made.stdout), (0, alone.stdout))
                self.assertRegex(made.stderr, "^prof: .* (named more than once|the same file as .*); it is read once\n$")
        for command in (["diagnose"], ["export"], ["report", "--html", "page.html"]):
            self.assertIn("it is read once", self.prof(*command, capture, capture).stderr)

    def test_domains_can_be_left_out(self):
        capture = self.capture()
        for option, value in (("--nvtx-domain-exclude", "default"), ("--nvtx-domain-include", "NCCL")):
            rows = json.loads(self.prof("report", capture, option, value, "--format", "json").stdout)["rows"]
            self.assertEqual([row["path"] for row in rows], ["(no range)", "(ambiguous)", "(unmatched)"])
            self.assertEqual(rows[0]["gpu_self_ns"], 30_000)
            result = self.prof("export", capture, option, value, "-o", "trace.json")
            self.assertIn(" 0 host ranges, 1 CUDA calls, 1 GPU operations, 0 ranges on the GPU", result.stdout)

    def test_only_the_summary_leaves_domains_out(self):
        result = self.run_stubbed("true", options=["--nvtx-domain-exclude", "default"])
        self.assertIn("(no range)", result.stderr)
        self.assertNotIn("forward ", result.stderr)
        (trace,) = self.out.glob("*.trace.json.gz")
        self.assertIn(b'"forward"', gzip.decompress(trace.read_bytes()))

    def test_reports_can_be_repeated_or_listed(self):
        capture = self.capture()
        listed = self.prof("report", "--report", "gpu-projection,kernels", capture).stdout
        repeated = self.prof("report", "--report", "gpu-projection", "--report", "kernels", capture).stdout
        self.assertEqual(listed, repeated)
        self.assertIn("kernel_x", listed)
        self.assertIn("GPU time by range", listed)

    def test_output_can_be_a_file(self):
        result = self.prof("report", self.capture(), "--format", "json", "-o", "report.json")
        self.assertEqual(result.stdout, "")
        self.assertEqual(json.loads((self.dir / "report.json").read_text())["total_gpu_ns"], 30_000)
        self.assert_one_line(self.prof("report", self.capture(), "-o", "/nowhere/x"), 1, "/nowhere/x")

    def test_output_can_be_standard_output(self):
        capture = self.capture()
        self.assertEqual(self.prof("report", capture, "-o", "-").stdout, self.prof("report", capture).stdout)
        self.assertFalse((self.dir / "-").exists())

    def test_captures_are_never_overwritten(self):
        first = self.capture()
        content = first.read_bytes()
        second = self.dir / "other.prof"
        second.write_bytes(content)
        disguised = self.dir / "disguised.json"
        disguised.write_bytes(content)
        linked, pointing = self.dir / "linked.json", self.dir / "pointing.json"
        linked.hardlink_to(first)
        pointing.symlink_to(first)
        folder = first.parent.name
        for output in (first, f"{folder}/./{first.name}", linked, pointing, second, disguised):
            for command in (["report", first], ["report", second, first], ["export", first]):
                with self.subTest(output=output, command=command):
                    if command[0] == "export" and not str(output).endswith(".json"):
                        continue
                    self.assert_one_line(self.prof(*command, "-o", output), 2, str(output), "choose another name")
                    for file in (first, second, disguised, linked, pointing):
                        self.assertEqual(file.read_bytes(), content)
                    self.assertTrue(pointing.is_symlink())
        self.assert_one_line(self.prof("report", "--report", "help", "-o", second), 2, "never overwritten")
        # What export calls its trace when it is not told.
        first.with_suffix(".trace.json.gz").hardlink_to(first)
        self.assert_one_line(self.prof("export", first), 2, "is the file that is to be read")
        self.assertEqual(first.read_bytes(), content)
        # Any other file is replaced as ever.
        table = self.dir / "table.txt"
        for _ in range(2):
            self.assertEqual(self.prof("report", first, "-o", table).returncode, 0)
        self.assertEqual(self.prof("report", first, "-o", "/dev/null").returncode, 0)

    def test_bad_files_do_not_stop_good_ones(self):
        junk = self.dir / "junk.prof"
        junk.write_text("not a capture")
        empty = self.dir / "empty"
        empty.mkdir()
        result = self.prof("report", "absent.prof", junk, self.capture(), empty, "absent.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("forward", result.stdout)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 4, lines)
        for line, words in zip(lines, ("no capture (*.prof) in the directory", "absent.prof", "junk.prof", "absent.json")):
            self.assertTrue(line.startswith("prof: ") and words in line, line)

    def test_a_file_that_cannot_be_read_leaves_the_screen_of_the_other(self):
        capture = self.capture()
        alone = self.prof("report", capture)
        beside = self.prof("report", "absent.prof", capture)
        self.assertEqual((beside.returncode, beside.stdout), (1, alone.stdout))
        for words in ("1 capture", "no peers", "Ranks"):
            self.assertNotIn(words, beside.stdout)

    def test_a_page_is_of_no_other_format(self):
        page = self.dir / "page.html"
        for more in (("--format", "json"), ("--output", "x.txt")):
            self.assert_one_line(self.prof("report", self.capture(), "--html", page, *more), 2, "--html")
        self.assertFalse(page.exists())

    def test_a_row_waits_no_less_than_the_row_inside_it(self):
        """Of ranges on one thread: what another thread does for a range waits there."""
        captures = sorted((pathlib.Path(DOCS).parent / "examples" / "captures").rglob("*.prof"))
        self.assertGreater(len(captures), 4)
        waits = 0
        for capture in captures:
            for part in ((), ("--steps", "2:6"), ("--skip-first", "3"), ("--from", "1", "--to", "5")):
                done = self.prof("report", capture, *part, "--format", "json")
                if done.returncode != 0:
                    continue  # it has no such part
                report = json.loads(done.stdout)
                of = {row["path"]: row for row in report["rows"] if row["type"] != "captured"}
                for path, row in of.items():
                    above = of.get(row.get("parent_path") or path.rpartition("/")[0])
                    if above is None or row["adopted_ops"]:
                        continue
                    waits += row["wait_ns"] > 0
                    self.assertGreaterEqual(above["wait_ns"], row["wait_ns"], (capture, part, path))
        self.assertGreater(waits, 20)

    def test_the_newest_run_is_found(self):
        self.assert_one_line(self.prof("report"), 2, "FILE is required", "no capture in prof-captures")
        place = self.dir / "prof-captures"
        self.captures_of_ranks("0", "1", place=place)
        newest = self.captures_of_ranks("0", "10", "2", place=place)
        for capture in set(place.iterdir()) - set(newest):
            os.utime(capture, (2**31, 2**31))  # as `prof seal` may change it later
        result = self.prof("report", "--format", "json")
        self.assertEqual([report["process"]["rank"] for report in json.loads(result.stdout)], [0, 2, 10])
        self.assertRegex(result.stderr, r"^prof: newest run: 3 captures in prof-captures \(20\d\d-\S+ [\d:]+\)\n$")
        shown = self.prof("report").stdout
        self.assertRegex(shown, r"^prof  stub +3 ranks, 3 x GPU\n")
        self.assertIn("\n3 processes", shown)
        (alone,) = self.captures_of_ranks("0", place=self.out)
        result = self.prof("report", env={"PROF_OUTPUT_DIR": str(self.out)})
        self.assertIn(f"newest run: {alone} (20", result.stderr)
        self.assertIn("forward", result.stdout)
        result = self.prof("export", env={"PROF_OUTPUT_DIR": str(self.out)})
        self.assertTrue(result.stdout.startswith(str(alone).replace(".prof", ".trace.json.gz: ")), result.stdout)

    def test_the_newest_run_without_prof_run_is_a_job(self):
        place = self.dir / "prof-captures"
        place.mkdir()
        start = lambda **more: self.prof_free(PROF_OUTPUT_DIR=str(place), LD_PRELOAD=STUB, **more)
        for rank in ("0", "1"):
            start(RANK=rank, WORLD_SIZE="2")
        self.assertEqual(len(json.loads(self.prof("report", "--format", "json").stdout)), 2)
        for _ in range(2):
            start()
        self.assertIsInstance(json.loads(self.prof("report", "--format", "json").stdout), dict, "the last process alone")

    def test_a_directory_stands_for_its_captures(self):
        captures = self.captures_of_ranks("10", "2", "0")
        (self.out / "junk.prof").write_text("not a capture")
        (self.out / "run.summary.txt").write_text("no capture's name")
        result = self.prof("report", self.out, "--format", "json")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn("junk.prof", result.stderr)
        self.assertEqual([report["process"]["rank"] for report in json.loads(result.stdout)], [0, 2, 10])
        (self.out / "junk.prof").unlink()
        self.captures_of_ranks("3")
        result = self.prof("report", self.out)
        self.assertRegex(result.stderr, "^prof: these are captures of 2 runs; [^\n]*\n$")
        captures = list(self.out.glob("*.prof"))
        sealed = self.prof("seal", self.out)
        self.assertEqual((sealed.returncode, sealed.stdout.count("\n")), (0, len(captures)), sealed.stderr)
        self.assert_one_line(self.prof("seal", self.dir), 1, "no capture (*.prof) in the directory")

    def test_standard_input_and_pipes_are_read(self):
        capture = self.capture()
        # What cannot be read again has no next command.
        expected = "".join(line for line in self.prof("report", capture).stdout.splitlines(True)
                           if not line.startswith("next: "))  # fmt: skip
        with open(capture, "rb") as file:
            self.assertEqual(self.prof("report", "-", stdin=file).stdout, expected)
        pipe = self.dir / "pipe"
        os.mkfifo(pipe)
        writer = subprocess.Popen(["cp", capture, pipe])
        self.assertEqual(self.prof("report", pipe).stdout, expected)
        self.assertEqual(writer.wait(), 0)
        self.assert_one_line(self.prof("report", "-", input="junk"), 1, "standard input: it is not a libprof capture")
        self.assert_one_line(self.prof("report", "-", stdin=subprocess.DEVNULL), 1, "standard input: it is empty")
        self.assert_one_line(self.prof("report", "-", input="junk", env={"TMPDIR": "/nowhere"}), 1, "/nowhere (TMPDIR)")
        self.assertIn("standard input, which is a terminal", self.on_terminal("report", "-"))

    def test_a_full_disk_is_reported(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROF, "report", self.capture()], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot write the report", result.stderr)


class Export(CommandLine):
    def test_trace_is_written_beside_the_capture(self):
        capture = self.capture()
        result = self.prof("export", capture)
        trace = str(capture).replace(".prof", ".trace.json.gz")
        self.assertTrue(result.stdout.startswith(trace + ": 1 host ranges, 1 CUDA calls, 1 GPU operations"))
        self.assertTrue(pathlib.Path(trace).exists())

    def test_trace_can_be_uncompressed(self):
        result = self.prof("export", self.capture(), "-o", "trace.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        trace = json.loads((self.dir / "trace.json").read_text())
        self.assertIn("forward", [event["name"] for event in trace["traceEvents"]])

    def test_unreadable_and_unwritable_files_are_reported(self):
        self.assert_one_line(self.prof("export", "absent.prof"), 1, "absent.prof")
        self.assert_one_line(self.prof("export", self.capture(), "-o", "/nowhere/t.json"), 1, "/nowhere/t.json")
        self.assert_one_line(self.prof("export", self.dir), 1, "no capture (*.prof) in the directory")

    def test_each_capture_has_a_trace(self):
        first, second, third = self.captures_of_ranks("0", "1", "2")
        result = self.prof("export", first, "absent.prof", second)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        traces = [str(capture).replace(".prof", ".trace.json.gz") for capture in (first, second)]
        self.assertEqual([line.split(":")[0] for line in result.stdout.splitlines()], traces)
        for trace in traces:
            self.assertIn(b"forward", gzip.decompress(pathlib.Path(trace).read_bytes()))
        result = self.prof("export", self.out, "-o", "traces/", "--format", "json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        names = sorted(path.name for path in (self.dir / "traces").iterdir())
        self.assertEqual(names, [capture.name.replace(".prof", ".trace.json") for capture in (first, second, third)])
        for name in names:
            json.loads((self.dir / "traces" / name).read_text())

    def test_no_trace_takes_the_place_of_another(self):
        first, second = self.captures_of_ranks("0", "1")
        # One name is that of the trace of their job.
        result = self.prof("export", first, second, "-o", "t.json")
        self.assertEqual((result.returncode, result.stdout.count("\n")), (0, 1), result.stderr)
        self.assertIn("; 2 ranks, ", result.stdout)
        (self.dir / "t.json").unlink()
        folder = self.dir / "other"
        folder.mkdir()
        namesake = folder / first.name
        namesake.write_bytes(second.read_bytes())
        result = self.prof("export", first, namesake, "-o", "traces/")
        self.assert_one_line(result, 2, "two of the captures have the trace")
        self.assertEqual(sorted(self.out.iterdir()), [first, second])
        self.assertEqual(list(self.dir.glob("*.json")), [])

    def test_trace_can_be_standard_output(self):
        capture = self.capture()
        plain = self.prof("export", capture, "-o", "-", "--format", "json")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual(json.loads(plain.stdout)["traceName"], capture.name.replace(".prof", ".trace.json"))
        self.assertRegex(plain.stderr, r"^prof: standard output: 1 host ranges, [^\n]*\n$")
        with open(capture, "rb") as file:
            packed = subprocess.run([PROF, "export", "-", "-o", "-"], stdin=file, capture_output=True, check=True)
        unpacked = json.loads(gzip.decompress(packed.stdout))
        self.assertEqual(unpacked["traceEvents"], json.loads(plain.stdout)["traceEvents"])
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROF, "export", capture, "-o", "-"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        self.assertIn("cannot write to standard output: No space left", result.stderr)
        self.assertIn("is a terminal", self.on_terminal("export", capture, "-o", "-"))
        self.assert_one_line(self.prof("export", "-", input="x"), 2, "has no name", "-o -")

    def test_what_a_capture_lacks_is_printed(self):
        first, second = self.captures_of_ranks("0", "1")
        content = bytearray(second.read_bytes())
        place = content.index(b"forward")
        content[place] ^= 1
        second.write_bytes(content)
        result = self.prof("export", second)
        self.assertEqual(result.returncode, 0)
        lines = result.stderr.splitlines()
        self.assertRegex(lines[0], "^prof: warning: .*a chunk fails its checksum")
        alone = len(lines)
        lines = self.prof("export", first, second).stderr.splitlines()
        self.assertEqual(len(lines), alone, "nothing about the other one")
        self.assertTrue(lines[0].startswith(f"prof: {second}: warning: "), lines)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
