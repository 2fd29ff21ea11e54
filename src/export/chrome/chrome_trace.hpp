// Writes a timeline as a Chrome trace, in the dialect of torch.profiler (Kineto), which Perfetto, Chrome and Holistic
// Trace Analysis read. docs/reference/chrome-trace.md describes every event and argument.
//
// One thread. Events stream to the sink, so memory is that of the row layout, about 100 bytes an event. Throws what the
// sink throws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/attribution/attribution.hpp"
#include "export/byte_sink.hpp"
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
    std::uint64_t flows = 0;             // pairs of s and f
};

// `trace_name`: the traceName in the trace.
trace_counts write_chrome_trace(const timeline& data, const attribution& att, byte_sink& sink,
                                std::string_view trace_name);

// Writes to a file that appears whole or not at all (export/atomic_file.hpp); compressed if `path` ends in ".gz".
trace_counts write_chrome_trace(const timeline& data, const attribution& att, const std::string& path);

}  // namespace prof
