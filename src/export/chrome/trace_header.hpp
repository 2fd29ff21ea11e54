// Writes the part of a Chrome trace before its events: the circumstances of the capture, and what it lacks. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "export/chrome/trace_events.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The name shown for the process: the file name of its executable.
std::string process_name(const timeline& data);

// The text ends with the opening bracket of "traceEvents".
void write_trace_header(trace_events& out, const timeline& data, std::int64_t base_ns, std::string_view trace_name);

}  // namespace prof
