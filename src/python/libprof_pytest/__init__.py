# SPDX-License-Identifier: Apache-2.0
"""GPU cost in a project's tests: the marker prof, and the fixture prof_recording.

    @pytest.mark.prof(max_gpu_ms=5, ranges={"forward": 2, "backward": 3})
    def test_step():
        train_step()

    def test_kernels(prof_recording):
        with prof_recording() as run:
            train_step()
        assert run.summary["forward"].ops <= 12

The marker records the test and fails it if it cost more: max_gpu_ms is the GPU time of all its work, added; ranges has
the same for ranges by name, over all instances; max_gpu_ops is the number of operations; max_host_ms is the time that
the test's function takes, fixtures excluded. The keyword options has options of libprof.start(). A limit on GPU work
skips the test where no GPU work can be recorded: before its fixtures, where there is no GPU.

    @pytest.mark.prof(baseline="perf/step.json", fail_over=["gpu=2%", "range:backward=3%"])
    def test_step(): ...

compares the test with runs of it that `prof baseline` has kept in that file, whose path begins at the test's folder:
fail_over has limits as `prof diff` takes them (docs/reference/compare.md#limits). The test fails if one of them fails, and
is skipped if they cannot be told, as on another machine. `pytest --prof-captures=DIR` keeps the capture of each test with
the marker in DIR, in a folder of the test's name: `prof baseline DIR/NAME -o perf/step.json` makes the file of some such
runs.

In a process that records already, by libprof.start() in a fixture, the test is measured as a part of that recording. A
recording that a test leaves running ends with the test. Where recording fails, the test runs, and is skipped afterwards:
its limits were not checked.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from typing import Any

    import libprof
    from libprof.recording import Started

import os
import sys
from contextlib import ExitStack, contextmanager
from functools import cache

import pytest

_LIMITS_ON_GPU = ("max_gpu_ms", "max_gpu_ops", "ranges")
_KEYWORDS = {*_LIMITS_ON_GPU, "max_host_ms", "options", "baseline", "fail_over"}
_NO_GPU = "libprof: no GPU work is recorded: "
_left_open: pytest.StashKey[Started] = pytest.StashKey()


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "prof(max_gpu_ms=None, max_gpu_ops=None, max_host_ms=None, ranges=None, "
                            "options=None, baseline=None, fail_over=()): record the test with libprof, and fail it if it "
                            "costs more")  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("libprof").addoption("--prof-captures", metavar="DIR", help="keep the captures of tests with the marker "
                                         "prof in DIR, a folder for each test, as prof baseline reads them")  # fmt: skip


@pytest.fixture
def prof_recording(tmp_path: Any) -> Callable[..., Any]:
    """Makes libprof.recording(**options), with the capture in the test's tmp_path."""
    import libprof

    def make(**options: Any) -> libprof.recording:
        options.setdefault("output_dir", tmp_path / "prof")
        options.setdefault("export", [])
        return libprof.recording(**options)

    return make


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("prof")
    if marker is not None and any(marker.kwargs.get(key) is not None for key in _LIMITS_ON_GPU):
        why = _why_no_gpu_here()
        if why:
            pytest.skip(_NO_GPU + why)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    before = _running()
    try:
        marker = item.get_closest_marker("prof")
        return (yield) if marker is None else (yield from _measured(item, marker.args, marker.kwargs))
    finally:
        after = _running()
        if after is not None and after is not before:
            item.stash[_left_open] = after


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        left = item.stash.get(_left_open, None)
        if left is not None and left is _running():
            left.end()
            item.warn(pytest.PytestWarning(f"libprof: {item.nodeid} left a recording running, which was ended"))


def _running() -> Started | None:
    """The recording of libprof.start() that runs."""
    module = sys.modules.get("libprof.recording")
    if module is None:
        return None
    started: Started | None = module.latest_start()
    return started if started is not None and not started.is_over and module.is_recording() else None


def _measured(item: pytest.Item, arguments: tuple[object, ...],
              limits: Mapping[str, Any]) -> Generator[None, object, object]:  # fmt: skip
    unknown = sorted(set(limits) - _KEYWORDS)
    if arguments or unknown:
        raise pytest.UsageError(f"{item.nodeid}: pytest.mark.prof takes the keywords {', '.join(sorted(_KEYWORDS))}, "
                                f"not {', '.join(unknown) or 'positional arguments'}")  # fmt: skip
    if bool(limits.get("baseline")) != bool(limits.get("fail_over")):
        raise pytest.UsageError(f"{item.nodeid}: pytest.mark.prof takes baseline and fail_over together")
    from time import perf_counter_ns

    with _folder(item) as folder:
        cost = _Cost()
        with (_recorded if _running() is None else _part_of_running)(cost, folder, limits.get("options") or {}):
            begin_ns = perf_counter_ns()
            try:
                result = yield
            finally:
                cost.host_ns = perf_counter_ns() - begin_ns
        _judge(cost, limits)
        if limits.get("baseline"):
            _compare(cost, str(item.path.parent / limits["baseline"]), limits["fail_over"])
    return result


@contextmanager
def _folder(item: pytest.Item) -> Iterator[str]:
    """Where the test's capture is written: kept in a folder of the test's name, or gone afterwards."""
    import re
    import tempfile

    kept = item.config.getoption("--prof-captures")
    if kept:
        yield os.path.join(kept, re.sub(r"[^\w.-]+", "_", item.nodeid))
        return
    with tempfile.TemporaryDirectory(prefix="libprof-pytest-") as folder:
        yield folder


def _compare(cost: _Cost, baseline: str, limits: str | list[str]) -> None:
    """Raises pytest's failure if the test is slower than the runs of the baseline by more than a limit."""
    import libprof

    if cost.capture is None:
        pytest.skip(f"libprof: the baseline was not compared: {cost.why_unknown or 'the test is a part of another recording'}")
    try:
        found = libprof.diff(baseline, cost.capture, fail_over=limits)
    except libprof.Failed as failure:
        pytest.fail(f"libprof: {failure}", pytrace=False)
    rows = [row for row in found.tables["diff_gate"] if row["result"] == found.gate]
    said = "; ".join(f"{row['limit']}: {row['result']}" + ("" if row["change"] is None else f", {100 * row['change']:+.1f} %")
                     + (f", {row['why']}" if row["why"] else "") for row in rows)  # fmt: skip
    if found.gate == "fails":
        pytest.fail(f"libprof: {said}\n\n{found}", pytrace=False)
    if found.gate == "inconclusive":
        pytest.skip(f"libprof: {said}")


class _Cost:
    """What a test has cost."""

    def __init__(self) -> None:
        self.host_ns = 0
        self.rows: list[libprof.Row] = []
        self.total_gpu_ns = 0
        self.why_unknown = ""  # why the numbers of GPU work are not known; "" where they are
        self.capture: libprof.Capture | None = None  # of the test alone

    def why_no_gpu(self) -> str:
        """Why no GPU work could be recorded; "" where it could, and there was none."""
        properties = self.capture.properties if self.capture else {}
        if properties.get("cupti_version"):
            return ""
        return properties.get("cupti_notice") or "the test used no CUDA"


@contextmanager
def _recorded(cost: _Cost, folder: str, options: dict[str, Any]) -> Iterator[None]:
    import libprof

    run = libprof.recording(**{"output_dir": folder, "export": [], **options})
    try:
        run.__enter__()
    except libprof.Failed as failure:
        cost.why_unknown = str(failure)
        yield
        return
    with ExitStack() as stack:
        stack.push(run)
        yield
    if run.error is not None:
        cost.why_unknown = str(run.error)
    elif run.path is not None:
        cost.capture = run.capture
        summary = cost.capture.summary()
        cost.rows, cost.total_gpu_ns = summary.rows, summary.total_gpu_ns


@contextmanager
def _part_of_running(cost: _Cost, folder: str, options: dict[str, Any]) -> Iterator[None]:
    """The difference of two summaries."""
    import copy

    import libprof

    if options:
        cost.why_unknown = "a recording is running already, so that the test's options do not apply"
    try:
        before = None if options else libprof.summary()
    except libprof.Error as failure:
        before, cost.why_unknown = None, str(failure)
    yield
    if before is None:
        return
    try:
        after = libprof.summary()
    except libprof.Error as failure:
        cost.why_unknown = str(failure)
        return
    earlier = {(row.path, row.kind, row.captured): row for row in before}
    cost.total_gpu_ns = after.total_gpu_ns - before.total_gpu_ns
    for row in after:
        was, now = earlier.get((row.path, row.kind, row.captured)), copy.copy(row)
        for key in _ADDED if was is not None else ():
            setattr(now, key, getattr(row, key) - getattr(was, key))
        if now.count or now.ops:
            cost.rows.append(now)


_ADDED = ("count", "gpu_sum_ns", "ops", "self_ops")


def _judge(cost: _Cost, limits: Mapping[str, Any]) -> None:
    """Raises pytest's failure if a limit was exceeded, with all that were."""
    findings = []

    def check(what: str, value: float, limit: float | None, unit: str) -> None:
        if limit is not None and value > limit:
            findings.append(f"{what}: {value:,.6g}{unit}, at most {limit:,.6g}{unit}")

    check("host time", cost.host_ns / 1e6, limits.get("max_host_ms"), " ms")
    if any(limits.get(key) is not None for key in _LIMITS_ON_GPU):
        if cost.why_unknown and not findings:
            pytest.skip(f"libprof: the limits were not checked: {cost.why_unknown}")
        if not cost.total_gpu_ns and not findings:
            why = cost.why_no_gpu()
            if why:
                pytest.skip(_NO_GPU + why)
        check("GPU time", cost.total_gpu_ns / 1e6, limits.get("max_gpu_ms"), " ms")
        check("GPU operations", sum(row.self_ops for row in cost.rows), limits.get("max_gpu_ops"), "")
        for name, limit in (limits.get("ranges") or {}).items():
            rows = [row for row in cost.rows if row.name == name or row.path == name]
            if rows:
                check(f"GPU time of {name!r}", sum(row.gpu_sum_ns for row in rows) / 1e6, limit, " ms")
            else:
                there = sorted({row.name for row in cost.rows if row.kind == "range"})
                findings.append(f"range {name!r}: not recorded; there are {', '.join(there) or 'none'}")
    if findings:
        report = str(cost.capture.report()) if cost.capture else ""
        pytest.fail("libprof: " + "; ".join(findings) + ("\n\n" + report if report else ""), pytrace=False)


@cache
def _why_no_gpu_here() -> str:
    """Why this machine has no GPU for this process; "" where it has one, or where nobody can say. A process of its own
    asks: the forked children of one that has initialised CUDA could not use it."""
    import subprocess

    cupti = os.environ.get("PROF_CUPTI_LIBRARY", "")
    if os.sep in cupti and not os.path.exists(cupti):
        return f"PROF_CUPTI_LIBRARY={cupti} does not exist"
    try:
        asked = subprocess.run([sys.executable, "-I", "-S", "-c", _ASK], stdin=subprocess.DEVNULL, capture_output=True,
                               text=True, timeout=60, env={**os.environ, "PROF_AUTOSTART": "0"})  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    said = asked.stdout.strip()
    if said == "no driver":  # a driver may come from elsewhere, where CUPTI does
        return "" if cupti else "there is no CUDA driver (libcuda.so.1)"
    return said


_ASK = """
import ctypes
try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError:
    print("no driver")
else:
    count = ctypes.c_int()
    failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if failed:
        print(f"the CUDA driver reports error {failed}")
    elif not count.value:
        print("the CUDA driver finds no GPU")
"""
