// SPDX-License-Identifier: Apache-2.0
// Looks up the addresses of C++ frames in a timeline, so that these are like those of Python: a function, a file and a
// line. Reads the program's files, and may run a program that looks up lines (symbols/address_lookup.hpp).
#pragma once

#include "timeline/timeline.hpp"

namespace prof {

// What cannot be looked up keeps its module as the file and its address as the function.
void resolve_native_lines(timeline& data, bool may_run_programs = true);

}  // namespace prof
