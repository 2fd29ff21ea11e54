// SPDX-License-Identifier: Apache-2.0
// Chooses which rows of a projection a printed table shows, and sums up the others.
//
// A table with few rows is shown whole. Of a larger one, the rows with the most GPU time are kept (ties: the most host
// time), with all rows above them. The fixed rows, the outermost phases (startup, step) and those directly below them
// are always kept, but for executions of a jitted function, and for what is compiled. The rows that are left out under
// a row, or at the outermost level, become one row there with the sum of their self times. So the self column adds up
// as that of all rows does, unless a depth is given. Pure functions; n log n in the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/projection/projection.hpp"

namespace prof {

struct row_limits {
    std::size_t most = 40;               // number of rows, including those that stand for others; SIZE_MAX: all
    std::uint32_t deepest = UINT32_MAX;  // deeper ranges are left out, and no row stands for them
};

struct shown_row {
    // If the row stands for others: depth and parent are theirs. Added over all of them: instances, gpu_self_ns (also
    // as gpu_sum_ns), host_self_ns, self_ops (also as ops) and payload_bytes. Added over the outermost of them, whose
    // figures include what is inside: host_ns, wait_ns and communication_ns. The rest is 0.
    projection_row figures;
    std::uint32_t row = npos;      // its index; npos if it stands for others
    std::uint64_t stands_for = 0;  // number of rows it stands for, without those that are too deep
};

// The rows in the order of `rows`. A row that stands for others comes last under its parent, before the fixed rows.
// REQUIRES: `rows` is ordered as projection::rows or projection::process_ranges.
std::vector<shown_row> rows_to_show(const std::vector<projection_row>& rows, const row_limits& limits);

// Returns by row whether it is kept, preferring rows with the most time. At most `most` rows are then shown, including
// those that stand for others, unless the fixed rows need more. REQUIRES: parents precede their children; a parent's
// index is smaller, or npos.
struct weighed_row {
    std::uint32_t parent = npos;
    std::int64_t gpu_ns = 0;
    std::int64_t host_ns = 0;
    bool is_fixed = false;   // always kept
    bool is_hidden = false;  // never kept, and no row stands for it
};
std::vector<std::uint8_t> choose_rows(const std::vector<weighed_row>& rows, std::size_t most);

}  // namespace prof
