// SPDX-License-Identifier: Apache-2.0
#include "plan/trigger_plan.hpp"

#include "base/number.hpp"

namespace prof {

bool parse_range_end(std::string_view text, range_end& out) {
    constexpr std::string_view counted = "repeat:";
    if (text == "none") {
        out = {.ends = false, .windows = 1};
    } else if (text == "stop") {
        out = {.ends = true, .windows = 1};
    } else if (text == "repeat") {
        out = {.ends = true, .windows = 0};
    } else if (text.starts_with(counted)) {
        const auto windows = parse_number<std::uint64_t>(text.substr(counted.size()), 1);
        if (!windows) return false;
        out = {.ends = true, .windows = *windows};
    } else {
        return false;
    }
    return true;
}

plan_action trigger_plan::next(plan_event event, std::uint64_t, std::uint64_t) {
    if (event == plan_event::trigger_begin && !is_open_) {
        return end_.windows != 0 && opened_ == end_.windows ? plan_action::none : plan_action::open;
    }
    if (event == plan_event::trigger_end && is_open_ && end_.ends) {
        return opened_ == end_.windows ? plan_action::finish : plan_action::close;
    }
    return plan_action::none;
}

void trigger_plan::took(plan_action, bool is_open, std::uint64_t) {
    if (is_open && !is_open_) ++opened_;
    is_open_ = is_open;
}

}  // namespace prof
