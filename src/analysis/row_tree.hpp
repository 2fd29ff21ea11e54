// The rows of the projection's tree: ranges whose folded names are equal, under the same parent row, are one row.
// Linear in the ranges.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/attribution.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class row_tree {
public:
    struct node {
        std::string text;             // segment, unescaped
        std::uint32_t parent = npos;  // index of a node
        std::int64_t first_ns = 0;    // start of its first instance
    };

    // The nodes that are always there, whatever the ranges.
    static constexpr std::uint32_t no_range = 0;
    static constexpr std::uint32_t ambiguous = 1;
    static constexpr std::uint32_t unmatched = 2;

    row_tree(const timeline& data, const attribution& att, bool fold_digits);

    const std::vector<node>& nodes() const noexcept { return nodes_; }
    // Per range; npos for start/end ranges, which stand in no tree.
    std::uint32_t node_of(std::uint32_t range) const noexcept { return node_of_[range]; }
    // Per node: whether it is the (ambiguous) node or below it.
    bool is_ambiguous(std::uint32_t index) const noexcept { return ambiguous_[index] != 0; }

    // All nodes, parents before children, siblings by first start; the three fixed ones after all others.
    std::vector<std::uint32_t> preorder() const;

private:
    void place(std::uint32_t range);
    std::uint32_t child(std::uint32_t parent, const timeline_range& range);

    const timeline& data_;
    const attribution& att_;
    bool fold_digits_;
    std::vector<node> nodes_;
    std::vector<std::uint8_t> ambiguous_;
    std::vector<std::uint32_t> node_of_;
    std::unordered_map<std::uint64_t, std::uint32_t> segment_of_name_;  // domain << 32 | name → segment
    std::unordered_map<std::string, std::uint32_t> segments_;
    std::unordered_map<std::uint64_t, std::uint32_t> children_;  // parent node << 32 | segment → node
};

}  // namespace prof
