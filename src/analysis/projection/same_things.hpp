// SPDX-License-Identifier: Apache-2.0
// Finds rows of a tree in which a phase and a range of the program's own are the same thing: the script names its
// iterations and phases itself, and libprof observes them, too. Of two such rows one is directly inside the other.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/projection/row_tree.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Whether PyTorch itself makes a range of this name, around what it does for the program: it is no name that the
// program gave.
bool is_of_pytorch(std::string_view name);

// By node of the tree: the node around it that is the same thing; npos: none. Empty if there is none at all. Such nodes
// have as many instances, and the inner ones take nearly all of the outer ones' host time. In addition:
// - of a `step`: all other phases of the step are inside both;
// - of another phase: the range has a name for it, such as "forward" or "fwd" for `forward`.
row_values<row_tree::node_id, row_tree::node_id> same_things(const timeline& data, const attribution& att,
                                                             const row_tree& tree);

}  // namespace prof
