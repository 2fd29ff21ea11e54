// SPDX-License-Identifier: Apache-2.0
// Where `prof export` puts the trace of each capture. Looks at the file system, and changes nothing. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace prof {

inline constexpr const char* to_standard_output = "-";

// What -o takes: a trace's file name, a directory, or to_standard_output.
accepted_values trace_outputs();

// Whether -o names one trace, and no directory.
bool is_one_trace(const std::string& output);

// "run.trace.json.gz", the trace's file name for "captures/run.prof". `extension`: "json" or "json.gz".
std::string trace_file_name(const std::string& capture, const std::string& extension);

// A path, or to_standard_output, for each capture. `output`: what -o says; "": beside each capture. Throws usage_error
// if two captures have the same file's name, and for a stream that gives no name.
std::vector<std::string> trace_places(const std::vector<std::string>& captures, const std::string& output,
                                      const std::string& extension);

}  // namespace prof
