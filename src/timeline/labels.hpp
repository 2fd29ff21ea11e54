// SPDX-License-Identifier: Apache-2.0
// Takes over the names that the program gave to domains, categories, threads and streams: a step of build_timeline().
// One thread; linear in labels and threads.
#pragma once

#include <cstdint>
#include <vector>

#include "record/label.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Adds domains up to and including `index`. They are named "domain N" until a label has the program's name.
void grow_domains(timeline& out, std::uint64_t index);

// A later label replaces an earlier one. REQUIRES: `out` has its names and threads.
void take_labels(timeline& out, const std::vector<label>& labels);

}  // namespace prof
