// SPDX-License-Identifier: Apache-2.0
// The tree of the projection's rows. Ranges with equal folded names under the same parent row share one row. Ranges
// that were open at a CUDA graph's capture have separate rows.
//
// fold_mode::counters: the tree is built with every number folded. Where the names of a row are those of different
// things (merged_names.hpp), it is built again: ranges of that row keep their names, and all others are folded. So one
// decision holds for all that is below "layer 0" and "layer 1". Linear in the ranges; twice the cost if built twice.
//
// A phase and a range of the program's own that are the same thing (same_things.hpp) share the row of the outer one,
// with the name that the program gave. The inner range has no node. Nor has what JAX does to compile a function
// (compilation_stages.hpp), with all that is inside: it shares the row `compilation`, unless nothing is folded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/projection/merged_names.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/projection/segment.hpp"
#include "record/fold_rule.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class row_tree {
public:
    struct node;
    using node_id = row_index<node>;
    struct node {
        std::string_view text;         // shown in the tree; not escaped
        std::string_view segment;      // the same text as part of a path
        node_id parent = npos;         // index into nodes()
        std::int64_t first_ns = 0;     // start of the first instance; for a captured range, of the launch
        std::int64_t captured_ns = 0;  // start of the captured range, which orders rows of one launch
        bool is_captured = false;
        bool is_observed = false;   // a phase, not one of the program's ranges
        bool is_execution = false;  // of a jitted function that is not the step
        bool has_number = false;    // its text may have a folded number
        merged_names names{};       // of its instances, if has_number
    };

    // Nodes that always exist.
    static constexpr node_id no_range{0};
    static constexpr node_id ambiguous{1};
    static constexpr node_id unmatched{2};

    row_tree(const timeline& data, const attribution& att, const fold_rule& rule);

    const row_table<node>& nodes() const noexcept { return nodes_; }
    // By range; npos for start/end ranges, which are in no tree, and for those that share the row of a range around
    // them.
    node_id node_of(range_id range) const noexcept { return node_of_[range]; }
    // The range itself, or the one around it whose row it shares; an owner_ constant or npos where there is none.
    // `range`: likewise.
    range_id range_with_row(range_id range) const noexcept {
        while (is_range(range) && node_of_[range] == npos) range = att_.parent[range];
        return range;
    }
    // By range: how long ranges directly inside, on its own thread, were open. Linear in the ranges.
    row_values<range_id, std::int64_t> host_time_inside() const;
    bool is_in_stage(range_id range) const noexcept { return !is_in_stage_.empty() && is_in_stage_[range] != 0; }
    // By replayed range.
    node_id node_of_replayed(replayed_id index) const noexcept { return node_of_replayed_[index]; }
    // By range and by replayed range: 1 if its row keeps the numbers in its name because they name different things.
    // Empty if none does.
    const row_values<range_id, std::uint8_t>& keeps_name() const noexcept { return keeps_name_; }
    const row_values<replayed_id, std::uint8_t>& replayed_keeps_name() const noexcept { return replayed_keeps_name_; }
    // self_of(): the node with the operation's self time. fixed_of(): the fixed node for which it counts in addition to
    // its ranges; npos: none.
    node_id self_of(op_id op) const noexcept;
    // Calls visit(node) for the row of each range open at its launch for which the operation counts, once each.
    template <typename TVisit>
    void for_each_open_node(op_id op, TVisit&& visit) const {
        node_id shared = npos;  // the row of a range that has been passed, which shares it with one around it
        for_each_open_range(data_, att_, op, [&](range_id range) {
            if (const node_id at = node_of_[range]; at != npos) {
                if (at == shared) shared = npos;
                visit(at);
                return;
            }
            const node_id around = above(range);  // the same for all that share it
            if (shared != npos && shared != around) visit(shared);
            shared = around;
        });
        if (shared != npos) visit(shared);
    }
    // Calls visit(node) for the row of each range open on the call's own thread, once each, and also for a row that
    // such a range shares with one around it on that thread.
    template <typename TVisit>
    void for_each_node_on_thread(const timeline_api_call& call, TVisit&& visit) const {
        std::vector<node_id> visited;  // of rows that are shared
        for (open_node_id at = call.open_on_thread; at != npos; at = data_.open_nodes[at].below_on_thread()) {
            const range_id range = data_.open_nodes[at].range;
            if (att_.hidden.contains(data_.ranges[range]) || !data_.ranges[range].takes_part()) continue;
            const range_id named = range_with_row(range);
            if (!is_range(named) || data_.ranges[named].thread != call.thread) continue;
            const node_id row = node_of_[named];
            if (std::find(visited.begin(), visited.end(), row) != visited.end()) continue;
            if (named != range) visited.push_back(row);
            visit(row);
        }
    }
    node_id fixed_of(op_id op) const noexcept;
    static row_kind kind_of(node_id node) noexcept;

    // All nodes: parents before children, siblings by first start, the three fixed ones last.
    std::vector<node_id> preorder() const;

private:
    struct segment_entry {
        std::string text;
        std::uint32_t id = 0;
    };
    using segment = std::pair<const std::string, segment_entry>;  // in a path → as shown
    struct segments_of_name {
        const segment* folded = nullptr;  // null until it is used
        const segment* as_named = nullptr;
        bool is_folded = false;  // by the rule
    };

    void build();
    void join_stages();
    bool join_same_things();
    void count_names();
    void keep_different_things_apart();
    void place(range_id range);
    node_id child(node_id parent, range_id range, bool keeps_name, const timeline_api_call* launch = nullptr);
    const segment& segment_for(const timeline_range& range, bool keeps_name);
    void place_replayed(range_id owner, replayed_id index);
    node_id above(range_id parent) const noexcept;
    // Whether the range shares the row of the range around it.
    bool is_inner(range_id range) const noexcept { return !is_inner_.empty() && is_inner_[range] != 0; }
    // The range with the name of the row.
    range_id named_by(range_id range) const noexcept { return named_by_.empty() ? range : named_by_[range]; }

    const timeline& data_;
    const attribution& att_;
    fold_rule rule_;
    path_segments segment_of_;
    row_table<node> nodes_;
    row_values<node_id, std::uint8_t> ambiguous_;  // by node: 1 for the (ambiguous) node and those below it
    row_values<range_id, node_id> node_of_;
    row_values<replayed_id, node_id> node_of_replayed_;
    std::unordered_map<std::string, segment_entry> segments_;
    std::unordered_map<std::uint64_t, segments_of_name> segments_of_name_;  // by timeline_range::name_key()
    // parent node << 32 | segment << 2 | is observed << 1 | is captured → node
    std::unordered_map<std::uint64_t, node_id> children_;
    // By range; empty if no rows are shared.
    row_values<range_id, std::uint8_t> is_inner_;
    row_values<range_id, std::uint8_t> is_in_stage_;  // those of them that share the row of a compilation
    row_values<range_id, range_id> named_by_;
    row_values<range_id, std::uint8_t> keeps_name_;
    row_values<replayed_id, std::uint8_t> replayed_keeps_name_;
};

}  // namespace prof
