// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/op_class.hpp"

namespace prof {

std::string_view to_string(op_class value) noexcept {
    switch (value) {
        case op_class::communication:
            return "communication";
        case op_class::memory:
            return "memory";
        case op_class::compute:
            break;
    }
    return "compute";
}

bool is_communication_kernel(std::string_view symbol) noexcept {
    std::string_view name = symbol;
    // "_Z40ncclDevKernel_AllReduce…": the mangled name of a C++ function begins with its length.
    if (name.starts_with("_Z")) {
        name.remove_prefix(2);
        while (!name.empty() && name.front() >= '0' && name.front() <= '9') name.remove_prefix(1);
    }
    return name.starts_with("nccl") || name.find("ncclKernel") != std::string_view::npos ||
           name.find("ncclDevKernel") != std::string_view::npos;
}

op_class op_classifier::operator()(const gpu_op& op) {
    if (op.kind != op_kind::kernel) return op_class::memory;
    const auto [found, is_new] = by_name_.try_emplace(data_->kernels[op.detail].name, op_class::compute);
    if (is_new && is_communication_kernel(data_->kernel_symbol(op))) found->second = op_class::communication;
    return found->second;
}

}  // namespace prof
