// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs inside another graph (child graphs, bodies of conditional nodes), while the calling thread
// instantiates the outer graph.
//
// CUDA copies each inner graph into a graph of its own. Its nodes then move into the executable and get other ids
// there, which no callback reports (docs/lab/cupti-graphs.md). So this code remembers the copies, and asks for their
// ids again once the executable is made. No other thread can have these copies before that. So a copy lives unless this
// thread has seen it destroyed.
//
// Each thread has its own list. The memory is a pool of fixed size, and untouched unless a graph contains another.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace prof {

struct inner_node {
    CUgraphNode node = nullptr;
    std::uint64_t id = 0;  // 0: destroyed
};

inline constexpr std::uint32_t inner_nodes_a_block = 255;
inline constexpr std::uint32_t inner_node_blocks = 256;
struct inner_node_block {
    inner_node nodes[inner_nodes_a_block];
    std::uint32_t count = 0;
    std::uint32_t next = 0;  // number of the next block, counted from 1; 0: none
};
inner_node_block& inner_nodes_of(std::uint32_t block) noexcept;

// Call them when the thread enters and leaves a call that instantiates a graph. Outside such a call nothing is
// remembered. `epoch`: the epoch of the recording, or the one in which graphs are only observed; 0 remembers nothing.
void begin_instantiation(std::uint32_t epoch) noexcept;
void end_instantiation() noexcept;
// Whether this thread is in such a call. If another epoch has begun meanwhile, the end of the call or of a node may
// have been missed. Then everything is forgotten.
bool is_instantiating(std::uint32_t epoch) noexcept;

// Call it for each new graph. The first one is the executable's; its own nodes keep their ids.
void note_graph_id(std::uint32_t graph) noexcept;
// Returns false if there is no room for the node.
bool remember_inner_node(CUgraphNode node, std::uint64_t id) noexcept;
void forget_inner_node(CUgraphNode node) noexcept;
std::uint32_t first_inner_block() noexcept;

// Calls `visit` for each remembered node, in the order of remembering, and forgets them all.
template <typename TVisit>
void take_inner_nodes(TVisit&& visit) noexcept {
    for (std::uint32_t block = first_inner_block(); block != 0; block = inner_nodes_of(block).next) {
        const inner_node_block& nodes = inner_nodes_of(block);
        for (std::uint32_t i = 0; i < nodes.count; ++i) {
            if (nodes.nodes[i].id != 0) visit(nodes.nodes[i]);
        }
    }
    end_instantiation();
}

}  // namespace prof
