# SPDX-License-Identifier: Apache-2.0
"""The rows of scope `hta` of libprof's reports against Holistic Trace Analysis on the trace of the same capture.

HTA adds floats of microseconds and rounds shares to two decimals, idle times to 10 ns; else equal means equal.
"""
import collections
import contextlib
import io
import math

REPORTS = ("temporal_breakdown", "comm_comp_overlap", "idle_time_breakdown", "gpu_kernel_types", "gpu_kernel_breakdown",
           "cuda_kernel_launch_stats", "cuda_kernel_launches", "queue_length", "memory_bandwidth")  # fmt: skip
RELATIVE = 1e-9
FLOAT_NS = 0.5  # what sums of floats of microseconds are off by, below a whole nanosecond


class Difference(AssertionError):
    pass


def check(what, found, expected, absolute=0.0, relative=RELATIVE):
    """`found` is libprof's; None and NaN are both no value."""
    nothing = [value is None or (isinstance(value, float) and math.isnan(value)) for value in (found, expected)]
    if any(nothing):
        if not all(nothing):
            raise Difference(f"{what}: libprof {found}, HTA {expected}")
    elif not math.isclose(found, expected, rel_tol=relative, abs_tol=absolute):
        raise Difference(f"{what}: libprof {found}, HTA {expected}")


def check_ns(what, found, microseconds, absolute=FLOAT_NS):
    check(what, found, None if microseconds is None else float(microseconds) * 1000, absolute)


def check_keys(what, found, expected):
    if set(found) != set(expected):
        raise Difference(f"{what}: only libprof has {sorted(set(found) - set(expected), key=str)[:5]}, "
                         f"only HTA {sorted(set(expected) - set(found), key=str)[:5]}")  # fmt: skip


def hta_rows(report):
    return [row for row in report["rows"] if row["scope"] == "hta"]


def ties(series, column, unit=1000):
    """Of which streams, directions, … two changes are at the same moment."""
    at_ns = (series["ts"] * unit).round()
    return set(series[series.assign(ts=at_ns).duplicated([column, "ts"], keep=False)][column])


def pandas_description(what, row, of):
    for key in ("count", "mean", "std", "min", "25%", "50%", "75%", "max"):
        check(f"{what} {key}", row[key], float(of[key]))


class Comparison:
    """One trace, of one rank. `reports` is libprof's JSON by report; `hta` a TraceAnalysis of the trace."""

    def __init__(self, hta, reports, rank=0):
        self.hta, self.reports, self.rank = hta, reports, rank
        self.compared = collections.Counter()

    def run(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.temporal_breakdown()
            self.overlap()
            self.idle()
            self.kernel_types()
            self.kernels()
            self.launches()
            self.queue()
            self.bandwidth()
        return self.compared

    def gpu_rows(self):
        frame = self.hta.t.get_trace(self.rank)
        return frame[frame["stream"] >= 0]

    def temporal_breakdown(self):
        row, = hta_rows(self.reports["temporal_breakdown"])
        frame = self.hta.get_temporal_breakdown(visualize=False)
        of = frame[frame["rank"] == self.rank].iloc[0]
        for mine, its in (("kernel_time_ns", "kernel_time(us)"), ("idle_ns", "idle_time(us)"),
                          ("compute_ns", "compute_time(us)"), ("non_compute_ns", "non_compute_time(us)")):  # fmt: skip
            check_ns(f"temporal {mine}", row[mine], of[its])
        for mine, its in (("idle_share", "idle_time_pctg"), ("compute_share", "compute_time_pctg"),
                          ("non_compute_share", "non_compute_time_pctg")):  # fmt: skip
            check(f"temporal {mine}", 100 * row[mine], of[its], 0.00501)
        self.compared["temporal_breakdown"] += 7

    def overlap(self):
        frame = self.hta.get_comm_comp_overlap(visualize=False)
        of = frame[frame["rank"] == self.rank].iloc[0]["comp_comm_overlap_pctg"]
        rows = hta_rows(self.reports["comm_comp_overlap"])
        check("overlap", 100 * rows[0]["overlap_share"] if rows else None, of, 0.00501)
        self.compared["comm_comp_overlap"] += 1

    def idle(self):
        # In whole nanoseconds, since floats of equal moments differ. HTA's default of 30 is of the trace's unit.
        with self.in_nanoseconds():
            frame = self.hta.get_idle_time_breakdown(ranks=[self.rank], visualize=False,
                                                     consecutive_kernel_delay=30_000)[0]  # fmt: skip
            tied = ties(self.gpu_rows(), "stream", 1)
        its = {(int(row.stream), row.idle_category): row for row in frame.itertuples() if row.stream not in tied}
        mine = {(row["stream"], row["category"]): row for row in hta_rows(self.reports["idle_time_breakdown"])
                if row["stream"] not in tied}  # fmt: skip
        check_keys("idle", mine, its)
        for key, row in mine.items():
            check(f"idle {key}", row["idle_ns"], float(its[key].idle_time))
            if sum(other["idle_ns"] for (stream, _), other in mine.items() if stream == key[0]) != 0:
                check(f"idle share {key}", row["idle_share"], its[key].idle_time_ratio, 0.00501)
        self.compared["idle_time_breakdown"] += 2 * len(mine)

    def kernel_types(self):
        # HTA cuts each stretch to a whole unit of the trace's time, which is a microsecond: here a nanosecond.
        with self.in_nanoseconds():
            for with_memory in (True, False):
                frame, _ = self.hta.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=with_memory)
                its = {row["kernel_type"]: row for _, row in frame.iterrows() if row["sum"] != 0}
                mine = {row["kernel_type"]: row for row in hta_rows(self.reports["gpu_kernel_types"])
                        if row["with_memory"] == with_memory}  # fmt: skip
                check_keys("kernel types", mine, its)
                for key, row in mine.items():
                    check(f"kernel type {key}", row["sum_ns"], float(its[key]["sum"]))
                    check(f"kernel type {key} share", 100 * row["share"], its[key]["percentage"], 0.0501)
                self.compared["gpu_kernel_types"] += 2 * len(mine)

    @contextlib.contextmanager
    def in_nanoseconds(self):
        traces = self.hta.t.traces
        frame = traces[self.rank]
        scaled = frame.copy()
        for column in ("ts", "dur", "end"):
            scaled[column] = (frame[column] * 1000).round().astype("int64")
        traces[self.rank] = scaled
        yield
        traces[self.rank] = frame

    def kernels(self):
        _, frame = self.hta.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1.0, num_kernels=1_000_000,
                                                     include_memory_kernels=True)  # fmt: skip
        frame = frame[frame["rank"] == self.rank]
        its = {(row["kernel_type"], row["name"]): row for _, row in frame.iterrows()}
        mine = {(row["kernel_type"], row["name"]): row for row in hta_rows(self.reports["gpu_kernel_breakdown"])
                if row["kernel_type"] != "OTHER"}  # fmt: skip
        check_keys("kernels", mine, its)
        for key, row in mine.items():
            for what, column in (("total_ns", "sum (us)"), ("max_ns", "max (us)"), ("min_ns", "min (us)"),
                                 ("mean_ns", "mean (us)"), ("stddev_ns", "stddev")):  # fmt: skip
                check_ns(f"kernel {key} {what}", row[what], its[key][column])
        self.compared["gpu_kernel_breakdown"] += 5 * len(mine)
        _, frame = self.hta.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True)
        frame = frame[frame["rank"] == self.rank]
        kept = {(row["kernel_type"], row["name"]) for _, row in frame.iterrows() if row["name"] != "others"}
        sums = collections.Counter((key[0], row["total_ns"]) for key, row in mine.items())
        tied = {kind for (kind, _), count in sums.items() if count > 1}
        check_keys("kernels kept", {key for key, row in mine.items() if not row["hta_others"] and key[0] not in tied},
                   {key for key in kept if key[0] not in tied})  # fmt: skip

    def launches(self):
        traced = {row["correlation"]: row for row in self.reports["cuda_kernel_launches"]["rows"] if row["in_hta"]}
        for with_memory in (True, False):
            frame = self.hta.get_cuda_kernel_launch_stats(ranks=[self.rank], include_memory_events=with_memory,
                                                          visualize=False)[self.rank]  # fmt: skip
            rows = [row for row in hta_rows(self.reports["cuda_kernel_launch_stats"])
                    if row["with_memory"] == with_memory]  # fmt: skip
            if len(frame) != (rows[0]["launches"] if rows else 0):
                raise Difference(f"launches: libprof {rows}, HTA {len(frame)}")
            if with_memory:
                # libprof has a row for a call that returned, with all of its work.
                once = frame.groupby("correlation")["gpu_duration"].transform("size") == 1
                once = frame[once & frame["correlation"].isin(set(traced))]
                check_keys("launches", traced, set(frame["correlation"]) - self.without_end(traced, frame))
                for row in once.itertuples():
                    for column in ("cpu_duration", "gpu_duration", "launch_delay"):
                        check_ns(f"launch {row.correlation} {column}", traced[row.correlation][f"{column}_ns"],
                                 getattr(row, column))  # fmt: skip
                self.compared["cuda_kernel_launches"] += 3 * len(once)
            if not rows:
                continue
            (row,) = rows
            ns = frame[["cpu_duration", "gpu_duration", "launch_delay"]] * 1000
            short = (frame["cpu_duration"] <= 50) & (frame["gpu_duration"] < frame["cpu_duration"])
            check("short kernels", row["short_kernels"], int(short.sum()))
            check("long calls", row["long_calls"], int((frame["cpu_duration"] > 50).sum()))
            check("long delays", row["long_delays"], int((frame["launch_delay"] > 100).sum()))
            for column in ns:
                check(f"{column} sum", row[f"{column}_sum_ns"], ns[column].sum(), FLOAT_NS)
                check(f"{column} mean", row[f"{column}_mean_ns"], ns[column].mean(), FLOAT_NS)
            for name, share in (("p25", 0.25), ("median", 0.5), ("p75", 0.75), ("p90", 0.9), ("p99", 0.99)):
                check(f"delay {name}", row[f"launch_delay_{name}_ns"], ns["launch_delay"].quantile(share), FLOAT_NS)
            self.compared["cuda_kernel_launch_stats"] += 14

    @staticmethod
    def without_end(traced, frame):
        """Calls that were not seen to return have no length in the trace."""
        return set(frame[frame["cpu_duration"] == 0]["correlation"]) - set(traced)

    def queue(self):
        series = self.hta.get_queue_length_time_series(ranks=[self.rank])
        mine = {row["stream"]: row for row in hta_rows(self.reports["queue_length"])}
        if not series:
            check_keys("queues", mine, {})
            return
        summary = self.hta.get_queue_length_summary(ranks=[self.rank])
        its = {stream: row["queue_length"] for (_, stream), row in summary.iterrows()}
        check_keys("queues", mine, its)
        # HTA's order of changes at the same moment is any.
        tied = ties(series[self.rank], "stream")
        for stream, row in mine.items():
            if stream not in tied:
                pandas_description(f"queue {stream}", row, its[stream])
        full = self.hta.get_time_spent_blocked_on_full_queue(series)
        if full is not None:  # HTA keeps the last stream of a rank
            for row in full.itertuples():
                check_ns("full queue", mine[row.stream]["full_ns"], row.duration_at_max_queue_length)
                check("full queue's share", mine[row.stream]["full_share_of_trace"],
                      row.relative_duration_at_max_queue_length)  # fmt: skip
        self.compared["queue_length"] += 8 * len(mine)

    def bandwidth(self):
        summary = self.hta.get_memory_bw_summary(ranks=[self.rank])
        its = {} if summary is None else {name: row["memory_bw_gbps"] for (_, name), row in summary.iterrows()}
        mine = {row["name"]: row for row in hta_rows(self.reports["memory_bandwidth"]) if row["count"]}
        check_keys("bandwidth", mine, its)
        tied = ties(self.hta.get_memory_bw_time_series(ranks=[self.rank])[self.rank], "name") if its else set()
        for name, row in mine.items():
            if name not in tied:
                pandas_description(f"bandwidth {name}", row, its[name])
        self.compared["memory_bandwidth"] += 8 * len(mine)
