// SPDX-License-Identifier: Apache-2.0
// The parts of a Chrome trace that have their own source files, and what they share; export/chrome/chrome_trace.hpp
// writes the whole. One thread; functions throw what the sink throws.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/numbered_steps.hpp"
#include "base/progress.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "export/chrome/trace_events.hpp"
#include "export/chrome/trace_names.hpp"
#include "export/layout/gpu_rows.hpp"
#include "export/layout/host_rows.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Spill rows get numbers that no thread and no stream has, and appear beside the row from which they spilled.
inline constexpr std::int64_t spill_row_step = 10'000'000;

// One capture in a trace. `used_before`: the numbers of the captures before it.
struct trace_sheet {
    trace_sheet(const timeline& of, const attribution& attributed, trace_events& to, std::int64_t base,
                const trace_numbers& used_before, const progress_count& work)
        : data(of),
          att(attributed),
          base_ns(base),
          events(to),
          names(of),
          first_range(used_before.ranges),
          first_op(used_before.ops),
          first_correlation(used_before.correlations),
          first_process(used_before.processes),
          largest_correlation(used_before.correlations),
          progress(work) {
        for (const device_record& known : of.devices) devices.emplace(known.device, &known);
    }

    const timeline& data;
    const attribution& att;
    std::int64_t base_ns;
    trace_events& events;
    trace_names names;
    std::unordered_map<std::uint32_t, const device_record*> devices;
    bool is_shared = false;                // the trace has other captures, too
    const trace_member* member = nullptr;  // of a job; null: of none
    std::int64_t host_pid = 0;
    std::map<std::uint32_t, std::int64_t> gpu_pids;  // by device
    std::uint64_t first_range;
    std::uint64_t first_op;
    std::uint64_t first_correlation;
    std::int64_t first_process;
    std::uint64_t largest_correlation;  // of those written
    trace_counts counts;
    progress_count progress;  // of the items of threads and the operations of streams

    const device_record* device(std::uint32_t index) const {
        const auto found = devices.find(index);
        return found == devices.end() ? nullptr : found->second;
    }
    trace_row host_row(std::uint32_t tid, std::size_t row = 0) const {
        return {host_pid, tid + static_cast<std::int64_t>(row) * spill_row_step};
    }
    std::int64_t gpu_pid(std::uint32_t index) const { return gpu_pids.at(index); }

    // The number that connects a range with its slices on the host and on the GPU, and with the work below it.
    std::uint64_t external_id(std::uint32_t range) const { return first_range + range + 1; }
    // The same of a captured range in one launch of its graph; `replayed`: index into attribution::replayed.
    std::uint64_t replayed_id(std::uint32_t replayed) const { return first_range + data.ranges.size() + replayed + 1; }
    // Identifies an arrow by the operation at its end, since one call may launch many operations (a graph).
    std::uint64_t flow_id(std::uint32_t op) const { return first_op + op + 1; }
    std::uint64_t correlation(std::uint64_t key) {
        const std::uint64_t id = first_correlation + shown_correlation(key);
        largest_correlation = std::max(largest_correlation, id);
        return id;
    }
};

// The common members of the writers of parts.
class trace_part {
public:
    explicit trace_part(trace_sheet& to)
        : to_(to), data_(to.data), att_(to.att), events_(to.events), names_(to.names), counts_(to.counts) {}

protected:
    trace_sheet& to_;
    const timeline& data_;
    const attribution& att_;
    trace_events& events_;
    trace_names& names_;
    trace_counts& counts_;
};

// `pid`: the GPU's.
inline trace_row gpu_row(std::int64_t pid, const gpu_stream_rows& stream, std::size_t row) {
    return {pid, static_cast<std::int64_t>(stream.number) + static_cast<std::int64_t>(row) * spill_row_step};
}

// Writes the names and the order of processes and rows.
void write_trace_metadata(trace_sheet& to, const std::vector<host_thread_rows>& host,
                          const std::vector<gpu_stream_rows>& gpu);
// Writes the activity of the threads, and the ranges that belong to no thread.
void write_trace_host(trace_sheet& to, const std::vector<host_thread_rows>& host, const numbered_steps& steps);
// Writes the work of the GPUs, and the ranges projected on them.
void write_trace_gpu(trace_sheet& to, const std::vector<gpu_stream_rows>& gpu);

}  // namespace prof
