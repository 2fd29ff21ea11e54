// SPDX-License-Identifier: Apache-2.0
// How long each combination of kinds of GPU work ran at once: every instant from the first operation's start to the
// last one's end is counted in exactly one combination. Pure functions of a timeline; linear in its operations.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/hta/scope.hpp"

namespace prof {

using type_set = std::uint8_t;  // bit: kernel_type
constexpr type_set bit_of(kernel_type type) noexcept {
    return static_cast<type_set>(1U << static_cast<unsigned>(type));
}

class state_times {
public:
    // The windows' gaps do not count as idle; null: they do. REQUIRES: they outlive this object.
    explicit state_times(const std::vector<timeline_window>* windows) : windows_(windows) {}

    // REQUIRES: in order of start.
    void add(kernel_type type, std::int64_t start_ns, std::int64_t end_ns);
    // After the last add(): counts what still runs then.
    void finish();

    bool has_work() const noexcept { return begun_; }
    std::int64_t of_state(type_set exactly) const noexcept { return in_state_ns_[exactly]; }
    // Time in which each of these kinds runs, whatever else does.
    std::int64_t with(type_set all_of) const noexcept;
    std::int64_t busy_ns() const noexcept { return with_any(0xF); }
    std::int64_t with_any(type_set any_of) const noexcept;
    std::int64_t idle_ns() const noexcept { return in_state_ns_[0]; }
    std::int64_t outside_ns() const noexcept { return outside_ns_; }  // idle between windows
    std::int64_t span_ns() const noexcept { return busy_ns() + idle_ns(); }

private:
    void advance(std::int64_t to_ns);

    std::array<std::int64_t, 1U << kernel_types> in_state_ns_{};
    std::array<std::int64_t, kernel_types> until_ns_{};
    const std::vector<timeline_window>* windows_;
    std::int64_t now_ns_ = 0;
    std::int64_t outside_ns_ = 0;
    bool begun_ = false;
};

// The part of [start_ns, end_ns) that lies in no window: nothing was recorded then.
std::int64_t unrecorded_ns(const std::vector<timeline_window>& windows, std::int64_t start_ns, std::int64_t end_ns);

struct device_states {
    std::optional<std::uint32_t> device;  // none: all devices as one
    state_times times{nullptr};
};

// `all`: an entry for each device, without the time between windows. `hta`: all devices as one, over the whole span.
// Empty if the scope has no operation.
std::vector<device_states> measure_states(const hta_input& input, hta_scope scope);

}  // namespace prof
