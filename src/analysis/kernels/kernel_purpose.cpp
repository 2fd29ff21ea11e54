// SPDX-License-Identifier: Apache-2.0
#include "analysis/kernels/kernel_purpose.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/mfu/matrix_kernels.hpp"

namespace prof {
namespace {

// By the first word that the name has, in small letters.
constexpr std::pair<std::string_view, kernel_purpose> words[] = {
    {"multi_tensor_apply", kernel_purpose::optimizer},
    {"fused_adam", kernel_purpose::optimizer},
    {"fusedadam", kernel_purpose::optimizer},
    {"adam", kernel_purpose::optimizer},
    {"optimizer", kernel_purpose::optimizer},
    {"layer_norm", kernel_purpose::normalisation},
    {"layernorm", kernel_purpose::normalisation},
    {"rms_norm", kernel_purpose::normalisation},
    {"rmsnorm", kernel_purpose::normalisation},
    {"batch_norm", kernel_purpose::normalisation},
    {"batchnorm", kernel_purpose::normalisation},
    {"group_norm", kernel_purpose::normalisation},
    {"_bn_", kernel_purpose::normalisation},
    {"gammabeta", kernel_purpose::normalisation},
    {"softmax", kernel_purpose::normalisation},
    {"catarraybatchedcopy", kernel_purpose::memory},
    {"memcpy", kernel_purpose::memory},
    {"memset", kernel_purpose::memory},
    {"reduce", kernel_purpose::reduction},
    {"reduction", kernel_purpose::reduction},
    {"argmax", kernel_purpose::reduction},
    {"elementwise", kernel_purpose::elementwise},
    {"fused_dropout", kernel_purpose::elementwise},
    {"pointwise", kernel_purpose::elementwise},
    {"triton_poi", kernel_purpose::elementwise},
    {"triton_red", kernel_purpose::reduction},
    {"triton_per", kernel_purpose::reduction},
    {"distribution", kernel_purpose::elementwise},
};
constexpr std::string_view attention_words[] = {"flash", "fmha", "attention", "sdpa"};

}  // namespace

std::string_view to_string(kernel_purpose value) noexcept {
    constexpr std::string_view names[] = {"matrix",    "attention",     "normalisation", "elementwise", "reduction",
                                          "optimizer", "communication", "memory",        "other"};
    return names[static_cast<std::size_t>(value)];
}

std::string_view shown_purpose(kernel_purpose value) noexcept {
    if (value == kernel_purpose::matrix) return "matrix products";
    // The phase `optimizer` has other kernels, too, and other phases have such ones; a part of a step has of
    // communication what nothing computes beside.
    if (value == kernel_purpose::communication) return "communication kernels";
    return value == kernel_purpose::optimizer ? "multi-tensor" : to_string(value);
}

kernel_purpose purpose_of(std::string_view symbol, op_class kind) {
    if (kind == op_class::communication) return kernel_purpose::communication;
    constexpr std::size_t most = 4'096;  // of a name that somebody made long
    std::string name(symbol.substr(0, most));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
    if (std::any_of(std::begin(attention_words), std::end(attention_words), has)) return kernel_purpose::attention;
    if (matrix_kernel_of(symbol)) return kernel_purpose::matrix;
    const auto* const found =
        std::find_if(std::begin(words), std::end(words), [&](const auto& each) { return has(each.first); });
    return found == std::end(words) ? kernel_purpose::other : found->second;
}

}  // namespace prof
