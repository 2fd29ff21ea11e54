// SPDX-License-Identifier: Apache-2.0
// What the thread with the steps does at each moment, in a program that uses no GPU: its work, which is what its phases
// are; or what may be no work of the step: waiting for the data loader, compiling, and code outside the phases. In a
// program without phases its own ranges take their place. docs/reference/diagnose.md has the rules.
//
// One thread. Linear in the ranges of the thread with the steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/projection/used_frameworks.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "diagnose/host_time.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "timeline/timeline.hpp"

namespace prof {

enum class host_use : std::uint8_t { work, loader, compiling, outside };

struct host_part {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    host_use use = host_use::work;
    code_place_id place{};  // code_places; 0: in no range
    name_id after{};        // outside ranges: the name of the step's phase before it; 0: none, or without phases

    bool is_like(const host_part& other) const noexcept {
        return use == other.use && place == other.place && after == other.after;
    }
};

// Whether a capture shows for certain that the program had no work on a GPU.
bool uses_no_gpu(const timeline& data) noexcept;

// The framework of such a program. There are no kernels to go by, and a program may mark phases of its own.
frameworks frameworks_without_gpu(const timeline& data, const whole_steps& steps);

class host_parts {
public:
    // The arguments must outlive it.
    host_parts(const timeline& data, const attribution& att, const host_activity& host, code_places& where,
               const whole_steps& steps);

    // Calls visit(host_part) for [from_ns, to_ns), which lies in one step, in order of time. Two that follow each other
    // differ.
    template <typename TVisit>
    void for_each(std::int64_t from_ns, std::int64_t to_ns, TVisit&& visit) {
        host_part latest{.start_ns = from_ns, .end_ns = from_ns};
        host_.for_each_range(steps_.thread, from_ns, to_ns,
                             [&](std::int64_t start_ns, std::int64_t end_ns, range_id range) {
                                 const host_part next = part_at(start_ns, end_ns, range, from_ns, to_ns);
                                 if (next.is_like(latest)) {
                                     latest.end_ns = end_ns;
                                     return;
                                 }
                                 if (latest.end_ns > latest.start_ns) visit(latest);
                                 latest = next;
                             });
        if (latest.end_ns > latest.start_ns) visit(latest);
    }

    // Whether phases were observed in the steps.
    bool has_phases() const noexcept { return !phases_.empty(); }
    // Why time outside the phases may be the work of the step; "": it is not. `outside_share`: the part of the steps
    // that lies in no range.
    std::string why_unknown(bool has_jax, double outside_share) const;
    // "outside phases, after optimizer", "in metrics".
    std::string text(code_place_id place, name_id after) const;
    // The same of any use; of work the outermost phase or range.
    std::string text(const host_part& of) const;

private:
    enum class role : std::uint8_t { other, forward, backward, optimizer, between };
    struct phase {
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        name_id name{};
        role is = role::other;
    };
    // Of a range: not yet known, in no phase, in one, or in that of the data loader. Without phases the program's
    // ranges are all outside but for those within a range "data".
    enum class known_use : std::uint8_t { unknown, outside, phase, loader };

    static role role_of(std::string_view name) noexcept;
    bool is_phase_of_step(const timeline_range& range) const;
    void find_phases();
    void find_ranges_around_steps();
    bool says_what_is_inside(const timeline_range& range) const;
    known_use use_of(range_id range);
    host_part part_at(std::int64_t start_ns, std::int64_t end_ns, range_id range, std::int64_t step_start_ns,
                      std::int64_t step_end_ns);
    bool leads_to_backward(std::size_t next, std::int64_t step_start_ns, std::int64_t step_end_ns) const;

    const timeline& data_;
    const attribution& att_;
    const host_activity& host_;
    code_places& where_;
    const whole_steps& steps_;
    std::vector<phase> phases_;  // the outermost ones in steps, of the thread with the steps; by start_ns
    std::size_t latest_ = 0;     // of these, where the latest search ended
    row_values<range_id, known_use> uses_;
    std::unordered_set<code_place_id> around_steps_;  // places that are all of each step, so that they divide nothing
};

// The time of the thread with the steps that is no work, as group_host_time() has it where there are calls of CUDA.
// REQUIRES: the graph's timeline has none.
std::vector<host_group> group_host_parts(const dependency_graph& graph, host_parts& parts);

}  // namespace prof
