// SPDX-License-Identifier: Apache-2.0
// What a GPU operation is called in reports and traces. Pure functions.
#pragma once

#include <string>

#include "symbols/kernel_names.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// "CUDA graph 3"
std::string graph_name(const graph_record& graph);
// Of a kernel in the style asked for, of a transfer in Kineto's words, of a graph as above.
std::string operation_name(const timeline& data, const gpu_op& op, kernel_name_style names);

}  // namespace prof
