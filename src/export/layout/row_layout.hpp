// SPDX-License-Identifier: Apache-2.0
// Lays out intervals on rows so that viewers show all of them. The slices of a viewer's row must be disjoint or nested;
// Perfetto drops one of two slices that partly overlap. So an interval that does not fit goes to a spill row. If
// `most_rows` are used up, which no viewer could show and only a damaged capture needs, the last row takes the rest.
// One thread; a few nanoseconds an interval, times the number of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace prof {

inline constexpr std::size_t most_rows = 1024;

// Rows of nested intervals. REQUIRES: place() is called in order of start; of equal starts the longer first.
class nesting_rows {
public:
    // Returns the first row from `first_row` on in which [start, end) nests; adds a row if there is none.
    std::size_t place(std::int64_t start_ns, std::int64_t end_ns, std::size_t first_row = 0);
    std::size_t row_count() const noexcept { return open_ends_.size(); }

private:
    bool fits(std::size_t row, std::int64_t start_ns, std::int64_t end_ns);

    std::vector<std::vector<std::int64_t>> open_ends_;  // by row: the ends of what is still open, innermost last
};

// Rows of disjoint intervals with different starts. GPU operations need this, since one inside another would look like
// its child. Of two slices that begin together, a viewer would take the longer as the outer one, and arrows as
// belonging to the inner one. REQUIRES: place() is called in order of start.
class disjoint_rows {
public:
    std::size_t place(std::int64_t start_ns, std::int64_t end_ns);
    std::size_t row_count() const noexcept { return free_from_.size(); }

private:
    std::vector<std::int64_t> free_from_;
};

}  // namespace prof
