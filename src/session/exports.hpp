// SPDX-License-Identifier: Apache-2.0
// What a recording leaves beside its capture when it ends: a trace and a summary, where the options have them.
// The caller waits for the files; any thread.
#pragma once

#include <string>

#include "analysis/projection/projection.hpp"
#include "base/outcome.hpp"
#include "options/options.hpp"

namespace prof {

projection_options projection_options_of(const session_options& options);
// For a trace, which has all ranges: the options' NVTX domains are the summary's alone.
attribution attribute_for_trace(const timeline& data, const attribution_options& options);

// Writes <stem>.trace.json.gz and <stem>.summary.txt beside <stem>.prof.
outcome write_exports(const session_options& options, const std::string& capture_path);

}  // namespace prof
