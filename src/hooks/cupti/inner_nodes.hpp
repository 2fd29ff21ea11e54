// Nodes of graphs inside a graph (children, bodies of conditional nodes), while the calling thread instantiates it.
//
// Each inner graph is copied into a graph of its own, whose nodes then move into the executable's and get other ids
// there, which no callback gives (docs/measurements.md). So the copies are remembered, and asked for their ids again
// when the executable is made. Nobody else can have them before that, so what this thread has not seen destroyed lives.
//
// Everything is the calling thread's own. Memory is a pool of a fixed size, of which nothing is touched where no graph
// stands inside another.
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
    std::uint32_t next = 0;  // number of the next block, from 1 on; 0: none
};
inner_node_block& inner_nodes_of(std::uint32_t block) noexcept;

// The thread enters and leaves a call that instantiates a graph. Outside nothing is remembered. `epoch`: of the
// recording, or of what is heard; 0 remembers nothing, either.
void begin_instantiation(std::uint32_t epoch) noexcept;
void end_instantiation() noexcept;
// If another epoch has begun since, the end of the call, or of a node, may have passed unheard: nothing is known any
// more.
bool is_instantiating(std::uint32_t epoch) noexcept;

// A graph is made: the first one is the executable's, whose own nodes keep their ids.
void note_graph_id(std::uint32_t graph) noexcept;
// False if there is no room for it.
bool remember_inner_node(CUgraphNode node, std::uint64_t id) noexcept;
void forget_inner_node(CUgraphNode node) noexcept;
std::uint32_t first_inner_block() noexcept;

// Of each that was remembered, in that order, and forgets them.
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
