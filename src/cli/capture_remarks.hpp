// SPDX-License-Identifier: Apache-2.0
// What must be known of captures before their numbers or traces are believed, for commands that print no table of
// them. One thread.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "analysis/quality/capture_notes.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class capture_remarks {
public:
    explicit capture_remarks(std::initializer_list<note_weight> weights) : weights_(weights) {}

    void add(const timeline& data, const std::string& path);
    // On standard error, each line once: with the capture's path, or with the number of the captures that have it; with
    // neither if there is one capture.
    void print() const;

private:
    std::vector<note_weight> weights_;
    std::vector<std::pair<std::string, std::vector<std::string>>> paths_by_line_;  // in order
    std::size_t captures_ = 0;
};

}  // namespace prof
