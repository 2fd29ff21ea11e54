// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.hpp"

#include <array>
#include <bit>
#include <map>
#include <string_view>
#include <utility>

#include "base/number.hpp"
#include "record/label.hpp"

namespace prof {

const std::string& timeline::property(const std::string& key) const {
    // Never destroyed: a thread may still use it while the process ends.
    static const auto& none = *new const std::string;
    const auto found = properties.find(key);
    return found == properties.end() ? none : found->second;
}

std::optional<std::int64_t> timeline::number(const std::string& key) const {
    return parse_number<std::int64_t>(property(key), 0);
}

std::string_view timeline::stream_name(std::uint32_t context, std::uint32_t stream) const noexcept {
    auto found = stream_names.find(stream_key(context, stream));
    if (found == stream_names.end()) found = stream_names.find(stream_key(0, stream));
    return found == stream_names.end() ? std::string_view{} : name(found->second);
}

std::optional<double> counter_value(const timeline& data, const timeline_mark& mark) {
    if (mark.domain >= data.domains.size() || data.domains[mark.domain].name != counter_domain) return std::nullopt;
    const auto low = static_cast<std::uint32_t>(mark.payload);
    switch (mark.payload_kind) {
        case payload_type::u64:
        case payload_type::bytes:
            return static_cast<double>(mark.payload);
        case payload_type::i64:
            return static_cast<double>(static_cast<std::int64_t>(mark.payload));
        case payload_type::f64:
            return std::bit_cast<double>(mark.payload);
        case payload_type::u32:
            return low;
        case payload_type::i32:
            return static_cast<std::int32_t>(low);
        case payload_type::f32:
            return std::bit_cast<float>(low);
        case payload_type::none:
        case payload_type::torch:
        case payload_type::torch_sequence:
            break;
    }
    return std::nullopt;
}

std::vector<timeline_series> counters_of(const timeline& data) {
    std::map<std::string_view, std::vector<series_sample>> by_name;
    for (const timeline_mark& mark : data.marks) {
        if (const std::optional<double> value = counter_value(data, mark)) {
            by_name[data.name(mark.name)].push_back({mark.time_ns, *value});
        }
    }
    std::vector<timeline_series> out;
    out.reserve(by_name.size());
    for (auto& [name, samples] : by_name) out.push_back({.name = std::string(name), .samples = std::move(samples)});
    return out;
}

std::vector<timeline_series> memory_series_of(const timeline& data) {
    constexpr std::array<const char*, 3> names = {"allocated", "reserved", "in use"};
    std::map<std::uint16_t, std::array<timeline_series, names.size()>> by_device;
    for (const memory_event& event : data.memory) {
        if (!event.has_totals) continue;
        auto& [allocated, reserved, used] = by_device[event.device];
        allocated.samples.push_back({event.time_ns, static_cast<double>(event.allocated)});
        if (reserved.samples.empty() || reserved.samples.back().value != static_cast<double>(event.reserved)) {
            reserved.samples.push_back({event.time_ns, static_cast<double>(event.reserved)});
        }
    }
    for (const gpu_memory_sample& sample : data.gpu_memory) {
        by_device[sample.device][2].samples.push_back({sample.time_ns, static_cast<double>(sample.used)});
    }
    std::vector<timeline_series> out;
    for (auto& [device, all] : by_device) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            timeline_series& series = all[i];
            if (series.samples.empty()) continue;
            series.name = names[i];
            series.source = series_source::memory;
            series.device = device & 0xFFU;
            out.push_back(std::move(series));
        }
    }
    return out;
}

std::vector<timeline_series> all_series_of(const timeline& data) {
    std::vector<timeline_series> out = counters_of(data);
    for (timeline_series& series : memory_series_of(data)) out.push_back(std::move(series));
    return out;
}

}  // namespace prof
