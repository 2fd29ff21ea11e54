// SPDX-License-Identifier: Apache-2.0
#include "report/tables/projection_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "analysis/projection/segment.hpp"
#include "base/display_text.hpp"
#include "base/json_text.hpp"

namespace prof {
namespace {

// Folding may have merged different things into one row.
std::string merged_names_note(const projection& projected, const std::vector<shown_row>& shown) {
    constexpr std::size_t most_shown = 3;
    constexpr std::size_t longest_name = 40;
    std::string rows;
    std::size_t named = 0;
    std::size_t count = 0;
    for (const auto* const list : {&projected.rows, &projected.process_ranges}) {
        count += static_cast<std::size_t>(
            std::count_if(list->begin(), list->end(), [](const projection_row& row) { return row.merged_names != 0; }));
    }
    for (const shown_row& row : shown) {
        if (row.figures.merged_names == 0 || named == most_shown) continue;
        ++named;
        const std::string name = shortened(terminal_safe(shown_segment(row.figures.path)), longest_name);
        rows += fmt::format("{}{} ({} names)", rows.empty() ? "" : ", ", name, row.figures.merged_names);
    }
    if (count == 0) return {};
    if (named == 0) {
        rows = fmt::format("{} that {} left out above", with_thousands(count), count == 1 ? "is" : "are");
    } else if (count > named) {
        rows += fmt::format(" and {} more", with_thousands(count - named));
    }
    return fmt::format("names that recur and differ in a number only are one row: {}; --fold none keeps them apart",
                       rows);
}

std::string left_out_note(const projection& projected, const std::vector<shown_row>& shown) {
    std::uint64_t count = 0;
    for (const shown_row& row : shown) count += row.stands_for;
    if (count == 0) return {};
    return fmt::format(
        "{} rows with less {} time are left out, and \"… more rows\" have their sums; --rows all shows them",
        with_thousands(count), projected.total_ops == 0 ? "host" : "GPU");
}

}  // namespace

std::vector<std::string> projection_notes(const projection& projected, const std::vector<shown_row>& shown) {
    std::vector<std::string> out;
    for (std::string note : {left_out_note(projected, shown), merged_names_note(projected, shown)}) {
        if (!note.empty()) out.push_back(std::move(note));
    }
    for (const projection_row& row : projected.rows) {
        if (row.ops == 0 || row.depth != 0) continue;
        if (row.kind == row_kind::ambiguous) {
            out.push_back(fmt::format("{} operations could be the work of several threads and stand under (ambiguous)",
                                      with_thousands(row.ops)));
        } else if (row.kind == row_kind::unmatched) {
            out.push_back(fmt::format("of {} operations no launch was seen; they stand under (unmatched)",
                                      with_thousands(row.ops)));
        }
    }
    if (projected.ops_of_unseen_captures != 0) {
        out.push_back(fmt::format("{} operations of graph replays whose capture was not seen",
                                  with_thousands(projected.ops_of_unseen_captures)));
    }
    if (projected.ops_of_ambiguous_captures != 0) {
        out.push_back(
            fmt::format("{} operations of graph replays were captured by a thread that may have worked for "
                        "several",
                        with_thousands(projected.ops_of_ambiguous_captures)));
    }
    return out;
}

}  // namespace prof
