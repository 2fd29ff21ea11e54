// The text by which a range stands in a path. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "timeline/timeline.hpp"

namespace prof {

// Each run of digits as one '#': "iteration 17" and "iteration 18" are both "iteration #".
std::string fold_digits(std::string_view text);

// The range's name, folded if wished, with its domain before it ("NCCL:ncclAllReduce") unless that is the default one
// or libprof's own. A range without a name is "(unnamed)".
std::string segment_text(const timeline& data, const timeline_range& range, bool fold);

// As part of a path: '/' becomes "\/" and '\' becomes "\\".
std::string escape_segment(std::string_view text);

}  // namespace prof
