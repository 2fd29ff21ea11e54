// SPDX-License-Identifier: Apache-2.0
// The settings of reports, as `prof report` and prof_report_open (prof/read.h) have them. Plain data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/selection/selection_request.hpp"
#include "base/outcome.hpp"
#include "diagnose/finding.hpp"
#include "options/options.hpp"
#include "report/table.hpp"
#include "symbols/kernel_names.hpp"

namespace prof {

struct perf_samples;

struct report_settings {
    projection_options projected{};
    kernel_name_style names = kernel_name_style::full;
    selection_request selection{};             // a step_range costs a copy of the timeline (step_marks.hpp)
    std::string counted_by{};                  // the step_range by which the timeline's steps were counted before
    std::vector<std::string> communication{};  // patterns (communication.hpp); they cost a copy, too
    // These six as in report_input.
    std::string sort{};
    std::size_t limit = SIZE_MAX;
    std::size_t most_rows = SIZE_MAX;
    std::optional<double> flops_per_step{};
    const perf_samples* samples = nullptr;
    bool may_use_threads = false;
    bool leaves_out_empty = false;             // people are shown the reports that have rows
    double least_share = default_least_share;  // of a step: what would gain less is no finding
    // Of formats for people only. With the first, tables of time and of work are of one step, where there are steps.
    bool of_a_step = false;
    bool is_of_whole_run = false;  // as the setting whole_run says: then they are not
    shown_limits shown{.rows = 40};
    std::size_t width = 150;  // of a terminal, in cells
};

// Settings from a null-terminated array of "name=value", which may be null: adopt, communication, nvtx_domain_include,
// nvtx_domain_exclude, fold and rows as in docs/reference/options.md; as the flags of `prof report` the others. The
// environment has no influence.
result<report_settings> parse_report_settings(const char* const* settings);

projection_options projection_options_of(const session_options& options);

}  // namespace prof
