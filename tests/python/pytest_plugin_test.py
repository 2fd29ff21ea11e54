# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin of the package libprof: what passes, what fails and with which words, and what is skipped.

Usage: pytest_plugin_test.py <folder with the package>    with FAKE_CUDA and FAKE_CUPTI in the environment
"""
import ctypes
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PACKAGE = ""

# A step launches 1 ms of GPU work in "forward" and 2 ms in "backward".
HEAD = """
import ctypes, os, time
import libprof, pytest
cuda = ctypes.CDLL(os.environ["FAKE_CUDA"])
def step():
    with libprof.range("forward"):
        cuda.fake_cuda_launch(b"matmul", ctypes.c_uint64(1_000_000), None)
    with libprof.range("backward"):
        for _ in range(2):
            cuda.fake_cuda_launch(b"grad", ctypes.c_uint64(1_000_000), None)
    cuda.cudaDeviceSynchronize()
"""


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class Plugin(unittest.TestCase):
    def run_tests(self, code, *options, cupti=True, **more):
        """The outcome of each test, and what pytest printed. cupti=None: as the plugin finds it."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("PROF_", "PYTHON", "PYTEST")) and "INJECTION64" not in name}
        environment.update(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1", **more)
        if cupti is not None:
            environment["PROF_CUPTI_LIBRARY"] = os.environ["FAKE_CUPTI"] if cupti else "/none"
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "test_it.py").write_text(HEAD + code)
            done = subprocess.run([sys.executable, "-m", "pytest", "-p", "libprof_pytest", "-p", "no:cacheprovider", "-rA",
                                   "-v", "--color=no", *options, "test_it.py"], env=environment, cwd=folder, capture_output=True,
                                  text=True, timeout=100)  # fmt: skip
            left = sorted(each.name for each in pathlib.Path(folder).iterdir() if each.name != "test_it.py")
        self.assertEqual(left, [])
        found = dict((name, outcome) for outcome, name in
                     re.findall(r"^(PASSED|FAILED|ERROR) test_it\.py::(\w+)", done.stdout, re.M))
        return found, done.stdout + done.stderr

    def test_limits(self):
        found, text = self.run_tests("""
@pytest.mark.prof(max_gpu_ms=3.1, max_gpu_ops=3, ranges={"forward": 1.05, "backward": 2.1})
def test_within(): step()

@pytest.mark.prof(max_gpu_ms=2.9)
def test_total(): step()

@pytest.mark.prof(ranges={"forward": 5, "backward": 1.9})
def test_range(): step()

@pytest.mark.prof(max_gpu_ops=2)
def test_ops(): step()

@pytest.mark.prof(ranges={"optimizer": 1})
def test_absent(): step()

@pytest.mark.prof(max_host_ms=20)
def test_host():
    with libprof.range("sleeps"): time.sleep(0.05)

@pytest.mark.prof(max_gpu_ms=100)
def test_own_failure():
    step()
    assert 1 == 2

def test_unmarked():
    step()
    assert not libprof.is_recording()

@pytest.mark.prof(max_gpu_ms=0.5)
class TestClass:
    @pytest.mark.parametrize("n", [1])
    def test_inherits(self, n): step()
""")
        self.assertEqual(found, {
            "test_within": "PASSED", "test_total": "FAILED", "test_range": "FAILED", "test_ops": "FAILED",
            "test_absent": "FAILED", "test_host": "FAILED", "test_own_failure": "FAILED", "test_unmarked": "PASSED",
            "TestClass": "FAILED"}, text)
        for line in ("GPU time: 3 ms, at most 2.9 ms", "GPU time of 'backward': 2 ms, at most 1.9 ms",
                     "GPU operations: 3, at most 2", "range 'optimizer': not recorded; there are backward, forward",
                     "assert 1 == 2", "host time: "):
            self.assertIn(line, text)
        self.assertNotIn("GPU time of 'forward'", text)
        self.assertIn("GPU time by range", text)  # a failure shows the table

    def test_fixture_and_options(self):
        found, text = self.run_tests("""
def test_fixture(prof_recording):
    with prof_recording(schedule="wait=1,active=1") as run:
        for _ in range(3):
            step()
            libprof.step()
    assert run.summary["forward"].ops == 1
    assert run.capture.properties["pid"] == str(os.getpid())

@pytest.mark.prof(ranges={"forward": 1.05}, options={"schedule": "wait=1,active=1"})
def test_options():
    for _ in range(3):
        step()
        libprof.step()
""")
        self.assertEqual(found, {"test_fixture": "PASSED", "test_options": "PASSED"}, text)

    def test_without_a_gpu_it_is_skipped(self):
        found, text = self.run_tests("""
@pytest.mark.prof(max_gpu_ms=1)
def test_gpu():
    with libprof.range("x"): pass

@pytest.mark.prof(max_host_ms=1000)
def test_host():
    with libprof.range("x"): pass
""", cupti=False)
        self.assertEqual(found, {"test_host": "PASSED"}, text)
        self.assertRegex(text, r"SKIPPED .*libprof: no GPU work is recorded: ")

    def test_host_time_is_that_of_the_test(self):
        found, text = self.run_tests("""
@pytest.fixture
def slow():
    time.sleep(0.5)
    yield
    time.sleep(0.5)

@pytest.mark.prof(max_host_ms=40)
def test_without_a_range(): time.sleep(0.05)

@pytest.mark.prof(max_host_ms=450)
def test_without_its_fixtures(slow): pass

@pytest.mark.prof(max_host_ms=5000)
def test_within(): time.sleep(0.01)
""", cupti=False)
        self.assertEqual(found, {"test_without_a_range": "FAILED", "test_without_its_fixtures": "PASSED",
                                 "test_within": "PASSED"}, text)
        self.assertRegex(text, r"libprof: host time: \d+\.?\d* ms, at most 40 ms")

    def test_without_a_gpu_nothing_of_the_test_runs(self):
        code = """
@pytest.fixture
def on_gpu():
    raise RuntimeError("No CUDA GPUs are available")

@pytest.mark.prof(max_gpu_ms=5)
def test_body(): raise RuntimeError("No CUDA GPUs are available")

@pytest.mark.prof(ranges={"x": 5})
def test_fixture(on_gpu): pass

@pytest.mark.prof(max_host_ms=5000)
def test_host(): pass
"""
        count = "int cuInit(unsigned x) { return x; } int cuDeviceGetCount(int* n) { *n = %d; return 0; }"
        drivers = {"": "there is no CUDA driver", "int cuInit(unsigned x) { return x + 100; }": "reports error 100",
                   count % 0: "finds no GPU", count % 1: ""}
        for driver, why in drivers.items():
            with self.subTest(why), tempfile.TemporaryDirectory() as folder:
                if driver:
                    source = pathlib.Path(folder) / "driver.c"
                    source.write_text(driver)
                    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", source.with_name("libcuda.so.1")], check=True)
                elif has_driver():
                    continue
                found, text = self.run_tests(code, cupti=None, LD_LIBRARY_PATH=folder)
                runs = {} if why else {"test_body": "FAILED", "test_fixture": "ERROR"}
                self.assertEqual(found, {"test_host": "PASSED", **runs}, text)
                if why:
                    self.assertRegex(text, rf"SKIPPED \[2\] .*libprof: no GPU work is recorded: .*{why}")

    def test_a_recording_that_is_left_running(self):
        """It ends with its test; one of a fixture's is measured in."""
        found, text = self.run_tests("""
@pytest.mark.prof(max_gpu_ms=100)
def test_before(): step()

def test_leaves(tmp_path): libprof.start(output_dir=tmp_path / "left", export=[])

@pytest.mark.prof(max_gpu_ms=3.1, ranges={"backward": 2.1})
def test_after(): step()

def test_fails_and_leaves(tmp_path):
    libprof.start(output_dir=tmp_path / "left", export=[])
    raise ValueError("mine")

def test_is_free(prof_recording):
    with prof_recording() as run: step()
    assert run.summary["forward"].ops == 1

@pytest.fixture
def finalized(tmp_path, request):
    request.addfinalizer(lambda: libprof.is_recording() and libprof.stop(strict=True))

def test_fixture_stops_it(finalized, tmp_path): libprof.start(output_dir=tmp_path / "own", export=[])

class TestInOne:
    @pytest.fixture(scope="class")
    def one(self, tmp_path_factory):
        libprof.start(output_dir=tmp_path_factory.mktemp("one"), export=[])
        yield
        assert libprof.stop(strict=True)

    def test_outside(self, one): step()

    @pytest.mark.prof(max_gpu_ms=3.1, max_gpu_ops=3, ranges={"forward": 1.05})
    def test_within(self, one): step()

    @pytest.mark.prof(max_gpu_ms=2.9)
    def test_too_much(self, one): step()

    @pytest.mark.prof(max_gpu_ms=5, options={"schedule": "active=1"})
    def test_cannot(self, one): step()

def test_last(): assert not libprof.is_recording()
""", "-W", "error::libprof.RecordingWarning")
        outcomes = dict(re.findall(r"^test_it\.py::(\S+) (\w+)", text, re.M))
        self.assertEqual(outcomes, {
            "test_before": "PASSED", "test_leaves": "PASSED", "test_after": "PASSED", "test_fails_and_leaves": "FAILED",
            "test_is_free": "PASSED", "test_fixture_stops_it": "PASSED", "TestInOne::test_outside": "PASSED",
            "TestInOne::test_within": "PASSED", "TestInOne::test_too_much": "FAILED", "TestInOne::test_cannot": "SKIPPED",
            "test_last": "PASSED"}, text)
        self.assertEqual(text.count("left a recording running, which was ended"), 2, text)
        self.assertIn("libprof: GPU time: 3 ms, at most 2.9 ms", text)

    def test_where_recording_fails(self):
        """The test's own outcome stays; limits that cannot be checked are no success."""
        found, text = self.run_tests("""
import shutil, pathlib
def spoil(): shutil.rmtree(pathlib.Path(libprof.capture_path()).parent)

@pytest.mark.prof(max_gpu_ms=100)
def test_end():
    step(); libprof.sync(); spoil()

@pytest.mark.prof(max_gpu_ms=100)
def test_own_failure():
    step(); libprof.sync(); spoil()
    assert 1 == 2

@pytest.mark.prof(max_gpu_ms=100, options={"output_dir": "/proc/none"})
def test_beginning(): step()

@pytest.mark.prof(max_host_ms=5000)
def test_host():
    step(); libprof.sync(); spoil()
""", "-W", "error")
        outcomes = dict(re.findall(r"^test_it\.py::(\S+) (\w+)", text, re.M))
        self.assertEqual(outcomes, {"test_end": "SKIPPED", "test_own_failure": "FAILED", "test_beginning": "SKIPPED",
                                    "test_host": "PASSED"}, text)
        self.assertIn("assert 1 == 2", text)
        self.assertEqual(len(re.findall(r"^SKIPPED .*libprof: the limits were not checked: ", text, re.M)), 2, text)

    def test_a_baseline(self):
        """Of three runs of a test: a later one with twice the work in backward fails, and on another machine it is skipped."""
        code = """
@pytest.mark.prof(max_gpu_ms=100)
def test_recorded(): step()

LIMITS = ["gpu=20%", "range:backward=20%"]
FILE = os.environ.get("BASELINE")

if FILE:
    @pytest.mark.prof(baseline=FILE, fail_over=LIMITS)
    def test_same(): step()

    @pytest.mark.prof(baseline=FILE, fail_over=LIMITS)
    def test_slower():
        step()
        with libprof.range("backward"):
            for _ in range(2):
                cuda.fake_cuda_launch(b"grad", ctypes.c_uint64(1_000_000), None)
        cuda.cudaDeviceSynchronize()

    @pytest.mark.prof(baseline=FILE.replace("perf.json", "none.json"), fail_over="2%")
    def test_no_file(): step()

    @pytest.mark.prof(baseline=FILE)
    def test_no_limit(): step()

    @pytest.mark.prof(baseline=FILE.replace("perf.json", "other.json"), fail_over="gpu=20%")
    def test_other_machine(): step()

    @pytest.mark.prof(baseline=FILE, fail_over="memory=2%")
    def test_memory(): step()
"""
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(3):
                found, text = self.run_tests(code, f"--prof-captures={folder}")
                self.assertEqual(found, {"test_recorded": "PASSED"}, text)
            (kept,) = pathlib.Path(folder).iterdir()
            self.assertEqual((kept.name, len(list(kept.glob("*.prof")))), ("test_it.py_test_recorded", 3))
            place = pathlib.Path(folder) / "perf.json"
            subprocess.run([sys.executable, "-c", "import libprof, sys; libprof.baseline(*sys.argv[1:])", kept, place], check=True,
                           timeout=100, env={**os.environ, "PYTHONPATH": PACKAGE})  # fmt: skip
            place.with_name("other.json").write_text(re.sub(r'"machine": \{[^}]*\}', '"machine": {"GPU": "another"}', place.read_text()))
            found, text = self.run_tests(code, BASELINE=str(place))
        self.assertEqual(found, {"test_recorded": "PASSED", "test_same": "PASSED", "test_slower": "FAILED",
                                 "test_no_file": "FAILED", "test_no_limit": "FAILED"}, text)  # fmt: skip
        self.assertIn("range:backward=20%: fails, +100.0 %", text)
        self.assertIn("none.json", text)
        self.assertIn("takes baseline and fail_over together", text)
        self.assertRegex(text, r"SKIPPED .*libprof: gpu=20%: inconclusive.*another machine")
        self.assertRegex(text, r"SKIPPED .*libprof: memory=2%: inconclusive.*no allocation was recorded")

    def test_a_wrong_marker_is_an_error(self):
        found, text = self.run_tests("""
@pytest.mark.prof(max_ms=1)
def test_keyword(): step()

@pytest.mark.prof(options={"colour": "red"})
def test_option(): step()
""")
        self.assertEqual(found, {"test_keyword": "FAILED", "test_option": "FAILED"}, text)
        self.assertIn("pytest.mark.prof takes the keywords baseline, fail_over, max_gpu_ms, max_gpu_ops, max_host_ms, options, ranges, not max_ms", text.replace("'", ""))
        self.assertIn("colour", text)


if __name__ == "__main__":
    if "FAKE_CUDA" not in os.environ or importlib.util.find_spec("pytest") is None:
        print("skipped: no simulated GPU, or no pytest")
        sys.exit(77)
    PACKAGE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
