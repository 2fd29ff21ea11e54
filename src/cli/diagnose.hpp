// SPDX-License-Identifier: Apache-2.0
// `prof diagnose`: what to change in a program, and what a step would gain. Reads one capture after another; memory is
// that of the largest timeline with its dependencies. One thread.
#pragma once

#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "cli/arguments.hpp"
#include "cli/input.hpp"
#include "cli/report_output.hpp"
#include "diagnose/diagnosis.hpp"

namespace prof {

// As the report's projections see the timeline. `least_share`: of a step; what gains less is no finding.
diagnosis diagnose_timeline(const timeline& data, double least_share, const attribution_options& options);

// Adds the dearest changes to the parts of the document that begin with a step, unless it is of a part of the capture,
// or so large that people would wait for them.
void add_gains(report_document& document, const timeline& data, const attribution_options& options);

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
