// SPDX-License-Identifier: Apache-2.0
#include "timeline/memory_order.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "timeline/nearly_sorted.hpp"

namespace prof {
namespace {

constexpr std::int64_t uncertain_ns = 2000;

std::uint64_t allocated_after(std::uint64_t before, const memory_event& event) noexcept {
    if (event.kind == memory_kind::failed) return before;
    return event.kind == memory_kind::allocated ? before + event.bytes : before - event.bytes;
}

}  // namespace

void order_memory(timeline& out) {
    sort_nearly_sorted(out.gpu_memory, [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
    std::vector<memory_event>& events = out.memory;
    sort_nearly_sorted(events, [](const memory_event& a, const memory_event& b) { return a.time_ns < b.time_ns; });
    std::unordered_map<std::uint16_t, std::uint64_t> allocated;  // by device, after the events before
    for (std::size_t i = 0; i < events.size(); ++i) {
        const auto known = allocated.find(events[i].device);
        const auto fits = [&](const memory_event& event) {
            return !event.has_totals || allocated_after(known->second, event) == event.allocated;
        };
        if (known != allocated.end() && !fits(events[i])) {
            for (std::size_t next = i + 1; next < events.size(); ++next) {
                if (events[next].time_ns - events[i].time_ns > uncertain_ns) break;
                if (events[next].device != events[i].device || events[next].thread == events[i].thread) continue;
                if (!fits(events[next])) continue;
                std::swap(events[i], events[next]);
                std::swap(events[i].time_ns, events[next].time_ns);
                break;
            }
        }
        if (events[i].has_totals) {
            allocated[events[i].device] = events[i].allocated;
        } else if (known != allocated.end()) {
            known->second = allocated_after(known->second, events[i]);
        }
    }
}

}  // namespace prof
