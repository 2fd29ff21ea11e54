// SPDX-License-Identifier: Apache-2.0
// What each cause of dropped records means: the table of docs/guide/notes.md, for programs. Pure functions.
#pragma once

#include <string_view>

namespace prof {

// Texts of one line. They are null-terminated and live as long as the program.
struct drop_description {
    std::string_view cause;   // as in timeline_quality::dropped
    std::string_view what;    // was dropped, and why
    std::string_view remedy;  // what to do
};

// `cause` is that of a timeline. A cause of a newer libprof has a description, too.
const drop_description& describe_drop(std::string_view cause) noexcept;

}  // namespace prof
