// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/op_class.hpp"

#include <unordered_map>

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

op_classifier::op_classifier(const timeline& data) {
    by_detail_.reserve(data.kernels.size());
    std::unordered_map<std::uint32_t, op_class> by_name;
    for (const kernel_record& kernel : data.kernels) {
        const auto [found, is_new] = by_name.try_emplace(kernel.name, op_class::compute);
        if (is_new && is_communication_kernel(data.name(kernel.name))) found->second = op_class::communication;
        by_detail_.push_back(found->second);
    }
}

}  // namespace prof
