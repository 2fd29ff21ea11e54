// SPDX-License-Identifier: Apache-2.0
// Which ranges patterns mean. A pattern is a name, or a path whose last segments must be those of the range:
// `backward/layer 5`. A segment is the text that tables show (`iteration #`), the range's own name (`iteration 17`),
// or a shell pattern of one of them; `\/` is a slash within a name. A captured range is meant with and without
// " (captured)". `(no range)`, `(ambiguous)` and `(unmatched)` mean the rows of these names.
//
// What counts for a range that is meant is kept: all ranges inside, adopted ones included. A pure function of a
// timeline; linear in its ranges and in the length of the patterns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/row_tree.hpp"
#include "analysis/selection/time_spans.hpp"
#include "record/fold_rule.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct matched_ranges {
    row_values<range_id, std::uint8_t> matches{};              // by range: a pattern means it
    row_values<range_id, std::uint8_t> kept{};                 // by range: it matches, or lies inside one that does
    row_values<replayed_id, std::uint8_t> replayed_matches{};  // the same by replayed range
    row_values<replayed_id, std::uint8_t> replayed_kept{};
    // The rows that always exist.
    bool no_range = false;
    bool ambiguous = false;
    bool unmatched = false;
    std::vector<time_spans> start_end{};  // by process: when a start/end range that matches was open
    std::uint64_t count = 0;              // of ranges that match
    std::vector<std::string> in_vain{};   // a line for each pattern that matches nothing
    bool any() const noexcept { return count != 0 || no_range || ambiguous || unmatched; }
    bool in_start_end(const timeline& data, thread_id thread, std::int64_t time_ns) const {
        const std::uint32_t process = data.threads[thread].process;
        return process < start_end.size() && start_end[process].contains(time_ns);
    }
};

// REQUIRES: `tree` is of the same timeline, attribution and rule. `att` was made with places_operators.
matched_ranges match_ranges(const timeline& data, const attribution& att, const row_tree& tree, const fold_rule& rule,
                            const std::vector<std::string>& patterns);

}  // namespace prof
