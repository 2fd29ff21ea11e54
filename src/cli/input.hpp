// SPDX-License-Identifier: Apache-2.0
// What `prof report` and `prof export` have in common: captures, and flags that are rows of the options' table. One
// thread.
#pragma once

#include <string>
#include <string_view>

#include "analysis/attribution/attribution.hpp"
#include "cli/arguments.hpp"
#include "options/options.hpp"
#include "session/capture_reports.hpp"

namespace prof {

// Adds a row of the options' table as a flag. `out` must live until the command line is parsed, which sets the option
// there.
void add_option(command_arguments& arguments, const option& row, std::string_view help, session_options& out);

// The flags that decide which ranges GPU work belongs to: the rows of the options' table that have a report_help.
class attribution_flags {
public:
    // This must live until the command line is parsed.
    void add_to(command_arguments& arguments);
    attribution_options options() const;

private:
    session_options options_;
};

}  // namespace prof
