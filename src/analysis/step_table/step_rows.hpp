// SPDX-License-Identifier: Apache-2.0
// To which row of the table of a step an operation, or a moment of the host, belongs: the part of its step
// (step_parts.hpp), of the phases of a jitted function that of its execution; in a capture with phases, of what is in
// none, the outermost of the program's ranges inside the step. A row has the name that its range has in the table of
// ranges (row_tree.hpp). A range of the program around a phase that takes nearly all of it is the phase's row, under
// the program's name. One thread; memory 4 bytes a range, and linear in the names of rows beside that of the tree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/code_places.hpp"
#include "analysis/projection/row_tree.hpp"
#include "analysis/steps/step_parts.hpp"
#include "analysis/steps/step_search.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The number of a row of step_rows.
using step_row_id = row_index<class step_rows, 0>;

class step_rows {
public:
    static constexpr step_row_id rest{};  // the row of what is in none
    // Further ones are one row, "other ranges".
    static constexpr std::size_t most_rows = 4'096;

    struct found_row {
        step_row_id row = rest;
        range_id range = npos;          // the one that makes it the row
        row_tree::node_id node = npos;  // its node in the tree
    };

    // The arguments must outlive it.
    step_rows(const timeline& data, const attribution& att, const whole_steps& of, code_places& where,
              const row_tree& tree);

    // Cost: the depth of the operation's ranges.
    found_row of_op(op_id op);
    // Of what the host does at `at_ns`, while `range` is the innermost one; npos: in none.
    found_row on_host(range_id range, std::int64_t at_ns);

    std::size_t size() const noexcept { return names_.size(); }
    const std::string& name(step_row_id row) const { return names_[row]; }

private:
    // The latest answer for these ranges in this step: of an operation, and of the host in a range.
    struct known_op_row {
        open_node_id open = npos;
        open_node_id adopted_open = npos;
        std::size_t step = SIZE_MAX;
        found_row found{};
    };
    struct known_host_row {
        range_id range = npos;
        std::size_t step = SIZE_MAX;
        found_row found{};
    };

    void take_names_of_the_program();
    void name_phase(step_row_id phase, step_row_id range);
    range_id outermost_around(range_id range, std::size_t step);
    found_row find(op_id op, std::size_t step);
    found_row find_on_host(range_id range, std::int64_t at_ns, std::size_t step);
    range_id walk_on_host(range_id range, std::int64_t at_ns, std::size_t step);
    bool adds_nothing(range_id index);
    std::int64_t begin_of(std::size_t step) const;
    range_id execution_around(range_id range) const;
    row_tree::node_id node_of_range(range_id range) const;
    row_tree::node_id node_of_replayed(op_id op, range_id range) const;
    step_row_id row_of(range_id range, row_tree::node_id node);
    step_row_id numbered(std::string_view name);

    // Of a phase and a range of the program around it, that much of the time must be in the phase, in nine of ten.
    static constexpr double share_of_phase = 0.95;
    static constexpr double share_of_calls = 0.9;

    const timeline& data_;
    const attribution& att_;
    const whole_steps& steps_;
    code_places& where_;
    const row_tree& tree_;
    step_parts parts_;
    step_search step_at_;
    std::array<known_op_row, 64> of_ops_;
    std::array<known_host_row, 64> on_host_;
    row_values<range_id, range_id>
        outer_of_;  // by range: the one that makes its row on the host; npos: none, or not known
    row_table<std::string, step_row_id> names_{std::string()};
    std::unordered_map<std::string, step_row_id> numbers_;
    std::unordered_map<row_tree::node_id, step_row_id> by_node_;
};

}  // namespace prof
