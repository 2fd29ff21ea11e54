// SPDX-License-Identifier: Apache-2.0
// `prof diagnose`: what to change in a program, and what a step would gain. Reads one capture after another; memory is
// that of the largest timeline with its dependencies. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/input.hpp"
#include "cli/report_output.hpp"
#include "cli/selection_flags.hpp"
#include "diagnose/finding.hpp"
#include "report/make_reports.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class diagnose_command {
public:
    // Describes the options. REQUIRES: this lives until they are parsed.
    explicit diagnose_command(command_arguments& arguments);

    // Returns the exit status: exit_finding if --fail-above is exceeded in a capture, else exit_failure if one could
    // not be read or nothing in it examined, while the others are. Throws usage_error, and prof::error if the output
    // cannot be written.
    int operator()() const;

private:
    bool fails(const timeline& data, const std::string& file, const report_settings& settings, const diagnosis& shown,
               std::string& complaint) const;

    std::vector<std::string> files_;
    std::string above_ = "1";
    std::string fail_above_;
    selection_flags part_;
    attribution_flags flags_;
    report_output output_;
};

}  // namespace prof
