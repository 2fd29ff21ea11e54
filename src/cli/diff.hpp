// SPDX-License-Identifier: Apache-2.0
// `prof diff`: two runs, or two groups of runs, compared. Reads one capture after another, and keeps some hundred rows
// of each; memory is that of the largest timeline with its dependencies. One thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/compared_runs.hpp"
#include "cli/progress_line.hpp"
#include "cli/report_output.hpp"
#include "compare/baseline.hpp"
#include "compare/limits.hpp"
#include "compare/run_profile.hpp"
#include "options/options.hpp"

namespace prof {

class diff_command {
public:
    // Describes the options. REQUIRES: this lives until they are parsed.
    explicit diff_command(command_arguments& arguments);

    // Returns the exit status (cli.hpp). Throws usage_error, and prof::error if a capture cannot be read or compared,
    // or the output not be written.
    int operator()() const;

private:
    // What stands on one side of the comparison.
    struct side {
        std::string word{};
        capture_inputs inputs{};           // none of a baseline
        std::optional<baseline> source{};  // none of captures
        std::vector<run_profile> runs{};
    };

    std::array<side, 2> named_sides() const;
    void read(side& target, const progress_display& progress, std::vector<std::string>& warnings, bool& all_read) const;
    // How the machine of a baseline differs from that of the other side; "": not, or there is no baseline.
    static std::string difference_of_machines(const std::array<side, 2>& sides);
    std::string place_of_page() const;  // "": none is wanted
    int gate_status(const std::vector<gated_figure>& gated) const;

    std::vector<std::string> words_;
    std::string margin_ = "1";
    std::vector<std::string> limits_;
    std::string junit_;
    bool any_machine_ = false;
    std::string html_;
    session_options options_;  // rows
    compared_part part_;
    report_output output_;
};

}  // namespace prof
