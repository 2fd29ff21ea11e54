// SPDX-License-Identifier: Apache-2.0
// Kernels that multiply matrices, recognised by name, and the type in which they multiply. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "analysis/mfu/peaks.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct matrix_kernel {
    matrix_type type = matrix_type::unknown;
    bool is_sparse = false;
    bool accumulates_in_fp32 = false;  // its name says so
};

// Nothing if the kernel multiplies no matrices. `symbol`: mangled or not, of cuBLAS, cuDNN, CUTLASS, flash attention,
// ….
std::optional<matrix_kernel> matrix_kernel_of(std::string_view symbol) noexcept;

struct matrix_times {
    std::int64_t kernels_ns = 0;  // of all kernels, added
    std::int64_t matrix_ns = 0;   // of those that multiply
    std::array<std::int64_t, matrix_types> by_type_ns{};
    std::int64_t sparse_ns = 0;
    std::int64_t fp16_of_unknown_sums_ns = 0;  // FP16 whose name does not say in which type it accumulates
};
// Linear in the operations.
matrix_times measure_matrix_kernels(const timeline& data);

}  // namespace prof
