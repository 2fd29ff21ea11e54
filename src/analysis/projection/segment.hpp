// The text by which a range stands in a path. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "timeline/timeline.hpp"

namespace prof {

// The rows that are always there, beside those of ranges.
inline constexpr std::string_view no_range_text = "(no range)";
inline constexpr std::string_view ambiguous_text = "(ambiguous)";
inline constexpr std::string_view unmatched_text = "(unmatched)";

// Numbers that count something as '#': "iteration 17" and "iteration 18" are both "iteration #". Numbers that are part
// of a kind's name are kept: one or two digits between letters ("conv2d"), and the bits of a number format
// ("fp16").
std::string fold_digits(std::string_view text);

// The range's name, folded if wished, with its domain before it ("NCCL:ncclAllReduce") unless that is the default one
// or libprof's own. A range without a name is "(unnamed)".
std::string segment_text(const timeline& data, const timeline_range& range, bool fold);

// Whether it is a phase that libprof observed (docs/phases.md).
bool is_phase(const timeline& data, const timeline_range& range);

// As part of a path: '/' becomes "\/" and '\' becomes "\\".
std::string escape_segment(std::string_view text);

// What stands in a path for the ranges of one timeline: the escaped text, in which what would read like something else
// is escaped, too. Two ranges have equal segments only if both names and domains are equal.
//   \(no range)  a range that has the name of a fixed row, or the name "(unnamed)"
//   NCCL\:sum    a range outside the domain NCCL, where there is one
class path_segments {
public:
    path_segments(const timeline& data, bool fold);

    std::string operator()(const timeline_range& range) const;

private:
    std::string escape(std::string_view text) const;

    const timeline& data_;
    bool fold_;
    std::unordered_set<std::string_view> domains_;  // those that stand before names
};

// The last segment of a path for people: '/' and '\' as they are, the rest as it stands there.
std::string shown_segment(std::string_view path);

// The same with " (captured)" behind it if it is; what ends so otherwise is written "\(captured)".
std::string with_captured(std::string shown, bool is_captured);

// The path of an escaped segment that stands under the path `above`; that of a root under "".
std::string path_below(std::string_view above, std::string_view segment);

// Names may be megabytes long and nest a thousand deep. Paths and names of a report get this much memory; where it is
// used up, as only a hostile capture brings about, their ends stand for them.
class text_budget {
public:
    std::string of(std::string text);

private:
    std::size_t used_ = 0;
};

}  // namespace prof
