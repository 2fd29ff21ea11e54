// From options to the plan that opens and ends the windows of a recording.
#pragma once

#include <memory>
#include <string>

#include "options/options.hpp"
#include "plan/window_plan.hpp"

namespace prof {

// Options that make no sense together: "" or one line.
std::string plan_problem(const session_options& options);

// Null if the options name no plan: then there is one window, from start to stop.
// REQUIRES: plan_problem(options) is empty.
std::unique_ptr<window_plan> make_plan(const session_options& options);

// The options that made the plan, for people: "schedule wait=1,active=3"; "" if there is none.
std::string plan_text(const session_options& options);

// What may be the reason that a program has recorded nothing, as far as the options tell; "" if they would record all.
std::string no_window_text(const session_options& options);

}  // namespace prof
