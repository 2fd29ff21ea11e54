// SPDX-License-Identifier: Apache-2.0
#include "timeline/matrix_calls.hpp"

#include <unordered_map>

namespace prof {

std::optional<matrix_operator> matrix_operator_of(std::string_view name) noexcept {
    using enum matrix_operator;
    // Never destroyed: a thread may still use it while the process ends.
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): once
    static const auto& known = *new const std::unordered_map<std::string_view, matrix_operator>{
        {"mm", mm},
        {"_int_mm", mm},
        {"addmm", addmm},
        {"_addmm_activation", addmm},
        {"bmm", bmm},
        {"baddbmm", baddbmm},
        {"mv", mv},
        {"addmv", addmv},
        {"_scaled_mm", scaled_mm},
        {"convolution", convolution},
        {"_convolution", convolution},
        {"convolution_backward", convolution_backward},
        {"_scaled_dot_product_flash_attention", attention},
        {"_scaled_dot_product_efficient_attention", attention},
        {"_scaled_dot_product_cudnn_attention", attention},
        {"_scaled_dot_product_fused_attention_overrideable", attention},
        {"_scaled_dot_product_flash_attention_backward", attention_backward},
        {"_scaled_dot_product_efficient_attention_backward", attention_backward},
        {"_scaled_dot_product_cudnn_attention_backward", attention_backward},
        {"_scaled_dot_product_fused_attention_overrideable_backward", attention_backward},
        {"_flash_attention_forward", attention_by_place},
        {"_efficient_attention_forward", attention_by_place},
        {"_flash_attention_backward", attention_by_place_backward},
        {"_efficient_attention_backward", attention_by_place_backward},
    };
    constexpr std::string_view prefix = "aten::";
    if (!name.starts_with(prefix)) return std::nullopt;
    const auto found = known.find(name.substr(prefix.size()));
    if (found == known.end()) return std::nullopt;
    return found->second;
}

}  // namespace prof
