// SPDX-License-Identifier: Apache-2.0
// `prof report`: tables of one capture or several, on stdout or in a file. Reads one capture after another; memory is
// that of the largest timeline, plus the text. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/input.hpp"
#include "cli/report_output.hpp"
#include "cli/selection_flags.hpp"
#include "export/report/report_writer.hpp"
#include "options/options.hpp"
#include "report/report_settings.hpp"
#include "report/reports.hpp"

namespace prof {

class report_command {
public:
    // Describes the options. REQUIRES: this lives until they are parsed.
    explicit report_command(command_arguments& arguments);

    // Returns the exit status (cli.hpp): exit_failure if a capture could not be read, while the others are reported.
    // Throws usage_error if no file is given and no run is found, and prof::error if the output cannot be written.
    int operator()() const;

private:
    std::vector<const report_kind*> kinds_asked_for() const;  // throws usage_error
    // The file that is to be a page (page_output.hpp); "": none is wanted. Throws usage_error.
    std::string place_of_page() const;
    int write_page(const capture_inputs& inputs, const std::string& place, const report_settings& settings) const;

    std::vector<std::string> files_;
    std::vector<std::string> reports_;  // none: the default
    bool whole_run_ = false;
    bool full_ = false;
    report_output output_;
    std::string perf_;
    std::string html_;
    std::string kernel_names_ = "full";
    attribution_flags flags_;
    selection_flags part_;
    std::uint32_t depth_ = UINT32_MAX;
    session_options options_;  // fold, rows
    bool no_fold_ = false;
    std::string sort_;
    std::uint32_t limit_ = UINT32_MAX;
    std::string flops_per_step_;
};

}  // namespace prof
