// What a recording leaves beside its capture when it ends: a trace and a summary, as the options say.
#pragma once

#include <string>

#include "analysis/projection/projection.hpp"
#include "options/options.hpp"

namespace prof {

projection_options projection_options_of(const session_options& options);
// The options' NVTX domains are those of the summary: a trace has all ranges.
attribution attribute_for_trace(const timeline& data, const attribution_options& options);

// <stem>.trace.json.gz and <stem>.summary.txt. Returns "" or one line.
std::string write_exports(const session_options& options, const std::string& capture_path);

}  // namespace prof
