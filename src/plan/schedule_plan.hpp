// SPDX-License-Identifier: Apache-2.0
// Opens windows by step numbers: torch.profiler's schedule, or one run of steps "N to M".
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/window_plan.hpp"

namespace prof {

// As in torch.profiler.schedule: skip_first steps, then cycles of wait + warmup + active steps. repeat = 0: without
// end.
struct step_schedule {
    std::uint64_t wait = 0;
    std::uint64_t warmup = 0;
    std::uint64_t active = 0;
    std::uint64_t repeat = 0;
    std::uint64_t skip_first = 0;
    std::uint64_t skip_first_wait = 0;
};

// Parses "wait=1,warmup=1,active=3,repeat=2,skip_first=10": any order, each key at most once. Missing keys are 0, but
// active is required.
bool parse_schedule(std::string_view text, step_schedule& out);
// Parses "10-12" or "10".
bool parse_steps(std::string_view text, step_schedule& out);

class schedule_plan final : public window_plan {
public:
    // `step_0_is_under_way`: step 0 begins with the recording; otherwise it begins with the first event.
    schedule_plan(const step_schedule& schedule, bool step_0_is_under_way)
        : schedule_(schedule), step_0_is_under_way_(step_0_is_under_way) {}

    plan_action begin() override;
    plan_action next(plan_event event, std::uint64_t step, std::uint64_t now_ns) override;
    void took(plan_action, bool is_open, std::uint64_t) override { is_open_ = is_open; }

private:
    enum class phase : std::uint8_t { idle, warmup, active, over };
    struct place {
        phase in = phase::idle;
        std::uint64_t cycle = 0;
    };
    place place_of(std::uint64_t step) const noexcept;
    plan_action go_to(place next) noexcept;

    step_schedule schedule_;
    bool step_0_is_under_way_;
    place now_;
    bool is_open_ = false;  // false in the phase `active`: the window was passed over
};

}  // namespace prof
