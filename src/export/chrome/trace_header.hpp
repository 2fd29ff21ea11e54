// What stands in a Chrome trace before its events: the capture's circumstances and what it lacks. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "export/chrome/trace_events.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What to call the process: its executable's file name.
std::string process_name(const timeline& data);

// Ends with the opening bracket of "traceEvents".
void write_trace_header(trace_events& out, const timeline& data, std::int64_t base_ns, std::string_view trace_name);

}  // namespace prof
