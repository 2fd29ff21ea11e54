// SPDX-License-Identifier: Apache-2.0
// Reports of a capture, as `prof report` and prof_report_open (prof/read.h) make them: the settings of both, and the
// one function that turns them into a document. Reads one file; no process is needed. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/reports/kernel_names.hpp"
#include "analysis/reports/reports.hpp"
#include "analysis/selection/selection_request.hpp"
#include "base/outcome.hpp"
#include "base/progress.hpp"
#include "diagnose/finding.hpp"
#include "timeline/reading_thread.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// load_timeline(), with words of its own for what people are likely to give by mistake. Throws prof::error.
timeline load_capture(const std::string& path, progress_observer* progress = nullptr,
                      reading_thread thread = reading_thread::callers);

struct report_settings {
    projection_options projected{};
    kernel_name_style names = kernel_name_style::full;
    selection_request selection{};             // a step_range costs a copy of the timeline (step_marks.hpp)
    std::vector<std::string> communication{};  // patterns (communication.hpp); they cost a copy, too
    std::string sort{};                        // these two as in report_input
    std::size_t limit = SIZE_MAX;
    // These two as in report_input.
    std::optional<double> flops_per_step{};
    bool may_use_threads = false;
    double least_share = default_least_share;  // of a step: what would gain less is no finding
    // Of documents for people only.
    std::uint32_t deepest = UINT32_MAX;
    std::size_t rows = 40;
    std::size_t width = 150;  // of formats for a terminal, in cells
};

// Settings from a null-terminated array of "name=value", which may be null: adopt, communication, nvtx_domain_include,
// nvtx_domain_exclude, fold and rows as in docs/reference/options.md; as the flags of `prof report` the others. The
// environment has no influence.
result<report_settings> parse_report_settings(const char* const* settings);

// These reports of the timeline of the capture at `path`. Throws nothing_selected (step_choice.hpp).
report_document make_reports(const timeline& data, const std::string& path, const report_settings& settings,
                             std::span<const report_kind* const> reports, bool for_people);
// The same for programs, one report after another: visit(document with one report).
void make_reports(const timeline& data, const std::string& path, const report_settings& settings,
                  std::span<const report_kind* const> reports,
                  const std::function<void(const report_document&)>& visit);

// Writes a trace of the timeline, or of the part that the settings select, as a file that appears whole or not at all;
// compressed if `path` ends in ".gz". Throws file_error and nothing_selected.
void write_trace(const timeline& data, const std::string& path, const report_settings& settings);

}  // namespace prof
