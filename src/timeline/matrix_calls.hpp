// SPDX-License-Identifier: Apache-2.0
// Calls of PyTorch's operators that multiply matrices, with their arguments as torch.profiler writes them if
// record_shapes is on. Only traces have them (kineto/); a capture has none. Plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/row_ids.hpp"

namespace prof {

// By the arguments that an operator takes; operators that only call others of these are none.
enum class matrix_operator : std::uint8_t {
    mm,         // (a, b)
    addmm,      // (added, a, b)
    bmm,        // (a, b) in batches
    baddbmm,    // (added, a, b) in batches
    mv,         // (a, vector)
    addmv,      // (added, a, vector)
    scaled_mm,  // (a, b, scales, …), quantized
    convolution,
    convolution_backward,
    attention,           // (query, key, value), each [batch, head, place, feature]
    attention_backward,  // (gradient, query, key, value)
    // The same with [batch, place, head, feature]; sequences of several lengths have further arguments.
    attention_by_place,
    attention_by_place_backward,
};
// "aten::mm"; nothing for an operator that is none of these.
std::optional<matrix_operator> matrix_operator_of(std::string_view name) noexcept;

struct operator_argument {
    std::string type{};  // "c10::BFloat16", "float", "Scalar", …; "": not given, or a list of numbers
    std::vector<std::int64_t> dims{};
    std::string value{};  // of what is no tensor: "[1, 1]", "False"

    auto operator<=>(const operator_argument&) const = default;
};

struct operator_arguments {
    matrix_operator op = matrix_operator::mm;
    std::vector<operator_argument> list{};  // empty: not recorded

    auto operator<=>(const operator_arguments&) const = default;
};

struct matrix_call {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    thread_id thread{0};          // index into timeline::threads
    std::uint32_t arguments = 0;  // index into matrix_calls::arguments
};

struct matrix_calls {
    std::vector<matrix_call> list;
    std::vector<operator_arguments> arguments;  // each distinct one once
};

}  // namespace prof
