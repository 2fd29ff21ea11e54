// SPDX-License-Identifier: Apache-2.0
// Opens windows by capture ranges, as `nsys profile --capture-range` does: a window opens where the program marks it.
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/window_plan.hpp"

namespace prof {

// The effect of the end of a capture range.
struct range_end {
    bool ends = true;           // false: the window stays open until the recording ends
    std::uint64_t windows = 1;  // the most windows allowed; 0: any number
};

// Parses "none", "stop", "repeat" or "repeat:N".
bool parse_range_end(std::string_view text, range_end& out);

class trigger_plan final : public window_plan {
public:
    explicit trigger_plan(range_end end) : end_(end) {}

    plan_action begin() override { return plan_action::none; }
    plan_action next(plan_event event, std::uint64_t step, std::uint64_t now_ns) override;
    void took(plan_action action, bool is_open, std::uint64_t ns) override;

private:
    range_end end_;
    std::uint64_t opened_ = 0;  // windows
    bool is_open_ = false;
};

}  // namespace prof
