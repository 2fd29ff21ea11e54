// SPDX-License-Identifier: Apache-2.0
// The floating-point operations that the matrix multiplications of steps are, from the shapes that a trace recorded
// (operator_flops.hpp), each counted once and by the type in which it ran. A pure function of a timeline.
//
// A call counts for the step in which it began, if it put work on a GPU; of calls inside one another the outermost
// whose operations are known. Work that PyTorch's operators did not launch (replayed graphs, kernels of other
// libraries) has no shapes, so the sum is a lower bound: `covered_ns` is the part of the time it stands for.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "analysis/mfu/peaks.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct shape_flops {
    bool has_shapes = false;    // any operator that multiplies has recorded arguments
    std::uint64_t steps = 0;    // that the rest is of
    std::uint64_t calls = 0;    // counted
    std::uint64_t unknown = 0;  // calls with GPU work whose operations are not known
    double flops = 0;           // of all these steps
    // By the operands' type; FP32 that the kernels' names say ran as TF32 is TF32, and FP32 of unknown kernels unknown.
    std::array<double, matrix_types> by_type{};
    bool differs = false;           // between steps
    std::int64_t matrix_ns = 0;     // of the steps' kernels that multiply, by name
    std::int64_t covered_ns = 0;    // of those, launched in counted calls
    bool has_sparse = false;        // a counted call ran a sparse kernel
    bool has_unknown_sums = false;  // an FP16 call ran a kernel that may accumulate in FP16

    bool is_lower_bound() const noexcept { return unknown != 0 || covered_ns != matrix_ns; }
};

// REQUIRES: the steps are in order and do not overlap. O(n log n) in the calls, linear in the operations.
shape_flops measure_shape_flops(const timeline& data, std::span<const whole_step> steps);

}  // namespace prof
