// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/operation_name.hpp"

#include "analysis/projection/transfer_name.hpp"

namespace prof {

std::string graph_name(const graph_record& graph) { return "CUDA graph " + std::to_string(graph.graph_id); }

std::string operation_name(const timeline& data, const gpu_op& op, kernel_name_style names) {
    if (op.kind == op_kind::graph) return graph_name(data.graphs[op.detail]);
    if (is_transfer(op.kind)) return transfer_name(data.transfers[op.detail]);
    return kernel_name(data.kernel_symbol(op), names);
}

}  // namespace prof
