// SPDX-License-Identifier: Apache-2.0
#include "memory/cuda_memory_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/steps/whole_steps.hpp"
#include "memory/birth_places.hpp"

namespace prof {
namespace {

// "build id\npath", as stacks have modules.
std::string_view file_of_module(std::string_view module) {
    const std::size_t path = module.find('\n');
    if (path != std::string_view::npos) module.remove_prefix(path + 1);
    return module.substr(module.rfind('/') + 1);
}

class block_addresses {
public:
    explicit block_addresses(const timeline& data) {
        if (data.is_memory_of_cuda) return;
        for (const memory_event& each : data.memory) {
            if (each.kind == memory_kind::allocated) all_.push_back(each.address);
        }
        std::sort(all_.begin(), all_.end());
    }
    bool has_block_in(std::uint64_t address, std::uint64_t bytes) const {
        const auto first = std::lower_bound(all_.begin(), all_.end(), address);
        return first != all_.end() && *first - address < bytes;
    }

private:
    std::vector<std::uint64_t> all_;
};

// When each device was at its peak: the moment, and for memory of the host that of the fullest GPU.
std::int64_t peak_of(const memory_summary& of, std::uint32_t device, bool is_of_gpu) {
    const memory_device* found = is_of_gpu ? nullptr : fullest(of);
    for (const memory_device& each : of.devices) {
        if (is_of_gpu && each.is_gpu && each.device == device) found = &each;
    }
    return found == nullptr || found->steps.empty() ? INT64_MAX : found->steps[found->highest].peak_ns;
}

}  // namespace

std::string_view to_string(cuda_memory_kind kind) noexcept {
    switch (kind) {
        case cuda_memory_kind::device:
            return "device";
        case cuda_memory_kind::pool:
            return "pool";
        case cuda_memory_kind::managed:
            return "managed";
        case cuda_memory_kind::physical:
            return "physical";
        case cuda_memory_kind::pinned:
            return "pinned host";
        case cuda_memory_kind::registered:
            return "registered host";
        case cuda_memory_kind::freed:
            break;
    }
    return "other";
}

std::vector<cuda_memory_row> cuda_memory_rows(const timeline& data, const attribution& att,
                                              const memory_options& options, const memory_summary& of) {
    std::vector<cuda_memory_row> out;
    if (data.cuda_memory.empty()) return out;
    const bool has_function = !options.step_function.empty();
    const whole_steps all = find_whole_steps(data, att, has_function);
    const whole_steps counted = steps_that_count(data, att, has_function, options.scope);
    birth_places places(data, att, all, options.original == nullptr ? data : *options.original);
    const block_addresses blocks(data);
    const auto is_in_steps = [&](std::int64_t ns) {
        const auto after = std::partition_point(counted.steps.begin(), counted.steps.end(),
                                                [&](const whole_step& each) { return each.start_ns <= ns; });
        return after != counted.steps.begin() && ns < (after - 1)->end_ns;
    };
    using row_key = std::tuple<std::uint16_t, std::string, bool, std::uint32_t>;  // kind and device, caller, place
    std::map<row_key, std::size_t> known;
    std::vector<std::uint64_t> now;  // by row: bytes
    std::vector<std::size_t> row_of(data.cuda_memory.size(), 0);
    std::map<std::pair<std::uint32_t, bool>, std::int64_t> peaks;
    for (std::size_t i = 0; i < data.cuda_memory.size(); ++i) {
        const cuda_memory_event& event = data.cuda_memory[i];
        if (event.of.kind == memory_kind::failed) continue;
        const cuda_memory_kind kind = own_memory_kind(event.of.device);
        const std::uint32_t device = event.of.device & 0xFFU;
        std::size_t row = 0;
        if (event.begins != npos) {
            row = row_of[event.begins];
        } else {
            const std::string caller(file_of_module(data.name(event.caller)));
            const bool is_of_allocator =
                !data.is_memory_of_cuda && is_of_gpu(kind) &&
                (caller.starts_with("libc10_") ||
                 (kind != cuda_memory_kind::physical && blocks.has_block_in(event.of.address, event.of.bytes)));
            const std::uint32_t place = places.place_of(event.of);
            const auto [found, is_new] =
                known.try_emplace({event.of.device, caller, is_of_allocator, place}, out.size());
            if (is_new) {
                out.push_back({.device = device,
                               .kind = kind,
                               .caller = caller,
                               .is_of_allocator = is_of_allocator,
                               .path = places.path(place)});
                now.push_back(0);
            }
            row = found->second;
        }
        row_of[i] = row;
        if (event.of.kind == memory_kind::freed) {
            now[row] -= std::min(now[row], event.of.bytes);
        } else {
            now[row] += event.of.bytes;
            ++out[row].births;
            out[row].births_in_steps += is_in_steps(event.of.time_ns) ? 1 : 0;
        }
        out[row].most = std::max(out[row].most, now[row]);
        const auto [peak, is_new] = peaks.try_emplace({device, is_of_gpu(kind)}, 0);
        if (is_new) peak->second = peak_of(of, device, is_of_gpu(kind));
        if (event.of.time_ns <= peak->second) out[row].at_peak = now[row];
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i].at_end = now[i];
    std::stable_sort(out.begin(), out.end(), [](const cuda_memory_row& a, const cuda_memory_row& b) {
        return std::tie(a.at_peak, a.most) > std::tie(b.at_peak, b.most);
    });
    return out;
}

}  // namespace prof
