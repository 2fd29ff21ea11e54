// SPDX-License-Identifier: Apache-2.0
#include "export/layout/row_layout.hpp"

#include <algorithm>

namespace prof {

bool nesting_rows::fits(std::size_t row, std::int64_t start_ns, std::int64_t end_ns) {
    auto& open = open_ends_[row];
    while (!open.empty() && open.back() <= start_ns) open.pop_back();
    return open.empty() || open.back() >= end_ns;
}

std::size_t nesting_rows::place(std::int64_t start_ns, std::int64_t end_ns, std::size_t first_row) {
    first_row = std::min(first_row, most_rows - 1);
    if (open_ends_.size() < first_row) open_ends_.resize(first_row);
    for (std::size_t row = first_row; row < open_ends_.size(); ++row) {
        if (fits(row, start_ns, end_ns)) {
            open_ends_[row].push_back(end_ns);
            return row;
        }
    }
    if (open_ends_.size() == most_rows) return most_rows - 1;
    open_ends_.push_back({end_ns});
    return open_ends_.size() - 1;
}

std::size_t disjoint_rows::place(std::int64_t start_ns, std::int64_t end_ns) {
    for (std::size_t row = 0; row < free_from_.size(); ++row) {
        if (free_from_[row] <= start_ns) {
            free_from_[row] = std::max(end_ns, start_ns + 1);
            return row;
        }
    }
    if (free_from_.size() == most_rows) return most_rows - 1;
    free_from_.push_back(std::max(end_ns, start_ns + 1));
    return free_from_.size() - 1;
}

}  // namespace prof
