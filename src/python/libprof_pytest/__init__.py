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
the same for ranges by name, over all instances; max_gpu_ops and max_host_ms are the number of operations, and the host
time of a range. The keyword options has options of libprof.start(). A limit on GPU time skips the test where no GPU
work can be recorded.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

import pytest

_KEYWORDS = {"max_gpu_ms", "max_gpu_ops", "max_host_ms", "ranges", "options"}


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "prof(max_gpu_ms=None, max_gpu_ops=None, max_host_ms=None, ranges=None, "
                            "options=None): record the test with libprof, and fail it if it costs more")  # fmt: skip


@pytest.fixture
def prof_recording(tmp_path: Any) -> Callable[..., Any]:
    """Makes libprof.recording(**options), with the capture in the test's tmp_path."""
    import libprof

    def make(**options: Any) -> libprof.recording:
        options.setdefault("output_dir", tmp_path / "prof")
        options.setdefault("export", [])
        return libprof.recording(**options)

    return make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    marker = item.get_closest_marker("prof")
    if marker is None:
        return (yield)
    unknown = sorted(set(marker.kwargs) - _KEYWORDS)
    if marker.args or unknown:
        raise pytest.UsageError(f"{item.nodeid}: pytest.mark.prof takes the keywords {', '.join(sorted(_KEYWORDS))}, "
                                f"not {', '.join(unknown) or 'positional arguments'}")  # fmt: skip
    import tempfile

    import libprof

    with tempfile.TemporaryDirectory(prefix="libprof-pytest-") as folder:
        with libprof.recording(**{"output_dir": folder, "export": [], **marker.kwargs.get("options", {})}) as run:
            result = yield
        _judge(run, marker.kwargs)
    return result


def _judge(run: Any, limits: dict[str, Any]) -> None:
    """Raises pytest's failure if a limit was exceeded, with all that were."""
    summary = run.summary
    wants_gpu = any(limits.get(key) is not None for key in ("max_gpu_ms", "max_gpu_ops", "ranges"))
    if wants_gpu and not summary.total_gpu_ns:
        why = _why_no_gpu(run)
        if why:
            pytest.skip(f"libprof: no GPU work is recorded: {why}")
    findings = []

    def check(what: str, value: float, limit: float | None, unit: str) -> None:
        if limit is not None and value > limit:
            findings.append(f"{what}: {value:,.6g}{unit}, at most {limit:,.6g}{unit}")

    check("GPU time", summary.total_gpu_ns / 1e6, limits.get("max_gpu_ms"), " ms")
    check("GPU operations", sum(row.self_ops for row in summary), limits.get("max_gpu_ops"), "")
    host_ns = sum(row.host_ns for row in summary if row.parent is None and row.kind in ("range", "phase"))
    check("host time of ranges", host_ns / 1e6, limits.get("max_host_ms"), " ms")
    for name, limit in (limits.get("ranges") or {}).items():
        rows = [row for row in summary if row.name == name or row.path == name]
        if not rows:
            findings.append(f"range {name!r}: not recorded; there are {', '.join(sorted({row.name for row in summary if row.kind == 'range'})) or 'none'}")
        else:
            check(f"GPU time of {name!r}", sum(row.gpu_sum_ns for row in rows) / 1e6, limit, " ms")
    if findings:
        report = str(run.capture.report()) if run.path else ""
        pytest.fail("libprof: " + "; ".join(findings) + ("\n\n" + report if report else ""), pytrace=False)


def _why_no_gpu(run: Any) -> str:
    """Why no GPU work could be recorded; "" where it could, and there was none."""
    properties = run.capture.properties if run.path else {}
    if properties.get("cupti_version"):
        return ""
    return properties.get("cupti_notice") or "the test used no CUDA"
