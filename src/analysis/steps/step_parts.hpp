// SPDX-License-Identifier: Apache-2.0
// The part of its step to which a GPU operation belongs: the outermost phase below the step for which it counts, which
// the execution of a jitted function is only for what lies in none of the function's own phases. In a
// capture without phases, the outermost of the program's ranges inside the step; where it is in none, `backward` if a
// backward node of PyTorch launched it, and `forward` if an operator did for which autograd made a node. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/compilation_stages.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "record/range_name.hpp"
#include "timeline/timeline.hpp"

namespace prof {

inline constexpr std::string_view step_phase = "step";
inline constexpr std::string_view startup_phase = "startup";

// Whether the name that a user has chosen means the range: its own name, its name with # for numbers, or a shell
// pattern.
bool is_named(const timeline& data, const timeline_range& range, const range_name& wanted);

// Whether the range is a step itself: one of the phases "step", ProfilerStep#N, what step_range names, or the range
// that the steps are.
bool is_step_range(const timeline& data, const timeline_range& range, const whole_steps& of);

class step_parts {
public:
    // `phases_only`: the program's ranges are no parts. The other arguments must outlive it.
    step_parts(const timeline& data, const attribution& att, const whole_steps& of, bool phases_only = false);

    // `part` is 0 of what belongs to none. `range` is the one that makes it the part; npos: none does, or an operator.
    struct found_part {
        std::uint32_t part = 0;
        range_id range = npos;
    };
    // A number for the part of operation `op`. Cost: the depth of its ranges.
    found_part find(op_id op);
    std::uint32_t of(op_id op) { return find(op).part; }
    // The same of what the host does at `at_ns`, while `range` is the innermost one; npos: in none. Operators of
    // PyTorch are not asked.
    found_part find_on_host(range_id range, std::int64_t at_ns);
    // Whether phases are the parts, and not the program's ranges.
    bool are_phases() const noexcept { return has_phases_; }
    // Whether the range is a step itself.
    bool is_step(const timeline_range& range);
    // REQUIRES: a number that of() has returned. Of the program's ranges, folded.
    const std::string& name(std::uint32_t part) const { return names_[part]; }

private:
    // The part of the latest operation with these ranges, launched in this step.
    struct known_part {
        open_node_id open = npos;
        open_node_id adopted_open = npos;
        std::size_t step = SIZE_MAX;
        found_part found{};
    };

    std::size_t step_of(op_id op);
    std::size_t step_at(std::int64_t host_ns);
    std::int64_t begin_of(std::size_t step) const;
    found_part of_ranges(op_id op);
    range_id phase_of(op_id op);
    range_id range_of(op_id op, std::size_t step);
    found_part numbered_part(range_id range);
    std::uint32_t numbered(const timeline_range& range);
    std::uint32_t numbered(std::string text);
    // What PyTorch's operators say of a launch, by an index into torch_nodes.
    enum class autograd_part : std::uint8_t { unknown, none, forward, backward };
    autograd_part autograd_part_of(torch_node_id node);
    std::uint32_t of_operators(op_id op);

    const timeline& data_;
    const attribution& att_;
    const whole_steps& steps_;
    bool has_phases_ = false;
    std::size_t latest_step_ = 0;  // what step_of() returned last
    std::array<known_part, 64> known_;
    row_values<torch_node_id, autograd_part> autograd_parts_;
    std::unordered_map<name_id, bool> is_node_;  // by name
    std::vector<std::string> names_{std::string()};
    std::unordered_map<std::string, std::uint32_t> by_text_;
    std::unordered_map<std::uint64_t, std::uint32_t> by_name_;  // by timeline_range::name_key()
    std::unordered_map<std::uint64_t, bool> is_step_;           // likewise
};

}  // namespace prof
