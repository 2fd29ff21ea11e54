#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holistic Trace Analysis reads the traces, and its numbers are those worked out by hand.

The capture (example_captures.cpp, hta_capture), in microseconds:
    stream 7   kernel_a [100, 200)  kernel_a [220, 320)  kernel_b [400, 500)
    stream 20  ncclKernel_AllReduce [300, 450)
    stream 24  Memcpy HtoD [150, 250), 1 MB
launched at 10, 50, 350 (stream 7), 90 (stream 20) and 30 (stream 24), each call taking 10, all of them the driver's, as
recorded by default. aten::mm [5, 65) launches the first two kernels and the copy, aten::add [340, 365) the last.

Each check is made once more on the trace without what the analysis lives on, and must fail there.
"""
import contextlib
import copy
import gzip
import io
import json
import os
import pathlib
import tempfile

from example_traces import skip, write_traces

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
os.environ["PLOTLY_RENDERER"] = "json"  # one analysis shows a figure, in a browser otherwise
try:
    import logging
    import warnings

    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    from hta.trace_analysis import TraceAnalysis
except ImportError as missing:
    skip(f"no Holistic Trace Analysis in this Python ({missing}); tests/run.sh --all installs it")


def temporal_breakdown(analysis):
    # From 100 to 500, all of it busy. Computing: [100, 200), [220, 320), [400, 500), 300 of 400.
    row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    assert row["idle_time(us)"] == 0, row
    assert row["compute_time(us)"] == 300, row
    assert row["non_compute_time(us)"] == 100, row
    assert row["kernel_time(us)"] == 400, row


def overlap(analysis):
    # Communication [300, 450) overlaps kernel_a's [300, 320) and kernel_b's [400, 450): 70 of 150.
    row = analysis.get_comm_comp_overlap(visualize=False).iloc[0]
    assert abs(row["comp_comm_overlap_pctg"] - 46.67) < 0.01, row


def kernel_breakdown(analysis):
    types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True)
    named = kernels.set_index("name")
    assert named.loc["kernel_a", "sum (us)"] == 200 and named.loc["kernel_a", "max (us)"] == 100, kernels
    assert named.loc["kernel_b", "sum (us)"] == 100, kernels
    assert named.loc["ncclKernel_AllReduce", "sum (us)"] == 150, kernels
    assert named.loc["Memcpy HtoD (Pageable -> Device)", "sum (us)"] == 100, kernels
    # Each instant belongs to the kinds that are busy then. Computing alone: [100, 150), [250, 300), [450, 500);
    # with memory: [150, 200), [220, 250); memory alone: [200, 220); communication alone: [320, 400).
    by_type = types.set_index("kernel_type")["sum"]
    assert by_type["COMPUTATION"] == 150, types
    assert by_type["COMMUNICATION"] == 80, types
    assert by_type["MEMORY"] == 20, types
    assert by_type["COMPUTATION overlapping MEMORY"] == 80, types
    assert by_type["COMPUTATION overlapping COMMUNICATION"] == 70, types


def idle_time(analysis):
    # Stream 7 waits [200, 220): its launch at 50 came before, a gap under 30 us is the kernels' own; and [320, 400):
    # the launch at 350 came after the previous kernel's end, so the host was late.
    idle, _ = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
    on_stream = idle[idle["stream"] == 7].set_index("idle_category")["idle_time"]
    assert on_stream["host_wait"] == 80, idle
    assert on_stream["kernel_wait"] == 20, idle
    assert on_stream.get("other", 0) == 0, idle


def launch_statistics(analysis):
    # Delay from the end of the call to the start of the kernel: 100-20, 220-60, 300-100, 400-360; the copy 150-40.
    table = analysis.get_cuda_kernel_launch_stats(ranks=[0], include_memory_events=True, visualize=False)[0]
    delays = sorted(zip(table["cpu_duration"], table["gpu_duration"], table["launch_delay"]))
    assert delays == [(10, 100, 40), (10, 100, 80), (10, 100, 110), (10, 100, 160), (10, 150, 200)], table


def queue_lengths(analysis):
    # Stream 7: 1 at 10, 2 at 50, 1 at 100, 0 at 220, 1 at 350, 0 at 400.
    series = analysis.get_queue_length_time_series(ranks=[0])[0]
    on_stream = series[series["stream"] == 7].sort_values("ts")
    assert list(on_stream["queue_length"]) == [1, 2, 1, 0, 1, 0], on_stream
    assert not analysis.get_queue_length_summary(ranks=[0]).empty


def memory_bandwidth(analysis):
    # 1 MB in 100 us: 10 GB/s while it lasts.
    summary = analysis.get_memory_bw_summary(ranks=[0])
    assert summary[("memory_bw_gbps", "max")].iloc[0] == 10, summary


def annotations(analysis):
    # forward on stream 7: [100, 320), on stream 24: [150, 250); backward on stream 20: [300, 450), on 7: [400, 500).
    table = analysis.get_gpu_user_annotation_breakdown(use_gpu_annotation=True, visualize=False)
    named = table.set_index("name")["sum (us)"]
    assert named["forward"] == 320 and named["backward"] == 250, table
    # On the host: [0, 70) and [80, 370).
    table = analysis.get_gpu_user_annotation_breakdown(use_gpu_annotation=False, visualize=False)
    named = table.set_index("name")["sum (us)"]
    assert named["forward"] == 70 and named["backward"] == 290, table
    kernels = analysis.get_gpu_kernels_with_user_annotations(rank=0)
    assert sorted(kernels["s_user_annotation"]) == ["backward", "backward", "forward", "forward", "forward"], kernels


def kernel_sequences(analysis):
    # aten::mm launches three operations, 300 us on the GPU in all, and takes 60.
    with tempfile.TemporaryDirectory() as folder:
        table = analysis.get_frequent_cuda_kernel_sequences("aten::mm", folder)
        assert list(pathlib.Path(folder).iterdir()), "the trace with the sequences marked"
    row = table.iloc[0]
    assert row["pattern"] == "aten::mm|kernel_a|Memcpy HtoD (Pageable -> Device)|kernel_a", table
    assert (row["count"], row["GPU kernel duration (us)"], row["CPU op duration (us)"]) == (1, 300, 60), table


def operators(analysis):
    # From the operator's start to its first launch, and from there to the kernel's start: 5 and 90, 10 and 50.
    table = analysis.get_aten_op_kernels_and_delay(ranks=[0])[0].set_index("aten_op_name")
    assert table.loc["aten::mm", "kernel_sequence"] == "kernel_a -> kernel_a", table
    assert table.loc["aten::add", "kernel_sequence"] == "kernel_b", table
    for name, delay, until_kernel in (("aten::mm", 5, 90), ("aten::add", 10, 50)):
        assert table.loc[name, "avg_aten_op_launch_delay"] == delay, table.loc[name]
        assert table.loc[name, "avg_runtime_delay"] == until_kernel, table.loc[name]


def critical_path(analysis):
    # Of backward: the launch at 90 with what follows until its kernel starts at 300, and the all-reduce: 210 + 150. By
    # kernel_b it is 10 + 10 + 50 + 100, since to HTA the host's time between two operators counts for nothing.
    graph, succeeded = analysis.critical_path_analysis(rank=0, annotation="backward", instance_id=0)
    assert succeeded
    names = {graph._get_node_name(event) for event in graph.critical_path_events_set}
    assert names == {"cudaLaunchKernel", "ncclKernel_AllReduce"}, names
    assert sorted(edge.weight for edge in graph.critical_path_edges_set) == [150, 210]
    with tempfile.TemporaryDirectory() as folder:
        assert pathlib.Path(analysis.overlay_critical_path_analysis(0, graph, folder)).exists()


def counters(analysis):
    # Queue length and bandwidth as counters in the trace: six, two and two steps of queues, two of bandwidth.
    analysis.generate_trace_with_counters(output_suffix="_counters")
    written = pathlib.Path(analysis.t.trace_files[0].replace(".json", "_counters.json"))
    events = [event for event in json.loads(gzip.decompress(written.read_bytes()))["traceEvents"] if event["ph"] == "C"]
    assert len(events) == 12, len(events)


def graphs(analysis):
    # Of graph_capture: two replays of 100, 50 and 300 ns, and a graph of 300 ns recorded as a whole.
    _, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True)
    sums = {name: round(us, 3) for name, us in zip(kernels["name"], kernels["sum (us)"])}
    assert sums == {"CUDA graph 7": 0.3, "attention": 0.2, "mlp": 0.1, "gradients": 0.6}, kernels
    table = analysis.get_gpu_user_annotation_breakdown(use_gpu_annotation=True, visualize=False)
    named = {name: round(us, 3) for name, us in zip(table["name"], table["sum (us)"])}
    assert named == {"step 1": 0.46, "step 2": 0.46, "forward": 0.3, "backward": 0.6, "whole": 0.3}, table


def steps(folder):
    """Of steps_capture, two ranks: five steps of 1000 us, [1000, 2000) … of which HTA leaves the last out, as ever. In each
    a kernel [50, 350) and an all-reduce [400, 800); on rank 1 both are late by 200."""
    analysis = TraceAnalysis(trace_dir=folder)
    names = analysis.t.symbol_table.get_sym_table()
    for rank in (0, 1):
        table = analysis.t.get_trace(rank)
        kernels = table[table["stream"] > 0]
        found = sorted((names[name], iteration) for name, iteration in zip(kernels["name"], kernels["iteration"]))
        assert found == [(name, step) for name in ("kernel_a", "ncclKernel_AllReduce") for step in range(4)], found
    # From the second step on, as HTA counts.
    assert analysis.get_potential_stragglers(num_candidates=1) == [1]
    assert analysis.get_potential_stragglers(profiler_steps=[2], num_candidates=1) == [1]
    graph, succeeded = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=1)
    assert succeeded
    path = {graph._get_node_name(event) for event in graph.critical_path_events_set}
    assert path == {"cudaLaunchKernel", "ncclKernel_AllReduce"}, path
    from hta.trace_diff import DeviceType, LabeledTrace, TraceDiff

    one, other = (LabeledTrace(label=label, trace_dir=folder) for label in ("one", "other"))
    assert one.iterations() == [0, 1, 2, 3, 4], one.iterations()
    table = TraceDiff.compare_traces(one, other, control_iteration=1, test_iteration=2, device_type=DeviceType.GPU)
    assert set(table["diff_duration"]) == {0} and len(table) == 2, table


def steps_fail_without(folder):
    with tempfile.TemporaryDirectory() as lacking:
        for path in pathlib.Path(folder).iterdir():
            trace = json.loads(gzip.decompress(path.read_bytes()))
            trace["traceEvents"] = [event for event in trace["traceEvents"]
                                    if not event["name"].startswith("ProfilerStep#")]
            pathlib.Path(lacking, path.name).write_bytes(gzip.compress(json.dumps(trace).encode()))
        try:
            steps(lacking)
        except Exception:
            return True
    return False


def calls(trace):
    return [event for event in trace["traceEvents"] if event.get("cat") == "cuda_runtime"]


def without_category(category):
    def change(trace):
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("cat") != category]

    return change


def without_argument(key):
    def change(trace):
        for event in trace["traceEvents"]:
            event.get("args", {}).pop(key, None)

    return change


def as_observed(trace):
    """The driver's names, of which HTA knows cuLaunchKernel in some analyses and no copy or set in any."""
    for event in calls(trace):
        event["name"], event["cat"] = event["args"]["call"], "cuda_driver"


def without_communication(trace):
    for event in trace["traceEvents"]:
        event["name"] = event["name"].replace("nccl", "")


# With what a trace must not lack for it.
CHECKS = (
    (temporal_breakdown, without_argument("stream")),
    (overlap, without_communication),
    (kernel_breakdown, without_category("kernel")),
    (idle_time, without_argument("correlation")),
    (launch_statistics, as_observed),
    (queue_lengths, without_argument("correlation")),
    (memory_bandwidth, without_argument("memory bandwidth (GB/s)")),
    (annotations, without_category("gpu_user_annotation")),
    (kernel_sequences, without_argument("correlation")),
    (operators, without_category("cpu_op")),
    (critical_path, without_argument("correlation")),
    (counters, as_observed),
)


def fails(check, trace, change):
    lacking = copy.deepcopy(trace)
    change(lacking)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "lacking.json.gz")
        path.write_bytes(gzip.compress(json.dumps(lacking).encode()))
        try:
            check(TraceAnalysis(trace_files={0: str(path)}))
        except Exception:  # whatever HTA raises where it finds nothing
            return True
    return False


def main():
    traces = write_traces()
    path = pathlib.Path(traces.name, "hta", "hta.json.gz")
    trace = json.loads(gzip.decompress(path.read_bytes()))
    assert all(call["name"].startswith("cuda") and call["args"]["call"].startswith("cu") for call in calls(trace))
    assert list(TraceAnalysis(trace_dir=str(path.parent)).t.traces) == [0], "the rank"
    with contextlib.redirect_stdout(io.StringIO()):
        for check, lacking in CHECKS:
            check(TraceAnalysis(trace_files={0: str(path)}))
            assert fails(check, trace, lacking), f"{check.__name__} passes without what it is about"
        graphs(TraceAnalysis(trace_dir=str(pathlib.Path(traces.name, "hta_graphs"))))
        folder = str(pathlib.Path(traces.name, "hta_steps"))
        steps(folder)
        assert steps_fail_without(folder), "steps pass without ProfilerStep#N"
    print("as worked out by hand: " + ", ".join(check.__name__ for check, _ in CHECKS) + ", graphs, steps")


if __name__ == "__main__":
    main()
