// SPDX-License-Identifier: Apache-2.0
// The floating-point operations of a call of a PyTorch operator that multiplies matrices, from the shapes of its
// arguments: a multiplication and an addition are two. Pure functions; any thread.
//
// Formulas: those of torch.utils.flop_counter (PyTorch 2.11), but for the gradient of a grouped convolution's weights,
// which it counts as if there were no groups. As there, a causal mask halves nothing, and attention's backward pass
// includes the scores that it computes again.
#pragma once

#include <optional>

#include "analysis/mfu/peaks.hpp"
#include "timeline/matrix_calls.hpp"

namespace prof {

// Nothing if the arguments are not recorded, do not fit the operator, or do not determine the number: sequences of
// several lengths, complex numbers. Exact up to 2^53.
std::optional<double> flops_of(const operator_arguments& of) noexcept;

// By the multiplied tensors' type; fp32 may also be multiplied as TF32. Unknown if they differ.
matrix_type type_of_operands(const operator_arguments& of) noexcept;

}  // namespace prof
