// SPDX-License-Identifier: Apache-2.0
// The rows of a step's table as a person reads them: names without what only programs need, siblings that are alike as
// one row, a child that is nearly all of its parent in one line with it. Pure functions of a step_table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/step_table/step_table.hpp"

namespace prof {

// A row with the figures of a step_table_row, and what stands in the first column. Ready for a terminal.
struct screen_node {
    std::string name{};
    std::string own_name{};    // without that of a child that shares its line
    step_table_row figures{};  // without children
    std::vector<screen_node> children{};
};

struct tree_names {
    std::size_t longest = 28;  // cells of a name that is made of two
    bool is_ascii = false;     // "x6" and "~" for "×6" and "…"
    bool joins = true;         // a child with nearly all of its parent shares the parent's line
};

// The level of the phases, in the table's order, each with what lies in it.
std::vector<screen_node> screen_tree(const step_table& of, const tree_names& names);

// Whether the row is the wait for the next batch.
bool is_loader(const step_table_row& row);

// "AdamW.step" of "Optimizer.step#AdamW.step", "data loader" of the phase `data`. shown_: ready for a terminal.
std::string row_name(const step_table_row& row, bool has_steps);
std::string shown_row_name(const step_table_row& row, bool has_steps);

}  // namespace prof
