// SPDX-License-Identifier: Apache-2.0
// What reports on ranges and on a step's time are made from. Pure functions of a timeline.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/step_breakdown.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "analysis/step_table/step_table.hpp"
#include "analysis/steps/step_figures.hpp"
#include "report/report_input.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// A capture's timeline as projections show it, with its attribution. Refers to the input's timeline and attribution.
class projected_timeline {
public:
    explicit projected_timeline(const report_input& input);

    const timeline& data() const noexcept { return shown_.data(); }
    // Before it had phases of XLA.
    const timeline& original() const noexcept { return shown_.original(); }
    const attribution& att() const noexcept { return made_ ? *made_ : *given_; }
    const std::string& step_function() const noexcept { return shown_.step_function(); }

private:
    shown_timeline shown_;
    const attribution* given_;
    std::optional<attribution> made_;
};

// Of a part the figures of the whole steps in it; of single ranges there are none.
std::optional<step_figures> step_figures_of(const projected_timeline& shown, const report_input& input);

// What reports on a step's time are of: of a part the steps in it that count, else its times, looked at in the whole;
// nothing for single ranges, which are no times. Refers to the timeline that is shown, and to the input.
struct step_time_subject {
    const timeline& data;
    const attribution& att;
    std::string_view step_function;
    const step_scope& scope;
    const timeline& original;  // before it had phases of XLA
};
std::optional<step_time_subject> step_time_of(const projected_timeline& shown, const report_input& input);
// The line that such a report has instead of rows where there is nothing to report on.
std::string no_step_time(const report_input& input);

// Where the time of a step goes.
std::optional<step_breakdown> breakdown_of(const projected_timeline& shown, const report_input& input);
// The same by phase, and how the recording divides.
std::optional<step_table> step_table_of(const projected_timeline& shown, const report_input& input);
std::optional<run_parts> run_parts_of(const projected_timeline& shown, const report_input& input);

}  // namespace prof
