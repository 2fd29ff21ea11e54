// The rows of the projection's tree: ranges whose folded names are equal, under the same parent row, are one row; those
// that were open at a CUDA graph's capture are rows apart from the others. Linear in the ranges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/projection/merged_names.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/projection/segment.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class row_tree {
public:
    struct node {
        std::string_view text;         // unescaped; of the tree, as is …
        std::string_view segment;      // … what stands for it in paths
        std::uint32_t parent = npos;   // index of a node
        std::int64_t first_ns = 0;     // start of its first instance: of a captured one the launch …
        std::int64_t captured_ns = 0;  // … and among those of one launch the range that was captured
        bool is_captured = false;
        bool is_observed = false;  // a phase: no range of the program's
        merged_names names{};      // of its instances, where they have numbers that are folded
    };

    // The nodes that are always there, whatever the ranges.
    static constexpr std::uint32_t no_range = 0;
    static constexpr std::uint32_t ambiguous = 1;
    static constexpr std::uint32_t unmatched = 2;

    row_tree(const timeline& data, const attribution& att, bool fold_digits);

    const std::vector<node>& nodes() const noexcept { return nodes_; }
    // Per range; npos for start/end ranges, which stand in no tree.
    std::uint32_t node_of(std::uint32_t range) const noexcept { return node_of_[range]; }
    // Per replayed range.
    std::uint32_t node_of_replayed(std::uint32_t index) const noexcept { return node_of_replayed_[index]; }
    // The node that has an operation's self time, and the fixed one that it counts for beside the ranges (npos: none).
    std::uint32_t self_of(std::size_t op) const noexcept;
    std::uint32_t fixed_of(std::size_t op) const noexcept;
    static row_kind kind_of(std::uint32_t node) noexcept;

    // All nodes, parents before children, siblings by first start; the three fixed ones after all others.
    std::vector<std::uint32_t> preorder() const;

private:
    void place(std::uint32_t range);
    std::uint32_t child(std::uint32_t parent, const timeline_range& range, const timeline_api_call* launch = nullptr);
    void place_replayed(std::uint32_t owner, std::uint32_t index);
    std::uint32_t above(std::uint32_t parent) const noexcept;

    const timeline& data_;
    const attribution& att_;
    bool fold_digits_;
    path_segments segment_of_;
    std::vector<node> nodes_;
    std::vector<std::uint8_t> ambiguous_;  // per node: whether it is the (ambiguous) node or below it
    std::vector<std::uint32_t> node_of_;
    std::vector<std::uint32_t> node_of_replayed_;
    struct segment_entry {
        std::string text;
        std::uint32_t id = 0;
        bool has_number = false;
    };
    std::unordered_map<std::string, segment_entry> segments_;
    // domain << 32 | name → segment
    std::unordered_map<std::uint64_t, const std::pair<const std::string, segment_entry>*> segment_of_name_;
    // parent node << 32 | segment << 2 | is observed << 1 | is captured → node
    std::unordered_map<std::uint64_t, std::uint32_t> children_;
};

}  // namespace prof
