// SPDX-License-Identifier: Apache-2.0
// What `prof report` and `prof export` have in common: captures, and flags that are rows of the options' table. One
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "cli/arguments.hpp"
#include "options/options.hpp"
#include "report/make_reports.hpp"
#include "report/reports.hpp"

namespace prof {

// What --report and --format take; `also`: further words of --report.
accepted_values report_words(const std::vector<std::string>& also = {});
accepted_values format_words();
std::string list_of_formats();  // "table (default), csv, or json", for help

// The reports of these names; "all" is every one. REQUIRES: they are accepted.
std::vector<const report_kind*> reports_named(const std::vector<std::string>& names);

// The part of the manual with the flags on ranges.
inline constexpr std::string_view title_of_ranges = "Which ranges are shown";

// Adds a row of the options' table as a flag on ranges. `out` must live until the command line is parsed, which sets
// the option there.
void add_option(command_arguments& arguments, const option& row, std::string_view help, session_options& out);

// The flags that decide which ranges GPU work belongs to: the rows of the options' table that have a report_help.
class attribution_flags {
public:
    // This must live until the command line is parsed.
    void add_to(command_arguments& arguments);
    attribution_options options() const;
    // What they say beside attribution becomes a property of the capture.
    void apply_to(timeline& data) const;

private:
    session_options options_;
};

}  // namespace prof
