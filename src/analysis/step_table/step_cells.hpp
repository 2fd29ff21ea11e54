// SPDX-License-Identifier: Apache-2.0
// The table of a step, step by step: how long the GPU computed in each row, and what else it did. Plain data, which
// make_step_table() makes beside the table, of the same pieces of time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/step_table/step_table.hpp"
#include "analysis/steps/whole_steps.hpp"

namespace prof {

// Of one row, or of all: `computing` and the host's time are by row, all other uses of all rows together.
struct step_series {
    std::string name{};  // of the row, as the process has it; "" of rest
    step_row_kind kind = step_row_kind::phase;
    std::optional<step_column> use{};  // none: the time of the steps' thread
    bool is_loader = false;            // of cpu_code: the program waits for its data loader
    std::vector<std::int64_t> ns{};    // by step, on all GPUs
};

struct step_cells {
    static constexpr std::uint32_t most_rows = 64;  // further ones are "other ranges"

    std::vector<whole_step> steps{};
    // Without those of the host their times add up, in each step, to its length times the number of GPUs.
    std::vector<step_series> series{};
};

}  // namespace prof
