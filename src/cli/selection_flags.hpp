// SPDX-License-Identifier: Apache-2.0
// The flags of `prof report`, `prof export` and `prof diagnose` that select a part of a capture. One thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/selection/selection_request.hpp"
#include "analysis/selection/step_choice.hpp"
#include "cli/arguments.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class selection_flags {
public:
    // This must live until the command line is parsed.
    void add_to(command_arguments& arguments);
    // Without those that select ranges.
    void add_times_to(command_arguments& arguments);
    // Throws usage_error if --to is not after --from.
    const selection_request& request() const;
    // Counts the steps of a timeline anew if --step-range is given. Throws nothing_selected.
    void count_steps(timeline& data) const;

private:
    selection_request request_;
};

// Captures that have nothing of what was asked for: of several, those that have it are enough.
class parts_not_found {
public:
    void add(const std::string& file, const std::string& reason) { captures_.push_back({file, reason}); }
    // On stderr, of `all` captures that were named. Returns false if none has the part.
    bool report(std::size_t all) const;

private:
    struct capture {
        std::string file;
        std::string reason;
    };
    std::vector<capture> captures_;
};

}  // namespace prof
