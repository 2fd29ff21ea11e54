// SPDX-License-Identifier: Apache-2.0
// Captures read as the runs that a comparison is made of. Reads one after another, and keeps some hundred rows of each;
// memory is that of the largest timeline with its dependencies. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/input.hpp"
#include "cli/progress_line.hpp"
#include "cli/selection_flags.hpp"
#include "compare/run_profile.hpp"
#include "report/report_settings.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct runs_to_read {
    std::vector<std::string> files{};
    report_settings settings{};
    std::function<void(timeline& data)> prepare{};  // each timeline; may be empty. May throw nothing_selected
};

// Their runs, in the order of their first files: processes of one run id are one run, and so are the ranks of one job.
// Findings and lines are of the first run. What the captures lack is added to `warnings`. Throws prof::error, which
// names the file: of one that cannot be read if `all_read` is null, else only if none can; then each is reported on
// stderr, and all_read is set to false.
std::vector<run_profile> read_runs(const runs_to_read& order, const progress_display& progress,
                                   std::vector<std::string>& warnings, bool* all_read = nullptr);

// The flags by which `prof diff` and `prof baseline` read captures.
class compared_part {
public:
    // This must live until the command line is parsed, and as long as what reading() makes.
    void add_to(command_arguments& arguments);
    runs_to_read reading(std::vector<std::string> files) const;

private:
    selection_flags part_;
    attribution_flags flags_;
};

}  // namespace prof
