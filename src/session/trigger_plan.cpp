#include "session/trigger_plan.hpp"

#include <charconv>
#include <string_view>

namespace prof {

bool parse_range_end(const std::string& text, range_end& out) {
    constexpr std::string_view counted = "repeat:";
    if (text == "none") {
        out = {.ends = false, .windows = 1};
    } else if (text == "stop") {
        out = {.ends = true, .windows = 1};
    } else if (text == "repeat") {
        out = {.ends = true, .windows = 0};
    } else if (text.starts_with(counted)) {
        std::uint64_t windows = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, status] = std::from_chars(text.data() + counted.size(), end, windows);
        if (status != std::errc{} || rest != end || windows == 0) return false;
        out = {.ends = true, .windows = windows};
    } else {
        return false;
    }
    return true;
}

plan_action trigger_plan::next(plan_event event, std::uint64_t, std::uint64_t) {
    if (event == plan_event::trigger_begin && !is_open_) {
        if (end_.windows != 0 && opened_ == end_.windows) return plan_action::none;
        is_open_ = true;
        ++opened_;
        return plan_action::open;
    }
    if (event == plan_event::trigger_end && is_open_ && end_.ends) {
        is_open_ = false;
        return opened_ == end_.windows ? plan_action::finish : plan_action::close;
    }
    return plan_action::none;
}

}  // namespace prof
