// The text by which a range stands in a path. Pure functions.
#pragma once

#include <cstddef>
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

// The path of an escaped segment that stands under the path `above`; that of a root under "".
std::string path_below(std::string_view above, std::string_view segment);

// What stands above the ranges of a thread that may have worked for several.
inline constexpr std::string_view ambiguous_text = "(ambiguous)";

// Names may be megabytes long and nest a thousand deep. Paths and names of a report get this much memory; where it is
// used up, as only a hostile capture brings about, their ends stand for them.
class text_budget {
public:
    std::string of(std::string text);

private:
    std::size_t used_ = 0;
};

}  // namespace prof
