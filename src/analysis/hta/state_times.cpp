// SPDX-License-Identifier: Apache-2.0
#include "analysis/hta/state_times.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace prof {

void state_times::advance(std::int64_t to_ns) {
    while (now_ns_ < to_ns) {
        std::int64_t next_ns = to_ns;
        std::size_t state = 0;
        for (std::size_t type = 0; type < kernel_types; ++type) {
            if (until_ns_[type] <= now_ns_) continue;
            state |= std::size_t{1} << type;
            next_ns = std::min(next_ns, until_ns_[type]);
        }
        const std::int64_t outside_ns =
            state == 0 && windows_ != nullptr ? unrecorded_ns(*windows_, now_ns_, next_ns) : 0;
        outside_ns_ += outside_ns;
        in_state_ns_[state] += next_ns - now_ns_ - outside_ns;
        now_ns_ = next_ns;
    }
}

void state_times::add(kernel_type type, std::int64_t start_ns, std::int64_t end_ns) {
    if (!begun_) {
        begun_ = true;
        now_ns_ = start_ns;
        until_ns_.fill(start_ns);
    }
    advance(start_ns);
    std::int64_t& until_ns = until_ns_[static_cast<std::size_t>(type)];
    until_ns = std::max(until_ns, end_ns);
}

void state_times::finish() { advance(*std::max_element(until_ns_.begin(), until_ns_.end())); }

std::int64_t state_times::with(type_set all_of) const noexcept {
    std::int64_t sum_ns = 0;
    for (std::size_t state = 0; state < in_state_ns_.size(); ++state) {
        if ((state & all_of) == all_of) sum_ns += in_state_ns_[state];
    }
    return sum_ns;
}

std::int64_t state_times::with_any(type_set any_of) const noexcept {
    std::int64_t sum_ns = 0;
    for (std::size_t state = 0; state < in_state_ns_.size(); ++state) {
        if ((state & any_of) != 0) sum_ns += in_state_ns_[state];
    }
    return sum_ns;
}

std::int64_t unrecorded_ns(const std::vector<timeline_window>& windows, std::int64_t start_ns, std::int64_t end_ns) {
    if (windows.size() < 2) return 0;
    // Work of a window may end after it: only time between two windows counts.
    std::int64_t sum_ns = 0;
    auto next = std::upper_bound(windows.begin(), windows.end(), start_ns,
                                 [](std::int64_t ns, const timeline_window& window) { return ns < window.start_ns; });
    for (; next != windows.end(); ++next) {
        if (next == windows.begin()) continue;
        const std::int64_t from_ns = std::max(start_ns, std::prev(next)->end_ns);
        const std::int64_t to_ns = std::min(end_ns, next->start_ns);
        sum_ns += std::max<std::int64_t>(to_ns - from_ns, 0);
        if (next->start_ns >= end_ns) break;
    }
    return sum_ns;
}

std::vector<device_states> measure_states(const hta_input& input, hta_scope scope) {
    const timeline& data = input.data;
    const scope_rows rows(input, scope);
    type_classifier type_of(data, scope, input.op_name);
    const bool by_device = scope == hta_scope::all;
    const auto* const windows = by_device ? &data.windows : nullptr;
    std::map<std::uint32_t, state_times> devices;
    for (const gpu_op& op : data.ops) {
        if (!rows.has(op)) continue;
        state_times& times = devices.try_emplace(by_device ? data.place_of(op).device : 0, windows).first->second;
        times.add(type_of(op), op.start_ns, op.end_ns);
    }
    std::vector<device_states> out;
    for (auto& [device, times] : devices) {
        times.finish();
        out.push_back({by_device ? std::optional(device) : std::nullopt, times});
    }
    return out;
}

}  // namespace prof
