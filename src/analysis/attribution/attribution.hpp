// Which ranges each GPU operation belongs to: the ranges that were open on the thread that launched it, and for the
// threads that work for somebody else (autograd's, and those that declared it) the range tree they are adopted into;
// below those, for a node of a CUDA graph, the ranges that were open when it was captured. docs/attribution.md has the
// rules with examples. A pure function of a timeline; linear in its ranges and operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution/domain_filter.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct attribution_options {
    // Threads whose kernel name (comm) matches this shell pattern work for another thread and hang under the innermost
    // range open there. "" switches this off; what a thread declared itself (timeline::work_parents) holds all the
    // same.
    std::string adopt_pattern = "pt_autograd_*";
    // For whom a thread works is decided by all ranges; those of hidden domains are then left out.
    domain_filter domains{};
};

// Where an operation's self time goes when it is no range's.
inline constexpr std::uint32_t owner_no_range = UINT32_MAX - 1;  // its launch was seen, no range was open
inline constexpr std::uint32_t owner_ambiguous =
    UINT32_MAX - 2;  // several threads could be the one it was launched for
inline constexpr std::uint32_t owner_unmatched = UINT32_MAX - 3;  // no launch of it was seen
constexpr bool is_range(std::uint32_t owner) noexcept { return owner < owner_unmatched; }

// A range that was open when nodes of a CUDA graph were captured, as it stands under one launch of that graph. It takes
// no time on the host; there is one only if operations of the launch count for it.
struct replayed_range {
    std::uint32_t range = npos;   // the range that was open
    std::uint32_t launch = npos;  // index into api_calls
    std::uint32_t parent =
        npos;                 // index into replayed, before this one; npos: hangs where the launch has its self time
    std::uint32_t depth = 0;  // in the tree people read
};

struct attribution {
    // Per range: its parent in the tree people read: timeline_range::parent, or the range that adopted it; npos for a
    // root; owner_ambiguous for a root of an adopted thread whose adopter is not known.
    std::vector<std::uint32_t> parent;
    // Per range: its depth in that tree (roots 0).
    std::vector<std::uint32_t> depth;
    // Per operation: the range that has its self time (latest opened of those open at its launch), or an owner_
    // constant. Where `captured` names a replayed range, that has the self time instead.
    std::vector<std::uint32_t> owner;
    // Per operation: index into open_nodes (those of the launching thread; npos none), the ranges it counts for there …
    std::vector<std::uint32_t> open;
    // … and, if it was adopted, those of the thread it was launched for (npos none): of an operation outside any range
    // all that are open there at its launch; of one inside a range those that were open when its outermost range was
    // pushed and still are; if that thread worked for another in its turn, then those of both. An operation counts for
    // every range of both lists: the ancestors of its owner that are open.
    std::vector<std::uint32_t> adopted_open;
    // Per operation: 1 if it stands under a range of another thread than the one that launched it.
    std::vector<std::uint8_t> adopted;
    // Per operation: index into `replayed` of the innermost captured range it counts for, besides the ranges above; it
    // counts for those on the way up from there, too. npos: none.
    std::vector<std::uint32_t> captured;
    std::vector<replayed_range> replayed;
    // Operations of graph replays whose capture was not seen, which count for the ranges of the launch alone; and those
    // whose node was captured by a thread that may have worked for several, which count for that thread's own, too.
    std::uint64_t ops_of_unseen_captures = 0;
    std::uint64_t ops_of_ambiguous_captures = 0;
    // Lists of `adopted_open` may be states that no launch of the other thread saw: all nodes live in the timeline's
    // open_nodes or, with index ≥ open_nodes.size(), here.
    std::vector<open_node> extra_nodes;
    // Domains whose ranges are no rows and own nothing.
    hidden_domains hidden;
};

attribution attribute(const timeline& data, const attribution_options& options = {});

// Calls visit(index into att.replayed) for every captured range that operation `op` counts for, innermost first.
template <typename TVisit>
void for_each_replayed_range(const attribution& att, std::size_t op, TVisit&& visit) {
    for (std::uint32_t i = att.captured[op]; i != npos; i = att.replayed[i].parent) visit(i);
}

// Calls visit(range index) for every range open at its launch that operation `op` counts for, latest opened first; none
// is hidden.
template <typename TVisit>
void for_each_open_range(const timeline& data, const attribution& att, std::size_t op, TVisit&& visit) {
    for (const std::uint32_t head : {att.open[op], att.adopted_open[op]}) {
        for (std::uint32_t node = head; node != npos;) {
            const auto base = static_cast<std::uint32_t>(data.open_nodes.size());
            const open_node& n = node < base ? data.open_nodes[node] : att.extra_nodes[node - base];
            if (!att.hidden.contains(data.ranges[n.range])) visit(n.range);
            node = n.below;
        }
    }
}

}  // namespace prof
