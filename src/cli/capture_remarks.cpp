// SPDX-License-Identifier: Apache-2.0
#include "cli/capture_remarks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.hpp"

namespace prof {

void capture_remarks::add(const timeline& data, const std::string& path) {
    ++captures_;
    for (const capture_note& note : capture_notes(data)) {
        if (std::find(weights_.begin(), weights_.end(), note.weight) == weights_.end()) continue;
        const std::string line = (note.weight == note_weight::warning ? "warning: " : "") + note.text;
        const auto known = std::find_if(paths_by_line_.begin(), paths_by_line_.end(),
                                        [&](const auto& entry) { return entry.first == line; });
        if (known == paths_by_line_.end()) {
            paths_by_line_.push_back({line, {path}});
        } else {
            known->second.push_back(path);
        }
    }
}

void capture_remarks::print() const {
    for (const auto& [line, paths] : paths_by_line_) {
        if (captures_ == 1) {
            complain(line);
        } else if (paths.size() == 1) {
            complain(paths.front() + ": " + line);
        } else {
            complain(fmt::format("{} of {} captures: {}", paths.size(), captures_, line));
        }
    }
}

}  // namespace prof
