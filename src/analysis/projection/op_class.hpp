// SPDX-License-Identifier: Apache-2.0
// The purpose of a GPU operation: computing, communicating with other GPUs, or moving memory.
//
// Kernels are classified by name, as HTA does: NCCL's (ncclDevKernel_…, ncclKernel_…, ncclSymk…) are communication. All
// copies and sets are memory, including copies between devices. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

enum class op_class : std::uint8_t { compute, communication, memory };

std::string_view to_string(op_class value) noexcept;

// `symbol`: as CUPTI gives it, mangled or not.
bool is_communication_kernel(std::string_view symbol) noexcept;

// Linear in the distinct kernels of the timeline once, then a look-up.
class op_classifier {
public:
    explicit op_classifier(const timeline& data);
    op_class operator()(const gpu_op& op) const noexcept {
        return op.kind == op_kind::kernel ? by_detail_[op.detail] : op_class::memory;
    }

private:
    std::vector<op_class> by_detail_;  // by index into timeline::kernels
};

}  // namespace prof
