// SPDX-License-Identifier: Apache-2.0
// The part of a Chrome trace before its events: the circumstances of each capture, and what it lacks. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/chrome/trace_events.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The name shown for the process: the file name of its executable.
std::string process_name(const timeline& data);

// The part of the header that describes one capture. It is small, and does not refer to the timeline.
struct trace_heading {
    std::int64_t earliest_ns = 0;        // the first moment of the capture
    std::vector<std::string> devices{};  // a JSON object for each GPU
    std::string distributed{};           // a JSON object: the rank
    std::string quality{};               // members of a JSON object: properties, losses, notes
};
trace_heading trace_heading_of(const timeline& data);

// The text ends with the opening bracket of "traceEvents". A trace of several captures has no rank, each GPU once, and
// the losses of each capture in a list. `base_ns`: the time from which the trace counts.
void write_trace_header(trace_events& out, std::span<const trace_heading> captures, std::int64_t base_ns,
                        std::string_view trace_name);

}  // namespace prof
