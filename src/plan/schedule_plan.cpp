// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule_plan.hpp"

#include <algorithm>
#include <vector>

#include "base/number.hpp"
#include "base/text.hpp"

namespace prof {
namespace {

constexpr std::uint64_t largest_number = 1'000'000'000'000;  // sums of such numbers do not overflow

std::optional<std::uint64_t> parse_count(std::string_view text) noexcept {
    return parse_number<std::uint64_t>(text, 0, largest_number);
}

std::uint64_t* member_named(step_schedule& schedule, std::string_view name) noexcept {
    if (name == "wait") return &schedule.wait;
    if (name == "warmup") return &schedule.warmup;
    if (name == "active") return &schedule.active;
    if (name == "repeat") return &schedule.repeat;
    if (name == "skip_first") return &schedule.skip_first;
    if (name == "skip_first_wait") return &schedule.skip_first_wait;
    return nullptr;
}

}  // namespace

bool parse_schedule(std::string_view text, step_schedule& out) {
    step_schedule parsed;
    std::vector<std::uint64_t*> given;
    for (const std::string_view item : split(text, ',')) {
        const std::size_t equals = item.find('=');
        if (equals == std::string_view::npos) return false;
        std::uint64_t* const member = member_named(parsed, item.substr(0, equals));
        const std::optional<std::uint64_t> count = parse_count(item.substr(equals + 1));
        if (member == nullptr || !count || std::find(given.begin(), given.end(), member) != given.end()) return false;
        given.push_back(member);
        *member = *count;
    }
    if (parsed.active == 0) return false;
    out = parsed;
    return true;
}

bool parse_steps(std::string_view text, step_schedule& out) {
    const std::size_t dash = text.find('-');
    const auto first = parse_count(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_count(text.substr(dash + 1));
    if (!first || !last || *last < *first) return false;
    const std::uint64_t warmup = *first == 0 ? 0 : 1;
    out = {.warmup = warmup, .active = *last - *first + 1, .repeat = 1, .skip_first = *first - warmup};
    return true;
}

schedule_plan::place schedule_plan::place_of(std::uint64_t step) const noexcept {
    if (step < schedule_.skip_first) return {};
    step -= schedule_.skip_first;
    if (schedule_.skip_first_wait != 0) step += schedule_.wait;
    const std::uint64_t length = schedule_.wait + schedule_.warmup + schedule_.active;
    const std::uint64_t cycle = step / length;
    if (schedule_.repeat != 0 && cycle >= schedule_.repeat) return {phase::over, cycle};
    const std::uint64_t within = step % length;
    if (within < schedule_.wait) return {phase::idle, cycle};
    return {within < schedule_.wait + schedule_.warmup ? phase::warmup : phase::active, cycle};
}

plan_action schedule_plan::go_to(place next) noexcept {
    const place before = now_;
    now_ = next;
    if (before.in == phase::active) {
        if (next.in == phase::active && next.cycle == before.cycle) return plan_action::none;
        if (next.in == phase::active) return is_open_ ? plan_action::reopen : plan_action::open;
        if (next.in == phase::over) return plan_action::finish;
        return next.in == phase::warmup ? plan_action::rewarm : plan_action::close;
    }
    if (next.in == phase::active) return plan_action::open;
    return next.in == phase::warmup && before.in != phase::warmup ? plan_action::warm_up : plan_action::none;
}

plan_action schedule_plan::begin() {
    const place first = place_of(0);
    if (step_0_is_under_way_) return go_to(first);
    // The time before the first step is not a step. But if step 0 is to be recorded, CUPTI can be attached in that
    // time.
    return go_to({first.in == phase::active ? phase::warmup : first.in, 0});
}

plan_action schedule_plan::next(plan_event event, std::uint64_t step, std::uint64_t) {
    return event == plan_event::step ? go_to(place_of(step)) : plan_action::none;
}

}  // namespace prof
