// SPDX-License-Identifier: Apache-2.0
// The files that stand beside a capture: a summary and a trace. The caller waits for them; any thread.
#pragma once

#include <string>

#include "analysis/attribution/attribution.hpp"
#include "base/outcome.hpp"
#include "options/options.hpp"
#include "report/report_document.hpp"
#include "report/report_settings.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// For a trace, which has all ranges: the options' NVTX domains are the summary's alone.
attribution attribute_for_trace(const timeline& data, const attribution_options& options);

// "dir/name" of "dir/name.prof": what the names of its files begin with.
std::string stem_of(const std::string& capture_path);

// Writes <stem>.summary.txt, whole or not at all. Throws file_error.
void write_summary(const report_document& summary, const std::string& capture_path, const shown_limits& shown);

// What a recording leaves beside its capture when it ends: <stem>.trace.json.gz and <stem>.summary.txt, where the
// options have them.
outcome write_exports(const session_options& options, const std::string& capture_path);

// Writes a trace of the timeline, or of the part that the settings select, as a file that appears whole or not at all;
// compressed if `path` ends in ".gz". Throws file_error and nothing_selected.
void write_trace(const timeline& data, const std::string& path, const report_settings& settings);

}  // namespace prof
