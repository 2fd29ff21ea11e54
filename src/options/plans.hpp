// SPDX-License-Identifier: Apache-2.0
// From options to the plan that opens and ends the windows of a recording.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/outcome.hpp"
#include "options/options.hpp"
#include "plan/window_plan.hpp"

namespace prof {

// Fails for options that make no sense together.
outcome plan_problem(const session_options& options);

// Null if the options name no plan: then there is one window, from start to stop.
// REQUIRES: plan_problem(options) is ok.
std::unique_ptr<window_plan> make_plan(const session_options& options);

// The options that made the plan, for messages: "schedule wait=1,active=3"; "" if there is none.
std::string plan_text(const session_options& options);

// While a plan has opened no window: what it waits for, and what to do, after so many steps have begun. "" if there is
// no plan.
std::string awaited_text(const session_options& options, std::uint64_t steps);

// Why a program may have recorded nothing, as far as its options are the reason; "" if they record everything.
std::string no_window_text(const session_options& options);

}  // namespace prof
