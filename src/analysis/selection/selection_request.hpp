// SPDX-License-Identifier: Apache-2.0
// Which part of a capture is asked for: ranges, steps, times. docs/guide/selection.md defines each. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prof {

// Steps by number: first ≤ number < end, as a slice of Python's.
struct step_slice {
    std::uint64_t first = 0;
    std::uint64_t end = UINT64_MAX;
};
inline constexpr std::string_view step_slice_words = "steps as A:B (A to B-1), A:, :B or a number";
std::optional<step_slice> parse_step_slice(std::string_view text);

// A moment: since the capture's first one, or in Unix time.
struct moment {
    std::int64_t ns = 0;
    bool is_absolute = false;
};
inline constexpr std::string_view moment_words =
    "seconds from the capture's beginning, a number with s, ms, us or ns, or a time in UTC as 2026-01-31T12:30:59.5";
std::optional<moment> parse_moment(std::string_view text);

struct selection_request {
    std::vector<std::string> ranges{};  // patterns (range_match.hpp)
    std::string steps{};                // these three are texts that the functions above accept; "": not given
    std::string from{};
    std::string to{};
    std::uint64_t skip_first = 0;  // so many steps
    std::string step_range{};      // which range is a step (step_marks.hpp); "": as recorded

    // Whether it asks for a part. A step_range alone does not.
    bool has_times() const noexcept { return !steps.empty() || !from.empty() || !to.empty() || skip_first != 0; }
    bool is_part() const noexcept { return !ranges.empty() || has_times(); }
};

}  // namespace prof
