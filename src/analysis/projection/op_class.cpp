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

op_classifier::op_classifier(const timeline& data) : data_(&data), collectives_(data) {
    by_detail_.reserve(data.kernels.size());
    const communication_patterns patterns(data.property(std::string(communication_property)));
    std::unordered_map<name_id, op_class> by_name;
    for (const kernel_record& kernel : data.kernels) {
        const auto [found, is_new] = by_name.try_emplace(name_id(kernel.name), op_class::compute);
        if (is_new) {
            const std::string_view symbol = data.name(found->first);
            if (is_communication_kernel(symbol) || patterns.matches(symbol)) found->second = op_class::communication;
        }
        by_detail_.push_back(found->second);
    }
}

op_class op_classifier::operator()(const gpu_op& op) const {
    if (op.kind == op_kind::kernel && by_detail_[op.detail] == op_class::communication) return op_class::communication;
    const bool is_copy = op.kind == op_kind::memcpy;
    if (is_copy && is_between_gpus(data_->transfers[op.detail])) return op_class::communication;
    if ((is_copy || op.kind == op_kind::kernel) && collectives_.launched(op)) return op_class::communication;
    return op.kind == op_kind::kernel ? op_class::compute : op_class::memory;
}

}  // namespace prof
