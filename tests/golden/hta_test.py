#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holistic Trace Analysis reads the recorded captures' traces, and its numbers are libprof's.

Each of its analyses that a trace of one rank without framework operators can answer is run. Where an analysis gives
times that libprof has too, they must agree; HTA adds 64-bit floats of microseconds, hence the tolerance.
"""
import contextlib
import io
import logging
import math
import os
import warnings

from recorded import Export, calls, captures, gpu_operations, report, skip

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else it cuts kernels below a microsecond to nothing
TOLERANCE_US = 0.01
# The calls that its launch statistics go by, and its queue length, which knows those of cuBLAS and cuDNN, too.
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC")
TRANSFERS = ("cudaMemcpyAsync", "cudaMemsetAsync")
QUEUEING_CALLS = (*LAUNCHES, "cuLaunchKernel", "cuLaunchKernelEx", *TRANSFERS)


def equal(what, found, expected, relative=1e-9):
    close = math.isclose(found, expected, rel_tol=relative, abs_tol=TOLERANCE_US)
    assert close, f"{what}: HTA {found}, libprof {expected}"


class Analyses:
    def __init__(self, trace_analysis, export):
        # Where the trace has steps, all of them.
        self.hta = trace_analysis(trace_files={0: str(export.path)}, include_last_profiler_step=True)
        self.rows = self.hta.t.get_trace(0)
        self.operations = gpu_operations(export.trace)
        self.calls = calls(export.trace)
        self.numbers = {}

    def temporal_breakdown(self, capture):
        row = self.hta.get_temporal_breakdown(visualize=False).iloc[0]
        kernels, copies = report(capture, "kernels"), report(capture, "copies")
        projection = report(capture, "gpu-projection")
        busy = row["compute_time(us)"] + row["non_compute_time(us)"]
        equal("busy", busy, projection["total_busy_ns"] / 1000)
        equal("busy and idle", busy + row["idle_time(us)"], row["kernel_time(us)"])
        if projection["total_busy_ns"] == projection["total_gpu_ns"]:  # nothing ran side by side
            equal("compute", row["compute_time(us)"], kernels["total_ns"] / 1000)
            equal("copies and sets", row["non_compute_time(us)"], copies["total_ns"] / 1000)
        self.numbers["busy ms"] = busy / 1000
        self.numbers["idle %"] = row["idle_time_pctg"]

    def idle_time_breakdown(self):
        idle = self.hta.get_idle_time_breakdown(ranks=[0], visualize=False)[0]
        for stream, part in idle.groupby("stream"):
            at = sorted((op["ts"], op["ts"] + op["dur"]) for op in self.operations if op["args"]["stream"] == stream)
            # Kernels of one stream may overlap (programmatic dependent launch): to HTA that is a negative gap.
            gaps = sum(after[0] - before[1] for before, after in zip(at, at[1:]))
            # Its sums are 32-bit floats.
            equal(f"idle time of stream {stream}", part["idle_time"].sum(), gaps, relative=1e-6)
        self.numbers["host wait ms"] = idle[idle["idle_category"] == "host_wait"]["idle_time"].sum() / 1000

    def kernel_breakdown(self, capture):
        _, kernels = self.hta.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000, duration_ratio=1.0,
                                                       include_memory_kernels=True)
        found = kernels.groupby("name")["sum (us)"].sum().to_dict()
        expected = {}
        for name, key in (("kernels", "name"), ("copies", "operation")):
            for row in report(capture, name)["rows"]:
                expected[row[key]] = expected.get(row[key], 0) + row["total_ns"] / 1000
        unknown = found.keys() - expected.keys() - {"others"}
        assert not unknown, f"names that libprof does not have: {unknown}"
        for name in found.keys() - {"others"}:
            equal(name, found[name], expected[name])
        equal("all kernels", sum(found.values()), sum(expected.values()))
        self.numbers["kernel names"] = len(expected)

    def overlap_of_communication(self):
        percent = self.hta.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]
        assert math.isnan(percent), "there is no communication in these captures"

    def queue_length(self):
        series = self.hta.get_queue_length_time_series()[0]
        assert int(series["queue_length"].min()) >= 0, "work that began before it was launched"
        queueing = {call["args"]["correlation"] for call in self.calls if call["name"] in QUEUEING_CALLS}
        queued = sum(op["args"]["correlation"] in queueing for op in self.operations)
        assert len(series) == 2 * queued, f"{len(series)} steps for {queued} operations that enter and leave a queue"
        summary = self.hta.get_queue_length_summary()
        self.numbers["longest queue"] = int(summary[("queue_length", "max")].max())
        self.hta.get_time_spent_blocked_on_full_queue({0: series})

    def memory_bandwidth(self, capture):
        summary = self.hta.get_memory_bw_summary()
        counts = summary[("memory_bw_gbps", "count")]
        expected = sum(row["instances"] for row in report(capture, "copies")["rows"])
        assert int(counts.sum()) == expected, (int(counts.sum()), expected)
        self.hta.get_memory_bw_time_series()
        self.numbers["copies and sets"] = expected

    def launch_statistics(self, capture):
        """Of launches by the runtime: calls, kernels and the time between, as cuda_kern_exec_sum has them."""
        stats = self.hta.get_cuda_kernel_launch_stats(include_memory_events=False, visualize=False)[0]
        rows = [row for row in report(capture, "cuda_kern_exec_sum")["rows"] if row["API Name"] in LAUNCHES]
        assert rows and len(stats) == sum(row["Count"] for row in rows), (len(stats), "launches")
        for column, mean, count in (("cpu_duration", "AAvg (ns)", "Count"), ("gpu_duration", "KAvg (ns)", "Count"),
                                    ("launch_delay", "QAvg (ns)", "QCount")):
            known = sum(row[mean] * row[count] for row in rows if row[count])
            equal(column, stats[column].sum(), known / 1000)
        durations = {op["args"]["correlation"]: op["dur"] for op in self.operations}
        for row in stats.itertuples():
            equal(f"work of call {row.correlation}", row.gpu_duration, durations[row.correlation])
        with_copies = self.hta.get_cuda_kernel_launch_stats(visualize=False)[0]
        known = {call["args"]["correlation"] for call in self.calls if call["name"] in (*LAUNCHES, *TRANSFERS)}
        assert set(with_copies["correlation"]) == known & durations.keys(), "copies and sets, too"
        self.numbers["median launch delay us"] = float(stats["launch_delay"].median())

    def kernels_with_annotations(self):
        kernels = self.hta.get_gpu_kernels_with_user_annotations(rank=0)
        assert len(kernels) == len(self.operations), (len(kernels), len(self.operations))
        assert kernels["s_user_annotation"].isin(["forward", "attention", "backward", "loss", "mlp"]).any()

    def user_annotations(self, capture):
        projection = report(capture, "gpu-projection")
        host = self.hta.get_gpu_user_annotation_breakdown(use_gpu_annotation=False, visualize=False)
        on_gpu = self.hta.get_gpu_user_annotation_breakdown(use_gpu_annotation=True, visualize=False)
        for name in ("data_to_device", "forward", "backward", "optimizer_step"):
            rows = [row for row in projection["rows"] if row["name"] == name]
            found = host[host["name"] == name]["sum (us)"].sum()
            equal(f"{name} on the host", found, sum(row["host_ns"] for row in rows) / 1000)
            assert on_gpu[on_gpu["name"] == name]["sum (us)"].sum() > 0, f"{name} has no GPU row"

    def critical_path(self, annotation):
        graph, succeeded = self.hta.critical_path_analysis(rank=0, annotation=annotation, instance_id=0)
        assert succeeded, "no critical path"
        self.numbers["nodes of the critical path"] = len(graph.critical_path_nodes)


def main():
    try:
        from hta.trace_analysis import TraceAnalysis
    except ImportError as missing:
        skip(f"{missing}: install tests/requirements-all.txt")
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    for capture in captures():
        export = Export(capture)
        with contextlib.redirect_stdout(io.StringIO()):
            analyses = Analyses(TraceAnalysis, export)
            analyses.temporal_breakdown(capture)
            analyses.idle_time_breakdown()
            analyses.kernel_breakdown(capture)
            analyses.overlap_of_communication()
            analyses.queue_length()
            analyses.memory_bandwidth(capture)
            analyses.launch_statistics(capture)
            analyses.kernels_with_annotations()
            analyses.user_annotations(capture)
            analyses.critical_path("iteration 1")
        print(f"{capture.name}: " + ", ".join(f"{what} {round(n, 3)}" for what, n in analyses.numbers.items()))


if __name__ == "__main__":
    main()
