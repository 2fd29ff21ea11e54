// SPDX-License-Identifier: Apache-2.0
#include "timeline/cuda_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/memory.hpp"
#include "timeline/nearly_sorted.hpp"

namespace prof {
namespace {

constexpr std::uint8_t gpu_kind = 1;  // PyTorch's number of CUDA

// Handles of physical memory are no addresses.
struct pieces_alive {
    std::unordered_map<std::uint64_t, cuda_memory_id> by_address;
    std::unordered_map<std::uint64_t, cuda_memory_id> by_handle;

    std::unordered_map<std::uint64_t, cuda_memory_id>& of(cuda_memory_kind kind) {
        return kind == cuda_memory_kind::physical ? by_handle : by_address;
    }
};

void find_pieces(row_table<cuda_memory_event>& events) {
    row_table<cuda_memory_event> known;
    known.reserve(events.size());
    pieces_alive alive;
    std::map<std::uint16_t, std::uint64_t> totals;  // by device and kind
    const auto add = [&](cuda_memory_event event) {
        std::uint64_t& total = totals[event.of.device];
        if (event.of.kind == memory_kind::allocated) total += event.of.bytes;
        if (event.of.kind == memory_kind::freed) total -= event.of.bytes;
        event.of.allocated = event.of.reserved = total;
        known.push_back(event);
    };
    const auto end = [&](cuda_memory_id piece, cuda_memory_event event) {
        event.of.bytes = known[piece].of.bytes;
        event.of.device = known[piece].of.device;
        event.of.kind = memory_kind::freed;
        event.caller = known[piece].caller;
        event.begins = piece;
        add(event);
    };
    for (const cuda_memory_event& event : events) {
        if (event.of.kind == memory_kind::failed) {
            add(event);
            continue;
        }
        auto& pieces = alive.of(own_memory_kind(event.of.device));
        const auto found = pieces.find(event.of.address);
        if (found != pieces.end()) {
            // Had twice: the record of its return was lost.
            end(found->second, event);
            pieces.erase(found);
        }
        if (event.of.kind == memory_kind::freed) continue;
        add(event);
        pieces[event.of.address] = known.last_id();
    }
    events = std::move(known);
}

void take_as_memory(timeline& out) {
    std::map<std::uint16_t, std::uint64_t> totals;  // by device
    for (const cuda_memory_event& each : out.cuda_memory) {
        if (!is_of_gpu(own_memory_kind(each.of.device))) continue;
        memory_event& event = out.memory.emplace_back(each.of);
        event.device = packed_device(gpu_kind, static_cast<std::uint8_t>(each.of.device & 0xFFU));
        std::uint64_t& total = totals[event.device];
        if (event.kind == memory_kind::allocated) total += event.bytes;
        if (event.kind == memory_kind::freed) total -= event.bytes;
        event.allocated = event.reserved = total;
    }
    out.is_memory_of_cuda = !out.memory.empty();
}

}  // namespace

void settle_cuda_memory(timeline& out) {
    sort_nearly_sorted(out.cuda_memory, [](const cuda_memory_event& a, const cuda_memory_event& b) {
        return a.of.time_ns < b.of.time_ns;
    });
    find_pieces(out.cuda_memory);
    if (out.memory.empty()) take_as_memory(out);
}

}  // namespace prof
