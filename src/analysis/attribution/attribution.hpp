// SPDX-License-Identifier: Apache-2.0
// Decides to which ranges each GPU operation belongs:
// - the ranges that were open on the launching thread;
// - if that thread works for another one (autograd's threads, and those that declare it), the ranges that adopt the
//   work;
// - for a node of a CUDA graph, below those, the ranges that were open when the node was captured.
//
// docs/reference/attribution.md has the rules with examples. A pure function of a timeline; linear in its ranges and
// operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution/domain_filter.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct attribution_options {
    // Threads whose kernel name (comm) matches this shell pattern work for another thread, and hang under the innermost
    // range that is open there. "" switches this off; what threads declare themselves (timeline::work_parents) stays
    // valid.
    std::string adopt_pattern = "pt_autograd_*";
    // PyTorch's operators and calls of modules are placed, too: `parent` of one that is outermost on a thread that
    // works for another is the range there. Else it is npos.
    bool places_operators = false;
    // Adoption is decided with all ranges; ranges of hidden domains are removed afterwards.
    domain_filter domains{};
};

// Values of attribution::owner for self time that belongs to no range.
inline constexpr range_id owner_no_range{UINT32_MAX - 1};   // the launch was seen, with no range open
inline constexpr range_id owner_ambiguous{UINT32_MAX - 2};  // several threads may have caused the launch
inline constexpr range_id owner_unmatched{UINT32_MAX - 3};  // the launch was not seen
constexpr bool is_range(range_id owner) noexcept { return owner < owner_unmatched; }

// A range that was open when nodes of a CUDA graph were captured, placed under one launch of the graph. It takes no
// host time. It exists only if operations of that launch count for it.
struct replayed_range;
using replayed_id = row_index<replayed_range>;
struct replayed_range {
    range_id range = npos;  // the range that was open at the capture
    call_id launch = npos;  // index into api_calls
    // Index into `replayed`, less than its own; npos: under the place of the launch's self time.
    replayed_id parent = npos;
    std::uint32_t depth = 0;  // in the tree that reports show
};

struct attribution {
    // By range: its parent in the tree that reports show. This is timeline_range::parent, or the range that adopted it;
    // npos for a root; owner_ambiguous for a root of an adopted thread with an unknown adopter.
    row_values<range_id, range_id> parent;
    // By range: its depth in that tree (roots: 0).
    row_values<range_id, std::uint32_t> depth;
    // By operation: the range with its self time, which is the latest opened of those open at its launch, or an owner_
    // constant. If `captured` names a replayed range, that has the self time instead.
    row_values<op_id, range_id> owner;
    // By operation: the ranges of the launching thread for which it counts, as an index into open_nodes; npos: none.
    row_values<op_id, open_node_id> open;
    // By operation: if it was adopted, the ranges of the other thread for which it counts, likewise; npos: none. For an
    // operation outside any range these are all ranges open there at its launch. For one inside a range they are those
    // that were open when its outermost range was pushed and still are. If the other thread worked for a third one in
    // turn, the ranges of both. An operation counts for every range of both lists: the open ancestors of its owner.
    row_values<op_id, open_node_id> adopted_open;
    // By operation: 1 if it belongs under a range of another thread than the launching one.
    row_values<op_id, std::uint8_t> adopted;
    // By operation: index into `replayed` of the innermost captured range for which it counts, in addition to the
    // ranges above. It counts for that range's parents too. npos: none.
    row_values<op_id, replayed_id> captured;
    row_table<replayed_range> replayed;
    // Operations of graph replays whose capture was not seen; they count only for the ranges of the launch. Likewise
    // operations whose node was captured by a thread that may have worked for several others; they count for that
    // thread's own ranges too.
    std::uint64_t ops_of_unseen_captures = 0;
    std::uint64_t ops_of_ambiguous_captures = 0;
    // Lists in `adopted_open` may be states that no launch of the other thread saw. Their nodes are in the timeline's
    // open_nodes or, with an index ≥ open_nodes.size(), here.
    std::vector<open_node> extra_nodes;
    // Domains whose ranges have no rows and own nothing.
    hidden_domains hidden;
    // As in the options.
    std::string adopt_pattern;
    // Of a part of a timeline (analysis/selection): by range and by replayed range, 1 if its row has its name as it is,
    // since that was so in the whole. Empty: the timeline decides (projection/row_tree.hpp).
    row_values<range_id, std::uint8_t> keeps_name;
    row_values<replayed_id, std::uint8_t> replayed_keeps_name;
};

attribution attribute(const timeline& data, const attribution_options& options = {});

// Calls visit(index into att.replayed) for every captured range for which operation `op` counts, innermost first.
template <typename TVisit>
void for_each_replayed_range(const attribution& att, op_id op, TVisit&& visit) {
    for (replayed_id i = att.captured[op]; i != npos; i = att.replayed[i].parent) visit(i);
}

// A node of the lists in `open` and `adopted_open`.
inline const open_node& list_node(const timeline& data, const attribution& att, open_node_id index) noexcept {
    const std::size_t own = data.open_nodes.size();
    return index < own ? data.open_nodes[index] : att.extra_nodes[index - own];
}

// The thread under whose ranges an operation was adopted; npos: it was not, or there were none.
inline thread_id adopting_thread(const timeline& data, const attribution& att, op_id op) noexcept {
    if (att.adopted[op] == 0 || att.adopted_open[op] == npos) return npos;
    return data.ranges[list_node(data, att, att.adopted_open[op]).range].thread;
}

// Of each thread the one for which it works, by the latest of its operations that was adopted; itself: for none. Linear
// in the operations.
row_values<thread_id, thread_id> home_threads(const timeline& data, const attribution& att);

// Calls visit(range index) for every range open at its launch for which operation `op` counts, latest opened first.
// Hidden ranges are skipped.
template <typename TVisit>
void for_each_open_range(const timeline& data, const attribution& att, op_id op, TVisit&& visit) {
    for (const open_node_id head : {att.open[op], att.adopted_open[op]}) {
        for (open_node_id node = head; node != npos;) {
            const open_node& n = list_node(data, att, node);
            if (!att.hidden.contains(data.ranges[n.range])) visit(n.range);
            node = n.below;
        }
    }
}

}  // namespace prof
