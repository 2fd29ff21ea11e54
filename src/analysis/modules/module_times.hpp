// SPDX-License-Identifier: Apache-2.0
// The time of modules, by the phase that they work in. Plain data.
#pragma once

#include <array>
#include <cstdint>

namespace prof {

// The phases (docs/guide/phases.md) whose time is attributed to modules.
enum class module_work : std::uint8_t { forward, evaluation, backward, recompute };
inline constexpr std::array<const char*, 4> module_work_names = {"forward", "evaluation", "backward", "recompute"};

struct module_time {
    std::int64_t host_ns = 0;  // of backward: of the nodes that the module's calls made
    std::int64_t gpu_ns = 0;
    std::uint64_t ops = 0;
};
using module_times = std::array<module_time, module_work_names.size()>;  // by module_work

// Of all phases.
inline std::int64_t gpu_ns(const module_times& times) {
    std::int64_t sum = 0;
    for (const module_time& time : times) sum += time.gpu_ns;
    return sum;
}
inline std::int64_t host_ns(const module_times& times) {
    std::int64_t sum = 0;
    for (const module_time& time : times) sum += time.host_ns;
    return sum;
}

}  // namespace prof
