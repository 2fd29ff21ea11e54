// The names that the program gave to domains, categories, threads and streams.
#pragma once

#include <cstdint>
#include <vector>

#include "record/label.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Makes domains up to this one, with names of their own until they are given others.
void grow_domains(timeline& out, std::uint64_t index);

// REQUIRES: `out` has its names and its threads. A later label replaces an earlier one.
void take_labels(timeline& out, const std::vector<label>& labels);

}  // namespace prof
