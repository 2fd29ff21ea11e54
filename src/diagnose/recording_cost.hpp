// SPDX-License-Identifier: Apache-2.0
// By how much the recording itself made the steps longer: without recording, gains are smaller by that. Pure
// functions, one thread.
#pragma once

#include <cstdint>

#include "diagnose/replay/dependencies.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What recording adds to a launch at least: less than any that was measured (docs/lab/diagnose-flaws.md).
inline constexpr std::int64_t recorded_launch_ns = 500;

// By the replay, and at least. Linear in the calls and operations; 32 bytes a launch while it runs.
struct recording_cost {
    std::uint64_t launches = 0;  // in the steps
    std::int64_t longer_ns = 0;  // all steps; launches that the GPU hides make them no longer

    void add(const recording_cost& other) noexcept {
        launches += other.launches;
        longer_ns += other.longer_ns;
    }
};
// `replayed_ns`: the replay without a change.
recording_cost cost_of_recording(const dependency_graph& graph, std::int64_t replayed_ns);

// The mean length of the steps between two windows, which were not recorded: the median of all times between windows
// with ten such steps or more; 0: there is none, or steps were not counted. What else happens there, such as to end a
// window and begin the next (docs/reference/overhead.md), counts as theirs.
double unrecorded_step_ns(const timeline& data);

}  // namespace prof
