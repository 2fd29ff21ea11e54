// A timeline as a Chrome trace, in the dialect of torch.profiler (Kineto), which Perfetto, Chrome and Holistic Trace
// Analysis read. docs/chrome-trace.md describes every event and argument.
//
// One thread; streams to the sink, so memory is that of the row layout, about 100 bytes an event. Throws what the sink
// throws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/attribution/attribution.hpp"
#include "export/byte_sink.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What was written, for whoever wants to check that a viewer shows all of it.
struct trace_counts {
    std::uint64_t host_ranges = 0;       // X, user_annotation
    std::uint64_t api_calls = 0;         // X, cuda_runtime and cuda_driver
    std::uint64_t gpu_ops = 0;           // X, kernel, gpu_memcpy and gpu_memset
    std::uint64_t projected_ranges = 0;  // X, gpu_user_annotation
    std::uint64_t process_ranges = 0;    // pairs of b and e
    std::uint64_t instants = 0;          // i
    std::uint64_t flows = 0;             // pairs of s and f
};

// `trace_name` goes into the trace as its traceName.
trace_counts write_chrome_trace(const timeline& data, const attribution& att, byte_sink& sink,
                                std::string_view trace_name);

// To a file that appears whole or not at all, compressed if `path` ends in ".gz" (export/atomic_file.hpp).
trace_counts write_chrome_trace(const timeline& data, const attribution& att, const std::string& path);

}  // namespace prof
