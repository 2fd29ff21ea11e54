// SPDX-License-Identifier: Apache-2.0
// The time of the host within the steps, in groups with one cause and one place each: every call, and every stretch
// between two calls of a thread, belongs to one group. A group knows how the recorded dependencies would change without
// it (replay/replay.hpp). The causes are those of idle time (analysis/breakdown/idle_causes.hpp), here of all of the
// host's time, whether or not a GPU was idle meanwhile.
//
// One thread. Cost: linear in the calls, plus the ranges in stretches that are longer than launch_bound_ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/graph_captures.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/breakdown/idle_causes.hpp"
#include "analysis/breakdown/thread_states.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "diagnose/replay/replay.hpp"
#include "record/record.hpp"

namespace prof {

// How often something occurs in the steps, and how long it takes.
struct step_tally {
    std::int64_t total_ns = 0;
    std::uint64_t count = 0;
    std::uint64_t steps = 0;  // in so many steps
    std::int64_t longest_ns = 0;
    std::int64_t longest_at_ns = 0;  // when the longest began

    // Fast if steps come in ascending order on the whole.
    // Without is_counted it is part of what was added before.
    void add(std::size_t step, std::int64_t at_ns, std::int64_t ns, bool is_counted = true);
    void add(const step_tally& other);

private:
    // Those from `first` to before `end`.
    struct step_range {
        std::size_t first = 0;
        std::size_t end = 0;
    };
    void add_steps(step_range more);

    std::vector<step_range> in_;  // ascending; no two touch. So there are no more of them than times.
};

// A line of the program as far as a group's time goes by it. Its key is that of the same line in all parts of a
// timeline. Key 0 is the time whose line is not known.
struct line_tally {
    stack_id stack = npos;  // one in which it is; index into code_stacks. npos: the line is not known
    code_line line{};
    step_tally tally{};
};
using line_tallies = std::map<std::uint64_t, line_tally>;
constexpr std::uint64_t key_of(const code_line& line) noexcept { return std::uint64_t{line.name} << 32 | line.line; }
void add_lines(line_tallies& to, const line_tallies& more);

// What a line has of an event's change.
struct event_line {
    host_event_id event{0};
    std::uint64_t line = 0;    // its key
    std::int64_t gap_ns = -1;  // so much of the time before the event; negative: the call itself
};

struct host_group {
    idle_cause cause = idle_cause::host_code;
    code_place_id place{};  // code_places; of launching and of the data loader its outermost part
    call_id call = npos;    // a call of the group; index into api_calls. npos: time between calls
    copy_direction direction = copy_direction::none;
    name_id op_name{};        // of calls: the PyTorch operator around the first one; an index into name_table
    std::uint64_t bytes = 0;  // of copies
    name_id after{};          // without calls, outside ranges: host_part::after
    bool is_staged = false;   // the host copies into page-locked memory of XLA's, before another thread copies that
    step_tally tally{};
    line_tallies lines{};      // its time by line, all of it; none of `launching`, and where no line is known
    thread_states did{};       // in stretches between calls
    replay_changes changes{};  // without the group
    std::vector<event_line> event_lines{};  // of the events of `changes`, in ascending order

    // Distinguishes groups of all parts of a timeline.
    using key = std::tuple<idle_cause, std::uint64_t, code_place_id, copy_direction, name_id, bool>;
    key key_in(const timeline& data) const;
    host_group without_changes() const;
    // What would change without the group's time at one line.
    replay_changes changes_at(std::uint64_t line) const;
    // Of another part, without its changes. REQUIRES: it has the same key.
    void add(const host_group& other);
};

// Of a call that waits: the call before it on its thread, if that is an asynchronous copy between host and GPU and
// nothing was done in between, so that the wait is for the copy; else npos. An index into api_calls.
call_id copy_waited_for(const dependency_graph& graph, const host_event& wait);
// Whether the host waits for a copy that this call makes.
bool holds_up_host(const dependency_graph& graph, const host_event& copy);
// By event: calls that hold up the host, and copies for which the next call waits.
row_values<host_event_id, bool> awaited_calls(const dependency_graph& graph);

// Of host or GPU time: with normalized changes, those with the most time first.
template <typename TKey, typename TGroup>
std::vector<TGroup> sorted_groups(std::map<TKey, TGroup>&& groups) {
    std::vector<TGroup> out;
    out.reserve(groups.size());
    for (auto& [key, group] : groups) {
        group.changes.normalize();
        if constexpr (requires { group.event_lines; }) {
            std::stable_sort(group.event_lines.begin(), group.event_lines.end(),
                             [](const event_line& a, const event_line& b) { return a.event < b.event; });
        }
        out.push_back(std::move(group));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const TGroup& a, const TGroup& b) { return a.tally.total_ns > b.tally.total_ns; });
    return out;
}

// The arguments must belong together. Groups with the most time first.
std::vector<host_group> group_host_time(const dependency_graph& graph, const host_activity& host, code_places& where,
                                        const graph_captures& captured);

}  // namespace prof
