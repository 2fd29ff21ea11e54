// SPDX-License-Identifier: Apache-2.0
// `prof diagnose`: what to change in a program, and what a step would gain. Reads one capture after another; memory is
// that of the largest timeline with its dependencies. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/input.hpp"
#include "cli/report_output.hpp"

namespace prof {

class diagnose_command {
public:
    // Describes the options. REQUIRES: this lives until they are parsed.
    explicit diagnose_command(command_arguments& arguments);

    // Returns the exit status: exit_failure if a capture could not be read or nothing in it examined, while the others
    // are; exit_finding if --fail-above is exceeded. Throws usage_error, and prof::error if the output cannot be
    // written.
    int operator()() const;

private:
    std::vector<std::string> files_;
    std::string above_ = "1";
    std::string fail_above_;
    std::string step_range_;
    attribution_flags flags_;
    report_output output_;
};

}  // namespace prof
