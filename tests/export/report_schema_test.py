# SPDX-License-Identifier: Apache-2.0
"""Every report, of captures of several kinds, follows docs/reference/report.schema.json; the columns that a report calls
its keys identify its rows; and the schema refuses what is no report.

    report_schema_test.py <prof> <folder of captures> [<folder with captures as *.prof.xz>]
"""
import copy
import json
import lzma
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

PROF, *FOLDERS = sys.argv[1:4]
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/reference"
SCHEMA = DOCS / "report.schema.json"
LARGEST = 100_000  # bytes of a packed capture: larger ones take too long here


def reports_of(capture, *options):
    done = subprocess.run([PROF, "report", "--report", "all", "--format", "json", *options, capture],
                          capture_output=True, check=True)
    return json.loads(done.stdout)


def ends_of(value, most=100):
    """The same with long lists cut to their first and last items: a row costs the validator a millisecond."""
    if isinstance(value, dict):
        return {key: ends_of(each) for key, each in value.items()}
    if isinstance(value, list):
        return [ends_of(each) for each in (value if len(value) <= 2 * most else value[:most] + value[-most:])]
    return value


class Captures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
        cls.folder = tempfile.TemporaryDirectory()
        cls.captures = []
        for folder in map(pathlib.Path, FOLDERS):
            cls.captures += sorted(folder.glob("*.prof"))
            for packed in sorted(folder.glob("*.prof.xz")):
                if packed.stat().st_size > LARGEST:
                    continue
                cls.captures.append(pathlib.Path(cls.folder.name, packed.stem))
                cls.captures[-1].write_bytes(lzma.decompress(packed.read_bytes()))
        cls.reports = {capture.name: reports_of(capture) for capture in cls.captures}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def errors_of(self, value):
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
                for error in self.validator.iter_errors(ends_of(value))]

    def test_there_are_captures(self):
        self.assertGreater(len(self.captures), 1)

    def test_every_report_follows_the_schema(self):
        for name, reports in self.reports.items():
            for report in reports:
                with self.subTest(capture=name, report=report["report"]):
                    self.assertEqual(self.errors_of(report), [])

    def test_so_do_parts_and_a_list_of_reports(self):
        whole = reports_of(self.captures[0], "--steps", "0:2")
        self.assertIn("selection", whole[0])
        self.assertEqual(self.errors_of(whole), [])

    def test_keys_identify_the_rows(self):
        for name, reports in self.reports.items():
            for report in reports:
                if report["report"] == "diagnose":
                    continue
                with self.subTest(capture=name, report=report["report"]):
                    self.assertTrue(report["keys"])
                    keys = [tuple(row[key] for key in report["keys"]) for row in report["rows"]]
                    twice = {key for key in keys if keys.count(key) > 1} if len(set(keys)) != len(keys) else set()
                    self.assertEqual(twice, set())

    def test_so_does_a_baseline_its_own(self):
        made = subprocess.run([PROF, "baseline", *self.captures[:1], "-o", "-"], capture_output=True, check=True)
        validator = jsonschema.Draft202012Validator(json.loads((DOCS / "baseline.schema.json").read_text(encoding="utf-8")))
        baseline = json.loads(made.stdout)
        self.assertEqual(list(validator.iter_errors(baseline)), [])
        self.assertTrue(baseline["kernels"])
        baseline["kernels"][0]["ns"] = ["long"]
        self.assertNotEqual(list(validator.iter_errors(baseline)), [])

    def test_the_schema_refuses_what_is_no_report(self):
        reports = {report["report"]: report for report in self.reports[self.captures[0].name]}
        projection, diagnosis = reports["gpu-projection"], reports["diagnose"]
        self.assertTrue(diagnosis["rows"])

        def changed(report, change):
            out = copy.deepcopy(report)
            change(out)
            return out

        for wrong in (changed(projection, lambda r: r.update(schema=1)),
                      changed(projection, lambda r: r["step"].update(mean_ns="3 ms")),
                      changed(projection, lambda r: r["step"].pop("parts")),
                      changed(projection, lambda r: r["rows"][0].update(path=["a"])),
                      changed(projection, lambda r: r.pop("notes")),
                      changed(diagnosis, lambda r: r["rows"][0].update(advice="one\ntwo")),
                      changed(diagnosis, lambda r: r["rows"][0].pop("places")),
                      changed(diagnosis, lambda r: r.update(looked="all")), {}, [{}]):
            self.assertTrue(self.errors_of(wrong))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
