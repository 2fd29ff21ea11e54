// SPDX-License-Identifier: Apache-2.0
// Looking at a projection in tests.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/projection/projection.hpp"

namespace prof {

inline projection_row row_at(const std::vector<projection_row>& rows, std::string_view path) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const projection_row& r) { return r.path == path; });
    if (found != rows.end()) return *found;
    ADD_FAILURE() << "no row " << path;
    return {};
}
inline projection_row row_at(const projection& p, std::string_view path) { return row_at(p.rows, path); }

// "path sum self" of each row, in order.
inline std::vector<std::string> sums(const projection& p) {
    std::vector<std::string> lines;
    for (const projection_row& r : p.rows) {
        lines.push_back(r.path + ' ' + std::to_string(r.gpu_sum_ns) + ' ' + std::to_string(r.gpu_self_ns));
    }
    return lines;
}

inline std::int64_t self_total(const projection& p) {
    std::int64_t total = 0;
    for (const projection_row& r : p.rows) total += r.gpu_self_ns;
    return total;
}

}  // namespace prof
