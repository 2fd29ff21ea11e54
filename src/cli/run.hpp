// SPDX-License-Identifier: Apache-2.0
// `prof run`: runs a command under libprof, and reports on it when it has ended. Blocks as long as the command runs. On
// the main thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/run_options.hpp"
#include "cli/run_reports.hpp"
#include "cli/run_series.hpp"

namespace prof {

class run_command {
public:
    explicit run_command(const command_arguments& arguments);

    // `command` is what stood after the options. Returns the exit status; throws prof::error and usage_error.
    int operator()(const std::vector<std::string>& command) const;

    // Where in `arguments` (those after "run") the command begins: after "--", else at the first word that is neither
    // an option nor an option's value.
    std::size_t command_begin(const std::vector<std::string>& arguments) const;

private:
    command_arguments arguments_;
    run_options options_;
    run_output output_;
    series_flags series_;
    std::string library_;
};

}  // namespace prof
