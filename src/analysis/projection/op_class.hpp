// SPDX-License-Identifier: Apache-2.0
// The purpose of a GPU operation: computing, communicating with other GPUs, or moving memory.
//
// Kernels are classified by name, as HTA does: NCCL's (ncclDevKernel_…, ncclKernel_…, ncclSymk…) are communication. All
// copies and sets are memory, including copies between devices. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "timeline/timeline.hpp"

namespace prof {

enum class op_class : std::uint8_t { compute, communication, memory };

std::string_view to_string(op_class value) noexcept;

// `symbol`: as CUPTI gives it, mangled or not.
bool is_communication_kernel(std::string_view symbol) noexcept;

// Caches the class of each kernel name. One thread.
class op_classifier {
public:
    explicit op_classifier(const timeline& data) noexcept : data_(&data) {}
    op_class operator()(const gpu_op& op);

private:
    const timeline* data_;
    std::unordered_map<std::uint32_t, op_class> by_name_;
};

}  // namespace prof
