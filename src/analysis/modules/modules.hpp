// SPDX-License-Identifier: Apache-2.0
// What the modules of a PyTorch program cost on the host and on the GPU, as the tree that their attribute paths make,
// for each phase in which modules work. docs/guide/modules.md defines every column. A pure function of a
// timeline; linear in its ranges and operations, but for the depth of the tree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/modules/module_times.hpp"
#include "analysis/selection/part_of_timeline.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct module_row {
    std::string path;        // "GPT2.transformer.h.*.attn"; or in parentheses what is no module's
    std::string name;        // the last part of the path, without the parent row's: "h.*"
    std::string class_name;  // "" if it was never called
    std::uint32_t depth = 0;
    std::uint32_t parent = npos;  // index into rows
    std::uint64_t modules = 1;    // in this row: numbered modules of a list, if of one class, are one row
    std::string slowest;          // of several modules, the one with the most GPU time
    std::uint64_t calls = 0;
    module_times total;  // including the modules inside
    module_times self;   // GPU time adds up to that of the phases, exactly
};

struct module_table {
    std::vector<module_row> rows;  // preorder, siblings by first call; then what is no module's
    module_times phases;           // all of them
    bool is_recorded = false;      // else the rows are empty
    bool is_of_xla = false;        // they are of the names of a JAX program's operations, of which some have scopes
    bool has_scopes = false;
    std::int64_t in_no_phase_ns = 0;  // of functions that compute gradients: in no row
};

// `kept`: of a part, what it has of the timeline; null: all.
module_table measure_modules(const timeline& data, const attribution& att, bool fold,
                             const kept_entities* kept = nullptr);

}  // namespace prof
