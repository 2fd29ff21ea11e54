// SPDX-License-Identifier: Apache-2.0
#include "export/layout/host_rows.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analysis/projection/segment.hpp"
#include "export/layout/row_layout.hpp"
#include "timeline/nearly_sorted.hpp"

namespace prof {
namespace {

void sort_outermost_first(std::vector<host_item>& items) {
    sort_nearly_sorted(items, [](const host_item& a, const host_item& b) {
        // Ranges are sorted by start with parents first, so the index decides between equal intervals.
        return std::tuple(a.start_ns, -a.end_ns, a.kind, a.index) < std::tuple(b.start_ns, -b.end_ns, b.kind, b.index);
    });
}

// The rows for what is opened inside a range. An arrow binds to the innermost slice that begins at its time. So an item
// that begins together with a call, and does not enclose it, goes to another row. If a clock was set back, many events
// begin together.
//
// Rows of phases are numbered separately until all rows are known.
struct rows_of_range {
    std::uint32_t own = 0;     // for items opened inside it that are not phases
    std::uint32_t phases = 0;  // for phases
};

void lay_out(const timeline& data, host_thread_rows& thread, std::vector<rows_of_range>& rows_of) {
    nesting_rows rows;
    nesting_rows phases;
    std::int64_t last_call_ns = INT64_MIN;
    std::size_t row_after_call = 0;
    for (host_item& item : thread.items) {
        rows_of_range within;
        if (item.kind == host_item_kind::range) {
            const timeline_range& range = data.ranges[item.index];
            if (range.parent != npos) within = rows_of[range.parent];
            if (is_phase(data, range)) {
                within.phases = static_cast<std::uint32_t>(phases.place(item.start_ns, item.end_ns, within.phases));
                rows_of[item.index] = within;
                continue;
            }
        }
        std::size_t first_row = within.own;
        if (item.start_ns == last_call_ns) first_row = std::max(first_row, row_after_call);
        const std::size_t row = rows.place(item.start_ns, item.end_ns, first_row);
        item.row = static_cast<std::uint32_t>(row);
        if (item.kind == host_item_kind::range) rows_of[item.index] = {item.row, within.phases};
        if (item.kind == host_item_kind::call) {
            last_call_ns = item.start_ns;
            row_after_call = row + 1;
        }
    }
    thread.row_count = std::max<std::size_t>(rows.row_count(), 1);
    thread.phase_row_count = phases.row_count();
    if (thread.phase_row_count == 0) return;
    for (host_item& item : thread.items) {
        if (item.kind != host_item_kind::range || !is_phase(data, data.ranges[item.index])) continue;
        item.row = static_cast<std::uint32_t>(thread.row_count) + rows_of[item.index].phases;
    }
}

}  // namespace

std::vector<host_thread_rows> lay_out_host(const timeline& data, const std::vector<numbered_step>& steps,
                                           const hidden_domains& hidden) {
    std::vector<host_thread_rows> out;
    std::vector<std::size_t> place_of_thread(data.threads.size());
    std::unordered_map<std::uint32_t, std::size_t> place_of_tid;
    for (std::uint32_t i = 0; i < data.threads.size(); ++i) {
        const auto [found, is_new] = place_of_tid.try_emplace(data.threads[i].tid, out.size());
        if (is_new) out.emplace_back().tid = data.threads[i].tid;
        place_of_thread[i] = found->second;
        out[found->second].threads.push_back(i);
    }
    const auto add = [&](std::uint32_t thread, const host_item& item) {
        if (thread < place_of_thread.size()) out[place_of_thread[thread]].items.push_back(item);
    };
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
        add(steps[i].thread, {steps[i].start_ns, steps[i].end_ns, host_item_kind::step, i});
    }
    for (std::uint32_t i = 0; i < data.ranges.size(); ++i) {
        const timeline_range& range = data.ranges[i];
        if (range.style != range_style::push_pop || hidden.contains(range)) continue;
        add(range.thread, {range.start_ns, range.end_ns, host_item_kind::range, i});
    }
    for (std::uint32_t i = 0; i < data.api_calls.size(); ++i) {
        const timeline_api_call& call = data.api_calls[i];
        // A call that was not seen to return becomes an instant, since its length is unknown.
        add(call.thread, {call.start_ns, std::max(call.start_ns, call.end_ns), host_item_kind::call, i});
    }
    for (std::uint32_t i = 0; i < data.marks.size(); ++i) {
        if (hidden.contains(data.marks[i].domain)) continue;
        add(data.marks[i].thread, {data.marks[i].time_ns, data.marks[i].time_ns, host_item_kind::mark, i});
    }
    std::vector<rows_of_range> rows_of(data.ranges.size());
    for (host_thread_rows& thread : out) {
        sort_outermost_first(thread.items);
        lay_out(data, thread, rows_of);
    }
    return out;
}

}  // namespace prof
