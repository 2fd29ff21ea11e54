// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/inner_nodes.hpp"

#include <atomic>

namespace prof {
namespace {

struct instantiation {
    std::uint32_t graph = 0;  // of the executable; 0: not made yet
    std::uint32_t first = 0;  // numbers of blocks
    std::uint32_t last = 0;
    std::uint32_t epoch = 0;  // 0: no call is under way
};
__thread instantiation here __attribute__((tls_model("initial-exec")));

inner_node_block blocks[inner_node_blocks];
std::atomic<std::uint32_t> fresh{0};  // how many blocks were used at least once
// The list of free blocks. Low half: the number of the first. High half: how often the list was changed.
std::atomic<std::uint64_t> unused{0};

constexpr std::uint64_t changed(std::uint64_t list, std::uint32_t first) noexcept {
    return ((list >> 32) + 1) << 32 | first;
}

// 0: no block is left.
std::uint32_t take_block() noexcept {
    std::uint64_t list = unused.load();
    while (static_cast<std::uint32_t>(list) != 0) {
        const auto first = static_cast<std::uint32_t>(list);
        const std::uint32_t next = std::atomic_ref{inner_nodes_of(first).next}.load();
        if (unused.compare_exchange_weak(list, changed(list, next))) return first;
    }
    if (fresh.load() >= inner_node_blocks) return 0;
    const std::uint32_t number = fresh.fetch_add(1);
    return number < inner_node_blocks ? number + 1 : 0;
}

void give_back(std::uint32_t first, std::uint32_t last) noexcept {
    std::uint64_t list = unused.load();
    do {
        std::atomic_ref{inner_nodes_of(last).next}.store(static_cast<std::uint32_t>(list));
    } while (!unused.compare_exchange_weak(list, changed(list, first)));
}

}  // namespace

inner_node_block& inner_nodes_of(std::uint32_t block) noexcept { return blocks[block - 1]; }

void end_instantiation() noexcept {
    if (here.first != 0) give_back(here.first, here.last);
    here = {};
}

void begin_instantiation(std::uint32_t epoch) noexcept {
    end_instantiation();
    here.epoch = epoch;
}

bool is_instantiating(std::uint32_t epoch) noexcept {
    if (here.epoch != 0 && here.epoch != epoch) end_instantiation();
    return here.epoch != 0;
}

void note_graph_id(std::uint32_t graph) noexcept {
    if (here.epoch != 0 && here.graph == 0) here.graph = graph;
}

bool remember_inner_node(CUgraphNode node, std::uint64_t id) noexcept {
    if (here.epoch == 0 || static_cast<std::uint32_t>(id >> 32) == here.graph) return true;
    if (here.last == 0 || inner_nodes_of(here.last).count == inner_nodes_a_block) {
        const std::uint32_t block = take_block();
        if (block == 0) return false;
        inner_nodes_of(block).count = 0;
        std::atomic_ref{inner_nodes_of(block).next}.store(0);
        if (here.last != 0) std::atomic_ref{inner_nodes_of(here.last).next}.store(block);
        here.first = here.first == 0 ? block : here.first;
        here.last = block;
    }
    inner_node_block& block = inner_nodes_of(here.last);
    block.nodes[block.count++] = {node, id};
    return true;
}

// Few nodes are destroyed during the call: only the stand-ins of child graphs, each as the first node of the graph that
// is moved.
void forget_inner_node(CUgraphNode node) noexcept {
    for (std::uint32_t block = here.first; block != 0; block = inner_nodes_of(block).next) {
        inner_node_block& nodes = inner_nodes_of(block);
        for (std::uint32_t i = 0; i < nodes.count; ++i) {
            if (nodes.nodes[i].node == node) nodes.nodes[i].id = 0;
        }
    }
}

std::uint32_t first_inner_block() noexcept { return here.first; }

}  // namespace prof
