// SPDX-License-Identifier: Apache-2.0
#include "memory/block_account.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace prof {
namespace {

struct device_state {
    std::unordered_map<std::uint64_t, std::uint32_t> alive;  // address → index of the block
    std::uint64_t known_bytes = 0;                           // of these
    memory_remainder rest{};
    std::size_t window = SIZE_MAX;
};

// The window that has the moment, or else the one before it.
std::size_t window_at(const timeline& data, std::int64_t ns) {
    const auto after = std::partition_point(data.windows.begin(), data.windows.end(),
                                            [&](const timeline_window& each) { return each.start_ns <= ns; });
    return after == data.windows.begin() ? 0 : static_cast<std::size_t>(after - data.windows.begin()) - 1;
}

std::uint64_t allocated_before(const memory_event& event) noexcept {
    if (event.kind == memory_kind::freed) return event.allocated + event.bytes;
    if (event.kind == memory_kind::failed) return event.allocated;
    return event.allocated - std::min(event.allocated, event.bytes);
}

}  // namespace

block_account::block_account(const timeline& data) {
    std::map<std::uint16_t, device_state> states;
    const auto end = [&](device_state& of, std::uint32_t block, std::uint32_t event, bool is_seen) {
        blocks_[block].death = event;
        blocks_[block].end_was_seen = is_seen;
        of.known_bytes -= blocks_[block].bytes;
    };
    for (std::uint32_t i = 0; i < data.memory.size(); ++i) {
        const memory_event& event = data.memory[i];
        device_state& of = states[event.device];
        const memory_remainder before = of.rest;
        bool is_new = false;
        if (const std::size_t window = window_at(data, event.time_ns); window != of.window && event.has_totals) {
            // What came back between two windows was not seen.
            for (const auto& [address, block] : of.alive) end(of, block, i, false);
            of.alive.clear();
            of.window = window;
            of.rest = {.before = allocated_before(event)};
            is_new = true;
        }
        const auto known = of.alive.find(event.address);
        if (event.kind == memory_kind::allocated) {
            if (known != of.alive.end()) {
                ++doubtful_;
                end(of, known->second, i, false);
            }
            of.alive[event.address] = static_cast<std::uint32_t>(blocks_.size());
            of.known_bytes += event.bytes;
            blocks_.push_back({.address = event.address, .bytes = event.bytes, .birth = i, .device = event.device});
        } else if (event.kind == memory_kind::freed && known != of.alive.end()) {
            end(of, known->second, i, true);
            of.alive.erase(known);
        } else if (event.kind == memory_kind::freed) {
            if (of.rest.before < event.bytes) ++doubtful_;
            of.rest.before -= std::min(of.rest.before, event.bytes);
        }
        if (event.has_totals) {
            of.rest.lost = static_cast<std::int64_t>(event.allocated - of.rest.before - of.known_bytes);
        }
        if (is_new || before.before != of.rest.before || before.lost != of.rest.lost) {
            changes_.push_back({event.device, i, of.rest});
        }
    }
    for (const auto& [device, state] : states) devices_.push_back(device);
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const change& a, const change& b) { return a.device < b.device; });
}

memory_remainder block_account::remainder(std::uint16_t device, std::uint32_t event) const {
    const auto after = std::partition_point(changes_.begin(), changes_.end(), [&](const change& each) {
        return std::tie(each.device, each.event) <= std::tie(device, event);
    });
    if (after == changes_.begin() || (after - 1)->device != device) return {};
    return (after - 1)->value;
}

}  // namespace prof
