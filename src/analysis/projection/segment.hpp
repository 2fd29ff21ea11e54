// SPDX-License-Identifier: Apache-2.0
// The text that represents a range in a path. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "record/fold_rule.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The rows that always exist beside those of ranges.
inline constexpr std::string_view no_range_text = "(no range)";
inline constexpr std::string_view ambiguous_text = "(ambiguous)";
inline constexpr std::string_view unmatched_text = "(unmatched)";

// Replaces numbers that count something by '#': "iteration 17" and "iteration 18" both become "iteration #". Numbers
// that are part of a kind's name are kept: one or two digits between letters ("conv2d"), and the bits of a number
// format ("fp16").
std::string fold_digits(std::string_view text);

// Whether the rule folds the numbers in the range's name, if they count something. Patterns of listed names match the
// folded name, with its domain or without.
bool folds(const fold_rule& rule, const timeline& data, const timeline_range& range);

// The range's name, folded if `fold`, preceded by its domain ("NCCL:ncclAllReduce") unless that is the default domain
// or libprof's own. A range without a name is "(unnamed)".
std::string segment_text(const timeline& data, const timeline_range& range, bool fold);

// Whether the range is a phase that libprof observed (docs/guide/phases.md).
bool is_phase(const timeline& data, const timeline_range& range);

// Whether it is the phase `optimizer` and goes on with a step of an optimizer, after what its closure has called: no
// instance of its own.
bool continues_phase(const timeline& data, const timeline_range& range);

// Escapes a text for a path: '/' becomes "\/" and '\' becomes "\\".
std::string escape_segment(std::string_view text);

// Makes the path segments for the ranges of one timeline. Beside the escaped characters, texts that would read like
// something else are escaped too. Two ranges have equal segments only if both their names and their domains are equal.
//   \(no range)  a range that has the name of a fixed row, or the name "(unnamed)"
//   NCCL\:sum    a range outside the domain NCCL, where there is one
class path_segments {
public:
    explicit path_segments(const timeline& data);

    // `fold`: with the name folded.
    std::string operator()(const timeline_range& range, bool fold) const;

private:
    std::string escape(std::string_view text) const;

    const timeline& data_;
    std::unordered_set<std::string_view> domains_;  // domains that are written before names
};

// The last segment of a path for display: '/' and '\' are unescaped, the rest stays as it is.
std::string shown_segment(std::string_view path);

// The same, followed by " (captured)" if `is_captured`. A text that ends so otherwise is written "\(captured)".
std::string with_captured(std::string shown, bool is_captured);

// The path of an escaped segment under the path `above`; for a root `above` is "".
std::string path_below(std::string_view above, std::string_view segment);

// Limits the memory for the paths and names of a report. Names may be megabytes long and nest a thousand deep. Once the
// limit is used up, which only a hostile capture causes, just the end of a longer text is kept, after "…".
class text_budget {
public:
    std::string of(std::string text);

private:
    std::size_t used_ = 0;
};

}  // namespace prof
