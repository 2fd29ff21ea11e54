// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/used_frameworks.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "analysis/projection/xla_names.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_of_identifier(char c) noexcept {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Whether the text is in it, and no identifier goes on into it from before.
bool has_name(std::string_view symbol, std::string_view text) noexcept {
    for (std::size_t at = symbol.find(text); at != std::string_view::npos; at = symbol.find(text, at + 1)) {
        if (at == 0 || !is_of_identifier(symbol[at - 1])) return true;
    }
    return false;
}

// "loop_add_fusion", "input_reduce_fusion_2"
bool is_fusion_of_xla(std::string_view symbol) noexcept {
    if (!symbol.starts_with("loop_") && !symbol.starts_with("input_")) return false;
    if (symbol.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string_view::npos) return false;
    const std::size_t end = symbol.find_last_not_of("0123456789");
    std::string_view rest = symbol.substr(0, end + 1);
    if (rest.ends_with('_')) rest.remove_suffix(1);
    return rest.ends_with("_fusion");
}

bool has_maker(const timeline& data, const std::unordered_set<name_id>& names, kernel_maker maker) {
    return std::any_of(names.begin(), names.end(),
                       [&](name_id name) { return maker_of_kernel(data.name(name)) == maker; });
}

}  // namespace

kernel_maker maker_of_kernel(std::string_view symbol) noexcept {
    // Namespaces, mangled with their lengths. `triton_poi_fused_add_0` is inductor's.
    constexpr std::array inductor = {"triton_poi_fused_", "triton_red_fused_", "triton_per_fused_"};
    if (symbol.find("2at6native") != std::string_view::npos || has_name(symbol, "at::native::")) {
        return kernel_maker::torch;
    }
    for (const std::string_view prefix : inductor) {
        if (symbol.starts_with(prefix)) return kernel_maker::torch;
    }
    if (symbol.find("10tensorflow") != std::string_view::npos || has_name(symbol, "tensorflow::") ||
        symbol.find("5Eigen8internal") != std::string_view::npos || has_name(symbol, "Eigen::internal::")) {
        return kernel_maker::tensorflow;
    }
    return is_fusion_of_xla(symbol) ? kernel_maker::xla : kernel_maker::unknown;
}

frameworks frameworks_of(const timeline& data, bool is_jax) {
    frameworks out{.has_torch = !data.torch_nodes.empty(), .has_jax = is_jax};
    for (const timeline_thread& thread : data.threads) {
        if (thread.system_name.starts_with("pt_")) out.has_torch = true;
    }
    for (const timeline_domain& domain : data.domains) {
        if (domain.name == xla_domain) out.has_jax = true;
    }
    std::unordered_set<name_id> kernels;
    for (const kernel_record& kernel : data.kernels) kernels.insert(name_id(kernel.name));
    out.has_torch = out.has_torch || has_maker(data, kernels, kernel_maker::torch);
    out.has_tensorflow = has_maker(data, kernels, kernel_maker::tensorflow);
    const bool is_of_others = out.has_torch || out.has_tensorflow;
    out.has_jax = out.has_jax || (!is_of_others && has_maker(data, kernels, kernel_maker::xla));
    for (const timeline_domain& domain : data.domains) {
        if (domain.name == phase_domain || domain.name == module_domain) out.has_torch |= !out.has_jax;
    }
    return out;
}

}  // namespace prof
