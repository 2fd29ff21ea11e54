// SPDX-License-Identifier: Apache-2.0
// The idle time between the operations of each stream, by what it waited for. Pure functions of a timeline; linear in
// its operations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/hta/scope.hpp"

namespace prof {

enum class idle_category : std::uint8_t {
    host_wait,    // the operation was launched after the stream had become idle
    kernel_wait,  // launched before, and the gap is short enough for a hand-over from one kernel to the next
    other,        // launched before, and waited longer: for an event, another stream, a copy
};
inline constexpr std::size_t idle_categories = 3;
std::string_view to_string(idle_category value) noexcept;

// HTA's argument consecutive_kernel_delay is 30, "nanoseconds" in its documentation; it is compared with microseconds.
inline constexpr std::int64_t hta_kernel_wait_ns = 30'000;
// libprof's own: kernels that wait in one stream's queue follow each other within 1 to 3 µs.
inline constexpr std::int64_t kernel_wait_ns = 5'000;

struct idle_sum {
    std::int64_t idle_ns = 0;
    std::uint64_t gaps = 0;
};

struct stream_idle {
    std::optional<std::uint32_t> device;  // none: the streams of all devices with this id as one
    std::uint32_t stream = 0;
    std::array<idle_sum, idle_categories> by_category{};
    std::int64_t total_ns() const noexcept;
};

// `hta`: from each operation to the next in order of their starts; where they overlap, the gap is negative. `all`: from
// the end of all earlier operations; without the time between windows. By device and stream.
std::vector<stream_idle> measure_idle(const hta_input& input, hta_scope scope);

}  // namespace prof
