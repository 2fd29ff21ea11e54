// The parts of a Chrome trace that have their own source files, and what they share; export/chrome/chrome_trace.hpp
// writes the whole. One thread; functions throw what the sink throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/steps/numbered_steps.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "export/chrome/trace_events.hpp"
#include "export/chrome/trace_names.hpp"
#include "export/layout/gpu_rows.hpp"
#include "export/layout/host_rows.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Spill rows get numbers that no thread and no stream has, and appear beside the row from which they spilled.
inline constexpr std::int64_t spill_row_step = 10'000'000;

struct trace_sheet {
    trace_sheet(const timeline& of, const attribution& attributed, byte_sink& sink, std::int64_t base)
        : data(of), att(attributed), base_ns(base), events(sink, base), names(of) {
        for (const device_record& known : of.devices) devices.emplace(known.device, &known);
    }

    const timeline& data;
    const attribution& att;
    std::int64_t base_ns;
    trace_events events;
    trace_names names;
    std::unordered_map<std::uint32_t, const device_record*> devices;
    std::int64_t host_pid = 0;
    trace_counts counts;

    const device_record* device(std::uint32_t index) const {
        const auto found = devices.find(index);
        return found == devices.end() ? nullptr : found->second;
    }
    trace_row host_row(std::uint32_t tid, std::size_t row = 0) const {
        return {host_pid, tid + static_cast<std::int64_t>(row) * spill_row_step};
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

inline trace_row gpu_row(const gpu_stream_rows& stream, std::size_t row) {
    return {stream.device, static_cast<std::int64_t>(stream.number) + static_cast<std::int64_t>(row) * spill_row_step};
}

// CUPTI's correlation id, made unique over several attachments. Ids of the first attachment are unchanged; each further
// one adds 2^32.
inline std::uint64_t trace_correlation(std::uint64_t key) {
    return (key >> 32) == 0 ? key : key - correlation_key(1, 0);
}

// The number that connects a range with its slices on the host and on the GPU, and with the work below it.
inline std::uint64_t external_id(std::uint32_t range) { return std::uint64_t{range} + 1; }

// Identifies an arrow by the operation at its end, since one call may launch many operations (a graph).
inline std::uint64_t flow_id(std::uint32_t op) { return std::uint64_t{op} + 1; }

// Writes the names and the order of processes and rows.
void write_trace_metadata(trace_sheet& to, const std::vector<host_thread_rows>& host,
                          const std::vector<gpu_stream_rows>& gpu);
// Writes the activity of the threads, and the ranges that belong to no thread.
void write_trace_host(trace_sheet& to, const std::vector<host_thread_rows>& host, const numbered_steps& steps);
// Writes the work of the GPUs, and the ranges projected on them.
void write_trace_gpu(trace_sheet& to, const std::vector<gpu_stream_rows>& gpu);

}  // namespace prof
