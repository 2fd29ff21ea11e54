# SPDX-License-Identifier: Apache-2.0
"""PyTorch's record_function ranges and operators under `prof run`, with a stand-in for torch: what is recorded, and
that the program is unchanged. Needs neither a GPU nor PyTorch.

Usage: torch_ranges_test.py <prof> <libnvtx_push.so> <libfake_libtorch.so>
"""
import _ctypes
import csv
import ctypes
import gzip
import io
import json
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import unittest
import unittest.mock

from clean_environment import clean_environment
from scratch_case import ScratchCase

HERE = pathlib.Path(__file__).resolve().parent
FAKE_TORCH = str(HERE / "fake_torch")
SCRIPTS = HERE.parents[1] / "src" / "hooks" / "torch" / "python"
PROF = ""
PUSH_LIBRARY = ""
LIBTORCH = ""


class TorchRanges(ScratchCase):
    def setUp(self):
        super().setUp()
        # Rings of its own: a report lists what dead processes have left in the rings' directory.
        rings = self.folder / "rings"
        rings.mkdir()
        self.environment = clean_environment(PYTHONPATH=FAKE_TORCH, TORCH_PATH=FAKE_TORCH,
                                             NVTX_PUSH_LIBRARY=PUSH_LIBRARY, FAKE_LIBTORCH=LIBTORCH,
                                             PYTHONDONTWRITEBYTECODE="1", PROF_RINGS=str(rings))

    def run_case(self, case, *options, python=(), warnings=(), **variables):
        """Runs it by itself and under prof run; both must be the same to the byte. Returns its standard output."""
        command = [sys.executable, *python, str(HERE / "torch_cases.py"), case]
        environment = {**self.environment, **variables}
        bare, profiled = (
            subprocess.run([*before, *command], cwd=self.folder, env=environment, capture_output=True, text=True,
                           timeout=100)
            for before in ((), (PROF, "run", "-o", "captures", "--export", "none", *options, "--")))
        own_lines = [line for line in profiled.stderr.splitlines() if line and not line.startswith("prof: ")]
        self.assertEqual((profiled.returncode, profiled.stdout), (bare.returncode, bare.stdout), profiled.stderr)
        for part in warnings:
            self.assertIn(part, own_lines[0] if own_lines else "")
        self.assertEqual(own_lines[len(warnings):], bare.stderr.splitlines())
        return profiled.stdout

    def captures(self):
        return sorted((self.folder / "captures").glob("*.prof"))

    def report(self, capture=None, *options):
        if capture is None:
            capture, = self.captures()
        done = subprocess.run([PROF, "report", "--format", "json", *options, str(capture)], env=self.environment,
                              check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def paths(self, report):
        return {row["path"]: row["instances"] for row in report["rows"] if row["instances"]}

    def test_ranges_of_an_unchanged_program(self):
        self.run_case("ranges")
        report = self.report()
        self.assertEqual(self.paths(report), {"step #": 3, "step #/forward": 3, "step #/backward, op_id = x": 3})
        self.assertEqual(report["dropped"], {})

    def test_phases_of_a_training_loop(self):
        self.run_case("training")
        rows = {row["path"]: row["instances"] for row in self.report()["rows"] if row["observed"]}
        # Two steps without a closure, one whose closure has a backward, around which the optimizer counts once.
        expected = {"startup": 1, "step": 3, "step/data": 4, "step/zero_grad": 3, "step/forward": 6, "step/backward": 4,
                    "step/backward/recompute": 3, "step/optimizer": 3}
        self.assertEqual(rows, expected)

    def test_no_phases_when_switched_off(self):
        self.run_case("training", "--phases", "off")
        self.assertEqual([row for row in self.report()["rows"] if row["observed"]], [])

    def test_no_ranges_when_switched_off(self):
        self.run_case("ranges", "--pytorch", "off")
        self.assertEqual(self.captures(), [])

    def test_no_operators_unless_requested(self):
        self.run_case("operators")
        self.assertEqual(self.paths(self.report()), {"forward": 1, "forward/Model::head": 1, "backward": 1})

    def test_operators_have_their_own_table(self):
        self.run_case("operators", "--pytorch", "ops")
        self.assertEqual(self.paths(self.report()), {"forward": 1, "forward/Model::head": 1, "backward": 1})
        table = self.report(None, "--report", "pytorch_ops")
        self.assertEqual(
            {row["name"]: row["calls"] for row in table["rows"]},
            {"forward": 1, "Model::head": 1, "backward": 1, "aten::linear": 2, "aten::t": 2, "aten::transpose": 2,
             "aten::addmm": 2, "aten::detach": 1, "detach": 1, "aten::mm": 4, "TBackward0": 2, "AddmmBackward0": 2,
             "autograd::engine::evaluate_function: TBackward0": 2,
             "autograd::engine::evaluate_function: AddmmBackward0": 2})
        self.assertEqual((table["backward_nodes"], table["unlinked_nodes"], table["ambiguous_nodes"]), (4, 0, 0))
        made = {row["name"]: row["backward_calls"] for row in table["rows"] if row["backward_calls"]}
        self.assertEqual(made, {"aten::linear": 4, "aten::t": 2, "aten::addmm": 2})
        capture, = self.captures()
        text = subprocess.run([PROF, "report", "--report", "pytorch_ops", "--format", "csv", str(capture)],
                              env=self.environment, check=True, capture_output=True, text=True).stdout
        self.assertEqual({row["name"]: int(row["calls"]) for row in csv.DictReader(io.StringIO(text))},
                         {row["name"]: row["calls"] for row in table["rows"]})

    def test_operator_table_is_readable_in_a_terminal(self):
        self.run_case("operators", "--pytorch", "ops")
        self.run_case("no_torch")
        capture, = self.captures()
        text = subprocess.run([PROF, "report", "--report", "pytorch_ops", str(capture)], env=self.environment,
                              check=True, capture_output=True, text=True).stdout
        rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if "::" in line}
        self.assertEqual(rows["aten::linear"][0], "2", text)
        self.assertNotIn("no operators were recorded", text)
        self.assertNotIn("note:", text)

    def test_operators_in_the_trace_match_kineto(self):
        self.run_case("operators", "--pytorch", "ops")
        capture, = self.captures()
        trace = self.folder / "trace.json.gz"
        subprocess.run([PROF, "export", str(capture), "-o", str(trace)], env=self.environment, check=True,
                       capture_output=True)
        events = [event for event in json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
                  if event["ph"] == "X"]
        self.assertEqual({event["name"] for event in events if event["cat"] == "user_annotation"},
                         {"forward", "Model::head", "backward"})
        numbers = {(event["name"], event["args"].get("Sequence number")) for event in events
                   if event["cat"] == "cpu_op"}
        self.assertTrue({("aten::linear", 0), ("aten::t", 0), ("aten::addmm", 1), ("aten::transpose", None),
                         ("aten::linear", 2), ("AddmmBackward0", 3), ("AddmmBackward0", 1), ("detach", None)} <= numbers,
                        numbers)
        self.assertEqual(sorted(event["args"]["Record function id"] for event in events),
                         list(range(1, len(events) + 1)))

    def test_ranges_when_a_thread_imports_torch(self):
        self.run_case("imported_in_thread")
        self.assertEqual(self.paths(self.report()), {"in the importing thread": 1, "in the main thread": 1})

    def test_ranges_in_threads(self):
        self.run_case("threads")
        self.assertEqual(self.paths(self.report()), {"worker": 1, "daemon": 1})
        self.run_case("daemon_at_exit")

    def test_ranges_beside_the_programs_profiler(self):
        printed = self.run_case("own_profiler")
        self.assertIn("enabled: False\nenabled: True\nevents: ['seen by both']\n", printed)
        # emit_nvtx makes ranges of its own, which are the only ones in its time.
        self.assertEqual(self.paths(self.report()), {"before": 1, "before/seen by both": 1, "aten::detach": 1,
                                                     "aten::detach/detach": 1, "after": 1})
        self.run_case("left_on")

    def test_cupti_is_given_to_the_programs_profiler(self):
        if "FAKE_CUDA" not in os.environ:
            self.skipTest("the simulated GPU was not built")
        printed = self.run_case("own_cuda_profiler", PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"])
        self.assertEqual(printed.count("subscribed: 0\n"), 2)
        rows = {row["path"]: (row["instances"], row["ops"]) for row in self.report()["rows"]}
        self.assertEqual({path: rows.get(path) for path in ("before", "between", "after")},
                         {"before": (1, 1), "between": (2, 2), "after": (1, 1)})
        self.assertNotIn("seen by the program's own", rows)
        total = sum(row["self_ops"] for row in self.report()["rows"])
        self.assertEqual(total, 5, "before, between twice, after, and the one launched while no CUDA was recorded")

    def give_cupti_to_proton(self, variable):
        if "FAKE_CUDA" not in os.environ:
            self.skipTest("the simulated GPU was not built")
        own = self.folder / "Proton's own"
        own.mkdir()
        shutil.copy(os.environ["FAKE_CUPTI"], own / "libcupti.so")
        printed = self.run_case("proton", PROF_CUPTI_LIBRARY=os.environ["FAKE_CUPTI"], **{variable: str(own)})
        rows = {row["path"]: (row["instances"], row["ops"]) for row in self.report()["rows"] if row["instances"]}
        self.assertEqual(rows, {"before": (1, 1), "between": (1, 1), "beside": (1, 1), "after": (2, 2)})
        self.assertEqual(sum(row["self_ops"] for row in self.report()["rows"]), 5)
        return printed, own

    def test_cupti_is_given_to_proton_with_another_copy(self):
        printed, own = self.give_cupti_to_proton("TRITON_CUPTI_LIB_PATH")
        self.assertIn(f"its CUPTI stands in {own}\n", printed)

    def test_cupti_is_given_to_an_older_proton(self):
        printed, _ = self.give_cupti_to_proton("PROTON_ARGUMENT")
        self.assertIn("its CUPTI stands in None\n", printed)

    def test_cupti_of_the_process_is_used(self):
        scope = runpy.run_path(SCRIPTS / "prof_proton.py")
        self.assertIsNone(scope["cupti_in_use"]())
        for place in "one", "other":
            (self.folder / place).mkdir()
            library = shutil.copy(PUSH_LIBRARY, str(self.folder / place / "libcupti.so.13"))
            handle = ctypes.CDLL(library)
            self.addCleanup(_ctypes.dlclose, handle._handle)
            self.assertEqual(scope["cupti_in_use"](), library if place == "one" else None)

    def test_cupti_is_shared_with_proton_only_when_needed_and_allowed(self):
        if "FAKE_CUDA" not in os.environ:
            self.skipTest("the simulated GPU was not built")
        library = os.environ["FAKE_CUPTI"]
        program = (f"import ctypes, runpy\nlibrary = ctypes.CDLL({library!r})\n"
                   f"print(runpy.run_path({str(SCRIPTS / 'prof_proton.py')!r})['cupti_to_share']())")
        for variables, shared in (
            ({}, True),
            ({"FAKE_CUPTI_VERSION": "130202"}, True),
            ({"FAKE_CUPTI_VERSION": "130500"}, False),
            ({"FAKE_CUPTI_VERSION": "28"}, False),
            ({"PROF_CUDA_GRAPHS": "graphs"}, False),
            ({"PROF_API_CALLS": "runtime"}, False),
            ({"PROF_CUPTI_LIBRARY": "libcupti_of_nowhere.so"}, False),
        ):
            environment = {**self.environment, "PROF_CUPTI_LIBRARY": library, **variables}
            answer = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True,
                                    check=True).stdout
            self.assertEqual(answer, f"{library if shared else None}\n", variables)

    def test_pause_for_a_second_profiler_after_a_failed_resume(self):
        calls = []

        class Library:
            answers = {"prof_pause": [0, 2, 2], "prof_resume": [3, 0], "prof_sync": [0, 0]}

            def __getattr__(self, name):
                calls.append(name)
                return lambda: self.answers[name].pop(0)

        recording = runpy.run_path(SCRIPTS / "prof_recording.py")["Recording"]()
        with unittest.mock.patch("ctypes.CDLL", return_value=Library()), \
                unittest.mock.patch.dict(os.environ, NVTX_INJECTION64_PATH="libprof.so"):
            for _ in range(2):
                self.assertTrue(recording.pause())
                recording.resume()
            self.assertFalse(recording.pause(), "the program has paused it itself")
        self.assertEqual(calls, ["prof_pause", "prof_sync", "prof_resume"] * 2 + ["prof_pause"])

    def test_no_cost_without_torch(self):
        for path in ("", FAKE_TORCH):
            self.run_case("no_torch", PYTHONPATH=path)
        self.assertEqual(self.captures(), [])

    def test_ranges_after_a_failed_import(self):
        self.run_case("broken", FAKE_TORCH="broken")
        self.assertEqual(self.paths(self.report()), {"after the second attempt": 1})

    def test_nothing_is_visible_to_the_program(self):
        self.run_case("environment")

    def test_users_sitecustomize_runs(self):
        own = self.folder / "own"
        own.mkdir()
        path = f"{own}:{FAKE_TORCH}"
        for text in ("import sys\nprint('own', __name__, sys.modules[__name__].__file__ == __file__)\n",
                     "raise ValueError('of its own')\n", "import not_there\n",
                     "import atexit, torch\natexit.register(print, 'at exit')\n"):
            (own / "sitecustomize.py").write_text(text)
            self.run_case("ranges", PYTHONPATH=path)
            self.run_case("environment", PYTHONPATH=path)
        (own / "sitecustomize.py").unlink()
        (own / "sitecustomize").mkdir()
        (own / "sitecustomize" / "__init__.py").write_text("from . import part\n")
        (own / "sitecustomize" / "part.py").write_text("print('part of', __package__)\n")
        self.run_case("ranges", PYTHONPATH=path)

    def test_no_ranges_in_an_isolated_python(self):
        for flags in (("-S",), ("-E",), ("-I",)):
            self.run_case("no_torch", python=flags)

    def test_ranges_in_children(self):
        self.run_case("children")
        paths = sorted(tuple(self.paths(self.report(capture))) for capture in self.captures())
        self.assertEqual(paths, [("child",), ("parent",)])  # the second child has a PYTHONPATH of its parent's making

    def test_reason_is_given_when_requested_ranges_are_impossible(self):
        self.run_case("ranges", FAKE_TORCH="no_observers")
        self.assertEqual(self.captures(), [])
        with self.assertRaises(AssertionError) as difference:
            self.run_case("ranges", "--pytorch", "ops", FAKE_TORCH="no_observers")
        self.assertIn("libprof: PyTorch's ranges are not observed: this PyTorch has no observers of record functions",
                      str(difference.exception))

    def test_range_that_ends_on_another_thread(self):
        """Its own thread ends it at its next range; the other thread's ranges stay as they are."""
        self.run_case("ends_elsewhere")
        self.assertEqual(self.paths(self.report()),
                         {"outer": 1, "outer/sent": 1, "outer/after": 1, "receiving": 1, "receiving/inner": 1})

    def ranges_of_trace(self, capture):
        trace = self.folder / "trace.json"
        subprocess.run([PROF, "export", str(capture), "-o", str(trace)], env=self.environment, check=True,
                       capture_output=True)
        return [(event["ph"], event["name"], event["args"].get("Record function id"),
                 event["args"].get("Sequence number"))
                for event in json.loads(trace.read_bytes())["traceEvents"] if event.get("cat") == "user_annotation"]

    def test_both_numbers_of_a_text_are_kept(self):
        self.run_case("raw")
        capture, = self.captures()
        self.assertEqual(self.ranges_of_trace(capture),
                         [("X", "a", 5, None), ("X", "a, op_id = x", None, None), ("X", "b", 6, 7)])
        self.assertEqual(self.report()["dropped"], {})

    def test_names_are_left_alone_when_switched_off(self):
        self.run_case("raw", "--pytorch", "off")
        capture, = self.captures()
        self.assertEqual([name for _, name, *_ in self.ranges_of_trace(capture)],
                         ["a, op_id = 5", "a, op_id = x", "b, seq = 7, op_id = 6"])

    def test_name_table_does_not_fill_up(self):
        self.run_case("many", "--memory", "256M")
        report = self.report()
        self.assertEqual((self.paths(report), report["dropped"]), ({"forward": 20000}, {}))
        capture, = self.captures()
        self.assertNotIn(b"op_id", capture.read_bytes())

    def test_exceptions_are_unchanged(self):
        self.run_case("fails")
        self.assertEqual(self.paths(self.report()), {"doomed": 1})


if __name__ == "__main__":
    PROF, PUSH_LIBRARY, LIBTORCH = (str(pathlib.Path(sys.argv.pop(1)).resolve()) for _ in range(3))
    unittest.main()
