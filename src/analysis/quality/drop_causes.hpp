// SPDX-License-Identifier: Apache-2.0
// What each cause of dropped records means: the table of docs/guide/notes.md, for programs, and as sentences for
// people. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/quality/capture_note.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Texts of one line. They are null-terminated and live as long as the program.
struct drop_description {
    std::string_view cause;   // as in timeline_quality::dropped
    std::string_view what;    // was dropped, and why
    std::string_view remedy;  // what to do
};

// `cause` is that of a timeline. A cause of a newer libprof has a description, too.
const drop_description& describe_drop(std::string_view cause) noexcept;

// A line for each cause that the capture has: how much was lost, why, and what to do. Causes with one reason and one
// remedy are one line.
std::vector<capture_note> drop_notes(const timeline& data);

}  // namespace prof
