// SPDX-License-Identifier: Apache-2.0
// GPU time by kernel type and kernel name, as HTA's get_gpu_kernel_breakdown has it. Pure functions of a timeline;
// linear in its operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/hta/scope.hpp"

namespace prof {

struct kernel_type_time {
    std::string types;  // "COMPUTATION", "COMPUTATION overlapping COMMUNICATION", …
    std::int64_t sum_ns = 0;
};

// Every instant in which work of these types runs, in exactly one row; largest first. All devices as one, as HTA has
// it.
std::vector<kernel_type_time> measure_types(const hta_input& input, hta_scope scope, bool with_memory);

struct kernel_sum {
    kernel_type type = kernel_type::computation;
    std::string name;
    std::vector<std::int64_t> durations_ns;
    std::int64_t sum_ns = 0;
};

// By type, then largest first.
std::vector<kernel_sum> measure_kernels(const hta_input& input, hta_scope scope);

}  // namespace prof
