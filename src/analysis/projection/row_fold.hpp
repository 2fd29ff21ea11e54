// Which rows of a projection a table for people shows, and what stands for the others. A table of few rows is shown
// whole; of more those with the most GPU time are kept, of equal ones those with the most host time, and all rows above
// them. The fixed rows, the outermost phases (startup, step) and those directly below them are always kept. What is
// left out under a row, or at the outermost level, is one row there, whose self time is that of all it stands for: the
// self column of what is shown adds up as that of all rows does, unless a depth is given. Pure functions; n log n in
// the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/projection/projection.hpp"

namespace prof {

struct row_limits {
    std::size_t most = 40;               // rows, those that stand for others among them; SIZE_MAX: all
    std::uint32_t deepest = UINT32_MAX;  // deeper ranges are left out, and no row stands for them
};

struct shown_row {
    // Of a row that stands for others: depth and parent as theirs; instances, gpu_self_ns (also as gpu_sum_ns),
    // self_ops (also as ops) and payload_bytes added over all of them; host_ns, wait_ns and communication_ns over the
    // outermost of them, as these count what is inside. The rest is 0.
    projection_row figures;
    std::uint32_t row = npos;      // its index; npos if it stands for others:
    std::uint64_t stands_for = 0;  // so many rows that are not too deep
};

// In the order of `rows`; one that stands for others comes last under its parent, before the fixed rows.
// REQUIRES: `rows` as projection::rows or projection::process_ranges has them.
std::vector<shown_row> rows_to_show(const std::vector<projection_row>& rows, const row_limits& limits);

// Which of some rows are kept if those that stand for others count too: `weights` by row, the largest first.
// REQUIRES: parents before children; the rows' indices below their own, or npos.
struct weighed_row {
    std::uint32_t parent = npos;
    std::int64_t gpu_ns = 0;
    std::int64_t host_ns = 0;
    bool is_fixed = false;   // always kept
    bool is_hidden = false;  // never kept, and nothing stands for it
};
std::vector<std::uint8_t> choose_rows(const std::vector<weighed_row>& rows, std::size_t most);

}  // namespace prof
