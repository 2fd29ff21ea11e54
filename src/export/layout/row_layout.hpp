// Lays out intervals on rows so that viewers show all of them. A viewer's row holds slices that lie apart or inside one
// another; of two that overlap in part Perfetto drops one. So an interval that does not fit goes to a spill row.
// Beyond `most_rows`, which no viewer shows and only a damaged capture needs, the last row takes what fits nowhere.
// One thread; a few nanoseconds an interval, times the number of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace prof {

inline constexpr std::size_t most_rows = 1024;

// Rows of intervals that nest. place() wants intervals by start, and of equal starts the longer first.
class nesting_rows {
public:
    // The first row from `first_row` on where [start, end) nests; opens a row if there is none.
    std::size_t place(std::int64_t start_ns, std::int64_t end_ns, std::size_t first_row = 0);
    std::size_t row_count() const noexcept { return open_ends_.size(); }

private:
    bool fits(std::size_t row, std::int64_t start_ns, std::int64_t end_ns);

    std::vector<std::vector<std::int64_t>> open_ends_;  // per row: the ends of what is still open, innermost last
};

// Rows of intervals that lie apart (a GPU operation inside another would look like its child) and begin at different
// times: of two slices that begin together a viewer takes the longer for the outer one, and arrows for the inner one's.
// place() wants them by start.
class disjoint_rows {
public:
    std::size_t place(std::int64_t start_ns, std::int64_t end_ns);
    std::size_t row_count() const noexcept { return free_from_.size(); }

private:
    std::vector<std::int64_t> free_from_;
};

}  // namespace prof
