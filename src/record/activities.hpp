// SPDX-License-Identifier: Apache-2.0
// What a recording contains besides its ranges: the option `activities`, and the capture's property of that name. Plain
// values and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace prof {

enum class activity : std::uint8_t {
    kernels,
    copies,
    sets,
    launches,     // the calls that put recorded work on a GPU
    waits,        // the calls that wait for a GPU, including blocking copies
    allocations,  // the calls that allocate and free memory
    graph_nodes,  // the nodes of CUDA graphs, when they are made
};

inline constexpr std::array<std::string_view, 7> activity_names = {
    "kernels", "copies", "sets", "launches", "waits", "allocations", "graph_nodes",
};

class activity_set {
public:
    constexpr activity_set() noexcept = default;
    static constexpr activity_set all() noexcept {
        activity_set out;
        out.bits_ = (1U << activity_names.size()) - 1;
        return out;
    }

    constexpr bool has(activity a) const noexcept { return (bits_ & bit(a)) != 0; }
    constexpr bool has_gpu_work() const noexcept {
        return has(activity::kernels) || has(activity::copies) || has(activity::sets);
    }
    constexpr bool is_empty() const noexcept { return bits_ == 0; }

    constexpr void add(activity a) noexcept { bits_ |= bit(a); }
    constexpr void remove(activity a) noexcept { bits_ &= ~bit(a); }

    friend constexpr bool operator==(activity_set, activity_set) noexcept = default;

private:
    static constexpr std::uint32_t bit(activity a) noexcept { return 1U << static_cast<std::uint32_t>(a); }

    std::uint32_t bits_ = 0;
};

inline constexpr std::string_view accepted_activities =
    "all, none, or a list of kernels, copies, sets, waits, allocations, graph_nodes and no_launches (the last two only "
    "with kernels, copies or sets, and not together)";

// Parses "kernels,copies", "all,no_launches" or "none". GPU work implies its launches, since it belongs to no range
// without them. `no_launches` leaves the launches out on purpose, and the nodes of graphs with them. Returns false,
// with `out` unchanged, for any other text.
bool parse_activities(std::string_view list, activity_set& out) noexcept;

// The activities that `set` lacks, as "copies, waits"; "" if it lacks none.
std::string activities_left_out(activity_set set);

}  // namespace prof
