// SPDX-License-Identifier: Apache-2.0
#include "record/activities.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace prof {

bool parse_activities(std::string_view list, activity_set& out) noexcept {
    if (list == "none") {
        out = {};
        return true;
    }
    activity_set set;
    bool launches = true;
    for (const std::string_view word : split(list, ',')) {
        const auto* const known = std::find(activity_names.begin(), activity_names.end(), word);
        if (word == "all") {
            set = activity_set::all();
        } else if (word == "no_launches") {
            launches = false;
        } else if (known != activity_names.end() && word != "launches") {
            set.add(static_cast<activity>(known - activity_names.begin()));
        } else {
            return false;
        }
    }
    const bool all = set == activity_set::all();
    if (set.has_gpu_work()) {
        set.add(activity::launches);
    } else if (set.has(activity::graph_nodes) || !launches) {
        return false;
    }
    if (!launches) {
        if (set.has(activity::graph_nodes) && !all) return false;
        set.remove(activity::launches);
        set.remove(activity::graph_nodes);
    }
    out = set;
    return true;
}

std::string activities_left_out(activity_set set) {
    std::string out;
    for (std::size_t i = 0; i < activity_names.size(); ++i) {
        if (set.has(static_cast<activity>(i))) continue;
        out.append(out.empty() ? "" : ", ").append(activity_names[i]);
    }
    return out;
}

}  // namespace prof
