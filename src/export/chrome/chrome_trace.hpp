// SPDX-License-Identifier: Apache-2.0
// Writes timelines as a Chrome trace, in the dialect of torch.profiler (Kineto), which Perfetto, Chrome and Holistic
// Trace Analysis read. docs/reference/chrome-trace.md describes every event and argument. Several captures may share
// one trace.
//
// One thread. Events stream to the sink, so memory is that of the row layout, about 100 bytes an event. Throws what the
// sink throws.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "base/progress.hpp"
#include "export/byte_sink.hpp"
#include "export/chrome/trace_events.hpp"
#include "export/chrome/trace_header.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The numbers of written events, to check that a viewer shows all of them.
struct trace_counts {
    std::uint64_t host_ranges = 0;       // X, user_annotation
    std::uint64_t api_calls = 0;         // X, cuda_runtime and cuda_driver
    std::uint64_t gpu_ops = 0;           // X, kernel, gpu_memcpy and gpu_memset
    std::uint64_t projected_ranges = 0;  // X, gpu_user_annotation
    std::uint64_t process_ranges = 0;    // pairs of b and e
    std::uint64_t instants = 0;          // i
    std::uint64_t counters = 0;          // C
    std::uint64_t flows = 0;             // pairs of s and f
    std::uint64_t track_slices = 0;      // X, of a trace_track
    std::uint64_t member_flows = 0;      // ends of arrows between captures, s or f

    trace_counts& operator+=(const trace_counts& other) noexcept;
};

// A row of slices that the caller has computed, in the capture's process.
struct trace_track {
    struct slice {
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        std::string name{};
        std::string where{};   // an argument; "": none
        std::string module{};  // likewise
    };
    std::string name{};           // of the row
    std::string category{};       // of the slices: a plain word
    std::vector<slice> slices{};  // by start_ns, without overlap
};

// A capture among others of its job.
struct trace_member {
    // An end of an arrow at an operation: the arrow has another one with this id in another capture.
    struct arrow_end {
        std::uint32_t op = 0;  // index into timeline::ops
        bool is_start = false;
        std::uint64_t id = 0;
        std::int64_t trace_ns = 0;  // within the operation, on the trace's clock
    };
    std::string label{};  // "rank 2 (host b)"; its processes' names begin with it
    trace_clock clock{};
    std::vector<arrow_end> arrows{};  // by op
};

// The numbers that the captures added so far have used: a further capture must not use them again.
struct trace_numbers {
    std::set<std::int64_t> pids{};  // of processes and GPUs
    std::uint64_t ranges = 0;
    std::uint64_t ops = 0;
    std::uint64_t correlations = 0;
    std::int64_t processes = 0;  // places in the order of processes
};

// A trace as a document: begin(), add() for each capture, end(). The first capture keeps its numbers. Those of
// further captures are moved where they would collide, so that pids, ids and correlations are unique in the trace. Only
// one capture's timeline need be in memory at a time. An exception of the sink leaves an unusable document.
class chrome_trace {
public:
    // `trace_name`: the traceName in the trace. `progress`, which may be null, is informed of each capture's events.
    // REQUIRES: the sink outlives the document.
    chrome_trace(byte_sink& sink, std::string_view trace_name, progress_observer* progress = nullptr)
        : sink_(sink), name_(trace_name), progress_(progress) {}

    // The trace counts from the earliest moment of these captures, on the trace's clock.
    // REQUIRES: called once, with the headings of all captures that are going to be added.
    void begin(std::span<const trace_heading> captures);
    // REQUIRES: begin() was called, and end() was not. The counts are those of this capture.
    // `track`, which may be null, is shown above the threads.
    // `member`, which may be null: that its clock is another than the trace's, for one.
    trace_counts add(const timeline& data, const attribution& att, const trace_track* track = nullptr,
                     const trace_member* member = nullptr);
    void end();

private:
    byte_sink& sink_;
    std::string name_;
    progress_observer* progress_;
    std::int64_t base_ns_ = 0;
    bool is_shared_ = false;  // by several captures
    std::optional<trace_events> events_;
    trace_numbers used_;
};

struct traced_capture {
    const timeline& data;
    const attribution& att;
    const trace_track* track = nullptr;
};

// Several captures that are all in memory, in one trace. The second one writes a file, as below.
trace_counts write_chrome_trace(std::span<const traced_capture> captures, byte_sink& sink, std::string_view trace_name,
                                progress_observer* progress = nullptr);
trace_counts write_chrome_trace(std::span<const traced_capture> captures, const std::string& path,
                                progress_observer* progress = nullptr);

// One capture. `trace_name`: the traceName in the trace.
trace_counts write_chrome_trace(const timeline& data, const attribution& att, byte_sink& sink,
                                std::string_view trace_name, progress_observer* progress = nullptr,
                                const trace_track* track = nullptr);

// Writes to a file that appears whole or not at all (export/atomic_file.hpp); compressed if `path` ends in ".gz".
// Throws prof::error.
trace_counts write_chrome_trace(const timeline& data, const attribution& att, const std::string& path,
                                progress_observer* progress = nullptr, const trace_track* track = nullptr);

}  // namespace prof
